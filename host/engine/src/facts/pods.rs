//! Facts about other pods: counts of pods that match selectors, affinity terms of pods on nodes, and the default
//! selector of topology spread.

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::metadata::PodSelector;
use nodesift_cache::{Column, ControllerRows, CountKey, SumKey};
use nodesift_object::Kind;
use nodesift_object::selector::LabelSelector;
use nodesift_sandbox::{Meter, NoValue, wire};

use super::context::Context;
use super::convert;
use super::scoring_sums::ScoringSums;

impl Context {
    /// The key of the count of pods that match all selectors; none where an operator is unknown.
    pub(crate) fn count_key(selectors: &[wire::PodSelector], terminating: bool) -> Option<CountKey> {
        Some(CountKey { selectors: convert::pod_selectors(selectors)?, terminating })
    }

    /// Per row of the cluster how many pods a key counts.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] where the time is up first.
    pub(crate) fn count_within(&self, key: &CountKey, meter: &Meter) -> Result<Column<u32>, NoValue> {
        self.snapshot.count_while(key, &|| meter.goes_on()).ok_or(NoValue::Deadline)
    }

    /// The key of the sum of what pods that match all selectors use of a resource; none where an operator is unknown.
    pub(crate) fn sum_key(selectors: &[wire::PodSelector], resource: &str, terminating: bool) -> Option<SumKey> {
        Some(SumKey { pods: Self::count_key(selectors, terminating)?, resource: Arc::from(resource) })
    }

    /// Per row of the cluster what the pods of a key use of its resource.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] where the time is up first.
    pub(crate) fn sum_within(&self, key: &SumKey, meter: &Meter) -> Result<Column<i64>, NoValue> {
        self.snapshot.sum_while(key, &|| meter.goes_on()).ok_or(NoValue::Deadline)
    }

    /// Pods on nodes with the controller of the context's pod; none where that has no controller.
    pub(crate) fn siblings(&self) -> Option<ControllerRows> {
        Some(self.snapshot.controlled(&self.pod.namespace, self.pod.controller_uid()?))
    }

    /// By row of the cluster how many of these pods there are.
    pub(crate) fn count_siblings(&self, siblings: &ControllerRows, terminating: bool) -> Arc<[u32]> {
        let mut counts = vec![0; self.snapshot.node_count()];
        for pods in siblings.iter() {
            if let Some(count) = counts.get_mut(pods.row.index()) {
                *count = pods.running + if terminating { pods.terminating } else { 0 };
            }
        }
        counts.into()
    }

    /// Whether the context's pod matches all selectors.
    pub(crate) fn is_matched_by(&self, selectors: &[PodSelector]) -> bool {
        let namespaces = self.snapshot.namespaces();
        let labels_of = |namespace: &str| namespaces.get(namespace).cloned();
        let pod = &self.pod;
        selectors.iter().all(|selector| selector.matches(&pod.namespace, &pod.labels, labels_of))
    }

    /// The topology keys of the terms that match the context's pod.
    pub(super) fn matched_topology_keys(&self) -> Vec<Arc<str>> {
        self.matched_terms().keys()
    }

    /// Per row of the cluster how many terms with this key match the context's pod.
    pub(super) fn count_matched_terms(&self, topology_key: &str) -> Arc<[u32]> {
        let mut terms = vec![0_u32; self.snapshot.node_count()];
        for (_, rows) in self.matched_terms().with(topology_key) {
            for (row, count) in rows.iter() {
                if let Some(terms) = terms.get_mut(row.index()) {
                    *terms = terms.saturating_add(*count);
                }
            }
        }
        terms.into()
    }

    /// The topology keys of the scoring terms that match the context's pod.
    pub(super) fn scoring_keys(&self) -> Vec<Arc<str>> {
        self.scoring_terms().keys()
    }

    /// The sums of the scoring terms with this key that match the context's pod. A guest asks for all of them, one after the other, so that
    /// those of the last key are kept: of all keys they could be more than memory.
    pub(super) fn scoring_sums(&self, topology_key: &str) -> ScoringSums {
        let mut last = self.scoring_sums.lock();
        match &*last {
            Some((key, sums)) if **key == *topology_key => sums.clone(),
            _ => {
                let sums = ScoringSums::of(self.scoring_terms().with(topology_key), self.snapshot.node_count());
                last.insert((Arc::from(topology_key), sums)).1.clone()
            }
        }
    }

    /// The selectors of the services that select the context's pod, merged, and of the controller that made it; none where
    /// there is neither. Source: `DefaultSelector` in pkg/scheduler/framework/plugins/helper/spread.go.
    pub(super) fn merged_selector(&self) -> Option<wire::LabelSelector> {
        let (workloads, pod) = (self.snapshot.workloads(), &self.pod);
        let selects = |selector: &&LabelSelector| {
            !selector.match_labels.is_empty()
                && selector
                    .match_labels
                    .iter()
                    .all(|(key, value)| pod.label(key).is_some_and(|found| **found == **value))
        };
        let mut labels: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for service in workloads.services(&pod.namespace).filter(selects) {
            labels.extend(convert::pairs(&service.match_labels));
        }
        let mut expressions = Vec::new();
        if let Some((kind, name)) = &pod.controller
            && let Some(selector) = workloads.controller(*kind, &pod.namespace, name)
        {
            let selector = convert::label_selector(selector);
            if *kind == Kind::ReplicationController {
                labels.extend(selector.match_labels);
            } else {
                // Added to what services select, not merged with it.
                expressions.extend(selector.match_labels.into_iter().map(|(key, value)| wire::LabelRequirement {
                    key: key.to_string(),
                    operator: wire::LabelOperator::In,
                    values: vec![value.to_string()],
                    operator_text: "In".to_owned(),
                }));
                expressions.extend(selector.match_expressions);
            }
        }
        if labels.is_empty() && expressions.is_empty() {
            return None;
        }
        Some(wire::LabelSelector { match_labels: labels.into_iter().collect(), match_expressions: expressions })
    }
}
