//! The pods of the fixture, and their builder methods.

use std::collections::{BTreeMap, BTreeSet};

use crate::columns::pod_affinity;
use crate::columns::pod_claims::{Claim, ExtendedResources, Obstacle};
use crate::columns::pod_owner::Owner;
use crate::columns::pod_placement::{PreferredTerm, Term};
use crate::columns::pod_resources::Request;
use crate::columns::pod_spread::Constraint;
use crate::columns::pod_tolerations::{Effect, Operator, Toleration};
use crate::columns::pod_volumes::Volume;
use crate::columns::selectors::LabelSelector;

/// A pod: the one being filtered, or one on a node.
#[derive(Debug, Clone, Default)]
pub struct Pod {
    pub(super) namespace: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) node_name: Option<String>,
    pub(super) node_selector: BTreeMap<String, String>,
    pub(super) required_terms: Option<Vec<Term>>,
    pub(super) preferred_terms: Option<Vec<PreferredTerm>>,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) requests: Vec<Request>,
    pub(super) non_zero_requests: Vec<Request>,
    pub(super) host_port: bool,
    pub(super) terminating: bool,
    pub(super) constraints: Vec<Constraint>,
    pub(super) default_selector: Option<LabelSelector>,
    pub(super) affinity: Vec<pod_affinity::Term>,
    pub(super) anti_affinity: Vec<pod_affinity::Term>,
    pub(super) preferred_affinity: Vec<(i32, pod_affinity::Term)>,
    pub(super) preferred_anti_affinity: Vec<(i32, pod_affinity::Term)>,
    pub(super) invalid_preferred: (Vec<pod_affinity::Term>, Vec<pod_affinity::Term>),
    pub(super) features: BTreeSet<String>,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) volumes: Vec<Volume>,
    pub(super) priority: i32,
    pub(super) priority_class: Option<String>,
    pub(super) service_account: Option<String>,
    pub(super) runtime_class: Option<String>,
    pub(super) host_network: bool,
    pub(super) images: BTreeSet<String>,
    /// Images of containers and init containers, with tags.
    pub(super) container_images: Vec<String>,
    pub(super) volume_images: Vec<String>,
    pub(super) scheduler_name: String,
    /// Controller of the pod, and its UID.
    pub(super) controller: Option<(Owner, String)>,
    /// Claims of the pod, each with its name.
    pub(super) claims: Vec<(String, Claim)>,
    /// By place of a claim the alternatives that it has got.
    pub(super) chosen: BTreeMap<usize, Vec<u32>>,
    /// By place of a claim the numbers of what derives attributes.
    pub(super) deriving: BTreeMap<usize, Vec<u32>>,
    pub(super) claims_obstacle: Option<Obstacle>,
    /// With the name of its claim.
    pub(super) extended: Option<(String, ExtendedResources)>,
}

impl Pod {
    /// A pod without labels, requests or constraints, of the scheduler `default-scheduler`.
    #[must_use]
    pub fn new(namespace: &str) -> Self {
        Self { namespace: namespace.into(), scheduler_name: "default-scheduler".into(), ..Self::default() }
    }

    /// Sets a label of the pod.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Sets an annotation of the pod.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    /// Sets `spec.nodeName` of the pod.
    #[must_use]
    pub fn node_name(mut self, name: &str) -> Self {
        self.node_name = Some(name.into());
        self
    }

    /// Adds an entry to `spec.nodeSelector`.
    #[must_use]
    pub fn node_selector(mut self, key: &str, value: &str) -> Self {
        self.node_selector.insert(key.into(), value.into());
        self
    }

    /// Sets the terms of the required node affinity.
    #[must_use]
    pub fn required_terms(mut self, terms: Vec<Term>) -> Self {
        self.required_terms = Some(terms);
        self
    }

    /// Sets the terms of the preferred node affinity, each with its weight.
    #[must_use]
    pub fn preferred_terms(mut self, terms: Vec<(i32, Term)>) -> Self {
        let terms = terms.into_iter().map(|(weight, preference)| PreferredTerm { weight, preference });
        self.preferred_terms = Some(terms.collect());
        self
    }

    /// Adds a toleration; an `effect` of none tolerates every effect.
    #[must_use]
    pub fn toleration(mut self, key: &str, operator: Operator, value: &str, effect: Option<Effect>) -> Self {
        self.tolerations.push(Toleration { key: key.into(), operator, value: value.into(), effect });
        self
    }

    /// Adds a request: `cpu` in millicores, `memory` and `ephemeral-storage` in bytes, others as a count. Add requests
    /// in the order of the contract.
    #[must_use]
    pub fn request(mut self, resource: &str, amount: i64) -> Self {
        self.requests.push(Request { resource: resource.into(), amount });
        self
    }

    /// Adds a request as `pod-non-zero-requests` shows it, in the units of [`Pod::request`]. The fixture fills in nothing for
    /// containers.
    #[must_use]
    pub fn non_zero_request(mut self, resource: &str, amount: i64) -> Self {
        self.non_zero_requests.push(Request { resource: resource.into(), amount });
        self
    }

    /// Makes the pod request a host port.
    #[must_use]
    pub fn host_port(mut self) -> Self {
        self.host_port = true;
        self
    }

    /// Sets the deletion timestamp.
    #[must_use]
    pub fn terminating(mut self) -> Self {
        self.terminating = true;
        self
    }

    /// Adds a topology spread constraint.
    #[must_use]
    pub fn spread(mut self, constraint: Constraint) -> Self {
        self.constraints.push(constraint);
        self
    }

    /// Sets the combined selector of the Services that select the pod and of the controller that owns it.
    #[must_use]
    pub fn default_selector(mut self, selector: LabelSelector) -> Self {
        self.default_selector = Some(selector);
        self
    }

    /// Adds a required term to the pod's affinity.
    #[must_use]
    pub fn affinity(mut self, term: pod_affinity::Term) -> Self {
        self.affinity.push(term);
        self
    }

    /// Adds a required term to the pod's anti-affinity.
    #[must_use]
    pub fn anti_affinity(mut self, term: pod_affinity::Term) -> Self {
        self.anti_affinity.push(term);
        self
    }

    /// Adds a preferred term to the pod's affinity.
    #[must_use]
    pub fn preferred_affinity(mut self, weight: i32, term: pod_affinity::Term) -> Self {
        self.preferred_affinity.push((weight, term));
        self
    }

    /// Adds a preferred term to the pod's anti-affinity.
    #[must_use]
    pub fn preferred_anti_affinity(mut self, weight: i32, term: pod_affinity::Term) -> Self {
        self.preferred_anti_affinity.push((weight, term));
        self
    }

    /// Sets the preferred terms with invalid selectors, of the pod's affinity and of its anti-affinity.
    #[must_use]
    pub fn invalid_preferred(mut self, affinity: Vec<pod_affinity::Term>, anti: Vec<pod_affinity::Term>) -> Self {
        self.invalid_preferred = (affinity, anti);
        self
    }

    /// Adds a required node feature.
    #[must_use]
    pub fn feature(mut self, name: &str) -> Self {
        self.features.insert(name.into());
        self
    }

    /// Sets the pod's name and UID.
    #[must_use]
    pub fn identity(mut self, name: &str, uid: &str) -> Self {
        (self.name, self.uid) = (name.into(), uid.into());
        self
    }

    /// Sets `spec.priority` and `spec.priorityClassName`.
    #[must_use]
    pub fn priority(mut self, priority: i32, class: &str) -> Self {
        (self.priority, self.priority_class) = (priority, Some(class.into()));
        self
    }

    /// Sets `spec.serviceAccountName` of the pod.
    #[must_use]
    pub fn service_account(mut self, name: &str) -> Self {
        self.service_account = Some(name.into());
        self
    }

    /// Sets `spec.runtimeClassName` of the pod.
    #[must_use]
    pub fn runtime_class(mut self, name: &str) -> Self {
        self.runtime_class = Some(name.into());
        self
    }

    /// Sets `spec.hostNetwork` to true.
    #[must_use]
    pub fn host_network(mut self) -> Self {
        self.host_network = true;
        self
    }

    /// Adds the image of a container; the name has a tag or a digest.
    #[must_use]
    pub fn image(mut self, image: &str) -> Self {
        self.images.insert(image.into());
        self.container_images.push(image.into());
        self
    }

    /// Adds an image that is mounted as a volume; the name has a tag or a digest.
    #[must_use]
    pub fn image_volume(mut self, image: &str) -> Self {
        self.volume_images.push(image.into());
        self
    }

    /// Sets `spec.schedulerName` of the pod.
    #[must_use]
    pub fn scheduler_name(mut self, name: &str) -> Self {
        self.scheduler_name = name.into();
        self
    }

    /// Sets the controller of the pod.
    #[must_use]
    pub fn controller(mut self, owner: Owner, uid: &str) -> Self {
        self.controller = Some((owner, uid.into()));
        self
    }

    /// Adds an entry to `spec.volumes`.
    #[must_use]
    pub fn volume(mut self, volume: Volume) -> Self {
        self.volumes.push(volume);
        self
    }
}
