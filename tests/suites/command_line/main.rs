//! The binary on files, as people and scripts use it: formats, choices, bad input. stdout carries the answer and nothing
//! else; what is wrong is one text on stderr that names the place, and an exit code that is documented.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod bad_input;
mod bench;
mod default_spread;
mod formats;
mod policies;
mod synthetic;
mod workshop;
