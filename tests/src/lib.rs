//! What the black-box tests are made of. The tests themselves are in `suites/`, declared by the `nodesift` package, for
//! only a package's own tests are handed its binary.
//!
//! - [`guest`]: predicates written in WebAssembly text, healthy but for the part that a test replaces.
//! - [`sidecar`]: the real binary, started on sockets of its own and stopped when the test is over.
//! - [`http`]: requests to it; [`wire`]: the same byte by byte, for what no client would send.
//! - [`process`]: what the system knows of it.
//! - [`apiserver`]: an API server that fails as a script wants it to.
//! - [`timeout`]: how long tests wait.
//! - [`data`]: clusters with the verdicts that the real kube-scheduler gave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

pub mod apiserver;
pub mod data;
pub mod guest;
pub mod http;
pub mod process;
pub mod sidecar;
pub mod timeout;
pub mod wire;
