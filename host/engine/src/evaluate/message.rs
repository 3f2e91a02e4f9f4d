//! What the verdicts say about the pod as a whole: how far kube-scheduler's scheduling cycle gets, and its message for a pod
//! that fits no node. Start at [`PodLevel::of`].

use std::collections::BTreeMap;

use nodesift_cache::Row;
use nodesift_sandbox::{Code, Failure, Verdict};

use super::predicate_verdict::PredicateVerdict;
use super::row_set::RowSet;
use crate::answer::{Cycle, FailureGroup};
use crate::facts::Batch;

/// kube-scheduler's message where there is no node at all.
const NO_NODES: &str = "no nodes available to schedule pods";

/// What verdicts say about the pod rather than about rows.
pub(super) struct PodLevel<'a> {
    cycle: Cycle,
    /// Why the pod as a whole is rejected, by the first predicate that does so.
    rejection: Option<&'a Failure>,
    /// Predicates by which the pod names nodes, and the rows that all of these name.
    naming: Option<(Vec<&'a str>, Vec<u32>)>,
}

impl<'a> PodLevel<'a> {
    pub(super) fn of(verdicts: &'a [PredicateVerdict], batch: &Batch) -> Self {
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
                    // Where it rejects no row of the batch, the verdict is the same as one that fits every row.
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

    fn name(&mut self, predicate: &'a str, named: &[u32]) {
        self.cycle = self.cycle.max(Cycle::NamedNodes);
        let (predicates, rows) = self.naming.get_or_insert_with(|| (Vec::new(), named.to_vec()));
        predicates.push(predicate);
        rows.retain(|row| named.binary_search(row).is_ok());
    }

    /// kube-scheduler's message for a pod that fits no node: what rejects the pod as a whole; else how many nodes each
    /// reason applies to, each node counted under all reasons of the first predicate that rejects it. Nodes that the pod
    /// does not name are not evaluated, and counted under one reason. Source: `FitError.Error` in
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
            // A predicate may give the same reason.
            others += counts.get(unnamed.as_str()).copied().unwrap_or(0);
            parts.retain(|part| part.split_once(' ').is_none_or(|(_, reason)| reason != unnamed));
            parts.push(format!("{others} {unnamed}"));
        }
        parts.sort_unstable();
        format!("0/{nodes} nodes are available: {}.", parts.join(", "))
    }
}
