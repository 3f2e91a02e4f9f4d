//! Queries beyond "evaluate these pods on these nodes".
//!
//! ```text
//! nominated     rows with nominated pods are evaluated again with these on the node
//! sample        a limit: rows are evaluated until enough nodes fit
//! overlay       the cluster with hypothetical changes, as a snapshot of its own
//! preemption    how many victims must go until a pod fits; dry_run tries one node
//! ```

mod dry_run;
pub(crate) mod nominated;
pub(crate) mod overlay;
mod partial_verdict;
pub(crate) mod preemption;
pub(crate) mod sample;
