//! Facts about all rows of the cluster: the interfaces `cluster-*`. Made from the contract by `make contract`; not to be
//! edited.

/// Counts of the pods on all nodes of the cluster, by selector. Assumed pods are included.
pub mod cluster_pods {
    pub use crate::bindings::nodesift::predicate::cluster_pods::{PodSelector, Requirement};

    /// The number of pods on the node that match every selector; one entry per row of the cluster. Pods with a deletion
    /// timestamp are counted only where `terminating` is true. The host maintains the counts as pods change, so a
    /// repeated call is cheap.
    #[must_use]
    pub fn matching(selectors: &[PodSelector], terminating: bool) -> Vec<u32> {
        ask!(cluster_pods::matching(selectors, terminating) or cluster_pods_matching)
    }

    /// Whether the pod being filtered matches every selector.
    #[must_use]
    pub fn matches_this_pod(selectors: &[PodSelector]) -> bool {
        ask!(cluster_pods::matches_this_pod(selectors) or cluster_pods_matches_this_pod)
    }

    /// The sum of the requests for one resource of the pods on the node that match every selector, in the units of
    /// `pod-resources`; one entry per row of the cluster. Pods with a deletion timestamp are included only where `terminating`
    /// is true. Since 0.2.
    #[must_use]
    pub fn requested(selectors: &[PodSelector], resource: &str, terminating: bool) -> Vec<i64> {
        ask!(cluster_pods::requested(selectors, resource, terminating) or cluster_pods_requested)
    }
}

/// The pods that have the same controller as the pod being filtered, on all nodes of the cluster. Assumed pods are included. An
/// interface of its own, because the host keeps the controller of every pod only where a predicate imports it. Since 0.2.
pub mod cluster_controllers {
    /// The number of pods on the node whose controller has the UID of this pod's controller; one entry per row of the cluster.
    /// None where the pod has no controller. Pods with a deletion timestamp are counted only where `terminating` is true. Pods
    /// of different controllers share no cached verdict of a predicate that has read it.
    #[must_use]
    pub fn same_controller(terminating: bool) -> Option<Vec<u32>> {
        ask!(cluster_controllers::same_controller(terminating) or cluster_controllers_same_controller)
    }
}

/// The nodes of which a `score` call chooses. A scorer that imports it depends on every predicate of the policy; one that does not has
/// scores that the host may keep. Since 0.2.
pub mod cluster_candidates {
    /// A flag: the node fits by all predicates of the policy, and is one of those that are asked about. One entry per row of the
    /// cluster. In a `filter` or `allocate` call, where nothing is known of other predicates: 1 in every row.
    #[must_use]
    pub fn feasible() -> Vec<u8> {
        ask!(cluster_candidates::feasible() or cluster_candidates_feasible)
    }
}

/// Required anti-affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
pub mod cluster_affinity {
    /// The topology keys of the matching terms, sorted, without duplicates.
    #[must_use]
    pub fn topology_keys() -> Vec<String> {
        ask!(cluster_affinity::topology_keys() or cluster_affinity_topology_keys)
    }

    /// The number of matching terms with this topology key that the pods on the node have; one entry per row of the
    /// cluster.
    #[must_use]
    pub fn anti_affinity_terms(topology_key: &str) -> Vec<u32> {
        ask!(cluster_affinity::anti_affinity_terms(topology_key) or cluster_affinity_anti_affinity_terms)
    }
}

/// Preferred terms and required affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
/// An interface of its own, because the host keeps these terms only where a component imports it. Since 0.2.
pub mod cluster_preferences {
    /// The topology keys of the matching terms, sorted, without duplicates.
    #[must_use]
    pub fn topology_keys() -> Vec<String> {
        ask!(cluster_preferences::topology_keys() or cluster_preferences_topology_keys)
    }

    /// The number of matching preferred terms with this topology key, of affinity and of anti-affinity, that the pods on the node
    /// have; one entry per row of the cluster.
    #[must_use]
    pub fn preferred_terms(topology_key: &str) -> Vec<u32> {
        ask!(cluster_preferences::preferred_terms(topology_key) or cluster_preferences_preferred_terms)
    }

    /// The sum of the weights of these terms, those of anti-affinity as negative numbers; one entry per row of the cluster.
    #[must_use]
    pub fn weights(topology_key: &str) -> Vec<i64> {
        ask!(cluster_preferences::weights(topology_key) or cluster_preferences_weights)
    }

    /// The number of matching terms of required affinity with this topology key that the pods on the node have; one entry per row
    /// of the cluster.
    #[must_use]
    pub fn required_terms(topology_key: &str) -> Vec<u32> {
        ask!(cluster_preferences::required_terms(topology_key) or cluster_preferences_required_terms)
    }
}

/// Disks and claims that the pods on all nodes of the cluster use.
pub mod cluster_volume_use {
    pub use crate::bindings::nodesift::predicate::cluster_volume_use::{DiskKind, DiskUser};

    /// The uses of the disk `id` of this kind, over all rows of the cluster. One entry per use, not per row.
    #[must_use]
    pub fn disk_users(kind: DiskKind, id: &str) -> Vec<DiskUser> {
        ask!(cluster_volume_use::disk_users(kind, id) or cluster_volume_use_disk_users)
    }

    /// The number of uses of the claim of this name in the pod's namespace by pods on nodes, over all rows of the
    /// cluster. Claims of generic ephemeral volumes are not counted.
    #[must_use]
    pub fn claim_users(claim: &str) -> u32 {
        ask!(cluster_volume_use::claim_users(claim) or cluster_volume_use_claim_users)
    }
}

/// Attached volumes and attach limits of CSI drivers, over all rows of the cluster. A volume of an in-tree type counts
/// as a volume of the CSI driver that replaces the type.
pub mod cluster_attachments {
    pub use crate::bindings::nodesift::predicate::cluster_attachments::{Attachment, Obstacle, UncountedPod};

    /// The volumes that the pod being filtered would attach to a node, without duplicates. `registered` says whether
    /// the node has a CSINode; without one, in-tree types are left out. Volumes whose driver is known neither from a
    /// PersistentVolume nor from a StorageClass are left out too. An error is the first volume that cannot be counted.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn wanted(registered: bool) -> Result<Vec<Attachment>, Obstacle> {
        ask!(cluster_attachments::wanted(registered) or cluster_attachments_wanted)
    }

    /// A flag: the node has a CSINode. One entry per row of the cluster.
    #[must_use]
    pub fn registered() -> Vec<u8> {
        ask!(cluster_attachments::registered() or cluster_attachments_registered)
    }

    /// A flag: the CSINode limits at least one driver. One entry per row of the cluster.
    #[must_use]
    pub fn limited() -> Vec<u8> {
        ask!(cluster_attachments::limited() or cluster_attachments_limited)
    }

    /// A flag: the CSIDriver of this name sets `spec.preventPodSchedulingIfMissing`, and the node has no CSINode, or one that does
    /// not list the driver. One entry per row of the cluster. Since 0.2.
    #[must_use]
    pub fn driver_missing(driver: &str) -> Vec<u8> {
        ask!(cluster_attachments::driver_missing(driver) or cluster_attachments_driver_missing)
    }

    /// How many volumes the driver can attach to the node; the maximum s64 where there is no limit. One entry per row
    /// of the cluster.
    #[must_use]
    pub fn limit(driver: &str) -> Vec<i64> {
        ask!(cluster_attachments::limit(driver) or cluster_attachments_limit)
    }

    /// The number of distinct volumes of the driver that are attached to the node or used by pods on it; one entry per
    /// row of the cluster.
    #[must_use]
    pub fn used(driver: &str) -> Vec<i64> {
        ask!(cluster_attachments::used(driver) or cluster_attachments_used)
    }

    /// The rows of the cluster on which a pod uses this volume; one entry per such row. There `used` includes the
    /// volume. A volume that is attached but used by no pod is in `used` too, but its row is not in this list.
    #[must_use]
    pub fn rows_with(volume: &Attachment) -> Vec<u32> {
        ask!(cluster_attachments::rows_with(volume) or cluster_attachments_rows_with)
    }

    /// Pods on nodes whose volumes cannot be counted, over all rows of the cluster. At most one entry per row: the
    /// first pod by namespace and name.
    #[must_use]
    pub fn uncounted() -> Vec<UncountedPod> {
        ask!(cluster_attachments::uncounted() or cluster_attachments_uncounted)
    }
}

/// Storage objects: PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSIDrivers and CSIStorageCapacities.
pub mod cluster_storage {
    pub use crate::bindings::nodesift::predicate::cluster_storage::{
        BindingMode, Capacity, Claim, Class, ExactSize, ExactSizes, LabelSelector, Term, Volume,
    };

    /// The claim of this name in the pod's namespace; none where it does not exist.
    #[must_use]
    pub fn claim_named(name: &str) -> Option<Claim> {
        ask!(cluster_storage::claim_named(name) or cluster_storage_claim_named)
    }

    /// The volume of this name; none where it does not exist.
    #[must_use]
    pub fn volume_named(name: &str) -> Option<Volume> {
        ask!(cluster_storage::volume_named(name) or cluster_storage_volume_named)
    }

    /// Candidate volumes for the claim of this name in the pod's namespace: the volumes of its StorageClass that are
    /// neither bound to nor reserved for another claim, sorted by name.
    #[must_use]
    pub fn volumes_for(claim: &str) -> Vec<Volume> {
        ask!(cluster_storage::volumes_for(claim) or cluster_storage_volumes_for)
    }

    /// The exact sizes of the claim of this name in the pod's namespace and of its candidate volumes; none where the claim
    /// does not exist.
    #[must_use]
    pub fn exact_sizes_for(claim: &str) -> Option<ExactSizes> {
        ask!(cluster_storage::exact_sizes_for(claim) or cluster_storage_exact_sizes_for)
    }

    /// The StorageClass of this name; none where it does not exist.
    #[must_use]
    pub fn class_named(name: &str) -> Option<Class> {
        ask!(cluster_storage::class_named(name) or cluster_storage_class_named)
    }

    /// The name of the default StorageClass; none where there is no default.
    #[must_use]
    pub fn default_class() -> Option<String> {
        ask!(cluster_storage::default_class() or cluster_storage_default_class)
    }

    /// Whether the CSIDriver of this name sets `spec.storageCapacity`.
    #[must_use]
    pub fn driver_reports_capacity(driver: &str) -> bool {
        ask!(cluster_storage::driver_reports_capacity(driver) or cluster_storage_driver_reports_capacity)
    }

    /// The CSIStorageCapacities of the StorageClass `class-name`.
    #[must_use]
    pub fn capacities(class_name: &str) -> Vec<Capacity> {
        ask!(cluster_storage::capacities(class_name) or cluster_storage_capacities)
    }

    /// A flag: the CSINode says that a CSI driver replaces this in-tree plugin on the node. One entry per row of the
    /// cluster.
    #[must_use]
    pub fn migrated(plugin: &str) -> Vec<u8> {
        ask!(cluster_storage::migrated(plugin) or cluster_storage_migrated)
    }
}

/// Images that are present on nodes, over all rows of the cluster. Since 0.2.
pub mod cluster_images {
    /// The size of the image with this name in bytes, as the first row reports it that holds the image: kube-scheduler knows one size
    /// per name. 0 where no node holds it.
    #[must_use]
    pub fn size(image: &str) -> i64 {
        ask!(cluster_images::size(image) or cluster_images_size)
    }
}
