//! Constraints of the pod over the domains of a topology: spread, and affinity to pods. They are told as they are, and are no obstacles of
//! single nodes. Start at [`collect_spread`] and [`collect_affinity`].

use std::collections::HashSet;
use std::sync::Arc;

use nodesift_cache::CountKey;
use nodesift_cache::metadata::PodSelector;
use nodesift_object::affinity::{PodAffinityTerm, TopologySpreadConstraint, WhenUnsatisfiable};
use nodesift_object::selector::LabelSelector;

use super::Draft;
use crate::Error;
use crate::limits::WHY_FACTS;
use crate::why::answer::TopologyFact;
use crate::why::rejections::cut;
use crate::why::view::View;

/// Adds the spread constraints that reject nodes.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect_spread(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let pod = view.context.pod();
    let hard = |(_, constraint): &(usize, &TopologySpreadConstraint)| {
        constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
    };
    let constraints: Vec<_> = pod.spread.iter().enumerate().filter(hard).collect();
    draft.evidence.omitted = constraints.len().saturating_sub(WHY_FACTS);
    for (at, constraint) in constraints.into_iter().take(WHY_FACTS) {
        let selector = constraint.label_selector.as_ref().and_then(|selector| own_pods(view, selector));
        let fact = TopologyFact {
            field: format!("topologySpreadConstraints[{at}]"),
            max_skew: constraint.max_skew.into(),
            ..fact(view, &constraint.topology_key, selector)?
        };
        draft.evidence.topologies.push(fact);
    }
    Ok(())
}

/// Adds the required terms of affinity and anti-affinity.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect_affinity(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let pod = view.context.pod();
    let lists = [("affinity.podAffinity", &pod.affinity), ("affinity.podAntiAffinity", &pod.anti_affinity)];
    draft.evidence.omitted = (pod.affinity.len() + pod.anti_affinity.len()).saturating_sub(WHY_FACTS);
    let terms = lists.into_iter().flat_map(|(list, terms)| terms.iter().enumerate().map(move |term| (list, term)));
    for (list, (at, term)) in terms.take(WHY_FACTS) {
        let field = format!("{list}.required[{at}]");
        let fact = TopologyFact { field, ..fact(view, &term.topology_key, pods_of_term(view, term))? };
        draft.evidence.topologies.push(fact);
    }
    Ok(())
}

/// The domains of a topology, and the pods that a selector matches.
fn fact(view: &View<'_>, topology_key: &str, selector: Option<PodSelector>) -> Result<TopologyFact, Error> {
    view.check()?;
    let snapshot = view.context.snapshot();
    let (mut nodes, mut domains) = (0, HashSet::new());
    if let Some(column) = snapshot.label_column(topology_key) {
        let codes = column.codes.flat();
        let codes = view.rejections.batch.iter().filter_map(|row| codes.get(row.index()));
        for code in codes.filter(|code| **code != 0) {
            nodes += 1;
            domains.insert(*code);
        }
    }
    let mut matching_pods = 0;
    if let Some(selector) = selector {
        let key = CountKey { selectors: vec![selector], terminating: false };
        let counts = snapshot.count_while(&key, &|| view.goes_on()).ok_or(Error::DeadlineExceeded)?;
        matching_pods = counts.iter().map(|pods| u64::from(*pods)).sum();
    }
    Ok(TopologyFact {
        field: String::new(),
        topology_key: cut(topology_key).to_owned(),
        nodes,
        domains: domains.len(),
        matching_pods,
        max_skew: 0,
    })
}

/// Pods of the pod's own namespace with some labels; `None` where the selector is invalid.
fn own_pods(view: &View<'_>, selector: &LabelSelector) -> Option<PodSelector> {
    let namespaces = vec![Arc::clone(&view.context.pod().namespace)];
    let all = PodSelector::everywhere(selector)?;
    Some(PodSelector { namespaces, namespace_requirements: None, ..all })
}

/// Pods that a term of affinity means; `None` where it matches none.
fn pods_of_term(view: &View<'_>, term: &PodAffinityTerm) -> Option<PodSelector> {
    let own = own_pods(view, term.label_selector.as_ref()?)?;
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        return Some(own);
    }
    let namespace_requirements = match &term.namespace_selector {
        Some(selector) => Some(PodSelector::everywhere(selector)?.requirements),
        None => None,
    };
    let mut namespaces: Vec<Arc<str>> = term.namespaces.iter().map(|name| Arc::from(name.as_str())).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    Some(PodSelector { namespaces, namespace_requirements, ..own })
}
