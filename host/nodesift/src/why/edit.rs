//! Edits as they are typed: `--try EDIT` → an edited pod, and the nodes and pods of an overlay. Start at [`Edit`], then [`WhatIf`].
//!
//! Edits change objects and nothing else: the answer about them is that about objects which were written so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::objects::{Objects, ObjectsError};
use crate::args::PodKey;
use nodesift_proto::v1::{self, node, pod};

/// Nodes that edits add at most, one or all together, as an overlay holds.
const COPIES: usize = 1_000;

/// The taint of a node that is cordoned.
const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// Label whose value is the name of its node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// The effects of taints.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// One change to a pod or a cluster, as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// `RESOURCE=QUANTITY`: the pod requests so much, all in its first container.
    Request {
        /// Name of the resource.
        resource: String,
        /// Quantity, in the form of Kubernetes.
        quantity: String,
    },
    /// `tolerate=KEY[=VALUE][:EFFECT]`: the pod has one more toleration.
    Tolerate {
        /// Key of the taints that it is about.
        key: String,
        /// Value of taints; any without it.
        value: Option<String>,
        /// Effect of taints; any without it.
        effect: Option<String>,
    },
    /// `drop=nodeSelector`, `drop=affinity` or `drop=spread[INDEX]`: the pod lacks it.
    Drop(Part),
    /// `node+=NAME*COUNT`: copies of a node.
    Copies {
        /// Name of the node.
        node: String,
        /// Number of the copies.
        count: usize,
    },
    /// `uncordon=NODE`: the node is not cordoned.
    Uncordon(String),
    /// `untaint=KEY`: no node has a taint with this key.
    Untaint(String),
    /// `without=NAMESPACE/POD`: that pod is on no node.
    Without(PodKey),
}

/// A part of a pod's spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The node selector, `spec.nodeSelector`.
    NodeSelector,
    /// The affinity to nodes and pods, `spec.affinity`.
    Affinity,
    /// One of `spec.topologySpreadConstraints`, counted from 0.
    Spread(usize),
}

impl FromStr for Edit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(copies) = text.strip_prefix("node+=") {
            return copies_of(copies);
        }
        let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is no edit: {GRAMMAR}"))?;
        if name.is_empty() || value.is_empty() {
            return Err(format!("{text:?} is no edit: {GRAMMAR}"));
        }
        match name {
            "tolerate" => toleration(value),
            "drop" => part(value).map(Self::Drop),
            "uncordon" => Ok(Self::Uncordon(value.to_owned())),
            "untaint" => Ok(Self::Untaint(value.to_owned())),
            "without" => {
                value.parse::<PodKey>().map(Self::Without).map_err(|error| format!("without={value}: {error}"))
            }
            resource if is_resource(resource) => request(resource, value),
            other => Err(format!("{other:?} is no edit and no resource: {GRAMMAR}")),
        }
    }
}

/// The edits that there are, for errors.
const GRAMMAR: &str = "expected RESOURCE=QUANTITY such as cpu=2, tolerate=KEY[=VALUE][:EFFECT], \
                       drop=nodeSelector|affinity|spread[INDEX], node+=NAME*COUNT, uncordon=NODE, untaint=KEY or \
                       without=NAMESPACE/POD";

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request { resource, quantity } => write!(f, "{resource}={quantity}"),
            Self::Tolerate { key, value, effect } => {
                write!(f, "tolerate={key}")?;
                value.iter().try_for_each(|value| write!(f, "={value}"))?;
                effect.iter().try_for_each(|effect| write!(f, ":{effect}"))
            }
            Self::Drop(Part::NodeSelector) => f.write_str("drop=nodeSelector"),
            Self::Drop(Part::Affinity) => f.write_str("drop=affinity"),
            Self::Drop(Part::Spread(at)) => write!(f, "drop=spread[{at}]"),
            Self::Copies { node, count } => write!(f, "node+={node}*{count}"),
            Self::Uncordon(node) => write!(f, "uncordon={node}"),
            Self::Untaint(key) => write!(f, "untaint={key}"),
            Self::Without(pod) => write!(f, "without={pod}"),
        }
    }
}

/// Whether it is cpu, memory or another name that a resource can have.
fn is_resource(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_known = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    (is_known || name.contains('/')) && name.chars().all(is_plain)
}

fn request(resource: &str, quantity: &str) -> Result<Edit, String> {
    if !quantity.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(format!("{resource}={quantity}: a request is a quantity of at least 0, such as 2, 500m or 4Gi"));
    }
    Ok(Edit::Request { resource: resource.to_owned(), quantity: quantity.to_owned() })
}

fn toleration(text: &str) -> Result<Edit, String> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, effect)) if EFFECTS.contains(&effect) => (rest, Some(effect.to_owned())),
        Some((_, effect)) => return Err(format!("tolerate={text}: {effect:?} is none of {}", EFFECTS.join(", "))),
        None => (text, None),
    };
    let (key, value) = match rest.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (rest, None),
    };
    if key.is_empty() {
        return Err(format!("tolerate={text}: expected KEY[=VALUE][:EFFECT]"));
    }
    Ok(Edit::Tolerate { key: key.to_owned(), value, effect })
}

fn part(text: &str) -> Result<Part, String> {
    let index = text.strip_prefix("spread[").and_then(|rest| rest.strip_suffix(']'));
    match (text, index.map(str::parse::<usize>)) {
        ("nodeSelector", _) => Ok(Part::NodeSelector),
        ("affinity", _) => Ok(Part::Affinity),
        (_, Some(Ok(at))) => Ok(Part::Spread(at)),
        _ => Err(format!("drop={text}: expected nodeSelector, affinity or spread[INDEX]")),
    }
}

fn copies_of(text: &str) -> Result<Edit, String> {
    let (node, count) = text.rsplit_once('*').unwrap_or((text, "1"));
    match count.parse() {
        Ok(count @ 1..=COPIES) if !node.is_empty() => Ok(Edit::Copies { node: node.to_owned(), count }),
        _ => Err(format!("node+={text}: expected NAME*COUNT with a count from 1 to {COPIES}")),
    }
}

/// Why edits cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The object of the edit is not to be had.
    #[error("--try {edit}: {source}")]
    Object {
        /// The edit as typed.
        edit: String,
        /// Why there is none.
        #[source]
        source: ObjectsError,
    },
    /// The pod or the node has not what the edit is about.
    #[error("--try {edit}: {reason}")]
    Nothing {
        /// The edit as typed.
        edit: String,
        /// Names the part that is not there.
        reason: String,
    },
}

impl EditError {
    /// The name of the node that the edit is about and that is not there.
    pub(crate) fn missing_node(&self) -> Option<&str> {
        match self {
            Self::Object { source: ObjectsError::Missing(what), .. } => what.strip_prefix("Node "),
            _ => None,
        }
    }
}

/// A pod with edits, and the overlay that the others make.
#[derive(Debug, Default)]
pub(crate) struct WhatIf {
    /// The edited pod; none where no edit changes it.
    pub(crate) pod: Option<Value>,
    nodes: BTreeMap<String, Value>,
    /// Number of the nodes that are added.
    copies: usize,
    removed: Vec<PodKey>,
}

impl WhatIf {
    /// Makes all edits, in their order.
    ///
    /// # Errors
    ///
    /// For the first edit that is about something that is not there.
    pub(crate) fn new(edits: &[Edit], pod: &PodKey, objects: &mut dyn Objects) -> Result<Self, EditError> {
        let uncordoned = |edit: &Edit| if let Edit::Uncordon(node) = edit { Some(node.clone()) } else { None };
        let uncordoned: BTreeSet<String> = edits.iter().filter_map(uncordoned).collect();
        let mut made = Self::default();
        if uncordoned.len() > 1 {
            // Together, since cluster files are read once for each question. What fails here fails for its edit too, which is then named.
            made.nodes = objects.nodes(&uncordoned).unwrap_or_default();
        }
        for edit in edits {
            made.make(edit, pod, objects)?;
        }
        Ok(made)
    }

    /// Makes edits of a pod that is at hand as a whole.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub(crate) fn of_whole(edits: &[Edit], pod: Value, objects: &mut dyn Objects) -> Result<Self, EditError> {
        let mut made = Self { pod: Some(pod), ..Self::default() };
        for edit in edits {
            made.make(edit, &PodKey { namespace: String::new(), name: String::new() }, objects)?;
        }
        Ok(made)
    }

    /// Overlay of the changes beside the pod; none where there is no such change.
    pub(crate) fn overlay(&self) -> Option<v1::Overlay> {
        if self.nodes.is_empty() && self.removed.is_empty() {
            return None;
        }
        let nodes = self.nodes.values().map(|node| v1::Node { node: Some(node::Node::Json(node.to_string())) });
        let removed = self.removed.iter().map(|key| {
            let name = v1::PodName { namespace: key.namespace.clone(), name: key.name.clone() };
            v1::Pod::from(pod::Pod::Name(name))
        });
        Some(v1::Overlay { nodes: nodes.collect(), removed_pods: removed.collect(), ..v1::Overlay::default() })
    }

    fn make(&mut self, edit: &Edit, key: &PodKey, objects: &mut dyn Objects) -> Result<(), EditError> {
        let failed = |source| EditError::Object { edit: edit.to_string(), source };
        let nothing = |reason: &str| EditError::Nothing { edit: edit.to_string(), reason: reason.to_owned() };
        match edit {
            Edit::Request { .. } | Edit::Tolerate { .. } | Edit::Drop(_) => {
                if self.pod.is_none() {
                    self.pod = Some(objects.pod(key).map_err(failed)?);
                }
                let spec = self.pod.as_mut().and_then(|pod| pod.get_mut("spec")).and_then(Value::as_object_mut);
                let spec = spec.ok_or_else(|| nothing("the pod has no spec"))?;
                edit_spec(edit, spec).map_err(nothing)
            }
            Edit::Copies { node, count } => {
                let original = match self.nodes.get(node) {
                    Some(edited) => edited.clone(),
                    None => objects.node(node).map_err(failed)?,
                };
                self.copies += count;
                if self.copies > COPIES {
                    return Err(nothing(&format!("all edits add {} nodes, and {COPIES} is the most", self.copies)));
                }
                let (mut left, mut numbers) = (*count, 1_usize..);
                while left > 0 {
                    // Numbers that an edit before has taken, or that the cluster has, would replace these nodes.
                    let names = numbers.by_ref().map(|number| format!("{node}-copy-{number}"));
                    let names: BTreeSet<String> =
                        names.filter(|name| !self.nodes.contains_key(name)).take(left).collect();
                    let known = objects.nodes_named(&names).map_err(failed)?;
                    for name in names.difference(&known) {
                        self.nodes.insert(name.clone(), copied(&original, name));
                        left -= 1;
                    }
                }
                Ok(())
            }
            Edit::Uncordon(node) => {
                let node = self.node(node, objects).map_err(failed)?;
                let spec = node.get_mut("spec").and_then(Value::as_object_mut);
                if let Some(spec) = spec {
                    spec.remove("unschedulable");
                }
                remove_taints(node, CORDONED);
                Ok(())
            }
            Edit::Untaint(key) => {
                let mut tainted = objects.nodes_tainted(key).map_err(failed)?;
                tainted.retain(|name, _| !self.nodes.contains_key(name));
                self.nodes.append(&mut tainted);
                let mut removed = 0;
                for node in self.nodes.values_mut() {
                    removed += remove_taints(node, key);
                }
                if removed == 0 { Err(nothing("no node has such a taint")) } else { Ok(()) }
            }
            Edit::Without(pod) => {
                self.removed.push(pod.clone());
                Ok(())
            }
        }
    }

    /// A node as edits before have left it.
    fn node(&mut self, name: &str, objects: &mut dyn Objects) -> Result<&mut Value, ObjectsError> {
        let node = match self.nodes.remove(name) {
            Some(node) => node,
            None => objects.node(name)?,
        };
        Ok(self.nodes.entry(name.to_owned()).or_insert(node))
    }
}

/// Makes an edit of a pod's spec.
fn edit_spec(edit: &Edit, spec: &mut Map<String, Value>) -> Result<(), &'static str> {
    match edit {
        Edit::Request { resource, quantity } => {
            for owner in ["containers", "initContainers"] {
                let containers = spec.get_mut(owner).and_then(Value::as_array_mut);
                containers.into_iter().flatten().for_each(|container| forget(container, resource));
            }
            // The amounts of the pod as a whole, which would win over those of its containers, and those that are added to all.
            if let Some(resources) = spec.get_mut("resources") {
                forget_in(resources, resource);
            }
            if let Some(overhead) = spec.get_mut("overhead").and_then(Value::as_object_mut) {
                overhead.remove(resource);
            }
            let first = spec.get_mut("containers").and_then(|containers| containers.get_mut(0));
            let first = first.and_then(Value::as_object_mut).ok_or("the pod has no container")?;
            let resources = first.entry("resources").or_insert_with(|| json!({}));
            let resources = resources.as_object_mut().ok_or("the resources of its first container are no object")?;
            let requests = resources.entry("requests").or_insert_with(|| json!({}));
            let requests = requests.as_object_mut().ok_or("the requests of its first container are no object")?;
            requests.insert(resource.clone(), Value::String(quantity.clone()));
            Ok(())
        }
        Edit::Tolerate { key, value, effect } => {
            let mut toleration = match value {
                Some(value) => json!({"key": key, "operator": "Equal", "value": value}),
                None => json!({"key": key, "operator": "Exists"}),
            };
            if let (Some(effect), Some(toleration)) = (effect, toleration.as_object_mut()) {
                toleration.insert("effect".to_owned(), Value::String(effect.clone()));
            }
            let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
            tolerations.as_array_mut().ok_or("the tolerations of the pod are no list")?.push(toleration);
            Ok(())
        }
        Edit::Drop(Part::NodeSelector) => spec.remove("nodeSelector").map(drop).ok_or("the pod has no nodeSelector"),
        Edit::Drop(Part::Affinity) => spec.remove("affinity").map(drop).ok_or("the pod has no affinity"),
        Edit::Drop(Part::Spread(at)) => {
            let constraints = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
            match constraints {
                Some(constraints) if *at < constraints.len() => {
                    constraints.remove(*at);
                    Ok(())
                }
                _ => Err("the pod has no such spread constraint"),
            }
        }
        Edit::Copies { .. } | Edit::Uncordon(_) | Edit::Untaint(_) | Edit::Without(_) => Ok(()),
    }
}

/// Drops what a container asks for of a resource: its limit too, since a request that is missing equals the limit.
fn forget(container: &mut Value, resource: &str) {
    if let Some(resources) = container.get_mut("resources") {
        forget_in(resources, resource);
    }
}

fn forget_in(resources: &mut Value, resource: &str) {
    for amounts in ["requests", "limits"] {
        if let Some(amounts) = resources.get_mut(amounts).and_then(Value::as_object_mut) {
            amounts.remove(resource);
        }
    }
}

/// Another node that is like this one.
fn copied(node: &Value, name: &str) -> Value {
    let mut copy = node.clone();
    if let Some(metadata) = copy.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("name".to_owned(), Value::String(name.to_owned()));
        metadata.remove("uid");
        metadata.remove("resourceVersion");
        if let Some(hostname) = metadata.get_mut("labels").and_then(|labels| labels.get_mut(HOSTNAME)) {
            *hostname = Value::String(name.to_owned());
        }
    }
    copy
}

/// Removes the taints with a key; returns how many there were.
fn remove_taints(node: &mut Value, key: &str) -> usize {
    let taints = node.get_mut("spec").and_then(|spec| spec.get_mut("taints")).and_then(Value::as_array_mut);
    let Some(taints) = taints else { return 0 };
    let before = taints.len();
    taints.retain(|taint| taint.get("key").and_then(Value::as_str) != Some(key));
    before - taints.len()
}

#[cfg(test)]
mod tests;
