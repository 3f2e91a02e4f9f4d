//! Queries beyond a plain evaluation of pods on nodes.
//!
//! ```text
//! nominated     nominated rows are evaluated again with their nominated pods on the node
//! sample        a limit on feasible nodes: rows are evaluated until enough fit
//! overlay       the cluster with hypothetical changes, as a separate snapshot
//! preemption    how many victims must be removed until a pod fits; dry_run evaluates one node
//! reprieve      which victims preemptions on many nodes need; reprieve_run evaluates them together
//! headroom      how much more a pod may take of the node that it is on
//! trial         a policy tried on a sample of the cluster before it becomes active
//! warm_up       the active policy evaluated before anybody asks
//! ```

mod dry_run;
pub(crate) mod headroom;
pub(crate) mod nominated;
pub(crate) mod overlay;
mod partial_verdict;
pub(crate) mod preemption;
pub(crate) mod reprieve;
pub(crate) mod reprieve_run;
pub(crate) mod sample;
pub(crate) mod trial;
pub(crate) mod warm_up;
