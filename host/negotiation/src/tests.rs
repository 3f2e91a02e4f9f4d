//! Tests of the rules, by a small world: `world.rs` is a caller whose predicates are sets of nodes; `model` has random parties, `sidecars` two
//! processes over one record.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod agreement;
mod allocation;
mod claims;
mod floods;
mod held;
mod model;
mod owners;
mod parties;
mod restored;
mod sidecars;
mod stances;
mod world;
