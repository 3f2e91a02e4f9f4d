//! Abuse of the API: whatever a client sends, or does not send or read, the sidecar answers or cuts it off, in bounded
//! time and memory, and goes on answering others. The names of the modules say what is abused; [`arena`] holds what they
//! share. Tests that measure time, memory or files of the process have the machine for themselves within this suite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod amplification;
mod arena;
mod bodies;
mod depth;
mod extender;
mod flood;
mod frames;
mod grpc;
mod http2;
mod leaving;
mod malformed;
mod overload;
mod protobuf;
mod series;
mod sizes;
mod slow;
mod smuggling;
mod unknown;
