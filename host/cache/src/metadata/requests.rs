//! Requests of pods, their usage of nodes, and the amounts that nodes offer, in whole numbers per resource.
//!
//! The rules are kube-scheduler's with the gates `PodLevelResources` and `InPlacePodVerticalScaling` on and `DRANodeAllocatableResources`
//! off. How pods count whose requests are changed in place differs between versions, as [`ResizeRules`] say:
//! staging/src/k8s.io/component-helpers/resource/helpers.go for the sums, pkg/scheduler/framework/types.go for names and rounding,
//! noderesources/fit.go for pods to be placed. Quantities are summed exactly and rounded up once per pod. Start at [`incoming`],
//! [`existing`] and [`allocatable`].

mod effective;
mod names;

use nodesift_object::{Node, Pod, Quantity, ResourceList};

pub(super) use effective::resize_is_infeasible;
pub use names::is_scalar;

/// The name of processor time, the one resource that is counted in thousandths (millicores).
pub const CPU: &str = "cpu";
/// The name of memory, in bytes.
pub const MEMORY: &str = "memory";
/// The name of node-local scratch space, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// The name under which a node says how many pods fit.
pub const PODS: &str = "pods";
/// Millicores of a container that names no `cpu`, where pods are scored. Source: `DefaultMilliCPURequest` of kube-scheduler.
const UNNAMED_CPU_MILLIS: i64 = 100;
/// Bytes of a container that names no `memory`, where pods are scored. Source: `DefaultMemoryRequest` of kube-scheduler.
const UNNAMED_MEMORY_BYTES: i64 = 200 << 20;
/// Prefix of the extended resource that a DeviceClass serves whatever its `extendedResourceName` is; its name follows.
pub const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Rules by which kube-scheduler counts a pod whose requests are changed in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResizeRules {
    /// Whether the amounts in the status of the pod as a whole count (`InPlacePodLevelResourcesVerticalScaling`).
    pub pod_level: bool,
    /// Whether totals of the pod are compared: what is specified, what the kubelet has admitted, what is in force. Otherwise these are
    /// compared for each container.
    pub by_totals: bool,
}

impl ResizeRules {
    /// Number of different rules.
    pub const COUNT: usize = 4;

    /// All rules, each at its [`Self::index`].
    pub fn all() -> [Self; Self::COUNT] {
        let rules = |by_totals, pod_level| Self { pod_level, by_totals };
        [rules(false, false), rules(false, true), rules(true, false), rules(true, true)]
    }

    /// Place of the rules among [`Self::all`].
    pub fn index(self) -> usize {
        usize::from(self.pod_level) | usize::from(self.by_totals) << 1
    }
}

impl Default for ResizeRules {
    /// The rules of Kubernetes 1.36 with feature gates at their defaults.
    fn default() -> Self {
        Self { pod_level: true, by_totals: false }
    }
}

/// Amounts by resource name, in the order of names: `cpu` in millicores, everything else in whole units.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Requests(Vec<(String, i64)>);

impl Requests {
    /// The amount of one resource; 0 where it is not listed.
    pub fn get(&self, resource: &str) -> i64 {
        let found = self.0.binary_search_by(|(name, _)| name.as_str().cmp(resource));
        found.ok().and_then(|found| self.0.get(found)).map_or(0, |(_, amount)| *amount)
    }

    /// Names and amounts in the order of names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, i64)> + Clone {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }

    /// How many resources are listed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no resource is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rounds the amounts of those resources that the scheduler counts; `rule` may change or drop each.
    fn round(sums: &ResourceList, rule: impl Fn(&str, i64) -> Option<i64>) -> Self {
        let counted = sums.iter().filter_map(|(name, quantity)| Some((name, rule(name, amount(name, quantity)?)?)));
        Self(counted.map(|(name, amount)| (name.to_owned(), amount)).collect())
    }
}

/// The amount in the resource's own unit; none for names that the scheduler does not count.
fn amount(name: &str, quantity: &Quantity) -> Option<i64> {
    match name {
        CPU => Some(quantity.milli_rounded_up()),
        MEMORY | EPHEMERAL_STORAGE | PODS => Some(quantity.value_rounded_up()),
        _ => is_scalar(name).then(|| quantity.value_rounded_up()),
    }
}

/// Returns the requests of an unplaced pod, as NodeResourcesFit's `computePodResourceRequest` gives them, from the spec alone. `cpu`,
/// `memory` and `ephemeral-storage` are listed where above zero, any other resource also at zero; an amount below zero counts as zero.
pub fn incoming(pod: &Pod) -> Requests {
    Requests::round(&effective::from_spec(pod), |name, amount| match name {
        PODS => None,
        CPU | MEMORY | EPHEMERAL_STORAGE => (amount > 0).then_some(amount),
        _ => Some(amount.max(0)),
    })
}

/// Returns the usage of a pod on the node it is bound to, which it adds to `NodeInfo.Requested`. While a resize in place is under way that
/// is the greatest of what is specified, admitted and in force, as the rules say. Resources at zero are not listed; amounts below zero
/// count as they are.
pub fn existing(pod: &Pod, rules: ResizeRules) -> Requests {
    Requests::round(&effective::from_spec_and_status(pod, rules, &ResourceList::default()), |name, amount| {
        (name != PODS && amount != 0).then_some(amount)
    })
}

/// Amounts of `cpu` and `memory` with those of containers that name none: kube-scheduler's `NonZeroRequested`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NonZero {
    /// Processor time in millicores.
    pub cpu: i64,
    /// Amount of memory in bytes.
    pub memory: i64,
}

impl NonZero {
    /// The amounts of a resource; 0 for any other than `cpu` and `memory`.
    pub fn get(self, resource: &str) -> i64 {
        match resource {
            CPU => self.cpu,
            MEMORY => self.memory,
            _ => 0,
        }
    }
}

/// Returns the requests of an unplaced pod as the score of NodeResourcesFit counts them. They differ from [`incoming`] in two ways: a
/// container that names no `cpu` or no `memory` asks for some, and requests of the pod as a whole do not count.
pub fn incoming_non_zero(pod: &Pod) -> Requests {
    Requests::round(&effective::without_pod_level(pod, &unnamed(|_| true)), |name, amount| {
        (name != PODS).then_some(amount)
    })
}

/// Returns the usage of a pod on its node, like [`existing`], where a container that names no `cpu` or no `memory` uses some. With
/// requests of the pod as a whole that is so only for a resource that is named nowhere.
pub fn existing_non_zero(pod: &Pod, rules: ResizeRules) -> NonZero {
    let missing = if effective::has_pod_level(pod) {
        let named = effective::from_spec_and_status(pod, rules, &ResourceList::default());
        unnamed(|name| !named.contains_key(name))
    } else {
        unnamed(|_| true)
    };
    let sums = Requests::round(&effective::from_spec_and_status(pod, rules, &missing), |_, amount| Some(amount));
    NonZero { cpu: sums.get(CPU), memory: sums.get(MEMORY) }
}

/// Amounts of `cpu` and `memory` for a container that does not name them; those that `is_filled` leaves out are missing.
fn unnamed(is_filled: impl Fn(&str) -> bool) -> ResourceList {
    let amounts =
        [(CPU, Quantity::from_millis(UNNAMED_CPU_MILLIS)), (MEMORY, Quantity::from_units(UNNAMED_MEMORY_BYTES))];
    amounts.into_iter().filter(|(name, _)| is_filled(name)).map(|(name, amount)| (name.to_owned(), amount)).collect()
}

/// Whether the status of a pod says anything about resources, without which all [`ResizeRules`] give the same.
pub(super) fn has_resource_status(pod: &Pod) -> bool {
    let status = &pod.status;
    let mut containers = status.container_statuses.iter().chain(&status.init_container_statuses);
    resize_is_infeasible(pod)
        || status.resources.is_some()
        || !status.allocated_resources.is_empty()
        || containers.any(|status| status.resources.is_some() || !status.allocated_resources.is_empty())
}

/// The sums of `resources.requests` over `spec.containers` alone, of the resources that the scheduler counts; an amount below zero
/// counts as zero.
pub fn container_requests(pod: &Pod) -> Requests {
    Requests::round(&effective::container_requests(pod), |name, amount| (name != PODS).then_some(amount.max(0)))
}

/// The resources that a DeviceClass may serve, of those that an unplaced pod asks for; not those of which it asks for nothing.
/// Source: extendeddynamicresources.go of kube-scheduler's plugin dynamicresources.
pub fn served_by_devices(pod: &Pod) -> Requests {
    let is_served = |name: &str| names::is_extended(name) || name.starts_with(DEVICE_CLASS_PREFIX);
    Requests::round(&effective::from_spec(pod), |name, amount| (amount != 0 && is_served(name)).then_some(amount))
}

/// Returns `status.allocatable` of a node, `pods` included: the only amounts that predicates read.
pub fn allocatable(node: &Node) -> Requests {
    Requests::round(&node.status.allocatable, |_, amount| Some(amount))
}

/// Returns `status.capacity` of a node, `pods` included.
pub fn capacity(node: &Node) -> Requests {
    Requests::round(&node.status.capacity, |_, amount| Some(amount))
}

#[cfg(test)]
mod tests;
