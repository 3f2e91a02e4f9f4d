//! Disks and claims in use by pods on nodes, counted from the rows' pods with volumes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::cache::{Column, Row};
use crate::metadata::PodRecord;
use crate::metadata::volumes::{ClaimSource, Disk, DiskKind};

/// The pods of a row that have volumes which can keep a pod from a node; most rows of most clusters have a few.
pub type VolumePods = Arc<[Arc<PodRecord>]>;

/// Kind and identity of a disk.
type DiskName = (DiskKind, Arc<str>);

/// Who uses which disk and claim.
#[derive(Debug, Default)]
pub struct VolumeUse {
    disks: FxHashMap<DiskName, Vec<(Row, Disk)>>,
    /// By namespace and name of a claim, how many volumes of pods on nodes are this claim.
    claims: FxHashMap<(Arc<str>, Arc<str>), u32>,
}

impl VolumeUse {
    pub(in crate::cache) fn count(rows: &Column<VolumePods>) -> Self {
        let mut counted = Self::default();
        for (row, pods) in (0..).map(Row).zip(rows.iter()) {
            for pod in pods.iter() {
                counted.add(row, pod);
            }
        }
        counted
    }

    fn add(&mut self, row: Row, pod: &PodRecord) {
        for volume in pod.facts.volumes.iter() {
            for disk in &volume.disks {
                let key = (disk.kind, Arc::clone(&disk.id));
                self.disks.entry(key).or_default().push((row, disk.clone()));
            }
            // kube-scheduler counts claims by name only, not those made for a pod.
            if let Some(ClaimSource::Named(claim)) = &volume.claim {
                *self.claims.entry((Arc::clone(&pod.namespace), Arc::clone(claim))).or_default() += 1;
            }
        }
    }

    /// Who uses the disk of this kind and identity: the row of the pod's node, and how the pod mounts it.
    pub fn disk_users(&self, kind: DiskKind, id: &str) -> &[(Row, Disk)] {
        self.disks.get(&(kind, Arc::from(id))).map_or(&[], Vec::as_slice)
    }

    /// How often pods on nodes use the claim of this namespace and name.
    pub fn claim_users(&self, namespace: &str, claim: &str) -> u32 {
        self.claims.get(&(Arc::from(namespace), Arc::from(claim))).copied().unwrap_or(0)
    }
}
