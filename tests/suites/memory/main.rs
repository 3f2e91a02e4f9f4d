//! Memory and allocations, counted by an allocator: what loading a cluster takes, what an answer allocates, and both compared
//! with committed figures.
//!
//! A suite of its own, because the allocator counts for the whole process; it counts per thread, so the tests may run side by
//! side. All figures are those of the dev profile on one thread, and do not depend on the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod answers;
mod assumed;
mod figures;
mod files;
