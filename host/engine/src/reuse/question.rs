//! What can be asked about a pod and a snapshot, and how two answers are told apart. [`ask`] is the one place that says
//! what an answer depends on: whoever asks the same question again and gets the same answer has lost nothing.

use std::hash::{Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHasher;

use crate::Context;
use crate::size::{SHARED, Size, column, deep_column, label_column};
use nodesift_cache::metadata::{PodFacts, PodSelector};
use nodesift_cache::{Column, CountKey, Generation, LabelColumn, MatchedTerm, PortUse};
use nodesift_object::node::Taint;
use nodesift_sandbox::{Facts as _, Interface, wire};

/// A fact that a predicate has asked for. Columns are those over all rows: a predicate that is pointwise asks for columns
/// without being written down, see [`super::recorder`]. What it asks of the cluster as a whole is, [`Question::DeviceClassServes`]
/// and the label texts of [`super::carried`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    // About the pod.
    Part(Part),
    Label(Arc<str>),
    NodeName,
    Volumes,
    Owner,
    // About the pod as the cluster sees it.
    DefaultSelector,
    MatchesThisPod(Vec<PodSelector>),
    // About nodes.
    Names,
    RowOf(Arc<str>),
    Labels(Arc<str>),
    Unschedulable,
    TaintSets,
    TaintCodes,
    Amounts(Measure, Arc<str>),
    Tally(Tally),
    DeviceClassServes(Arc<str>),
    PortUse,
    FeatureSets,
    FeatureCodes,
    // About the cluster.
    Count(CountKey),
    AntiAffinity,
    DiskUsers(wire::DiskKind, Arc<str>),
    ClaimUsers(Arc<str>),
    Wanted(bool),
    Registered,
    Limited,
    Limit(Arc<str>),
    Used(Arc<str>),
    RowsWith(wire::Attachment),
    Uncounted,
    Claim(Arc<str>),
    Volume(Arc<str>),
    VolumesFor(Arc<str>),
    Class(Arc<str>),
    DefaultClass,
    ReportsCapacity(Arc<str>),
    Capacities(Arc<str>),
    Migrated(Arc<str>),
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// The pod: by the answers the verdicts of different pods are found. Of all others the last answer is kept.
    Pod,
    /// The state of the cluster, and pods that come to nodes or leave them do not change it.
    Cluster,
    /// What these change, by way of the interface.
    PodsOnNodes(Interface),
}

/// A part of [`PodFacts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Namespace,
    NodeSelector,
    RequiredAffinity,
    Tolerations,
    Requests,
    Spread,
    Affinity,
    AntiAffinity,
    Features,
    HostPorts,
}

/// A column of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Allocatable,
    Foreign,
    Free,
}

/// A column about how many pods there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tally {
    Pods,
    Foreign,
    Limit,
    Room,
}

/// What a question was answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// Of which only the part asked for counts.
    Facts(Arc<PodFacts>),
    Text(Option<Arc<str>>),
    Owner((Arc<str>, Arc<str>, Arc<str>)),
    PodVolumes(Vec<wire::PodVolume>),
    Selector(Option<wire::LabelSelector>),
    Flag(bool),
    Number(u32),
    Row(Option<u32>),
    Names(Column<Arc<str>>),
    Labels(Option<Arc<LabelColumn>>),
    Bytes(Column<u8>),
    Codes(Column<u32>),
    Integers(Option<Column<i64>>),
    TaintSets(Column<Arc<Vec<Taint>>>),
    FeatureSets(Column<Arc<Vec<Arc<str>>>>),
    PortUse(Column<u32>, Column<Arc<PortUse>>),
    AntiAffinity(AntiAffinity),
    DiskUsers(Vec<wire::DiskUser>),
    Wanted(Result<Vec<wire::Attachment>, wire::Obstacle>),
    FlatBytes(Arc<[u8]>),
    FlatIntegers(Arc<[i64]>),
    Rows(Vec<u32>),
    Uncounted(Vec<wire::UncountedPod>),
    Claim(Option<Box<wire::Claim>>),
    Volumes(Vec<wire::Volume>),
    Class(Option<wire::StorageClass>),
    Capacities(Vec<wire::StorageCapacity>),
}

/// The terms of other pods that match the pod, and for which pod they were looked up and when: matching a pod against
/// every distinct term is the dearest of all questions, and terms change seldom.
#[derive(Debug)]
pub(super) struct AntiAffinity {
    terms: Vec<MatchedTerm>,
    facts: Arc<PodFacts>,
    seen: AtomicU64,
}

impl AntiAffinity {
    fn of(context: &Context) -> Self {
        Self {
            terms: context.matched_terms().to_vec(),
            facts: Arc::clone(context.pod()),
            seen: AtomicU64::new(context.snapshot().generation().0),
        }
    }

    fn holds(&self, context: &Context) -> bool {
        let (snapshot, pod) = (context.snapshot(), context.pod());
        let same_pod =
            Arc::ptr_eq(&self.facts, pod) || self.facts.namespace == pod.namespace && self.facts.labels == pod.labels;
        let seen = Generation(self.seen.load(Ordering::Relaxed));
        if same_pod && snapshot.anti_affinity_changed() <= seen && seen <= snapshot.generation() {
            return true;
        }
        let holds = self.terms == context.matched_terms();
        if holds && same_pod {
            self.seen.fetch_max(snapshot.generation().0, Ordering::Relaxed);
        }
        holds
    }
}

/// Answers a question about the pod and the snapshot of a context.
pub(super) fn ask(question: &Question, context: &Context) -> Answer {
    let snapshot = context.snapshot();
    let integers = |column: &Column<i64>| Answer::Integers(Some(column.clone()));
    match question {
        Question::Part(_) => Answer::Facts(Arc::clone(context.pod())),
        Question::Label(key) => Answer::Text(context.label(key)),
        Question::NodeName => Answer::Text(context.node_name()),
        Question::Volumes => Answer::PodVolumes(context.volumes()),
        Question::Owner => Answer::Owner(context.owner()),
        Question::DefaultSelector => Answer::Selector(context.default_selector()),
        Question::MatchesThisPod(selectors) => Answer::Flag(context.is_matched_by(selectors)),
        Question::Names => Answer::Names(snapshot.names().clone()),
        Question::RowOf(name) => Answer::Row(snapshot.node_row(name).map(|row| row.0)),
        Question::Labels(key) => Answer::Labels(snapshot.label_column(key)),
        Question::Unschedulable => Answer::Bytes(snapshot.unschedulable().clone()),
        Question::TaintSets => Answer::TaintSets(snapshot.taint_sets().clone()),
        Question::TaintCodes => Answer::Codes(snapshot.taint_codes().clone()),
        Question::Amounts(measure, resource) => {
            Answer::Integers(snapshot.resource(resource).map(|found| match measure {
                Measure::Allocatable => found.allocatable.clone(),
                Measure::Foreign => found.foreign.clone(),
                Measure::Free => found.free.clone(),
            }))
        }
        Question::Tally(Tally::Pods) => integers(snapshot.pods()),
        Question::Tally(Tally::Foreign) => integers(snapshot.foreign_pods()),
        Question::Tally(Tally::Limit) => integers(snapshot.pod_limit()),
        Question::Tally(Tally::Room) => integers(snapshot.pod_room()),
        Question::DeviceClassServes(resource) => Answer::Flag(snapshot.device_class_serves(resource)),
        Question::PortUse => Answer::PortUse(snapshot.port_codes().clone(), snapshot.port_sets().clone()),
        Question::FeatureSets => Answer::FeatureSets(snapshot.feature_sets().clone()),
        Question::FeatureCodes => Answer::Codes(snapshot.feature_codes().clone()),
        Question::Count(key) => Answer::Codes(snapshot.count(key)),
        Question::AntiAffinity => Answer::AntiAffinity(AntiAffinity::of(context)),
        Question::DiskUsers(kind, id) => Answer::DiskUsers(context.disk_users(*kind, id)),
        Question::ClaimUsers(claim) => Answer::Number(context.claim_users(claim)),
        Question::Wanted(registered) => Answer::Wanted(context.wanted_attachments(*registered)),
        Question::Registered => Answer::FlatBytes(context.attachment_registered()),
        Question::Limited => Answer::FlatBytes(context.attachment_limited()),
        Question::Limit(driver) => Answer::FlatIntegers(context.attachment_limit(driver)),
        Question::Used(driver) => Answer::FlatIntegers(context.attachments_used(driver)),
        Question::RowsWith(volume) => Answer::Rows(context.rows_with_attachment(volume)),
        Question::Uncounted => Answer::Uncounted(context.uncounted_pods()),
        Question::Claim(name) => Answer::Claim(context.claim(name).map(Box::new)),
        Question::Volume(name) => Answer::Volumes(context.volume(name).into_iter().collect()),
        Question::VolumesFor(claim) => Answer::Volumes(context.volumes_for(claim)),
        Question::Class(name) => Answer::Class(context.storage_class(name)),
        Question::DefaultClass => Answer::Text(context.default_class()),
        Question::ReportsCapacity(driver) => Answer::Flag(context.driver_reports_capacity(driver)),
        Question::Capacities(class) => Answer::Capacities(context.capacities(class)),
        Question::Migrated(plugin) => Answer::FlatBytes(context.migrated(plugin)),
    }
}

impl Question {
    /// What it is about.
    pub(super) fn about(&self) -> About {
        match self {
            Self::Part(_)
            | Self::Label(_)
            | Self::NodeName
            | Self::Volumes
            | Self::Owner
            | Self::DefaultSelector
            | Self::MatchesThisPod(_) => About::Pod,
            Self::Amounts(..) | Self::Tally(_) => About::PodsOnNodes(Interface::NodeResources),
            Self::PortUse => About::PodsOnNodes(Interface::NodePorts),
            Self::Count(_) => About::PodsOnNodes(Interface::ClusterPods),
            Self::AntiAffinity => About::PodsOnNodes(Interface::ClusterAffinity),
            Self::DiskUsers(..) | Self::ClaimUsers(_) => About::PodsOnNodes(Interface::ClusterVolumeUse),
            Self::Used(_) | Self::RowsWith(_) | Self::Uncounted => About::PodsOnNodes(Interface::ClusterAttachments),
            // What the pod itself would attach, and what nodes can.
            Self::Wanted(_) | Self::Registered | Self::Limited | Self::Limit(_) => About::Cluster,
            Self::Names
            | Self::RowOf(_)
            | Self::Labels(_)
            | Self::Unschedulable
            | Self::TaintSets
            | Self::TaintCodes
            | Self::DeviceClassServes(_)
            | Self::FeatureSets
            | Self::FeatureCodes
            | Self::Claim(_)
            | Self::Volume(_)
            | Self::VolumesFor(_)
            | Self::Class(_)
            | Self::DefaultClass
            | Self::ReportsCapacity(_)
            | Self::Capacities(_)
            | Self::Migrated(_) => About::Cluster,
        }
    }

    /// Whether the verdicts of different pods are found by its answers.
    pub(super) fn is_about_pod(&self) -> bool {
        self.about() == About::Pod
    }

    /// Whether it is about the state of the cluster, and yet its answer depends on which pod asks.
    pub(super) fn depends_on_both(&self) -> bool {
        let by_claims = matches!(self, Self::ClaimUsers(_) | Self::Wanted(_) | Self::Claim(_) | Self::VolumesFor(_));
        by_claims || *self == Self::AntiAffinity
    }

    /// The hash of the answer to a question about a pod.
    pub(super) fn digest(&self, context: &Context) -> u64 {
        let mut hasher = FxHasher::default();
        match self {
            Self::Part(part) => part.hash(context.pod(), &mut hasher),
            _ => match ask(self, context) {
                Answer::Text(text) => text.hash(&mut hasher),
                Answer::Owner(owner) => owner.hash(&mut hasher),
                Answer::PodVolumes(volumes) => volumes.hash(&mut hasher),
                Answer::Selector(selector) => selector.hash(&mut hasher),
                Answer::Flag(flag) => flag.hash(&mut hasher),
                // Everything else is no answer about a pod; equal hashes are correct, only slow.
                _ => {}
            },
        }
        hasher.finish()
    }
}

impl Part {
    fn hash(self, pod: &PodFacts, hasher: &mut FxHasher) {
        match self {
            Self::Namespace => pod.namespace.hash(hasher),
            Self::NodeSelector => pod.node_selector.hash(hasher),
            Self::RequiredAffinity => pod.required_affinity.hash(hasher),
            Self::Tolerations => pod.tolerations.hash(hasher),
            Self::Requests => pod.requests.hash(hasher),
            Self::Spread => pod.spread.hash(hasher),
            Self::Affinity => pod.affinity.hash(hasher),
            Self::AntiAffinity => pod.anti_affinity.hash(hasher),
            Self::Features => pod.required_features.hash(hasher),
            Self::HostPorts => pod.host_ports.hash(hasher),
        }
    }

    fn is_same(self, a: &PodFacts, b: &PodFacts) -> bool {
        match self {
            Self::Namespace => a.namespace == b.namespace,
            Self::NodeSelector => a.node_selector == b.node_selector,
            Self::RequiredAffinity => a.required_affinity == b.required_affinity,
            Self::Tolerations => a.tolerations == b.tolerations,
            Self::Requests => a.requests == b.requests,
            Self::Spread => a.spread == b.spread,
            Self::Affinity => a.affinity == b.affinity,
            Self::AntiAffinity => a.anti_affinity == b.anti_affinity,
            Self::Features => a.required_features == b.required_features,
            Self::HostPorts => a.host_ports == b.host_ports,
        }
    }
}

/// A question and what it was answered.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) question: Question,
    answer: Answer,
}

impl Read {
    /// Asks.
    pub(super) fn new(question: Question, context: &Context) -> Self {
        let answer = ask(&question, context);
        Self { question, answer }
    }

    /// Whether the question would get the same answer again.
    pub(super) fn holds(&self, context: &Context) -> bool {
        match (&self.question, &self.answer) {
            (Question::Part(part), Answer::Facts(facts)) => {
                Arc::ptr_eq(facts, context.pod()) || part.is_same(facts, context.pod())
            }
            (_, Answer::AntiAffinity(known)) => known.holds(context),
            (question, known) => known.is_same(&ask(question, context)),
        }
    }

    /// The counts per row that the question was answered; none where it is about something else.
    pub(super) fn counts(&self) -> Option<&Column<u32>> {
        match &self.answer {
            Answer::Codes(counts) => Some(counts),
            _ => None,
        }
    }

    /// The facts of the pod that asked, where the answer keeps them alive. All answers to one pod keep the same.
    pub(super) fn facts(&self) -> Option<&Arc<PodFacts>> {
        match &self.answer {
            Answer::Facts(facts) => Some(facts),
            Answer::AntiAffinity(known) => Some(&known.facts),
            _ => None,
        }
    }

    /// Bytes that question and answer keep alive, at most: columns are shared with snapshots and other answers. Those of
    /// [`Self::facts`] come on top.
    pub(super) fn bytes(&self) -> usize {
        SHARED + size_of::<Self>() + self.question.heap() + self.answer.heap()
    }
}

impl Size for Question {
    fn heap(&self) -> usize {
        match self {
            Self::MatchesThisPod(selectors) => selectors.heap(),
            Self::Count(key) => key.selectors.heap(),
            Self::RowsWith(volume) => volume.heap(),
            Self::Label(text)
            | Self::RowOf(text)
            | Self::Labels(text)
            | Self::Amounts(_, text)
            | Self::DeviceClassServes(text)
            | Self::DiskUsers(_, text)
            | Self::ClaimUsers(text)
            | Self::Limit(text)
            | Self::Used(text)
            | Self::Claim(text)
            | Self::Volume(text)
            | Self::VolumesFor(text)
            | Self::Class(text)
            | Self::ReportsCapacity(text)
            | Self::Capacities(text)
            | Self::Migrated(text) => text.heap(),
            Self::Part(_)
            | Self::NodeName
            | Self::Volumes
            | Self::Owner
            | Self::DefaultSelector
            | Self::Names
            | Self::Unschedulable
            | Self::TaintSets
            | Self::TaintCodes
            | Self::Tally(_)
            | Self::PortUse
            | Self::FeatureSets
            | Self::FeatureCodes
            | Self::AntiAffinity
            | Self::Wanted(_)
            | Self::Registered
            | Self::Limited
            | Self::Uncounted
            | Self::DefaultClass => 0,
        }
    }
}

impl Size for Answer {
    fn heap(&self) -> usize {
        match self {
            Self::Facts(_) | Self::Flag(_) | Self::Number(_) | Self::Row(_) => 0,
            Self::Text(text) => text.heap(),
            Self::Owner(owner) => owner.heap(),
            Self::PodVolumes(volumes) => volumes.heap(),
            Self::Selector(selector) => selector.heap(),
            Self::Names(names) => deep_column(names),
            Self::Labels(labels) => labels.as_deref().map_or(0, label_column),
            Self::Bytes(bytes) => column(bytes),
            Self::Codes(codes) => column(codes),
            Self::Integers(integers) => integers.as_ref().map_or(0, column),
            Self::TaintSets(sets) => deep_column(sets),
            Self::FeatureSets(sets) => deep_column(sets),
            Self::PortUse(codes, sets) => column(codes) + deep_column(sets),
            Self::AntiAffinity(known) => known.terms.heap(),
            Self::DiskUsers(users) => users.heap(),
            Self::Wanted(wanted) => wanted.heap(),
            Self::FlatBytes(bytes) => SHARED + bytes.len(),
            Self::FlatIntegers(integers) => SHARED + size_of_val(&**integers),
            Self::Rows(rows) => size_of_val(rows.as_slice()),
            Self::Uncounted(pods) => pods.heap(),
            Self::Claim(claim) => claim.heap(),
            Self::Volumes(volumes) => volumes.heap(),
            Self::Class(class) => class.heap(),
            Self::Capacities(capacities) => capacities.heap(),
        }
    }
}

impl Answer {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Owner(a), Self::Owner(b)) => a == b,
            (Self::PodVolumes(a), Self::PodVolumes(b)) => a == b,
            (Self::Selector(a), Self::Selector(b)) => a == b,
            (Self::Flag(a), Self::Flag(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Row(a), Self::Row(b)) => a == b,
            (Self::Names(a), Self::Names(b)) => a == b,
            (Self::Labels(a), Self::Labels(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Codes(a), Self::Codes(b)) => a == b,
            (Self::Integers(a), Self::Integers(b)) => a == b,
            (Self::TaintSets(a), Self::TaintSets(b)) => a == b,
            (Self::FeatureSets(a), Self::FeatureSets(b)) => a == b,
            (Self::PortUse(a, sets), Self::PortUse(b, other_sets)) => a == b && sets == other_sets,
            (Self::DiskUsers(a), Self::DiskUsers(b)) => a == b,
            (Self::Wanted(a), Self::Wanted(b)) => a == b,
            (Self::FlatBytes(a), Self::FlatBytes(b)) => a == b,
            (Self::FlatIntegers(a), Self::FlatIntegers(b)) => a == b,
            (Self::Rows(a), Self::Rows(b)) => a == b,
            (Self::Uncounted(a), Self::Uncounted(b)) => a == b,
            (Self::Claim(a), Self::Claim(b)) => a == b,
            (Self::Volumes(a), Self::Volumes(b)) => a == b,
            (Self::Class(a), Self::Class(b)) => a == b,
            (Self::Capacities(a), Self::Capacities(b)) => a == b,
            // Answers to different questions, and those that [`Read::holds`] compares.
            _ => false,
        }
    }
}
