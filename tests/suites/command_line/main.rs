//! The binary on files, as users and scripts run it: formats, options, bad input. stdout has only the answer; an error is one
//! text on stderr that names the place, with a documented exit code. What only authors and developers run is in the suite `authors`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use std::path::Path;
use std::process::Command;

use nodesift_tests::sidecar;
use nodesift_tests::workshop::Workshop;

mod bad_input;
mod completion;
mod contract;
mod default_spread;
mod diff;
mod formats;
mod import;
mod inputs;
mod moved;
mod policies;
mod scores;
mod shipped;
mod synthetic;
mod why;

/// Path of the program `nodesift`.
const BINARY: &str = env!("CARGO_BIN_EXE_nodesift");

/// Where it has its compiled code.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// A folder in which the binary is run.
fn new_workshop() -> Workshop {
    Workshop::new(|| sidecar::command(Path::new(BINARY), Path::new(CACHE)))
}

/// The program of authors and developers.
fn developer() -> Command {
    sidecar::plain(&sidecar::beside(Path::new(BINARY), "nodesift-dev"), Path::new(CACHE))
}
