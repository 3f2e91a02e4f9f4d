//! Whose terms a question looks through: found out only once it has been given up. Start at [`Terms::owner`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Namespaces, NodeLabels, Steps, Term, Terms, hash};
use crate::limits::TERM_OWNER_TERMS;
use crate::metadata::{Labels, PodRecord};

/// The pod that came last with a term. It may be gone while others still carry the term.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Origin {
    pub(super) fn of(pod: &PodRecord) -> Arc<Self> {
        Arc::new(Self { namespace: Arc::clone(&pod.namespace), name: Arc::clone(&pod.name) })
    }
}

/// The namespace whose pods have brought terms that take most steps of a question about terms. Other pods may carry the same ones, also after
/// those that have brought them last are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermOwner {
    /// The namespace of these pods.
    pub namespace: Arc<str>,
    /// Name of the pod of the namespace that came with most of them.
    pub pod: Arc<str>,
    /// How much of the question its terms take, in hundredths, as far as it was looked at.
    pub percent: usize,
}

impl<T: Term> Terms<T> {
    /// The namespace whose pods' terms take most steps of a question about a pod, by some of the terms that may match the pod, as many as are
    /// looked at while `go_on` returns true; `None` where none is.
    pub(crate) fn owner(
        &self,
        namespace: &str,
        labels: &Labels,
        namespaces: &Namespaces,
        nodes: &NodeLabels,
        go_on: &dyn Fn() -> bool,
    ) -> Option<TermOwner> {
        let mut candidates = Vec::new();
        // Where there are more, those up to here are enough.
        let _ended =
            self.collect_candidates(namespace, labels, namespaces, nodes, &mut candidates, &mut Steps::new(go_on));
        let every = candidates.len().div_ceil(TERM_OWNER_TERMS).max(1);
        let mut by_pod: BTreeMap<&Origin, usize> = BTreeMap::new();
        for (number, term) in candidates.into_iter().step_by(every).enumerate() {
            // The first one is looked up in any case: where nothing is named, nobody is found. A term may list thousands of values.
            if number > 0 && !go_on() {
                break;
            }
            if let Some(carried) = self.carriers.get(hash(&**term), term) {
                *by_pod.entry(&carried.origin).or_default() += Steps::of_match(term.selector());
            }
        }
        let mut by_namespace: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for (origin, steps) in &by_pod {
            *by_namespace.entry(&origin.namespace).or_default() += steps;
        }
        let total: usize = by_namespace.values().sum();
        let (namespace, steps) = by_namespace.into_iter().max_by_key(|(_, steps)| *steps)?;
        let of_namespace = by_pod.iter().filter(|(origin, _)| origin.namespace == *namespace);
        let (origin, _) = of_namespace.max_by_key(|(_, steps)| **steps)?;
        Some(TermOwner {
            namespace: Arc::clone(namespace),
            pod: Arc::clone(&origin.name),
            percent: steps.saturating_mul(100) / total.max(1),
        })
    }
}
