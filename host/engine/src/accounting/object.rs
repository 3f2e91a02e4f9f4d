//! Pods and nodes in the form that an accounting component reads, from their facts.

use std::sync::Arc;

use nodesift_cache::metadata::{AccountedNode, Amounts, PodFacts};
use nodesift_sandbox::accounting::{AccountedObject, Amount, ObjectOwner};

/// A pod, by its facts.
pub(super) struct PodObject(pub(super) Arc<PodFacts>);

/// A node, by its facts.
pub(super) struct NodeObject(pub(super) AccountedNode);

impl AccountedObject for PodObject {
    fn annotation(&self, key: &str) -> Option<Arc<str>> {
        self.0.annotation(key).cloned()
    }

    fn owners(&self) -> Vec<ObjectOwner> {
        let owners = self.0.object.iter().flat_map(|object| &object.owners);
        let owner = |(owner, controller): &(nodesift_cache::metadata::OwnerFacts, bool)| ObjectOwner {
            api_version: Arc::clone(&owner.api_version),
            kind: Arc::clone(&owner.kind),
            name: Arc::clone(&owner.name),
            uid: Arc::clone(&owner.uid),
            controller: *controller,
        };
        owners.map(owner).collect()
    }

    fn standard(&self) -> Vec<Amount> {
        amounts(&self.0.requests)
    }

    fn usage(&self) -> Vec<Amount> {
        amounts(&self.0.usage)
    }

    fn containers(&self) -> Vec<Amount> {
        self.0.object.as_ref().map(|object| amounts(&object.containers)).unwrap_or_default()
    }
}

impl AccountedObject for NodeObject {
    fn annotation(&self, key: &str) -> Option<Arc<str>> {
        let annotations = &self.0.annotations;
        let at = annotations.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        annotations.get(at).map(|(_, value)| Arc::clone(value))
    }

    fn owners(&self) -> Vec<ObjectOwner> {
        // Owners of nodes are not kept: Kubernetes gives them none.
        Vec::new()
    }

    fn standard(&self) -> Vec<Amount> {
        amounts(&self.0.allocatable)
    }

    fn usage(&self) -> Vec<Amount> {
        Vec::new()
    }

    fn containers(&self) -> Vec<Amount> {
        Vec::new()
    }
}

fn amounts(amounts: &Amounts) -> Vec<Amount> {
    amounts.iter().map(|(resource, value)| Amount { resource: Arc::clone(resource), value: *value }).collect()
}
