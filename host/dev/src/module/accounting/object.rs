//! Pods and nodes as an accounting module reads them. Start at [`PlainObject::from_pod`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::metadata;
use nodesift_object::pod::{OwnerReference, Resources};
use nodesift_object::{Labels, Node, Pod, ResourceList};
use nodesift_sandbox::accounting::{AccountedObject, Amount, ObjectOwner};

/// An object with all that can be read of it.
#[derive(Debug, Clone, Default)]
pub(super) struct PlainObject {
    pub(super) annotations: BTreeMap<String, Arc<str>>,
    pub(super) owners: Vec<ObjectOwner>,
    pub(super) standard: Vec<Amount>,
    pub(super) usage: Vec<Amount>,
    pub(super) containers: Vec<Amount>,
}

impl PlainObject {
    pub(super) fn from_pod(pod: &Pod) -> Self {
        let facts = metadata::pod(pod);
        // The same pod with nothing but containers.
        let mut bare = pod.clone();
        bare.spec.init_containers.clear();
        bare.spec.overhead = ResourceList::default();
        bare.spec.resources = Resources::default();
        let owner = |owner: &OwnerReference| ObjectOwner {
            api_version: owner.api_version.as_str().into(),
            kind: owner.kind.as_str().into(),
            name: owner.name.as_str().into(),
            uid: owner.uid.as_str().into(),
            controller: owner.controller,
        };
        Self {
            annotations: annotations(&pod.metadata.annotations),
            owners: pod.metadata.owner_references.iter().map(owner).collect(),
            standard: amounts(&facts.requests),
            usage: amounts(&facts.usage),
            containers: amounts(&metadata::pod(&bare).requests),
        }
    }

    pub(super) fn from_node(node: &Node) -> Self {
        Self {
            annotations: annotations(&node.metadata.annotations),
            standard: amounts(&metadata::node(node).allocatable),
            ..Self::default()
        }
    }
}

fn annotations(annotations: &Labels) -> BTreeMap<String, Arc<str>> {
    annotations.iter().map(|(key, value)| (key.to_owned(), Arc::from(value.as_str()))).collect()
}

/// Amounts sorted by name.
fn amounts(amounts: &[(Arc<str>, i64)]) -> Vec<Amount> {
    let sorted: BTreeMap<_, _> = amounts.iter().cloned().collect();
    sorted.into_iter().map(|(resource, value)| Amount { resource, value }).collect()
}

impl AccountedObject for PlainObject {
    fn annotation(&self, key: &str) -> Option<Arc<str>> {
        self.annotations.get(key).cloned()
    }

    fn owners(&self) -> Vec<ObjectOwner> {
        self.owners.clone()
    }

    fn standard(&self) -> Vec<Amount> {
        self.standard.clone()
    }

    fn usage(&self) -> Vec<Amount> {
        self.usage.clone()
    }

    fn containers(&self) -> Vec<Amount> {
        self.containers.clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_containers_request_is_without_overhead_and_init_containers() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "annotations": {"k": "v"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u"}]},
            "spec": {"containers": [container("1"), container("500m")], "initContainers": [container("4")],
                "overhead": {"cpu": "100m"}}}))
        .unwrap();
        let object = PlainObject::from_pod(&pod);
        let cpu = |value| vec![Amount { resource: "cpu".into(), value }];
        assert_eq!((object.standard(), object.containers()), (cpu(4_100), cpu(1_500)));
        assert_eq!(object.annotation("k").as_deref(), Some("v"));
        assert!(matches!(&object.owners()[..], [owner] if &*owner.kind == "Job" && !owner.controller));
    }
}
