//! nodesift: which nodes can run this pod, and why can the others not?
//!
//! The library behind the binary of the same name. Dependencies point one way, downwards:
//!
//! ```text
//! cli ─┬─ bench ── engine, source                    what is measured, and how
//!      ├─ api ──── engine ──┬── policy ── sandbox    wasmtime: linker, instances, limits, clock
//!      │                    └── cache                node table, pod records, columns, counts, snapshots
//!      └─ source ────────────── cache ── metadata ── object
//!      limits, fault, metrics: leaves that anyone may use
//! ```
//!
//! `object` is a crate of its own.
//!
//! Start with [`engine`] for what an answer is, [`cache`] for what is known, [`sandbox`] for how a predicate runs.

pub mod api;
pub mod bench;
pub mod cache;
pub mod cli;
pub mod engine;
pub mod fault;
pub mod limits;
pub mod metadata;
pub mod metrics;
pub mod policy;
pub mod sandbox;
pub mod source;

pub use nodesift_object as object;
