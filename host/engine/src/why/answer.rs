//! The answer to why a pod is pending, and what can be asked for. Rows are those of the answer's snapshot. Start at [`WhyAnswer`].

use std::sync::Arc;
use std::time::SystemTime;

use nodesift_cache::{Row, Snapshot};
use nodesift_object::node::Taint;
use nodesift_sandbox::{Code, Interface};

use crate::answer::PodAnswer;
use crate::limits::WHY_NEAREST;
use crate::pending::{LastAsked, Reason};

/// Parts of an answer that are made only where they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyOptions {
    /// Key of the node label by whose values nodes are grouped.
    pub by: Option<String>,
    /// The most nodes with one obstacle that are named; [`WHY_NEAREST`] at most.
    pub nearest: usize,
    /// Whether single edits of the pod are evaluated.
    pub help: bool,
}

impl Default for WhyOptions {
    fn default() -> Self {
        Self { by: None, nearest: WHY_NEAREST, help: false }
    }
}

/// Why one pod is pending, from one snapshot and one policy.
#[derive(Debug)]
pub struct WhyAnswer {
    /// The snapshot from which all of it was computed.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy that decided.
    pub policy_generation: u64,
    /// The answer about the pod, with each predicate alone.
    pub pod: PodAnswer,
    /// Names of the query that are no nodes of the snapshot, sorted.
    pub unknown_nodes: Vec<String>,
    /// Cause, and what it is about.
    pub reason: Reason,
    /// Since when the pod has this cause; `None` where that is not kept.
    pub since: Option<SystemTime>,
    /// When a core last asked about the pod; unknown where that is not kept, and where the question supposes something else than there is.
    pub asked: LastAsked,
    /// One step per evaluated predicate, in policy order.
    pub funnel: Vec<Step>,
    /// Each predicate by itself, in the order of `funnel`.
    pub alone: Vec<PredicateAlone>,
    /// The nodes by the values of a label; only where asked for.
    pub groups: Option<Groups>,
    /// Facts by imported interface.
    pub evidence: Vec<Evidence>,
    /// Number of facts that the verdicts contradict, and that `evidence` lacks.
    pub contradicted: usize,
    /// Nodes that exactly one predicate rejects, the nearest first.
    pub nearest: Vec<Near>,
    /// Per row of the snapshot the index in `funnel` of the first predicate that rejects it, or [`CELL_FITS`](crate::limits::CELL_FITS), or
    /// [`CELL_NOT_EVALUATED`](crate::limits::CELL_NOT_EVALUATED).
    pub cells: Vec<u8>,
    /// Edits that make more nodes fit, those that gain most first; only where asked for.
    pub help: Vec<HelpfulEdit>,
    /// Number of edits that might help and that were not evaluated to the end.
    pub help_unevaluated: usize,
}

impl WhyAnswer {
    /// The cause in one sentence; see [`Reason::headline`].
    pub fn headline(&self) -> String {
        self.reason.headline(self.pod.nodes, self.pod.feasible.len(), self.asked)
    }
}

/// One step on the way from all nodes to those that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Name of the predicate in the policy.
    pub predicate: Arc<str>,
    /// Number of nodes that no predicate before rejects.
    pub before: usize,
    /// Number of them that this predicate rejects.
    pub rejected: usize,
    /// Number of them that it rejects for good, whatever pods leave.
    pub unresolvable: usize,
    /// Reasons with numbers of nodes, the most frequent first; [`WHY_REASONS`](crate::limits::WHY_REASONS) at most.
    pub reasons: Vec<ReasonCount>,
}

impl Step {
    /// The number of nodes that are left.
    pub fn after(&self) -> usize {
        self.before.saturating_sub(self.rejected)
    }
}

/// A reason and the number of nodes that it is given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonCount {
    /// The text, cut where it is long.
    pub reason: String,
    /// Number of nodes that are rejected for it.
    pub nodes: usize,
}

/// One predicate over all evaluated nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredicateAlone {
    /// Name of the predicate in the policy.
    pub predicate: Arc<str>,
    /// Number of nodes that it rejects.
    pub rejects: usize,
    /// Number of nodes that it and no other predicate rejects.
    pub only_reason: usize,
}

/// Nodes by the value of a label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// Key of the label.
    pub by: String,
    /// Groups with the most nodes first, then by value; [`WHY_GROUPS`](crate::limits::WHY_GROUPS) at most.
    pub groups: Vec<Group>,
    /// All others together, and how many groups that are.
    pub rest: Option<(Group, usize)>,
}

/// Nodes with one value of a label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// Value of the label; `None` for nodes without it, and for several values.
    pub value: Option<Arc<str>>,
    /// Number of evaluated nodes.
    pub nodes: usize,
    /// Number of nodes that fit.
    pub feasible: usize,
    /// By index of the predicate in the funnel: number of nodes that it rejects first.
    pub rejected: Vec<usize>,
}

/// Facts that predicates read through one interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Interface of the contract.
    pub interface: Interface,
    /// Predicates that import it and reject some node, in policy order.
    pub predicates: Vec<Arc<str>>,
    /// Number of nodes that these reject.
    pub rejected: usize,
    /// Number of them on which a fact below is an obstacle; `None` where facts are no obstacles of single nodes.
    pub explained: Option<usize>,
    /// Resources that the pod requests.
    pub resources: Vec<ResourceFact>,
    /// Taints that it does not tolerate, those of most nodes first.
    pub taints: Vec<TaintFact>,
    /// Expressions of the pod about nodes.
    pub expressions: Vec<ExpressionFact>,
    /// Constraints over the domains of a topology.
    pub topologies: Vec<TopologyFact>,
    /// Further facts, each by its name.
    pub facts: Vec<NamedFact>,
    /// Number of facts that are left out.
    pub omitted: usize,
}

/// A requested resource, and what evaluated nodes have of it; `cpu` in millicores, everything else in whole units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceFact {
    /// Name of the resource; `pods` for the places of pods.
    pub resource: Arc<str>,
    /// The amount that the pod requests.
    pub requested: i64,
    /// The largest amount that is free on one node.
    pub largest_free: i64,
    /// The row of that node, the first by name.
    pub largest_free_row: Option<Row>,
    /// The largest allocatable amount of one node.
    pub largest_allocatable: i64,
    /// Number of nodes that have enough free.
    pub nodes_enough: usize,
    /// Number of nodes whose allocatable amount is below the requested one.
    pub nodes_too_small: usize,
    /// The largest amount that is free on a node from which nothing else keeps the pod.
    pub nearest_free: Option<i64>,
}

/// A taint that the pod does not tolerate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintFact {
    /// The taint as its nodes have it.
    pub taint: Taint,
    /// Number of evaluated nodes that have it.
    pub nodes: usize,
}

/// One expression of the pod about nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionFact {
    /// The field that it is in.
    pub field: String,
    /// The expression as text.
    pub expression: String,
    /// Number of evaluated nodes that match it.
    pub nodes: usize,
}

/// A constraint of the pod over the domains of a topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyFact {
    /// The field that it is in.
    pub field: String,
    /// Key of the node label whose values are the domains.
    pub topology_key: String,
    /// Number of evaluated nodes with the label.
    pub nodes: usize,
    /// Number of domains of these.
    pub domains: usize,
    /// Number of pods on all nodes that the selector matches.
    pub matching_pods: u64,
    /// Most skew that is allowed; 0 for affinity.
    pub max_skew: i64,
}

/// One fact by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFact {
    /// Name of the fact.
    pub name: &'static str,
    /// Value as text, cut where it is long.
    pub value: String,
    /// Number of evaluated nodes on which it is an obstacle.
    pub nodes: Option<usize>,
}

/// A node that one predicate rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// Row of the node.
    pub row: Row,
    /// Index of the predicate in the funnel.
    pub predicate: usize,
    /// Status code of its rejection.
    pub code: Code,
    /// Reasons that apply, sorted and each cut where it is long; [`WHY_REASONS`](crate::limits::WHY_REASONS) at most.
    pub reasons: Vec<String>,
    /// Requested resources with the amounts that it lacks.
    pub missing: Vec<(Arc<str>, i64)>,
    /// Taints of the node that the pod does not tolerate.
    pub taints: Vec<Taint>,
}

/// A single edit that makes more nodes fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpfulEdit {
    /// The edit as command lines write it.
    pub edit: String,
    /// Number of nodes that fit only with it.
    pub gained: usize,
    /// Number of nodes that fit with it.
    pub feasible: usize,
    /// Condition under which it may not help; empty where there is none.
    pub caveat: &'static str,
}
