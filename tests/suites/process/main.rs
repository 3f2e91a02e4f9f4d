//! The process itself: start, signals, probes, the watchdog, limits of the system, panics, many short connections.
//!
//! Faults inside the process are made through failpoints, which exist with debug assertions only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod churn;
#[allow(dead_code, reason = "shared with the suite abuse")]
#[path = "../abuse/frames.rs"]
mod frames;
mod logs;
mod panics;
mod probes;
mod running;
mod scarcity;
mod signals;
mod start;
mod toolchain;
mod two;
mod warm_up;
mod watchdog;
