//! Compilation of nodes and pods into their facts, once per object.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::account::Sums;
use super::facts::{
    Conditions, HostPort, ImageFacts, NodeFacts, NonZeroUsage, ObjectFacts, ObjectText, OwnerFacts, Ownership,
    PendingFacts, PodFacts, PodPreferences, PodRecord, SpecFacts, pins_to,
};
use super::labels::{Amounts, Labels, labels, selected};
use super::moments::Moments;
use super::pod_claims;
use super::requests::{self, Requests, ResizeRules};
use super::selection::Selection;
use super::selector;
use super::volumes;
use crate::limits::{PENDING_GATES, PENDING_OBJECT_BYTES};
use nodesift_object::affinity::{Affinity, PodAffinityTerm};
use nodesift_object::node::{Condition, NodeInfo};
use nodesift_object::pod::{Container, OwnerReference, RestartAction, RestartPolicy};
use nodesift_object::selector::NodeSelector;
use nodesift_object::status::Phase;
use nodesift_object::{Kind, Node, Pod};

/// Compiles the facts of a node that are kept for every policy.
pub fn node(object: &Node) -> NodeFacts {
    node_selecting(object, &Selection::default())
}

/// Compiles the facts of a node, with those that `selection` selects.
pub fn node_selecting(node: &Node, selection: &Selection) -> NodeFacts {
    let listed = requests::allocatable(node);
    let mut allocatable = amounts(&listed);
    allocatable.retain(|(name, _)| &**name != requests::PODS);
    NodeFacts {
        name: Arc::from(node.metadata.name.as_str()),
        resource_version: Arc::from(node.metadata.resource_version.as_str()),
        labels: labels(&node.metadata.labels),
        annotations: selected(&node.metadata.annotations, &selection.annotation_keys),
        unschedulable: node.spec.unschedulable,
        taints: node.spec.taints.clone(),
        features: features(&node.status.declared_features),
        conditions: conditions(&node.status.conditions),
        moments: Moments::from_node(node),
        info: if selection.node_info { info(node) } else { Labels::default() },
        images: if selection.node_images { present_images(node) } else { Labels::default() },
        allocatable,
        capacity: amounts(&requests::capacity(node)),
        pod_limit: listed.get(requests::PODS),
        // Decided where the policy has an accounting component, by that.
        sums: Sums::default(),
    }
}

/// Compiles the facts of a pod that are kept for every policy.
pub fn pod(object: &Pod) -> PodFacts {
    pod_selecting(object, &Selection::default())
}

/// Compiles the facts of a pod, with those that `selection` selects.
pub fn pod_selecting(pod: &Pod, selection: &Selection) -> PodFacts {
    let spec = &pod.spec;
    PodFacts {
        namespace: Arc::from(pod.metadata.namespace.as_str()),
        scheduler_name: Arc::from(scheduler_name(pod)),
        labels: labels(&pod.metadata.labels),
        annotations: selected(&pod.metadata.annotations, &selection.annotation_keys),
        node_selector: labels(&spec.node_selector),
        required_affinity: required_affinity(pod).cloned(),
        preferred_affinity: spec.affinity.node_affinity.as_ref().and_then(|affinity| affinity.preferred.clone()),
        is_pinned: false,
        tolerations: spec.tolerations.clone(),
        requests: amounts(&requests::incoming(pod)),
        usage: amounts(&requests::existing(pod, ResizeRules::default())),
        usages: usages(pod).map(Arc::new),
        non_zero_requests: if selection.non_zero_requests {
            amounts(&requests::incoming_non_zero(pod))
        } else {
            Amounts::default()
        },
        non_zero_usage: selection.non_zero_requests.then(|| Arc::new(non_zero_usage(pod))),
        host_ports: host_ports(pod),
        volumes: volumes::compile(pod),
        controller: controller(pod).map(|(kind, name)| (kind, Arc::from(name))),
        spread: spec.topology_spread_constraints.clone(),
        affinity: spec.affinity.pod_affinity.required.clone(),
        anti_affinity: spec.affinity.pod_anti_affinity.required.clone(),
        invalid_preferred: invalid_preferred(&spec.affinity),
        anti_affinity_terms: selector::anti_affinity_terms(
            &Arc::from(pod.metadata.namespace.as_str()),
            &spec.affinity.pod_anti_affinity.required,
        ),
        preferences: if selection.pod_preferences { preferences(pod).map(Arc::new) } else { None },
        required_features: required_features(pod),
        resource_claims: spec.resource_claims.iter().map(|claim| Arc::from(claim.name.as_str())).collect(),
        spec: selection.pod_spec.then(|| Arc::new(spec_facts(pod))),
        images: selection.pod_images.then(|| Arc::new(image_facts(pod))),
        owner: controlling(pod).filter(|_| selection.pod_owner).map(|owner| Arc::new(owner_facts(owner))),
        claims: if selection.pod_claims { pod_claims::compile(pod).map(Arc::new) } else { None },
        object: object(pod, selection),
    }
}

/// Compiles the usage of a pod by all rules of resizes; none where they agree, as they do about nearly every pod.
fn usages(pod: &Pod) -> Option<[Amounts; ResizeRules::COUNT]> {
    if !requests::has_resource_status(pod) {
        return None;
    }
    let usages = ResizeRules::all().map(|rules| amounts(&requests::existing(pod, rules)));
    let [first, others @ ..] = &usages;
    others.iter().any(|other| other != first).then_some(usages)
}

fn non_zero_usage(pod: &Pod) -> NonZeroUsage {
    let counted = requests::existing_non_zero(pod, ResizeRules::default());
    if !requests::has_resource_status(pod) {
        return NonZeroUsage { counted, by_rules: None };
    }
    let by_rules = ResizeRules::all().map(|rules| requests::existing_non_zero(pod, rules));
    NonZeroUsage { counted, by_rules: by_rules.iter().any(|other| *other != counted).then_some(by_rules) }
}

/// Compiles the facts of a pod that predicates do not read; none where none is selected, or there is nothing.
fn object(pod: &Pod, selection: &Selection) -> Option<Arc<ObjectFacts>> {
    let owners = owners(pod).iter().filter(|_| selection.object_owners);
    let facts = ObjectFacts {
        owners: owners.map(|owner| (owner_facts(owner), owner.controller)).collect(),
        containers: if selection.object_containers { amounts(&requests::container_requests(pod)) } else { Vec::new() },
    };
    (facts != ObjectFacts::default()).then(|| Arc::new(facts))
}

/// All owners of a pod, in order.
pub(super) fn owners(pod: &Pod) -> &[OwnerReference] {
    &pod.metadata.owner_references
}

fn invalid_preferred(affinity: &Affinity) -> Option<Box<(Vec<PodAffinityTerm>, Vec<PodAffinityTerm>)>> {
    let Affinity { pod_affinity, pod_anti_affinity, .. } = affinity;
    let [of_affinity, of_anti_affinity] =
        [pod_affinity, pod_anti_affinity].map(|affinity| affinity.invalid_preferred().cloned().collect::<Vec<_>>());
    let is_none = of_affinity.is_empty() && of_anti_affinity.is_empty();
    (!is_none).then(|| Box::new((of_affinity, of_anti_affinity)))
}

/// Compiles the affinity that only scores read; none where the pod has no such affinity.
fn preferences(pod: &Pod) -> Option<PodPreferences> {
    let affinity = &pod.spec.affinity;
    let preferences = PodPreferences {
        affinity: affinity.pod_affinity.preferred.clone(),
        anti_affinity: affinity.pod_anti_affinity.preferred.clone(),
        terms: selector::scoring_terms(&Arc::from(pod.metadata.namespace.as_str()), affinity),
    };
    (preferences != PodPreferences::default()).then_some(preferences)
}

fn spec_facts(pod: &Pod) -> SpecFacts {
    let named = |name: &str| Some(name).filter(|name| !name.is_empty()).map(Arc::from);
    let spec = &pod.spec;
    SpecFacts {
        priority: spec.priority.unwrap_or(0),
        priority_class: named(&spec.priority_class_name),
        service_account: named(&spec.service_account_name),
        runtime_class: named(&spec.runtime_class_name),
        host_network: spec.host_network,
        images: images(pod).into_iter().map(Arc::from).collect(),
    }
}

/// Images of containers and init containers, sorted, each once.
pub(super) fn images(pod: &Pod) -> BTreeSet<&str> {
    let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    containers.map(|container| container.image.as_str()).filter(|image| !image.is_empty()).collect()
}

fn image_facts(pod: &Pod) -> ImageFacts {
    let (containers, volumes) = used_images(pod);
    ImageFacts { containers: containers.map(tagged).collect(), volumes: volumes.map(tagged).collect() }
}

/// Images as a pod names them, in order: of init containers and containers, and of volumes.
pub(super) fn used_images(pod: &Pod) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
    let spec = &pod.spec;
    let containers = spec.init_containers.iter().chain(&spec.containers).map(|container| container.image.as_str());
    let volumes = spec.volumes.iter().filter_map(|volume| Some(volume.image.as_ref()?.reference.as_str()));
    (containers, volumes)
}

/// Returns the name of an image with a tag: `latest` where it has neither a tag nor a digest. Source: `normalizedImageName` of
/// kube-scheduler's ImageLocality.
fn tagged(name: &str) -> Arc<str> {
    if name.rfind(':') > name.rfind('/') { Arc::from(name) } else { Arc::from(format!("{name}:latest")) }
}

fn owner_facts(owner: &OwnerReference) -> OwnerFacts {
    OwnerFacts {
        api_version: Arc::from(owner.api_version.as_str()),
        kind: Arc::from(owner.kind.as_str()),
        name: Arc::from(owner.name.as_str()),
        uid: Arc::from(owner.uid.as_str()),
    }
}

/// The part of [`pod`] that pods of one template share.
pub(super) fn shared(object: &Pod, selection: &Selection) -> PodFacts {
    let facts = pod_selecting(object, selection);
    if is_pinned(object) { PodFacts { required_affinity: None, is_pinned: true, ..facts } } else { facts }
}

/// Whether the pod's required node affinity is the name of the node that it is on, and nothing else.
pub(super) fn is_pinned(object: &Pod) -> bool {
    let selector = required_affinity(object);
    selector.zip(node_name(object)).is_some_and(|(selector, node)| pins_to(selector, node))
}

fn required_affinity(object: &Pod) -> Option<&NodeSelector> {
    object.spec.affinity.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref())
}

/// Compiles the record of a pod with the facts that are kept for every policy. `own_schedulers` are the schedulers of the policy.
pub fn pod_record(object: &Pod, own_schedulers: &[String]) -> PodRecord {
    pod_record_selecting(object, own_schedulers, &Selection::default())
}

/// Compiles the record of a pod, with the facts that `selection` selects. `own_schedulers` are the schedulers of the policy.
pub fn pod_record_selecting(object: &Pod, own_schedulers: &[String], selection: &Selection) -> PodRecord {
    let facts = Arc::new(shared(object, selection));
    record_with(object, own_schedulers, facts, node_name(object).map(Arc::from))
}

/// The node that a pod is bound to.
pub(super) fn node_name(object: &Pod) -> Option<&str> {
    Some(object.spec.node_name.as_str()).filter(|name| !name.is_empty())
}

/// Compiles the record of a pod around facts and a node name that are shared with others.
pub(super) fn record_with(
    object: &Pod,
    own_schedulers: &[String],
    facts: Arc<PodFacts>,
    node_name: Option<Arc<str>>,
) -> PodRecord {
    let metadata = &object.metadata;
    let nominated = Some(object.status.nominated_node_name.as_str()).filter(|name| !name.is_empty());
    let nominated_node = nominated.filter(|_| node_name.is_none()).map(Arc::from);
    let pending = node_name.is_none().then(|| Arc::new(pending(object)));
    PodRecord {
        uid: if metadata.uid.is_empty() { object.key().into() } else { metadata.uid.as_str().into() },
        namespace: Arc::clone(&facts.namespace),
        name: Arc::from(metadata.name.as_str()),
        resource_version: Arc::from(metadata.resource_version.as_str()),
        node_name,
        terminating: metadata.terminating,
        ownership: ownership(object, own_schedulers),
        priority: object.spec.priority.unwrap_or(0),
        nominated_node,
        facts,
        // As above.
        account: None,
        pending,
    }
}

/// Keeps the object of a pod without a node in its record.
pub(super) fn keeping_object(record: PodRecord, object: &Pod, selection: &Selection) -> PodRecord {
    if record.pending.is_none() {
        return record;
    }
    let text = object.to_json(&selection.annotation_keys).ok().filter(|text| text.len() <= PENDING_OBJECT_BYTES);
    record.with_object(ObjectText(text.map(Arc::from)))
}

/// Facts that say why a pod without a node is pending.
fn pending(object: &Pod) -> PendingFacts {
    let gates = object.spec.scheduling_gates.iter().take(PENDING_GATES);
    PendingFacts {
        created: object.metadata.creation_timestamp.0,
        gates: gates.map(|gate| Arc::from(gate.name.as_str())).collect(),
        controller: controlling(object).map(|owner| (owner.kind.as_str().into(), owner.name.as_str().into())),
        object: ObjectText::default(),
    }
}

/// The controller whose selector claims the pod. Source: `DefaultSelector` in kube-scheduler's plugin helpers.
pub(super) fn controller(pod: &Pod) -> Option<(Kind, &str)> {
    let owner = controlling(pod)?;
    let kind = Kind::from_type_meta(&owner.api_version, &owner.kind)?;
    let selects = matches!(kind, Kind::ReplicationController | Kind::ReplicaSet | Kind::StatefulSet);
    selects.then_some((kind, owner.name.as_str()))
}

/// The owner that manages the pod.
pub(super) fn controlling(pod: &Pod) -> Option<&OwnerReference> {
    pod.metadata.owner_references.iter().find(|owner| owner.controller)
}

/// Whether a pod is terminated for good and uses no resources any more.
pub fn is_terminated(pod: &Pod) -> bool {
    matches!(pod.status.phase, Phase::Succeeded | Phase::Failed)
}

/// A pod of a scheduler that is not in the policy is foreign; one that its Node owns is a static pod of the kubelet.
fn ownership(pod: &Pod, own_schedulers: &[String]) -> Ownership {
    if pod.metadata.owner_references.iter().any(|owner| owner.kind == "Node") {
        return Ownership::ForeignStatic;
    }
    Ownership::for_scheduler(scheduler_name(pod), own_schedulers)
}

fn scheduler_name(pod: &Pod) -> &str {
    Some(pod.spec.scheduler_name.as_str()).filter(|name| !name.is_empty()).unwrap_or(DEFAULT_SCHEDULER)
}

/// The scheduler of a pod that names none; the API server fills it in.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Host ports of containers and of restartable init containers. Source: kube-scheduler's `GetHostPorts`.
fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let is_sidecar = |container: &&Container| container.restart_policy == RestartPolicy::Always;
    let sidecars = pod.spec.init_containers.iter().filter(is_sidecar);
    let mut ports: Vec<HostPort> = sidecars
        .chain(&pod.spec.containers)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(|port| HostPort {
            ip: Arc::from(if port.host_ip.is_empty() { HostPort::ANY_IP } else { &port.host_ip }),
            protocol: Arc::from(if port.protocol.is_empty() { "TCP" } else { &port.protocol }),
            port: port.host_port,
        })
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Features that a node must declare for the pod to be placed on it, sorted. Source: `InferForScheduling` of the features
/// in component-helpers/nodedeclaredfeatures at 1.37; the others matter when a pod is changed. The predicate leaves out one that its
/// version does not know.
fn required_features(pod: &Pod) -> Vec<Arc<str>> {
    const RESTART_ALL: &str = "RestartAllContainersOnContainerExits";
    const USER_NAMESPACES: &str = "UserNamespacesHostNetworkSupport";
    const BIND_MOUNT_OPTIONS: &str = "VolumeBindMountOptions";
    let spec = &pod.spec;
    let mut rules = spec.containers.iter().chain(&spec.init_containers).flat_map(|each| &each.restart_policy_rules);
    let restarts_all = rules.any(|rule| rule.action == RestartAction::RestartAllContainers);
    let maps_users = spec.host_network && spec.host_users == Some(false);
    let has_options = spec.containers.iter().chain(&spec.init_containers).any(|each| each.has_bind_mount_options);
    let required = [(restarts_all, RESTART_ALL), (maps_users, USER_NAMESPACES), (has_options, BIND_MOUNT_OPTIONS)];
    required.into_iter().filter(|(needed, _)| *needed).map(|(_, feature)| Arc::from(feature)).collect()
}

fn features(declared: &[String]) -> Vec<Arc<str>> {
    let mut features: Vec<Arc<str>> = declared.iter().map(|feature| Arc::from(feature.as_str())).collect();
    features.sort_unstable();
    features.dedup();
    features
}

/// Fields of a node's info that are not empty, by the names that they have in the contract.
fn info(node: &Node) -> Labels {
    let NodeInfo {
        kubelet_version,
        kernel_version,
        container_runtime_version,
        os_image,
        operating_system,
        architecture,
    } = &node.status.node_info;
    // Sorted.
    let fields = [
        ("architecture", architecture),
        ("container-runtime-version", container_runtime_version),
        ("kernel-version", kernel_version),
        ("kubelet-version", kubelet_version),
        ("operating-system", operating_system),
        ("os-image", os_image),
        ("provider-id", &node.spec.provider_id),
    ];
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    fields.map(|(field, text)| (Arc::from(field), Arc::from(text.as_str()))).collect()
}

/// Names of present images, each with the size of its image as a text; of two images of one name the first counts.
fn present_images(node: &Node) -> Labels {
    let mut images: Vec<(&str, i64)> = node.status.images.with_sizes().collect();
    // The sort is stable.
    images.sort_by_key(|(name, _)| *name);
    images.dedup_by(|(later, _), (first, _)| later == first);
    images.into_iter().map(|(name, size)| (Arc::from(name), Arc::from(size.to_string()))).collect()
}

/// Sorts conditions by type; of two of one type the first counts, as in kube-scheduler's helpers.
fn conditions(listed: &[Condition]) -> Conditions {
    let mut conditions: Conditions =
        listed.iter().map(|condition| (Arc::from(condition.kind.as_str()), condition.status)).collect();
    // The sort is stable.
    conditions.sort_by(|(a, _), (b, _)| a.cmp(b));
    conditions.dedup_by(|(later, _), (first, _)| later == first);
    conditions
}

fn amounts(requests: &Requests) -> Amounts {
    requests.iter().map(|(name, amount)| (Arc::from(name), amount)).collect()
}
