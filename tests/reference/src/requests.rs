//! Requests of pods, resources that pods use on nodes, and allocatable resources of nodes.
//!
//! Sources: component-helpers `resource/helpers.go`, pkg/scheduler `framework/types.go`, `util/utils.go`.

use std::collections::BTreeMap;

use nodesift_fixtures::json::{at, entries, is_set, list, text};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::quantity::Quantity;
use crate::selector::label_key_errors;

/// Exact amounts, before rounding.
type Amounts = BTreeMap<String, Quantity>;

/// Rounded amounts: `cpu` in millicores, everything else in units.
pub type Rounded = BTreeMap<String, i64>;

/// CPU and memory of a container that names none, in scores that count non-zero amounts.
const MISSING: [(&str, &str); 2] = [("cpu", "100m"), ("memory", "209715200")];

/// How the requests of a pod are summed.
#[derive(Debug, Clone, Default)]
struct Counting {
    /// Container statuses count beside the spec.
    status: bool,
    /// The status of the pod as a whole counts as well.
    pod_status: bool,
    /// Requests of the pod as a whole are not read.
    without_pod_level: bool,
    /// Amounts of a container that does not name the resource.
    missing: Amounts,
}

/// The requests of an incoming pod, from its spec alone.
pub fn asked_by(pod: &Value) -> Rounded {
    rounded(&pod_requests(pod, &Counting::default()))
}

/// The requests of an incoming pod in NodeResourcesFit's score: a container that names no CPU or memory counts as a small one, and
/// requests of the pod as a whole are not seen.
pub fn asked_non_zero(pod: &Value) -> Rounded {
    let counting = Counting { without_pod_level: true, missing: missing(|_| true), ..Counting::default() };
    rounded(&pod_requests(pod, &counting))
}

/// The resources that a pod on a node uses, by 1.36.
pub fn taken_by(pod: &Value) -> Rounded {
    taken_under(pod, &Switches::documented())
}

/// The resources that a pod on a node uses: during a resize, the largest of spec, container statuses and allocated amounts, by the
/// switches of a version.
pub fn taken_under(pod: &Value, switches: &Switches) -> Rounded {
    rounded(&taken(pod, switches, Amounts::new()))
}

/// The resources that a pod on a node uses in NodeResourcesFit's score: a container that names no CPU or memory counts as a small one; of a
/// pod with requests as a whole only where the pod names none in any way.
pub fn taken_non_zero_under(pod: &Value, switches: &Switches) -> Rounded {
    let named = taken(pod, switches, Amounts::new());
    let is_whole = entries(pod, "spec.resources.requests").iter().any(|(name, _)| is_pod_level(name));
    rounded(&taken(pod, switches, missing(|name| !is_whole || !named.contains_key(name))))
}

fn taken(pod: &Value, switches: &Switches, missing: Amounts) -> Amounts {
    let pod_status = switches.has("InPlacePodLevelResourcesVerticalScaling");
    let counting = Counting { status: true, pod_status, without_pod_level: false, missing };
    match switches.has("PodResizeByTotals") {
        true => largest_total(pod, &counting),
        false => pod_requests(pod, &counting),
    }
}

/// The amounts of a container that names none, of the resources that count so.
fn missing(counts: impl Fn(&str) -> bool) -> Amounts {
    let amounts = MISSING.into_iter().filter(|(name, _)| counts(name));
    amounts.filter_map(|(name, amount)| Some((name.to_owned(), Quantity::parse(amount)?))).collect()
}

/// Whether a pod can request a resource of this name as a whole.
fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// The allocatable resources of a node, `pods` included.
pub fn given_by(node: &Value) -> Rounded {
    rounded(&amounts(at(node, "status.allocatable")))
}

/// Whether kube-scheduler counts a resource of this name as a scalar resource, besides the four built-in ones.
pub(crate) fn is_scalar(name: &str) -> bool {
    let other = ["hugepages-", "attachable-volumes-"].iter().any(|prefix| name.starts_with(prefix));
    is_extended(name) || name.contains("kubernetes.io/") || other
}

/// Whether a resource of this name is an extended one: neither Kubernetes' own nor a quota.
pub fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && label_key_errors(&format!("requests.{name}")).is_empty()
}

fn rounded(amounts: &Amounts) -> Rounded {
    let counted = |name: &str| matches!(name, "cpu" | "memory" | "ephemeral-storage" | "pods") || is_scalar(name);
    amounts
        .iter()
        .filter(|(name, _)| counted(name))
        .map(|(name, amount)| (name.clone(), if name == "cpu" { amount.milli_value() } else { amount.value() }))
        .collect()
}

fn amounts(list: &Value) -> Amounts {
    let entries = list.as_object().into_iter().flatten();
    entries.map(|(name, amount)| (name.clone(), Quantity::read(amount).unwrap_or(Quantity::ZERO))).collect()
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_insert(Quantity::ZERO);
        *sum = sum.plus(*amount);
    }
}

fn raise(largest: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let known = largest.entry(name.clone()).or_insert(*amount);
        if amount.exceeds(*known) {
            *known = *amount;
        }
    }
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

fn pod_requests(pod: &Value, counting: &Counting) -> Amounts {
    let mut sum = Amounts::new();
    for container in list(pod, "spec.containers") {
        add(&mut sum, &counting.filled(container_requests(pod, container, counting.status)));
    }
    // Init containers run one after the other, each together with the sidecars started before it.
    let mut sidecars = Amounts::new();
    let mut init = Amounts::new();
    for container in list(pod, "spec.initContainers") {
        let now = container_requests(pod, container, counting.status && is_sidecar(container));
        let mut now = counting.filled(now);
        if is_sidecar(container) {
            add(&mut sum, &now);
            add(&mut sidecars, &now);
            now = sidecars.clone();
        } else {
            add(&mut now, &sidecars);
        }
        raise(&mut init, &now);
    }
    raise(&mut sum, &init);

    let pod_level = match counting.without_pod_level {
        true => Amounts::new(),
        false => amounts(at(pod, "spec.resources.requests")),
    };
    let from_status = (counting.pod_status && is_set(pod, "status.resources")).then(|| {
        effective(
            pod,
            pod_level.clone(),
            &amounts(at(pod, "status.resources.requests")),
            &amounts(at(pod, "status.allocatedResources")),
        )
    });
    for (name, amount) in &pod_level {
        if is_pod_level(name) {
            let amount = match &from_status {
                Some(effective) => effective.get(name).copied().unwrap_or(Quantity::ZERO),
                None => *amount,
            };
            sum.insert(name.clone(), amount);
        }
    }
    add(&mut sum, &amounts(at(pod, "spec.overhead")));
    sum
}

/// Usage since 1.37: the largest of three totals of the pod, each over all containers.
fn largest_total(pod: &Value, counting: &Counting) -> Amounts {
    let infeasible = is_infeasible(pod);
    let statuses = [list(pod, "status.containerStatuses"), list(pod, "status.initContainerStatuses")].concat();
    let listed = |object: &Value, path: &str| {
        let list = amounts(at(object, path));
        (!list.is_empty()).then_some(list)
    };
    // What the container's status says at the first of these paths, or else its spec.
    let said = |container: &Value, paths: &[&str]| {
        let status = statuses.iter().rev().find(|status| text(status, "name") == text(container, "name"));
        let from_status = status.and_then(|status| paths.iter().find_map(|path| listed(status, path)));
        let from_spec = || if infeasible { Amounts::new() } else { amounts(at(container, "resources.requests")) };
        from_status.unwrap_or_else(from_spec)
    };
    let total = |of: &dyn Fn(&Value) -> Amounts| {
        let mut sum = Amounts::new();
        list(pod, "spec.containers").iter().for_each(|container| add(&mut sum, &counting.filled(of(container))));
        let (mut sidecars, mut init) = (Amounts::new(), Amounts::new());
        for container in list(pod, "spec.initContainers") {
            let mut now = counting.filled(of(container));
            if is_sidecar(container) {
                add(&mut sum, &now);
                add(&mut sidecars, &now);
                now = sidecars.clone();
            } else {
                add(&mut now, &sidecars);
            }
            raise(&mut init, &now);
        }
        raise(&mut sum, &init);
        sum
    };
    let mut largest = total(&|container| amounts(at(container, "resources.requests")));
    if infeasible {
        largest.clear();
    }
    let of_pod = (listed(pod, "status.allocatedResources"), listed(pod, "status.resources.requests"));
    match of_pod {
        (Some(allocated), Some(actuated)) if counting.pod_status => {
            raise(&mut largest, &allocated);
            raise(&mut largest, &actuated);
        }
        _ => {
            raise(&mut largest, &total(&|container| said(container, &["allocatedResources"])));
            raise(&mut largest, &total(&|container| said(container, &["resources.requests", "allocatedResources"])));
        }
    }
    let spec = amounts(at(pod, "spec.resources.requests"));
    if spec.keys().any(|name| is_pod_level(name)) {
        let mut whole = spec;
        if counting.pod_status && is_set(pod, "status.resources") {
            let actuated = amounts(at(pod, "status.resources.requests"));
            whole = effective(pod, whole, &actuated, &amounts(at(pod, "status.allocatedResources")));
        }
        largest.extend(whole.into_iter().filter(|(name, _)| is_pod_level(name)));
    }
    add(&mut largest, &amounts(at(pod, "spec.overhead")));
    largest
}

impl Counting {
    /// A container's amounts with those that it does not name.
    fn filled(&self, mut amounts: Amounts) -> Amounts {
        for (name, amount) in &self.missing {
            amounts.entry(name.clone()).or_insert(*amount);
        }
        amounts
    }
}

fn container_requests(pod: &Value, container: &Value, with_status: bool) -> Amounts {
    let spec = amounts(at(container, "resources.requests"));
    if !with_status {
        return spec;
    }
    let statuses = [list(pod, "status.containerStatuses"), list(pod, "status.initContainerStatuses")].concat();
    // The last status of a name counts.
    match statuses.iter().rev().find(|status| text(status, "name") == text(container, "name")) {
        Some(status) if is_set(status, "resources") => {
            let actuated = amounts(at(status, "resources.requests"));
            effective(pod, spec, &actuated, &amounts(at(status, "allocatedResources")))
        }
        _ => spec,
    }
}

/// The largest of three; the spec is ignored where the resize is infeasible.
fn effective(pod: &Value, spec: Amounts, actuated: &Amounts, allocated: &Amounts) -> Amounts {
    let mut largest = if is_infeasible(pod) { Amounts::new() } else { spec };
    raise(&mut largest, actuated);
    raise(&mut largest, allocated);
    largest
}

fn is_infeasible(pod: &Value) -> bool {
    let pending = list(pod, "status.conditions").iter().find(|condition| text(condition, "type") == "PodResizePending");
    pending.is_some_and(|condition| text(condition, "reason") == "Infeasible")
}

/// A host port in use: address, protocol, number.
pub type HostPort = (String, String, i64);

/// The host ports of a pod: of its containers and its sidecars.
pub fn host_ports(pod: &Value) -> Vec<HostPort> {
    let sidecars = list(pod, "spec.initContainers").iter().filter(|container| is_sidecar(container));
    let containers = sidecars.chain(list(pod, "spec.containers"));
    let or = |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
    containers
        .flat_map(|container| list(container, "ports"))
        .filter_map(|port| {
            let number = at(port, "hostPort").as_i64().filter(|number| *number > 0)?;
            Some((or(text(port, "hostIP"), "0.0.0.0"), or(text(port, "protocol"), "TCP"), number))
        })
        .collect()
}

/// Names of extended resources for which there is a DeviceClass.
pub fn served_by_device_classes<'a>(classes: impl Iterator<Item = &'a Value>) -> Vec<String> {
    classes
        .flat_map(|class| {
            let own = text(class, "spec.extendedResourceName").to_owned();
            [own, format!("deviceclass.resource.kubernetes.io/{}", nodesift_fixtures::json::name(class))]
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// The exact amount of a resource in a resource list.
pub fn written(object: &Value, path: &str, resource: &str) -> Option<Quantity> {
    let (_, amount) = entries(object, path).into_iter().find(|(name, _)| *name == resource)?;
    Quantity::read(amount)
}
