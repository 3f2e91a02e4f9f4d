//! Facts about the pod being filtered: the interfaces `pod-*`. Made from the contract by `make contract`; not to be
//! edited.

/// The pod's namespace and labels.
pub mod pod_labels {
    /// Namespace of the pod: `metadata.namespace`.
    #[must_use]
    pub fn namespace() -> String {
        ask!(pod_labels::namespace() or pod_labels_namespace)
    }

    /// The value of the label `key` in `metadata.labels`; none where the pod does not have the label.
    #[must_use]
    pub fn label(key: &str) -> Option<String> {
        ask!(pod_labels::label(key) or pod_labels_label)
    }
}

/// Annotations of the pod. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
/// reads as absent.
pub mod pod_annotations {
    /// The value of the annotation `key` in `metadata.annotations`; none where the pod does not have it, or the policy does
    /// not list the key.
    #[must_use]
    pub fn annotation(key: &str) -> Option<String> {
        ask!(pod_annotations::annotation(key) or pod_annotations_annotation)
    }
}

/// `spec.nodeName`, `spec.nodeSelector` and node affinity of the pod, as written and unvalidated. The
/// predicate itself compares them with label columns.
pub mod pod_placement {
    pub use crate::bindings::nodesift::predicate::pod_placement::{Operator, PreferredTerm, Requirement, Term};

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

    /// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: its terms, at least one of which
    /// must hold. None where the pod has no required node affinity. An empty list matches no node.
    #[must_use]
    pub fn required_terms() -> Option<Vec<Term>> {
        ask!(pod_placement::required_terms() or pod_placement_required_terms)
    }

    /// `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. None where the pod has no such
    /// list. Since 0.2.
    #[must_use]
    pub fn preferred_terms() -> Option<Vec<PreferredTerm>> {
        ask!(pod_placement::preferred_terms() or pod_placement_preferred_terms)
    }
}

/// Tolerations of the pod for taints of nodes.
pub mod pod_tolerations {
    pub use crate::bindings::nodesift::predicate::pod_tolerations::{Effect, Operator, Toleration};

    /// Tolerations of the pod: `spec.tolerations`, in order.
    #[must_use]
    pub fn tolerations() -> Vec<Toleration> {
        ask!(pod_tolerations::tolerations() or pod_tolerations_tolerations)
    }
}

/// The pod's resource requests. Containers, init and sidecar containers, overhead and pod-level resources are combined
/// as in kube-scheduler.
pub mod pod_resources {
    pub use crate::bindings::nodesift::predicate::pod_resources::Request;

    /// The pod's requests, one entry per resource. First `cpu`, `memory` and `ephemeral-storage`, each only where it is
    /// above 0. Then every other resource that the pod names, sorted by name; here an amount can be 0.
    #[must_use]
    pub fn requests() -> Vec<Request> {
        ask!(pod_resources::requests() or pod_resources_requests)
    }
}

/// The pod's requests as the score of kube-scheduler's NodeResourcesFit counts them. Every container that names no `cpu` counts with
/// 100 millicores, and every one that names no `memory` with 200 MiB, so that pods without requests count as well. Since 0.2.
pub mod pod_non_zero_requests {
    pub use crate::bindings::nodesift::predicate::pod_non_zero_requests::Request;

    /// Requests of the containers of the pod and its overhead, sorted by name, in the units of `pod-resources`. `cpu` and `memory`
    /// are in the list, also at 0. Requests of the pod as a whole (`spec.resources`) are not counted.
    #[must_use]
    pub fn requests() -> Vec<Request> {
        ask!(pod_non_zero_requests::requests() or pod_non_zero_requests_requests)
    }
}

/// Images that the pod uses, as kube-scheduler's ImageLocality compares them: a name without a tag and without a digest has the tag
/// `latest`. Since 0.2.
pub mod pod_images {
    /// Images of init containers and then those of containers, in order, each as often as it is used.
    #[must_use]
    pub fn containers() -> Vec<String> {
        ask!(pod_images::containers() or pod_images_containers)
    }

    /// Images that are mounted as volumes, in order, each as often as it is used.
    #[must_use]
    pub fn volumes() -> Vec<String> {
        ask!(pod_images::volumes() or pod_images_volumes)
    }
}

/// Topology spread constraints of the pod, as written and unvalidated.
pub mod pod_spread {
    pub use crate::bindings::nodesift::predicate::pod_spread::{
        Constraint, Inclusion, LabelSelector, WhenUnsatisfiable,
    };

    /// Constraints of the pod: `spec.topologySpreadConstraints`, in order.
    #[must_use]
    pub fn constraints() -> Vec<Constraint> {
        ask!(pod_spread::constraints() or pod_spread_constraints)
    }

    /// The combined selector of the Services that select the pod and of the controller that owns it. Default
    /// constraints, which a policy gives to pods without constraints, use this selector. None where the pod has
    /// neither.
    #[must_use]
    pub fn default_selector() -> Option<LabelSelector> {
        ask!(pod_spread::default_selector() or pod_spread_default_selector)
    }
}

/// Required pod affinity and anti-affinity of the pod, as written and unvalidated; of preferred terms only invalid ones.
pub mod pod_affinity {
    pub use crate::bindings::nodesift::predicate::pod_affinity::{LabelSelector, Term};

    /// Terms of `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
    #[must_use]
    pub fn affinity() -> Vec<Term> {
        ask!(pod_affinity::affinity() or pod_affinity_affinity)
    }

    /// Terms of `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
    #[must_use]
    pub fn anti_affinity() -> Vec<Term> {
        ask!(pod_affinity::anti_affinity() or pod_affinity_anti_affinity)
    }

    /// The terms of `preferredDuringSchedulingIgnoredDuringExecution` that have an invalid selector, first those of the pod
    /// affinity, then those of the anti-affinity, each in order. kube-scheduler rejects a pod with such a term; valid
    /// preferred terms reject no node.
    #[must_use]
    pub fn invalid_preferred() -> (Vec<Term>, Vec<Term>) {
        ask!(pod_affinity::invalid_preferred() or pod_affinity_invalid_preferred)
    }
}

/// Preferred pod affinity and anti-affinity of the pod, as written and unvalidated, each term with its weight. An interface of its own,
/// because the host keeps these terms only where a component imports it. Since 0.2.
pub mod pod_preferred_affinity {
    pub use crate::bindings::nodesift::predicate::pod_preferred_affinity::Term;

    /// Weights and terms of `spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
    /// points of each matching pod.
    #[must_use]
    pub fn affinity() -> Vec<(i32, Term)> {
        ask!(pod_preferred_affinity::affinity() or pod_preferred_affinity_affinity)
    }

    /// Weights and terms of `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
    /// points that each matching pod takes away, as a positive number.
    #[must_use]
    pub fn anti_affinity() -> Vec<(i32, Term)> {
        ask!(pod_preferred_affinity::anti_affinity() or pod_preferred_affinity_anti_affinity)
    }
}

/// Node features that the pod requires.
pub mod pod_features {
    /// The names of the required features, as in `status.declaredFeatures` of nodes; sorted. The host infers them from
    /// the pod's spec.
    #[must_use]
    pub fn required() -> Vec<String> {
        ask!(pod_features::required() or pod_features_required)
    }
}

/// The volumes of the pod that can make a node unsuitable: disks and PersistentVolumeClaims.
pub mod pod_volumes {
    pub use crate::bindings::nodesift::predicate::pod_volumes::{ClaimRef, Disk, DiskKind, Volume};

    /// The disks and claims of `spec.volumes`, in order. Other volume types are left out.
    #[must_use]
    pub fn volumes() -> Vec<Volume> {
        ask!(pod_volumes::volumes() or pod_volumes_volumes)
    }

    /// Namespace, name and UID of the pod. The claim of a generic ephemeral volume must have this pod as its
    /// controller.
    #[must_use]
    pub fn owner() -> (String, String, String) {
        ask!(pod_volumes::owner() or pod_volumes_owner)
    }
}

/// Labels of the pod's Namespace. Since 0.2.
pub mod namespace_labels {
    /// The value of the label `key` of the Namespace object of the pod's namespace; none where it does not have the label, or
    /// there is no such object.
    #[must_use]
    pub fn label(key: &str) -> Option<String> {
        ask!(namespace_labels::label(key) or namespace_labels_label)
    }
}

/// Fields of the pod's spec. A cached verdict depends only on the fields that were read. Since 0.2.
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

    /// Whether the pod uses the node's network: `spec.hostNetwork`.
    #[must_use]
    pub fn host_network() -> bool {
        ask!(pod_spec::host_network() or pod_spec_host_network)
    }

    /// The images of containers and init containers as written: sorted, without duplicates and empty texts.
    #[must_use]
    pub fn images() -> Vec<String> {
        ask!(pod_spec::images() or pod_spec_images)
    }

    /// Name of the scheduler that places the pod: `spec.schedulerName`.
    #[must_use]
    pub fn scheduler_name() -> String {
        ask!(pod_spec::scheduler_name() or pod_spec_scheduler_name)
    }
}

/// The controller of the pod: the entry of `metadata.ownerReferences` whose `controller` is true. Since 0.2.
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

/// The pod's claims of devices: ResourceClaims as DynamicResources of kube-scheduler resolves them. Amounts here are exact, and not
/// in the units of resources. Since 0.2.
pub mod pod_claims {
    pub use crate::bindings::nodesift::predicate::pod_claims::{
        Amount, Asked, Claim, Class, Constraint, ConstraintKind, Container, ContainerResource, ExtendedClaim,
        ExtendedResource, ExtendedResources, NanoUnits, Obstacle, Request, Toleration, Unallocated,
    };
    pub use crate::columns::values::pod_claims::*;

    /// The claims that the pod names, in the order of `spec.resourceClaims`; an error where none can be allocated anywhere.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn claims() -> Result<Vec<Claim>, Obstacle> {
        ask!(pod_claims::claims() or pod_claims_claims)
    }

    /// The extended resources of the pod; none where no DeviceClass provides any of them.
    #[must_use]
    pub fn extended() -> Option<ExtendedResources> {
        ask!(pod_claims::extended() or pod_claims_extended)
    }

    /// `namespace/name` of the claim with this number in `claims`; the one for extended resources has the number after the last.
    /// Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
    #[must_use]
    pub fn claim_name(claim: u32) -> String {
        ask!(pod_claims::claim_name(claim) or pod_claims_claim_name)
    }

    /// Alternatives that the claim with this number in `claims` has got by its status: for each of its requests that lists
    /// alternatives, the numbers from 0 of those that have a device, ascending, in the order of requests: mostly one, and several where
    /// kube-scheduler until 1.35 has mixed them. Empty for a claim that is not allocated, and for any other number. Since 0.2.
    #[must_use]
    pub fn chosen(claim: u32) -> Vec<u32> {
        ask!(pod_claims::chosen(claim) or pod_claims_chosen)
    }

    /// Requests with `derivedAttributes` in the claim with this number in `claims`: numbers of its `asked` records, counted over the
    /// alternatives of all of its requests in order, ascending. Empty for an allocated claim, and for any other number.
    #[must_use]
    pub fn deriving(claim: u32) -> Vec<u32> {
        ask!(pod_claims::deriving(claim) or pod_claims_deriving)
    }
}
