//! Facts that a call has read: the key that names a fact, the value that it had, and whether it would have it again.
//!
//! The table at the end of this file has one entry per fact. From it follow the keys, the values, how a value is read from
//! a [`Context`], how two values are compared, and how many bytes they take. An entry without all of these does not compile.
//! [`super::recorder`] says which functions of the contract read which facts.
//!
//! Columns here are those over all rows. A pointwise predicate's columns are recorded by interface instead, see
//! [`super::recorder`].

use std::hash::{Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nodesift_cache::metadata::{PodFacts, PodSelector};
use nodesift_cache::{
    Column, ControlledPods, ControllerRows, CountKey, Dictionary, Generation, LabelColumn, MatchedScoringTerm,
    MatchedTerm, Moment, PortUse, Row, Snapshot, SumKey,
};
use nodesift_object::node::Taint;
use nodesift_sandbox::{Facts as _, Interface, Meter, wire};
use rustc_hash::FxHasher;

use super::size::{SHARED, Size};
use crate::Context;
use crate::facts::ByKey;
use crate::party::PartySeat;
use DependsOnPod::{No, Yes};
use FactScope::{Cluster, PodsOnNodes};

/// Object of a fact: the pod alone, the cluster, or the pods on nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FactScope {
    /// The pod alone: the verdicts of different pods are told apart by the values of these facts.
    Pod,
    /// The state of the cluster. Pods that are bound to nodes or removed do not change it.
    Cluster(DependsOnPod),
    /// Pods on nodes, as the interface shows them.
    PodsOnNodes(Interface, DependsOnPod),
}

/// Whether a fact about the cluster has another value for another pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DependsOnPod {
    No,
    Yes,
}

/// Makes [`PodField`], [`FactKey`] and [`FactValue`] from the table.
macro_rules! fact_table {
    (
        fields of the pod {
            $($field:ident: $member:ident;)*
        }
        facts about the pod {
            $($pod_key:ident $(($($pod_argument:ident: $pod_argument_type:ty),*))?: $pod_value:ty
                = |$pod_context:ident| $pod_read:expr;)*
        }
        facts about the cluster {
            $($key:ident $(($($argument:ident: $argument_type:ty),*))?: $value:ty, $scope:expr
                => |$context:ident| $read:expr;)*
        }
    ) => {
        /// A field of [`PodFacts`] that is read as a whole.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum PodField {
            $($field,)*
        }

        impl PodField {
            fn hash(self, pod: &PodFacts, hasher: &mut FxHasher) {
                match self {
                    $(Self::$field => pod.$member.hash(hasher),)*
                }
            }

            fn is_same(self, a: &PodFacts, b: &PodFacts) -> bool {
                match self {
                    $(Self::$field => a.$member == b.$member,)*
                }
            }
        }

        /// Key of a fact that a call can read, with the arguments of the read.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) enum FactKey {
            PodField(PodField),
            AntiAffinity,
            ScoringTerms,
            $($pod_key $(($($pod_argument_type),*))?,)*
            $($key $(($($argument_type),*))?,)*
        }

        /// Value of a fact; each variant belongs to the key of the same name.
        #[derive(Debug)]
        pub(super) enum FactValue {
            /// Of which only the field counts.
            PodField(Arc<PodFacts>),
            AntiAffinity(Matched<MatchedTerm>),
            ScoringTerms(Matched<MatchedScoringTerm>),
            $($pod_key($pod_value),)*
            $($key($value),)*
        }

        impl FactKey {
            /// Returns whether the fact is about the pod, the cluster, or the pods on nodes.
            pub(super) fn scope(&self) -> FactScope {
                match self {
                    Self::PodField(_) => FactScope::Pod,
                    Self::AntiAffinity => PodsOnNodes(Interface::ClusterAffinity, Yes),
                    Self::ScoringTerms => PodsOnNodes(Interface::ClusterPreferences, Yes),
                    $(Self::$pod_key { .. } => FactScope::Pod,)*
                    $(Self::$key { .. } => $scope,)*
                }
            }

            /// The hash of the value of a fact about the pod. Facts about the cluster hash to the same: equal hashes are correct,
            /// only slow.
            pub(super) fn digest(&self, context: &Context) -> u64 {
                let mut hasher = FxHasher::default();
                match self {
                    Self::PodField(field) => field.hash(context.pod(), &mut hasher),
                    $(Self::$pod_key $(($($pod_argument),*))? => {
                        let $pod_context = context;
                        ($pod_read).hash(&mut hasher);
                    })*
                    Self::AntiAffinity | Self::ScoringTerms => {}
                    $(Self::$key { .. } => {})*
                }
                hasher.finish()
            }

            fn read(&self, context: &Context) -> FactValue {
                match self {
                    Self::PodField(_) => FactValue::PodField(Arc::clone(context.pod())),
                    Self::AntiAffinity => FactValue::AntiAffinity(Matched::new(context)),
                    Self::ScoringTerms => FactValue::ScoringTerms(Matched::new(context)),
                    $(Self::$pod_key $(($($pod_argument),*))? => {
                        let $pod_context = context;
                        FactValue::$pod_key($pod_read)
                    })*
                    $(Self::$key $(($($argument),*))? => {
                        let $context = context;
                        FactValue::$key($read)
                    })*
                }
            }
        }

        impl Size for FactKey {
            fn heap(&self) -> usize {
                match self {
                    Self::PodField(_) | Self::AntiAffinity | Self::ScoringTerms => 0,
                    $(Self::$pod_key $(($($pod_argument),*))? => 0 $($(+ $pod_argument.heap())*)?,)*
                    $(Self::$key $(($($argument),*))? => 0 $($(+ $argument.heap())*)?,)*
                }
            }
        }

        impl Size for FactValue {
            fn heap(&self) -> usize {
                match self {
                    // Counted once for all reads of a call, see `FactRead::facts`.
                    Self::PodField(_) => 0,
                    Self::AntiAffinity(known) => known.terms.heap(),
                    Self::ScoringTerms(known) => known.terms.heap(),
                    $(Self::$pod_key(value) => value.heap(),)*
                    $(Self::$key(value) => value.heap(),)*
                }
            }
        }

        impl FactValue {
            fn is_same(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$pod_key(a), Self::$pod_key(b)) => a == b,)*
                    $((Self::$key(a), Self::$key(b)) => a == b,)*
                    // Values of different facts, and those that `FactRead::holds` compares.
                    _ => false,
                }
            }
        }
    };
}

impl FactKey {
    /// Whether the verdicts of different pods are told apart by the fact.
    pub(super) fn is_about_pod(&self) -> bool {
        self.scope() == FactScope::Pod
    }

    /// Whether it is about the state of the cluster and has another value for another pod.
    pub(super) fn depends_on_both(&self) -> bool {
        matches!(self.scope(), Cluster(Yes) | PodsOnNodes(_, Yes))
    }
}

/// A fact and the value that was read.
#[derive(Debug)]
pub(super) struct FactRead {
    pub(super) key: FactKey,
    value: FactValue,
}

impl FactRead {
    /// Reads the value of a fact from a context.
    pub(super) fn new(key: FactKey, context: &Context) -> Self {
        let value = key.read(context);
        Self { key, value }
    }

    /// The value that a key has been found to have.
    pub(super) fn found(key: FactKey, value: FactValue) -> Self {
        Self { key, value }
    }

    /// The value that was read.
    pub(super) fn value(&self) -> &FactValue {
        &self.value
    }

    /// The counts per row that a key has been found to have.
    pub(super) fn counted(key: CountKey, counts: Column<u32>) -> Self {
        Self { key: FactKey::PodCount(key), value: FactValue::PodCount(counts) }
    }

    /// The sums per row that a key has been found to have.
    pub(super) fn summed(key: SumKey, sums: Column<i64>) -> Self {
        Self { key: FactKey::PodSum(key), value: FactValue::PodSum(sums) }
    }

    /// Whether the fact has the same value in another context.
    pub(super) fn holds(&self, context: &Context) -> bool {
        match (&self.key, &self.value) {
            (FactKey::PodField(field), FactValue::PodField(facts)) => {
                Arc::ptr_eq(facts, context.pod()) || field.is_same(facts, context.pod())
            }
            (_, FactValue::AntiAffinity(known)) => known.holds(context),
            (_, FactValue::ScoringTerms(known)) => known.holds(context),
            (key, known) => known.is_same(&key.read(context)),
        }
    }

    /// The counts per row of a [`FactKey::PodCount`] of this key; none for other facts.
    pub(super) fn counts_of(&self, key: &CountKey) -> Option<&Column<u32>> {
        match (&self.key, &self.value) {
            (FactKey::PodCount(known), FactValue::PodCount(counts)) if known == key => Some(counts),
            _ => None,
        }
    }

    /// The sums per row of a [`FactKey::PodSum`] of this key; none for other facts.
    pub(super) fn sums_of(&self, key: &SumKey) -> Option<&Column<i64>> {
        match (&self.key, &self.value) {
            (FactKey::PodSum(known), FactValue::PodSum(sums)) if known == key => Some(sums),
            _ => None,
        }
    }

    /// The facts of the pod, where the value keeps them alive. All reads of one call keep the same.
    pub(super) fn facts(&self) -> Option<&Arc<PodFacts>> {
        match &self.value {
            FactValue::PodField(facts) => Some(facts),
            FactValue::AntiAffinity(known) => Some(&known.facts),
            FactValue::ScoringTerms(known) => Some(&known.facts),
            _ => None,
        }
    }

    /// Bytes that key and value keep alive, at most: columns are shared with snapshots and other reads. Those of
    /// [`Self::facts`] come on top.
    pub(super) fn bytes(&self) -> usize {
        SHARED + size_of::<Self>() + self.key.heap() + self.value.heap()
    }
}

/// A kind of terms of other pods that match the pod.
pub(super) trait MatchedKind: Clone + PartialEq {
    /// The terms that match the pod of a context.
    fn find(context: &Context) -> &[Self];

    /// The terms that match the pod of a context; `None` where its request ends before they are found.
    fn find_in_time(context: &Context) -> Option<&[Self]>;

    /// When the terms of the kind, or what they match, last changed.
    fn changed(snapshot: &Snapshot) -> Generation;
}

impl MatchedKind for MatchedTerm {
    fn find(context: &Context) -> &[Self] {
        context.matched_terms().terms()
    }

    fn find_in_time(context: &Context) -> Option<&[Self]> {
        context.matched_terms_while(&|| context.has_time()).map(ByKey::terms)
    }

    fn changed(snapshot: &Snapshot) -> Generation {
        snapshot.anti_affinity_changed()
    }
}

impl MatchedKind for MatchedScoringTerm {
    fn find(context: &Context) -> &[Self] {
        context.scoring_terms().terms()
    }

    fn find_in_time(context: &Context) -> Option<&[Self]> {
        context.scoring_terms_while(&|| context.has_time()).map(ByKey::terms)
    }

    fn changed(snapshot: &Snapshot) -> Generation {
        snapshot.scoring_terms_changed()
    }
}

/// The terms of other pods that match the pod, the pod that they were matched for, and the generation. To match a pod against every
/// distinct term is the most expensive of all reads, and terms change seldom.
#[derive(Debug)]
pub(super) struct Matched<T> {
    terms: Vec<T>,
    facts: Arc<PodFacts>,
    seen: AtomicU64,
}

impl<T: MatchedKind> Matched<T> {
    fn new(context: &Context) -> Self {
        Self {
            terms: T::find(context).to_vec(),
            facts: Arc::clone(context.pod()),
            seen: AtomicU64::new(context.snapshot().generation().0),
        }
    }

    fn holds(&self, context: &Context) -> bool {
        let (snapshot, pod) = (context.snapshot(), context.pod());
        let same_pod =
            Arc::ptr_eq(&self.facts, pod) || self.facts.namespace == pod.namespace && self.facts.labels == pod.labels;
        let seen = Generation(self.seen.load(Ordering::Relaxed));
        if same_pod && T::changed(snapshot) <= seen && seen <= snapshot.generation() {
            return true;
        }
        // Without an answer in time the pod is evaluated, which says that the request has ended.
        let holds = T::find_in_time(context).is_some_and(|found| self.terms == found);
        if holds && same_pod {
            self.seen.fetch_max(snapshot.generation().0, Ordering::Relaxed);
        }
        holds
    }
}

/// Pods on nodes with the controller of the pod, as one question sees them.
#[derive(Debug)]
pub(super) struct Siblings {
    rows: ControllerRows,
    terminating: bool,
}

impl Siblings {
    fn find(context: &Context, terminating: bool) -> Option<Self> {
        context.siblings().map(|rows| Self { rows, terminating })
    }
}

impl PartialEq for Siblings {
    fn eq(&self, other: &Self) -> bool {
        let seen = |siblings: &Self| -> Vec<(Row, u32)> {
            let count = |pods: &ControlledPods| {
                (pods.row, pods.running + if siblings.terminating { pods.terminating } else { 0 })
            };
            siblings.rows.iter().map(count).filter(|(_, pods)| *pods > 0).collect()
        };
        self.terminating == other.terminating && (Arc::ptr_eq(&self.rows, &other.rows) || seen(self) == seen(other))
    }
}

impl Size for Siblings {
    fn heap(&self) -> usize {
        SHARED + size_of_val(&*self.rows) + self.rows.capacity() * size_of::<ControlledPods>()
    }
}

/// The statuses of one condition per row.
#[derive(Debug)]
pub(super) struct Statuses {
    codes: Column<u32>,
    /// Status of the condition for each set of conditions, indexed by code.
    by_set: Arc<[u8]>,
}

impl Statuses {
    fn new(context: &Context, kind: &str) -> Self {
        Self { codes: context.snapshot().condition_codes().clone(), by_set: context.condition_by_set(kind) }
    }

    fn rows(&self) -> impl Iterator<Item = u8> {
        self.codes.iter().map(|code| self.by_set.get(*code as usize).copied().unwrap_or(0))
    }
}

impl PartialEq for Statuses {
    fn eq(&self, other: &Self) -> bool {
        // Codes change with other conditions too.
        let is_as_coded = self.by_set == other.by_set && self.codes == other.codes;
        is_as_coded || self.rows().eq(other.rows())
    }
}

impl Size for Statuses {
    fn heap(&self) -> usize {
        self.codes.heap() + self.by_set.heap()
    }
}

/// A column of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceColumn {
    Allocatable,
    Foreign,
    Free,
}

impl Size for ResourceColumn {
    fn heap(&self) -> usize {
        0
    }
}

impl Size for Moment {
    fn heap(&self) -> usize {
        0
    }
}

fn resource_column(context: &Context, column: ResourceColumn, resource: &str) -> Option<Column<i64>> {
    context.snapshot().resource(resource).map(|found| match column {
        ResourceColumn::Allocatable => found.allocatable.clone(),
        ResourceColumn::Foreign => found.foreign.clone(),
        ResourceColumn::Free => found.free.clone(),
    })
}

fact_table! {
    fields of the pod {
        Namespace: namespace;
        NodeSelector: node_selector;
        RequiredAffinity: required_affinity;
        PreferredAffinity: preferred_affinity;
        Tolerations: tolerations;
        Requests: requests;
        NonZeroRequests: non_zero_requests;
        Spread: spread;
        Affinity: affinity;
        AntiAffinity: anti_affinity;
        InvalidPreferred: invalid_preferred;
        Preferences: preferences;
        Features: required_features;
        HostPorts: host_ports;
    }
    facts about the pod {
        // contract: facts about the pod, made by `make contract`
        Label(key: Arc<str>): Option<Arc<str>> = |context| context.label(key);
        Annotation(key: Arc<str>): Option<Arc<str>> = |context| context.annotation(key);
        NodeName: Option<Arc<str>> = |context| context.node_name();
        ContainerImages: Arc<[Arc<str>]> = |context| context.container_images();
        VolumeImages: Arc<[Arc<str>]> = |context| context.volume_images();
        DefaultSelector: Option<wire::LabelSelector> = |context| context.default_selector();
        PodVolumes: Vec<wire::PodVolume> = |context| context.volumes();
        Owner: (Arc<str>, Arc<str>, Arc<str>) = |context| context.owner();
        NamespaceLabel(key: Arc<str>): Option<Arc<str>> = |context| context.namespace_label(key);
        Priority: i32 = |context| context.priority();
        PriorityClass: Option<Arc<str>> = |context| context.priority_class();
        ServiceAccount: Option<Arc<str>> = |context| context.service_account();
        RuntimeClass: Option<Arc<str>> = |context| context.runtime_class();
        HostNetwork: bool = |context| context.host_network();
        Images: Arc<[Arc<str>]> = |context| context.images();
        SchedulerName: Arc<str> = |context| context.scheduler_name();
        Controller: Option<wire::Controller> = |context| context.controller();
        ControllerUid: Option<Arc<str>> = |context| context.controller_uid();
        // contract: end
        // Of other objects, but of the pod's own: so that replicas share verdicts. Over all rows, since a verdict may be about any.
        DeviceClaims: Result<Arc<[wire::claims::Claim]>, wire::claims::Obstacle>
            = |context| context.claims_over_all();
        ExtendedResources: Option<Arc<wire::claims::Extended>> = |context| context.extended_over_all();
        // About the cluster is what these parties have said; most pods have none.
        PartySeats: Arc<[PartySeat]> = |context| Arc::clone(context.party_seats());
        ClaimName(claim: u32): Arc<str> = |context| context.name_of_claim(*claim);
        Chosen(claim: u32): Arc<[u32]> = |context| context.chosen_in_claim(*claim);
        Deriving(claim: u32): Arc<[u32]> = |context| context.deriving_in_claim(*claim);
        MatchesThisPod(selectors: Vec<PodSelector>): bool = |context| context.is_matched_by(selectors);
    }
    facts about the cluster {
        NodeNames: Column<Arc<str>>, Cluster(No) => |context| context.snapshot().names().clone();
        RowOf(name: Arc<str>): Option<u32>, Cluster(No) => |context| context.snapshot().node_row(name).map(|row| row.0);
        NodeLabels(key: Arc<str>): Option<Arc<LabelColumn>>, Cluster(No) => |context| context.snapshot().label_column(key);
        NodeAnnotations(key: Arc<str>): Option<Arc<LabelColumn>>, Cluster(No)
            => |context| context.annotations_of_nodes(key);
        // What a pointwise predicate can learn of nodes beyond its batch.
        NodeExists(name: Arc<str>): bool, Cluster(No) => |context| context.snapshot().node_row(name).is_some();
        LabelDictionary(key: Arc<str>): Option<Arc<Dictionary>>, Cluster(No)
            => |context| context.snapshot().label_column(key).map(|column| Arc::clone(column.dictionary()));
        AnnotationDictionary(key: Arc<str>): Option<Arc<Dictionary>>, Cluster(No)
            => |context| context.annotations_of_nodes(key).map(|column| Arc::clone(column.dictionary()));
        Unschedulable: Column<u8>, Cluster(No) => |context| context.snapshot().unschedulable().clone();
        TaintSets: Column<Arc<Vec<Taint>>>, Cluster(No) => |context| context.snapshot().taint_sets().clone();
        TaintCodes: Column<u32>, Cluster(No) => |context| context.snapshot().taint_codes().clone();
        Resource(column: ResourceColumn, resource: Arc<str>): Option<Column<i64>>, PodsOnNodes(Interface::NodeResources, No)
            => |context| resource_column(context, *column, resource);
        Pods: Column<i64>, PodsOnNodes(Interface::NodeResources, No) => |context| context.snapshot().pods().clone();
        ForeignPods: Column<i64>, PodsOnNodes(Interface::NodeResources, No)
            => |context| context.snapshot().foreign_pods().clone();
        PodLimit: Column<i64>, PodsOnNodes(Interface::NodeResources, No) => |context| context.snapshot().pod_limit().clone();
        PodRoom: Column<i64>, PodsOnNodes(Interface::NodeResources, No) => |context| context.snapshot().pod_room().clone();
        NamedSum(name: Arc<str>): Option<Column<i64>>, PodsOnNodes(Interface::NodeSums, No)
            => |context| context.snapshot().named_sum(name).cloned();
        NonZeroSum(resource: Arc<str>): Option<Column<i64>>, PodsOnNodes(Interface::NodeNonZeroRequests, No)
            => |context| context.snapshot().non_zero_sum(resource).cloned();
        ConfigEntry(config_map: Arc<str>, key: Arc<str>): Option<Arc<str>>, Cluster(No)
            => |context| context.config_entry(config_map, key);
        DeviceClassServes(resource: Arc<str>): bool, Cluster(No) => |context| context.device_class_serves(resource);
        PortUse: (Column<u32>, Column<Arc<PortUse>>), PodsOnNodes(Interface::NodePorts, No)
            => |context| (context.snapshot().port_codes().clone(), context.snapshot().port_sets().clone());
        FeatureSets: Column<Arc<Vec<Arc<str>>>>, Cluster(No) => |context| context.snapshot().feature_sets().clone();
        FeatureCodes: Column<u32>, Cluster(No) => |context| context.snapshot().feature_codes().clone();
        NodeCondition(kind: Arc<str>): Statuses, Cluster(No) => |context| Statuses::new(context, kind);
        NodeInfo(field: wire::InfoField): Option<Arc<LabelColumn>>, Cluster(No)
            => |context| context.snapshot().info_column(field.name());
        InfoDictionary(field: wire::InfoField): Option<Arc<Dictionary>>, Cluster(No)
            => |context| context.snapshot().info_column(field.name()).map(|column| Arc::clone(column.dictionary()));
        NodeImage(image: Arc<str>): Option<Arc<LabelColumn>>, Cluster(No)
            => |context| context.snapshot().image_column(image);
        ImageSize(image: Arc<str>): i64, Cluster(No) => |context| context.image_size(image);
        NodeMoment(moment: Moment): Column<i64>, Cluster(No) => |context| context.snapshot().moments(*moment).clone();
        NodeDevices(query: wire::devices::Query): Arc<wire::devices::Devices>, Cluster(No)
            => |context| context.devices_for(query);
        PartyColumns: Arc<[wire::PartyColumn]>, Cluster(Yes) => |context| context.party_columns_over_all();
        PodCount(key: CountKey): Column<u32>, PodsOnNodes(Interface::ClusterPods, No)
            => |context| context.snapshot().count(key);
        PodSum(key: SumKey): Column<i64>, PodsOnNodes(Interface::ClusterPods, No) => |context| context.snapshot().sum(key);
        // Of a score call the rows that fit the pod, of all others every row.
        Feasible: Arc<[u8]>, Cluster(Yes) => |context| context.feasible();
        // Of the controller that the read of the pod's UID of it names.
        Siblings(terminating: bool): Option<Siblings>, PodsOnNodes(Interface::ClusterControllers, Yes)
            => |context| Siblings::find(context, *terminating);
        DiskUsers(kind: wire::DiskKind, id: Arc<str>): Vec<wire::DiskUser>, PodsOnNodes(Interface::ClusterVolumeUse, No)
            => |context| context.disk_users(*kind, id);
        ClaimUsers(claim: Arc<str>): u32, PodsOnNodes(Interface::ClusterVolumeUse, Yes)
            => |context| context.claim_users(claim);
        // What the pod itself would attach, and what nodes can attach: pods on nodes change neither.
        WantedAttachments(registered: bool): Result<Vec<wire::Attachment>, wire::Obstacle>, Cluster(Yes)
            => |context| context.wanted_attachments(*registered);
        AttachmentRegistered: Arc<[u8]>, Cluster(No) => |context| context.attachment_registered();
        AttachmentLimited: Arc<[u8]>, Cluster(No) => |context| context.attachment_limited();
        DriverMissing(driver: Arc<str>): Arc<[u8]>, Cluster(No) => |context| context.driver_missing(driver);
        AttachmentLimit(driver: Arc<str>): Arc<[i64]>, Cluster(No) => |context| context.attachment_limit(driver);
        AttachmentsUsed(driver: Arc<str>): Arc<[i64]>, PodsOnNodes(Interface::ClusterAttachments, No)
            => |context| context.attachments_used(driver);
        RowsWithAttachment(volume: wire::Attachment): Vec<u32>, PodsOnNodes(Interface::ClusterAttachments, No)
            => |context| context.rows_with_attachment(volume);
        UncountedPods: Vec<wire::UncountedPod>, PodsOnNodes(Interface::ClusterAttachments, No)
            => |context| context.uncounted_pods();
        Claim(name: Arc<str>): Option<Box<wire::Claim>>, Cluster(Yes) => |context| context.claim(name).map(Box::new);
        Volume(name: Arc<str>): Option<Box<wire::Volume>>, Cluster(No) => |context| context.volume(name).map(Box::new);
        // An unlimited meter always goes on.
        VolumesFor(claim: Arc<str>): Arc<[wire::Volume]>, Cluster(Yes)
            => |context| context.volumes_for(claim, &Meter::unlimited()).unwrap_or_default();
        ExactSizes(claim: Arc<str>): Option<wire::ExactSizes>, Cluster(Yes)
            => |context| context.exact_sizes(claim, &Meter::unlimited()).unwrap_or_default();
        StorageClass(name: Arc<str>): Option<Box<wire::StorageClass>>, Cluster(No)
            => |context| context.storage_class(name).map(Box::new);
        DefaultClass: Option<Arc<str>>, Cluster(No) => |context| context.default_class();
        ReportsCapacity(driver: Arc<str>): bool, Cluster(No) => |context| context.driver_reports_capacity(driver);
        Capacities(class: Arc<str>): Arc<[wire::StorageCapacity]>, Cluster(No)
            => |context| context.capacities(class, &Meter::unlimited()).unwrap_or_default();
        Migrated(plugin: Arc<str>): Arc<[u8]>, Cluster(No) => |context| context.migrated(plugin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_compared_whatever_their_codes_are() {
        let statuses = |len: usize, code: u32, by_set: &[u8]| Statuses {
            codes: Column::filled(len, &code),
            by_set: Arc::from(by_set),
        };
        let known = statuses(3, 1, &[0, 1]);
        assert!(known == statuses(3, 1, &[0, 1]));
        assert!(known == statuses(3, 2, &[0, 3, 1]), "another condition has changed");
        assert!(known != statuses(3, 1, &[0, 2]), "the set stands for another status");
        assert!(known != statuses(3, 2, &[0, 1, 2]));
        assert!(known != statuses(2, 1, &[0, 1]), "a node less");
    }
}
