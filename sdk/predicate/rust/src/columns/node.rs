//! Columns over the rows of the batch: the interfaces `node-*`. Made from the contract by `make contract`; not to be
//! edited.

/// Names of the nodes of the batch.
pub mod node_identity {
    /// `metadata.name`; one entry per row of the batch.
    #[must_use]
    pub fn names() -> Vec<String> {
        ask!(node_identity::names() or node_identity_names)
    }

    /// The row of the node `name`; none where no node of the batch has this name.
    #[must_use]
    pub fn row(name: &str) -> Option<u32> {
        ask!(node_identity::row(name) or node_identity_row)
    }
}

/// Labels of the nodes of the batch. Each label key has a column of codes and a dictionary: code i stands for entry i
/// of the dictionary. Code 0 means that the node does not have the label. Codes are valid during the running `filter`
/// call only. A verdict must depend only on the entries of a dictionary that rows of the batch have; whether any node of the
/// cluster has a value is what `code` says.
pub mod node_labels {
    /// The code of the label `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
    #[must_use]
    pub fn column(key: &str) -> Vec<u32> {
        ask!(node_labels::column(key) or node_labels_column)
    }

    /// The code of the value `text` of the label `key`. None where no node of the cluster has this value, so that it
    /// equals the label of no row.
    #[must_use]
    pub fn code(key: &str, text: &str) -> Option<u32> {
        ask!(node_labels::code(key, text) or node_labels_code)
    }

    /// The dictionary of the label `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
    /// absent label; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of
    /// the batch has.
    #[must_use]
    pub fn dictionary(key: &str) -> Vec<String> {
        ask!(node_labels::dictionary(key) or node_labels_dictionary)
    }

    /// The dictionary of the label `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
    /// the value is not a decimal integer that fits s64, and for code 0.
    #[must_use]
    pub fn integers(key: &str) -> Vec<i64> {
        ask!(node_labels::integers(key) or node_labels_integers)
    }
}

/// Annotations of the nodes of the batch. They have the form of `node-labels`: per key a column of codes and a dictionary, code 0
/// for an absent annotation. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
/// reads as absent on every node.
pub mod node_annotations {
    /// The code of the annotation `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
    #[must_use]
    pub fn column(key: &str) -> Vec<u32> {
        ask!(node_annotations::column(key) or node_annotations_column)
    }

    /// The code of the value `text` of the annotation `key`. None where no node of the cluster has this value.
    #[must_use]
    pub fn code(key: &str, text: &str) -> Option<u32> {
        ask!(node_annotations::code(key, text) or node_annotations_code)
    }

    /// The dictionary of the annotation `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
    /// absent annotation; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row
    /// of the batch has.
    #[must_use]
    pub fn dictionary(key: &str) -> Vec<String> {
        ask!(node_annotations::dictionary(key) or node_annotations_dictionary)
    }

    /// The dictionary of the annotation `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
    /// the value is not a decimal integer that fits s64, and for code 0.
    #[must_use]
    pub fn integers(key: &str) -> Vec<i64> {
        ask!(node_annotations::integers(key) or node_annotations_integers)
    }
}

/// Taints and the unschedulable flag of the nodes of the batch.
pub mod node_taints {
    pub use crate::bindings::nodesift::predicate::node_taints::{Effect, Taint};

    /// `spec.unschedulable` as a flag; one entry per row of the batch.
    #[must_use]
    pub fn unschedulable() -> Vec<u8> {
        ask!(node_taints::unschedulable() or node_taints_unschedulable)
    }

    /// The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
    /// that no row of the batch has: a verdict must depend only on those of the batch's rows.
    #[must_use]
    pub fn sets() -> Vec<Vec<Taint>> {
        ask!(node_taints::sets() or node_taints_sets)
    }

    /// The index of the node's set in `sets`; one entry per row of the batch.
    #[must_use]
    pub fn column() -> Vec<u32> {
        ask!(node_taints::column() or node_taints_column)
    }
}

/// Resources of the nodes of the batch, one column per resource name. Amounts are in the units of `pod-resources`:
/// `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes, others as a count. Sums and
/// differences wrap on overflow, as in Go. All entries are 0 for a name that no node and no pod on a node uses.
///
/// Pods on a node are the pods bound to it, plus the pods that a scheduler has assumed there. A pod is foreign where
/// its `spec.schedulerName` is none of the policy's `schedulerNames`, or where the kubelet created it (a static pod).
pub mod node_resources {
    /// `status.allocatable` of the resource; 0 where the node does not list it. One entry per row of the batch.
    #[must_use]
    pub fn allocatable(resource: &str) -> Vec<i64> {
        ask!(node_resources::allocatable(resource) or node_resources_allocatable)
    }

    /// The sum of the requests of all pods on the node; one entry per row of the batch.
    #[must_use]
    pub fn requested(resource: &str) -> Vec<i64> {
        ask!(node_resources::requested(resource) or node_resources_requested)
    }

    /// The part of `requested` that foreign pods request; one entry per row of the batch.
    #[must_use]
    pub fn foreign(resource: &str) -> Vec<i64> {
        ask!(node_resources::foreign(resource) or node_resources_foreign)
    }

    /// `allocatable` minus `requested`; negative where the node is overcommitted. One entry per row of the batch.
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

    /// `pod-limit` minus `pods`: how many more pods the node accepts. One entry per row of the batch.
    #[must_use]
    pub fn pod_room() -> Vec<i64> {
        ask!(node_resources::pod_room() or node_resources_pod_room)
    }

    /// Whether a DeviceClass provides this extended resource, so that a node need not list it in `status.allocatable`.
    /// About the cluster, not about a row.
    #[must_use]
    pub fn device_class_serves(resource: &str) -> bool {
        ask!(node_resources::device_class_serves(resource) or node_resources_device_class_serves)
    }
}

/// Sums by name, which the policy's accounting component makes of nodes and of the pods on them. Since 0.2.
///
/// A pod adds on the node that it is on, bound or assumed, and to no other. Sums are no resources: `node-resources` does not show
/// them. Additions wrap on overflow.
pub mod node_sums {
    /// Sum of the node and of the pods on it under the name; one entry per row of the batch. 0 in every row for a name that no
    /// accounting component of the policy declares, as for a resource that nobody uses.
    #[must_use]
    pub fn column(name: &str) -> Vec<i64> {
        ask!(node_sums::column(name) or node_sums_column)
    }
}

/// Sums of requests in which every container counts that names no `cpu` or no `memory`, as in `pod-non-zero-requests`. An interface of
/// its own, because the host keeps these sums only where a component imports it. Since 0.2.
pub mod node_non_zero_requests {
    /// Sum of the requests of the pods on the node for `cpu`, in millicores, or `memory`, in bytes; one entry per row of the batch.
    /// 0 in every row for any other resource. Of a pod whose requests an accounting component says, these are counted. Sums wrap on
    /// overflow, as in Go.
    #[must_use]
    pub fn requested(resource: &str) -> Vec<i64> {
        ask!(node_non_zero_requests::requested(resource) or node_non_zero_requests_requested)
    }
}

/// Host port conflicts between the pod being filtered and the pods on the nodes of the batch.
pub mod node_ports {
    /// A flag: a pod on the node uses a host port that the pod being filtered requests. One entry per row of the batch.
    /// None where the pod requests no host port.
    #[must_use]
    pub fn conflicts() -> Option<Vec<u8>> {
        ask!(node_ports::conflicts() or node_ports_conflicts)
    }
}

/// Features that the nodes of the batch declare.
pub mod node_features {
    /// The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
    /// 0 is empty. The list can hold sets that no row of the batch has: a verdict must depend only on those of the batch's rows.
    #[must_use]
    pub fn sets() -> Vec<Vec<String>> {
        ask!(node_features::sets() or node_features_sets)
    }

    /// The index of the node's set in `sets`; one entry per row of the batch.
    #[must_use]
    pub fn column() -> Vec<u32> {
        ask!(node_features::column() or node_features_column)
    }
}

/// Conditions of the nodes of the batch: their status alone, not the times of heartbeats. Since 0.2.
pub mod node_conditions {
    pub use crate::columns::values::node_conditions::*;

    /// The status of the condition `type` in `status.conditions`: 0 where the node does not have it, 1 True, 2 False, 3 Unknown
    /// or any other text. One entry per row of the batch.
    #[must_use]
    pub fn column(kind: &str) -> Vec<u8> {
        ask!(node_conditions::column(kind) or node_conditions_column)
    }
}

/// System information of the nodes of the batch: `status.nodeInfo` and the provider. It has the form of `node-labels`: per field
/// a column of codes and a dictionary, code 0 for an absent or empty field. Since 0.2.
pub mod node_info {
    pub use crate::bindings::nodesift::predicate::node_info::Field;

    /// The code of the field; one entry per row of the batch.
    #[must_use]
    pub fn column(field: Field) -> Vec<u32> {
        ask!(node_info::column(field) or node_info_column)
    }

    /// The code of the value `text` of the field. None where no node of the cluster has this value.
    #[must_use]
    pub fn code(field: Field, text: &str) -> Option<u32> {
        ask!(node_info::code(field, text) or node_info_code)
    }

    /// The dictionary of the field: one value per code, not per row. Entry 0 is the empty text and stands for an absent field;
    /// entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of the batch has.
    #[must_use]
    pub fn dictionary(field: Field) -> Vec<String> {
        ask!(node_info::dictionary(field) or node_info_dictionary)
    }
}

/// Images that are present on the nodes of the batch. A kubelet reports only the largest images, 50 by default. Since 0.2.
pub mod node_images {
    /// A flag: `status.images` of the node lists the image under this name, compared as written. One entry per row of the batch.
    #[must_use]
    pub fn present(image: &str) -> Vec<u8> {
        ask!(node_images::present(image) or node_images_present)
    }
}

/// Ages of the nodes of the batch. Since 0.2.
pub mod node_age {
    /// `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; the minimum s64 where it is absent. One entry per row
    /// of the batch.
    #[must_use]
    pub fn created() -> Vec<i64> {
        ask!(node_age::created() or node_age_created)
    }
}

/// Devices that the nodes of the batch can reach, from ResourceSlices, and their use. Nodes that see the same share a situation.
/// Since 0.2.
pub mod node_devices {
    pub use crate::bindings::nodesift::predicate::node_devices::{
        Amount, Answer, Capacity, Counter, DeviceColumns, Held, Kind, NanoUnits, Pool, PoolState, Query, Range,
        Situation, Taint,
    };
    pub use crate::columns::values::node_devices::*;

    /// The devices that rows of the batch see. A query beyond its limits traps.
    #[must_use]
    pub fn devices(query: &Query) -> DeviceColumns {
        ask!(node_devices::devices(query) or node_devices_devices)
    }
}

/// Answers of external parties about the nodes of the batch, for the pod. Parties are those of the policy that decide about the pod being
/// filtered, or about a claim of it that is to be allocated. Since 0.2.
pub mod node_parties {
    pub use crate::bindings::nodesift::predicate::node_parties::PartyColumn;
    pub use crate::columns::values::node_parties::*;

    /// One entry per party, in the order of the policy; none where no party decides about the pod.
    #[must_use]
    pub fn unsuitable() -> Vec<PartyColumn> {
        ask!(node_parties::unsuitable() or node_parties_unsuitable)
    }
}
