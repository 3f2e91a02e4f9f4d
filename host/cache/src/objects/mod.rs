//! Kubernetes objects beside nodes and pods, as snapshots show them, and the volumes that pods on nodes use of them. Knows
//! nothing of the writer and of snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `storage` | claims, volumes, classes, CSI objects by name: start here |
//! | `volumes` | pods with volumes per row, and what is derived of them |
//! | `volume_use` | disks and claims in use by pods on nodes |
//! | `attachments` | volumes that CSI drivers attach, and how many each node can take |
//! | `config_maps` | ConfigMaps that policies list |
//! | `workloads` | services and controllers by namespace |
//! | `device_classes` | extended resources that DeviceClasses serve |

pub(crate) mod attachments;
pub(crate) mod config_maps;
pub(crate) mod device_classes;
pub(crate) mod storage;
mod volume_use;
pub(crate) mod volumes;
pub(crate) mod workloads;

#[cfg(test)]
mod model;

pub use attachments::{Attachments, Binding, CsiVolume, Obstacle, Owner, Uncounted, resolve};
pub use storage::StorageTable;
pub use volume_use::{VolumePods, VolumeUse};
pub use workloads::Workloads;
