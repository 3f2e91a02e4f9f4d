//! What the engine answers: per pod the feasible rows, the failures grouped, the message, the faults.

use std::sync::Arc;

use nodesift_sandbox::Code;

use crate::evaluate::row_set::RowSet;
use nodesift_cache::{Row, Snapshot};
use nodesift_sandbox::fault::Fault;

/// Answers for all pods of a query, from one snapshot and one policy.
#[derive(Debug)]
pub struct Answer {
    /// The snapshot that all answers were computed from; it names the rows.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy that all answers were computed with.
    pub policy_generation: u64,
    /// One per pod of the query, in its order.
    pub pods: Vec<PodAnswer>,
}

/// The answer for one pod.
#[derive(Debug, Default)]
pub struct PodAnswer {
    /// `namespace/name`.
    pub pod: String,
    /// How many nodes were asked about.
    pub nodes: usize,
    /// Rows that every predicate fits.
    pub feasible: Arc<RowSet>,
    /// Rows that some predicate rejects, each row under the first predicate that rejects it; in policy order, those of one
    /// predicate by code, then reasons.
    pub failures: Arc<[FailureGroup]>,
    /// Every predicate alone, in policy order; only where the question asked for each.
    pub predicates: Vec<PredicateAnswer>,
    /// kube-scheduler's message; only where nothing is feasible.
    pub message: Option<Arc<str>>,
    /// How kube-scheduler's own cycle ends for the pod.
    pub cycle: Cycle,
    /// Predicates that failed to answer, and what their failure policy did.
    pub faults: Vec<FaultReport>,
    /// Where the question asked for enough nodes: the row after the last one judged, at which the next such question goes
    /// on.
    pub next: Option<Row>,
}

/// How far kube-scheduler's own cycle gets with a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cycle {
    /// Its filters look at each node.
    #[default]
    EachNode,
    /// Its filters look at the nodes that the pod names, and at no others.
    NamedNodes,
    /// The pod as a whole is rejected before any node is looked at.
    Rejected,
    /// A broken object ends the cycle with an error.
    Aborted,
}

/// One predicate alone over all rows asked about.
#[derive(Debug)]
pub struct PredicateAnswer {
    /// The predicate's name in the policy.
    pub predicate: Arc<str>,
    /// Sorted by code, then reasons. Rows that are not listed fit.
    pub failures: Vec<FailureGroup>,
}

/// Rows that fail in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    /// The predicate that rejects the rows.
    pub predicate: Arc<str>,
    /// kube-scheduler's status code.
    pub code: Code,
    /// Every reason that applies, sorted.
    pub reasons: Arc<[String]>,
    /// The rows.
    pub rows: Arc<RowSet>,
}

/// A predicate that failed to answer for a pod.
#[derive(Debug, Clone)]
pub struct FaultReport {
    /// The predicate's name in the policy.
    pub predicate: Arc<str>,
    /// What failed.
    pub fault: Fault,
    /// What the failure policy did about it.
    pub effect: FaultEffect,
}

/// What a failure policy did about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// Every node asked about counts as rejected by the predicate.
    Rejected,
    /// As if the predicate fitted every node.
    Ignored,
}

impl FaultEffect {
    /// The name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rejected => "Rejected",
            Self::Ignored => "Ignored",
        }
    }
}
