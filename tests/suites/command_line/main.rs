//! The binary on files, as users and scripts run it: formats, options, bad input. stdout has only the answer; an error is one
//! text on stderr that names the place, with a documented exit code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod accounting;
mod bad_input;
mod bench;
mod cases;
mod contract;
mod default_spread;
mod diff;
mod formats;
mod inputs;
mod module_checks;
mod modules;
mod policies;
mod shipped;
mod synthetic;
mod workshop;
