//! The node table: every fact about nodes as columns over dense rows. Knows nothing of the writer and of snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `table` | all columns together: start here |
//! | `node_index` | which node is in which row |
//! | `encoded_names` | all names as responses carry them |
//! | `resources` | allocatable, free and foreign amounts per advertised resource |
//! | `named_sums` | sums under names that a policy chooses |
//! | `non_zero_sums` | usage of `cpu` and `memory` with an amount for containers that name none |
//! | `unadvertised` | pods that use resources which no node advertises |
//! | `pod_slots` | numbers of pods per node, and how many fit |
//! | `ports` | host ports in use |
//! | `moments` | the times that nodes name |
//! | `nominated` | pending pods nominated for a node |

mod encoded_names;
pub(crate) mod moments;
pub(crate) mod named_sums;
pub(crate) mod node_index;
pub(crate) mod nominated;
pub(crate) mod non_zero_sums;
pub(crate) mod pod_slots;
pub(crate) mod ports;
pub(crate) mod resources;
pub(crate) mod table;
mod unadvertised;

pub use encoded_names::EncodedNames;
pub use node_index::{Epoch, NodeNames};
pub use ports::PortUse;
pub use resources::{Own, Resource};
