//! Overlays: what a snapshot would show if some pods were gone, others were there, nodes were different.
//!
//! An [`Overlay`] says what is supposed; [`Snapshot::with`] answers with a snapshot that shares every chunk that the
//! overlay does not touch and never enters the shared state. A [`Hypothesis`] is the same step by step. [`strip`] is the
//! form for the question how many pods of one node have to go.

mod strip;

#[cfg(test)]
mod model;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::counts::{CountView, PodChange, PodClass};
use super::nominated::{self, Nominated};
use super::ports::with_ports;
use super::table::{NodeTable, UserChange};
use super::{Column, PodIndex, Row, Snapshot};
use crate::metadata::{Amounts, HostPort, NodeFacts, PodRecord};

/// Changes of the cluster that are supposed for one question: first nodes, then pods that are gone, then pods that are
/// there.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Nodes that are there, or are different from what they are.
    pub nodes: Vec<NodeFacts>,
    /// UIDs of pods that are gone.
    pub removed: Vec<Arc<str>>,
    /// Pods that are on a node, by its name, whether the cache has them elsewhere, pending, or not at all.
    pub added: Vec<(Arc<PodRecord>, Arc<str>)>,
}

impl Overlay {
    /// Whether nothing is supposed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.removed.is_empty() && self.added.is_empty()
    }
}

/// Why an overlay does not fit a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// A pod that should be gone is not in the cache.
    #[error("pod {uid} is not in the cache, so it cannot be removed from it")]
    UnknownPod {
        /// As the overlay names it.
        uid: Arc<str>,
    },
    /// A pod is to be on a node that is neither in the cache nor in the overlay.
    #[error("node {node:?} is neither in the cache nor among the nodes of the overlay")]
    UnknownNode {
        /// As the overlay names it.
        node: Arc<str>,
    },
    /// The cache has learnt something of the pod that the snapshot does not show yet; the next one will.
    #[error("pod {uid} is changing this moment: ask again")]
    Unsettled {
        /// The pod's UID.
        uid: Arc<str>,
    },
}

/// Where a pod is, as far as the hypothesis has looked at it: with the row of its node, if that is known.
type Whereabouts = Option<(Arc<PodRecord>, Row)>;

impl Snapshot {
    /// This snapshot under an overlay. `pods` are those of the same cache.
    ///
    /// # Errors
    ///
    /// Where the overlay names what is not there, or what is changing.
    pub fn with(&self, pods: &PodIndex, overlay: &Overlay) -> Result<Self, OverlayError> {
        let hypothesis = Hypothesis::of(self);
        let mut changing = Changing { pods, hypothesis, moved: FxHashMap::default(), placed: FxHashMap::default() };
        changing.set_nodes(&overlay.nodes)?;
        overlay.removed.iter().try_for_each(|uid| changing.remove(uid))?;
        overlay.added.iter().try_for_each(|(pod, node)| changing.add(pod, node))?;
        Ok(changing.hypothesis.snapshot())
    }

    /// The pod with this UID, which this very snapshot counts as the record says; none where there is none.
    ///
    /// # Errors
    ///
    /// Where the cache knows more of the pod by now, that it is gone included, or may do so.
    pub fn counted(&self, pods: &PodIndex, uid: &str) -> Result<Option<Arc<PodRecord>>, OverlayError> {
        match pods.counted(uid) {
            Some((pod, since)) if since <= self.generation => Ok(Some(pod)),
            None if pods.departed() <= self.generation => Ok(None),
            _ => Err(OverlayError::Unsettled { uid: Arc::from(uid) }),
        }
    }
}

/// An overlay that is being laid over a snapshot: pods are looked up in the cache, or among those already moved.
struct Changing<'a> {
    pods: &'a PodIndex,
    hypothesis: Hypothesis,
    moved: FxHashMap<Arc<str>, Whereabouts>,
    /// By namespace and name, the UIDs of those that are on a node now.
    placed: FxHashMap<(Arc<str>, Arc<str>), Arc<str>>,
}

impl Changing<'_> {
    /// Sets nodes; those that are new get the pods that wait for them.
    fn set_nodes(&mut self, nodes: &[NodeFacts]) -> Result<(), OverlayError> {
        let is_new = |node: &&NodeFacts| self.hypothesis.nodes.row(&node.name).is_none();
        let new: FxHashSet<&str> = nodes.iter().filter(is_new).map(|node| &*node.name).collect();
        for node in nodes {
            self.hypothesis.set_node(node);
        }
        if new.is_empty() {
            return Ok(());
        }
        for (pod, since) in self.pods.counted_on(|node| new.contains(node)) {
            if since > self.hypothesis.base.generation {
                return Err(OverlayError::Unsettled { uid: Arc::clone(&pod.uid) });
            }
            if let Some(row) = pod.node_name.as_ref().and_then(|node| self.hypothesis.nodes.row(node)) {
                self.put(row, &pod);
            }
        }
        Ok(())
    }

    fn put(&mut self, row: Row, pod: &Arc<PodRecord>) {
        self.hypothesis.add(row, pod);
        self.moved.insert(Arc::clone(&pod.uid), Some((Arc::clone(pod), row)));
        self.placed.insert((Arc::clone(&pod.namespace), Arc::clone(&pod.name)), Arc::clone(&pod.uid));
    }

    fn remove(&mut self, uid: &Arc<str>) -> Result<(), OverlayError> {
        let is_known = self.moved.contains_key(uid) || self.pods.by_uid(uid).is_some();
        if !is_known {
            return Err(OverlayError::UnknownPod { uid: Arc::clone(uid) });
        }
        let found = self.find(uid)?;
        self.take_away(uid, found);
        Ok(())
    }

    /// Puts a pod on a node. As in the cache, a pod of the same namespace and name under another UID is gone.
    fn add(&mut self, pod: &Arc<PodRecord>, node: &Arc<str>) -> Result<(), OverlayError> {
        let unknown = || OverlayError::UnknownNode { node: Arc::clone(node) };
        let row = self.hypothesis.nodes.row(node).ok_or_else(unknown)?;
        let name = (Arc::clone(&pod.namespace), Arc::clone(&pod.name));
        let placed = self.placed.get(&name).map(Arc::clone);
        let known = self.pods.by_name(&pod.namespace, &pod.name).map(|known| Arc::clone(&known.uid));
        for uid in placed.iter().chain(&known).chain([&pod.uid]) {
            let found = self.find(uid)?;
            self.take_away(uid, found);
        }
        self.put(row, pod);
        Ok(())
    }

    fn take_away(&mut self, uid: &Arc<str>, found: Whereabouts) {
        if let Some((pod, row)) = found {
            self.hypothesis.remove(row, &pod);
        }
        if let Some(pod) = self.pods.by_uid(uid) {
            nominated::change(&mut self.hypothesis.nominated, &pod, false);
        }
        self.moved.insert(Arc::clone(uid), None);
    }

    fn find(&self, uid: &Arc<str>) -> Result<Whereabouts, OverlayError> {
        if let Some(found) = self.moved.get(uid) {
            return Ok(found.clone());
        }
        let Some((pod, since)) = self.pods.counted(uid) else { return Ok(None) };
        if since > self.hypothesis.base.generation {
            return Err(OverlayError::Unsettled { uid: Arc::clone(uid) });
        }
        let row = pod.node_name.as_ref().and_then(|node| self.hypothesis.base.node_row(node));
        Ok(row.map(|row| (pod, row)))
    }
}

/// A snapshot that is changed step by step, for one question.
#[derive(Debug, Clone)]
pub struct Hypothesis {
    base: Arc<Snapshot>,
    nodes: NodeTable,
    nominated: Arc<Nominated>,
    /// What pods came and went, for counts that somebody asks for.
    changes: Vec<PodChange>,
    touched: Vec<Row>,
}

impl Hypothesis {
    /// As the snapshot is, to begin with.
    pub fn of(snapshot: &Snapshot) -> Self {
        let touched = snapshot.touched.as_deref().unwrap_or_default().to_vec();
        let (nodes, nominated) = (snapshot.nodes.clone(), Arc::clone(&snapshot.nominated));
        Self { base: Arc::new(snapshot.clone()), nodes, nominated, changes: Vec::new(), touched }
    }

    /// What it has become.
    pub fn snapshot(&self) -> Snapshot {
        let mut touched = self.touched.clone();
        touched.sort_unstable();
        touched.dedup();
        let mut nodes = self.nodes.clone();
        if !self.changes.is_empty() || nodes.len() != self.base.node_count() {
            nodes.counts = Arc::new(CountView::overlaid(&self.base.nodes, self.changes.clone()));
        }
        let below = Some(Arc::clone(&self.base));
        let nominated = Arc::clone(&self.nominated);
        Snapshot { nodes, nominated, touched: Some(touched.into()), below, ..(*self.base).clone() }
    }

    /// Takes away a pod that counts on a row.
    pub fn remove(&mut self, row: Row, pod: &Arc<PodRecord>) {
        self.change(row, pod, UserChange::Fewer);
    }

    /// Puts a pod on a row, on which it is not yet.
    pub fn add(&mut self, row: Row, pod: &Arc<PodRecord>) {
        self.change(row, pod, UserChange::More);
    }

    fn change(&mut self, row: Row, pod: &Arc<PodRecord>, change: UserChange) {
        self.nodes.change_usage(row, pod, change);
        if !pod.facts.host_ports.is_empty() {
            self.change_ports(row, &pod.facts.host_ports, change);
        }
        self.changes.push(PodChange { row, class: PodClass::of(pod), more: change == UserChange::More });
        self.touch(row);
    }

    fn change_ports(&mut self, row: Row, ports: &[HostPort], change: UserChange) {
        let code = self.nodes.port_codes.get(row).copied().unwrap_or(0);
        let in_use = self.nodes.port_sets.get(Row(code)).map(|set| with_ports(set, ports, change)).unwrap_or_default();
        let code = code_of(&mut self.nodes.port_sets, in_use);
        self.nodes.port_codes.set(row, code);
    }

    /// Adds a node without pods, or replaces what is known of the one of this name.
    pub fn set_node(&mut self, node: &NodeFacts) -> Row {
        let row = self.nodes.row(&node.name).unwrap_or_else(|| self.nodes.push(&node.name));
        if self.nodes.labels.get(row) != Some(&node.labels) {
            self.nodes.set_labels(row, &node.labels);
        }
        let taints = code_of(&mut self.nodes.taint_sets, node.taints.clone());
        self.nodes.taint_codes.set(row, taints);
        self.nodes.unschedulable.set(row, u8::from(node.unschedulable));
        let features = code_of(&mut self.nodes.feature_sets, node.features.clone());
        self.nodes.feature_codes.set(row, features);
        let capacity = code_of(&mut self.nodes.capacity_sets, node.capacity.clone());
        self.nodes.capacity_codes.set(row, capacity);
        self.set_allocatable(row, &node.allocatable);
        let old_limit = self.nodes.pod_limit.get(row).copied().unwrap_or(0);
        let delta = node.pod_limit.wrapping_sub(old_limit);
        self.nodes.pod_limit.set(row, node.pod_limit);
        self.nodes.pod_room.update(row, |room| *room = room.wrapping_add(delta));
        self.touch(row);
        row
    }

    /// What a node lists at zero cannot be told from what it does not list, and what no node lists any more keeps its
    /// columns here: they read the same as without them.
    fn set_allocatable(&mut self, row: Row, new: &Amounts) {
        let listed = |resource: &super::Resource| resource.allocatable.get(row).copied().unwrap_or(0);
        let resources = self.nodes.resources.iter().map(|(name, resource)| (Arc::clone(name), listed(resource)));
        let old: Amounts = resources.filter(|(_, amount)| *amount != 0).collect();
        self.nodes.change_allocatable(row, new, &old);
    }

    fn touch(&mut self, row: Row) {
        if self.touched.last() != Some(&row) {
            self.touched.push(row);
        }
    }
}

/// The code of a value in a dictionary that is the overlay's own from the first new value on.
fn code_of<T: PartialEq>(values: &mut Column<Arc<T>>, value: T) -> u32 {
    let known = values.iter().position(|known| **known == value);
    let place = known.unwrap_or_else(|| {
        values.push(Arc::new(value));
        values.len() - 1
    });
    // There are never more values than pods, and a cluster never comes near 2^32 of these.
    u32::try_from(place).unwrap_or(u32::MAX)
}
