//! The sums behind a pod's requests, exact and not yet rounded.
//!
//! Semantics: `PodRequests` in staging/src/k8s.io/component-helpers/resource/helpers.go. Start at [`from_spec`] and
//! [`from_spec_and_status`].

use std::borrow::Cow;

use super::names::HUGE_PAGES_PREFIX;
use super::{CPU, MEMORY, ResizeRules};
use nodesift_object::pod::{Container, RestartPolicy};
use nodesift_object::status::ContainerStatus;
use nodesift_object::{Pod, ResourceList};

/// The type of the condition of a pending resize.
const RESIZE_PENDING: &str = "PodResizePending";
/// Reason of a pending resize that is impossible on the pod's node.
const INFEASIBLE: &str = "Infeasible";

/// Requests by the spec: the sum over containers, or the requests of the pod as a whole, and the overhead.
pub(super) fn from_spec(pod: &Pod) -> ResourceList {
    let mut sums = from_containers(pod, &ResourceList::default());
    replace_pod_level(&mut sums, pod, None);
    add(&mut sums, &pod.spec.overhead);
    sums
}

/// Requests by the spec of the containers alone, and the overhead. A container that does not name a resource of `missing` asks for the
/// amount there.
pub(super) fn without_pod_level(pod: &Pod, missing: &ResourceList) -> ResourceList {
    let mut sums = from_containers(pod, missing);
    add(&mut sums, &pod.spec.overhead);
    sums
}

fn from_containers(pod: &Pod, missing: &ResourceList) -> ResourceList {
    aggregate(pod, missing, |container, _| Cow::Borrowed(&container.resources.requests))
}

/// Whether a resource is requested for the pod as a whole.
pub(super) fn has_pod_level(pod: &Pod) -> bool {
    pod.spec.resources.requests.iter().any(|(name, _)| is_pod_level(name))
}

/// Requests by spec and status: the greatest of what is specified, what the kubelet has admitted and what is in force, for the pod as a
/// whole or for each container. A container that does not name a resource of `missing` uses the amount there.
pub(super) fn from_spec_and_status(pod: &Pod, rules: ResizeRules, missing: &ResourceList) -> ResourceList {
    let infeasible = resize_is_infeasible(pod);
    let mut sums = if rules.by_totals {
        greatest_total(pod, infeasible, rules, missing)
    } else {
        sum_of_greatest(pod, infeasible, missing)
    };
    let reported = pod.status.resources.as_ref().filter(|_| rules.pod_level).map(|actuated| {
        let specified = (!infeasible).then_some(&pod.spec.resources.requests);
        greatest(specified, &actuated.requests, &pod.status.allocated_resources)
    });
    if rules.by_totals && reported.is_some() {
        let is_set = has_pod_level(pod);
        for (name, amount) in
            reported.iter().flat_map(ResourceList::iter).filter(|(name, _)| is_set && is_pod_level(name))
        {
            sums.update(name, |_| *amount);
        }
    } else {
        replace_pod_level(&mut sums, pod, reported.as_ref());
    }
    add(&mut sums, &pod.spec.overhead);
    sums
}

/// Sums over containers of the greatest amounts of each. Ordinary init containers count by the spec, and so does a container without
/// resources in force.
fn sum_of_greatest(pod: &Pod, infeasible: bool, missing: &ResourceList) -> ResourceList {
    aggregate(pod, missing, |container, is_long_running| {
        let status = status_of(pod, container).filter(|_| is_long_running);
        match status.and_then(|status| Some((status, status.resources.as_ref()?))) {
            Some((status, actuated)) => Cow::Owned(greatest(
                (!infeasible).then_some(&container.resources.requests),
                &actuated.requests,
                &status.allocated_resources,
            )),
            None => Cow::Borrowed(&container.resources.requests),
        }
    })
}

/// The greatest of three totals of the pod: by the spec, by what the kubelet has admitted, by what is in force. A container of which the
/// status does not say counts by what comes before; if the resize is infeasible, not by the spec. What the status of the pod as a whole
/// says replaces the sums over containers.
fn greatest_total(pod: &Pod, infeasible: bool, rules: ResizeRules, missing: &ResourceList) -> ResourceList {
    let specified = |container: &Container| -> ResourceList {
        if infeasible { ResourceList::default() } else { container.resources.requests.clone() }
    };
    let listed = |list: &ResourceList| (!list.is_empty()).then(|| list.clone());
    let admitted = |container: &Container| {
        let status = status_of(pod, container);
        status.and_then(|status| listed(&status.allocated_resources)).unwrap_or_else(|| specified(container))
    };
    let actuated = |container: &Container| {
        let resources = status_of(pod, container).and_then(|status| status.resources.as_ref());
        resources.and_then(|resources| listed(&resources.requests)).unwrap_or_else(|| admitted(container))
    };
    let of_pod = (listed(&pod.status.allocated_resources)).zip(pod.status.resources.as_ref());
    let of_pod = of_pod.and_then(|(admitted, resources)| Some((admitted, listed(&resources.requests)?)));
    let (admitted, actuated) = of_pod.filter(|_| rules.pod_level).unwrap_or_else(|| {
        let admitted = aggregate(pod, missing, |container, _| Cow::Owned(admitted(container)));
        (admitted, aggregate(pod, missing, |container, _| Cow::Owned(actuated(container))))
    });
    let by_spec = from_containers(pod, missing);
    let mut total = if infeasible { ResourceList::default() } else { by_spec };
    raise(&mut total, &admitted);
    raise(&mut total, &actuated);
    total
}

/// Requests of `spec.containers` alone.
pub(super) fn container_requests(pod: &Pod) -> ResourceList {
    let mut sums = ResourceList::default();
    pod.spec.containers.iter().for_each(|container| add(&mut sums, &container.resources.requests));
    sums
}

/// Sums over the containers, each by `requests`: those that run together, sidecars included, or the most that is needed at
/// any moment of the start, whichever is greater, resource by resource. The flag says that a container runs as long as the pod, which
/// ordinary init containers do not. A container without a resource of `missing` counts with the amount there.
fn aggregate<'a>(
    pod: &'a Pod,
    missing: &ResourceList,
    requests: impl Fn(&'a Container, bool) -> Cow<'a, ResourceList>,
) -> ResourceList {
    let requests = |container: &'a Container, is_long_running| completed(requests(container, is_long_running), missing);
    let mut together = ResourceList::default();
    for container in &pod.spec.containers {
        add(&mut together, &requests(container, true));
    }
    let mut sidecars = ResourceList::default();
    let mut starting = ResourceList::default();
    for container in &pod.spec.init_containers {
        if container.restart_policy == RestartPolicy::Always {
            let own = requests(container, true);
            add(&mut together, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut moment = requests(container, false).into_owned();
            add(&mut moment, &sidecars);
            raise(&mut starting, &moment);
        }
    }
    raise(&mut together, &starting);
    together
}

/// Adds the resources that are missing in a list.
fn completed<'a>(mut list: Cow<'a, ResourceList>, missing: &ResourceList) -> Cow<'a, ResourceList> {
    for (name, amount) in missing.iter() {
        if !list.contains_key(name) {
            list.to_mut().update(name, |_| *amount);
        }
    }
    list
}

/// The status of a container by its name. Init containers come after containers, and of two with one name the last
/// one counts.
fn status_of<'a>(pod: &'a Pod, container: &Container) -> Option<&'a ContainerStatus> {
    let statuses = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    statuses.rev().find(|status| status.name == container.name)
}

/// Whether a pending resize is impossible. Only the first condition of the type counts.
pub(crate) fn resize_is_infeasible(pod: &Pod) -> bool {
    let pending = pod.status.conditions.iter().find(|condition| condition.kind == RESIZE_PENDING);
    pending.is_some_and(|condition| condition.reason == INFEASIBLE)
}

/// The resources that can be requested for a pod as a whole.
fn is_pod_level(name: &str) -> bool {
    name == CPU || name == MEMORY || name.starts_with(HUGE_PAGES_PREFIX)
}

/// Replaces the sums over containers by the requests of the pod as a whole; where the kubelet reports on the pod as a whole,
/// by the amounts of that report.
fn replace_pod_level(sums: &mut ResourceList, pod: &Pod, reported: Option<&ResourceList>) {
    for (name, specified) in pod.spec.resources.requests.iter().filter(|(name, _)| is_pod_level(name)) {
        let amount = match reported {
            Some(reported) => reported.get(name).copied().unwrap_or_default(),
            None => *specified,
        };
        sums.update(name, |_| amount);
    }
}

fn greatest(specified: Option<&ResourceList>, actuated: &ResourceList, allocated: &ResourceList) -> ResourceList {
    let mut greatest = specified.cloned().unwrap_or_default();
    raise(&mut greatest, actuated);
    raise(&mut greatest, allocated);
    greatest
}

fn add(sums: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more.iter() {
        sums.update(name, |held| held.map_or(*quantity, |held| held.plus(quantity)));
    }
}

fn raise(greatest: &mut ResourceList, other: &ResourceList) {
    for (name, quantity) in other.iter() {
        greatest.update(name, |held| held.map_or(*quantity, |held| held.raised_to(quantity)));
    }
}
