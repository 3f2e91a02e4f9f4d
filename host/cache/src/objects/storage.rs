//! Storage objects by name, as snapshots show them.
//!
//! Start at [`StorageTable`]. Storage objects are few beside pods, so each kind is one map, which is copied when an event
//! changes it while a snapshot shares it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::migrated::MigratedPlugins;
use crate::metadata::volumes::in_tree::Plugin;
use crate::metadata::{Attachment, Capacity, Claim, Class, CsiDriver, CsiNode, StorageRecord, Volume};
use nodesift_object::Kind;

/// Objects of one kind by their key.
#[derive(Debug, Clone)]
struct ByKey<T>(Arc<BTreeMap<Arc<str>, Arc<T>>>);

impl<T> Default for ByKey<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: PartialEq> ByKey<T> {
    fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.0.get(key)
    }

    fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.values()
    }

    fn holds(&self, key: &str, value: &T) -> bool {
        self.get(key).is_some_and(|held| **held == *value)
    }

    /// Inserts an object under a key; true where that changes something.
    fn insert(&mut self, key: Arc<str>, value: T) -> bool {
        if self.0.get(&key).is_some_and(|known| **known == value) {
            return false;
        }
        Arc::make_mut(&mut self.0).insert(key, Arc::new(value));
        true
    }

    /// Removes an object; true where there was one.
    fn remove(&mut self, key: &str) -> bool {
        self.0.contains_key(key) && Arc::make_mut(&mut self.0).remove(key).is_some()
    }
}

/// Volumes of one class by their name.
type VolumesByName = BTreeMap<Arc<str>, Arc<Volume>>;

/// All storage objects by kind and key.
#[derive(Debug, Clone, Default)]
pub struct StorageTable {
    /// All claims by `namespace/name`.
    claims: ByKey<Claim>,
    volumes: ByKey<Volume>,
    /// Volumes by the name of their class; under the empty text those without a class.
    volumes_by_class: Arc<BTreeMap<Arc<str>, Arc<VolumesByName>>>,
    classes: ByKey<Class>,
    nodes: ByKey<CsiNode>,
    drivers: ByKey<CsiDriver>,
    /// All capacities by `namespace/name`.
    capacities: ByKey<Capacity>,
    attachments: ByKey<Attachment>,
    /// Whether in-tree volumes of Portworx count as those of its CSI driver only where the CSINode says so.
    pub(super) portworx_by_annotation: bool,
}

impl StorageTable {
    /// The claim of this namespace and name.
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&Arc<Claim>> {
        self.claims.get(&format!("{namespace}/{name}"))
    }

    /// The volume of this name.
    pub fn volume(&self, name: &str) -> Option<&Arc<Volume>> {
        self.volumes.get(name)
    }

    /// Volumes of a class, in the order of names; the empty text for those without a class.
    pub fn volumes_of_class(&self, class: &str) -> impl Iterator<Item = &Arc<Volume>> {
        self.volumes_by_class.get(class).into_iter().flat_map(|volumes| volumes.values())
    }

    /// How many volumes there are.
    pub fn volume_count(&self) -> usize {
        self.volumes.0.len()
    }

    /// The class of this name.
    pub fn class(&self, name: &str) -> Option<&Arc<Class>> {
        self.classes.get(name)
    }

    /// All classes, in the order of names.
    pub fn classes(&self) -> impl Iterator<Item = &Arc<Class>> {
        self.classes.values()
    }

    /// The CSINode of the node of this name.
    pub fn node(&self, name: &str) -> Option<&Arc<CsiNode>> {
        self.nodes.get(name)
    }

    /// Which in-tree plugins CSI drivers have replaced on the node of this name.
    pub(super) fn migrated(&self, name: &str) -> MigratedPlugins {
        match self.node(name) {
            None => MigratedPlugins::None,
            Some(node) if self.portworx_by_annotation && !node.migrates(Plugin::Portworx.name()) => {
                MigratedPlugins::AllButPortworx
            }
            Some(_) => MigratedPlugins::All,
        }
    }

    /// The driver of this name.
    pub fn driver(&self, name: &str) -> Option<&Arc<CsiDriver>> {
        self.drivers.get(name)
    }

    /// Capacities of a class, in the order of `namespace/name`.
    pub fn capacities_of_class(&self, class: &str) -> impl Iterator<Item = &Arc<Capacity>> {
        self.capacities.values().filter(move |capacity| *capacity.class_name == *class)
    }

    /// All attachments, in the order of names.
    pub fn attachments(&self) -> impl Iterator<Item = &Arc<Attachment>> {
        self.attachments.values()
    }

    /// Adds an object or replaces the one of its name; true where that changes something.
    pub(crate) fn apply(&mut self, record: StorageRecord) -> bool {
        match record {
            StorageRecord::Claim(claim) => {
                self.claims.insert(Arc::from(format!("{}/{}", claim.namespace, claim.name)), claim)
            }
            StorageRecord::Volume(volume) => self.apply_volume(volume),
            StorageRecord::Class(class) => self.classes.insert(Arc::clone(&class.name), class),
            StorageRecord::Node(node) => self.nodes.insert(Arc::clone(&node.name), node),
            StorageRecord::Driver(driver) => self.drivers.insert(Arc::clone(&driver.name), driver),
            StorageRecord::Capacity(capacity) => self.capacities.insert(Arc::clone(&capacity.key), capacity),
            StorageRecord::Attachment(attachment) => self.attachments.insert(Arc::clone(&attachment.name), attachment),
        }
    }

    /// Whether this is what is held under its kind and key.
    pub(crate) fn holds(&self, record: &StorageRecord) -> bool {
        match record {
            StorageRecord::Claim(claim) => {
                self.claim(&claim.namespace, &claim.name).is_some_and(|held| **held == *claim)
            }
            StorageRecord::Volume(volume) => self.volumes.holds(&volume.name, volume),
            StorageRecord::Class(class) => self.classes.holds(&class.name, class),
            StorageRecord::Node(node) => self.nodes.holds(&node.name, node),
            StorageRecord::Driver(driver) => self.drivers.holds(&driver.name, driver),
            StorageRecord::Capacity(capacity) => self.capacities.holds(&capacity.key, capacity),
            StorageRecord::Attachment(attachment) => self.attachments.holds(&attachment.name, attachment),
        }
    }

    /// Removes the object of a kind and key; true where there was one. Other kinds than those of storage have none.
    pub(crate) fn remove(&mut self, kind: Kind, key: &str) -> bool {
        match kind {
            Kind::PersistentVolumeClaim => self.claims.remove(key),
            Kind::PersistentVolume => self.remove_volume(key),
            Kind::StorageClass => self.classes.remove(key),
            Kind::CsiNode => self.nodes.remove(key),
            Kind::CsiDriver => self.drivers.remove(key),
            Kind::CsiStorageCapacity => self.capacities.remove(key),
            Kind::VolumeAttachment => self.attachments.remove(key),
            _ => false,
        }
    }

    fn apply_volume(&mut self, volume: Volume) -> bool {
        if self.volumes.get(&volume.name).is_some_and(|known| **known == volume) {
            return false;
        }
        let name = Arc::clone(&volume.name);
        self.remove_volume(&name);
        let class = Arc::clone(&volume.class_name);
        self.volumes.insert(Arc::clone(&name), volume);
        if let Some(volume) = self.volumes.get(&name) {
            let by_class = Arc::make_mut(&mut self.volumes_by_class).entry(class).or_default();
            Arc::make_mut(by_class).insert(name, Arc::clone(volume));
        }
        true
    }

    fn remove_volume(&mut self, name: &str) -> bool {
        let Some(volume) = self.volumes.get(name).map(Arc::clone) else { return false };
        self.volumes.remove(name);
        let by_class = Arc::make_mut(&mut self.volumes_by_class);
        if let Some(volumes) = by_class.get_mut(&volume.class_name) {
            Arc::make_mut(volumes).remove(name);
            if volumes.is_empty() {
                by_class.remove(&volume.class_name);
            }
        }
        true
    }
}
