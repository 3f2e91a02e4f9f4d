//! What a running `filter` call can read: one method per function of the contract's fact interfaces.
//!
//! The sandbox knows these shapes and nothing of where the values come from; whoever evaluates implements [`Facts`]
//! for one pod and one batch of rows.

use std::sync::Arc;

use super::wire::{
    AffinityTerm, Attachment, Claim, DiskKind, DiskUser, LabelSelector, Obstacle, PodSelector, PodVolume, Request,
    SpreadConstraint, StorageCapacity, StorageClass, Taint, Term, Toleration, UncountedPod, Volume,
};

/// The pod and the batch of one `filter` call. Columns have one entry per row of the batch.
pub trait Facts: Send + Sync {
    /// `pod-labels.namespace`
    fn namespace(&self) -> Arc<str>;
    /// `pod-labels.label`
    fn label(&self, key: &str) -> Option<Arc<str>>;

    /// `pod-placement.node-name`
    fn node_name(&self) -> Option<Arc<str>>;
    /// `pod-placement.node-selector`
    fn node_selector(&self) -> Arc<[(Arc<str>, Arc<str>)]>;
    /// `pod-placement.required-terms`
    fn required_terms(&self) -> Option<Vec<Term>>;

    /// `pod-tolerations.tolerations`
    fn tolerations(&self) -> Vec<Toleration>;

    /// `pod-resources.requests`
    fn requests(&self) -> Vec<Request>;

    /// `node-identity.names`
    fn names(&self) -> Arc<[Arc<str>]>;
    /// `node-identity.row`
    fn row(&self, name: &str) -> Option<u32>;

    /// `node-labels.column`
    fn label_column(&self, key: &str) -> Arc<[u32]>;
    /// `node-labels.code`
    fn label_code(&self, key: &str, text: &str) -> Option<u32>;
    /// `node-labels.dictionary`
    fn label_dictionary(&self, key: &str) -> Arc<[Arc<str>]>;
    /// `node-labels.integers`
    fn label_integers(&self, key: &str) -> Arc<[i64]>;

    /// `node-taints.unschedulable`
    fn unschedulable(&self) -> Arc<[u8]>;
    /// `node-taints.sets`
    fn taint_sets(&self) -> Vec<Vec<Taint>>;
    /// `node-taints.column`
    fn taint_column(&self) -> Arc<[u32]>;

    /// `node-resources.allocatable`
    fn allocatable(&self, resource: &str) -> Arc<[i64]>;
    /// `node-resources.requested`
    fn requested(&self, resource: &str) -> Arc<[i64]>;
    /// `node-resources.foreign`
    fn foreign(&self, resource: &str) -> Arc<[i64]>;
    /// `node-resources.free`
    fn free(&self, resource: &str) -> Arc<[i64]>;
    /// `node-resources.pods`
    fn pods(&self) -> Arc<[i64]>;
    /// `node-resources.foreign-pods`
    fn foreign_pods(&self) -> Arc<[i64]>;
    /// `node-resources.pod-limit`
    fn pod_limit(&self) -> Arc<[i64]>;
    /// `node-resources.pod-room`
    fn pod_room(&self) -> Arc<[i64]>;
    /// `node-resources.device-class-serves`
    fn device_class_serves(&self, resource: &str) -> bool;

    /// `node-ports.conflicts`
    fn port_conflicts(&self) -> Option<Arc<[u8]>>;

    /// `pod-spread.constraints`
    fn spread_constraints(&self) -> Vec<SpreadConstraint>;
    /// `pod-spread.default-selector`
    fn default_selector(&self) -> Option<LabelSelector>;

    /// `pod-affinity.affinity`
    fn affinity(&self) -> Vec<AffinityTerm>;
    /// `pod-affinity.anti-affinity`
    fn anti_affinity(&self) -> Vec<AffinityTerm>;

    /// `cluster-pods.matching`; none where a selector has an unknown operator.
    fn matching_pods(&self, selectors: &[PodSelector], terminating: bool) -> Option<Arc<[u32]>>;
    /// `cluster-pods.matches-this-pod`; none where a selector has an unknown operator.
    fn matches_this_pod(&self, selectors: &[PodSelector]) -> Option<bool>;

    /// `cluster-affinity.topology-keys`
    fn anti_affinity_keys(&self) -> Vec<Arc<str>>;
    /// `cluster-affinity.anti-affinity-terms`
    fn anti_affinity_terms(&self, topology_key: &str) -> Arc<[u32]>;

    /// `pod-features.required`
    fn required_features(&self) -> Vec<Arc<str>>;
    /// `node-features.sets`
    fn feature_sets(&self) -> Vec<Vec<Arc<str>>>;
    /// `node-features.column`
    fn feature_column(&self) -> Arc<[u32]>;

    /// `pod-volumes.volumes`
    fn volumes(&self) -> Vec<PodVolume>;
    /// `pod-volumes.owner`
    fn owner(&self) -> (Arc<str>, Arc<str>, Arc<str>);

    /// `cluster-volume-use.disk-users`
    fn disk_users(&self, kind: DiskKind, id: &str) -> Vec<DiskUser>;
    /// `cluster-volume-use.claim-users`
    fn claim_users(&self, claim: &str) -> u32;

    /// `cluster-attachments.wanted`
    fn wanted_attachments(&self, registered: bool) -> Result<Vec<Attachment>, Obstacle>;
    /// `cluster-attachments.registered`
    fn attachment_registered(&self) -> Arc<[u8]>;
    /// `cluster-attachments.limited`
    fn attachment_limited(&self) -> Arc<[u8]>;
    /// `cluster-attachments.limit`
    fn attachment_limit(&self, driver: &str) -> Arc<[i64]>;
    /// `cluster-attachments.used`
    fn attachments_used(&self, driver: &str) -> Arc<[i64]>;
    /// `cluster-attachments.rows-with`
    fn rows_with_attachment(&self, volume: &Attachment) -> Vec<u32>;
    /// `cluster-attachments.uncounted`
    fn uncounted_pods(&self) -> Vec<UncountedPod>;

    /// `cluster-storage.claim-named`
    fn claim(&self, name: &str) -> Option<Claim>;
    /// `cluster-storage.volume-named`
    fn volume(&self, name: &str) -> Option<Volume>;
    /// `cluster-storage.volumes-for`
    fn volumes_for(&self, claim: &str) -> Vec<Volume>;
    /// `cluster-storage.class-named`
    fn storage_class(&self, name: &str) -> Option<StorageClass>;
    /// `cluster-storage.default-class`
    fn default_class(&self) -> Option<Arc<str>>;
    /// `cluster-storage.driver-reports-capacity`
    fn driver_reports_capacity(&self, driver: &str) -> bool;
    /// `cluster-storage.capacities`
    fn capacities(&self, class_name: &str) -> Vec<StorageCapacity>;
    /// `cluster-storage.migrated`
    fn migrated(&self, plugin: &str) -> Arc<[u8]>;
}
