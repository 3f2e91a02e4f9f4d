//! The facts of one call, with every read recorded: which facts of [`super::fact_read`] the value of each function of the contract
//! depends on. `host/engine/facts.txt` says that, and the table here is made from it, but for what needs more than a line.
//!
//! A pointwise predicate's columns are not recorded by value: its verdict for a row depends on that row alone, so it is
//! enough to know which interfaces it has read, and which rows have changed in these. What such an interface says of the
//! cluster as a whole is recorded all the same: which label values and nodes exist, dictionaries and sets, which resources a
//! DeviceClass serves. A verdict may depend on these in every row.
//!
//! A guest chooses the keys that it reads by. They are copied within a budget of bytes; a call that exceeds it has no record,
//! and its verdict is not cached.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::Mutex;

use super::fact_read::{FactKey, FactRead, FactValue, PodField, ResourceColumn};
use super::lookups::{LookupColumn, Lookups};
use super::size::{SHARED, Size as _};
use super::span::Span;
use crate::Context;
use crate::limits::{REUSE_KEY_BYTES, REUSE_READS};
use crate::party::PartySeat;
use nodesift_cache::{Column, CountKey, Moment, NodeInterface, SumKey};
use nodesift_sandbox::{Facts, Kept, Meter, NoValue, Rows, wire};

/// Record of the facts that a call has read.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Facts, each once, in the order of their first read.
    pub(super) reads: Vec<Arc<FactRead>>,
    /// Values of labels and annotations that a pointwise predicate has looked up.
    pub(super) lookups: Lookups,
    /// `node-*` interfaces of which a pointwise predicate has read columns.
    pub(super) columns: NodeInterfaces,
    /// The times at which the answers about moments are the same.
    pub(super) span: Span,
    /// Bytes of the keys.
    key_bytes: usize,
    /// Whether the call exceeded the budget; then nothing else is recorded.
    pub(super) is_cut: bool,
}

impl Trace {
    /// Adds a read that is not there yet, with a key of so many bytes beside itself.
    fn add(&mut self, bytes: usize, read: impl FnOnce() -> FactRead) {
        let bytes = if self.reads.len() == REUSE_READS { usize::MAX } else { bytes };
        if self.admits(bytes) {
            self.key_bytes += bytes;
            self.reads.push(Arc::new(read()));
        }
    }

    /// Whether the budget has room for a key of so many bytes. Where it has not, the record is dropped.
    fn admits(&mut self, bytes: usize) -> bool {
        let is_too_much = self.is_cut || self.key_bytes.saturating_add(bytes) > REUSE_KEY_BYTES;
        if is_too_much {
            *self = Self { is_cut: true, ..Self::default() };
        }
        !is_too_much
    }
}

/// A set of `node-*` interfaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NodeInterfaces(u16);

impl NodeInterfaces {
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

/// The facts of a context, read by one call of one predicate.
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

    /// Takes the record of the reads so far, and leaves an empty one.
    pub(super) fn take(&self) -> Trace {
        std::mem::take(&mut self.trace.lock())
    }

    /// Records a read of a fact without keys.
    fn read(&self, key: FactKey) -> &Context {
        self.record(0, || key);
        &self.context
    }

    /// Records a read of a fact by one text.
    fn read_by(&self, text: &str, key: impl FnOnce(Arc<str>) -> FactKey) -> &Context {
        self.record(text.len() + SHARED, || key(text.into()));
        &self.context
    }

    /// Records a read of a field of the pod.
    fn field(&self, field: PodField) -> &Context {
        self.read(FactKey::PodField(field))
    }

    /// Records a read of a column of an interface.
    fn column(&self, interface: NodeInterface, key: FactKey) -> &Context {
        if self.pointwise { self.columns_of(interface) } else { self.read(key) }
    }

    /// Records a read of a column that a text names.
    fn column_by(&self, interface: NodeInterface, text: &str, key: impl FnOnce(Arc<str>) -> FactKey) -> &Context {
        if self.pointwise { self.columns_of(interface) } else { self.read_by(text, key) }
    }

    fn columns_of(&self, interface: NodeInterface) -> &Context {
        self.trace.lock().columns.add(interface);
        &self.context
    }

    /// Records a read of the distinct values behind a column, which are those of all nodes.
    fn sets(&self, interface: NodeInterface, key: FactKey) -> &Context {
        self.column(interface, key.clone());
        self.read(key)
    }

    /// Records a read of the dictionary behind a column that a text names.
    fn dictionary(
        &self,
        interface: NodeInterface,
        text: &str,
        column: impl FnOnce(Arc<str>) -> FactKey,
        dictionary: impl FnOnce(Arc<str>) -> FactKey,
    ) -> &Context {
        let context = self.column_by(interface, text, column);
        if self.pointwise { self.read_by(text, dictionary) } else { context }
    }

    fn resource(&self, column: ResourceColumn, resource: &str) -> &Context {
        self.column_by(NodeInterface::Resources, resource, |resource| FactKey::Resource(column, resource))
    }

    /// Records a read of the pod's claims of devices. Allocated ones can be used until their devices should have been attached.
    fn usable_for_a_time(&self, key: FactKey) -> &Context {
        if let Some(until) = self.context.next_change_of_claims() {
            self.trace.lock().span.note(until, false);
        }
        self.read(key)
    }

    /// Records a read of devices.
    fn devices_by(&self, query: &wire::devices::Query) -> &Context {
        if self.pointwise {
            return self.columns_of(NodeInterface::NodeDevices);
        }
        self.record(query.heap(), || FactKey::NodeDevices(query.clone()));
        &self.context
    }

    /// Records a read of what parties say. For a pod about which none decides, nothing is read of nodes.
    fn parties(&self) -> &Context {
        let seats = Arc::clone(self.read(FactKey::PartySeats).party_seats());
        if seats.is_empty() {
            return &self.context;
        }
        if self.pointwise && seats.iter().any(PartySeat::reads_labels) {
            self.columns_of(NodeInterface::Labels);
        }
        self.column(NodeInterface::Parties, FactKey::PartyColumns)
    }

    /// Records a read by the name of a claim. Claims are looked up in the pod's namespace.
    fn claim_by(&self, claim: &str, key: impl FnOnce(Arc<str>) -> FactKey) -> &Context {
        self.field(PodField::Namespace);
        self.read_by(claim, key)
    }

    /// Records a key of so many bytes beside itself, unless it exceeds the budget; the key is made only within it.
    fn record(&self, bytes: usize, key: impl FnOnce() -> FactKey) {
        let mut trace = self.trace.lock();
        if trace.is_cut || bytes > REUSE_KEY_BYTES {
            trace.admits(bytes);
            return;
        }
        let key = key();
        if !trace.reads.iter().any(|read| read.key == key) {
            trace.add(bytes, || FactRead::new(key, &self.context));
        }
    }

    /// The count of a key, recorded.
    fn count(&self, key: CountKey, meter: &Meter) -> Result<Column<u32>, NoValue> {
        if let Some(counts) = self.trace.lock().reads.iter().find_map(|read| read.counts_of(&key)) {
            return Ok(counts.clone());
        }
        let counts = self.context.count_within(&key, meter)?;
        // A count that is not kept would be counted again, without a meter, to see whether the verdict is still valid.
        let bytes = if key.is_kept() { key.heap() } else { usize::MAX };
        self.trace.lock().add(bytes, || FactRead::counted(key, counts.clone()));
        Ok(counts)
    }

    /// The sum of a key, recorded.
    fn sum(&self, key: SumKey, meter: &Meter) -> Result<Column<i64>, NoValue> {
        if let Some(sums) = self.trace.lock().reads.iter().find_map(|read| read.sums_of(&key)) {
            return Ok(sums.clone());
        }
        let sums = self.context.sum_within(&key, meter)?;
        // As for counts.
        let bytes = if key.is_kept() { key.heap() } else { usize::MAX };
        self.trace.lock().add(bytes, || FactRead::summed(key, sums.clone()));
        Ok(sums)
    }

    /// The value of a fact by one text that takes long to read: it is read once, and what is recorded is handed out.
    fn once<T: Clone>(
        &self,
        text: &str,
        key: impl FnOnce(Arc<str>) -> FactKey,
        wrapped: impl FnOnce(T) -> FactValue,
        unwrapped: impl Fn(&FactValue) -> Option<&T>,
        read: impl FnOnce(&Context) -> Result<T, NoValue>,
    ) -> Result<T, NoValue> {
        let bytes = text.len() + SHARED;
        if bytes > REUSE_KEY_BYTES {
            self.trace.lock().admits(bytes);
            return read(&self.context);
        }
        let key = key(text.into());
        let known = |read: &Arc<FactRead>| unwrapped(read.value()).filter(|_| read.key == key).cloned();
        if let Some(known) = self.trace.lock().reads.iter().find_map(known) {
            return Ok(known);
        }
        let value = read(&self.context)?;
        self.trace.lock().add(bytes, || FactRead::found(key, wrapped(value.clone())));
        Ok(value)
    }

    /// Records that a pointwise predicate looked up a value of a label or annotation, and whether some node has it.
    fn lookup(&self, column: LookupColumn, key: &str, value: &str, exists: bool) {
        let mut trace = self.trace.lock();
        if trace.is_cut || trace.lookups.contains(column, key, value) {
            return;
        }
        let bytes = trace.lookups.bytes_of(column, key, value);
        if trace.admits(bytes) {
            trace.key_bytes += bytes;
            trace.lookups.insert(column, key, value, exists);
        }
    }
}

/// Methods of [`Facts`] that record what they read and then read it from the context.
macro_rules! recorded {
    ($($method:ident($($argument:ident: $type:ty),*) -> $value:ty, |$recorder:ident| $record:expr;)*) => {
        $(fn $method(&self $(, $argument: $type)*) -> $value {
            let $recorder = self;
            $record.$method($($argument),*)
        })*
    };
}

/// Reads a fact by [`Recorder::once`].
macro_rules! once {
    ($this:ident, $fact:ident, $text:ident, |$context:ident| $read:expr) => {
        $this.once(
            $text,
            FactKey::$fact,
            FactValue::$fact,
            |value| match value {
                FactValue::$fact(value) => Some(value),
                _ => None,
            },
            |$context| $read,
        )
    };
}

impl Facts for Recorder {
    recorded! {
        // contract: recorded, made by `make contract`
        namespace() -> Arc<str>, |this| this.field(PodField::Namespace);
        label(key: &str) -> Option<Arc<str>>, |this| this.read_by(key, FactKey::Label);
        annotation(key: &str) -> Option<Arc<str>>, |this| this.read_by(key, FactKey::Annotation);
        node_name() -> Option<Arc<str>>, |this| this.read(FactKey::NodeName);
        node_selector() -> Arc<[(Arc<str>, Arc<str>)]>, |this| this.field(PodField::NodeSelector);
        required_terms() -> Option<Vec<wire::Term>>, |this| this.field(PodField::RequiredAffinity);
        preferred_terms() -> Option<Vec<wire::PreferredTerm>>, |this| this.field(PodField::PreferredAffinity);
        tolerations() -> Vec<wire::Toleration>, |this| this.field(PodField::Tolerations);
        requests() -> Vec<wire::Request>, |this| this.field(PodField::Requests);
        non_zero_requests() -> Vec<wire::Request>, |this| this.field(PodField::NonZeroRequests);
        container_images() -> Arc<[Arc<str>]>, |this| this.read(FactKey::ContainerImages);
        volume_images() -> Arc<[Arc<str>]>, |this| this.read(FactKey::VolumeImages);
        spread_constraints() -> Vec<wire::SpreadConstraint>, |this| this.field(PodField::Spread);
        default_selector() -> Option<wire::LabelSelector>, |this| this.read(FactKey::DefaultSelector);
        affinity() -> Vec<wire::AffinityTerm>, |this| this.field(PodField::Affinity);
        anti_affinity() -> Vec<wire::AffinityTerm>, |this| this.field(PodField::AntiAffinity);
        invalid_preferred() -> (Vec<wire::AffinityTerm>, Vec<wire::AffinityTerm>),
            |this| this.field(PodField::InvalidPreferred);
        preferred_affinity() -> Vec<(i32, wire::AffinityTerm)>, |this| this.field(PodField::Preferences);
        preferred_anti_affinity() -> Vec<(i32, wire::AffinityTerm)>, |this| this.field(PodField::Preferences);
        required_features() -> Vec<Arc<str>>, |this| this.field(PodField::Features);
        volumes() -> Vec<wire::PodVolume>, |this| this.read(FactKey::PodVolumes);
        owner() -> (Arc<str>, Arc<str>, Arc<str>), |this| this.read(FactKey::Owner);
        namespace_label(key: &str) -> Option<Arc<str>>, |this| this.read_by(key, FactKey::NamespaceLabel);
        priority() -> i32, |this| this.read(FactKey::Priority);
        priority_class() -> Option<Arc<str>>, |this| this.read(FactKey::PriorityClass);
        service_account() -> Option<Arc<str>>, |this| this.read(FactKey::ServiceAccount);
        runtime_class() -> Option<Arc<str>>, |this| this.read(FactKey::RuntimeClass);
        host_network() -> bool, |this| this.read(FactKey::HostNetwork);
        images() -> Arc<[Arc<str>]>, |this| this.read(FactKey::Images);
        scheduler_name() -> Arc<str>, |this| this.read(FactKey::SchedulerName);
        controller() -> Option<wire::Controller>, |this| this.read(FactKey::Controller);
        controller_uid() -> Option<Arc<str>>, |this| this.read(FactKey::ControllerUid);
        claim_name(claim: u32) -> Arc<str>, |this| this.read(FactKey::ClaimName(claim));
        chosen(claim: u32) -> Arc<[u32]>, |this| this.read(FactKey::Chosen(claim));
        deriving(claim: u32) -> Arc<[u32]>, |this| this.read(FactKey::Deriving(claim));
        names() -> Arc<[Arc<str>]>, |this| this.column(NodeInterface::Identity, FactKey::NodeNames);
        row(name: &str) -> Option<u32>,
            |this| this.dictionary(NodeInterface::Identity, name, FactKey::RowOf, FactKey::NodeExists);
        label_column(key: &str) -> Arc<[u32]>, |this| this.column_by(NodeInterface::Labels, key, FactKey::NodeLabels);
        label_dictionary(key: &str) -> Arc<[Arc<str>]>,
            |this| this.dictionary(NodeInterface::Labels, key, FactKey::NodeLabels, FactKey::LabelDictionary);
        label_integers(key: &str) -> Arc<[i64]>,
            |this| this.dictionary(NodeInterface::Labels, key, FactKey::NodeLabels, FactKey::LabelDictionary);
        rows_with_label_in(key: &str, values: &[Cow<'_, str>]) -> Rows,
            |this| this.column_by(NodeInterface::Labels, key, FactKey::NodeLabels);
        rows_with_label(key: &str) -> Rows, |this| this.column_by(NodeInterface::Labels, key, FactKey::NodeLabels);
        annotation_column(key: &str) -> Arc<[u32]>,
            |this| this.column_by(NodeInterface::Annotations, key, FactKey::NodeAnnotations);
        annotation_dictionary(key: &str) -> Arc<[Arc<str>]>,
            |this| this.dictionary(NodeInterface::Annotations, key, FactKey::NodeAnnotations, FactKey::AnnotationDictionary);
        annotation_integers(key: &str) -> Arc<[i64]>,
            |this| this.dictionary(NodeInterface::Annotations, key, FactKey::NodeAnnotations, FactKey::AnnotationDictionary);
        rows_with_annotation_in(key: &str, values: &[Cow<'_, str>]) -> Rows,
            |this| this.column_by(NodeInterface::Annotations, key, FactKey::NodeAnnotations);
        rows_with_annotation(key: &str) -> Rows,
            |this| this.column_by(NodeInterface::Annotations, key, FactKey::NodeAnnotations);
        unschedulable() -> Arc<[u8]>, |this| this.column(NodeInterface::Taints, FactKey::Unschedulable);
        taint_sets() -> Vec<Vec<wire::Taint>>, |this| this.sets(NodeInterface::Taints, FactKey::TaintSets);
        taint_column() -> Arc<[u32]>, |this| this.column(NodeInterface::Taints, FactKey::TaintCodes);
        rows_unschedulable() -> Rows, |this| this.column(NodeInterface::Taints, FactKey::Unschedulable);
        allocatable(resource: &str) -> Arc<[i64]>, |this| this.resource(ResourceColumn::Allocatable, resource);
        foreign(resource: &str) -> Arc<[i64]>, |this| this.resource(ResourceColumn::Foreign, resource);
        free(resource: &str) -> Arc<[i64]>, |this| this.resource(ResourceColumn::Free, resource);
        pods() -> Arc<[i64]>, |this| this.column(NodeInterface::Resources, FactKey::Pods);
        foreign_pods() -> Arc<[i64]>, |this| this.column(NodeInterface::Resources, FactKey::ForeignPods);
        pod_limit() -> Arc<[i64]>, |this| this.column(NodeInterface::Resources, FactKey::PodLimit);
        pod_room() -> Arc<[i64]>, |this| this.column(NodeInterface::Resources, FactKey::PodRoom);
        device_class_serves(resource: &str) -> bool, |this| this.read_by(resource, FactKey::DeviceClassServes);
        rows_with_free(resource: &str, amount: i64) -> Rows, |this| this.resource(ResourceColumn::Free, resource);
        named_sum(name: &str) -> Arc<[i64]>, |this| this.column_by(NodeInterface::Resources, name, FactKey::NamedSum);
        non_zero_requested(resource: &str) -> Arc<[i64]>,
            |this| this.column_by(NodeInterface::Resources, resource, FactKey::NonZeroSum);
        feature_sets() -> Vec<Vec<Arc<str>>>, |this| this.sets(NodeInterface::Features, FactKey::FeatureSets);
        feature_column() -> Arc<[u32]>, |this| this.column(NodeInterface::Features, FactKey::FeatureCodes);
        condition_column(kind: &str) -> Arc<[u8]>,
            |this| this.column_by(NodeInterface::Conditions, kind, FactKey::NodeCondition);
        info_column(field: wire::InfoField) -> Arc<[u32]>,
            |this| this.column(NodeInterface::Info, FactKey::NodeInfo(field));
        image_column(image: &str) -> Arc<[u8]>, |this| this.column_by(NodeInterface::Images, image, FactKey::NodeImage);
        created() -> Arc<[i64]>, |this| this.column(NodeInterface::Age, FactKey::NodeMoment(Moment::Created));
        feasible() -> Arc<[u8]>, |this| this.read(FactKey::Feasible);
        anti_affinity_keys() -> Vec<Arc<str>>, |this| this.read(FactKey::AntiAffinity);
        anti_affinity_terms(topology_key: &str) -> Arc<[u32]>, |this| this.read(FactKey::AntiAffinity);
        preference_keys() -> Vec<Arc<str>>, |this| this.read(FactKey::ScoringTerms);
        preference_terms(topology_key: &str) -> Arc<[u32]>, |this| this.read(FactKey::ScoringTerms);
        preference_weights(topology_key: &str) -> Arc<[i64]>, |this| this.read(FactKey::ScoringTerms);
        required_affinity_terms(topology_key: &str) -> Arc<[u32]>, |this| this.read(FactKey::ScoringTerms);
        claim_users(claim: &str) -> u32, |this| this.claim_by(claim, FactKey::ClaimUsers);
        attachment_registered() -> Arc<[u8]>, |this| this.read(FactKey::AttachmentRegistered);
        attachment_limited() -> Arc<[u8]>, |this| this.read(FactKey::AttachmentLimited);
        driver_missing(driver: &str) -> Arc<[u8]>, |this| this.read_by(driver, FactKey::DriverMissing);
        attachment_limit(driver: &str) -> Arc<[i64]>, |this| this.read_by(driver, FactKey::AttachmentLimit);
        attachments_used(driver: &str) -> Arc<[i64]>, |this| this.read_by(driver, FactKey::AttachmentsUsed);
        uncounted_pods() -> Vec<wire::UncountedPod>, |this| this.read(FactKey::UncountedPods);
        claim(name: &str) -> Option<wire::Claim>, |this| this.claim_by(name, FactKey::Claim);
        volume(name: &str) -> Option<wire::Volume>, |this| this.read_by(name, FactKey::Volume);
        storage_class(name: &str) -> Option<wire::StorageClass>, |this| this.read_by(name, FactKey::StorageClass);
        default_class() -> Option<Arc<str>>, |this| this.read(FactKey::DefaultClass);
        driver_reports_capacity(driver: &str) -> bool, |this| this.read_by(driver, FactKey::ReportsCapacity);
        migrated(plugin: &str) -> Arc<[u8]>, |this| this.read_by(plugin, FactKey::Migrated);
        image_size(image: &str) -> i64, |this| this.read_by(image, FactKey::ImageSize);
        // contract: end
    }

    // What `by hand` stands for in `host/engine/facts.txt`: these, and the methods below.
    recorded! {
        claims() -> Result<Arc<[wire::claims::Claim]>, wire::claims::Obstacle>,
            |this| this.usable_for_a_time(FactKey::DeviceClaims);
        extended() -> Option<Arc<wire::claims::Extended>>, |this| this.usable_for_a_time(FactKey::ExtendedResources);
        devices(query: &wire::devices::Query) -> Result<Arc<wire::devices::Devices>, NoValue>, |this| this.devices_by(query);
        unsuitable() -> Arc<[wire::PartyColumn]>, |this| this.parties();
        disk_users(kind: wire::DiskKind, id: &str) -> Vec<wire::DiskUser>,
            |this| this.read_by(id, |id| FactKey::DiskUsers(kind, id));
    }

    fn weight(&self) -> usize {
        self.context.weight()
    }

    fn fill(&self, kept: Kept, meter: &Meter) -> Result<(), NoValue> {
        // Nothing is read by it.
        self.context.fill(kept, meter)
    }

    fn volumes_for(&self, claim: &str, meter: &Meter) -> Result<Arc<[wire::Volume]>, NoValue> {
        self.field(PodField::Namespace);
        once!(self, VolumesFor, claim, |context| context.volumes_for(claim, meter))
    }

    fn exact_sizes(&self, claim: &str, meter: &Meter) -> Result<Option<wire::ExactSizes>, NoValue> {
        self.field(PodField::Namespace);
        once!(self, ExactSizes, claim, |context| context.exact_sizes(claim, meter))
    }

    fn capacities(&self, class_name: &str, meter: &Meter) -> Result<Arc<[wire::StorageCapacity]>, NoValue> {
        once!(self, Capacities, class_name, |context| context.capacities(class_name, meter))
    }

    fn config_entry(&self, config_map: &str, key: &str) -> Option<Arc<str>> {
        let bytes = config_map.len() + key.len() + 2 * SHARED;
        self.record(bytes, || FactKey::ConfigEntry(config_map.into(), key.into()));
        self.context.config_entry(config_map, key)
    }

    fn passed(&self, at: i64) -> bool {
        let passed = self.context.passed(at);
        self.trace.lock().span.note(at, passed);
        passed
    }

    fn label_code(&self, key: &str, value: &str) -> Option<u32> {
        let context = self.column_by(NodeInterface::Labels, key, FactKey::NodeLabels);
        let code = context.label_code(key, value);
        if self.pointwise {
            self.lookup(LookupColumn::Labels, key, value, code.is_some());
        }
        code
    }

    fn annotation_code(&self, key: &str, value: &str) -> Option<u32> {
        let context = self.column_by(NodeInterface::Annotations, key, FactKey::NodeAnnotations);
        let code = context.annotation_code(key, value);
        if self.pointwise {
            self.lookup(LookupColumn::Annotations, key, value, code.is_some());
        }
        code
    }

    fn info_code(&self, field: wire::InfoField, value: &str) -> Option<u32> {
        let code = self.column(NodeInterface::Info, FactKey::NodeInfo(field)).info_code(field, value);
        if self.pointwise {
            self.lookup(LookupColumn::Info, field.name(), value, code.is_some());
        }
        code
    }

    fn info_dictionary(&self, field: wire::InfoField) -> Arc<[Arc<str>]> {
        let context = self.column(NodeInterface::Info, FactKey::NodeInfo(field));
        if self.pointwise {
            self.read(FactKey::InfoDictionary(field));
        }
        context.info_dictionary(field)
    }

    fn rows_untolerated(&self) -> Rows {
        self.field(PodField::Tolerations);
        if !self.pointwise {
            self.read(FactKey::TaintSets);
        }
        self.column(NodeInterface::Taints, FactKey::TaintCodes).rows_untolerated()
    }

    fn requested(&self, resource: &str) -> Arc<[i64]> {
        // Allocatable less free.
        self.resource(ResourceColumn::Allocatable, resource);
        self.resource(ResourceColumn::Free, resource).requested(resource)
    }

    fn port_conflicts(&self) -> Option<Arc<[u8]>> {
        // For a pod without host ports the call reads nothing of nodes.
        if self.field(PodField::HostPorts).pod().host_ports.is_empty() {
            return None;
        }
        self.column(NodeInterface::Ports, FactKey::PortUse).port_conflicts()
    }

    fn matching_pods(
        &self,
        selectors: &[wire::PodSelector],
        terminating: bool,
        meter: &Meter,
    ) -> Result<Arc<[u32]>, NoValue> {
        let key = Context::count_key(selectors, terminating).ok_or(NoValue::UnknownOperator)?;
        Ok(self.context.column(&self.count(key, meter)?))
    }

    fn requested_by_pods(
        &self,
        selectors: &[wire::PodSelector],
        resource: &str,
        terminating: bool,
        meter: &Meter,
    ) -> Result<Arc<[i64]>, NoValue> {
        let key = Context::sum_key(selectors, resource, terminating).ok_or(NoValue::UnknownOperator)?;
        Ok(self.context.column(&self.sum(key, meter)?))
    }

    fn matches_this_pod(&self, selectors: &[wire::PodSelector]) -> Result<bool, NoValue> {
        let key = Context::count_key(selectors, false).ok_or(NoValue::UnknownOperator)?;
        let selectors = key.selectors;
        self.record(selectors.heap(), || FactKey::MatchesThisPod(selectors.clone()));
        Ok(self.context.is_matched_by(&selectors))
    }

    fn same_controller(&self, terminating: bool) -> Option<Arc<[u32]>> {
        // Pods in other namespaces have other controllers, whatever their UIDs.
        self.field(PodField::Namespace);
        self.read(FactKey::ControllerUid);
        self.read(FactKey::Siblings(terminating)).same_controller(terminating)
    }

    fn wanted_attachments(&self, registered: bool) -> Result<Vec<wire::Attachment>, wire::Obstacle> {
        // They follow from the pod's volumes and its namespace.
        self.read(FactKey::PodVolumes);
        self.field(PodField::Namespace);
        self.read(FactKey::WantedAttachments(registered)).wanted_attachments(registered)
    }

    fn rows_with_attachment(&self, volume: &wire::Attachment) -> Vec<u32> {
        self.record(volume.heap(), || FactKey::RowsWithAttachment(volume.clone()));
        self.context.rows_with_attachment(volume)
    }
}
