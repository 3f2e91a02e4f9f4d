//! Modules in a registry: pushed, pulled, signed, and named by the policy of a running sidecar. The registry is the real one of the
//! distribution project, on this machine; what a registry should not do is done by a scripted server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod commands;
mod foreign;
mod refused;
mod served;
mod server;
mod sidecar;
