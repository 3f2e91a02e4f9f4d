//! A policy with an accounting component: what pods take follows from it, whatever happens to objects and policies.
//!
//! The component's rulings follow from the first letter of the annotation `k`, see `component.wat`: `a` and `c` are accounts with what
//! the API says, but that `c` uses what its containers request, and a sum `s` of 7; `t` traps, `b` is broken; without the annotation
//! the ruling is `standard`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod faults;
mod headroom;
mod histories;
mod neon;
mod reload;
mod shown;
mod world;
