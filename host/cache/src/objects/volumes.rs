//! Volumes of pods on nodes: the pods by row, and what is derived of them on first read after a change.
//!
//! Start at [`PodVolumes`]. A pod without volumes costs nothing here.

use std::sync::{Arc, OnceLock};

use super::attachments::Attachments;
use super::storage::StorageTable;
use super::volume_use::{VolumePods, VolumeUse};
use crate::columns::drift::uids_of;
use crate::columns::{Column, Delta, DriftReport, Row};
use crate::metadata::PodRecord;

/// Pods with volumes per row.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodVolumes {
    pods: Column<VolumePods>,
    /// Disks and claims that they use, counted on first read.
    in_use: Arc<OnceLock<VolumeUse>>,
    /// Volumes attached for these pods and for others, counted on first read.
    attachments: Arc<OnceLock<Attachments>>,
}

impl PodVolumes {
    /// `len` rows without pods.
    pub(crate) fn empty(len: usize) -> Self {
        Self { pods: Column::filled(len, &VolumePods::default()), ..Self::default() }
    }

    /// Whether neither volumes of pods nor storage objects differ between the two.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.in_use, &other.in_use)
    }

    /// Disks and claims in use.
    pub(crate) fn in_use(&self) -> &VolumeUse {
        self.in_use.get_or_init(|| VolumeUse::count(&self.pods))
    }

    /// Returns the disks and claims in use under an overlay, like [`Self::in_use`]: only the touched rows are counted again, the others are
    /// taken from `below`, which must be counted already.
    pub(crate) fn in_use_over(&self, below: &Self, touched: &Arc<[Row]>) -> &VolumeUse {
        self.in_use.get_or_init(|| VolumeUse::over(&below.in_use, touched, &below.pods, &self.pods))
    }

    /// Volumes attached to nodes, or to be attached for the pods on them; `names` are the nodes' names.
    pub(crate) fn attachments(&self, names: &Column<Arc<str>>, storage: &StorageTable) -> &Attachments {
        self.attachments.get_or_init(|| Attachments::count(names, &self.pods, storage))
    }

    /// Returns the attached volumes under an overlay, like [`Self::attachments`]: only the touched rows are counted again, the others are
    /// taken from `below`, which must be counted already.
    pub(crate) fn attachments_over(
        &self,
        below: &Self,
        touched: &Arc<[Row]>,
        names: &Column<Arc<str>>,
        storage: &StorageTable,
    ) -> &Attachments {
        self.attachments.get_or_init(|| Attachments::over(&below.attachments, touched, names, &self.pods, storage))
    }

    /// Storage objects changed: attachments are counted again on the next read.
    pub(crate) fn storage_changed(&mut self) {
        self.attachments = Arc::default();
    }

    /// Appends a row without pods.
    pub(crate) fn push(&mut self) {
        self.pods.push(VolumePods::default());
        self.reset();
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        self.pods.swap_remove(row);
        self.reset();
    }

    /// Adds a pod to a row, in the place of any other state of it, or removes it. A pod without volumes changes nothing.
    pub(crate) fn apply(&mut self, delta: Delta, row: Row, pod: &Arc<PodRecord>) {
        if pod.facts.volumes.is_empty() {
            return;
        }
        self.pods.update(row, |pods| {
            let others = pods.iter().filter(|known| known.uid != pod.uid).cloned();
            *pods = others.chain((delta == Delta::Add).then(|| Arc::clone(pod))).collect();
        });
        self.reset();
    }

    /// Repairs a row by the pods on its node.
    pub(crate) fn repair(&mut self, row: Row, pods: &[Arc<PodRecord>], report: &mut DriftReport) {
        let with_volumes = || pods.iter().filter(|pod| !pod.facts.volumes.is_empty());
        let counted = uids_of(with_volumes());
        let held = uids_of(self.pods.get(row).into_iter().flat_map(|pods| pods.iter()));
        if report.differs(|| "pods with volumes".to_owned(), &held, &counted) {
            self.pods.set(row, with_volumes().map(Arc::clone).collect());
            self.reset();
        }
    }

    fn reset(&mut self) {
        self.in_use = Arc::default();
        self.attachments = Arc::default();
    }
}
