//! Pods: found by UID or name, and counted per row for selectors and affinity terms. Knows nothing of the writer and
//! of snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `index` | pods by UID and by name, for many threads: start here |
//! | `classes` | classes of pods that selectors cannot tell apart, and which of them are on which row |
//! | `counts` | per row the number of pods that match a selector, and what they use of a resource |
//! | `measure` | what is added up for these |
//! | `tally` | totals that are maintained, and those that readers build |
//! | `controllers` | pods on nodes by their controller |
//! | `amounts_change` | a pod that takes something else than before |
//! | `terms` | affinity terms of pods on nodes, required anti-affinity and those that count in scores |

pub(crate) mod amounts_change;
pub(crate) mod classes;
pub(crate) mod controllers;
pub(crate) mod counts;
pub(crate) mod index;
mod measure;
mod tally;
pub(crate) mod terms;

pub use classes::{Namespaces, PodClass};
pub use controllers::{ControlledPods, ControllerRows};
pub use index::PodIndex;
pub use measure::{CountKey, SumKey};
pub use terms::{MatchedScoringTerm, MatchedTerm, TermOwner};
