//! Overlays: what a snapshot would show if some pods were removed, others were on nodes, nodes were different.
//!
//! An [`Overlay`] describes the changes; [`Snapshot::with`] gives a snapshot that shows them, shares every chunk that they do
//! not touch, and never enters the shared state. It looks pods up and leaves the changes of columns to [`OverlayBuilder`].

#[cfg(test)]
mod model;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{OverlayBuilder, Snapshot};
use crate::columns::Row;
use crate::metadata::{NodeFacts, PodRecord};
use crate::pods::PodIndex;

/// Hypothetical changes of the cluster, applied in this order: nodes, removed pods, added pods.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Nodes that are added, or replace those of their names.
    pub nodes: Vec<NodeFacts>,
    /// UIDs of pods that are removed.
    pub removed: Vec<Arc<str>>,
    /// Pods that are on a node, with its name; the cache may have them on another node, pending, or not at all.
    pub added: Vec<(Arc<PodRecord>, Arc<str>)>,
}

impl Overlay {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.removed.is_empty() && self.added.is_empty()
    }
}

/// Why an overlay does not fit a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// A pod to be removed is not in the cache.
    #[error("pod {uid} is not in the cache, so it cannot be removed from it")]
    UnknownPod {
        /// UID as the overlay names it.
        uid: Arc<str>,
    },
    /// A pod is added to a node that is neither in the cache nor in the overlay.
    #[error("node {node:?} is neither in the cache nor among the nodes of the overlay")]
    UnknownNode {
        /// Name of the node as in the overlay.
        node: Arc<str>,
    },
    /// The pod has changed in the cache since the snapshot was published; the next snapshot shows the change.
    #[error("pod {uid} changed after the newest snapshot was published: retry")]
    Unsettled {
        /// UID of the pod.
        uid: Arc<str>,
    },
}

/// A pod with the row of its node; `None` where it is on no known node.
type Located = Option<(Arc<PodRecord>, Row)>;

impl Snapshot {
    /// Returns this snapshot with an overlay. `pods` is the index of the same cache.
    ///
    /// # Errors
    ///
    /// Where the overlay names pods or nodes that do not exist, or pods that changed after this snapshot was published.
    pub fn with(&self, pods: &PodIndex, overlay: &Overlay) -> Result<Self, OverlayError> {
        let builder = OverlayBuilder::new(self);
        let mut changing =
            Changing { pods, base: self, builder, moved: FxHashMap::default(), placed: FxHashMap::default() };
        changing.set_nodes(&overlay.nodes)?;
        overlay.removed.iter().try_for_each(|uid| changing.remove(uid))?;
        overlay.added.iter().try_for_each(|(pod, node)| changing.add(pod, node))?;
        Ok(changing.builder.snapshot())
    }

    /// The pod with this UID as this snapshot counts it; `None` where it counts none.
    ///
    /// # Errors
    ///
    /// [`OverlayError::Unsettled`] where the pod has, or may have, changed or been removed since this snapshot was published.
    pub fn counted(&self, pods: &PodIndex, uid: &str) -> Result<Option<Arc<PodRecord>>, OverlayError> {
        match pods.counted(uid) {
            Some((pod, since)) if since <= self.generation() => Ok(Some(pod)),
            None if pods.removed_at() <= self.generation() => Ok(None),
            _ => Err(OverlayError::Unsettled { uid: Arc::from(uid) }),
        }
    }

    /// Pods for which `rule` holds, on rows for which `is_meant` holds, by namespace and name: those that this snapshot counts so beyond
    /// doubt. Pods that have changed since it was published are left out, and those on rows that an overlay touches. `pods` is the index of
    /// the same cache; all of it is looked through.
    ///
    /// `may` and `is_meant` are asked while the index is locked in part, and whoever changes a pod waits: they must take no longer for one pod
    /// than for another. What they leave over, 16 bytes a pod, is copied, and `rule` is asked about that afterwards.
    pub fn counted_with(
        &self,
        pods: &PodIndex,
        may: impl Fn(&PodRecord) -> bool,
        rule: impl Fn(&PodRecord) -> bool,
        is_meant: impl Fn(Row) -> bool,
    ) -> Vec<Arc<PodRecord>> {
        let touched = self.overlaid_rows().unwrap_or_default();
        let on_meant_row = |pod: &PodRecord| {
            let row = pod.node_name.as_deref().and_then(|node| self.node_row(node));
            row.is_some_and(|row| touched.binary_search(&row).is_err() && is_meant(row))
        };
        let found = pods.counted_with(|pod| may(pod) && on_meant_row(pod)).into_iter();
        let counted = found.filter(|(pod, since)| *since <= self.generation() && rule(pod));
        let mut found: Vec<Arc<PodRecord>> = counted.map(|(pod, _)| pod).collect();
        found.sort_unstable_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        found
    }
}

/// An overlay as it is applied: pods are looked up in the cache, or among those already moved.
struct Changing<'a> {
    pods: &'a PodIndex,
    base: &'a Snapshot,
    builder: OverlayBuilder,
    moved: FxHashMap<Arc<str>, Located>,
    /// UIDs of pods that the overlay has added, by namespace and name.
    placed: FxHashMap<(Arc<str>, Arc<str>), Arc<str>>,
}

impl Changing<'_> {
    /// Adds or replaces nodes; new ones get the orphans that are bound to them.
    fn set_nodes(&mut self, nodes: &[NodeFacts]) -> Result<(), OverlayError> {
        let is_new = |node: &&NodeFacts| self.builder.row(&node.name).is_none();
        let new: FxHashSet<&str> = nodes.iter().filter(is_new).map(|node| &*node.name).collect();
        for node in nodes {
            self.builder.set_node(node);
        }
        if new.is_empty() {
            return Ok(());
        }
        for (pod, since) in self.pods.counted_on(|node| new.contains(node)) {
            if since > self.base.generation() {
                return Err(OverlayError::Unsettled { uid: Arc::clone(&pod.uid) });
            }
            if let Some(row) = pod.node_name.as_ref().and_then(|node| self.builder.row(node)) {
                self.put(row, &pod);
            }
        }
        Ok(())
    }

    fn put(&mut self, row: Row, pod: &Arc<PodRecord>) {
        self.builder.add(row, pod);
        self.moved.insert(Arc::clone(&pod.uid), Some((Arc::clone(pod), row)));
        self.placed.insert((Arc::clone(&pod.namespace), Arc::clone(&pod.name)), Arc::clone(&pod.uid));
    }

    fn remove(&mut self, uid: &Arc<str>) -> Result<(), OverlayError> {
        let is_known = self.moved.contains_key(uid) || self.pods.by_uid(uid).is_some();
        if !is_known {
            return Err(OverlayError::UnknownPod { uid: Arc::clone(uid) });
        }
        let found = self.find(uid)?;
        self.detach(uid, found);
        Ok(())
    }

    /// Adds a pod to a node. As in the cache, a pod of the same namespace and name under another UID is removed, and a pod that is
    /// known keeps its ownership.
    fn add(&mut self, pod: &Arc<PodRecord>, node: &Arc<str>) -> Result<(), OverlayError> {
        let unknown = || OverlayError::UnknownNode { node: Arc::clone(node) };
        let row = self.builder.row(node).ok_or_else(unknown)?;
        let known = match self.moved.get(&pod.uid) {
            Some(moved) => moved.as_ref().map(|(known, _)| known.ownership),
            None => self.pods.by_uid(&pod.uid).map(|known| known.ownership),
        };
        let pod = &match known {
            Some(ownership) if ownership != pod.ownership => Arc::new(pod.owned(ownership)),
            _ => Arc::clone(pod),
        };
        let name = (Arc::clone(&pod.namespace), Arc::clone(&pod.name));
        let placed = self.placed.get(&name).map(Arc::clone);
        let known = self.pods.by_name(&pod.namespace, &pod.name).map(|known| Arc::clone(&known.uid));
        for uid in placed.iter().chain(&known).chain([&pod.uid]) {
            let found = self.find(uid)?;
            self.detach(uid, found);
        }
        self.put(row, pod);
        Ok(())
    }

    fn detach(&mut self, uid: &Arc<str>, found: Located) {
        if let Some((pod, row)) = found {
            self.builder.remove(row, &pod);
        }
        if let Some(pod) = self.pods.by_uid(uid) {
            self.builder.remove_nominated(&pod);
        }
        self.moved.insert(Arc::clone(uid), None);
    }

    fn find(&self, uid: &Arc<str>) -> Result<Located, OverlayError> {
        if let Some(found) = self.moved.get(uid) {
            return Ok(found.clone());
        }
        let Some((pod, since)) = self.pods.counted(uid) else { return Ok(None) };
        if since > self.base.generation() {
            return Err(OverlayError::Unsettled { uid: Arc::clone(uid) });
        }
        let row = pod.node_name.as_ref().and_then(|node| self.base.node_row(node));
        Ok(row.map(|row| (pod, row)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::Cell;

    use super::*;
    use crate::write::model::{random_node, random_pod, text};

    #[test]
    fn pods_are_compared_by_a_rule_while_nothing_is_locked() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut writer, reader) = crate::new();
        writer.apply(random_node(&mut random, "n"));
        (0..40).for_each(|number| writer.apply(random_pod(&mut random, &format!("p{number}"), Some(text("n")))));
        writer.publish();
        let (pods, asked) = (reader.pods(), Cell::new(0));
        let rule = |pod: &PodRecord| {
            asked.set(asked.get() + 1);
            assert!(pods.is_unlocked(&pod.uid), "whoever changes this pod would wait");
            *pod.name != *"p7"
        };
        let found = reader.snapshot().counted_with(pods, |pod| *pod.name != *"p8", rule, |_| true);
        assert_eq!((found.len(), asked.get()), (38, 39), "p8 is left out before, p7 afterwards");
        assert!(found.is_sorted_by_key(|pod| &pod.name));
    }
}
