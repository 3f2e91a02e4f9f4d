//! Results of an accounting component, by the facts that they are about. Start at [`Known`].
//!
//! Facts of pods are found by their address: they are pooled, so that pods of one template have the same. Whoever holds them decides how
//! long; what was said of facts that nobody holds any more is dropped by sweeps. Facts of nodes are found by their content.

use std::sync::{Arc, Weak};

use nodesift_cache::metadata::{Accounted, AccountedNode, PodFacts, Sums};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::limits::{KNOWN_ACCOUNTS_SWEEP_MIN, KNOWN_NODE_SUMS};

/// Accounts of pods and sums of nodes that the component has returned.
#[derive(Debug, Default)]
pub(super) struct Known {
    pods: Mutex<Pods>,
    nodes: Mutex<FxHashMap<AccountedNode, Result<Sums, Arc<str>>>>,
}

/// Accounts of pods by the address of their facts. A weak reference keeps the address from being used again.
#[derive(Debug, Default)]
struct Pods {
    said: FxHashMap<usize, (Weak<PodFacts>, Accounted)>,
    sweep_at: usize,
}

fn address(facts: &Arc<PodFacts>) -> usize {
    Arc::as_ptr(facts).addr()
}

impl Known {
    /// Returns the known account of each pod; `None` where there is none for its facts.
    pub(super) fn pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<Option<Accounted>> {
        let known = self.pods.lock();
        pods.iter().map(|facts| known.said.get(&address(facts)).map(|(_, said)| said.clone())).collect()
    }

    /// Returns the known sums of each node; `None` where there are none for its facts.
    pub(super) fn nodes(&self, nodes: &[AccountedNode]) -> Vec<Option<Result<Sums, Arc<str>>>> {
        let known = self.nodes.lock();
        nodes.iter().map(|node| known.get(node).cloned()).collect()
    }

    /// Adds what was said of pods.
    pub(super) fn add_pods<'a>(&self, said: impl Iterator<Item = (&'a &'a Arc<PodFacts>, &'a (Accounted, bool))>) {
        let mut known = self.pods.lock();
        for (facts, (said, _)) in said {
            known.said.insert(address(facts), (Arc::downgrade(facts), said.clone()));
        }
        if known.said.len() >= known.sweep_at.max(KNOWN_ACCOUNTS_SWEEP_MIN) {
            known.said.retain(|_, (facts, _)| facts.strong_count() > 0);
            known.sweep_at = known.said.len() + known.said.len() / 4;
        }
    }

    /// Adds what was said of nodes.
    pub(super) fn add_nodes<'a>(
        &self,
        said: impl Iterator<Item = (&'a &'a AccountedNode, &'a (Result<Sums, Arc<str>>, bool))>,
    ) {
        let mut known = self.nodes.lock();
        for (node, (said, _)) in said {
            if known.len() >= KNOWN_NODE_SUMS {
                known.clear();
            }
            known.insert((*node).clone(), said.clone());
        }
    }

    /// Forgets what was said of a pod.
    pub(super) fn forget_pod(&self, facts: &Arc<PodFacts>) {
        self.pods.lock().said.remove(&address(facts));
    }

    /// Forgets what was said of a node.
    pub(super) fn forget_node(&self, node: &AccountedNode) {
        self.nodes.lock().remove(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_found_by_the_facts_and_goes_with_them() {
        let known = Known::default();
        let facts = |text: &str| Arc::new(PodFacts { namespace: text.into(), ..PodFacts::default() });
        let (first, second) = (facts("a"), facts("a"));
        let (said, other): (Accounted, Accounted) = (Err("broken".into()), Ok(None));
        known.add_pods([(&&first, &(said.clone(), true)), (&&second, &(other.clone(), true))].into_iter());
        assert_eq!(known.pods(&[&second, &first]), [Some(other), Some(said)]);
        known.forget_pod(&first);
        assert_eq!(known.pods(&[&first]), [None]);
        for _ in 0..3 * KNOWN_ACCOUNTS_SWEEP_MIN {
            known.add_pods([(&&facts("b"), &(Ok(None), true))].into_iter());
        }
        assert!(known.pods.lock().said.len() <= KNOWN_ACCOUNTS_SWEEP_MIN);
        assert_eq!(known.pods(&[&second]), [Some(Ok(None))]);
    }

    #[test]
    fn nodes_are_found_by_content_and_bounded() {
        let known = Known::default();
        let node = |cpu: i64| AccountedNode { annotations: Arc::default(), allocatable: vec![("cpu".into(), cpu)] };
        for cpu in 0..=i64::try_from(KNOWN_NODE_SUMS).unwrap_or(i64::MAX) {
            known.add_nodes([(&&node(cpu), &(Ok(Sums::default()), true))].into_iter());
            assert_eq!(known.nodes(&[node(cpu), node(-1)]), [Some(Ok(Sums::default())), None]);
        }
        assert_eq!(known.nodes.lock().len(), 1);
    }
}
