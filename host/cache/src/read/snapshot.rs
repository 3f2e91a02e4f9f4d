//! A snapshot: an immutable, consistent view of all columns at one generation.
//!
//! Start at [`Snapshot`]. [`Publication`] is what the writer publishes; an overlay makes another snapshot of it.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashSet;

use crate::claims::Claims;
use crate::columns::change_log::{ChangeLog, NodeInterface};
use crate::columns::labels::LabelColumn;
use crate::columns::{Column, Generation, Row};
use crate::devices::Devices;
use crate::metadata::{Amounts, AntiAffinityTerm, Conditions, Labels, Moment, PodFacts, PodRecord, value_of};
use crate::nodes::nominated::Nominated;
use crate::nodes::table::NodeTable;
use crate::nodes::{Epoch, NodeNames, Own, PortUse, Resource};
use crate::objects::{Attachments, Objects, StorageTable, VolumeUse, Workloads};
use crate::parties::PartyAnswers;
use crate::pods::classes::PodClass;
use crate::pods::terms::{self, Carriers, Steps, Term, Terms};
use crate::pods::{ControllerRows, CountKey, MatchedScoringTerm, MatchedTerm, Namespaces, SumKey, TermOwner};
use nodesift_object::node::Taint;

/// Everything that the writer publishes at once. A copy costs reference counts.
#[derive(Debug, Clone)]
pub(crate) struct Publication {
    pub(crate) epoch: Epoch,
    pub(crate) generation: Generation,
    pub(crate) ownership: u64,
    pub(crate) nodes: NodeTable,
    pub(crate) objects: Objects,
    pub(crate) nominated: Nominated,
    pub(crate) served_by_device_class: Arc<FxHashSet<Arc<str>>>,
    pub(crate) claims: Arc<Claims>,
    pub(crate) parties: PartyAnswers,
    pub(crate) nodes_resource_version: Arc<str>,
    pub(crate) pods_resource_version: Arc<str>,
    pub(crate) changes: Arc<RwLock<ChangeLog>>,
}

impl Publication {
    /// Returns the publication of an empty cache.
    pub(crate) fn empty(epoch: Epoch) -> Self {
        Self {
            epoch,
            generation: Generation(0),
            ownership: 0,
            nodes: NodeTable::default(),
            objects: Objects::default(),
            nominated: Nominated::default(),
            served_by_device_class: Arc::default(),
            claims: Arc::default(),
            parties: PartyAnswers::default(),
            nodes_resource_version: Arc::default(),
            pods_resource_version: Arc::default(),
            changes: Arc::default(),
        }
    }
}

/// Everything known about the nodes at one generation. A copy costs reference counts.
#[derive(Debug, Clone)]
pub struct Snapshot {
    published: Publication,
    /// Rows in which an overlay differs from the cache, sorted; `None` in a snapshot of the cache itself.
    touched: Option<Arc<[Row]>>,
    /// The snapshot below an overlay.
    below: Option<Arc<Snapshot>>,
}

impl Snapshot {
    /// A snapshot of the cache itself.
    pub(crate) fn new(published: Publication) -> Self {
        Self { published, touched: None, below: None }
    }

    /// Returns this snapshot with other nodes and nominated pods, which differ in the touched rows. `below` is what volumes are counted
    /// over, if anything.
    pub(super) fn overlaid(
        &self,
        nodes: NodeTable,
        nominated: Nominated,
        touched: Arc<[Row]>,
        below: Option<Arc<Self>>,
    ) -> Self {
        let published = Publication { nodes, nominated, ..self.published.clone() };
        Self { published, touched: Some(touched), below }
    }

    /// Returns what the writer published, or what an overlay made of it.
    pub(super) fn published(&self) -> &Publication {
        &self.published
    }

    /// The snapshot below an overlay.
    pub(super) fn below(&self) -> Option<&Self> {
        self.below.as_deref()
    }

    /// The generation of the cache that this snapshot shows.
    pub fn generation(&self) -> Generation {
        self.published.generation
    }

    /// How often it was decided anew which pods are foreign. Snapshots with the same number have the same schedulers.
    pub fn ownership(&self) -> u64 {
        self.published.ownership
    }

    /// How many nodes there are; rows run from 0 to this.
    pub fn node_count(&self) -> usize {
        self.published.nodes.len()
    }

    /// The name of the node in a row; empty past the last row.
    pub fn node_name(&self, row: Row) -> &str {
        self.published.nodes.index().name(row).map_or("", |name| name)
    }

    /// The row of the node with this name.
    pub fn node_row(&self, name: &str) -> Option<Row> {
        self.published.nodes.row(name)
    }

    /// All rows in the order of node names.
    pub fn rows_by_name(&self) -> Arc<[Row]> {
        self.published.nodes.index().rows_by_name()
    }

    /// The names of all nodes, apart from the snapshot.
    pub fn node_names(&self) -> NodeNames {
        self.published.nodes.index().node_names().clone()
    }

    /// `resourceVersion` of the newest Node seen; empty where the source has none.
    pub fn nodes_resource_version(&self) -> &str {
        &self.published.nodes_resource_version
    }

    /// `resourceVersion` of the newest Pod seen; empty where the source has none.
    pub fn pods_resource_version(&self) -> &str {
        &self.published.pods_resource_version
    }

    /// Names of the nodes, by row.
    pub fn names(&self) -> &Column<Arc<str>> {
        self.published.nodes.index().names()
    }

    /// Labels of the nodes, by row.
    pub fn labels(&self) -> &Column<Labels> {
        self.published.nodes.labels().rows()
    }

    /// Annotations of the nodes, by row: those that a policy lists.
    pub fn annotations(&self) -> &Column<Labels> {
        self.published.nodes.annotations().rows()
    }

    /// Fields of what nodes say of themselves, by row: each by its name in the contract. Empty where no policy reads it.
    pub fn info(&self) -> &Column<Labels> {
        self.published.nodes.info().rows()
    }

    /// Images on nodes, by row: each as a key without a value. Empty where no policy reads them.
    pub fn images(&self) -> &Column<Labels> {
        self.published.nodes.images().rows()
    }

    /// One label key as a column, built on first use; `None` where no node carries the key.
    pub fn label_column(&self, key: &str) -> Option<Arc<LabelColumn>> {
        self.published.nodes.labels().column(key)
    }

    /// One annotation key as a column, built on first use; `None` where no node has the annotation or the policy does not list
    /// the key.
    pub fn annotation_column(&self, key: &str) -> Option<Arc<LabelColumn>> {
        self.published.nodes.annotations().column(key)
    }

    /// One field of what nodes say of themselves as a column, by its name in the contract, built on first use; `None` where no
    /// node has it or no policy reads it.
    pub fn info_column(&self, field: &str) -> Option<Arc<LabelColumn>> {
        self.published.nodes.info().column(field)
    }

    /// Size of an image in bytes as the first row that holds it says; `None` where no node has it or no policy reads images.
    pub fn image_size(&self, image: &str) -> Option<i64> {
        let column = self.image_column(image)?;
        let code = column.codes.iter().copied().find(|code| *code != 0)?;
        column.dictionary().text(code)?.parse().ok()
    }

    /// An image as a column, built on first use: code 0 for a row without it, else that of its size. `None` where no node has it or no policy reads
    /// images.
    pub fn image_column(&self, image: &str) -> Option<Arc<LabelColumn>> {
        self.published.nodes.images().column(image)
    }

    /// A time that nodes name, in seconds since 1970-01-01T00:00:00Z; the minimum where that is not known.
    pub fn moments(&self, moment: Moment) -> &Column<i64> {
        self.published.nodes.moments().column(moment)
    }

    /// 1 where `spec.unschedulable` is true, else 0.
    pub fn unschedulable(&self) -> &Column<u8> {
        self.published.nodes.unschedulable()
    }

    /// Index of each node's taint set.
    pub fn taint_codes(&self) -> &Column<u32> {
        self.published.nodes.taints().codes()
    }

    /// The distinct taint sets, by code; set 0 is empty.
    pub fn taint_sets(&self) -> &Column<Arc<Vec<Taint>>> {
        self.published.nodes.taints().values()
    }

    /// The columns of a resource; `None` where no node advertises it and no pod on a node uses it.
    ///
    /// Where only pods use it, their usage is summed up for this call.
    pub fn resource(&self, name: &str) -> Option<Cow<'_, Resource>> {
        self.published.nodes.resource(name)
    }

    /// Per row, whether its node lists a resource in `status.allocatable`, and more than nothing of it.
    pub fn own(&self, resource: &str, rows: impl IntoIterator<Item = Row>) -> Vec<Own> {
        self.published.nodes.resources().own(resource, rows)
    }

    /// Whether some node advertises a resource, so that it has columns.
    pub fn is_advertised(&self, name: &str) -> bool {
        self.published.nodes.resources().is_advertised(name)
    }

    /// Names of all resources that some node advertises, sorted.
    pub fn resource_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.published.nodes.resources().names()
    }

    /// Per row what its node and the pods on it add to a named sum; `None` where the policy has not declared it.
    pub fn named_sum(&self, name: &str) -> Option<&Column<i64>> {
        self.published.nodes.named_sums().get(name)
    }

    /// Per row what the pods on it use of `cpu` or `memory`, with an amount for containers that name none; zeros where no policy reads
    /// it. `None` for any other resource.
    pub fn non_zero_sum(&self, resource: &str) -> Option<&Column<i64>> {
        self.published.nodes.non_zero_sums().get(resource)
    }

    /// Names of all named sums that are declared, sorted.
    pub fn sum_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.published.nodes.named_sums().names()
    }

    /// Pods on each node.
    pub fn pods(&self) -> &Column<i64> {
        self.published.nodes.slots().used()
    }

    /// Foreign pods on each node.
    pub fn foreign_pods(&self) -> &Column<i64> {
        self.published.nodes.slots().foreign()
    }

    /// `status.allocatable.pods`; 0 where absent.
    pub fn pod_limit(&self) -> &Column<i64> {
        self.published.nodes.slots().limit()
    }

    /// Pod limit less pods on the node.
    pub fn pod_room(&self) -> &Column<i64> {
        self.published.nodes.slots().free()
    }

    /// `status.capacity` of the node in a row; empty past the last row.
    pub fn capacity(&self, row: Row) -> Option<&Arc<Amounts>> {
        self.published.nodes.capacity().value(row)
    }

    /// Returns this snapshot with these pods nominated as their records say, and not as before. Nominated pods use nothing of a node, so
    /// everything else, and what was evaluated of it, stays valid.
    #[must_use]
    pub fn nominating(&self, pods: &[Arc<PodRecord>]) -> Self {
        let published = Publication { nominated: self.published.nominated.with(pods), ..self.published.clone() };
        Self { published, ..self.clone() }
    }

    /// Pending pods nominated for the node of this name, in no order.
    pub fn nominated(&self, node: &str) -> &[Arc<PodRecord>] {
        self.published.nominated.for_node(node)
    }

    /// Nodes for which pending pods are nominated, with these pods; some of the nodes may not exist.
    pub fn nominated_nodes(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &[Arc<PodRecord>])> {
        self.published.nominated.by_node()
    }

    /// The highest priority of a nominated pod; `None` where no pod is nominated.
    pub fn highest_nominated(&self) -> Option<i32> {
        self.published.nominated.highest()
    }

    /// Index of each node's set of host ports in use.
    pub fn port_codes(&self) -> &Column<u32> {
        self.published.nodes.ports().codes()
    }

    /// The distinct sets of host ports in use, by code; set 0 is empty.
    pub fn port_sets(&self) -> &Column<Arc<PortUse>> {
        self.published.nodes.ports().values()
    }

    /// Index of each node's set of declared features.
    pub fn feature_codes(&self) -> &Column<u32> {
        self.published.nodes.features().codes()
    }

    /// The distinct sets of declared features, each sorted, by code; set 0 is empty.
    pub fn feature_sets(&self) -> &Column<Arc<Vec<Arc<str>>>> {
        self.published.nodes.features().values()
    }

    /// Features that the node of a row declares, sorted; none past the last row.
    pub fn features_of(&self, row: Row) -> &[Arc<str>] {
        self.published.nodes.features().value(row).map_or(&[], |features| features.as_slice())
    }

    /// Index of each node's set of conditions.
    pub fn condition_codes(&self) -> &Column<u32> {
        self.published.nodes.conditions().codes()
    }

    /// The distinct sets of conditions, each sorted by type, by code; set 0 is empty.
    pub fn condition_sets(&self) -> &Column<Arc<Conditions>> {
        self.published.nodes.conditions().values()
    }

    /// Per row how many pods a key counts; the writer maintains the count once it has been read.
    pub fn count(&self, key: &CountKey) -> Column<u32> {
        // Always there, since nothing stops it.
        self.count_while(key, &|| true).unwrap_or_default()
    }

    /// Returns the count like [`Self::count`], for keys of any size: `None` once `go_on` returns false, which is called every so many
    /// steps.
    pub fn count_while(&self, key: &CountKey, go_on: &dyn Fn() -> bool) -> Option<Column<u32>> {
        self.published.nodes.count(key, go_on)
    }

    /// Per row what the pods of a key use of its resource. The writer maintains the sum once it has been read, as in [`Self::count`].
    pub fn sum(&self, key: &SumKey) -> Column<i64> {
        // Always there, since nothing stops it.
        self.sum_while(key, &|| true).unwrap_or_default()
    }

    /// Returns the sum like [`Self::sum`], for keys of any size: `None` once `go_on` returns false, which is called every so many steps.
    pub fn sum_while(&self, key: &SumKey, go_on: &dyn Fn() -> bool) -> Option<Column<i64>> {
        self.published.nodes.sum(key, go_on)
    }

    /// Pools of devices that the node of each row sees.
    pub fn devices(&self) -> &Devices {
        self.published.nodes.devices()
    }

    /// Labels of namespaces, by the namespace's name.
    pub fn namespaces(&self) -> &Namespaces {
        self.published.nodes.population().namespaces()
    }

    /// A label of a namespace; `None` where there is no such namespace or it does not carry the key.
    pub fn namespace_label(&self, namespace: &str, key: &str) -> Option<&Arc<str>> {
        self.namespaces().get(namespace).and_then(|labels| value_of(labels, key))
    }

    /// Required anti-affinity terms of pods on nodes that match a pod: per term its topology key, which some node carries, and rows with
    /// how many such terms their pods carry.
    pub fn anti_affinity(&self, namespace: &str, labels: &Labels) -> Vec<MatchedTerm> {
        self.anti_affinity_while(namespace, labels, &|| true).unwrap_or_default()
    }

    /// Returns the terms like [`Self::anti_affinity`], however many there are: `None` once `go_on` returns false, which is called every so
    /// many steps.
    pub fn anti_affinity_while(
        &self,
        namespace: &str,
        labels: &Labels,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<MatchedTerm>> {
        let matched_term = |term: &Arc<AntiAffinityTerm>| Arc::clone(&term.topology_key);
        self.matched_while(self.published.nodes.anti_affinity(), (namespace, labels), matched_term, go_on)
    }

    /// Terms of pods on nodes that match a pod and count in its scores: preferred ones and those of required affinity. Each with its
    /// topology key, which some node carries, and rows with how many such terms their pods carry. None where no policy reads them.
    pub fn scoring_terms(&self, namespace: &str, labels: &Labels) -> Vec<MatchedScoringTerm> {
        self.scoring_terms_while(namespace, labels, &|| true).unwrap_or_default()
    }

    /// Returns the terms like [`Self::scoring_terms`], however many there are: `None` once `go_on` returns false, which is called every so
    /// many steps.
    pub fn scoring_terms_while(
        &self,
        namespace: &str,
        labels: &Labels,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<MatchedScoringTerm>> {
        self.matched_while(self.published.nodes.scoring_terms(), (namespace, labels), Arc::clone, go_on)
    }

    /// The namespace whose pods' terms take most of what [`Self::anti_affinity_while`] does for a pod, as far as it is found out while
    /// `go_on` returns true: to be asked once that has been given up.
    pub fn anti_affinity_owner(&self, namespace: &str, labels: &Labels, go_on: &dyn Fn() -> bool) -> Option<TermOwner> {
        self.owner(self.published.nodes.anti_affinity(), namespace, labels, go_on)
    }

    /// The namespace whose pods' terms take most of what [`Self::scoring_terms_while`] does for a pod, as [`Self::anti_affinity_owner`].
    pub fn scoring_terms_owner(&self, namespace: &str, labels: &Labels, go_on: &dyn Fn() -> bool) -> Option<TermOwner> {
        self.owner(self.published.nodes.scoring_terms(), namespace, labels, go_on)
    }

    fn owner<T: Term>(
        &self,
        terms: &Terms<T>,
        namespace: &str,
        labels: &Labels,
        go_on: &dyn Fn() -> bool,
    ) -> Option<TermOwner> {
        terms.owner(namespace, labels, self.namespaces(), self.published.nodes.labels(), go_on)
    }

    /// The terms of a kind that match a pod, each as `show` shows it; `None` once `go_on` returns false.
    fn matched_while<T: Term, S>(
        &self,
        terms: &Terms<T>,
        (namespace, labels): (&str, &Labels),
        show: impl Fn(&Arc<T>) -> S,
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<(S, Carriers)>> {
        let mut steps = Steps::new(go_on);
        let matched =
            terms.matching(namespace, labels, self.namespaces(), self.published.nodes.labels(), &mut steps)?;
        let mut shown = Vec::with_capacity(matched.len());
        for (term, rows) in matched {
            steps.take(1)?;
            shown.push((show(term), Arc::clone(rows)));
        }
        Some(shown)
    }

    /// The pods on nodes in a namespace that have this controller; none where no policy reads controllers.
    pub fn controlled(&self, namespace: &Arc<str>, uid: &Arc<str>) -> ControllerRows {
        self.published.nodes.controllers().get(namespace, uid)
    }

    /// Whether a count of pods includes a pod, if it is on a node.
    pub fn counts(&self, key: &CountKey, pod: &PodRecord) -> bool {
        key.matches(&PodClass::new(pod), self.namespaces())
    }

    /// Whether required anti-affinity of a pod, if it were on a node, excludes another pod.
    pub fn keeps_away(&self, pod: &PodFacts, other: &PodFacts) -> bool {
        let namespaces = self.namespaces();
        let mut selectors = pod.anti_affinity_terms.iter().map(|term| &term.selector);
        selectors.any(|selector| terms::selector_matches(selector, &other.namespace, &other.labels, namespaces))
    }

    /// The generation at which required anti-affinity of pods on nodes, or what it matches, last changed.
    pub fn anti_affinity_changed(&self) -> Generation {
        self.published.nodes.anti_affinity_changed()
    }

    /// The generation at which terms of pods on nodes that count in scores, or what they match, last changed.
    pub fn scoring_terms_changed(&self) -> Generation {
        self.published.nodes.scoring_terms_changed()
    }

    /// Whether some DeviceClass serves an extended resource.
    pub fn device_classes_serve_any(&self) -> bool {
        !self.published.served_by_device_class.is_empty()
    }

    /// Whether a DeviceClass serves this extended resource.
    pub fn device_class_serves(&self, resource: &str) -> bool {
        self.published.served_by_device_class.contains(resource)
    }

    /// ResourceClaims, DeviceClasses, and allocations in flight.
    pub fn claims(&self) -> &Arc<Claims> {
        &self.published.claims
    }

    /// Answers of external parties about nodes.
    pub fn parties(&self) -> &PartyAnswers {
        &self.published.parties
    }

    /// The value of an entry of a ConfigMap, which is named `namespace/name`.
    pub fn config_entry(&self, config_map: &str, key: &str) -> Option<&Arc<str>> {
        self.published.objects.config_maps.entry(config_map, key)
    }

    /// Services and controllers of pods, with their selectors.
    pub fn workloads(&self) -> &Workloads {
        &self.published.objects.workloads
    }

    /// Storage objects by kind and key.
    pub fn storage(&self) -> &StorageTable {
        &self.published.objects.storage
    }

    /// Disks and claims in use by pods on nodes.
    pub fn volume_use(&self) -> &VolumeUse {
        let volumes = self.published.nodes.volumes();
        match self.below_volumes() {
            Some((below, touched)) => {
                below.volume_use();
                volumes.in_use_over(below.published.nodes.volumes(), touched)
            }
            None => volumes.in_use(),
        }
    }

    /// Volumes that CSI drivers have attached, or must attach for pods on nodes.
    pub fn attachments(&self) -> &Attachments {
        let Publication { nodes, objects, .. } = &self.published;
        let (volumes, names, storage) = (nodes.volumes(), nodes.index().names(), &objects.storage);
        match self.below_volumes() {
            Some((below, touched)) => {
                below.attachments();
                volumes.attachments_over(below.published.nodes.volumes(), touched, names, storage)
            }
            None => volumes.attachments(names, storage),
        }
    }

    /// The snapshot below an overlay, and the rows that the overlay touches, where it changes volumes of pods.
    fn below_volumes(&self) -> Option<(&Self, &Arc<[Row]>)> {
        let below = self.below()?;
        let is_shared = self.published.nodes.volumes().is_shared_with(below.published.nodes.volumes());
        Some((below, self.touched.as_ref()?)).filter(|_| !is_shared)
    }

    /// The generation at which an interface last changed in any row.
    pub fn last_change(&self, interface: NodeInterface) -> Generation {
        self.published.nodes.last_change(interface).unwrap_or(self.published.generation)
    }

    /// Rows that changed in an interface after `since`, up to this snapshot, sorted. A row that now holds another node
    /// counts as changed in all interfaces, and so does one that an overlay touches. `None` where `since` is too old for
    /// the change log.
    pub fn rows_changed(&self, interface: NodeInterface, since: Generation) -> Option<Vec<Row>> {
        let mut rows = self.logged_rows(interface, since, self.published.generation)?;
        if let Some(touched) = &self.touched {
            rows.extend_from_slice(touched);
            rows.sort_unstable();
            rows.dedup();
        }
        Some(rows)
    }

    /// The rows in which this snapshot differs from the cache, sorted; `None` where it is no overlay. Verdicts about an
    /// overlay must not be cached as if they were about the cluster.
    pub fn overlaid_rows(&self) -> Option<&[Row]> {
        self.touched.as_deref()
    }

    /// How many label columns are built.
    #[cfg(test)]
    pub(crate) fn label_columns_built(&self) -> usize {
        self.published.nodes.labels().built_count()
    }

    /// Which pods are on which rows.
    #[cfg(test)]
    pub(crate) fn population(&self) -> &crate::pods::classes::Population {
        self.published.nodes.population()
    }

    /// The counts, as this snapshot shows them.
    #[cfg(test)]
    pub(crate) fn count_view(&self) -> &crate::pods::counts::CountView {
        self.published.nodes.count_view()
    }

    /// Rows that changed in an interface after `since` up to and including `until`; `None` where that is too old for the
    /// change log.
    pub(super) fn logged_rows(
        &self,
        interface: NodeInterface,
        since: Generation,
        until: Generation,
    ) -> Option<Vec<Row>> {
        let changes = self.published.changes.read().unwrap_or_else(PoisonError::into_inner);
        changes.changed(interface, since, until)
    }
}
