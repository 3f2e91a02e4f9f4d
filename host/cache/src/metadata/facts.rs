//! Compiled facts: what is kept of a node and of a pod, and what predicates can read about the pod. Start with [`PodRecord`].
//!
//! [`PodFacts`] is the part that pods of one template have in common; [`PodRecord`] is one pod.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::account::{Account, Sums};
use super::labels::{Amounts, Labels, amount_of, value_of};
use super::moments::Moments;
use super::pod_claims::PodClaims;
use super::requests::{CPU, MEMORY, NonZero, ResizeRules};
use super::selector::{AntiAffinityTerm, ScoringTerm};
use super::volumes::PodVolume;
use crate::limits::{PENDING_TEXT_BYTES, POD_BYTES, POD_PART_BYTES};
use nodesift_object::Kind;
use nodesift_object::affinity::{PodAffinityTerm, PreferredTerm, TopologySpreadConstraint, WeightedPodAffinityTerm};
use nodesift_object::node::{ConditionStatus, Taint};
use nodesift_object::pod::Toleration;
use nodesift_object::selector::{NodeSelector, NodeSelectorTerm, Requirement};

/// Compiled facts of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Name of the node, from `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.resourceVersion`; empty where the source has none.
    pub resource_version: Arc<str>,
    /// Labels of the node, from `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`, those that the policy lists.
    pub annotations: Labels,
    /// Whether the node is cordoned: `spec.unschedulable`.
    pub unschedulable: bool,
    /// Taints in the order of `spec.taints`.
    pub taints: Vec<Taint>,
    /// Features of `status.declaredFeatures`, sorted.
    pub features: Vec<Arc<str>>,
    /// `status.conditions`: types, sorted, each with its status.
    pub conditions: Conditions,
    /// `status.nodeInfo` and `spec.providerID`: fields that are not empty, by the names of the contract. Empty where no policy
    /// reads them.
    pub info: Labels,
    /// The times that its object names.
    pub moments: Moments,
    /// The names in `status.images`, sorted, each once, in the form of labels: the value is the size in bytes. Empty where no policy
    /// reads them.
    pub images: Labels,
    /// Amounts of `status.allocatable`, without `pods`.
    pub allocatable: Amounts,
    /// `status.capacity`, `pods` included. Read by state dumps only.
    pub capacity: Amounts,
    /// `status.allocatable.pods`; 0 where absent.
    pub pod_limit: i64,
    /// Amounts that the node adds to named sums itself; empty without an accounting component.
    pub sums: Sums,
}

/// Conditions of a node by type, sorted, each once.
pub type Conditions = Vec<(Arc<str>, ConditionStatus)>;

/// Compiled facts of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRecord {
    /// `metadata.uid`, or namespace/name where the source has none.
    pub uid: Arc<str>,
    /// Namespace of the pod, from `metadata.namespace`.
    pub namespace: Arc<str>,
    /// Name of the pod, from `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.resourceVersion`; empty where the source has none.
    pub resource_version: Arc<str>,
    /// `spec.nodeName`; none where absent or empty.
    pub node_name: Option<Arc<str>>,
    /// Whether the pod is being deleted.
    pub terminating: bool,
    /// Kind of the scheduler that placed the pod.
    pub ownership: Ownership,
    /// `spec.priority`; 0 where absent.
    pub priority: i32,
    /// `status.nominatedNodeName` of a pod that is bound to no node: preemption is making room for it there.
    pub nominated_node: Option<Arc<str>>,
    /// Facts that pods of one template share.
    pub facts: Arc<PodFacts>,
    /// Account of the pod; none where its facts say what it takes.
    pub account: Option<Arc<Account>>,
    /// Facts that say why a pod is pending, and that no predicate reads; none of a pod that came with a node.
    pub pending: Option<Arc<PendingFacts>>,
}

/// The object that a record was compiled from, as JSON with the fields that are read; none where it is not kept. It is no part of the
/// state of a pod: two records that differ in nothing else are equal.
#[derive(Debug, Clone, Default)]
pub struct ObjectText(pub Option<Arc<str>>);

impl ObjectText {
    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |text| text.len() + PENDING_TEXT_BYTES)
    }
}

impl Hash for ObjectText {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PartialEq for ObjectText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ObjectText {}

/// Facts of a pod without a node, for those who ask why it is pending.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PendingFacts {
    /// `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; none where it is absent.
    pub created: Option<i64>,
    /// Names in `spec.schedulingGates`, in order; [`PENDING_GATES`](crate::limits::PENDING_GATES) at most.
    pub gates: Vec<Arc<str>>,
    /// Kind and name of the controller, whatever kind it is of; none where the pod has none.
    pub controller: Option<(Arc<str>, Arc<str>)>,
    /// The object, for those who ask what would change if the pod were another.
    pub object: ObjectText,
}

impl PendingFacts {
    /// Bytes of memory that they take, without the object.
    pub fn bytes(&self) -> usize {
        let texts = self.gates.iter().chain(self.controller.iter().flat_map(|(kind, name)| [kind, name]));
        size_of::<Self>() + texts.map(|text| text.len() + PENDING_TEXT_BYTES).sum::<usize>()
    }
}

impl PodRecord {
    /// Returns the facts that predicates read about the pod, with the requests and usage of its account.
    pub fn whole_facts(&self) -> Arc<PodFacts> {
        self.whole_facts_by(self.account.as_ref())
    }

    /// Returns the facts like [`Self::whole_facts`], by an account in the place of the pod's own.
    pub fn whole_facts_by(&self, account: Option<&Arc<Account>>) -> Arc<PodFacts> {
        let facts = self.unpinned_facts();
        match account {
            Some(account) => Arc::new(Arc::unwrap_or_clone(facts).accounted_as(account)),
            None => facts,
        }
    }

    /// Returns the usage of the pod on its node; units as in [`Amounts`].
    pub fn usage(&self) -> &Amounts {
        self.account.as_ref().map_or(&self.facts.usage, |account| &account.usage)
    }

    /// Returns the amounts that a node must have free for the pod to be placed there; units as in [`Amounts`].
    pub fn requests(&self) -> &Amounts {
        self.account.as_ref().map_or(&self.facts.requests, |account| &account.requests)
    }

    /// Returns the usage of the pod on its node with that of containers that name none; zeros where it is not selected. An accounting
    /// component says all that a pod takes: nothing is added to an account that it has given.
    pub fn non_zero_usage(&self) -> NonZero {
        let usage = self.facts.non_zero_usage.as_ref();
        usage.map_or_else(NonZero::default, |usage| usage.under(self.account.as_deref()))
    }

    /// Returns the amounts that the pod adds to the named sums of its node.
    pub fn sums(&self) -> &[(Arc<str>, i64)] {
        self.account.as_ref().map_or(&[], |account| &account.sums)
    }

    /// Returns the facts with the required node affinity, which is left out of those of a pinned pod.
    fn unpinned_facts(&self) -> Arc<PodFacts> {
        match &self.node_name {
            Some(node) if self.facts.is_pinned => {
                let required_affinity = Some(pin_to(node));
                Arc::new(PodFacts { required_affinity, is_pinned: false, ..(*self.facts).clone() })
            }
            _ => Arc::clone(&self.facts),
        }
    }

    /// The node that the pod is bound to, or else the one for which it is nominated.
    pub fn bound_or_nominated_node(&self) -> Option<&Arc<str>> {
        self.node_name.as_ref().or(self.nominated_node.as_ref())
    }

    /// Returns the pod on another node, or on none; its requests and affinities stay as they were.
    pub fn on_node(&self, node_name: Option<Arc<str>>) -> Self {
        let facts = if node_name == self.node_name { Arc::clone(&self.facts) } else { self.unpinned_facts() };
        Self { node_name, facts, ..self.clone() }
    }

    /// Returns the pod nominated for another node, or for none. On a pod that is on a node, the nomination has no effect.
    #[must_use]
    pub fn nominated_for(&self, nominated_node: Option<Arc<str>>) -> Self {
        Self { nominated_node, ..self.clone() }
    }

    /// Bytes of memory that it takes at most, if it shares nothing with other pods.
    pub fn memory_bytes(&self) -> usize {
        /// Counts what it is given: texts, numbers, lengths of lists, and which variant an enum has. So a new field counts
        /// without being named here.
        struct Size(usize);
        impl Hasher for Size {
            fn write(&mut self, bytes: &[u8]) {
                self.0 = self.0.saturating_add(bytes.len()).saturating_add(POD_PART_BYTES);
            }

            fn write_u8(&mut self, _: u8) {
                // A flag, or the end of a text: counted with what it belongs to.
            }

            fn finish(&self) -> u64 {
                0
            }
        }
        let mut size = Size(POD_BYTES);
        let Self { uid, namespace, name, resource_version, node_name, nominated_node, facts, account, pending, .. } =
            self;
        (uid, namespace, name, resource_version, node_name, nominated_node, facts, account, pending).hash(&mut size);
        size.0
    }

    /// Returns the ownership under a policy with these schedulers. A static pod stays one.
    pub(crate) fn ownership_by(&self, own_schedulers: &[String]) -> Ownership {
        match self.ownership {
            Ownership::ForeignStatic => Ownership::ForeignStatic,
            Ownership::Own | Ownership::Foreign => Ownership::for_scheduler(&self.facts.scheduler_name, own_schedulers),
        }
    }

    /// Whether both take the same of their nodes, as far as facts do not say it.
    pub(crate) fn takes_the_same(&self, other: &Self) -> bool {
        self.account == other.account
    }

    /// Returns the pod with this object; one that came with a node has none.
    #[must_use]
    pub(super) fn with_object(&self, object: ObjectText) -> Self {
        let pending = self.pending.as_ref().map(|pending| Arc::new(PendingFacts { object, ..(**pending).clone() }));
        Self { pending, ..self.clone() }
    }

    /// Returns the object of a pod without a node; none where it is not kept.
    pub fn object(&self) -> Option<&Arc<str>> {
        self.pending.as_ref()?.object.0.as_ref()
    }

    /// Returns the bytes of memory that its object takes.
    pub(crate) fn object_bytes(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.object.bytes())
    }

    /// Returns the pod without its object.
    #[must_use]
    pub(crate) fn without_object(&self) -> Self {
        self.with_object(ObjectText::default())
    }

    /// Returns the pod with another account.
    #[must_use]
    pub fn accounted(&self, account: Option<Arc<Account>>) -> Self {
        Self { account, ..self.clone() }
    }

    /// Returns the pod with the usage that a resize in place has by these rules; `None` where it is the same. An account stays.
    pub fn resized_by(&self, rules: ResizeRules) -> Option<Self> {
        let facts = Arc::new(self.facts.resized_by(rules)?);
        Some(Self { facts, ..self.clone() })
    }

    /// Returns the pod under another ownership.
    pub(crate) fn owned(&self, ownership: Ownership) -> Self {
        Self { ownership, ..self.clone() }
    }

    /// `metadata.uid` as the object has it; empty where the source has none.
    pub fn object_uid(&self) -> &str {
        // What stands in for a missing UID is the only one with a slash.
        if self.uid.contains('/') { "" } else { &self.uid }
    }
}

/// Whether a pod was placed by a scheduler of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// Placed by one of the policy's schedulers.
    Own,
    /// Placed by another scheduler.
    Foreign,
    /// Created by the kubelet of its node: the owner is the Node. Never a preemption victim.
    ForeignStatic,
}

impl Ownership {
    /// Returns the ownership of the pods of a scheduler. `own_schedulers` are the schedulers of the policy.
    pub(crate) fn for_scheduler(scheduler_name: &str, own_schedulers: &[String]) -> Self {
        if own_schedulers.iter().any(|own| own == scheduler_name) { Self::Own } else { Self::Foreign }
    }

    /// Whether another scheduler placed the pod.
    pub fn is_foreign(self) -> bool {
        self != Self::Own
    }
}

/// The part of a pod that its template decides: what predicates read about a pod, and what it uses of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodFacts {
    /// Namespace of the pod, from `metadata.namespace`.
    pub namespace: Arc<str>,
    /// `spec.schedulerName`; `default-scheduler` where absent. It decides about [`Ownership`].
    pub scheduler_name: Arc<str>,
    /// Labels of the pod, from `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`, those that the policy lists.
    pub annotations: Labels,
    /// Labels that the node must have, from `spec.nodeSelector`.
    pub node_selector: Labels,
    /// The required node affinity; none where the pod has none, or is pinned.
    pub required_affinity: Option<NodeSelector>,
    /// The preferred node affinity, as written; none where the pod has none.
    pub preferred_affinity: Option<Vec<PreferredTerm>>,
    /// Whether the pod is bound, and its required node affinity is the name of its node and nothing else. Pods of a DaemonSet
    /// differ in nothing but that name, so it is left out; [`PodRecord::whole_facts`] restores it.
    pub is_pinned: bool,
    /// Tolerations in the order of `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// Requests of the pod on a node that it is not on yet; units as in [`Amounts`].
    pub requests: Amounts,
    /// Usage of the pod on its node, in-place resizes included; units as in [`Amounts`].
    pub usage: Amounts,
    /// Usage by each of [`ResizeRules::all`], of which [`Self::usage`] is one; none where they all give the same.
    pub usages: Option<Arc<[Amounts; ResizeRules::COUNT]>>,
    /// Requests with those of containers that name no `cpu` or no `memory`; units as in [`Amounts`]. Empty where they are not selected.
    pub non_zero_requests: Amounts,
    /// Usage with that of containers that name no `cpu` or no `memory`; none where it is not selected.
    pub non_zero_usage: Option<Arc<NonZeroUsage>>,
    /// Kind and name of the controller that made the pod, where it is one that selects pods.
    pub controller: Option<(Kind, Arc<str>)>,
    /// Spread constraints in the order of `spec.topologySpreadConstraints`.
    pub spread: Vec<TopologySpreadConstraint>,
    /// Required pod affinity, as written.
    pub affinity: Vec<PodAffinityTerm>,
    /// Required pod anti-affinity, as written.
    pub anti_affinity: Vec<PodAffinityTerm>,
    /// Preferred terms with invalid selectors, of the pod affinity and of the anti-affinity; none where both have none.
    pub invalid_preferred: Option<Box<(Vec<PodAffinityTerm>, Vec<PodAffinityTerm>)>>,
    /// Required pod anti-affinity, compiled: matched against incoming pods while this pod is on a node.
    pub anti_affinity_terms: Vec<AntiAffinityTerm>,
    /// Preferred pod affinity and what counts in scores; none where the pod has neither, or they are not selected.
    pub preferences: Option<Arc<PodPreferences>>,
    /// Node features that the pod needs, sorted.
    pub required_features: Vec<Arc<str>>,
    /// Host ports of containers and sidecars, sorted, each once.
    pub host_ports: Vec<HostPort>,
    /// Names of the entries of `spec.resourceClaims`, in order.
    pub resource_claims: Vec<Arc<str>>,
    /// Volumes of the kinds that can keep the pod from a node, in order.
    pub volumes: Arc<[PodVolume]>,
    /// Fields that only the interface `pod-spec` shows; none where it is not selected.
    pub spec: Option<Arc<SpecFacts>>,
    /// Images as `pod-images` shows them; none where they are not selected.
    pub images: Option<Arc<ImageFacts>>,
    /// The controller as `pod-owner` shows it; none where there is none, or it is not selected.
    pub owner: Option<Arc<OwnerFacts>>,
    /// Claims and extended resources as `pod-claims` shows them; none where the pod asks for neither, or they are not selected.
    pub claims: Option<Arc<PodClaims>>,
    /// Facts that predicates do not read; none where they are not selected, or there is nothing.
    pub object: Option<Arc<ObjectFacts>>,
}

/// Facts of a pod beyond those that predicates read, for components that see objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ObjectFacts {
    /// `metadata.ownerReferences`, in order, each with whether it is the controller. Empty where they are not selected.
    pub owners: Vec<(OwnerFacts, bool)>,
    /// The sums of `resources.requests` over `spec.containers`; units as in [`Amounts`]. Empty where they are not selected.
    pub containers: Amounts,
}

/// Affinity of a pod that only scores read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PodPreferences {
    /// Preferred pod affinity, as written.
    pub affinity: Vec<WeightedPodAffinityTerm>,
    /// Preferred pod anti-affinity, as written.
    pub anti_affinity: Vec<WeightedPodAffinityTerm>,
    /// Preferred terms and those of required affinity, compiled: matched against incoming pods while this pod is on a node.
    pub terms: Vec<ScoringTerm>,
}

/// Fields of a pod's spec that only predicates with the interface `pod-spec` read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SpecFacts {
    /// `spec.priority`; 0 where absent.
    pub priority: i32,
    /// `spec.priorityClassName`; none where absent or empty.
    pub priority_class: Option<Arc<str>>,
    /// `spec.serviceAccountName`; none where absent or empty.
    pub service_account: Option<Arc<str>>,
    /// `spec.runtimeClassName`; none where absent or empty.
    pub runtime_class: Option<Arc<str>>,
    /// Whether the pod uses the node's network: `spec.hostNetwork`.
    pub host_network: bool,
    /// Images of containers and init containers, sorted, each once.
    pub images: Arc<[Arc<str>]>,
}

/// Usage of a pod with that of containers that name none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct NonZeroUsage {
    /// Usage by the rules that are followed.
    pub counted: NonZero,
    /// Usage by each of [`ResizeRules::all`]; none where they all give the same.
    pub by_rules: Option<[NonZero; ResizeRules::COUNT]>,
}

/// Names of images that a pod uses, each occurrence, in the order of the pod: a name without a tag has the tag `latest`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ImageFacts {
    /// Images of init containers, then those of containers.
    pub containers: Arc<[Arc<str>]>,
    /// Images that are mounted as volumes.
    pub volumes: Arc<[Arc<str>]>,
}

/// An owner of a pod, of any kind: an entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct OwnerFacts {
    /// API group and version of the owner's kind, for example `apps/v1`.
    pub api_version: Arc<str>,
    /// Kind of the owner, for example `ReplicaSet`.
    pub kind: Arc<str>,
    /// Name of the owner, its `metadata.name`.
    pub name: Arc<str>,
    /// UID of the owner, its `metadata.uid`.
    pub uid: Arc<str>,
}

/// A port of the node that a pod uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// `hostIP`; `0.0.0.0` where absent.
    pub ip: Arc<str>,
    /// `protocol`; `TCP` where absent.
    pub protocol: Arc<str>,
    /// Port on the node (`hostPort`); never 0.
    pub port: i32,
}

impl HostPort {
    /// The wildcard address. Source: kube-scheduler's `DefaultBindAllHostIP`.
    pub const ANY_IP: &'static str = "0.0.0.0";

    /// Whether two pods cannot use these two ports on one node. Source: kube-scheduler's `HostPortInfo.CheckConflict`:
    /// only `0.0.0.0` is a wildcard, `::` is an ordinary address.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip == other.ip || &*self.ip == Self::ANY_IP || &*other.ip == Self::ANY_IP)
    }
}

/// The field of a node that a selector may name. Source: `metav1.ObjectNameField`.
const NODE_NAME_FIELD: &str = "metadata.name";

/// The required affinity that the DaemonSet controller gives a pod. Source: `ReplaceDaemonSetPodNodeNameNodeAffinity`.
fn pin_to(node: &str) -> NodeSelector {
    let name =
        Requirement { key: NODE_NAME_FIELD.to_owned(), operator_text: "In".to_owned(), values: vec![node.to_owned()] };
    NodeSelector { node_selector_terms: vec![NodeSelectorTerm { match_expressions: vec![], match_fields: vec![name] }] }
}

/// Whether a selector is exactly what [`pin_to`] makes for a node.
pub(super) fn pins_to(selector: &NodeSelector, node: &str) -> bool {
    let [NodeSelectorTerm { match_expressions, match_fields }] = selector.node_selector_terms.as_slice() else {
        return false;
    };
    let [Requirement { key, operator_text, values }] = match_fields.as_slice() else { return false };
    match_expressions.is_empty() && key == NODE_NAME_FIELD && operator_text == "In" && *values == [node]
}

/// Lists `cpu` and `memory`, at 0 where they are not listed.
fn with_cpu_and_memory(mut amounts: Amounts) -> Amounts {
    for resource in [CPU, MEMORY] {
        if let Err(at) = amounts.binary_search_by(|(known, _)| known.as_ref().cmp(resource)) {
            amounts.insert(at, (Arc::from(resource), 0));
        }
    }
    amounts
}

impl NonZeroUsage {
    /// Returns the usage of a pod with this account: what the account says where the accounting component has given it. One that stands for
    /// an account that is not known has the amounts of the API.
    pub(super) fn under(&self, account: Option<&Account>) -> NonZero {
        let given = account.filter(|account| account.is_given());
        given.map_or(self.counted, |Account { usage, .. }| NonZero {
            cpu: amount_of(usage, CPU),
            memory: amount_of(usage, MEMORY),
        })
    }

    /// Returns the usage by other rules; `None` where the same counts.
    fn by(&self, rules: ResizeRules) -> Option<Self> {
        let counted = *self.by_rules.as_ref()?.get(rules.index())?;
        (self.counted != counted).then(|| Self { counted, ..self.clone() })
    }
}

impl PodFacts {
    /// Returns the facts with the usage by other rules; `None` where that is the same.
    pub(crate) fn resized_by(&self, rules: ResizeRules) -> Option<Self> {
        let usage = self.usages.as_ref().and_then(|usages| usages.get(rules.index())).unwrap_or(&self.usage);
        let non_zero = self.non_zero_usage.as_ref().and_then(|usage| usage.by(rules));
        (self.usage != *usage || non_zero.is_some()).then(|| Self {
            usage: usage.clone(),
            non_zero_usage: non_zero.map(Arc::new).or_else(|| self.non_zero_usage.clone()),
            ..self.clone()
        })
    }

    /// Returns the facts with the requests and usage of an account.
    #[must_use]
    pub fn accounted_as(self, account: &Account) -> Self {
        let mut facts = Self { requests: account.requests.clone(), usage: account.usage.clone(), ..self };
        if facts.non_zero_usage.is_some() && account.is_given() {
            facts.non_zero_requests = with_cpu_and_memory(account.requests.clone());
        }
        facts
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&Arc<str>> {
        value_of(&self.labels, key)
    }

    /// The UID of the controller; none where the pod has none, the source does not say, or it is not selected.
    pub fn controller_uid(&self) -> Option<&Arc<str>> {
        self.owner.as_ref().map(|owner| &owner.uid).filter(|uid| !uid.is_empty())
    }

    /// The value of an annotation; none for a key that the policy does not list.
    pub fn annotation(&self, key: &str) -> Option<&Arc<str>> {
        value_of(&self.annotations, key)
    }
}
