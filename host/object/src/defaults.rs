//! Defaults that an API server fills into objects that are written to it. Manifests lack them, and predicates read them. Start at [`fill`].
//!
//! The rules are those of `SetDefaults_*` in Kubernetes 1.36. Absent fields that mean the same as their default need none: the scheduler's
//! name, the protocol of a port, the mode of a volume. What depends on other objects is left as it is written: the priority of a class, the
//! default StorageClass, LimitRanges, the tolerations that admission adds.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::Kind;

/// Fields that an API server fills in, and an object lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defaulted {
    /// Requests of a pod, which are its limits where only those are written.
    Requests,
    /// Host ports of a pod in the network of its node, which are the ports of its containers.
    HostPorts,
    /// How many devices a claim requests: exactly one.
    Devices,
    /// Allocatable amounts of a node (`status.allocatable`), which are all of its capacity.
    Allocatable,
    /// Selectors of a pod's terms of pod affinity, to which its own values of `matchLabelKeys` and `mismatchLabelKeys` belong.
    LabelKeys,
    /// When volumes of a class are bound: at once.
    BindingMode,
}

impl Defaulted {
    /// The kind of objects that lack it.
    pub fn kind(self) -> Kind {
        match self {
            Self::Requests | Self::HostPorts | Self::LabelKeys => Kind::Pod,
            Self::BindingMode => Kind::StorageClass,
            Self::Devices => Kind::ResourceClaim,
            Self::Allocatable => Kind::Node,
        }
    }
}

impl fmt::Display for Defaulted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Requests => "requests from limits",
            Self::HostPorts => "host ports of the host's network",
            Self::Devices => "one device per request",
            Self::Allocatable => "allocatable from capacity",
            Self::LabelKeys => "label keys of pod affinity",
            Self::BindingMode => "immediate binding",
        };
        write!(formatter, "{} ({what})", self.kind())
    }
}

/// The object as an API server would keep it, and what it lacked. None where it lacks nothing, or is not what it should be, which its
/// decoding reports.
pub fn fill(kind: Kind, json: &str) -> Option<(String, Vec<Defaulted>)> {
    // Objects that need nothing are told by their text, as most do.
    let has = |field: &str| json.contains(field);
    let may_lack = match kind {
        Kind::Pod => {
            has("\"limits\"") || has("\"hostNetwork\"") || has("\"matchLabelKeys\"") || has("\"mismatchLabelKeys\"")
        }
        Kind::StorageClass => true,
        Kind::ResourceClaim => true,
        Kind::Node => has("\"capacity\"") && !has("\"allocatable\""),
        _ => false,
    };
    let mut object: Value = may_lack.then(|| serde_json::from_str(json).ok()).flatten()?;
    let mut filled = Vec::new();
    match kind {
        Kind::Pod => {
            let spec = object.get_mut("spec")?;
            if requests(spec) {
                filled.push(Defaulted::Requests);
            }
            if spec.get("hostNetwork") == Some(&Value::Bool(true)) && host_ports(spec) {
                filled.push(Defaulted::HostPorts);
            }
            if label_keys(&mut object) {
                filled.push(Defaulted::LabelKeys);
            }
        }
        Kind::StorageClass => {
            let class = object.as_object_mut()?;
            if is_unset(class.get("volumeBindingMode")) {
                class.insert("volumeBindingMode".to_owned(), json!("Immediate"));
                filled.push(Defaulted::BindingMode);
            }
        }
        Kind::ResourceClaim => {
            let requests = object.pointer_mut("/spec/devices/requests")?.as_array_mut()?;
            if requests.iter_mut().fold(false, |changed, request| devices(request) | changed) {
                filled.push(Defaulted::Devices);
            }
        }
        _ => {
            let status = object.get_mut("status")?.as_object_mut()?;
            let capacity = status.get("capacity").filter(|capacity| capacity.is_object())?.clone();
            status.insert("allocatable".to_owned(), capacity);
            filled.push(Defaulted::Allocatable);
        }
    }
    (!filled.is_empty()).then(|| (object.to_string(), filled))
}

/// Containers, and those that run before them.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Visits the containers of a pod.
fn containers(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = spec.as_object_mut().into_iter().flatten();
    let lists = lists.filter(|(field, _)| CONTAINERS.contains(&field.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten()
}

/// Requests of containers, and of the pod as a whole.
fn requests(spec: &mut Value) -> bool {
    let mut changed = false;
    let mut requested = Vec::new();
    for resources in containers(spec).filter_map(|container| container.get_mut("resources")) {
        changed |= add_limits(resources, |_| true);
        let requests = resources.get("requests").and_then(Value::as_object);
        requested.extend(requests.into_iter().flat_map(Map::keys).cloned());
    }
    let Some(resources) = spec.get_mut("resources") else { return changed };
    // What containers request of cpu and memory counts for the pod where it has no requests of its own.
    let is_of_pod = |resource: &str| match resource {
        "cpu" | "memory" => !requested.iter().any(|requested| requested == resource),
        other => other.starts_with("hugepages-"),
    };
    add_limits(resources, is_of_pod) | changed
}

/// Adds limits to the requests of the same `resources`, where there are none and they are `wanted`.
fn add_limits(resources: &mut Value, wanted: impl Fn(&str) -> bool) -> bool {
    let Some(resources) = resources.as_object_mut() else { return false };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return false };
    let requests = resources.entry("requests").or_insert(Value::Null);
    if requests.is_null() {
        *requests = json!({});
    }
    let Some(requests) = requests.as_object_mut() else { return false };
    let before = requests.len();
    for (resource, limit) in limits {
        if !requests.contains_key(&resource) && wanted(&resource) {
            requests.insert(resource, limit);
        }
    }
    requests.len() > before
}

/// Whether a field is absent, or what Go takes for absent.
fn is_unset(field: Option<&Value>) -> bool {
    field.is_none_or(|value| value.is_null() || *value == json!(0) || *value == json!(""))
}

fn host_ports(spec: &mut Value) -> bool {
    let ports = containers(spec).filter_map(|container| container.get_mut("ports")?.as_array_mut()).flatten();
    let mut changed = false;
    for port in ports.filter_map(Value::as_object_mut).filter(|port| is_unset(port.get("hostPort"))) {
        if let Some(number) = port.get("containerPort").filter(|number| number.is_number()).cloned() {
            port.insert("hostPort".to_owned(), number);
            changed = true;
        }
    }
    changed
}

/// Terms of pod affinity and pod anti-affinity: what is required, and the terms of what is preferred.
fn affinity_terms(spec: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let affinity = spec.get_mut("affinity").and_then(Value::as_object_mut).into_iter().flatten();
    let of_pods = affinity.filter(|(field, _)| matches!(field.as_str(), "podAffinity" | "podAntiAffinity"));
    let lists = of_pods.filter_map(|(_, terms)| terms.as_object_mut()).flatten();
    let terms = lists.filter_map(|(_, list)| list.as_array_mut()).flatten();
    terms.filter_map(|term| match term.get("podAffinityTerm").is_some() {
        true => term.get_mut("podAffinityTerm")?.as_object_mut(),
        false => term.as_object_mut(),
    })
}

/// Adds to the selectors of terms of pod affinity the pod's own values of their label keys, as `In` and `NotIn`. A term without a selector
/// selects nothing, and stays as it is; so does one that has the requirement already.
fn label_keys(pod: &mut Value) -> bool {
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(spec) = pod.get_mut("spec") else { return false };
    let mut changed = false;
    for term in affinity_terms(spec) {
        let keys = |field: &str| term.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        let wanted = [("In", keys("matchLabelKeys")), ("NotIn", keys("mismatchLabelKeys"))];
        let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else { continue };
        for (operator, keys) in wanted {
            for key in keys.iter().filter_map(Value::as_str) {
                let Some(value) = labels.get(key) else { continue };
                let expressions = selector.entry("matchExpressions").or_insert(Value::Null);
                if expressions.is_null() {
                    *expressions = json!([]);
                }
                let Some(expressions) = expressions.as_array_mut() else { continue };
                let added = json!({"key": key, "operator": operator, "values": [value]});
                // An author may exclude other values of the same key; that a key has `In` beside `matchLabelKeys` is refused.
                let is_there = |known: &Value| match operator {
                    "In" => known["key"] == key && known["operator"] == operator,
                    _ => *known == added,
                };
                if !expressions.iter().any(is_there) {
                    expressions.push(added);
                    changed = true;
                }
            }
        }
    }
    changed
}

/// A request of a claim: its `exactly`, its alternatives, or in `v1beta1` itself.
fn devices(request: &mut Value) -> bool {
    let Some(request) = request.as_object_mut() else { return false };
    let mut changed = false;
    if let Some(exactly) = request.get_mut("exactly").and_then(Value::as_object_mut) {
        changed |= one_device(exactly);
    }
    let alternatives = request.get_mut("firstAvailable").and_then(Value::as_array_mut).into_iter().flatten();
    changed |=
        alternatives.filter_map(Value::as_object_mut).fold(false, |changed, fields| one_device(fields) | changed);
    if !is_unset(request.get("deviceClassName")) {
        changed |= one_device(request);
    }
    changed
}

fn one_device(fields: &mut Map<String, Value>) -> bool {
    const EXACT: &str = "ExactCount";
    let mut changed = false;
    if is_unset(fields.get("allocationMode")) {
        fields.insert("allocationMode".to_owned(), json!(EXACT));
        changed = true;
    }
    if fields.get("allocationMode") == Some(&json!(EXACT)) && is_unset(fields.get("count")) {
        fields.insert("count".to_owned(), json!(1));
        changed = true;
    }
    changed
}
