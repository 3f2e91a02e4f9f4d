//! The facts, by the names of the contract's interfaces. Inside a component every function asks the host; elsewhere
//! it asks the facts of [`native`](crate::native).
//!
//! A component imports the functions that its predicate calls, and no others: calling one here is what puts it into
//! the manifest that an operator reviews. All functions answer about the pod and the batch of the running `filter`
//! call. Columns have one entry per row. What every fact means is written in the contract.

/// Asks for a fact: `ask!(interface::function(arguments) or method)`.
macro_rules! ask {
    ($interface:ident :: $function:ident ( $($argument:expr),* ) or $method:ident) => {{
        #[cfg(target_arch = "wasm32")]
        {
            crate::bindings::nodesift::predicate::$interface::$function($($argument),*)
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            crate::native::ask(|facts| facts.$method($($argument),*))
        }
    }};
}

/// The pod's namespace and labels.
pub mod pod_labels {
    /// The pod's namespace.
    #[must_use]
    pub fn namespace() -> String {
        ask!(pod_labels::namespace() or pod_labels_namespace)
    }

    /// The value of one label; none where the pod does not carry the key.
    #[must_use]
    pub fn label(key: &str) -> Option<String> {
        ask!(pod_labels::label(key) or pod_labels_label)
    }
}

/// Where the pod asks to be placed, as written.
pub mod pod_placement {
    pub use crate::bindings::nodesift::predicate::pod_placement::{Operator, Requirement, Term};

    /// `spec.nodeName`; none where it is absent or empty.
    #[must_use]
    pub fn node_name() -> Option<String> {
        ask!(pod_placement::node_name() or pod_placement_node_name)
    }

    /// `spec.nodeSelector`: key and value of each entry, in the order of keys. All must hold.
    #[must_use]
    pub fn node_selector() -> Vec<(String, String)> {
        ask!(pod_placement::node_selector() or pod_placement_node_selector)
    }

    /// The terms of the required node affinity, of which one must hold; none where the pod has no such affinity.
    #[must_use]
    pub fn required_terms() -> Option<Vec<Term>> {
        ask!(pod_placement::required_terms() or pod_placement_required_terms)
    }
}

/// The pod's tolerations.
pub mod pod_tolerations {
    pub use crate::bindings::nodesift::predicate::pod_tolerations::{Effect, Operator, Toleration};

    /// `spec.tolerations`, in order.
    #[must_use]
    pub fn tolerations() -> Vec<Toleration> {
        ask!(pod_tolerations::tolerations() or pod_tolerations_tolerations)
    }
}

/// What the pod asks of a node.
pub mod pod_resources {
    pub use crate::bindings::nodesift::predicate::pod_resources::Request;

    /// The pod's requests: `cpu` (in thousandths of a core), `memory` and `ephemeral-storage` (in bytes) where above
    /// zero, then every other resource that is written in the pod, amounts of zero included, in the order of names.
    #[must_use]
    pub fn requests() -> Vec<Request> {
        ask!(pod_resources::requests() or pod_resources_requests)
    }
}

/// Names of the batch's nodes.
pub mod node_identity {
    /// `metadata.name` per row.
    #[must_use]
    pub fn names() -> Vec<String> {
        ask!(node_identity::names() or node_identity_names)
    }

    /// The row of the batch that holds the node of this name.
    #[must_use]
    pub fn row(name: &str) -> Option<u32> {
        ask!(node_identity::row(name) or node_identity_row)
    }
}

/// Labels of the batch's nodes: codes per row, and the dictionary behind them. Code 0 means no such label.
///
/// Which texts the dictionary holds is no fact: it may hold some that no node carries any more, and goes by what happened
/// before. Only the texts behind the codes of the batch's rows are to be read from it. Whether some node of the cluster
/// carries a text is a fact, and what [`code`] tells.
pub mod node_labels {
    /// The code per row. For a key that no node carries: zeros.
    #[must_use]
    pub fn column(key: &str) -> Vec<u32> {
        ask!(node_labels::column(key) or node_labels_column)
    }

    /// The code of one text; none where no node of the cluster carries it, in the batch or not. A verdict may depend on that,
    /// and is evaluated anew for every row where it changes.
    #[must_use]
    pub fn code(key: &str, text: &str) -> Option<u32> {
        ask!(node_labels::code(key, text) or node_labels_code)
    }

    /// The text behind every code; entry 0 is empty and stands for absence.
    #[must_use]
    pub fn dictionary(key: &str) -> Vec<String> {
        ask!(node_labels::dictionary(key) or node_labels_dictionary)
    }

    /// Per code the text read as a decimal integer, or [`i64::MIN`] where it is none.
    #[must_use]
    pub fn integers(key: &str) -> Vec<i64> {
        ask!(node_labels::integers(key) or node_labels_integers)
    }
}

/// Taints and the unschedulable flag of the batch's nodes.
pub mod node_taints {
    pub use crate::bindings::nodesift::predicate::node_taints::{Effect, Taint};

    /// 1 per row where `spec.unschedulable` is true, else 0.
    #[must_use]
    pub fn unschedulable() -> Vec<u8> {
        ask!(node_taints::unschedulable() or node_taints_unschedulable)
    }

    /// The distinct taint sets of the cluster. Set 0 is the empty one. Sets that no row of the batch refers to are no facts:
    /// they may be those of nodes that are gone.
    #[must_use]
    pub fn sets() -> Vec<Vec<Taint>> {
        ask!(node_taints::sets() or node_taints_sets)
    }

    /// Per row the index of its taint set.
    #[must_use]
    pub fn column() -> Vec<u32> {
        ask!(node_taints::column() or node_taints_column)
    }
}

/// Resources of the batch's nodes, in the units of [`pod_resources`].
pub mod node_resources {
    /// `status.allocatable`; 0 where the node does not list the resource.
    #[must_use]
    pub fn allocatable(resource: &str) -> Vec<i64> {
        ask!(node_resources::allocatable(resource) or node_resources_allocatable)
    }

    /// The sum over all pods on the node, foreign and assumed ones included.
    #[must_use]
    pub fn requested(resource: &str) -> Vec<i64> {
        ask!(node_resources::requested(resource) or node_resources_requested)
    }

    /// The part of `requested` that belongs to foreign pods.
    #[must_use]
    pub fn foreign(resource: &str) -> Vec<i64> {
        ask!(node_resources::foreign(resource) or node_resources_foreign)
    }

    /// Allocatable less requested, wrapping.
    #[must_use]
    pub fn free(resource: &str) -> Vec<i64> {
        ask!(node_resources::free(resource) or node_resources_free)
    }

    /// How many pods are on the node.
    #[must_use]
    pub fn pods() -> Vec<i64> {
        ask!(node_resources::pods() or node_resources_pods)
    }

    /// How many of them are foreign.
    #[must_use]
    pub fn foreign_pods() -> Vec<i64> {
        ask!(node_resources::foreign_pods() or node_resources_foreign_pods)
    }

    /// `status.allocatable.pods`; 0 where the node does not list it.
    #[must_use]
    pub fn pod_limit() -> Vec<i64> {
        ask!(node_resources::pod_limit() or node_resources_pod_limit)
    }

    /// Pod limit less pods.
    #[must_use]
    pub fn pod_room() -> Vec<i64> {
        ask!(node_resources::pod_room() or node_resources_pod_room)
    }

    /// Whether a DeviceClass serves this extended resource, so that a node need not list it.
    #[must_use]
    pub fn device_class_serves(resource: &str) -> bool {
        ask!(node_resources::device_class_serves(resource) or node_resources_device_class_serves)
    }
}

/// Host ports in use on the batch's nodes.
pub mod node_ports {
    /// 1 per row where a port the pod asks for is taken, else 0; none where the pod asks for no host port.
    #[must_use]
    pub fn conflicts() -> Option<Vec<u8>> {
        ask!(node_ports::conflicts() or node_ports_conflicts)
    }
}

/// Labels and selectors as other interfaces use them: types only. [`label_selector`](crate::label_selector) reads them.
pub mod selectors {
    pub use crate::bindings::nodesift::predicate::selectors::{LabelSelector, Operator, Requirement};
}

/// `spec.topologySpreadConstraints` as written.
pub mod pod_spread {
    pub use crate::bindings::nodesift::predicate::pod_spread::{Constraint, Inclusion, WhenUnsatisfiable};

    use super::selectors::LabelSelector;

    /// All entries, in order.
    #[must_use]
    pub fn constraints() -> Vec<Constraint> {
        ask!(pod_spread::constraints() or pod_spread_constraints)
    }

    /// The selector of the services and controllers that own the pod; none where nothing owns it.
    #[must_use]
    pub fn default_selector() -> Option<LabelSelector> {
        ask!(pod_spread::default_selector() or pod_spread_default_selector)
    }
}

/// Required pod affinity and anti-affinity as written.
pub mod pod_affinity {
    pub use crate::bindings::nodesift::predicate::pod_affinity::Term;

    /// The required terms of the pod's affinity.
    #[must_use]
    pub fn affinity() -> Vec<Term> {
        ask!(pod_affinity::affinity() or pod_affinity_affinity)
    }

    /// The required terms of the pod's anti-affinity.
    #[must_use]
    pub fn anti_affinity() -> Vec<Term> {
        ask!(pod_affinity::anti_affinity() or pod_affinity_anti_affinity)
    }
}

/// What the pod needs of its node beyond resources.
pub mod pod_features {
    /// Names of node features that the pod needs, in order.
    #[must_use]
    pub fn required() -> Vec<String> {
        ask!(pod_features::required() or pod_features_required)
    }
}

/// The pod's volumes, as far as they can keep it from a node.
pub mod pod_volumes {
    pub use crate::bindings::nodesift::predicate::pod_volumes::{ClaimRef, Disk, DiskKind, Volume};

    /// The disks and claims of `spec.volumes`, in order; other kinds are left out.
    #[must_use]
    pub fn volumes() -> Vec<Volume> {
        ask!(pod_volumes::volumes() or pod_volumes_volumes)
    }

    /// The pod's namespace, name and UID.
    #[must_use]
    pub fn owner() -> (String, String, String) {
        ask!(pod_volumes::owner() or pod_volumes_owner)
    }
}

/// Features that the batch's nodes declare.
pub mod node_features {
    /// The distinct sets of `status.declaredFeatures`, each sorted; set 0 is the empty one. Sets that no row of the batch
    /// refers to are no facts.
    #[must_use]
    pub fn sets() -> Vec<Vec<String>> {
        ask!(node_features::sets() or node_features_sets)
    }

    /// Per row the index of its set.
    #[must_use]
    pub fn column() -> Vec<u32> {
        ask!(node_features::column() or node_features_column)
    }
}

/// Pods on nodes, counted by what they match.
pub mod cluster_pods {
    pub use crate::bindings::nodesift::predicate::cluster_pods::PodSelector;

    /// Per row of the cluster, how many pods on the node match all the selectors at once. Pods that are being deleted
    /// count only where `terminating` says so.
    #[must_use]
    pub fn matching(selectors: &[PodSelector], terminating: bool) -> Vec<u32> {
        ask!(cluster_pods::matching(selectors, terminating) or cluster_pods_matching)
    }

    /// Whether the pod being filtered matches all the selectors.
    #[must_use]
    pub fn matches_this_pod(selectors: &[PodSelector]) -> bool {
        ask!(cluster_pods::matches_this_pod(selectors) or cluster_pods_matches_this_pod)
    }
}

/// Required anti-affinity of pods on nodes against the pod being filtered.
pub mod cluster_affinity {
    /// The topology keys of the terms that match the pod being filtered, each once, in order.
    #[must_use]
    pub fn topology_keys() -> Vec<String> {
        ask!(cluster_affinity::topology_keys() or cluster_affinity_topology_keys)
    }

    /// Per row of the cluster, how many terms with this topology key that match the pod being filtered are carried by
    /// pods on the node.
    #[must_use]
    pub fn anti_affinity_terms(topology_key: &str) -> Vec<u32> {
        ask!(cluster_affinity::anti_affinity_terms(topology_key) or cluster_affinity_anti_affinity_terms)
    }
}

/// Disks and claims in use by pods on nodes.
pub mod cluster_volume_use {
    pub use crate::bindings::nodesift::predicate::cluster_volume_use::{DiskKind, DiskUser};

    /// Who uses the disk of this kind and identity, over every row.
    #[must_use]
    pub fn disk_users(kind: DiskKind, id: &str) -> Vec<DiskUser> {
        ask!(cluster_volume_use::disk_users(kind, id) or cluster_volume_use_disk_users)
    }

    /// How often pods on nodes use the claim of this name in the pod's namespace.
    #[must_use]
    pub fn claim_users(claim: &str) -> u32 {
        ask!(cluster_volume_use::claim_users(claim) or cluster_volume_use_claim_users)
    }
}

/// Attachable volumes of every row: what a CSI driver may attach and has attached.
pub mod cluster_attachments {
    pub use crate::bindings::nodesift::predicate::cluster_attachments::{Attachment, Obstacle, UncountedPod};

    /// Volumes that the pod's own volumes would attach to a node, each once; in-tree kinds only where the node is
    /// `registered`, that is, has a CSINode.
    ///
    /// # Errors
    ///
    /// The first volume in the way.
    pub fn wanted(registered: bool) -> Result<Vec<Attachment>, Obstacle> {
        ask!(cluster_attachments::wanted(registered) or cluster_attachments_wanted)
    }

    /// 1 per row that has a CSINode, else 0.
    #[must_use]
    pub fn registered() -> Vec<u8> {
        ask!(cluster_attachments::registered() or cluster_attachments_registered)
    }

    /// 1 per row whose CSINode limits at least one driver, else 0.
    #[must_use]
    pub fn limited() -> Vec<u8> {
        ask!(cluster_attachments::limited() or cluster_attachments_limited)
    }

    /// Per row how many volumes the driver may attach to the node; [`i64::MAX`] where there is no limit.
    #[must_use]
    pub fn limit(driver: &str) -> Vec<i64> {
        ask!(cluster_attachments::limit(driver) or cluster_attachments_limit)
    }

    /// Per row how many distinct volumes of the driver are attached to the node or used by pods on it.
    #[must_use]
    pub fn used(driver: &str) -> Vec<i64> {
        ask!(cluster_attachments::used(driver) or cluster_attachments_used)
    }

    /// Rows where pods use this volume, so that it is in `used` already.
    #[must_use]
    pub fn rows_with(volume: &Attachment) -> Vec<u32> {
        ask!(cluster_attachments::rows_with(volume) or cluster_attachments_rows_with)
    }

    /// Per row at most one pod whose volumes cannot be counted.
    #[must_use]
    pub fn uncounted() -> Vec<UncountedPod> {
        ask!(cluster_attachments::uncounted() or cluster_attachments_uncounted)
    }
}

/// Storage objects: claims, volumes, classes, drivers, capacities.
pub mod cluster_storage {
    pub use crate::bindings::nodesift::predicate::cluster_storage::{BindingMode, Capacity, Claim, Class, Volume};

    /// The claim of this name in the pod's namespace.
    #[must_use]
    pub fn claim_named(name: &str) -> Option<Claim> {
        ask!(cluster_storage::claim_named(name) or cluster_storage_claim_named)
    }

    /// The volume of this name.
    #[must_use]
    pub fn volume_named(name: &str) -> Option<Volume> {
        ask!(cluster_storage::volume_named(name) or cluster_storage_volume_named)
    }

    /// Volumes of a claim's class that are neither bound to nor kept for another claim, in the order of names.
    #[must_use]
    pub fn volumes_for(claim: &str) -> Vec<Volume> {
        ask!(cluster_storage::volumes_for(claim) or cluster_storage_volumes_for)
    }

    /// The class of this name.
    #[must_use]
    pub fn class_named(name: &str) -> Option<Class> {
        ask!(cluster_storage::class_named(name) or cluster_storage_class_named)
    }

    /// The name of the class that claims without one get; none where no class is the default.
    #[must_use]
    pub fn default_class() -> Option<String> {
        ask!(cluster_storage::default_class() or cluster_storage_default_class)
    }

    /// Whether the CSI driver of this name reports storage capacity.
    #[must_use]
    pub fn driver_reports_capacity(driver: &str) -> bool {
        ask!(cluster_storage::driver_reports_capacity(driver) or cluster_storage_driver_reports_capacity)
    }

    /// Capacities of a storage class.
    #[must_use]
    pub fn capacities(class_name: &str) -> Vec<Capacity> {
        ask!(cluster_storage::capacities(class_name) or cluster_storage_capacities)
    }

    /// 1 per row whose CSINode says that a CSI driver replaces this in-tree plugin there, else 0.
    #[must_use]
    pub fn migrated(plugin: &str) -> Vec<u8> {
        ask!(cluster_storage::migrated(plugin) or cluster_storage_migrated)
    }
}
