//! The sums behind a pod's requests, exact and not yet rounded.
//!
//! Semantics: `PodRequests` in staging/src/k8s.io/component-helpers/resource/helpers.go. Start at [`from_spec`] and
//! [`from_spec_and_status`].

use std::borrow::Cow;

use super::names::HUGE_PAGES_PREFIX;
use super::{CPU, MEMORY};
use nodesift_object::pod::{Container, RestartPolicy};
use nodesift_object::status::ContainerStatus;
use nodesift_object::{Pod, ResourceList};

/// The type of the condition of a pending resize.
const RESIZE_PENDING: &str = "PodResizePending";
/// Reason of a pending resize that is impossible on the pod's node.
const INFEASIBLE: &str = "Infeasible";

/// Requests by the spec: the sum over containers, or the requests of the pod as a whole, and the overhead.
pub(super) fn from_spec(pod: &Pod) -> ResourceList {
    let mut sums = aggregate(pod, |container| Cow::Borrowed(&container.resources.requests));
    replace_pod_level(&mut sums, pod, None);
    add(&mut sums, &pod.spec.overhead);
    sums
}

/// Requests by spec and status: per container, and for the pod as a whole, the greatest of what is specified, what the
/// kubelet has admitted and what is in force.
pub(super) fn from_spec_and_status(pod: &Pod) -> ResourceList {
    let infeasible = resize_is_infeasible(pod);
    let mut sums = aggregate(pod, |container| {
        let status = status_of(pod, container);
        match status.and_then(|status| Some((status, status.resources.as_ref()?))) {
            Some((status, actuated)) => Cow::Owned(greatest(
                (!infeasible).then_some(&container.resources.requests),
                &actuated.requests,
                &status.allocated_resources,
            )),
            None => Cow::Borrowed(&container.resources.requests),
        }
    });
    let reported = pod.status.resources.as_ref().map(|actuated| {
        let specified = (!infeasible).then_some(&pod.spec.resources.requests);
        greatest(specified, &actuated.requests, &pod.status.allocated_resources)
    });
    replace_pod_level(&mut sums, pod, reported.as_ref());
    add(&mut sums, &pod.spec.overhead);
    sums
}

/// Requests of `spec.containers` alone.
pub(super) fn container_requests(pod: &Pod) -> ResourceList {
    let mut sums = ResourceList::default();
    pod.spec.containers.iter().for_each(|container| add(&mut sums, &container.resources.requests));
    sums
}

/// Sums over the containers, each by `requests`: those that run together, sidecars included, or the most that is needed at
/// any moment of the start, whichever is greater, resource by resource.
fn aggregate<'a>(pod: &'a Pod, requests: impl Fn(&'a Container) -> Cow<'a, ResourceList>) -> ResourceList {
    let mut together = ResourceList::default();
    for container in &pod.spec.containers {
        add(&mut together, &requests(container));
    }
    let mut sidecars = ResourceList::default();
    let mut starting = ResourceList::default();
    for container in &pod.spec.init_containers {
        if container.restart_policy == RestartPolicy::Always {
            let own = requests(container);
            add(&mut together, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut moment = container.resources.requests.clone();
            add(&mut moment, &sidecars);
            raise(&mut starting, &moment);
        }
    }
    raise(&mut together, &starting);
    together
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
