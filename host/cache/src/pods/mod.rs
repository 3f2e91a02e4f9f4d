//! Pods: found by UID or name, and counted per row for selectors and anti-affinity terms. Knows nothing of the writer and
//! of snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `index` | pods by UID and by name, for many threads: start here |
//! | `classes` | classes of pods that selectors cannot tell apart, and which of them are on which row |
//! | `counts` | per row the number of pods that match a selector |
//! | `anti_affinity` | required anti-affinity terms of pods on nodes |

pub(crate) mod anti_affinity;
pub(crate) mod classes;
pub(crate) mod counts;
pub(crate) mod index;

pub use anti_affinity::MatchedTerm;
pub use classes::{Namespaces, PodClass};
pub use counts::CountKey;
pub use index::PodIndex;
