//! `nodesift-dev` on files, as authors of predicates and developers of nodesift run it: modules inspected, tested, checked and measured,
//! questions recorded, benchmarks. It needs no other program beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::path::Path;
use std::process::Command;

use nodesift_tests::workshop::Workshop;
use nodesift_tests::{compiled, sidecar};

mod accounting;
mod bench;
mod cases;
mod checks;
mod contract;
mod dev;
mod inspect;
mod mistakes;
mod sandbox;
mod scorers;

/// Path of the program `nodesift-dev`.
const PROGRAM: &str = env!("CARGO_BIN_EXE_nodesift-dev");

/// A folder in which the program is run.
fn new_workshop() -> Workshop {
    Workshop::new(command)
}

/// A command for the program, for which the built-in predicates are compiled already.
fn command() -> Command {
    let (program, cache) = (Path::new(PROGRAM), Path::new(env!("CARGO_TARGET_TMPDIR")));
    compiled::ahead(program, cache, nodesift_bundle::BUILTINS.iter().map(|builtin| (builtin.name, builtin.bytes)));
    sidecar::plain(program, cache)
}
