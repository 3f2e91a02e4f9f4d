//! Facts outside a component: what tests and benchmarks use to run a predicate without a sandbox.
//!
//! [`Cluster`] is the fixture for unit tests, a small cluster of plain values: start there. `cluster`, `node`, `pod`,
//! `claims`, `moments`, `parties` and `storage` hold its values and builders, `batch`, `running` and `selection` present them as facts, `evaluate` runs predicates,
//! `cases` makes clusters of the cases in `cases.yaml`.
//! [`take_lines`] gives the lines that a predicate has written. [`with_facts`] runs a predicate against any other implementation of [`Facts`], the fact functions of the contract.

mod batch;
mod cases;
mod claims;
mod cluster;
mod evaluate;
mod lines;
mod moments;
mod node;
mod parties;
mod pod;
mod running;
mod selection;
mod storage;

pub use cases::check_cases;
pub use cluster::Cluster;
pub(crate) use lines::keep_line;
pub use lines::take_lines;
pub use node::Node;
pub use pod::Pod;
pub use storage::{Storage, claim, class, stored_volume};

pub use crate::facts::{Facts, with_facts};
