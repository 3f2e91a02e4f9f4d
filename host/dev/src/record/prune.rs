//! Objects, cut to what predicates with some imports can read. Start at [`Pruning`].
//!
//! A recorded case leaves the cluster that it was taken from, so what no recorded predicate can read must not be in it: environment
//! variables of containers, annotations, addresses. So of each kind those fields are kept that `nodesift_object` decodes, and no
//! others.

use std::collections::BTreeSet;

use nodesift_object::claim::EXTENDED_RESOURCE_ANNOTATION;
use nodesift_object::storage::{
    BIND_COMPLETED_ANNOTATION, CLASS_ANNOTATION, DEFAULT_CLASS_ANNOTATION, MIGRATED_PLUGINS_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
};
use nodesift_object::{Fields, Kind, OWNED_METADATA, Object};
use nodesift_sandbox::Interface;
use serde_json::{Map, Value, json};

// Where nodes hold the facts of an interface: their notes `@node-fields` in the contract.
// contract: node fields, made by `make contract`
const NODE_FACTS: [(&str, &[&str]); 11] = [
    ("node-labels", &["metadata.labels"]),
    ("node-annotations", &["metadata.annotations"]),
    ("node-taints", &["spec.taints", "spec.unschedulable"]),
    ("node-resources", &["status.allocatable", "status.capacity"]),
    ("node-features", &["status.declaredFeatures"]),
    ("node-conditions", &["status.conditions"]),
    ("node-info", &["status.nodeInfo", "spec.providerID"]),
    ("node-images", &["status.images"]),
    ("node-age", &["metadata.creationTimestamp"]),
    ("cluster-attachments", &["status.allocatable"]),
    ("cluster-images", &["status.images"]),
];
// contract: end

/// Annotations of storage objects and claims that can be read.
const READ_ANNOTATIONS: [&str; 6] = [
    CLASS_ANNOTATION,
    BIND_COMPLETED_ANNOTATION,
    SELECTED_NODE_ANNOTATION,
    DEFAULT_CLASS_ANNOTATION,
    MIGRATED_PLUGINS_ANNOTATION,
    EXTENDED_RESOURCE_ANNOTATION,
];

/// Fields of a pod's spec that can be read.
const POD_SPEC: [&str; 18] = [
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
    "resourceClaims",
    "containers",
    "initContainers",
    "overhead",
    "resources",
    "schedulerName",
    "priority",
    "priorityClassName",
    "serviceAccountName",
    "runtimeClassName",
    "hostNetwork",
    "hostUsers",
];

/// Fields of a pod's volume that can be read.
const VOLUME: [&str; 10] = [
    "name",
    "persistentVolumeClaim",
    "ephemeral",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "iscsi",
    "rbd",
    "cinder",
    "azureDisk",
    "portworxVolume",
];

/// Fields of a container that can be read.
const CONTAINER: [&str; 7] =
    ["name", "image", "resources", "ports", "restartPolicy", "restartPolicyRules", "volumeMounts"];

/// Fields of a pod's status that can be read.
const POD_STATUS: [&str; 8] = [
    "phase",
    "nominatedNodeName",
    "conditions",
    "containerStatuses",
    "initContainerStatuses",
    "resources",
    "allocatedResources",
    "resourceClaimStatuses",
];

/// Fields of a container's status that can be read.
const CONTAINER_STATUS: [&str; 3] = ["name", "resources", "allocatedResources"];

/// Selection of the fields of objects that are kept.
pub(super) struct Pruning<'a> {
    imports: &'a BTreeSet<Interface>,
    annotation_keys: &'a [String],
    config_maps: &'a [String],
}

impl<'a> Pruning<'a> {
    /// For predicates that import these interfaces, and can read annotations with these keys and these ConfigMaps.
    pub(super) fn new(
        imports: &'a BTreeSet<Interface>,
        annotation_keys: &'a [String],
        config_maps: &'a [String],
    ) -> Self {
        Self { imports, annotation_keys, config_maps }
    }

    /// Whether an object that is neither node nor pod can be read, if its kind can.
    pub(super) fn is_read(&self, object: &Object) -> bool {
        match object.kind() {
            Kind::ConfigMap => self.config_maps.contains(&object.key()),
            // Followed for every policy, read by predicates for claims.
            Kind::DeviceClass => self.imports.contains(&Interface::PodClaims),
            _ => true,
        }
    }

    /// The interfaces that can be read.
    pub(super) fn imports(&self) -> &BTreeSet<Interface> {
        self.imports
    }

    /// Whether pods on nodes can be read.
    pub(super) fn reads_pods(&self) -> bool {
        self.imports.iter().any(|interface| interface.depends_on_pods_on_nodes())
    }

    /// Returns a node with only the fields that can be read.
    pub(super) fn node(&self, node: &Value) -> Value {
        let mut kept = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": picked(&node["metadata"], &["name", "uid"]),
        });
        for (interface, paths) in NODE_FACTS {
            if self.imports.iter().any(|import| import.name() == interface) {
                for path in paths {
                    let Some((part, field)) = path.split_once('.') else { continue };
                    if let Some(value) = node[part].get(field) {
                        kept[part][field] = value.clone();
                    }
                }
            }
        }
        cut_annotations(&mut kept, &|key| self.reads_annotation(key));
        if let Some(conditions) = kept.get_mut("status").and_then(|status| status.get_mut("conditions")) {
            *conditions = each(conditions, &["type", "status"]);
        }
        kept
    }

    /// Returns a pod with only the fields that can be read.
    pub(super) fn pod(&self, pod: &Value) -> Value {
        let mut spec = picked(&pod["spec"], &POD_SPEC);
        for (list, fields) in [("containers", &CONTAINER[..]), ("initContainers", &CONTAINER), ("volumes", &VOLUME)] {
            if let Some(found) = spec.get_mut(list) {
                *found = each(found, fields);
            }
        }
        let mut status = picked(&pod["status"], &POD_STATUS);
        for (list, fields) in [
            ("containerStatuses", &CONTAINER_STATUS[..]),
            ("initContainerStatuses", &CONTAINER_STATUS),
            ("conditions", &["type", "status", "reason"]),
        ] {
            if let Some(found) = status.get_mut(list) {
                *found = each(found, fields);
            }
        }
        let metadata = picked(&pod["metadata"], &OWNED_METADATA);
        let mut kept = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        if status.as_object().is_some_and(|status| !status.is_empty()) {
            kept["status"] = status;
        }
        cut_annotations(&mut kept, &|key| self.reads_annotation(key));
        kept
    }

    /// An object of another kind.
    pub(super) fn other(kind: Kind, object: &Value) -> Value {
        let Fields { metadata, object: fields, spec, status } = kind.info().fields;
        let mut kept = picked(object, &["apiVersion", "kind"]);
        kept["metadata"] = picked(&object["metadata"], metadata);
        cut_annotations(&mut kept, &|key| READ_ANNOTATIONS.contains(&key));
        for field in fields {
            if let Some(value) = object.get(*field) {
                kept[*field] = value.clone();
            }
        }
        for (part, fields) in [("spec", spec), ("status", status)] {
            let part_kept = picked(&object[part], fields);
            if part_kept.as_object().is_some_and(|fields| !fields.is_empty()) {
                kept[part] = part_kept;
            }
        }
        for (field, fields) in [("csi", &["driver", "volumeHandle"][..]), ("source", &["persistentVolumeName"])] {
            if let Some(found) = kept.get_mut("spec").and_then(|spec| spec.get_mut(field)).filter(|at| at.is_object()) {
                *found = picked(found, fields);
            }
        }
        if let Some(drivers) = kept.get_mut("spec").and_then(|spec| spec.get_mut("drivers")) {
            *drivers = each(drivers, &["name", "allocatable"]);
        }
        kept
    }

    fn reads_annotation(&self, key: &str) -> bool {
        self.annotation_keys.iter().any(|read| read == key)
    }
}

/// Cuts the annotations that are not read.
fn cut_annotations(object: &mut Value, is_read: &dyn Fn(&str) -> bool) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(Value::Object(mut annotations)) = metadata.remove("annotations") else { return };
    annotations.retain(|key, _| is_read(key));
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
}

/// The fields of a map that have these names.
fn picked(map: &Value, fields: &[&str]) -> Value {
    let field = |name: &&str| Some(((*name).to_owned(), map.get(name)?.clone()));
    Value::Object(fields.iter().filter_map(field).collect::<Map<_, _>>())
}

/// Keeps the fields with these names of each map in a list.
fn each(list: &Value, fields: &[&str]) -> Value {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    Value::Array(items.iter().map(|item| picked(item, fields)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn imports(names: &[&str]) -> BTreeSet<Interface> {
        names.iter().map(|name| Interface::from_name(name).unwrap()).collect()
    }

    #[test]
    fn a_node_keeps_what_can_be_read() {
        let node = json!({
            "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"x": "1", "y": "2"}, "managedFields": []},
            "spec": {"taints": [], "podCIDR": "10.0.0.0/8"},
            "status": {"allocatable": {"cpu": "4"}, "addresses": [{"address": "10.0.0.1"}]},
        });
        let keys = ["x".to_owned()];
        let kept = |names: &[&str]| Pruning::new(&imports(names), &keys, &[]).node(&node);
        let metadata = |more: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": more});
        assert_eq!(kept(&["pod-labels"]), metadata(json!({"name": "n"})));
        assert_eq!(kept(&["node-labels"]), metadata(json!({"name": "n", "labels": {"a": "b"}})));
        assert_eq!(kept(&["node-annotations"]), metadata(json!({"name": "n", "annotations": {"x": "1"}})));
        assert_eq!(kept(&["node-resources"])["status"], json!({"allocatable": {"cpu": "4"}}));
        assert_eq!(kept(&["node-taints"])["spec"], json!({"taints": []}));
    }

    #[test]
    fn a_pod_keeps_neither_its_environment_nor_annotations_that_are_not_listed() {
        let pod = json!({
            "metadata": {"name": "p", "annotations": {"x": "1", "secret": "2"}, "managedFields": []},
            "spec": {
                "nodeName": "n",
                "containers": [{"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "t"}]}],
                "volumes": [
                    {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                    {"name": "s", "secret": {"secretName": "s"}},
                ],
                "hostAliases": [{"ip": "10.0.0.2", "hostnames": ["h"]}],
                "ephemeralContainers": [{"name": "e"}],
                "imagePullSecrets": [{"name": "s"}],
                "dnsConfig": {"nameservers": ["10.0.0.3"]},
            },
            "status": {"phase": "Running", "podIP": "10.0.0.1"},
        });
        let keys = ["x".to_owned()];
        let kept = Pruning::new(&imports(&["pod-labels"]), &keys, &[]).pod(&pod);
        assert_eq!(
            kept,
            json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "annotations": {"x": "1"}},
                "spec": {
                    "nodeName": "n",
                    "containers": [{"name": "c", "image": "i"}],
                    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "s"}],
                },
                "status": {"phase": "Running"},
            })
        );
    }

    #[test]
    fn other_kinds_keep_what_is_decoded_and_neither_addresses_nor_other_annotations() {
        let applied = "kubectl.kubernetes.io/last-applied-configuration";
        let kept = |kind: Kind, object: &Value| {
            let kept = Pruning::other(kind, object);
            let mut object = object.clone();
            cut_annotations(&mut object, &|key| key != applied);
            let decoded = |json: &Value| nodesift_object::decode::decode(kind, &json.to_string()).unwrap();
            assert_eq!(format!("{:?}", decoded(&kept)), format!("{:?}", decoded(&object)));
            kept
        };
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "namespace": "ns", "annotations": {applied: "{}"}},
            "spec": {"selector": {"app": "a"}, "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "externalIPs": ["192.0.2.1"]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}]}},
        });
        let expected = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "namespace": "ns"},
            "spec": {"selector": {"app": "a"}},
        });
        assert_eq!(kept(Kind::Service, &service), expected);
        let set = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "r", "namespace": "ns"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"spec": {"containers": [{"name": "c", "env": [{"name": "TOKEN"}]}]}}},
        });
        assert_eq!(kept(Kind::ReplicaSet, &set)["spec"], json!({"selector": {"matchLabels": {"app": "a"}}}));
        let volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "v", "uid": "u", "annotations": {applied: "{}", CLASS_ANNOTATION: "fast"}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "nfs": {"server": "10.0.0.1", "path": "/"},
                "csi": {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "s"}},
            },
            "status": {"phase": "Bound", "message": "m"},
        });
        let expected = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "v", "uid": "u", "annotations": {CLASS_ANNOTATION: "fast"}},
            "spec": {"capacity": {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "h"}},
            "status": {"phase": "Bound"},
        });
        assert_eq!(kept(Kind::PersistentVolume, &volume), expected);
        let node = json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "n"},
            "spec": {"drivers": [{"name": "d", "nodeID": "i-1", "allocatable": {"count": 3}}]},
        });
        assert_eq!(
            kept(Kind::CsiNode, &node)["spec"],
            json!({"drivers": [{"name": "d", "allocatable": {"count": 3}}]})
        );
    }
}
