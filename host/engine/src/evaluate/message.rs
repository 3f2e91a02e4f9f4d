//! Results for the pod as a whole: how far kube-scheduler's scheduling cycle gets, and its message for a pod that fits no
//! node. Start at [`PodLevel::new`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::{Code, Verdict};

use super::predicate_verdict::PredicateVerdict;
use super::row_set::RowSet;
use crate::answer::{Cycle, FailureGroup};
use crate::facts::Batch;

/// kube-scheduler's message for a cluster without nodes.
const NO_NODES: &str = "no nodes available to schedule pods";

/// The parts of the verdicts that concern the pod rather than single rows: PreFilter of kube-scheduler's framework, which runs before any
/// filter.
pub(super) struct PodLevel<'a> {
    /// How far the cycle gets, as far as PreFilter decides.
    cycle: Cycle,
    /// Reasons of the rejection by PreFilter.
    rejection: Option<Vec<Cow<'a, str>>>,
    /// Predicates for which the pod names nodes, sorted, and the rows that the pod names for all of them.
    naming: Option<Naming<'a>>,
}

/// Rows that the pod names.
struct Naming<'a> {
    predicates: BTreeSet<&'a str>,
    rows: Vec<u32>,
}

impl<'a> PodLevel<'a> {
    /// Goes through the verdicts in policy order, as `RunPreFilterPlugins` in pkg/scheduler/framework/runtime goes through plugins: an
    /// error or what preemption does not change ends it, any other rejection does not, and so do nodes that no two predicates both name.
    pub(super) fn new(verdicts: &'a [PredicateVerdict], batch: &Batch) -> Self {
        let mut pod_level = Self { cycle: Cycle::EachNode, rejection: None, naming: None };
        for of_predicate in verdicts {
            match &*of_predicate.verdict {
                Verdict::FitsAll => {}
                Verdict::FitsNone(failure) => {
                    let reasons = failure.reasons.iter().map(|reason| Cow::Borrowed(reason.as_str()));
                    pod_level.reject(reasons.collect());
                    match failure.code {
                        Code::Error => {
                            pod_level.cycle = Cycle::Aborted;
                            break;
                        }
                        Code::UnschedulableAndUnresolvable => break,
                        Code::Unschedulable => {}
                    }
                }
                // A verdict that rejects no row of the batch equals `FitsAll`.
                Verdict::ByRow(by_row) => {
                    if let Some(named) = by_row.named().filter(|_| of_predicate.rejects_some(batch))
                        && pod_level.name(&of_predicate.predicate, named)
                    {
                        break;
                    }
                }
            }
        }
        if pod_level.cycle == Cycle::EachNode && pod_level.rejection.is_none() && pod_level.naming.is_some() {
            pod_level.cycle = Cycle::NamedNodes;
        }
        pod_level
    }

    /// How far kube-scheduler's scheduling cycle gets. `failures` are rows under the first predicate that rejects them: an error on a row
    /// where filters run aborts the cycle.
    pub(super) fn cycle(&self, failures: &[FailureGroup]) -> Cycle {
        let aborts = |failure: &FailureGroup| failure.code == Code::Error && self.named_of(&failure.rows) > 0;
        match self.cycle {
            Cycle::EachNode | Cycle::NamedNodes if failures.iter().any(aborts) => Cycle::Aborted,
            cycle => cycle,
        }
    }

    /// The rows that the pod names, where it names any, ascending.
    pub(super) fn named(&self) -> Option<Arc<[u32]>> {
        self.naming.as_ref().map(|naming| naming.rows.as_slice().into())
    }

    fn reject(&mut self, reasons: Vec<Cow<'a, str>>) {
        self.rejection = Some(reasons);
        self.cycle = self.cycle.max(Cycle::Rejected);
    }

    /// Notes the rows that the pod names for a predicate. Returns whether that rejects the pod: no node is named for all. Nodes that do
    /// not exist have no rows: two predicates for which the pod names such nodes alone are taken to mean the same ones.
    fn name(&mut self, predicate: &'a str, named: &[u32]) -> bool {
        let Some(naming) = &mut self.naming else {
            let predicates = BTreeSet::from([predicate]);
            self.naming = Some(Naming { predicates, rows: named.to_vec() });
            return false;
        };
        naming.predicates.insert(predicate);
        let had_none = naming.rows.is_empty();
        naming.rows.retain(|row| named.binary_search(row).is_ok());
        let is_empty = naming.rows.is_empty() && !(had_none && named.is_empty());
        if is_empty {
            let names = naming.names();
            self.reject(vec![format!("node(s) didn't satisfy plugin(s) [{names}] simultaneously").into()]);
        }
        is_empty
    }

    /// How many of these rows filters run on.
    fn named_of(&self, rows: &RowSet) -> usize {
        match &self.naming {
            None => rows.len(),
            Some(naming) => naming.rows.iter().filter(|row| rows.contains(Row(**row))).count(),
        }
    }

    /// kube-scheduler's message for a pod that fits no node. If a predicate rejects the pod as a whole, its reasons. Else the
    /// number of nodes per reason; each node counts under all reasons of the first predicate that rejects it. kube-scheduler
    /// does not filter nodes that the pod does not name: these count under one reason. Source: `FitError.Error` in
    /// pkg/scheduler/framework, `findNodesThatFitPod` in pkg/scheduler/schedule_one.go.
    pub(super) fn message(&self, nodes: usize, failures: &[FailureGroup]) -> String {
        if nodes == 0 {
            return NO_NODES.to_owned();
        }
        if let Some(reasons) = &self.rejection {
            return format!("0/{nodes} nodes are available: {}.", reasons.join(", "));
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut others = 0;
        for failure in failures {
            let named = self.named_of(&failure.rows);
            others += failure.rows.len() - named;
            for reason in failure.reasons.iter().filter(|_| named > 0) {
                *counts.entry(reason).or_default() += named;
            }
        }
        let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if let Some(naming) = &self.naming
            && others > 0
        {
            let unnamed = format!("node(s) didn't satisfy plugin(s) [{}]", naming.names());
            // A predicate may give the same reason: merge both counts.
            others += counts.get(unnamed.as_str()).copied().unwrap_or(0);
            parts.retain(|part| part.split_once(' ').is_none_or(|(_, reason)| reason != unnamed));
            parts.push(format!("{others} {unnamed}"));
        }
        parts.sort_unstable();
        format!("0/{nodes} nodes are available: {}.", parts.join(", "))
    }
}

impl Naming<'_> {
    /// The predicates as Go prints a list of them.
    fn names(&self) -> String {
        self.predicates.iter().copied().collect::<Vec<_>>().join(" ")
    }
}
