//! Hostile predicates: every attack ends with the expected fault, in bounded time, and the next healthy call is correct. Each
//! module is named for what is attacked; [`arena`] is shared.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod arena;
mod authors;
mod compile;
mod deadline;
mod host_calls;
mod host_time;
mod instances;
mod isolation;
mod load;
mod log;
mod memory;
mod output;
mod policy;
mod retries;
mod reuse;
mod row_sets;
mod slots;
mod time;
mod traps;
mod warm_up;
