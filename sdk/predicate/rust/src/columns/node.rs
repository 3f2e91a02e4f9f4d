//! Columns over the rows of the batch: the interfaces `node-*`.

/// Names of the nodes of the batch.
pub mod node_identity {
    /// `metadata.name`; one entry per row of the batch.
    #[must_use]
    pub fn names() -> Vec<String> {
        ask!(node_identity::names() or node_identity_names)
    }

    /// The row of the node of this name; none where no node of the batch has it.
    #[must_use]
    pub fn row(name: &str) -> Option<u32> {
        ask!(node_identity::row(name) or node_identity_row)
    }
}

/// Labels of the nodes of the batch: per key a column of codes, and the dictionary of their values. Code 0 means that
/// the node does not have the label.
///
/// A dictionary can hold values that no node has any more, so a verdict must not depend on which values it holds. Read
/// only the values of the codes of the batch's rows from it. Whether any node of the cluster has a value is what
/// [`code`] tells.
pub mod node_labels {
    /// The code of a label; one entry per row of the batch. All entries are 0 for a key that no node has.
    #[must_use]
    pub fn column(key: &str) -> Vec<u32> {
        ask!(node_labels::column(key) or node_labels_column)
    }

    /// The code of a value of a label; none where no node of the cluster has this value, in the batch or outside it. A
    /// verdict can depend on this: the host evaluates it again for every row when this answer changes.
    #[must_use]
    pub fn code(key: &str, text: &str) -> Option<u32> {
        ask!(node_labels::code(key, text) or node_labels_code)
    }

    /// The dictionary of a label: one value per code, not per row. Entry 0 is empty and stands for an absent label.
    #[must_use]
    pub fn dictionary(key: &str) -> Vec<String> {
        ask!(node_labels::dictionary(key) or node_labels_dictionary)
    }

    /// The dictionary of a label, parsed: one integer per code, not per row. [`i64::MIN`] where the value is not a
    /// decimal integer, and for code 0.
    #[must_use]
    pub fn integers(key: &str) -> Vec<i64> {
        ask!(node_labels::integers(key) or node_labels_integers)
    }
}

/// Annotations of the nodes of the batch, in the form of [`node_labels`], as far as the policy lists their keys in
/// `spec.facts.annotations`. Code 0 means that the node does not have the annotation, or that the key is not listed.
///
/// As for labels, a verdict must depend only on the dictionary entries of the codes of the batch's rows.
pub mod node_annotations {
    /// The code of an annotation; one entry per row of the batch. All entries are 0 for a key that no node has.
    #[must_use]
    pub fn column(key: &str) -> Vec<u32> {
        ask!(node_annotations::column(key) or node_annotations_column)
    }

    /// The code of a value of an annotation; none where no node of the cluster has this value.
    #[must_use]
    pub fn code(key: &str, text: &str) -> Option<u32> {
        ask!(node_annotations::code(key, text) or node_annotations_code)
    }

    /// The dictionary of an annotation: one value per code, not per row. Entry 0 is empty and stands for an absent one.
    #[must_use]
    pub fn dictionary(key: &str) -> Vec<String> {
        ask!(node_annotations::dictionary(key) or node_annotations_dictionary)
    }

    /// The dictionary of an annotation, parsed: one integer per code, not per row. [`i64::MIN`] where the value is not a
    /// decimal integer, and for code 0.
    #[must_use]
    pub fn integers(key: &str) -> Vec<i64> {
        ask!(node_annotations::integers(key) or node_annotations_integers)
    }
}

/// Taints and the unschedulable flag of the nodes of the batch.
pub mod node_taints {
    pub use crate::bindings::nodesift::predicate::node_taints::{Effect, Taint};

    /// `spec.unschedulable` as a flag, 1 or 0; one entry per row of the batch.
    #[must_use]
    pub fn unschedulable() -> Vec<u8> {
        ask!(node_taints::unschedulable() or node_taints_unschedulable)
    }

    /// The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
    /// that no node has any more: a verdict must depend only on the sets of the batch's rows.
    #[must_use]
    pub fn sets() -> Vec<Vec<Taint>> {
        ask!(node_taints::sets() or node_taints_sets)
    }

    /// The index of the node's set in [`sets`]; one entry per row of the batch.
    #[must_use]
    pub fn column() -> Vec<u32> {
        ask!(node_taints::column() or node_taints_column)
    }
}

/// Resources of the nodes of the batch: `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes,
/// others as a count.
///
/// Pods on a node are the pods bound to it and the pods assumed there. A pod is foreign where its `spec.schedulerName`
/// is none of the policy's, or where the kubelet created it (a static pod).
pub mod node_resources {
    /// `status.allocatable` of a resource; 0 where the node does not list it. One entry per row of the batch.
    #[must_use]
    pub fn allocatable(resource: &str) -> Vec<i64> {
        ask!(node_resources::allocatable(resource) or node_resources_allocatable)
    }

    /// The sum of the requests of all pods on the node; one entry per row of the batch.
    #[must_use]
    pub fn requested(resource: &str) -> Vec<i64> {
        ask!(node_resources::requested(resource) or node_resources_requested)
    }

    /// The part of [`requested`] that foreign pods request; one entry per row of the batch.
    #[must_use]
    pub fn foreign(resource: &str) -> Vec<i64> {
        ask!(node_resources::foreign(resource) or node_resources_foreign)
    }

    /// [`allocatable`] minus [`requested`], wrapping on overflow; negative where the node is overcommitted. One entry
    /// per row of the batch.
    #[must_use]
    pub fn free(resource: &str) -> Vec<i64> {
        ask!(node_resources::free(resource) or node_resources_free)
    }

    /// The number of pods on the node; one entry per row of the batch.
    #[must_use]
    pub fn pods() -> Vec<i64> {
        ask!(node_resources::pods() or node_resources_pods)
    }

    /// The number of foreign pods on the node; one entry per row of the batch.
    #[must_use]
    pub fn foreign_pods() -> Vec<i64> {
        ask!(node_resources::foreign_pods() or node_resources_foreign_pods)
    }

    /// `status.allocatable.pods`, a number of pods; 0 where the node does not list it. One entry per row of the batch.
    #[must_use]
    pub fn pod_limit() -> Vec<i64> {
        ask!(node_resources::pod_limit() or node_resources_pod_limit)
    }

    /// [`pod_limit`] minus [`pods`]: how many more pods the node accepts. One entry per row of the batch.
    #[must_use]
    pub fn pod_room() -> Vec<i64> {
        ask!(node_resources::pod_room() or node_resources_pod_room)
    }

    /// Whether a DeviceClass provides this extended resource, so that a node need not list it. About the cluster, not
    /// about a row.
    #[must_use]
    pub fn device_class_serves(resource: &str) -> bool {
        ask!(node_resources::device_class_serves(resource) or node_resources_device_class_serves)
    }
}

/// Host port conflicts between the pod being filtered and the pods on the nodes of the batch.
pub mod node_ports {
    /// A flag, 1 or 0: a pod on the node uses a host port that the pod being filtered requests. One entry per row of
    /// the batch; none where the pod requests no host port.
    #[must_use]
    pub fn conflicts() -> Option<Vec<u8>> {
        ask!(node_ports::conflicts() or node_ports_conflicts)
    }
}

/// Features that the nodes of the batch declare.
pub mod node_features {
    /// The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
    /// 0 is empty. The list can hold sets that no node has any more: a verdict must depend only on the sets of the
    /// batch's rows.
    #[must_use]
    pub fn sets() -> Vec<Vec<String>> {
        ask!(node_features::sets() or node_features_sets)
    }

    /// The index of the node's set in [`sets`]; one entry per row of the batch.
    #[must_use]
    pub fn column() -> Vec<u32> {
        ask!(node_features::column() or node_features_column)
    }
}

/// Sums by name, which the policy's accounting component makes of nodes and of the pods on them.
pub mod node_sums {
    /// Returns the values of a sum: the total of what the node and the pods on it add; one entry per row of the batch. 0 in every row for a
    /// name that no accounting component of the policy declares.
    #[must_use]
    pub fn column(name: &str) -> Vec<i64> {
        ask!(node_sums::column(name) or node_sums_column)
    }
}

/// Conditions of the nodes of the batch: their status alone, not the times of heartbeats.
pub mod node_conditions {
    /// The node does not have the condition.
    pub const ABSENT: u8 = 0;
    /// The node is in the condition.
    pub const TRUE: u8 = 1;
    /// The node is not in the condition.
    pub const FALSE: u8 = 2;
    /// Nobody knows, or the status is any other text.
    pub const UNKNOWN: u8 = 3;

    /// The status of the condition of this type: [`ABSENT`], [`TRUE`], [`FALSE`] or [`UNKNOWN`]. One entry per row of the batch.
    #[must_use]
    pub fn column(kind: &str) -> Vec<u8> {
        ask!(node_conditions::column(kind) or node_conditions_column)
    }
}

/// Fields of `status.nodeInfo` and the provider ID of the nodes of the batch, in the form of [`node_labels`]. Code 0 means that the field
/// is absent or empty.
///
/// As for labels, a verdict must depend only on the dictionary entries of the codes of the batch's rows.
pub mod node_info {
    pub use crate::bindings::nodesift::predicate::node_info::Field;

    /// The code of a field; one entry per row of the batch.
    #[must_use]
    pub fn column(field: Field) -> Vec<u32> {
        ask!(node_info::column(field) or node_info_column)
    }

    /// The code of a value of a field; none where no node of the cluster has this value.
    #[must_use]
    pub fn code(field: Field, text: &str) -> Option<u32> {
        ask!(node_info::code(field, text) or node_info_code)
    }

    /// The dictionary of a field: one value per code, not per row. Entry 0 is empty and stands for an absent field.
    #[must_use]
    pub fn dictionary(field: Field) -> Vec<String> {
        ask!(node_info::dictionary(field) or node_info_dictionary)
    }
}

/// Images that are present on the nodes of the batch. A kubelet reports only the largest images, 50 by default.
pub mod node_images {
    /// A flag, 1 or 0: the node lists the image under this name, compared as written. One entry per row of the batch.
    #[must_use]
    pub fn present(image: &str) -> Vec<u8> {
        ask!(node_images::present(image) or node_images_present)
    }
}

/// Ages of the nodes of the batch.
pub mod node_age {
    /// When each node was created, in seconds since 1970-01-01T00:00:00Z; [`i64::MIN`] where that is not known. One entry per row
    /// of the batch.
    #[must_use]
    pub fn created() -> Vec<i64> {
        ask!(node_age::created() or node_age_created)
    }
}

/// Devices that the nodes of the batch can reach, and their use.
pub mod node_devices {
    pub use crate::bindings::nodesift::predicate::node_devices::{
        Answer, Capacity, Counter, DeviceColumns, Held, Kind, Pool, PoolState, Query, Range, Situation, Taint,
    };

    /// In [`DeviceColumns::in_use`]: one claim has the device for itself.
    pub const EXCLUSIVE: u8 = 1;
    /// In [`DeviceColumns::in_use`]: claims have shares of the device.
    pub const SHARED: u8 = 2;
    /// In [`DeviceColumns::values`]: a value of an unknown type, which cannot be compared.
    pub const UNKNOWN_TYPE: u32 = u32::MAX;

    /// The devices that rows of the batch see, as columns. A query beyond the limits of the contract ends the call.
    #[must_use]
    pub fn devices(query: &Query) -> DeviceColumns {
        ask!(node_devices::devices(query) or node_devices_devices)
    }
}

/// Answers of external parties about the nodes of the batch, for the pod being filtered.
pub mod node_parties {
    pub use crate::bindings::nodesift::predicate::node_parties::PartyColumn;

    /// In [`PartyColumn::states`]: nothing, or nothing any more.
    pub const UNKNOWN: u8 = 0;
    /// In [`PartyColumn::states`]: the node suits.
    pub const SUITABLE: u8 = 1;
    /// In [`PartyColumn::states`]: the node does not suit.
    pub const UNSUITABLE: u8 = 2;

    /// One entry per party that decides about the pod, in the order of the policy.
    #[must_use]
    pub fn unsuitable() -> Vec<PartyColumn> {
        ask!(node_parties::unsuitable() or node_parties_unsuitable)
    }
}
