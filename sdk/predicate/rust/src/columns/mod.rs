//! The facts, as functions with the names of the contract's interfaces. Inside a component they call the host;
//! elsewhere they read the facts that [`native::with_facts`](crate::native::with_facts) has set.
//!
//! A component imports exactly the functions that its predicate calls. They make up the manifest that an operator
//! reviews. Every function is about the pod and the batch of the running `filter` call. `wit/predicate.wit`
//! has the full description of each fact.
//!
//! Interfaces named `pod_*` are about the pod being filtered. Columns of `node_*` have one entry per row of the batch.
//! Those of `cluster_*` have one entry per row of the cluster; a predicate that calls one of these is cluster-wide, and
//! its batch holds all rows of the cluster.
//!
//! `time` and `config_maps` are about neither the pod nor a node; a predicate that calls them stays pointwise.
//!
//! Amounts are [`i64`]: `cpu` in millicores, `memory`, `ephemeral-storage`, `hugepages-*` and storage sizes in bytes,
//! other resources as a count. Flags are [`u8`]: 1 for true, 0 for false.

/// Reads a fact: `ask!(interface::function(arguments) or method)`, where `method` is the one of `facts::Facts`.
macro_rules! ask {
    ($interface:ident :: $function:ident ( $($argument:expr),* ) or $method:ident) => {{
        #[cfg(target_arch = "wasm32")]
        {
            crate::bindings::nodesift::predicate::$interface::$function($($argument),*)
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            crate::facts::ask(|facts| facts.$method($($argument),*))
        }
    }};
}

mod cluster;
mod node;
mod pod;
mod state;
mod values;

pub use cluster::*;
pub use node::*;
pub use pod::*;
pub use state::*;

/// Label selector types that other interfaces use; no functions. [`label_selector`](crate::label_selector) evaluates
/// them.
pub mod selectors {
    pub use crate::bindings::nodesift::predicate::selectors::{LabelSelector, Operator, Requirement};
}
