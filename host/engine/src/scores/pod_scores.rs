//! Scores of the nodes that a pod fits: how many are asked for, and the best of them with their totals. Start at [`PodScores`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::fault::FaultKind;

use crate::answer::FaultReport;
use crate::limits::{TOP_NODES, TOP_NODES_EACH};

/// The scores that a query asks for, of each of its pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScoreRequest {
    /// Number of nodes that are wanted, the best first, at most [`most_nodes`](Self::most_nodes). With 0 nothing is scored.
    pub top: usize,
    /// Nodes with equal totals are ordered by a hash of this number and their names; `None`: by their names.
    pub seed: Option<u64>,
    /// Whether each node also has the score of every scorer.
    pub each: bool,
}

impl ScoreRequest {
    /// The most nodes that one query can ask for of each pod.
    #[must_use]
    pub const fn most_nodes(&self) -> usize {
        if self.each { TOP_NODES_EACH } else { TOP_NODES }
    }
}

/// Scores of the feasible nodes of one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodScores {
    /// The best nodes: by total from the highest, then as [`ScoreRequest::seed`] says. Empty where no node is feasible, and where there
    /// is an error.
    pub nodes: Vec<ScoredNode>,
    /// Number of feasible nodes with the total of the last of `nodes` that are not among these.
    pub ties: usize,
    /// Totals of all feasible nodes, in ascending order of rows. Empty unless the query wants them, and where there is an error.
    pub totals: Vec<i64>,
    /// The scorers of the policy, in its order. Empty where no node is feasible.
    pub scorers: Vec<ScorerScores>,
    /// Scorers whose call failed, and the effect of their failure policy.
    pub faults: Vec<FaultReport>,
    /// Why the pod has no scores: a scorer cannot score it, has failed and the policy rejects that, or had no time left. It names the scorer.
    pub error: Option<String>,
}

impl PodScores {
    /// Whether there are none because the time of the request for them was up.
    pub fn is_late(&self) -> bool {
        self.faults.iter().any(|report| report.fault.kind == FaultKind::RequestDeadline)
    }

    /// Heap bytes of the scores.
    pub(crate) fn heap_bytes(&self) -> usize {
        let node = |node: &ScoredNode| size_of::<ScoredNode>() + size_of_val(node.each.as_slice());
        let fault = |report: &FaultReport| size_of::<FaultReport>() + report.fault.detail.len();
        size_of::<Self>()
            + self.nodes.iter().map(node).sum::<usize>()
            + size_of_val(self.totals.as_slice())
            + size_of_val(self.scorers.as_slice())
            + self.faults.iter().map(fault).sum::<usize>()
            + self.error.as_ref().map_or(0, String::len)
    }
}

/// A feasible node with its total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoredNode {
    /// Row of the node in the snapshot of the answer.
    pub row: Row,
    /// Sum over all scorers of weight times normalized score.
    pub total: i64,
    /// One entry per scorer, in the order of the policy; `None` for one that added nothing. Empty unless the request has `each`.
    pub each: Vec<Option<NodeScore>>,
}

/// The score of one node by one scorer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeScore {
    /// The score as its component has returned it; `None` where that has no score for the node.
    pub raw: Option<i64>,
    /// The score from 0 to 100 among the feasible nodes.
    pub normalized: i64,
}

/// One scorer of the policy, and whether it counts in the totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScorerScores {
    /// Name of the scorer in the policy.
    pub scorer: Arc<str>,
    /// Factor of its scores in the totals.
    pub weight: i64,
    /// The part that it has in the totals.
    pub outcome: ScorerOutcome,
}

/// The part of one scorer in the totals of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScorerOutcome {
    /// Its scores are in the totals.
    Scored,
    /// It says nothing about the pod, and adds nothing.
    Skipped,
    /// Its call failed, or it cannot score the pod. It adds nothing.
    Failed,
    /// It was not asked, because the pod has no scores after an earlier one.
    NotAsked,
}

impl ScorerOutcome {
    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scored => "Scored",
            Self::Skipped => "Skipped",
            Self::Failed => "Failed",
            Self::NotAsked => "NotAsked",
        }
    }
}
