//! What of a pod decides its facts, as bytes: two pods with equal bytes have equal facts.
//!
//! Everything that [`super::compile::pod`] reads goes in, in an encoding in which different contents never look alike. The
//! patterns name every field of an object, so that a new one cannot be forgotten here: whoever adds it says whether facts
//! are made of it.

use std::hash::{Hash, Hasher};

use super::compile;
use super::requests::resize_is_infeasible;
use crate::object::pod::{Container, Metadata, PodSpec, Resources};
use crate::object::status::{ActuatedResources, ContainerStatus, PodStatus};
use crate::object::{Pod, ResourceList};

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

/// Bytes of content for which room is reserved: most templates need some 300 to 600.
const TYPICAL_BYTES: usize = 1024;

/// The content of a pod's template.
pub(super) fn content(pod: &Pod) -> Vec<u8> {
    let mut content = Content(Vec::with_capacity(TYPICAL_BYTES));
    let Pod { metadata, spec, status } = pod;
    let Metadata {
        name: _,
        namespace,
        uid: _,
        resource_version: _,
        labels,
        terminating: _,
        // Of the owners only the controller.
        owner_references: _,
    } = metadata;
    (namespace, labels, compile::controller(pod)).hash(&mut content);
    write_spec(spec, &mut content);
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
    } = status;
    write_all(container_statuses, write_status, &mut content);
    write_all(init_container_statuses, write_status, &mut content);
    write_actuated(resources.as_ref(), &mut content);
    write_amounts(allocated_resources, &mut content);
    content.0
}

fn write_spec(spec: &PodSpec, content: &mut Content) {
    let PodSpec {
        node_name: _,
        node_selector,
        affinity,
        tolerations,
        topology_spread_constraints,
        volumes,
        containers,
        init_containers,
        overhead,
        resources: Resources { requests },
        scheduler_name: _,
        priority: _,
        host_network,
        host_users,
    } = spec;
    (node_selector, affinity, tolerations, topology_spread_constraints).hash(content);
    (volumes, host_network, host_users).hash(content);
    write_all(containers, write_container, content);
    write_all(init_containers, write_container, content);
    write_amounts(overhead, content);
    write_amounts(requests, content);
}

fn write_container(container: &Container, content: &mut Content) {
    let Container { name, resources: Resources { requests }, ports, restart_policy, restart_policy_rules } = container;
    (name, ports, restart_policy, restart_policy_rules).hash(content);
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
