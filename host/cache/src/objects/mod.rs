//! Kubernetes objects that have no rows, as snapshots show them, and the volumes that pods on nodes use of them. Knows nothing of the
//! writer and of snapshots.
//!
//! Start at [`Objects`]. A kind of this folder is named here alone: a variant of [`ObjectRecord`], and a table in [`Objects`].
//!
//! | file | holds |
//! |---|---|
//! | `storage` | claims, volumes, classes, CSI objects by name |
//! | `volumes` | pods with volumes per row, and what is derived of them |
//! | `volume_use` | disks and claims in use by pods on nodes |
//! | `migrated` | plugins in tree that CSI drivers have replaced on a node |
//! | `attachments` | volumes that CSI drivers attach, and how many each node can take |
//! | `config_maps` | ConfigMaps that policies list |
//! | `workloads` | services and controllers by namespace |
//! | `device_classes` | extended resources that DeviceClasses serve |

pub(crate) mod attachments;
pub(crate) mod config_maps;
pub(crate) mod device_classes;
mod migrated;
pub(crate) mod storage;
mod volume_use;
pub(crate) mod volumes;
pub(crate) mod workloads;

#[cfg(test)]
mod model;

use std::sync::Arc;

use nodesift_object::{Kind, Object, Workload};

use crate::metadata::{self, Labels, StorageRecord};
use crate::semantics::Semantics;
use config_maps::ConfigMaps;

pub use attachments::{Attachments, Binding, CsiVolume, Obstacle, Owner, Uncounted, resolve};
pub use migrated::MigratedPlugins;
pub use storage::StorageTable;
pub use volume_use::{VolumePods, VolumeUse};
pub use workloads::Workloads;

/// Compiled object of a kind that has no rows.
#[derive(Debug, Clone)]
pub enum ObjectRecord {
    /// `namespace/name` and entries of a ConfigMap.
    ConfigMap(Arc<str>, Labels),
    /// A service or controller.
    Workload(Box<Workload>),
    /// A storage object, such as a PersistentVolume or a CSINode.
    Storage(Box<StorageRecord>),
}

impl ObjectRecord {
    /// Compiles an object; `None` where its kind has rows, or changes what rows show.
    pub(crate) fn compile(object: &Object) -> Option<Self> {
        match object {
            Object::ConfigMap(map) => Some(Self::ConfigMap(map.key().into(), metadata::config_entries(&map.data))),
            Object::Workload(workload) => Some(Self::Workload(workload.clone())),
            Object::Storage(object) => Some(Self::Storage(Box::new(metadata::storage(object)))),
            Object::Node(_)
            | Object::Pod(_)
            | Object::Namespace(_)
            | Object::DeviceClass(_)
            | Object::ResourceSlice(_)
            | Object::ResourceClaim(_)
            | Object::DeviceTaintRule(_) => None,
        }
    }
}

/// Effect of a change of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The object was as it is.
    Nothing,
    /// An object of storage changed: attached volumes are counted anew.
    Storage,
    /// Any other object changed.
    Other,
}

impl Changed {
    fn other(changed: bool) -> Self {
        if changed { Self::Other } else { Self::Nothing }
    }

    fn storage(changed: bool) -> Self {
        if changed { Self::Storage } else { Self::Nothing }
    }
}

/// All objects that have no rows, by kind and key. A clone costs reference counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Objects {
    pub(crate) config_maps: ConfigMaps,
    pub(crate) workloads: Workloads,
    pub(crate) storage: StorageTable,
}

impl Objects {
    /// Sets the rules by which volumes count.
    pub(crate) fn set_semantics(&mut self, semantics: Semantics) {
        self.storage.portworx_by_annotation = semantics.portworx_by_annotation;
    }

    /// Adds an object, or replaces what is known of it.
    pub(crate) fn apply(&mut self, record: ObjectRecord) -> Changed {
        match record {
            ObjectRecord::ConfigMap(key, entries) => Changed::other(self.config_maps.insert(&key, &entries)),
            ObjectRecord::Workload(workload) => Changed::other(self.workloads.apply(&workload)),
            ObjectRecord::Storage(record) => Changed::storage(self.storage.apply(*record)),
        }
    }

    /// Removes an object by its key: the name, or `namespace/name`. Kinds that have rows have none here.
    pub(crate) fn remove(&mut self, kind: Kind, key: &str) -> Changed {
        match kind {
            Kind::ConfigMap => Changed::other(self.config_maps.remove(key)),
            Kind::Service | Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet => {
                let (namespace, name) = key.split_once('/').unwrap_or_default();
                Changed::other(self.workloads.remove(kind, namespace, name))
            }
            kind => Changed::storage(self.storage.remove(kind, key)),
        }
    }

    /// Whether this is what is held of an object.
    pub(crate) fn holds(&self, record: &ObjectRecord) -> bool {
        match record {
            ObjectRecord::ConfigMap(key, entries) => self.config_maps.holds(key, entries),
            ObjectRecord::Workload(workload) => self.workloads.holds(workload),
            ObjectRecord::Storage(record) => self.storage.holds(record),
        }
    }
}
