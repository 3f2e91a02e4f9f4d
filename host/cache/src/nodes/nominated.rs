//! Nominated pods: pending pods for which preemption is making room on a node. They use nothing of the node yet; filtering
//! may add them in an overlay.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::columns::Delta;
use crate::metadata::PodRecord;

/// Pods by the node that they are nominated for. A clone costs a reference count; few nodes have any such pod, so that a
/// change copies the whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nominated {
    state: Arc<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    by_node: FxHashMap<Arc<str>, Arc<[Arc<PodRecord>]>>,
    /// The highest priority of all: most filter calls need no more.
    highest: Option<i32>,
}

impl Nominated {
    /// The pods of a node.
    pub(crate) fn for_node(&self, node: &str) -> &[Arc<PodRecord>] {
        self.state.for_node(node)
    }

    /// Nodes with their pods; each node has at least one.
    pub(crate) fn by_node(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &[Arc<PodRecord>])> {
        self.state.by_node.iter().map(|(node, pods)| (node, &**pods))
    }

    /// The highest priority of all; `None` where there is no pod.
    pub(crate) fn highest(&self) -> Option<i32> {
        self.state.highest
    }

    /// Whether this very record is where its pod is nominated; true for a pod that is nominated nowhere.
    pub(crate) fn holds(&self, pod: &Arc<PodRecord>) -> bool {
        let Some(node) = node_of(pod) else { return true };
        self.for_node(node).iter().any(|known| Arc::ptr_eq(known, pod))
    }

    /// Replaces an earlier state of a pod that is nominated for the same node; false where that state is not there. A pod
    /// that is nominated nowhere needs no replacing.
    pub(crate) fn replace(&mut self, earlier: &Arc<PodRecord>, pod: &Arc<PodRecord>) -> bool {
        let is_there = self.holds(earlier);
        if is_there {
            self.apply(Delta::Add, pod);
        }
        is_there
    }

    /// The pods with these in the place of any other state of them.
    pub(crate) fn with(&self, pods: &[Arc<PodRecord>]) -> Self {
        let replaced: FxHashSet<&str> = pods.iter().map(|pod| &*pod.uid).collect();
        let mut by_node: FxHashMap<Arc<str>, Vec<Arc<PodRecord>>> = FxHashMap::default();
        let kept = self.by_node().flat_map(|(node, pods)| pods.iter().map(move |pod| (node, pod)));
        let kept = kept.filter(|(_, pod)| !replaced.contains(&*pod.uid));
        let added = pods.iter().filter_map(|pod| Some((node_of(pod)?, pod)));
        for (node, pod) in kept.chain(added) {
            by_node.entry(Arc::clone(node)).or_default().push(Arc::clone(pod));
        }
        let highest = by_node.values().flatten().map(|pod| pod.priority).max();
        let by_node = by_node.into_iter().map(|(node, pods)| (node, pods.into())).collect();
        Self { state: Arc::new(State { by_node, highest }) }
    }

    /// Adds a pod where it is nominated, in the place of any other state of it, or removes it.
    pub(crate) fn apply(&mut self, delta: Delta, pod: &Arc<PodRecord>) {
        let Some(node) = node_of(pod) else { return };
        let state = Arc::make_mut(&mut self.state);
        let before = state.for_node(node).len();
        let others = state.for_node(node).iter().filter(|known| known.uid != pod.uid).cloned();
        let pods: Arc<[_]> = others.chain((delta == Delta::Add).then(|| Arc::clone(pod))).collect();
        let only_added = pods.len() > before;
        state.set(node, pods);
        state.highest = if only_added {
            state.highest.max(Some(pod.priority))
        } else {
            state.by_node.values().flat_map(|pods| pods.iter()).map(|pod| pod.priority).max()
        };
    }
}

impl State {
    fn for_node(&self, node: &str) -> &[Arc<PodRecord>] {
        self.by_node.get(node).map_or(&[], |pods| pods)
    }

    fn set(&mut self, node: &Arc<str>, pods: Arc<[Arc<PodRecord>]>) {
        if pods.is_empty() {
            self.by_node.remove(node);
        } else {
            self.by_node.insert(Arc::clone(node), pods);
        }
    }
}

/// The node for which a pod is nominated; `None` where it is on a node already.
fn node_of(pod: &PodRecord) -> Option<&Arc<str>> {
    pod.nominated_node.as_ref().filter(|_| pod.node_name.is_none())
}
