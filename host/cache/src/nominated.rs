//! Nominated pods: pending ones for which room is being made on a node. They take nothing of it yet; a question may lay
//! them over the snapshot.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::metadata::PodRecord;

/// Pods by the node that they are nominated for. Few nodes have any, so that the whole is copied when one changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Nominated {
    by_node: FxHashMap<Arc<str>, Arc<[Arc<PodRecord>]>>,
    /// The highest priority of all: most questions need to know no more.
    highest: Option<i32>,
}

impl Nominated {
    /// The pods of a node.
    pub(super) fn of(&self, node: &str) -> &[Arc<PodRecord>] {
        self.by_node.get(node).map_or(&[], |pods| pods)
    }

    /// Nodes with their pods; each node has at least one.
    pub(super) fn by_node(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &[Arc<PodRecord>])> {
        self.by_node.iter().map(|(node, pods)| (node, &**pods))
    }

    /// The highest priority of all; none where there is no pod.
    pub(super) fn highest(&self) -> Option<i32> {
        self.highest
    }

    fn set(&mut self, node: &Arc<str>, pods: Arc<[Arc<PodRecord>]>) {
        if pods.is_empty() {
            self.by_node.remove(node);
        } else {
            self.by_node.insert(Arc::clone(node), pods);
        }
    }
}

/// The node for which a pod is nominated; none where it is on a node already.
fn node_of(pod: &PodRecord) -> Option<&Arc<str>> {
    pod.nominated_node.as_ref().filter(|_| pod.node_name.is_none())
}

/// Whether this very record is where its pod is nominated; a pod that is nominated nowhere is.
pub(super) fn holds(nominated: &Nominated, pod: &Arc<PodRecord>) -> bool {
    let Some(node) = node_of(pod) else { return true };
    nominated.of(node).iter().any(|known| Arc::ptr_eq(known, pod))
}

/// Puts a pod in the place of an earlier state of it that is nominated for the same node; false where that is not there.
/// A pod that is nominated nowhere needs no place.
pub(super) fn replace(nominated: &mut Arc<Nominated>, earlier: &Arc<PodRecord>, pod: &Arc<PodRecord>) -> bool {
    let is_there = holds(nominated, earlier);
    if is_there {
        change(nominated, pod, true);
    }
    is_there
}

/// Adds a pod where it is nominated (`more`), in the place of any other state of it, or takes it away.
pub(super) fn change(nominated: &mut Arc<Nominated>, pod: &Arc<PodRecord>, more: bool) {
    let Some(node) = node_of(pod) else { return };
    let nominated = Arc::make_mut(nominated);
    let before = nominated.of(node).len();
    let others = nominated.of(node).iter().filter(|known| known.uid != pod.uid).cloned();
    let pods: Arc<[_]> = others.chain(more.then(|| Arc::clone(pod))).collect();
    let only_added = pods.len() > before;
    nominated.set(node, pods);
    nominated.highest = if only_added {
        nominated.highest.max(Some(pod.priority))
    } else {
        nominated.by_node.values().flat_map(|pods| pods.iter()).map(|pod| pod.priority).max()
    };
}
