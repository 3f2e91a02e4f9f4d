//! Disks and claims in use by pods on nodes, counted from the rows' pods with volumes. Under an overlay only the rows that it
//! touches are counted again. Start at [`VolumeUse`].

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::columns::{Column, Row};
use crate::metadata::PodRecord;
use crate::metadata::volumes::{ClaimSource, Disk, DiskKind};

/// The pods of a row with volumes for which a predicate can reject a node; a few on most nodes.
pub type VolumePods = Arc<[Arc<PodRecord>]>;

/// Kind and identity of a disk.
type DiskName = (DiskKind, Arc<str>);

/// Use of disks and claims by pods on nodes.
#[derive(Debug, Default)]
pub struct VolumeUse {
    disks: FxHashMap<DiskName, Vec<(Row, Disk)>>,
    /// Number of volumes of pods on nodes that are a claim, by its namespace and name.
    claims: FxHashMap<(Arc<str>, Arc<str>), u32>,
    /// The count below an overlay; `None` where all rows are counted here.
    below: Option<Below>,
}

/// The count without the overlay.
#[derive(Debug)]
struct Below {
    all: Arc<OnceLock<VolumeUse>>,
    /// The rows that the overlay counts itself, sorted.
    touched: Arc<[Row]>,
    /// Use of those rows by pods without the overlay.
    replaced: Box<VolumeUse>,
}

impl VolumeUse {
    pub(super) fn count(rows: &Column<VolumePods>) -> Self {
        let mut counted = Self::default();
        for (row, pods) in (0..).map(Row).zip(rows.iter()) {
            for pod in pods.iter() {
                counted.add(row, pod);
            }
        }
        counted
    }

    /// The count of rows of which some differ from those that `below` has counted.
    pub(super) fn over(
        below: &Arc<OnceLock<Self>>,
        touched: &Arc<[Row]>,
        old: &Column<VolumePods>,
        new: &Column<VolumePods>,
    ) -> Self {
        let (mut counted, mut replaced) = (Self::default(), Self::default());
        for row in touched.iter() {
            for (rows, counted) in [(new, &mut counted), (old, &mut replaced)] {
                rows.get(*row).into_iter().flat_map(|pods| pods.iter()).for_each(|pod| counted.add(*row, pod));
            }
        }
        let below = Below { all: Arc::clone(below), touched: Arc::clone(touched), replaced: Box::new(replaced) };
        Self { below: Some(below), ..counted }
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

    /// Users of the disk of this kind and identity: the row of the pod's node, and how the pod mounts it.
    pub fn disk_users(&self, kind: DiskKind, id: &str) -> Cow<'_, [(Row, Disk)]> {
        let counted = self.disks.get(&(kind, Arc::from(id))).map_or(&[][..], Vec::as_slice);
        let Some(below) = &self.below else { return counted.into() };
        let all = below.all.get().map(|all| all.disk_users(kind, id)).unwrap_or_default();
        let elsewhere = all.iter().filter(|(row, _)| below.touched.binary_search(row).is_err());
        elsewhere.chain(counted).cloned().collect()
    }

    /// How often pods on nodes use the claim of this namespace and name.
    pub fn claim_users(&self, namespace: &str, claim: &str) -> u32 {
        let counted = self.claims.get(&(Arc::from(namespace), Arc::from(claim))).copied().unwrap_or(0);
        let Some(below) = &self.below else { return counted };
        let all = below.all.get().map_or(0, |all| all.claim_users(namespace, claim));
        counted + all.saturating_sub(below.replaced.claim_users(namespace, claim))
    }
}
