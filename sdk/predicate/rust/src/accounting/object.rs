//! Facts of the object of a call. In a component each method is an import, and a method that is not called is not imported; elsewhere the
//! object is made of plain values.

use super::Amounts;

/// An owner of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// `apiVersion` of the owner, for example `apps/v1`.
    pub api_version: String,
    /// `kind` of the owner, for example `ReplicaSet`.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner.
    pub uid: String,
    /// Whether it manages the object; at most one does.
    pub controller: bool,
}

/// The object of the running call.
#[derive(Debug, Clone, Default)]
pub struct Object {
    #[cfg(not(target_arch = "wasm32"))]
    plain: plain::Plain,
}

#[cfg(target_arch = "wasm32")]
impl Object {
    /// The value of an annotation; none where the object does not have it. Traps for a key that is not among the needs.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<String> {
        imports::object_annotations::get(key)
    }

    /// All owners, in order.
    #[must_use]
    pub fn owners(&self) -> Vec<Owner> {
        let owner = |owner: imports::object_owners::Owner| Owner {
            api_version: owner.api_version,
            kind: owner.kind,
            name: owner.name,
            uid: owner.uid,
            controller: owner.controller,
        };
        imports::object_owners::owners().into_iter().map(owner).collect()
    }

    /// Of a pod, what a node must have free for it, as in kube-scheduler; of a node, `status.allocatable` without `pods`.
    #[must_use]
    pub fn standard(&self) -> Amounts {
        amounts(imports::object_requests::standard())
    }

    /// Of a pod, what it takes of its node: as [`standard`](Self::standard), with resizes in place. Empty for a node.
    #[must_use]
    pub fn usage(&self) -> Amounts {
        amounts(imports::object_requests::usage())
    }

    /// Of a pod, the sums of requests over `spec.containers` alone. Empty for a node.
    #[must_use]
    pub fn containers(&self) -> Amounts {
        amounts(imports::object_requests::containers())
    }
}

#[cfg(target_arch = "wasm32")]
use crate::bindings::accounting::nodesift::accounting as imports;

#[cfg(target_arch = "wasm32")]
fn amounts(amounts: Vec<imports::types::Amount>) -> Amounts {
    amounts.into_iter().map(|amount| (amount.resource, amount.value)).collect()
}

#[cfg(not(target_arch = "wasm32"))]
mod plain {
    use std::collections::BTreeMap;

    use super::{Amounts, Object, Owner};

    /// Plain values behind the object of a test.
    #[derive(Debug, Clone, Default)]
    pub(super) struct Plain {
        annotations: BTreeMap<String, String>,
        owners: Vec<Owner>,
        standard: Amounts,
        usage: Amounts,
        containers: Amounts,
    }

    impl Object {
        /// The value of an annotation; none where the object does not have it.
        #[must_use]
        pub fn annotation(&self, key: &str) -> Option<String> {
            self.plain.annotations.get(key).cloned()
        }

        /// All owners, in order.
        #[must_use]
        pub fn owners(&self) -> Vec<Owner> {
            self.plain.owners.clone()
        }

        /// Of a pod, what a node must have free for it, as in kube-scheduler; of a node, `status.allocatable` without `pods`.
        #[must_use]
        pub fn standard(&self) -> Amounts {
            self.plain.standard.clone()
        }

        /// Of a pod, what it takes of its node: as [`standard`](Self::standard), with resizes in place. Empty for a node.
        #[must_use]
        pub fn usage(&self) -> Amounts {
            self.plain.usage.clone()
        }

        /// Of a pod, the sums of requests over `spec.containers` alone. Empty for a node.
        #[must_use]
        pub fn containers(&self) -> Amounts {
            self.plain.containers.clone()
        }

        /// Sets an annotation of the object.
        #[must_use]
        pub fn with_annotation(mut self, key: &str, value: &str) -> Self {
            self.plain.annotations.insert(key.into(), value.into());
            self
        }

        /// With an owner after the others.
        #[must_use]
        pub fn with_owner(mut self, owner: Owner) -> Self {
            self.plain.owners.push(owner);
            self
        }

        /// With an amount that its only container requests: [`standard`](Self::standard), [`usage`](Self::usage) and
        /// [`containers`](Self::containers) have it.
        #[must_use]
        pub fn with_request(mut self, resource: &str, amount: i64) -> Self {
            for amounts in [&mut self.plain.standard, &mut self.plain.usage, &mut self.plain.containers] {
                amounts.insert(resource.into(), amount);
            }
            self
        }

        /// With an amount of `status.allocatable`, as a node.
        #[must_use]
        pub fn with_allocatable(mut self, resource: &str, amount: i64) -> Self {
            self.plain.standard.insert(resource.into(), amount);
            self
        }
    }
}
