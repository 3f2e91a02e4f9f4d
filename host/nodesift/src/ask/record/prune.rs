//! Objects, cut to what predicates with some imports can read. Start at [`Pruning`].
//!
//! A recorded case leaves the cluster that it was taken from, so what no recorded predicate can read must not be in it: environment
//! variables of containers, annotations, addresses.

use std::collections::BTreeSet;

use nodesift_object::{Kind, Object};
use nodesift_sandbox::Interface;
use serde_json::{Map, Value, json};

/// Where nodes hold the facts of an interface.
const NODE_FACTS: [(&str, &[&str]); 10] = [
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
];

/// Fields of a pod's metadata that can be read.
const POD_METADATA: [&str; 7] =
    ["name", "namespace", "uid", "labels", "annotations", "deletionTimestamp", "ownerReferences"];

/// Fields of a container that can be read.
const CONTAINER: [&str; 6] = ["name", "image", "resources", "ports", "restartPolicy", "restartPolicyRules"];

/// Fields of a pod's status that can be read.
const POD_STATUS: [&str; 7] = [
    "phase",
    "nominatedNodeName",
    "conditions",
    "containerStatuses",
    "initContainerStatuses",
    "resources",
    "allocatedResources",
];

/// Fields of a container's status that can be read.
const CONTAINER_STATUS: [&str; 3] = ["name", "resources", "allocatedResources"];

/// What is kept of objects.
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
        object.kind() != Kind::ConfigMap || self.config_maps.contains(&object.key())
    }

    /// The interfaces that can be read.
    pub(super) fn imports(&self) -> &BTreeSet<Interface> {
        self.imports
    }

    /// Whether pods on nodes can be read.
    pub(super) fn reads_pods(&self) -> bool {
        self.imports.iter().any(|interface| interface.depends_on_pods_on_nodes())
    }

    /// A node.
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
        self.cut_annotations(&mut kept);
        if let Some(conditions) = kept.get_mut("status").and_then(|status| status.get_mut("conditions")) {
            *conditions = each(conditions, &["type", "status"]);
        }
        kept
    }

    /// A pod.
    pub(super) fn pod(&self, pod: &Value) -> Value {
        let mut spec = pod["spec"].clone();
        for containers in ["containers", "initContainers"] {
            if let Some(list) = spec.get_mut(containers) {
                *list = each(list, &CONTAINER);
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("ephemeralContainers");
            spec.remove("imagePullSecrets");
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
        let metadata = picked(&pod["metadata"], &POD_METADATA);
        let mut kept = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        if status.as_object().is_some_and(|status| !status.is_empty()) {
            kept["status"] = status;
        }
        self.cut_annotations(&mut kept);
        kept
    }

    /// An object of another kind.
    pub(super) fn other(&self, kind: Kind, object: Value) -> Value {
        if kind == Kind::Namespace {
            let metadata = picked(&object["metadata"], &["name", "uid", "labels"]);
            return json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        }
        if kind == Kind::ConfigMap {
            let metadata = picked(&object["metadata"], &["name", "namespace", "uid"]);
            return json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": object["data"]});
        }
        let mut kept = object;
        if let Some(metadata) = kept.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        kept
    }

    fn cut_annotations(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        let Some(Value::Object(mut annotations)) = metadata.remove("annotations") else { return };
        annotations.retain(|key, _| self.annotation_keys.contains(key));
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
    }
}

/// The fields of a map that have these names.
fn picked(map: &Value, fields: &[&str]) -> Value {
    let field = |name: &&str| Some(((*name).to_owned(), map.get(name)?.clone()));
    Value::Object(fields.iter().filter_map(field).collect::<Map<_, _>>())
}

/// The same of each map in a list.
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
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "t"}]}]},
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
                "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
                "status": {"phase": "Running"},
            })
        );
    }
}
