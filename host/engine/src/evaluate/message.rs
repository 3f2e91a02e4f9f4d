//! Results for the pod as a whole: how far kube-scheduler's scheduling cycle gets, and its message for a pod that fits no
//! node. Start at [`PodLevel::new`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::{Code, Failure, Verdict};

use super::predicate_verdict::PredicateVerdict;
use super::row_set::RowSet;
use crate::answer::{Cycle, FailureGroup};
use crate::facts::Batch;

/// kube-scheduler's message for a cluster without nodes.
const NO_NODES: &str = "no nodes available to schedule pods";

/// The parts of the verdicts that concern the pod rather than single rows.
pub(super) struct PodLevel<'a> {
    cycle: Cycle,
    /// The failure of the first predicate that rejects the pod as a whole.
    rejection: Option<&'a Failure>,
    /// Predicates for which the pod names nodes, and the rows that the pod names for all of them.
    naming: Option<(Vec<&'a str>, Vec<u32>)>,
}

impl<'a> PodLevel<'a> {
    pub(super) fn new(verdicts: &'a [PredicateVerdict], batch: &Batch) -> Self {
        let mut pod_level = Self { cycle: Cycle::EachNode, rejection: None, naming: None };
        for of_predicate in verdicts {
            match &*of_predicate.verdict {
                Verdict::FitsAll => {}
                Verdict::FitsNone(failure) => {
                    let cycle = if failure.code == Code::Error { Cycle::Aborted } else { Cycle::Rejected };
                    pod_level.cycle = pod_level.cycle.max(cycle);
                    pod_level.rejection.get_or_insert(failure);
                }
                Verdict::ByRow(by_row) => {
                    // An error on a row outside the batch ends no cycle.
                    let mut aborts = by_row.aborts() && matches!(batch, Batch::All);
                    if by_row.aborts() && !aborts {
                        let is_error = |code: &u16| by_row.failure(*code).is_some_and(|it| it.code == Code::Error);
                        of_predicate.for_each_chunk(batch, |codes| aborts |= codes.iter().any(is_error));
                    }
                    if aborts {
                        pod_level.cycle = pod_level.cycle.max(Cycle::Aborted);
                    }
                    // A verdict that rejects no row of the batch equals `FitsAll`.
                    if let Some(named) = by_row.named().filter(|_| of_predicate.rejects_some(batch)) {
                        pod_level.name(&of_predicate.predicate, named);
                    }
                }
            }
        }
        pod_level
    }

    /// How far kube-scheduler's scheduling cycle gets.
    pub(super) fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// The rows that the pod names, where it names any, ascending.
    pub(super) fn named(&self) -> Option<Arc<[u32]>> {
        self.naming.as_ref().map(|(_, rows)| rows.as_slice().into())
    }

    fn name(&mut self, predicate: &'a str, named: &[u32]) {
        self.cycle = self.cycle.max(Cycle::NamedNodes);
        let (predicates, rows) = self.naming.get_or_insert_with(|| (Vec::new(), named.to_vec()));
        predicates.push(predicate);
        rows.retain(|row| named.binary_search(row).is_ok());
    }

    /// kube-scheduler's message for a pod that fits no node. If a predicate rejects the pod as a whole, its reasons. Else the
    /// number of nodes per reason; each node counts under all reasons of the first predicate that rejects it. kube-scheduler
    /// does not filter nodes that the pod does not name: these count under one reason. Source: `FitError.Error` in
    /// pkg/scheduler/framework, `findNodesThatFitPod` in pkg/scheduler/schedule_one.go.
    pub(super) fn message(&self, nodes: usize, failures: &[FailureGroup]) -> String {
        if nodes == 0 {
            return NO_NODES.to_owned();
        }
        if let Some(failure) = self.rejection {
            return format!("0/{nodes} nodes are available: {}.", failure.reasons.join(", "));
        }
        let named = |rows: &RowSet| match &self.naming {
            None => rows.len(),
            Some((_, named)) => named.iter().filter(|row| rows.contains(Row(**row))).count(),
        };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut others = 0;
        for failure in failures {
            let named = named(&failure.rows);
            others += failure.rows.len() - named;
            for reason in failure.reasons.iter().filter(|_| named > 0) {
                *counts.entry(reason).or_default() += named;
            }
        }
        let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if let Some((predicates, _)) = &self.naming
            && others > 0
        {
            let unnamed = format!("node(s) didn't satisfy plugin(s) [{}]", predicates.join(" "));
            // A predicate may give the same reason: merge both counts.
            others += counts.get(unnamed.as_str()).copied().unwrap_or(0);
            parts.retain(|part| part.split_once(' ').is_none_or(|(_, reason)| reason != unnamed));
            parts.push(format!("{others} {unnamed}"));
        }
        parts.sort_unstable();
        format!("0/{nodes} nodes are available: {}.", parts.join(", "))
    }
}
