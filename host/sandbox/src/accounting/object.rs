//! Facts of one object that an accounting component can read. Start at [`AccountedObject`].

use std::sync::Arc;

use super::types::{Amount, ObjectOwner};

/// Facts of the object of the running call. Units and meanings are those of the contract; lists are sorted as it says.
pub trait AccountedObject: Send + Sync {
    /// `object-annotations.get`, for a key among the needs.
    fn annotation(&self, key: &str) -> Option<Arc<str>>;

    /// `object-owners.owners`: the entries of `metadata.ownerReferences`, in order.
    fn owners(&self) -> Vec<ObjectOwner>;

    /// `object-requests.standard`: the requests of a pod as in kube-scheduler, or the allocatable amounts of a node.
    fn standard(&self) -> Vec<Amount>;

    /// `object-requests.usage`: the amounts that a pod takes of its node, with resizes in place; empty for a node.
    fn usage(&self) -> Vec<Amount>;

    /// `object-requests.containers`: the summed requests of `spec.containers` alone; empty for a node.
    fn containers(&self) -> Vec<Amount>;
}
