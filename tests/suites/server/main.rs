//! The running sidecar over its sockets: the same answers as offline in every protocol, bad requests, shutdown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod access;
mod agreement;
mod at_once;
mod bad_requests;
mod bitmaps;
mod capabilities;
mod claims;
mod clients;
mod consistency;
mod decisions;
mod explorer;
mod extender;
mod faults;
mod headroom;
mod lifecycle;
mod limit;
mod negotiation;
mod node_index;
mod nominated;
mod overlay;
mod partial;
mod pending;
mod placements;
mod reprieve;
mod running;
mod scores;
mod set_aside;
mod state;
mod tenants;
mod tenants_that_fail;
mod tls;
mod verdict_cache;
mod why;
mod yunikorn;
