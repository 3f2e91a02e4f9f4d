//! Facts about volumes: the pod's own, those in use on nodes, and the storage objects behind them.
//!
//! Predicates that import a `cluster-*` interface are always evaluated over every row, so columns here have one entry per row
//! of the snapshot.

use std::sync::Arc;

use super::context::Context;
use super::convert;
use crate::limits::STORAGE_STRIDE;
use nodesift_cache::metadata::volumes::{Disk, DiskKind};
use nodesift_cache::metadata::{self, BindingMode, Exact, VolumeSource};
use nodesift_cache::{Binding, MigratedPlugins, Obstacle, Owner, Row, resolve};
use nodesift_sandbox::{Meter, NoValue, wire};

impl Context {
    pub(super) fn volumes_of_pod(&self) -> Vec<wire::PodVolume> {
        let mut volumes = Vec::new();
        for volume in self.pod.volumes.iter() {
            volumes.extend(volume.disks.iter().map(disk).map(wire::PodVolume::Disk));
            let claim = volume.claim_name(&self.owner.0);
            let claim = claim.map(|name| wire::ClaimRef { name, ephemeral: volume.is_ephemeral() });
            volumes.extend(claim.map(wire::PodVolume::Claim));
        }
        volumes
    }

    /// Number of the pod's volumes that are bound or provisioned once its node is known, or of which that is not known.
    pub(super) fn pending_volumes(&self) -> usize {
        let storage = self.snapshot.storage();
        let is_pending = |name: &Arc<str>| {
            storage.claim(&self.pod.namespace, name).is_none_or(|claim| {
                let class = claim.class_name.as_deref().and_then(|name| storage.class(name));
                let mode = class.and_then(|class| class.binding_mode);
                claim.volume_name.is_empty() && mode != Some(BindingMode::Immediate)
            })
        };
        self.pod.volumes.iter().filter_map(|volume| volume.claim_name(&self.owner.0)).filter(is_pending).count()
    }

    pub(super) fn owner_of_claims(&self) -> (Arc<str>, Arc<str>, Arc<str>) {
        let (name, uid) = self.owner.clone();
        (Arc::clone(&self.pod.namespace), name, uid)
    }

    pub(super) fn users_of_disk(&self, kind: wire::DiskKind, id: &str) -> Vec<wire::DiskUser> {
        let user = |(row, disk): &(Row, Disk)| wire::DiskUser {
            row: row.0,
            read_only: disk.read_only,
            monitors: disk.monitors.clone(),
        };
        self.snapshot.volume_use().disk_users(disk_kind(kind), id).iter().map(user).collect()
    }

    pub(super) fn users_of_claim(&self, claim: &str) -> u32 {
        self.snapshot.volume_use().claim_users(&self.pod.namespace, claim)
    }

    pub(super) fn attachments_wanted(&self, registered: bool) -> Result<Vec<wire::Attachment>, wire::Obstacle> {
        let owner = Owner { namespace: &self.pod.namespace, name: &self.owner.0, uid: &self.owner.1 };
        let storage = self.snapshot.storage();
        let migrated = if registered { MigratedPlugins::All } else { MigratedPlugins::None };
        let wanted = resolve(storage, owner, &self.pod.volumes, migrated, Binding::Pending).map_err(obstacle)?;
        let attachment = |(driver, handle): (Arc<str>, Arc<str>)| wire::Attachment {
            driver: driver.to_string(),
            handle: handle.to_string(),
        };
        Ok(wanted.into_iter().map(attachment).collect())
    }

    pub(super) fn attachments_limit(&self, driver: &str) -> Arc<[i64]> {
        self.spread(&self.snapshot.attachments().limits(driver), i64::MAX)
    }

    pub(super) fn attachments_in_use(&self, driver: &str) -> Arc<[i64]> {
        self.spread(&self.snapshot.attachments().used(driver), 0)
    }

    pub(super) fn pods_uncounted(&self) -> Vec<wire::UncountedPod> {
        let pods = self.snapshot.attachments().uncounted();
        pods.iter()
            .map(|pod| wire::UncountedPod {
                row: pod.row.0,
                namespace: Arc::clone(&pod.namespace),
                pod: Arc::clone(&pod.pod),
                obstacle: obstacle(pod.obstacle.clone()),
            })
            .collect()
    }

    pub(super) fn claim_of_pod(&self, name: &str) -> Option<wire::Claim> {
        self.snapshot.storage().claim(&self.pod.namespace, name).map(|found| claim(found))
    }

    pub(super) fn persistent_volume(&self, name: &str) -> Option<wire::Volume> {
        self.snapshot.storage().volume(name).map(|found| volume(found))
    }

    pub(super) fn persistent_volumes_for(&self, claim: &str, meter: &Meter) -> Result<Arc<[wire::Volume]>, NoValue> {
        let claim = self.snapshot.storage().claim(&self.pod.namespace, claim);
        claim.into_iter().flat_map(|claim| self.candidates(claim, meter)).map(|found| found.map(volume)).collect()
    }

    pub(super) fn exact_sizes_of(&self, claim: &str, meter: &Meter) -> Result<Option<wire::ExactSizes>, NoValue> {
        let Some(claim) = self.snapshot.storage().claim(&self.pod.namespace, claim) else { return Ok(None) };
        let capacity = |found: Result<&metadata::Volume, NoValue>| found.map(|volume| exact(volume.exact_capacity));
        let capacities = self.candidates(claim, meter).map(capacity).collect::<Result<_, _>>()?;
        Ok(Some(wire::ExactSizes { requested: exact(claim.exact_request.unwrap_or_default()), capacities }))
    }

    /// The volumes of a claim's class that no other claim has, in the order of names.
    fn candidates<'a>(
        &'a self,
        claim: &'a metadata::Claim,
        meter: &'a Meter,
    ) -> impl Iterator<Item = Result<&'a metadata::Volume, NoValue>> {
        let class = claim.class_name.as_deref().unwrap_or_default();
        let volumes = self.snapshot.storage().volumes_of_class(class).map(|volume| &**volume);
        within(meter, volumes).filter(|volume| volume.as_ref().map_or(true, |volume| volume.is_free_for(claim)))
    }

    pub(super) fn class_of_storage(&self, name: &str) -> Option<wire::StorageClass> {
        self.snapshot.storage().class(name).map(|class| wire::StorageClass {
            name: Arc::clone(&class.name),
            provisioner: Arc::clone(&class.provisioner),
            binding_mode: class.binding_mode.map(|mode| match mode {
                BindingMode::Immediate => wire::BindingMode::Immediate,
                BindingMode::WaitForFirstConsumer => wire::BindingMode::WaitForFirstConsumer,
            }),
            allowed_topologies: class.allowed_topologies.clone(),
        })
    }

    pub(super) fn class_by_default(&self) -> Option<Arc<str>> {
        self.snapshot.storage().classes().find(|class| class.is_default).map(|class| Arc::clone(&class.name))
    }

    pub(super) fn reports_capacity(&self, driver: &str) -> bool {
        self.snapshot.storage().driver(driver).is_some_and(|driver| driver.reports_capacity)
    }

    pub(super) fn capacities_of(&self, class: &str, meter: &Meter) -> Result<Arc<[wire::StorageCapacity]>, NoValue> {
        let capacity = |capacity: &Arc<metadata::Capacity>| wire::StorageCapacity {
            bytes: capacity.bytes,
            maximum_volume_bytes: capacity.maximum_volume_bytes,
            node_selector: capacity.node_selector.as_ref().map(convert::label_selector),
        };
        let capacities = self.snapshot.storage().capacities_of_class(class);
        within(meter, capacities).map(|found| found.map(capacity)).collect()
    }

    pub(super) fn rows_without_driver(&self, driver: &str) -> Arc<[u8]> {
        let storage = self.snapshot.storage();
        let is_required = storage.driver(driver).is_some_and(|driver| driver.keeps_pods_away);
        let is_missing =
            |name: &Arc<str>| is_required && storage.node(name).is_none_or(|node| !node.has_driver(driver));
        self.snapshot.names().iter().map(|name| u8::from(is_missing(name))).collect()
    }

    pub(super) fn rows_migrated(&self, plugin: &str) -> Arc<[u8]> {
        let storage = self.snapshot.storage();
        let is_migrated = |name: &Arc<str>| storage.node(name).is_some_and(|node| node.migrates(plugin));
        self.snapshot.names().iter().map(|name| u8::from(is_migrated(name))).collect()
    }

    /// A dense column with one entry per row of the snapshot: the listed values, and `rest` for all other rows.
    fn spread(&self, rows: &[(Row, i64)], rest: i64) -> Arc<[i64]> {
        let mut column = vec![rest; self.snapshot.node_count()];
        for (row, value) in rows {
            if let Some(entry) = column.get_mut(row.index()) {
                *entry = *value;
            }
        }
        column.into()
    }
}

/// The objects, as long as the meter lets it go on.
fn within<T>(meter: &Meter, objects: impl Iterator<Item = T>) -> impl Iterator<Item = Result<T, NoValue>> {
    objects.enumerate().map(|(at, object)| {
        let goes_on = (at + 1) % STORAGE_STRIDE != 0 || meter.goes_on();
        if goes_on { Ok(object) } else { Err(NoValue::Deadline) }
    })
}

fn disk_kind(kind: wire::DiskKind) -> DiskKind {
    match kind {
        wire::DiskKind::GcePersistentDisk => DiskKind::GcePersistentDisk,
        wire::DiskKind::AwsElasticBlockStore => DiskKind::AwsElasticBlockStore,
        wire::DiskKind::Iscsi => DiskKind::Iscsi,
        wire::DiskKind::Rbd => DiskKind::Rbd,
    }
}

fn disk(disk: &Disk) -> wire::Disk {
    wire::Disk {
        kind: match disk.kind {
            DiskKind::GcePersistentDisk => wire::DiskKind::GcePersistentDisk,
            DiskKind::AwsElasticBlockStore => wire::DiskKind::AwsElasticBlockStore,
            DiskKind::Iscsi => wire::DiskKind::Iscsi,
            DiskKind::Rbd => wire::DiskKind::Rbd,
        },
        id: Arc::clone(&disk.id),
        read_only: disk.read_only,
        monitors: disk.monitors.clone(),
    }
}

fn obstacle(obstacle: Obstacle) -> wire::Obstacle {
    match obstacle {
        Obstacle::UnnamedClaim => wire::Obstacle::UnnamedClaim,
        Obstacle::MissingClaim(claim) => wire::Obstacle::MissingClaim(claim),
        Obstacle::ForeignClaim(claim) => wire::Obstacle::ForeignClaim(claim),
        Obstacle::Untranslatable(volume, reason) => wire::Obstacle::Untranslatable((volume, reason)),
    }
}

fn claim(claim: &metadata::Claim) -> wire::Claim {
    wire::Claim {
        name: Arc::clone(&claim.name),
        uid: Arc::clone(&claim.uid),
        volume_name: Arc::clone(&claim.volume_name),
        class_name: claim.class_name.clone(),
        access_modes: claim.access_modes.clone(),
        requested: claim.requested,
        volume_mode: Arc::clone(&claim.volume_mode),
        attributes_class: Arc::clone(&claim.attributes_class),
        selector: claim.selector.as_ref().map(convert::label_selector),
        bind_completed: claim.bind_completed,
        selected_node: claim.selected_node.clone(),
        phase: Arc::clone(&claim.phase),
        deleting: claim.deleting,
        controller_uid: claim.controller_uid.clone(),
        has_data_source: claim.has_data_source,
        labels: claim.labels.to_vec(),
    }
}

/// The two halves of 128 bits.
fn exact(Exact(size): Exact) -> wire::ExactSize {
    let (high, low) = (size >> 64, size & i128::from(u64::MAX));
    wire::ExactSize { high: i64::try_from(high).unwrap_or(i64::MAX), low: u64::try_from(low).unwrap_or(u64::MAX) }
}

fn volume(volume: &metadata::Volume) -> wire::Volume {
    let nothing: Arc<str> = Arc::default();
    let (in_tree_plugin, driver, handle) = match &volume.source {
        VolumeSource::Csi { driver, handle } => (nothing, Arc::clone(driver), Ok(Arc::clone(handle))),
        VolumeSource::InTree(volume) => {
            (Arc::from(volume.plugin.name()), Arc::from(volume.plugin.driver()), volume.handle.clone())
        }
        VolumeSource::Other => (Arc::clone(&nothing), Arc::clone(&nothing), Ok(nothing)),
    };
    wire::Volume {
        name: Arc::clone(&volume.name),
        class_name: Arc::clone(&volume.class_name),
        access_modes: volume.access_modes.clone(),
        capacity: volume.capacity,
        volume_mode: Arc::clone(&volume.volume_mode),
        attributes_class: Arc::clone(&volume.attributes_class),
        labels: volume.labels.to_vec(),
        node_terms: volume
            .node_selector
            .as_ref()
            .map(|selector| selector.node_selector_terms.iter().map(convert::node_selector_term).collect()),
        claim_ref: volume.claim_ref.clone(),
        phase: Arc::clone(&volume.phase),
        deleting: volume.deleting,
        in_tree_plugin,
        driver,
        handle,
    }
}
