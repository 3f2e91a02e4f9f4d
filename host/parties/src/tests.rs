//! Negotiation over a real socket: cores and parties that are clients of gRPC.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::indexing_slicing)]

mod agreement;
mod allocation;
mod explained;
mod latency;
mod owners;
mod parties;
mod sidecar;
mod slow_core;
