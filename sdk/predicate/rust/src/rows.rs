//! Sets of rows, which the host holds: an operation costs one call, however many nodes there are. Start at [`label_in`] or
//! [`all`], combine with [`Rows::and`], [`Rows::or`] and [`Rows::not`], and [`Rows::reject`].
//!
//! A set is of use in the running `filter` call only. A row that is rejected has that failure; what `filter` returns is about
//! the others, so a predicate that rejects by sets alone returns [`Verdict::FitsAll`](crate::Verdict::FitsAll). For columns that
//! a predicate computes with, the functions of [`columns`](crate::columns) are as fast; sets are for predicates in few words.
//!
//! ```
//! use nodesift_sdk::native::{Cluster, Node, Pod};
//! use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict, rows};
//!
//! struct Racked;
//!
//! impl Predicate for Racked {
//!     const NAME: &'static str = "Racked";
//!     const SUMMARY: &'static str = "rejects nodes without a rack label";
//!     type Args = NoArgs;
//!
//!     fn new(_: NoArgs) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn filter(&self, _: usize) -> Verdict {
//!         rows::label_exists("example.com/rack").not().reject(&Failure::unresolvable("node(s) had no rack label"));
//!         Verdict::FitsAll
//!     }
//! }
//!
//! let cluster = Cluster::new(Pod::new("default"))
//!     .node(Node::new("a").label("example.com/rack", "7"))
//!     .node(Node::new("b"));
//! assert_eq!(cluster.rejected(&Racked), ["b: node(s) had no rack label"]);
//! ```

#[cfg(target_arch = "wasm32")]
mod host;
#[cfg(not(target_arch = "wasm32"))]
mod native;

use crate::verdict::Failure;
#[cfg(target_arch = "wasm32")]
use host as sets;
#[cfg(not(target_arch = "wasm32"))]
use native as sets;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::merging;

/// A set of rows of the batch of the running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Rows(u32);

/// Every row of the batch.
pub fn all() -> Rows {
    Rows(sets::all())
}

/// The rows whose label has one of these values.
pub fn label_in(key: &str, values: &[&str]) -> Rows {
    Rows(sets::label_in(key, values))
}

/// The rows that have the label.
pub fn label_exists(key: &str) -> Rows {
    Rows(sets::label_exists(key))
}

/// The rows whose annotation has one of these values. The policy must list the key in `spec.facts.annotations`.
pub fn annotation_in(key: &str, values: &[&str]) -> Rows {
    Rows(sets::annotation_in(key, values))
}

/// The rows that have the annotation. The policy must list the key in `spec.facts.annotations`.
pub fn annotation_exists(key: &str) -> Rows {
    Rows(sets::annotation_exists(key))
}

/// The rows with `spec.unschedulable`.
pub fn unschedulable() -> Rows {
    Rows(sets::unschedulable())
}

/// The rows with a taint of the effect NoSchedule or NoExecute that the pod does not tolerate.
pub fn untolerated() -> Rows {
    Rows(sets::untolerated())
}

/// The rows on which at least `amount` of the resource is free: `cpu` in millicores, memory in bytes, others as a count.
pub fn with_free(resource: &str, amount: i64) -> Rows {
    Rows(sets::with_free(resource, amount))
}

impl Rows {
    /// The rows that are in both sets.
    pub fn and(self, other: Self) -> Self {
        Self(sets::and(self.0, other.0))
    }

    /// The rows that are in at least one of the sets.
    pub fn or(self, other: Self) -> Self {
        Self(sets::or(self.0, other.0))
    }

    /// The rows of the batch that are not in the set.
    #[allow(clippy::should_implement_trait, reason = "named as the function of the contract")]
    pub fn not(self) -> Self {
        Self(sets::not(self.0))
    }

    /// The number of rows of the batch that are in the set. A pointwise predicate must not decide about a row by it.
    #[must_use]
    pub fn count(self) -> u32 {
        sets::count(self.0)
    }

    /// Rejects the rows. One that was rejected before in the same call keeps its failure.
    pub fn reject(self, failure: &Failure) {
        sets::reject(self.0, failure);
    }
}
