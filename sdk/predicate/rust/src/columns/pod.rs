//! Facts about the pod being filtered: the interfaces `pod-*`.

/// The pod's namespace and labels.
pub mod pod_labels {
    /// Returns the namespace of the pod, `metadata.namespace`.
    #[must_use]
    pub fn namespace() -> String {
        ask!(pod_labels::namespace() or pod_labels_namespace)
    }

    /// The value of a label; none where the pod does not have it.
    #[must_use]
    pub fn label(key: &str) -> Option<String> {
        ask!(pod_labels::label(key) or pod_labels_label)
    }
}

/// Labels of the pod's Namespace.
pub mod namespace_labels {
    /// The value of a label of the Namespace; none where it does not have it, or there is no such object.
    #[must_use]
    pub fn label(key: &str) -> Option<String> {
        ask!(namespace_labels::label(key) or namespace_labels_label)
    }
}

/// Fields of the pod's spec. A cached verdict depends only on those that were read.
pub mod pod_spec {
    /// `spec.priority`; 0 where it is absent.
    #[must_use]
    pub fn priority() -> i32 {
        ask!(pod_spec::priority() or pod_spec_priority)
    }

    /// `spec.priorityClassName`; none where it is absent or empty.
    #[must_use]
    pub fn priority_class() -> Option<String> {
        ask!(pod_spec::priority_class() or pod_spec_priority_class)
    }

    /// `spec.serviceAccountName`; none where it is absent or empty.
    #[must_use]
    pub fn service_account() -> Option<String> {
        ask!(pod_spec::service_account() or pod_spec_service_account)
    }

    /// `spec.runtimeClassName`; none where it is absent or empty.
    #[must_use]
    pub fn runtime_class() -> Option<String> {
        ask!(pod_spec::runtime_class() or pod_spec_runtime_class)
    }

    /// Whether the pod uses the node's network, `spec.hostNetwork`.
    #[must_use]
    pub fn host_network() -> bool {
        ask!(pod_spec::host_network() or pod_spec_host_network)
    }

    /// The images of containers and init containers as written: sorted, without duplicates and empty texts.
    #[must_use]
    pub fn images() -> Vec<String> {
        ask!(pod_spec::images() or pod_spec_images)
    }

    /// Returns the name of the pod's scheduler, `spec.schedulerName`.
    #[must_use]
    pub fn scheduler_name() -> String {
        ask!(pod_spec::scheduler_name() or pod_spec_scheduler_name)
    }
}

/// The controller of the pod.
pub mod pod_owner {
    pub use crate::bindings::nodesift::predicate::pod_owner::Owner;

    /// The controller; none where the pod has none.
    #[must_use]
    pub fn controller() -> Option<Owner> {
        ask!(pod_owner::controller() or pod_owner_controller)
    }

    /// The UID of the controller; none where the pod has none. Pods of different controllers share no cached verdict of a
    /// predicate that has read it.
    #[must_use]
    pub fn controller_uid() -> Option<String> {
        ask!(pod_owner::controller_uid() or pod_owner_controller_uid)
    }
}

/// The pod's claims of devices, resolved.
pub mod pod_claims {
    pub use crate::bindings::nodesift::predicate::pod_claims::{
        Amount, Asked, Claim, Class, Constraint, ConstraintKind, Container, ContainerResource, ExtendedClaim,
        ExtendedResource, ExtendedResources, NanoUnits, Obstacle, Request, Toleration, Unallocated,
    };

    /// In [`ExtendedResource::own`]: the node does not list the resource.
    pub const NONE: u8 = 0;
    /// In [`ExtendedResource::own`]: the node lists the resource with an amount of zero.
    pub const ZERO: u8 = 1;
    /// In [`ExtendedResource::own`]: the node has some of the resource.
    pub const MORE: u8 = 2;

    /// The claims that the pod names, in the order of `spec.resourceClaims`.
    ///
    /// # Errors
    ///
    /// None of them can be allocated anywhere.
    pub fn claims() -> Result<Vec<Claim>, Obstacle> {
        ask!(pod_claims::claims() or pod_claims_claims)
    }

    /// The extended resources of the pod; none where no DeviceClass provides any of them.
    #[must_use]
    pub fn extended() -> Option<ExtendedResources> {
        ask!(pod_claims::extended() or pod_claims_extended)
    }

    /// `namespace/name` of the claim with this number in [`claims`]; the one for extended resources has the number after the last.
    /// Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
    #[must_use]
    pub fn claim_name(claim: u32) -> String {
        ask!(pod_claims::claim_name(claim) or pod_claims_claim_name)
    }
}

/// Annotations of the pod, as far as the policy lists their keys in `spec.facts.annotations`.
pub mod pod_annotations {
    /// The value of an annotation; none where the pod does not have it, or the policy does not list the key.
    #[must_use]
    pub fn annotation(key: &str) -> Option<String> {
        ask!(pod_annotations::annotation(key) or pod_annotations_annotation)
    }
}

/// `spec.nodeName`, `spec.nodeSelector` and required node affinity of the pod, as written.
pub mod pod_placement {
    pub use crate::bindings::nodesift::predicate::pod_placement::{Operator, Requirement, Term};

    /// `spec.nodeName`; none where it is absent or empty.
    #[must_use]
    pub fn node_name() -> Option<String> {
        ask!(pod_placement::node_name() or pod_placement_node_name)
    }

    /// `spec.nodeSelector`: label key and value of each entry, sorted by key. All entries must hold.
    #[must_use]
    pub fn node_selector() -> Vec<(String, String)> {
        ask!(pod_placement::node_selector() or pod_placement_node_selector)
    }

    /// The terms of the required node affinity, at least one of which must hold. None where the pod has no required
    /// node affinity; an empty list matches no node.
    #[must_use]
    pub fn required_terms() -> Option<Vec<Term>> {
        ask!(pod_placement::required_terms() or pod_placement_required_terms)
    }
}

/// The pod's tolerations of node taints.
pub mod pod_tolerations {
    pub use crate::bindings::nodesift::predicate::pod_tolerations::{Effect, Operator, Toleration};

    /// Returns the tolerations of `spec.tolerations`, in order.
    #[must_use]
    pub fn tolerations() -> Vec<Toleration> {
        ask!(pod_tolerations::tolerations() or pod_tolerations_tolerations)
    }
}

/// The pod's resource requests.
pub mod pod_resources {
    pub use crate::bindings::nodesift::predicate::pod_resources::Request;

    /// The pod's requests, one entry per resource. First `cpu` (millicores), `memory` and `ephemeral-storage` (bytes),
    /// each only where it is above 0. Then every other resource that the pod names, sorted by name; here an amount can
    /// be 0.
    #[must_use]
    pub fn requests() -> Vec<Request> {
        ask!(pod_resources::requests() or pod_resources_requests)
    }
}

/// Topology spread constraints of the pod, as written.
pub mod pod_spread {
    pub use crate::bindings::nodesift::predicate::pod_spread::{Constraint, Inclusion, WhenUnsatisfiable};

    use crate::bindings::nodesift::predicate::selectors::LabelSelector;

    /// Returns the constraints of `spec.topologySpreadConstraints`, in order.
    #[must_use]
    pub fn constraints() -> Vec<Constraint> {
        ask!(pod_spread::constraints() or pod_spread_constraints)
    }

    /// The combined selector of the Services that select the pod and of the controller that owns it; none where the pod
    /// has neither. It is the selector of default constraints.
    #[must_use]
    pub fn default_selector() -> Option<LabelSelector> {
        ask!(pod_spread::default_selector() or pod_spread_default_selector)
    }
}

/// Required pod affinity and anti-affinity of the pod, as written.
pub mod pod_affinity {
    pub use crate::bindings::nodesift::predicate::pod_affinity::Term;

    /// The required terms of the pod's affinity, in order.
    #[must_use]
    pub fn affinity() -> Vec<Term> {
        ask!(pod_affinity::affinity() or pod_affinity_affinity)
    }

    /// The required terms of the pod's anti-affinity, in order.
    #[must_use]
    pub fn anti_affinity() -> Vec<Term> {
        ask!(pod_affinity::anti_affinity() or pod_affinity_anti_affinity)
    }

    /// The preferred terms with invalid selectors: those of the pod's affinity, and those of its anti-affinity.
    #[must_use]
    pub fn invalid_preferred() -> (Vec<Term>, Vec<Term>) {
        ask!(pod_affinity::invalid_preferred() or pod_affinity_invalid_preferred)
    }
}

/// Node features that the pod requires.
pub mod pod_features {
    /// The names of the required features, sorted.
    #[must_use]
    pub fn required() -> Vec<String> {
        ask!(pod_features::required() or pod_features_required)
    }
}

/// The volumes of the pod that can make a node unsuitable.
pub mod pod_volumes {
    pub use crate::bindings::nodesift::predicate::pod_volumes::{ClaimRef, Disk, DiskKind, Volume};

    /// The disks and claims of `spec.volumes`, in order. Other volume types are left out.
    #[must_use]
    pub fn volumes() -> Vec<Volume> {
        ask!(pod_volumes::volumes() or pod_volumes_volumes)
    }

    /// Namespace, name and UID of the pod.
    #[must_use]
    pub fn owner() -> (String, String, String) {
        ask!(pod_volumes::owner() or pod_volumes_owner)
    }
}
