//! Placement: which pods are on which node, which are nominated for it, and how a pod gets there.
//!
//! A change first updates the list of pods on a node and then the columns: columns can be recounted from the list, and are
//! where a change is interrupted between the two. Pods of a node that is not known wait as orphans, and count once the node
//! appears. What is in flight for a pod's claims on devices ends when the pod leaves its node, or goes. Start at [`Writer::put_pod`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Writer;
use super::assumed::End;
use super::failpoint::step;
use crate::columns::Delta;
use crate::metadata::PodRecord;
use crate::nodes::nominated::Nominated;
use crate::pods::index::Displaced;

/// Pods by the node that they are on or nominated for, whether the node is known or not.
#[derive(Debug, Default)]
pub(super) struct Placement {
    by_node: FxHashMap<Arc<str>, Vec<Arc<PodRecord>>>,
    nominated: Nominated,
    /// Nodes that are being changed. Where a change panics they stay here, and are recounted before anything is published.
    unfinished: Vec<Arc<str>>,
}

impl Placement {
    /// The pods on a node.
    pub(super) fn on(&self, node: &str) -> &[Arc<PodRecord>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The names of all nodes that pods are on.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_node.keys()
    }

    /// Pods by the node that they are nominated for.
    pub(super) fn nominated(&self) -> &Nominated {
        &self.nominated
    }

    /// Whether a pod of the index is where it has to be.
    pub(super) fn holds(&self, pod: &Arc<PodRecord>) -> bool {
        match &pod.node_name {
            Some(node) => self.on(node).iter().any(|known| Arc::ptr_eq(known, pod)),
            None => self.nominated.holds(pod),
        }
    }

    /// Adds a pod to its node, or removes it; true where that changes the pods on a node.
    fn apply(&mut self, delta: Delta, pod: &Arc<PodRecord>) -> bool {
        self.nominated.apply(delta, pod);
        let Some(node) = &pod.node_name else { return false };
        match (delta, self.by_node.get_mut(node)) {
            (Delta::Add, Some(pods)) => pods.push(Arc::clone(pod)),
            (Delta::Add, None) => {
                self.by_node.insert(Arc::clone(node), vec![Arc::clone(pod)]);
            }
            (Delta::Remove, None) => return false,
            (Delta::Remove, Some(pods)) => {
                // Where it is missing, an earlier try was interrupted after the removal.
                let Some(at) = pods.iter().position(|known| Arc::ptr_eq(known, pod)) else { return false };
                pods.swap_remove(at);
                if pods.is_empty() {
                    self.by_node.remove(node);
                }
            }
        }
        true
    }

    /// Replaces an earlier state of a pod that uses the same of its node; false where that state is not there.
    fn replace(&mut self, earlier: &Arc<PodRecord>, pod: &Arc<PodRecord>) -> bool {
        let Some(node) = &pod.node_name else { return self.nominated.replace(earlier, pod) };
        let mut pods = self.by_node.get_mut(node).into_iter().flatten();
        let Some(known) = pods.find(|known| Arc::ptr_eq(known, earlier)) else { return false };
        *known = Arc::clone(pod);
        true
    }

    /// Replaces the pods on a node by other states of the same pods.
    pub(super) fn set(&mut self, node: &str, pods: Vec<Arc<PodRecord>>) {
        if let Some(known) = self.by_node.get_mut(node) {
            *known = pods;
        }
    }

    /// Notes that nodes are about to change, until [`Self::end`] is given the returned mark.
    pub(super) fn begin<'a>(&mut self, nodes: impl IntoIterator<Item = &'a Arc<str>>) -> usize {
        let begun = self.unfinished.len();
        self.unfinished.extend(nodes.into_iter().map(Arc::clone));
        begun
    }

    /// The change that began with this mark is complete.
    pub(super) fn end(&mut self, begun: usize) {
        self.unfinished.truncate(begun);
    }

    /// Nodes whose change is not complete.
    pub(super) fn unfinished(&self) -> Vec<Arc<str>> {
        self.unfinished.clone()
    }

    /// Takes the nodes whose change is not complete, like [`Self::unfinished`]; none is left.
    pub(super) fn take_unfinished(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.unfinished)
    }

    /// Drops the last pod of a node, or adds a copy of the first one, as a defect could.
    #[cfg(debug_assertions)]
    pub(super) fn corrupt(&mut self, node: &Arc<str>, delta: Delta) {
        let pods = self.by_node.entry(Arc::clone(node)).or_default();
        match delta {
            Delta::Add => pods.extend(pods.first().map(|pod| Arc::new((**pod).clone()))),
            Delta::Remove => pods.truncate(pods.len().saturating_sub(1)),
        }
    }
}

impl Writer {
    /// Adds a pod, or replaces what is known of it; its ownership stays what it was first. A pod of the same namespace and name under
    /// another UID is removed. An assumption about the pod ends where the pod is bound, and stays where it is not.
    pub(super) fn apply_pod(&mut self, pod: Arc<PodRecord>) {
        let pod = self.with_first_ownership(pod);
        let pod = self.as_counted(&pod).into_owned();
        let pod = self.reconcile(pod);
        self.gone.revive(&pod.uid);
        self.put_pod(&pod);
    }

    /// Removes a pod: deleted, or terminated, which uses no resources either. A request about it that comes later is refused.
    pub(super) fn remove_pod(&mut self, uid: &str) {
        self.assumed.end(uid, End::Conflict);
        self.gone.note(uid);
        self.take_pod(uid);
    }

    /// Notes that a pod that is not in the cache was deleted or has ended. A request about it that comes later is refused.
    pub fn note_gone(&mut self, uid: &str) {
        self.gone.note(uid);
    }

    /// A pod with the ownership under which the watch has shown it first. As with YuniKorn's allocations, whether a pod is foreign
    /// or static is decided once, so that what it uses never moves from one side of the books to the other.
    fn with_first_ownership(&self, pod: Arc<PodRecord>) -> Arc<PodRecord> {
        match self.pods.by_uid(&pod.uid) {
            Some(known) if known.ownership != pod.ownership && self.was_shown(&known) => {
                Arc::new(pod.owned(known.ownership))
            }
            _ => pod,
        }
    }

    /// Adds a pod as it is to count, or replaces what counts of it.
    pub(super) fn put_pod(&mut self, pod: &Arc<PodRecord>) {
        let pod: &Arc<PodRecord> = &self.ownership.classify(pod);
        self.note_pod(pod);
        // Whatever it changes, the next snapshot is of this generation or a later one.
        let since = self.generation.next();
        let Displaced { earlier, unchanged, namesake } = self.pods.insert(pod, since);
        // The usual update: a status that no predicate reads.
        if earlier.as_ref().is_some_and(|earlier| earlier.node_name.is_some() && earlier.node_name != pod.node_name) {
            self.release_pod(&pod.uid);
        }
        if let Some(namesake) = &namesake {
            self.release_pod(&namesake.uid);
        }
        let is_known = unchanged && earlier.as_ref().is_some_and(|earlier| self.placement.replace(earlier, pod));
        if is_known && namesake.is_none() {
            return;
        }
        let changed = [pod].into_iter().chain(&earlier).chain(&namesake);
        let begun = self.placement.begin(changed.filter_map(|pod| pod.bound_or_nominated_node()));
        step();
        if let Some(namesake) = namesake {
            // One that only a core knows may be the later of the two.
            if self.was_shown(&namesake) {
                self.gone.note(&namesake.uid);
            }
            self.note_removed_pod(&namesake.uid);
            self.assumed.end(&namesake.uid, End::Conflict);
            self.advance_generation();
            self.place(Delta::Remove, &namesake);
        }
        if !is_known {
            self.advance_generation();
            if let Some(earlier) = earlier {
                self.place(Delta::Remove, &earlier);
            }
            step();
            if unchanged {
                // It was known and counted nowhere: an earlier try was interrupted.
                self.pods.count_from(&pod.uid, since);
            }
            self.place(Delta::Add, pod);
        }
        self.placement.end(begun);
    }

    /// Removes a pod from everything that counts it.
    pub(super) fn take_pod(&mut self, uid: &str) {
        let Some(pod) = self.pods.by_uid(uid) else { return };
        self.note_removed_pod(uid);
        self.release_pod(uid);
        // As in `put_pod`.
        let since = self.generation.next();
        let begun = self.placement.begin(pod.bound_or_nominated_node());
        self.advance_generation();
        self.place(Delta::Remove, &pod);
        step();
        // Last of all, so that it is still found where the removal has to be tried once more.
        self.pods.remove(uid, since);
        self.placement.end(begun);
    }

    /// Adds a pod to its node and to the row of that node, or removes it from both.
    pub(super) fn place(&mut self, delta: Delta, pod: &Arc<PodRecord>) {
        if !self.placement.apply(delta, pod) {
            return;
        }
        step();
        let row = pod.node_name.as_ref().and_then(|node| self.nodes.row(node));
        if let Some(row) = row {
            self.apply_to_row(delta, row, pod);
        }
    }
}
