//! The facts of one call, with everything that is asked of them written down. Every function of the contract is here:
//! which questions of [`super::question`] its answer depends on, and there is no other list of that.
//!
//! A pointwise predicate's columns are not written down by value: its verdict for a row depends on that row alone, so it
//! is enough to know which interfaces it looked at, and which rows have changed in these. What such an interface says of
//! the whole cluster is written down all the same: which label texts there are, what DeviceClasses serve.
//!
//! By what a guest asks is the guest's choice, so that it is copied only within a budget; a call that asks by more is not
//! written down at all.

use std::sync::Arc;

use parking_lot::Mutex;

use super::carried::Asked;
use super::question::{Measure, Part, Question, Read, Tally};
use crate::Context;
use crate::limits::{REUSE_QUESTION_BYTES, REUSE_READS};
use crate::size::{SHARED, Size as _};
use nodesift_cache::NodeInterface;
use nodesift_sandbox::{Facts, wire};

/// What a call has asked.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// In the order of the first time that each was asked.
    pub(super) reads: Vec<Arc<Read>>,
    /// Label texts that a pointwise predicate looked up.
    pub(super) label_texts: Asked,
    /// Interfaces about nodes that a pointwise predicate looked at.
    pub(super) touched: Touched,
    /// What it takes to hold what was asked by.
    question_bytes: usize,
    /// Whether it asked more than is written down; then nothing is.
    pub(super) is_cut: bool,
}

impl Trace {
    /// Whether there is room for a question that takes so much. Where there is not, all is forgotten.
    fn admits(&mut self, bytes: usize) -> bool {
        let is_too_much = self.is_cut || self.question_bytes.saturating_add(bytes) > REUSE_QUESTION_BYTES;
        if is_too_much {
            *self = Self { is_cut: true, ..Self::default() };
        }
        !is_too_much
    }
}

/// A set of interfaces about nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Touched(u8);

impl Touched {
    pub(super) fn add(&mut self, interface: NodeInterface) {
        self.0 |= 1 << interface as u8;
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = NodeInterface> {
        NodeInterface::ALL.into_iter().filter(move |interface| self.0 >> *interface as u8 & 1 == 1)
    }
}

/// The facts of a context, asked by one call of one predicate.
#[derive(Debug)]
pub(super) struct Recorder {
    context: Arc<Context>,
    /// Whether the predicate is pointwise, so that rows change one by one.
    pointwise: bool,
    trace: Mutex<Trace>,
}

impl Recorder {
    pub(super) fn new(context: Arc<Context>, pointwise: bool) -> Self {
        Self { context, pointwise, trace: Mutex::default() }
    }

    /// What has been asked so far.
    pub(super) fn take(&self) -> Trace {
        std::mem::take(&mut self.trace.lock())
    }

    /// The context, once the question has been written down.
    fn asked(&self, question: Question) -> &Context {
        self.read(0, || question, |_| ());
        &self.context
    }

    /// The context, once the question that a text makes has been written down.
    fn asked_by(&self, text: &str, question: impl FnOnce(Arc<str>) -> Question) -> &Context {
        self.read(text.len() + SHARED, || question(text.into()), |_| ());
        &self.context
    }

    /// Writes down a question that takes so many bytes beside itself; it is not made where there is no room for it.
    fn read<T>(&self, bytes: usize, question: impl FnOnce() -> Question, answer: impl FnOnce(&Read) -> T) -> Option<T> {
        let mut trace = self.trace.lock();
        if trace.is_cut || bytes > REUSE_QUESTION_BYTES {
            trace.admits(bytes);
            return None;
        }
        let question = question();
        if let Some(known) = trace.reads.iter().find(|read| read.question == question) {
            return Some(answer(known));
        }
        let bytes = if trace.reads.len() == REUSE_READS { usize::MAX } else { bytes };
        if !trace.admits(bytes) {
            return None;
        }
        trace.question_bytes += bytes;
        trace.reads.push(Arc::new(Read::new(question, &self.context)));
        trace.reads.last().map(|read| answer(read))
    }

    fn part(&self, part: Part) -> &Context {
        self.asked(Question::Part(part))
    }

    /// The context, once it is written down that columns of nodes were asked for.
    fn nodes(&self, interface: NodeInterface, question: Question) -> &Context {
        if self.pointwise {
            return self.touch(interface);
        }
        self.asked(question)
    }

    /// The same for columns that a text names.
    fn nodes_by(&self, interface: NodeInterface, text: &str, question: impl FnOnce(Arc<str>) -> Question) -> &Context {
        if self.pointwise {
            return self.touch(interface);
        }
        self.asked_by(text, question)
    }

    fn touch(&self, interface: NodeInterface) -> &Context {
        self.trace.lock().touched.add(interface);
        &self.context
    }

    fn labels(&self, key: &str) -> &Context {
        self.nodes_by(NodeInterface::Labels, key, Question::Labels)
    }

    fn amounts(&self, measure: Measure, resource: &str) -> &Context {
        self.nodes_by(NodeInterface::Resources, resource, |resource| Question::Amounts(measure, resource))
    }

    fn tally(&self, tally: Tally) -> &Context {
        self.nodes(NodeInterface::Resources, Question::Tally(tally))
    }

    /// Claims are looked up in the pod's namespace: pods of one namespace share what is found.
    fn claims(&self, claim: &str, question: impl FnOnce(Arc<str>) -> Question) -> &Context {
        self.part(Part::Namespace);
        self.asked_by(claim, question)
    }

    /// Writes down that a text was looked up under a label key, and whether some node carries it.
    fn looked_up(&self, key: &str, text: &str, is_carried: bool) {
        let mut trace = self.trace.lock();
        if trace.is_cut || trace.label_texts.contains(key, text) {
            return;
        }
        let bytes = trace.label_texts.bytes_of(key, text);
        if trace.admits(bytes) {
            trace.question_bytes += bytes;
            trace.label_texts.insert(key, text, is_carried);
        }
    }
}

impl Facts for Recorder {
    fn namespace(&self) -> Arc<str> {
        self.part(Part::Namespace).namespace()
    }

    fn label(&self, key: &str) -> Option<Arc<str>> {
        self.asked_by(key, Question::Label).label(key)
    }

    fn node_name(&self) -> Option<Arc<str>> {
        self.asked(Question::NodeName).node_name()
    }

    fn node_selector(&self) -> Arc<[(Arc<str>, Arc<str>)]> {
        self.part(Part::NodeSelector).node_selector()
    }

    fn required_terms(&self) -> Option<Vec<wire::Term>> {
        self.part(Part::RequiredAffinity).required_terms()
    }

    fn tolerations(&self) -> Vec<wire::Toleration> {
        self.part(Part::Tolerations).tolerations()
    }

    fn requests(&self) -> Vec<wire::Request> {
        self.part(Part::Requests).requests()
    }

    fn names(&self) -> Arc<[Arc<str>]> {
        self.nodes(NodeInterface::Identity, Question::Names).names()
    }

    fn row(&self, name: &str) -> Option<u32> {
        self.nodes_by(NodeInterface::Identity, name, Question::RowOf).row(name)
    }

    fn label_column(&self, key: &str) -> Arc<[u32]> {
        self.labels(key).label_column(key)
    }

    fn label_code(&self, key: &str, text: &str) -> Option<u32> {
        let code = self.labels(key).label_code(key, text);
        if self.pointwise {
            self.looked_up(key, text, code.is_some());
        }
        code
    }

    fn label_dictionary(&self, key: &str) -> Arc<[Arc<str>]> {
        self.labels(key).label_dictionary(key)
    }

    fn label_integers(&self, key: &str) -> Arc<[i64]> {
        self.labels(key).label_integers(key)
    }

    fn unschedulable(&self) -> Arc<[u8]> {
        self.nodes(NodeInterface::Taints, Question::Unschedulable).unschedulable()
    }

    fn taint_sets(&self) -> Vec<Vec<wire::Taint>> {
        self.nodes(NodeInterface::Taints, Question::TaintSets).taint_sets()
    }

    fn taint_column(&self) -> Arc<[u32]> {
        self.nodes(NodeInterface::Taints, Question::TaintCodes).taint_column()
    }

    fn allocatable(&self, resource: &str) -> Arc<[i64]> {
        self.amounts(Measure::Allocatable, resource).allocatable(resource)
    }

    fn requested(&self, resource: &str) -> Arc<[i64]> {
        self.amounts(Measure::Allocatable, resource);
        self.amounts(Measure::Free, resource).requested(resource)
    }

    fn foreign(&self, resource: &str) -> Arc<[i64]> {
        self.amounts(Measure::Foreign, resource).foreign(resource)
    }

    fn free(&self, resource: &str) -> Arc<[i64]> {
        self.amounts(Measure::Free, resource).free(resource)
    }

    fn pods(&self) -> Arc<[i64]> {
        self.tally(Tally::Pods).pods()
    }

    fn foreign_pods(&self) -> Arc<[i64]> {
        self.tally(Tally::Foreign).foreign_pods()
    }

    fn pod_limit(&self) -> Arc<[i64]> {
        self.tally(Tally::Limit).pod_limit()
    }

    fn pod_room(&self) -> Arc<[i64]> {
        self.tally(Tally::Room).pod_room()
    }

    fn device_class_serves(&self, resource: &str) -> bool {
        self.asked_by(resource, Question::DeviceClassServes).device_class_serves(resource)
    }

    fn port_conflicts(&self) -> Option<Arc<[u8]>> {
        // Who asks for no port learns nothing about nodes.
        if self.part(Part::HostPorts).pod().host_ports.is_empty() {
            return None;
        }
        self.nodes(NodeInterface::Ports, Question::PortUse).port_conflicts()
    }

    fn spread_constraints(&self) -> Vec<wire::SpreadConstraint> {
        self.part(Part::Spread).spread_constraints()
    }

    fn default_selector(&self) -> Option<wire::LabelSelector> {
        self.asked(Question::DefaultSelector).default_selector()
    }

    fn affinity(&self) -> Vec<wire::AffinityTerm> {
        self.part(Part::Affinity).affinity()
    }

    fn anti_affinity(&self) -> Vec<wire::AffinityTerm> {
        self.part(Part::AntiAffinity).anti_affinity()
    }

    fn matching_pods(&self, selectors: &[wire::PodSelector], terminating: bool) -> Option<Arc<[u32]>> {
        let key = Context::count_key(selectors, terminating)?;
        let counts = |read: &Read| read.counts().map(|counts| self.context.column(counts));
        let counts = self.read(key.selectors.heap(), || Question::Count(key), counts);
        counts.flatten().or_else(|| self.context.matching_pods(selectors, terminating))
    }

    fn matches_this_pod(&self, selectors: &[wire::PodSelector]) -> Option<bool> {
        let selectors = Context::count_key(selectors, false)?.selectors;
        self.read(selectors.heap(), || Question::MatchesThisPod(selectors.clone()), |_| ());
        Some(self.context.is_matched_by(&selectors))
    }

    fn anti_affinity_keys(&self) -> Vec<Arc<str>> {
        self.asked(Question::AntiAffinity).anti_affinity_keys()
    }

    fn anti_affinity_terms(&self, topology_key: &str) -> Arc<[u32]> {
        self.asked(Question::AntiAffinity).anti_affinity_terms(topology_key)
    }

    fn required_features(&self) -> Vec<Arc<str>> {
        self.part(Part::Features).required_features()
    }

    fn feature_sets(&self) -> Vec<Vec<Arc<str>>> {
        self.nodes(NodeInterface::Features, Question::FeatureSets).feature_sets()
    }

    fn feature_column(&self) -> Arc<[u32]> {
        self.nodes(NodeInterface::Features, Question::FeatureCodes).feature_column()
    }

    fn volumes(&self) -> Vec<wire::PodVolume> {
        self.asked(Question::Volumes).volumes()
    }

    fn owner(&self) -> (Arc<str>, Arc<str>, Arc<str>) {
        self.asked(Question::Owner).owner()
    }

    fn disk_users(&self, kind: wire::DiskKind, id: &str) -> Vec<wire::DiskUser> {
        self.asked_by(id, |id| Question::DiskUsers(kind, id)).disk_users(kind, id)
    }

    fn claim_users(&self, claim: &str) -> u32 {
        self.claims(claim, Question::ClaimUsers).claim_users(claim)
    }

    fn wanted_attachments(&self, registered: bool) -> Result<Vec<wire::Attachment>, wire::Obstacle> {
        // What the pod's volumes would attach depends on these, and on whose they are.
        self.asked(Question::Volumes);
        self.part(Part::Namespace);
        self.asked(Question::Wanted(registered)).wanted_attachments(registered)
    }

    fn attachment_registered(&self) -> Arc<[u8]> {
        self.asked(Question::Registered).attachment_registered()
    }

    fn attachment_limited(&self) -> Arc<[u8]> {
        self.asked(Question::Limited).attachment_limited()
    }

    fn attachment_limit(&self, driver: &str) -> Arc<[i64]> {
        self.asked_by(driver, Question::Limit).attachment_limit(driver)
    }

    fn attachments_used(&self, driver: &str) -> Arc<[i64]> {
        self.asked_by(driver, Question::Used).attachments_used(driver)
    }

    fn rows_with_attachment(&self, volume: &wire::Attachment) -> Vec<u32> {
        self.read(volume.heap(), || Question::RowsWith(volume.clone()), |_| ());
        self.context.rows_with_attachment(volume)
    }

    fn uncounted_pods(&self) -> Vec<wire::UncountedPod> {
        self.asked(Question::Uncounted).uncounted_pods()
    }

    fn claim(&self, name: &str) -> Option<wire::Claim> {
        self.claims(name, Question::Claim).claim(name)
    }

    fn volume(&self, name: &str) -> Option<wire::Volume> {
        self.asked_by(name, Question::Volume).volume(name)
    }

    fn volumes_for(&self, claim: &str) -> Vec<wire::Volume> {
        self.claims(claim, Question::VolumesFor).volumes_for(claim)
    }

    fn storage_class(&self, name: &str) -> Option<wire::StorageClass> {
        self.asked_by(name, Question::Class).storage_class(name)
    }

    fn default_class(&self) -> Option<Arc<str>> {
        self.asked(Question::DefaultClass).default_class()
    }

    fn driver_reports_capacity(&self, driver: &str) -> bool {
        self.asked_by(driver, Question::ReportsCapacity).driver_reports_capacity(driver)
    }

    fn capacities(&self, class_name: &str) -> Vec<wire::StorageCapacity> {
        self.asked_by(class_name, Question::Capacities).capacities(class_name)
    }

    fn migrated(&self, plugin: &str) -> Arc<[u8]> {
        self.asked_by(plugin, Question::Migrated).migrated(plugin)
    }
}
