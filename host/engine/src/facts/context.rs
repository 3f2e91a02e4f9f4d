//! One pod against one batch of rows of one snapshot, as the facts that a predicate may import.

use std::sync::{Arc, OnceLock};

use nodesift_cache::metadata::{HostPort, PodFacts, PodSelector};
use nodesift_cache::{Column, CountKey, LabelColumn, MatchedTerm, NOT_AN_INTEGER, Row, Snapshot};
use nodesift_object::node::TaintEffect;
use nodesift_object::pod::{Toleration, TolerationOperator};
use nodesift_object::selector::{NodeSelectorTerm, Operator, Requirement};
use nodesift_sandbox::{Facts, wire};

use super::pods;

/// The rows that one evaluation asks about.
#[derive(Debug, Clone)]
pub enum Batch {
    /// Every row; columns cross whole.
    All,
    /// Some rows, in the order of node names; columns are gathered.
    Rows(Arc<[Row]>),
}

/// The facts of one evaluation.
#[derive(Debug)]
pub struct Context {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) pod: Arc<PodFacts>,
    node_name: Option<Arc<str>>,
    batch: Batch,
    /// The pod's name and UID, empty where nobody said: which claims are made for it.
    pub(super) owner: (Arc<str>, Arc<str>),
    matched_terms: OnceLock<Vec<MatchedTerm>>,
}

impl Context {
    /// The facts for `pod`, which asks for the node of that name if any, about `batch`.
    pub fn new(snapshot: Arc<Snapshot>, pod: Arc<PodFacts>, node_name: Option<Arc<str>>, batch: Batch) -> Self {
        let owner = (Arc::default(), Arc::default());
        Self { snapshot, pod, node_name, batch, owner, matched_terms: OnceLock::new() }
    }

    /// Says the pod's name and UID, by which claims for its ephemeral volumes are found.
    #[must_use]
    pub fn named(self, name: &str, uid: &str) -> Self {
        Self { owner: (Arc::from(name), Arc::from(uid)), ..self }
    }

    /// How many rows the batch has.
    pub fn rows(&self) -> u32 {
        let rows = match &self.batch {
            Batch::All => self.snapshot.node_count(),
            Batch::Rows(rows) => rows.len(),
        };
        u32::try_from(rows).unwrap_or(u32::MAX)
    }

    /// The facts for the same pod about other rows.
    pub(crate) fn over(&self, batch: Batch) -> Self {
        self.against(Arc::clone(&self.snapshot), batch)
    }

    /// The facts for the same pod about another state of the cluster.
    pub(crate) fn against(&self, snapshot: Arc<Snapshot>, batch: Batch) -> Self {
        let context = Self::new(snapshot, Arc::clone(&self.pod), self.node_name.clone(), batch);
        Self { owner: self.owner.clone(), ..context }
    }

    pub(crate) fn pod(&self) -> &Arc<PodFacts> {
        &self.pod
    }

    /// Terms of pods on nodes that match the pod; looked up once.
    pub(crate) fn matched_terms(&self) -> &[MatchedTerm] {
        let look_up = || self.snapshot.anti_affinity(&self.pod.namespace, &self.pod.labels);
        self.matched_terms.get_or_init(look_up)
    }

    /// What counts pods that match all selectors; none where an operator is unknown.
    pub(crate) fn count_key(selectors: &[wire::PodSelector], terminating: bool) -> Option<CountKey> {
        Some(CountKey { selectors: pods::compile(selectors)?, terminating })
    }

    /// Whether the pod matches all selectors.
    pub(crate) fn is_matched_by(&self, selectors: &[PodSelector]) -> bool {
        pods::is_matched_by(self, selectors)
    }

    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The batch's entries of a column.
    pub(crate) fn column<T: Clone>(&self, column: &Column<T>) -> Arc<[T]> {
        match &self.batch {
            Batch::All => column.flat(),
            Batch::Rows(rows) => column.gather(rows),
        }
    }

    fn constant<T: Clone>(&self, value: T) -> Arc<[T]> {
        vec![value; self.rows() as usize].into()
    }

    fn resource(&self, name: &str, part: impl Fn(&nodesift_cache::Resource) -> &Column<i64>) -> Arc<[i64]> {
        match self.snapshot.resource(name) {
            Some(resource) => self.column(part(&resource)),
            None => self.constant(0),
        }
    }

    fn label<T>(&self, key: &str, read: impl Fn(&LabelColumn) -> T, absent: impl Fn() -> T) -> T {
        self.snapshot.label_column(key).map_or_else(absent, |column| read(&column))
    }
}

impl Context {
    /// Calls with place in the batch and row.
    pub(crate) fn for_each_row(&self, mut call: impl FnMut(usize, Row)) {
        match &self.batch {
            Batch::All => (0..self.rows()).for_each(|row| call(row as usize, Row(row))),
            Batch::Rows(rows) => rows.iter().enumerate().for_each(|(place, row)| call(place, *row)),
        }
    }
}

impl Facts for Context {
    fn namespace(&self) -> Arc<str> {
        Arc::clone(&self.pod.namespace)
    }

    fn label(&self, key: &str) -> Option<Arc<str>> {
        self.pod.label(key).cloned()
    }

    fn node_name(&self) -> Option<Arc<str>> {
        self.node_name.clone()
    }

    fn node_selector(&self) -> Arc<[(Arc<str>, Arc<str>)]> {
        Arc::clone(&self.pod.node_selector)
    }

    fn required_terms(&self) -> Option<Vec<wire::Term>> {
        let selector = self.pod.required_affinity.as_ref()?;
        Some(selector.node_selector_terms.iter().map(term).collect())
    }

    fn tolerations(&self) -> Vec<wire::Toleration> {
        self.pod.tolerations.iter().map(toleration).collect()
    }

    fn requests(&self) -> Vec<wire::Request> {
        let request =
            |(resource, amount): &(Arc<str>, i64)| wire::Request { resource: resource.clone(), amount: *amount };
        self.pod.requests.iter().map(request).collect()
    }

    fn names(&self) -> Arc<[Arc<str>]> {
        self.column(self.snapshot.names())
    }

    fn row(&self, name: &str) -> Option<u32> {
        let row = self.snapshot.node_row(name)?;
        match &self.batch {
            Batch::All => Some(row.0),
            Batch::Rows(rows) => rows.iter().position(|known| *known == row).and_then(|at| u32::try_from(at).ok()),
        }
    }

    fn label_column(&self, key: &str) -> Arc<[u32]> {
        self.label(key, |column| self.column(&column.codes), || self.constant(0))
    }

    fn label_code(&self, key: &str, text: &str) -> Option<u32> {
        self.label(key, |column| column.dictionary().code(text), || None)
    }

    fn label_dictionary(&self, key: &str) -> Arc<[Arc<str>]> {
        self.label(key, |column| column.dictionary().listed(), || [Arc::from("")].into())
    }

    fn label_integers(&self, key: &str) -> Arc<[i64]> {
        self.label(key, |column| column.dictionary().integers(), || [NOT_AN_INTEGER].into())
    }

    fn unschedulable(&self) -> Arc<[u8]> {
        self.column(self.snapshot.unschedulable())
    }

    fn taint_sets(&self) -> Vec<Vec<wire::Taint>> {
        let taint = |taint: &nodesift_object::node::Taint| wire::Taint {
            key: Arc::from(taint.key.as_str()),
            value: Arc::from(taint.value.as_str()),
            effect: effect(taint.effect),
        };
        self.snapshot.taint_sets().iter().map(|set| set.iter().map(taint).collect()).collect()
    }

    fn taint_column(&self) -> Arc<[u32]> {
        self.column(self.snapshot.taint_codes())
    }

    fn allocatable(&self, resource: &str) -> Arc<[i64]> {
        self.resource(resource, |resource| &resource.allocatable)
    }

    fn requested(&self, resource: &str) -> Arc<[i64]> {
        let allocatable = self.allocatable(resource);
        let free = self.free(resource);
        allocatable.iter().zip(free.iter()).map(|(allocatable, free)| allocatable.wrapping_sub(*free)).collect()
    }

    fn foreign(&self, resource: &str) -> Arc<[i64]> {
        self.resource(resource, |resource| &resource.foreign)
    }

    fn free(&self, resource: &str) -> Arc<[i64]> {
        self.resource(resource, |resource| &resource.free)
    }

    fn pods(&self) -> Arc<[i64]> {
        self.column(self.snapshot.pods())
    }

    fn foreign_pods(&self) -> Arc<[i64]> {
        self.column(self.snapshot.foreign_pods())
    }

    fn pod_limit(&self) -> Arc<[i64]> {
        self.column(self.snapshot.pod_limit())
    }

    fn pod_room(&self) -> Arc<[i64]> {
        self.column(self.snapshot.pod_room())
    }

    fn device_class_serves(&self, resource: &str) -> bool {
        self.snapshot.device_class_serves(resource)
    }

    fn port_conflicts(&self) -> Option<Arc<[u8]>> {
        if self.pod.host_ports.is_empty() {
            return None;
        }
        // Nodes share few distinct sets of used ports: judge each set once.
        let conflicts = |in_use: &nodesift_cache::PortUse| {
            in_use
                .iter()
                .any(|(taken, _)| self.pod.host_ports.iter().any(|wanted: &HostPort| wanted.conflicts_with(taken)))
        };
        let by_set: Vec<u8> = self.snapshot.port_sets().iter().map(|set| u8::from(conflicts(set))).collect();
        let codes = self.column(self.snapshot.port_codes());
        Some(codes.iter().map(|code| by_set.get(*code as usize).copied().unwrap_or(0)).collect())
    }

    fn spread_constraints(&self) -> Vec<wire::SpreadConstraint> {
        self.pod.spread.iter().map(pods::constraint).collect()
    }

    fn default_selector(&self) -> Option<wire::LabelSelector> {
        pods::default_selector(self)
    }

    fn affinity(&self) -> Vec<wire::AffinityTerm> {
        self.pod.affinity.iter().map(pods::term).collect()
    }

    fn anti_affinity(&self) -> Vec<wire::AffinityTerm> {
        self.pod.anti_affinity.iter().map(pods::term).collect()
    }

    fn matching_pods(&self, selectors: &[wire::PodSelector], terminating: bool) -> Option<Arc<[u32]>> {
        pods::matching(self, selectors, terminating)
    }

    fn matches_this_pod(&self, selectors: &[wire::PodSelector]) -> Option<bool> {
        Some(self.is_matched_by(&pods::compile(selectors)?))
    }

    fn anti_affinity_keys(&self) -> Vec<Arc<str>> {
        pods::anti_affinity_keys(self)
    }

    fn anti_affinity_terms(&self, topology_key: &str) -> Arc<[u32]> {
        pods::anti_affinity_terms(self, topology_key)
    }

    fn required_features(&self) -> Vec<Arc<str>> {
        self.pod.required_features.clone()
    }

    fn feature_sets(&self) -> Vec<Vec<Arc<str>>> {
        self.snapshot.feature_sets().iter().map(|set| set.to_vec()).collect()
    }

    fn feature_column(&self) -> Arc<[u32]> {
        self.column(self.snapshot.feature_codes())
    }

    fn volumes(&self) -> Vec<wire::PodVolume> {
        self.volumes_of_pod()
    }

    fn owner(&self) -> (Arc<str>, Arc<str>, Arc<str>) {
        self.owner_of_claims()
    }

    fn disk_users(&self, kind: wire::DiskKind, id: &str) -> Vec<wire::DiskUser> {
        self.users_of_disk(kind, id)
    }

    fn claim_users(&self, claim: &str) -> u32 {
        self.users_of_claim(claim)
    }

    fn wanted_attachments(&self, registered: bool) -> Result<Vec<wire::Attachment>, wire::Obstacle> {
        self.attachments_wanted(registered)
    }

    fn attachment_registered(&self) -> Arc<[u8]> {
        self.snapshot.attachments().registered().into()
    }

    fn attachment_limited(&self) -> Arc<[u8]> {
        self.snapshot.attachments().limited().into()
    }

    fn attachment_limit(&self, driver: &str) -> Arc<[i64]> {
        self.attachments_limit(driver)
    }

    fn attachments_used(&self, driver: &str) -> Arc<[i64]> {
        self.attachments_in_use(driver)
    }

    fn rows_with_attachment(&self, volume: &wire::Attachment) -> Vec<u32> {
        self.snapshot.attachments().rows_with(&volume.driver, &volume.handle).to_vec()
    }

    fn uncounted_pods(&self) -> Vec<wire::UncountedPod> {
        self.pods_uncounted()
    }

    fn claim(&self, name: &str) -> Option<wire::Claim> {
        self.claim_of_pod(name)
    }

    fn volume(&self, name: &str) -> Option<wire::Volume> {
        self.persistent_volume(name)
    }

    fn volumes_for(&self, claim: &str) -> Vec<wire::Volume> {
        self.persistent_volumes_for(claim)
    }

    fn storage_class(&self, name: &str) -> Option<wire::StorageClass> {
        self.class_of_storage(name)
    }

    fn default_class(&self) -> Option<Arc<str>> {
        self.class_by_default()
    }

    fn driver_reports_capacity(&self, driver: &str) -> bool {
        self.reports_capacity(driver)
    }

    fn capacities(&self, class_name: &str) -> Vec<wire::StorageCapacity> {
        self.capacities_of(class_name)
    }

    fn migrated(&self, plugin: &str) -> Arc<[u8]> {
        self.rows_migrated(plugin)
    }
}

pub(super) fn term(term: &NodeSelectorTerm) -> wire::Term {
    wire::Term {
        expressions: term.match_expressions.iter().map(requirement).collect(),
        fields: term.match_fields.iter().map(requirement).collect(),
    }
}

fn requirement(requirement: &Requirement) -> wire::Requirement {
    wire::Requirement {
        key: Arc::from(requirement.key.as_str()),
        operator: match requirement.operator() {
            Operator::In => wire::Operator::In,
            Operator::NotIn => wire::Operator::NotIn,
            Operator::Exists => wire::Operator::Exists,
            Operator::DoesNotExist => wire::Operator::DoesNotExist,
            Operator::Gt => wire::Operator::Gt,
            Operator::Lt => wire::Operator::Lt,
            Operator::Unknown => wire::Operator::Unknown,
        },
        values: requirement.values.iter().map(|value| Arc::from(value.as_str())).collect(),
    }
}

fn toleration(toleration: &Toleration) -> wire::Toleration {
    wire::Toleration {
        key: Arc::from(toleration.key.as_str()),
        operator: match toleration.operator {
            TolerationOperator::Equal => wire::TolerationOperator::Equal,
            TolerationOperator::Exists => wire::TolerationOperator::Exists,
            TolerationOperator::Other => wire::TolerationOperator::Other,
        },
        value: Arc::from(toleration.value.as_str()),
        effect: toleration.effect.map(effect),
    }
}

fn effect(effect: TaintEffect) -> wire::Effect {
    match effect {
        TaintEffect::NoSchedule => wire::Effect::NoSchedule,
        TaintEffect::PreferNoSchedule => wire::Effect::PreferNoSchedule,
        TaintEffect::NoExecute => wire::Effect::NoExecute,
        TaintEffect::Other => wire::Effect::Other,
    }
}
