//! Devices: ResourceSlices as pools, which devices of them are in use, and what each row sees. Knows nothing of the writer, of
//! snapshots, and of claims beyond what they hold.
//!
//! | file | holds |
//! |---|---|
//! | `model` | devices and pools as readers see them: start here |
//! | `seen` | per row what its node sees, as a column |
//! | `rules` | which slices and devices count, by version of Kubernetes |
//! | `offer` | slices of one pool, and what a node sees of them |
//! | `uses` | devices that allocated claims hold |
//! | `own` | values that other devices do not have |
//! | `known` | equal devices kept once, and numbered |
//! | `table` | all pools, as the writer keeps them; brings rows up to date |

mod known;
mod model;
mod offer;
mod own;
mod rules;
mod seen;
mod table;
mod uses;

#[cfg(test)]
mod tests;

pub use model::{Device, DeviceNodes, Draws, PoolState, Reaches, SeenCounter, SeenDevice, SeenPool, SeenPools, Traits};
pub use rules::DeviceRules;
pub use seen::Devices;
pub(crate) use table::{DeviceTable, NodeRows};
pub(crate) use uses::Miscounted;
