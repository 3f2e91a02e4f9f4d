//! Short forms of pods, nodes and namespaces, and whole Kubernetes objects → objects.
//!
//! A map with `kind`, `apiVersion`, `metadata` or `spec` is a whole object, and is read as the sidecar reads it: what no predicate
//! can read is skipped. Any other map is a short form, of which every field is known. Its fields are those of the test harnesses of
//! the SDKs, but amounts are quantities, as in a manifest. Start at [`Reading`].

use std::collections::BTreeMap;

use nodesift_object::{Kind, Object, Pod, decode};
use nodesift_policy::tree::{At, Fields, Reader, Tree, below};
use serde_json::{Map, Value, json};

/// Fields by which a map is a whole object.
const WHOLE: [&str; 4] = ["kind", "apiVersion", "metadata", "spec"];

const NODE: &[&str] = &[
    "name",
    "labels",
    "annotations",
    "unschedulable",
    "taints",
    "allocatable",
    "requested",
    "pods",
    "podLimit",
    "conditions",
    "info",
    "images",
    "created",
    "sums",
];
const POD: &[&str] = &[
    "name",
    "namespace",
    "namespaceLabels",
    "labels",
    "annotations",
    "nodeName",
    "nodeSelector",
    "tolerations",
    "requests",
    "hostPorts",
    "priority",
    "priorityClass",
    "serviceAccount",
    "runtimeClass",
    "hostNetwork",
    "images",
    "schedulerName",
    "controller",
];
const NAMESPACE: &[&str] = &["name", "labels"];
const TAINT: &[&str] = &["key", "value", "effect"];
const TOLERATION: &[&str] = &["key", "operator", "value", "effect"];
const CONTROLLER: &[&str] = &["apiVersion", "kind", "name", "uid"];

/// Fields of `info`, and where they are in a Node; `providerID` is in its spec.
const INFO: &[&str] = &[
    "kubeletVersion",
    "kernelVersion",
    "containerRuntimeVersion",
    "osImage",
    "operatingSystem",
    "architecture",
    "providerID",
];

/// The scheduler of pods that name none.
const SCHEDULER: &str = "default-scheduler";

/// Pods that a node may run in its short form.
const POD_LIMIT: u64 = 110;

/// Named sums of nodes, by node and by name of the sum.
pub(in super::super) type NodeSums = BTreeMap<String, BTreeMap<String, i64>>;

/// A field's value and its path.
type Field<'t> = (Option<&'t At<Tree>>, String);

/// Reads objects and collects them; what is wrong goes to the reader.
pub(in super::super) struct Reading<'r> {
    pub(in super::super) reader: &'r mut Reader,
    pub(in super::super) objects: Vec<Object>,
    /// Sums in the short forms of nodes, which no Kubernetes object has.
    pub(in super::super) sums: NodeSums,
}

impl<'r> Reading<'r> {
    /// Creates an empty collection of objects.
    pub(in super::super) fn new(reader: &'r mut Reader) -> Self {
        Self { reader, objects: Vec::new(), sums: NodeSums::new() }
    }

    /// Reads the field `nodes`.
    pub(super) fn nodes(&mut self, field: Field<'_>) {
        for (at, path) in self.items(field) {
            self.one_node(at, &path);
        }
    }

    /// One node, in either form, with the pods that its short form says are on it.
    pub(in super::super) fn one_node(&mut self, at: &At<Tree>, path: &str) {
        if is_whole(at) {
            self.whole(at, path, Some(Kind::Node));
        } else {
            self.short_node(at, path);
        }
    }

    /// Reads the field `pods`.
    pub(super) fn pods(&mut self, field: Field<'_>) {
        for (index, (at, path)) in self.items(field).into_iter().enumerate() {
            if let Some(pod) = self.one_pod(at, &path, &format!("pod-{index}")) {
                self.objects.push(Object::Pod(pod));
            }
        }
    }

    /// Reads the field `namespaces`.
    pub(super) fn namespaces(&mut self, field: Field<'_>) {
        for (at, path) in self.items(field) {
            if is_whole(at) {
                self.whole(at, &path, Some(Kind::Namespace));
                continue;
            }
            let Some(fields) = self.reader.fields(at, &path, NAMESPACE) else { continue };
            let Some(name) = self.name(at, &fields) else { continue };
            let labels = self.texts(fields.get("labels"));
            self.decode(at, &path, Kind::Namespace, &json!({"metadata": {"name": name, "labels": labels}}));
        }
    }

    /// `objects`: whole objects of any kind.
    pub(super) fn others(&mut self, field: Field<'_>) {
        for (at, path) in self.items(field) {
            self.whole(at, &path, None);
        }
    }

    /// One pod, in either form. `name` is that of a short form without one.
    pub(in super::super) fn one_pod(&mut self, at: &At<Tree>, path: &str, name: &str) -> Option<Box<Pod>> {
        let json = if is_whole(at) { self.json(at, path) } else { self.short_pod(at, path, name)? };
        let read = if is_whole(at) { self.checked_kind(at, path, &json, Some(Kind::Pod)).is_some() } else { true };
        match read.then(|| self.decoded(at, path, Kind::Pod, &json))?? {
            Object::Pod(pod) => Some(pod),
            _ => None,
        }
    }

    fn items<'t>(&mut self, field: Field<'t>) -> Vec<(&'t At<Tree>, String)> {
        self.reader.list(field).map(|list| list.value).unwrap_or_default()
    }

    fn json(&mut self, at: &At<Tree>, path: &str) -> Value {
        self.reader.value((Some(at), path.to_owned())).map_or(Value::Null, |value| value.value)
    }

    fn whole(&mut self, at: &At<Tree>, path: &str, expected: Option<Kind>) {
        let json = self.json(at, path);
        if let Some(kind) = self.checked_kind(at, path, &json, expected) {
            self.decode(at, path, kind, &json);
        }
    }

    /// The kind that a whole object says it is; where it says nothing, the one that is expected there.
    fn checked_kind(&mut self, at: &At<Tree>, path: &str, json: &Value, expected: Option<Kind>) -> Option<Kind> {
        let text = |name: &str| json.get(name).and_then(Value::as_str);
        let (version, kind) = (text("apiVersion"), text("kind"));
        let found = match (version, kind, expected) {
            (_, None, expected) => expected,
            (version, Some(kind), Some(expected)) => {
                Kind::from_type_meta(version.unwrap_or("v1"), kind).filter(|it| *it == expected)
            }
            (version, Some(kind), None) => Kind::from_type_meta(version.unwrap_or("v1"), kind),
        };
        if found.is_none() {
            let what = match (expected, kind) {
                (Some(expected), _) => format!("expected a {expected}"),
                (None, None) => "no `kind`: this is not a Kubernetes object".to_owned(),
                (None, Some(kind)) => {
                    format!("{kind} of {} is no kind that a predicate can read", version.unwrap_or("v1"))
                }
            };
            self.reader.refuse(at, path, what);
        }
        found
    }

    fn decode(&mut self, at: &At<Tree>, path: &str, kind: Kind, json: &Value) {
        let object = self.decoded(at, path, kind, json);
        self.objects.extend(object);
    }

    fn decoded(&mut self, at: &At<Tree>, path: &str, kind: Kind, json: &Value) -> Option<Object> {
        let decoded = decode::decode(kind, &json.to_string());
        decoded.map_err(|error| self.reader.refuse(at, &below(path, &error.field), error.reason)).ok()
    }

    fn name(&mut self, at: &At<Tree>, fields: &Fields<'_>) -> Option<String> {
        let (name, path) = fields.get("name");
        if name.is_none() {
            self.reader.refuse(at, &path, "missing");
        }
        self.reader.text((name, path)).map(|name| name.value)
    }

    /// A map of texts, such as labels.
    fn texts(&mut self, (at, path): Field<'_>) -> Value {
        let Some(at) = at else { return Value::Null };
        let Tree::Map(fields) = &at.value else {
            self.reader.refuse(at, &path, format!("expected a map, found {}", at.value.kind()));
            return Value::Null;
        };
        // Which notes keys that are there twice.
        let _with_other_values = self.json(at, &path);
        let mut text = |(key, value): &(At<String>, At<Tree>)| {
            let text = self.reader.text((Some(value), below(&path, &key.value)))?;
            Some((key.value.clone(), Value::String(text.value)))
        };
        Value::Object(fields.iter().filter_map(&mut text).collect::<Map<_, _>>())
    }

    /// A list of maps with these fields.
    fn maps(&mut self, (at, path): Field<'_>, known: &[&str]) -> Value {
        let Some(whole) = at else { return Value::Null };
        for (item, path) in self.items((at, path.clone())) {
            let _wrong_is_noted = self.reader.fields(item, &path, known);
        }
        self.json(whole, &path)
    }

    fn texts_list(&mut self, field: Field<'_>) -> Vec<String> {
        let list = self.reader.texts(field).map(|list| list.value).unwrap_or_default();
        list.into_iter().flatten().map(|text| text.value).collect()
    }

    fn any(&mut self, (at, path): Field<'_>) -> Value {
        at.map_or(Value::Null, |at| self.json(at, &path))
    }

    /// A map of whole numbers, such as sums.
    fn numbers(&mut self, (at, path): Field<'_>) -> BTreeMap<String, i64> {
        let Some(at) = at else { return BTreeMap::new() };
        let numbers = match self.json(at, &path) {
            Value::Object(fields) => fields.into_iter().map(|(name, number)| Some((name, number.as_i64()?))).collect(),
            _ => None,
        };
        numbers.unwrap_or_else(|| {
            self.reader.refuse(at, &path, "expected numbers by the names of sums");
            BTreeMap::new()
        })
    }

    fn number(&mut self, (at, path): Field<'_>) -> Option<u64> {
        let at = at?;
        let number = self.json(at, &path).as_u64();
        if number.is_none() {
            self.reader.refuse(at, &path, format!("expected a number from 0, found {}", at.value.kind()));
        }
        number
    }

    fn short_pod(&mut self, at: &At<Tree>, path: &str, name: &str) -> Option<Value> {
        let fields = self.reader.fields(at, path, POD)?;
        let text = |reader: &mut Reader, name: &str| reader.text(fields.get(name)).map(|text| text.value);
        let name = text(self.reader, "name").unwrap_or_else(|| name.to_owned());
        let namespace = text(self.reader, "namespace").unwrap_or_else(|| "default".to_owned());
        let (namespace_labels, labels_path) = fields.get("namespaceLabels");
        if let Some(found) = namespace_labels {
            let labels = self.texts((namespace_labels, labels_path.clone()));
            let namespace = json!({"metadata": {"name": namespace, "labels": labels}});
            self.decode(found, &labels_path, Kind::Namespace, &namespace);
        }
        let (controller, controller_path) = fields.get("controller");
        let owners = controller.and_then(|at| {
            self.reader.fields(at, &controller_path, CONTROLLER)?;
            let mut owner = self.json(at, &controller_path);
            owner.as_object_mut()?.insert("controller".to_owned(), json!(true));
            Some(json!([owner]))
        });
        let mut images = self.texts_list(fields.get("images"));
        if images.is_empty() {
            images.push("image".to_owned());
        }
        let ports: Vec<Value> = self
            .reader
            .value(fields.get("hostPorts"))
            .and_then(|ports| ports.value.as_array().cloned())
            .unwrap_or_default()
            .iter()
            .map(|port| json!({"containerPort": port, "hostPort": port}))
            .collect();
        let requests = self.any(fields.get("requests"));
        let container = |(index, image): (usize, &String)| match index {
            0 => json!({"name": "c0", "image": image, "ports": ports, "resources": {"requests": requests}}),
            _ => json!({"name": format!("c{index}"), "image": image}),
        };
        let containers: Vec<Value> = images.iter().enumerate().map(container).collect();
        Some(json!({
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": self.texts(fields.get("labels")),
                "annotations": self.texts(fields.get("annotations")),
                "ownerReferences": owners,
            },
            "spec": {
                "nodeName": text(self.reader, "nodeName"),
                "nodeSelector": self.texts(fields.get("nodeSelector")),
                "tolerations": self.maps(fields.get("tolerations"), TOLERATION),
                "priority": self.any(fields.get("priority")),
                "priorityClassName": text(self.reader, "priorityClass"),
                "serviceAccountName": text(self.reader, "serviceAccount"),
                "runtimeClassName": text(self.reader, "runtimeClass"),
                "hostNetwork": self.reader.flag(fields.get("hostNetwork")).map(|flag| flag.value),
                "schedulerName": text(self.reader, "schedulerName").unwrap_or_else(|| SCHEDULER.to_owned()),
                "containers": containers,
            },
        }))
    }

    fn short_node(&mut self, at: &At<Tree>, path: &str) {
        let Some(fields) = self.reader.fields(at, path, NODE) else { return };
        let Some(name) = self.name(at, &fields) else { return };
        let mut info = self.info(fields.get("info"));
        let mut allocatable = Map::new();
        allocatable.insert("pods".to_owned(), json!(self.number(fields.get("podLimit")).unwrap_or(POD_LIMIT)));
        if let Value::Object(amounts) = self.any(fields.get("allocatable")) {
            allocatable.extend(amounts);
        }
        let conditions: Vec<Value> = match self.texts(fields.get("conditions")) {
            Value::Object(conditions) => {
                conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status})).collect()
            }
            _ => Vec::new(),
        };
        let images = self.texts_list(fields.get("images"));
        let images: Vec<Value> = images.iter().map(|image| json!({"names": [image]})).collect();
        let node = json!({
            "metadata": {
                "name": name,
                "labels": self.texts(fields.get("labels")),
                "annotations": self.texts(fields.get("annotations")),
                "creationTimestamp": self.reader.text(fields.get("created")).map(|text| text.value),
            },
            "spec": {
                "unschedulable": self.reader.flag(fields.get("unschedulable")).map(|flag| flag.value),
                "taints": self.maps(fields.get("taints"), TAINT),
                "providerID": info.remove("providerID"),
            },
            "status": {"allocatable": allocatable, "conditions": conditions, "nodeInfo": info, "images": images},
        });
        self.decode(at, path, Kind::Node, &node);
        self.load(at, path, &name, &fields);
        let sums = self.numbers(fields.get("sums"));
        if !sums.is_empty() {
            self.sums.insert(name, sums);
        }
    }

    fn info(&mut self, (at, path): Field<'_>) -> Map<String, Value> {
        if let Some(at) = at {
            let _wrong_is_noted = self.reader.fields(at, &path, INFO);
        }
        match self.texts((at, path)) {
            Value::Object(info) => info,
            _ => Map::new(),
        }
    }

    /// Pods that request what the short form of a node says is requested on it: all of it by the first.
    fn load(&mut self, at: &At<Tree>, path: &str, node: &str, fields: &Fields<'_>) {
        let requested = self.any(fields.get("requested"));
        let pods = self.number(fields.get("pods")).unwrap_or(u64::from(!requested.is_null()));
        // More than a node can run is a slip, and would be as many objects.
        if pods > POD_LIMIT * 10 {
            return self.reader.refuse(at, &below(path, "pods"), format!("at most {} pods", POD_LIMIT * 10));
        }
        if pods == 0 && !requested.is_null() {
            self.reader.refuse(at, &below(path, "pods"), "0, but pods on the node have requested something");
        }
        for index in 0..pods {
            let requests = if index == 0 { requested.clone() } else { Value::Null };
            let pod = json!({
                "metadata": {"name": format!("on-{node}-{index}")},
                "spec": {
                    "nodeName": node,
                    "schedulerName": SCHEDULER,
                    "containers": [{"name": "c0", "resources": {"requests": requests}}],
                },
            });
            self.decode(at, &below(path, "requested"), Kind::Pod, &pod);
        }
    }
}

fn is_whole(at: &At<Tree>) -> bool {
    match &at.value {
        Tree::Map(fields) => fields.iter().any(|(key, _)| WHOLE.contains(&key.value.as_str())),
        _ => false,
    }
}
