//! Case → JSON. The SDKs read neither YAML nor quantities: pods and nodes are written as the cache compiles them, in the units of the
//! contract, with the field names of `cases.yaml`. What no field says is told as the reason why a unit test cannot evaluate the case.
//! Start at [`shown`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::metadata::{
    Amounts, Conditions, HostPort, Labels, Moment, NO_TIME, NodeFacts, OwnerFacts, PodRecord, Selection, SpecFacts,
};
use nodesift_engine::Clock;
use nodesift_object::Object;
use nodesift_object::node::{ConditionStatus, Taint, TaintEffect};
use nodesift_object::pod::{Toleration, TolerationOperator};
use nodesift_source::change::{Compiler, Record};
use serde_json::{Map, Value, json};

use super::super::super::cases::{Case, Expected};

/// A case for a unit test: the fields of its cluster, or why no unit test can evaluate it.
pub(super) fn shown(case: &Case) -> Value {
    let mut document = json!({"name": case.name, "line": case.line});
    let args = case.policy.predicates.first().map_or_else(|| json!({}), |spec| spec.args.clone());
    let cluster = ClusterOf::new(case);
    let (key, value) = match cluster.lacking(case) {
        Some(why) => ("skip", json!(why)),
        None => ("cluster", cluster.document(case)),
    };
    if let Some(fields) = document.as_object_mut() {
        fields.insert("args".to_owned(), args);
        fields.insert(key.to_owned(), value);
    }
    document
}

/// The objects of a case, as the cache compiles them.
struct ClusterOf<'c> {
    /// The pod that is asked about; none where it has ended.
    pod: Option<Arc<PodRecord>>,
    nodes: Vec<Arc<NodeFacts>>,
    /// Pods on nodes of the cluster.
    pods: Vec<Arc<PodRecord>>,
    namespaces: Map<String, Value>,
    config_maps: Map<String, Value>,
    device_class_resources: Vec<String>,
    /// Kinds of objects that the facts of unit tests are not made of.
    others: Vec<&'c Object>,
}

impl<'c> ClusterOf<'c> {
    fn new(case: &'c Case) -> Self {
        let settings = &case.policy.settings;
        let selection = Selection {
            pod_spec: true,
            pod_owner: true,
            pod_preferences: true,
            node_info: true,
            node_images: true,
            pod_images: true,
            non_zero_requests: true,
            ..Selection::annotations(&settings.annotation_keys)
        };
        let compiler = Compiler::new(&case.policy.scheduler_names).selecting(&selection);
        let asked = compiler.compile(&Object::Pod(case.pod.clone())).record;
        let mut cluster = Self {
            pod: if let Record::Pod(pod) = asked { Some(pod) } else { None },
            nodes: Vec::new(),
            pods: Vec::new(),
            namespaces: Map::new(),
            config_maps: Map::new(),
            device_class_resources: Vec::new(),
            others: Vec::new(),
        };
        for object in &case.objects {
            if let Object::ConfigMap(map) = object {
                // One that the policy does not name cannot be read.
                if settings.config_maps.contains(&map.key()) {
                    let entries = map.data.iter().map(|(key, value)| (key.to_owned(), json!(value)));
                    cluster.config_maps.insert(map.key(), Value::Object(entries.collect()));
                }
                continue;
            }
            match compiler.compile(object).record {
                Record::Node(node) => cluster.nodes.push(node),
                Record::Pod(pod) => cluster.pods.push(pod),
                Record::Namespace(name, labels) => {
                    cluster.namespaces.insert(name.as_ref().to_owned(), texts(&labels));
                }
                Record::DeviceClass(class) => {
                    cluster.device_class_resources.extend(class.serves.as_deref().map(str::to_owned));
                }
                Record::EndedPod(_) => {}
                _ => cluster.others.push(object),
            }
        }
        let nodes = &cluster.nodes;
        let is_there =
            |pod: &PodRecord| pod.node_name.as_ref().is_some_and(|name| nodes.iter().any(|node| node.name == *name));
        cluster.pods.retain(|pod| is_there(pod));
        cluster
    }

    /// Why no unit test can evaluate a case; `None` where all that it names has a field.
    fn lacking(&self, case: &Case) -> Option<String> {
        if matches!(case.expected, Expected::Fault(_)) {
            return Some("it expects a fault, which only the sandbox has".to_owned());
        }
        if matches!(case.expected, Expected::Verdict { scores: Some(_), .. }) {
            return Some("it expects scores, which `module test` compares".to_owned());
        }
        if let Some(object) = self.others.first() {
            return Some(format!("its cluster has a {}, of which unit tests have no facts", object.kind()));
        }
        let Some(asked) = &self.pod else { return Some("its pod has ended".to_owned()) };
        let what = std::iter::once(asked).chain(&self.pods).find_map(|pod| lacking_of_pod(pod));
        let what = what.or_else(|| self.nodes.iter().find_map(|node| lacking_of_node(node)));
        what.map(|what| format!("it has {what}, of which unit tests have no facts"))
    }

    fn document(&self, case: &Case) -> Value {
        let asked = |pod: &Arc<PodRecord>| pod_document(pod, pod.requests(), &amounts(&pod.facts.non_zero_requests));
        let running = |pod: &Arc<PodRecord>| pod_document(pod, pod.usage(), &non_zero_usage(pod));
        let node = |node: &Arc<NodeFacts>| node_document(node, case.sums.get(&*node.name));
        json!({
            "pod": self.pod.as_ref().map(asked),
            "nodes": self.nodes.iter().map(node).collect::<Vec<Value>>(),
            "pods": self.pods.iter().map(running).collect::<Vec<Value>>(),
            "namespaces": self.namespaces,
            "configMaps": self.config_maps,
            "deviceClassResources": self.device_class_resources,
            "schedulerNames": case.policy.scheduler_names,
            "now": case.now.unwrap_or_else(|| Clock::default().now()),
        })
    }
}

/// Names a part of a pod that no field of the SDKs' pods says.
fn lacking_of_pod(pod: &PodRecord) -> Option<&'static str> {
    let facts = &pod.facts;
    let is_plain = |port: &HostPort| &*port.ip == HostPort::ANY_IP && &*port.protocol == "TCP";
    [
        (facts.required_affinity.is_some() || facts.preferred_affinity.is_some(), "a node affinity"),
        (!facts.affinity.is_empty() || !facts.anti_affinity.is_empty(), "a pod affinity"),
        (facts.invalid_preferred.is_some() || facts.preferences.is_some(), "a pod affinity"),
        (!facts.spread.is_empty(), "a topology spread constraint"),
        (!facts.volumes.is_empty(), "volumes"),
        (facts.images.as_ref().is_some_and(|images| !images.volumes.is_empty()), "volumes of images"),
        (!facts.resource_claims.is_empty(), "resource claims"),
        (!facts.required_features.is_empty(), "features that a pod needs"),
        (!facts.host_ports.iter().all(is_plain), "a host port with an address or a protocol"),
    ]
    .into_iter()
    .find_map(|(has, what)| has.then_some(what))
}

/// Names a part of a node that no field of the SDKs' nodes says.
fn lacking_of_node(node: &NodeFacts) -> Option<&'static str> {
    if !node.features.is_empty() {
        return Some("features of a node");
    }
    (node.pod_limit == 0).then_some("a node that runs no pods")
}

/// Usage of the pod on its node that counts where pods are scored.
fn non_zero_usage(pod: &PodRecord) -> Value {
    let counted = pod.facts.non_zero_usage.as_ref().map(|usage| usage.counted).unwrap_or_default();
    json!({"cpu": counted.cpu, "memory": counted.memory})
}

fn pod_document(pod: &PodRecord, requests: &Amounts, non_zero: &Value) -> Value {
    let facts = &pod.facts;
    let containers = facts.images.iter().flat_map(|images| images.containers.iter());
    let spec = facts.spec.as_deref().cloned().unwrap_or_default();
    let SpecFacts { priority, priority_class, service_account, runtime_class, host_network, images } = spec;
    let mut document = json!({
        "name": &*pod.name,
        "namespace": &*pod.namespace,
        "labels": texts(&facts.labels),
        "annotations": texts(&facts.annotations),
        "nodeSelector": texts(&facts.node_selector),
        "tolerations": facts.tolerations.iter().map(toleration_document).collect::<Vec<Value>>(),
        "requests": amounts(requests),
        "nonZeroRequests": non_zero,
        "priority": priority,
        "hostNetwork": host_network,
        "images": images.iter().map(|image| &**image).collect::<Vec<&str>>(),
        "containerImages": containers.map(|image| &**image).collect::<Vec<&str>>(),
        "schedulerName": &*facts.scheduler_name,
        "hostPorts": facts.host_ports.iter().map(|port| port.port).collect::<Vec<i32>>(),
        "terminating": pod.terminating,
    });
    let controller = facts.owner.as_deref().map(|OwnerFacts { api_version, kind, name, uid }| {
        let mut owner = json!({"apiVersion": &**api_version, "kind": &**kind, "name": &**name});
        if let Some(fields) = owner.as_object_mut().filter(|_| !uid.is_empty()) {
            fields.insert("uid".to_owned(), json!(&**uid));
        }
        owner
    });
    let optional = [
        ("nodeName", pod.node_name.as_deref().map(|name| json!(name))),
        ("priorityClass", priority_class.as_deref().map(|name| json!(name))),
        ("serviceAccount", service_account.as_deref().map(|name| json!(name))),
        ("runtimeClass", runtime_class.as_deref().map(|name| json!(name))),
        ("controller", controller),
    ];
    if let Some(fields) = document.as_object_mut() {
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    document
}

fn node_document(node: &NodeFacts, sums: Option<&BTreeMap<String, i64>>) -> Value {
    let size = |size: &str| size.parse::<i64>().ok().filter(|size| *size != 0);
    let sizes = node.images.iter().filter_map(|(name, text)| Some((name.as_ref().to_owned(), size(text)?)));
    let mut document = json!({
        "name": &*node.name,
        "labels": texts(&node.labels),
        "annotations": texts(&node.annotations),
        "unschedulable": node.unschedulable,
        "taints": node.taints.iter().map(taint_document).collect::<Vec<Value>>(),
        "allocatable": amounts(&node.allocatable),
        "podLimit": node.pod_limit,
        "conditions": conditions(&node.conditions),
        "info": texts(&node.info),
        "images": node.images.iter().map(|(name, _)| &**name).collect::<Vec<&str>>(),
        "imageSizes": sizes.collect::<BTreeMap<String, i64>>(),
        "sums": sums.cloned().unwrap_or_default(),
    });
    let created = node.moments.get(Moment::Created);
    if let Some(fields) = document.as_object_mut().filter(|_| created != NO_TIME) {
        fields.insert("created".to_owned(), json!(created));
    }
    document
}

fn taint_document(Taint { key, value, effect }: &Taint) -> Value {
    json!({"key": key, "value": value, "effect": effect_name(*effect)})
}

fn toleration_document(Toleration { key, operator, value, effect }: &Toleration) -> Value {
    let operator = match operator {
        TolerationOperator::Equal => "Equal",
        TolerationOperator::Exists => "Exists",
        TolerationOperator::Other => "Other",
    };
    let mut document = json!({"key": key, "operator": operator, "value": value});
    if let (Some(fields), Some(effect)) = (document.as_object_mut(), effect) {
        fields.insert("effect".to_owned(), json!(effect_name(*effect)));
    }
    document
}

fn effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
        TaintEffect::Other => "Other",
    }
}

fn conditions(conditions: &Conditions) -> Value {
    let status = |status: &ConditionStatus| match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    };
    Value::Object(conditions.iter().map(|(kind, is)| (kind.as_ref().to_owned(), json!(status(is)))).collect())
}

fn texts(labels: &Labels) -> Value {
    Value::Object(labels.iter().map(|(key, value)| (key.as_ref().to_owned(), json!(&**value))).collect())
}

fn amounts(amounts: &Amounts) -> Value {
    Value::Object(amounts.iter().map(|(name, amount)| (name.as_ref().to_owned(), json!(amount))).collect())
}
