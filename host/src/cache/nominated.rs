//! Nominated pods: pending ones for which room is being made on a node. They take nothing of it yet; a question may lay
//! them over the snapshot.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::metadata::PodRecord;

/// Pods by the node that they are nominated for. Few nodes have any, so that the whole is copied when one changes.
pub(super) type Nominated = FxHashMap<Arc<str>, Arc<[Arc<PodRecord>]>>;

/// Whether a pod is where it is nominated; a pod that is nominated nowhere is.
pub(super) fn holds(nominated: &Nominated, pod: &PodRecord) -> bool {
    let Some(node) = pod.nominated_node.as_ref().filter(|_| pod.node_name.is_none()) else { return true };
    nominated.get(node).is_some_and(|pods| pods.iter().any(|known| known.uid == pod.uid))
}

/// Adds a pod where it is nominated (`more`), or takes it away.
pub(super) fn change(nominated: &mut Arc<Nominated>, pod: &Arc<PodRecord>, more: bool) {
    let Some(node) = pod.nominated_node.as_ref().filter(|_| pod.node_name.is_none()) else { return };
    let nominated = Arc::make_mut(nominated);
    let known = nominated.get(node).map_or(&[][..], |pods| pods);
    let others = known.iter().filter(|known| known.uid != pod.uid).cloned();
    let pods: Arc<[_]> = others.chain(more.then(|| Arc::clone(pod))).collect();
    if pods.is_empty() {
        nominated.remove(node);
    } else {
        nominated.insert(Arc::clone(node), pods);
    }
}
