//! Abuse of the API: for anything that a client sends, or does not send or read, the sidecar answers or closes the connection,
//! within limits on time and memory, and keeps serving others. Modules are named for what is abused; [`arena`] is shared.
//! Tests that measure time, memory or files run alone within this suite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod amplification;
mod arena;
mod bodies;
mod deadlines;
mod depth;
mod explorer;
mod extender;
mod flood;
mod frames;
mod grpc;
mod http2;
mod leaving;
mod malformed;
mod negotiations;
mod overload;
mod protobuf;
mod series;
mod silent;
mod sizes;
mod slow;
mod smuggling;
mod tenants;
mod unknown;
mod unread;
mod windows;
