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

/// Whether a pod is where it is nominated; a pod that is nominated nowhere is.
pub(super) fn holds(nominated: &Nominated, pod: &PodRecord) -> bool {
    let Some(node) = pod.nominated_node.as_ref().filter(|_| pod.node_name.is_none()) else { return true };
    nominated.of(node).iter().any(|known| known.uid == pod.uid)
}

/// Adds a pod where it is nominated (`more`), or takes it away.
pub(super) fn change(nominated: &mut Arc<Nominated>, pod: &Arc<PodRecord>, more: bool) {
    let Some(node) = pod.nominated_node.as_ref().filter(|_| pod.node_name.is_none()) else { return };
    let nominated = Arc::make_mut(nominated);
    let others = nominated.of(node).iter().filter(|known| known.uid != pod.uid).cloned();
    let pods: Arc<[_]> = others.chain(more.then(|| Arc::clone(pod))).collect();
    nominated.set(node, pods);
    if more {
        nominated.highest = nominated.highest.max(Some(pod.priority));
    } else {
        nominated.highest = nominated.by_node.values().flat_map(|pods| pods.iter()).map(|pod| pod.priority).max();
    }
}
