//! Claims on devices: ResourceClaims and DeviceClasses as snapshots show them, and which devices the claims hold. Knows nothing of the
//! writer and of devices themselves.
//!
//! | file | holds |
//! |---|---|
//! | `table` | claims by name and by pod, allocations in flight, what changes of the devices held: start here |
//! | `classes` | classes by name and by the extended resource that they serve |
//! | `resolve` | the claims of a pod, or why they cannot be allocated at all |
//! | `owners` | which allocations in flight end with which pod |
//! | `shards` | maps that a change copies in part |

mod classes;
mod owners;
mod resolve;
pub(crate) mod shards;
mod table;

#[cfg(test)]
mod model;

pub use resolve::{ClaimObstacle, ExtendedClaim, Resolved};
pub use table::{ClaimRules, Claims, InFlightError, PodHolds};
pub(crate) use table::{ClaimTable, HoldChange};
