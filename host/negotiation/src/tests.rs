//! Tests of the rules, by a small world: `world.rs` is a caller whose predicates are sets of nodes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod agreement;
mod allocation;
mod claims;
mod parties;
mod world;
