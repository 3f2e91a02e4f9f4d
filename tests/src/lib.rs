//! Library of the black-box tests. The tests themselves are in `suites/` and declared by the packages `nodesift` and `nodesift-dev`,
//! because only the tests of a package get the path of its binary.
//!
//! - [`guest`]: predicates written in WebAssembly text, correct except for the part that a test replaces.
//! - [`sidecar`]: the real binary, started on new sockets and stopped at the end of the test.
//! - [`compiled`]: the built-in predicates, compiled once for all of them.
//! - [`workshop`]: a folder of files, and runs of a program in it.
//! - [`http`]: requests to it; [`wire`]: raw connections, for requests that no client sends.
//! - [`process`]: memory, files, threads and processor time of a process.
//! - [`apiserver`]: an API server with scripted faults.
//! - [`tenants`]: hostile tenants beside an honest core.
//! - [`timeout`]: timeouts and polling.
//! - [`timing`]: times that tests see, and the few by which they fail.
//! - [`machine`]: which tests may run beside which.
//! - [`data`]: clusters with the real kube-scheduler's verdicts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed step fails the test")]

pub mod apiserver;
pub mod compiled;
pub mod data;
pub mod guest;
pub mod http;
pub mod machine;
pub mod process;
pub mod sidecar;
pub mod tenants;
pub mod timeout;
pub mod timing;
pub mod wire;
pub mod workshop;
