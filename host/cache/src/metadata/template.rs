//! The template of a pod as bytes: two pods with equal bytes have equal facts. Start with [`with_content`].
//!
//! Everything that [`super::compile::pod`] reads goes in, in an encoding in which different contents never look alike. The
//! patterns name every field of an object, so that a new field does not compile until it is decided here whether facts
//! depend on it.

use std::cell::Cell;
use std::hash::{Hash, Hasher};

use super::compile;
use super::labels::selected;
use super::requests::resize_is_infeasible;
use super::selection::Selection;
use crate::limits::TEMPLATE_BYTES_KEPT;
use nodesift_object::affinity::{Affinity, NodeAffinity, PodAffinity};
use nodesift_object::pod::{Container, Metadata, PodSpec, Resources};
use nodesift_object::status::{ActuatedResources, ContainerStatus, PodStatus};
use nodesift_object::{Pod, ResourceList};

/// A `Hasher` that keeps what it is given. What types write into a hasher is free of ambiguity: texts end with a byte that
/// no text holds, sequences begin with their length, enums with their variant.
struct Content(Vec<u8>);

impl Hasher for Content {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Calls `use_it` with the content of a pod's template. The buffer is the thread's own, and used again for its next pod.
pub(super) fn with_content<T>(pod: &Pod, selection: &Selection, use_it: impl FnOnce(&[u8]) -> T) -> T {
    thread_local! {
        static BYTES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut bytes = BYTES.take();
    bytes.clear();
    let content = content(pod, selection, bytes);
    let used = use_it(&content);
    if content.capacity() <= TEMPLATE_BYTES_KEPT {
        BYTES.set(content);
    }
    used
}

fn content(pod: &Pod, selection: &Selection, bytes: Vec<u8>) -> Vec<u8> {
    let mut content = Content(bytes);
    let Pod { metadata, spec, status } = pod;
    let Metadata {
        name: _,
        namespace,
        uid: _,
        resource_version: _,
        // Of pods without a node only, and beside their facts.
        creation_timestamp: _,
        labels,
        annotations,
        terminating: _,
        // Of the owners only the controller, unless all are selected, see below.
        owner_references: _,
    } = metadata;
    // A pool compiles for more than one selection: what was written for one must not look like what is for another.
    content.write_u8(
        u8::from(selection.pod_spec)
            | u8::from(selection.pod_owner) << 1
            | u8::from(selection.pod_claims) << 2
            | u8::from(selection.object_owners) << 3
            | u8::from(selection.object_containers) << 4
            | u8::from(selection.pod_images) << 5
            | u8::from(selection.non_zero_requests) << 6
            | u8::from(selection.pod_preferences) << 7,
    );
    (namespace, labels, compile::controller(pod)).hash(&mut content);
    if selection.pod_owner {
        compile::controlling(pod).hash(&mut content);
    }
    if selection.object_owners {
        write_all(compile::owners(pod), |owner, content| owner.hash(content), &mut content);
    }
    if selection.pod_claims {
        (&spec.resource_claims, &status.resource_claim_statuses).hash(&mut content);
    }
    // Only those that the policy lists are compiled.
    selected(annotations, &selection.annotation_keys).hash(&mut content);
    let is_pinned = compile::is_pinned(pod);
    is_pinned.hash(&mut content);
    write_spec(spec, is_pinned, &mut content);
    if selection.pod_spec {
        let names = (&spec.priority_class_name, &spec.service_account_name, &spec.runtime_class_name);
        (spec.priority, names, compile::images(pod)).hash(&mut content);
    }
    if selection.pod_preferences {
        (&spec.affinity.pod_affinity.preferred, &spec.affinity.pod_anti_affinity.preferred).hash(&mut content);
    }
    if selection.pod_images {
        // Those of volumes are in the volumes.
        let (containers, _) = compile::used_images(pod);
        containers.collect::<Vec<_>>().hash(&mut content);
    }
    // Of the conditions only one, of the phase nothing.
    resize_is_infeasible(pod).hash(&mut content);
    let PodStatus {
        phase: _,
        nominated_node_name: _,
        conditions: _,
        container_statuses,
        init_container_statuses,
        resources,
        allocated_resources,
        // Only where it is selected.
        resource_claim_statuses: _,
    } = status;
    write_all(container_statuses, write_status, &mut content);
    write_all(init_container_statuses, write_status, &mut content);
    write_actuated(resources.as_ref(), &mut content);
    write_amounts(allocated_resources, &mut content);
    content.0
}

fn write_spec(spec: &PodSpec, is_pinned: bool, content: &mut Content) {
    let PodSpec {
        node_name: _,
        node_selector,
        affinity,
        tolerations,
        topology_spread_constraints,
        volumes,
        resource_claims,
        containers,
        init_containers,
        overhead,
        resources: Resources { requests },
        scheduler_name,
        // As the time of creation.
        scheduling_gates: _,
        // Only where they are selected, see `content`.
        priority: _,
        priority_class_name: _,
        service_account_name: _,
        runtime_class_name: _,
        host_network,
        host_users,
    } = spec;
    let Affinity { node_affinity, pod_affinity, pod_anti_affinity } = affinity;
    // Of a pinned pod its node's name is no part of the template.
    let required = node_affinity.as_ref().map(|NodeAffinity { required, .. }| required).filter(|_| !is_pinned);
    let preferred = node_affinity.as_ref().map(|NodeAffinity { preferred, .. }| preferred);
    (required, preferred).hash(content);
    for PodAffinity { required, preferred: _ } in [pod_affinity, pod_anti_affinity] {
        required.hash(content);
    }
    // Of preferred terms only the invalid ones, but for `content`, where they are selected.
    for affinity in [pod_affinity, pod_anti_affinity] {
        let invalid: Vec<_> = affinity.invalid_preferred().collect();
        invalid.hash(content);
    }
    (scheduler_name, node_selector, tolerations, topology_spread_constraints).hash(content);
    (volumes, host_network, host_users).hash(content);
    // Of claims only the names, but for `content`, where they are selected.
    write_all(resource_claims, |claim, content| claim.name.hash(content), content);
    write_all(containers, write_container, content);
    write_all(init_containers, write_container, content);
    write_amounts(overhead, content);
    write_amounts(requests, content);
}

fn write_container(container: &Container, content: &mut Content) {
    let Container {
        name,
        image: _,
        resources: Resources { requests },
        ports,
        restart_policy,
        restart_policy_rules,
        has_bind_mount_options,
    } = container;
    (name, ports, restart_policy, restart_policy_rules, has_bind_mount_options).hash(content);
    write_amounts(requests, content);
}

fn write_status(status: &ContainerStatus, content: &mut Content) {
    let ContainerStatus { name, resources, allocated_resources } = status;
    name.hash(content);
    write_actuated(resources.as_ref(), content);
    write_amounts(allocated_resources, content);
}

fn write_actuated(resources: Option<&ActuatedResources>, content: &mut Content) {
    resources.is_some().hash(content);
    if let Some(ActuatedResources { requests }) = resources {
        write_amounts(requests, content);
    }
}

/// Amounts as they are written: equal ones in another notation may be rounded differently.
fn write_amounts(amounts: &ResourceList, content: &mut Content) {
    amounts.len().hash(content);
    for (name, quantity) in amounts.iter() {
        (name, quantity.notation()).hash(content);
    }
}

fn write_all<T>(values: &[T], write: impl Fn(&T, &mut Content), content: &mut Content) {
    values.len().hash(content);
    values.iter().for_each(|value| write(value, content));
}
