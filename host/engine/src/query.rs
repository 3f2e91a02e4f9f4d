//! Queries: pods, nodes, phase, depth.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use crate::Error;
use crate::facts::Batch;
use crate::limits::{SAMPLE_ROWS, UNKNOWN_NODES};
use crate::pending::Asker;
use crate::policy::Phase;
use crate::scores::ScoreRequest;
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Row, Snapshot};
use nodesift_object::Pod;

/// Pods to evaluate against one snapshot.
#[derive(Debug)]
pub struct Query {
    /// The pods. The answer has one entry per pod, in this order.
    pub pods: Vec<PodRef>,
    /// The nodes to evaluate.
    pub nodes: Nodes,
    /// The phase whose predicates run.
    pub phase: Phase,
    /// Whether the answer also has each predicate alone.
    pub depth: Depth,
    /// When the request ends. Evaluation then stops, between predicates and inside them, and the query has no answer. `None`:
    /// only the budget of each call limits it.
    pub deadline: Option<Instant>,
    /// Scores of the feasible nodes that are wanted; `None`: none.
    pub scores: Option<ScoreRequest>,
    /// Whether scores have the totals of all feasible nodes, not of the best alone.
    pub totals: bool,
    /// Names of predicates of the policy that are not evaluated: they count as fitting every node.
    pub skip: Vec<String>,
    /// Whether whoever asks negotiates with the parties of the pods before it binds them: nodes then fit of which a party has said nothing.
    pub is_negotiated: bool,
    /// The core that asks in order to place the pods: its questions are counted and noted. `None` for everybody else.
    pub asker: Option<Asker>,
}

impl Query {
    /// Asks which nodes pods fit in the phase of placing them, and for the first predicate that rejects each of the others.
    pub fn new(pods: impl IntoIterator<Item = PodRef>) -> Self {
        let (nodes, phase, depth) = (Nodes::All, Phase::Allocate, Depth::FirstFailure);
        let pods = pods.into_iter().collect();
        Self {
            pods,
            nodes,
            phase,
            depth,
            deadline: None,
            scores: None,
            totals: false,
            skip: Vec::new(),
            is_negotiated: false,
            asker: None,
        }
    }

    /// Sets the nodes to evaluate; by default all.
    #[must_use]
    pub fn with_nodes(self, nodes: Nodes) -> Self {
        Self { nodes, ..self }
    }

    /// Sets the phase whose predicates run; by default that of placing pods.
    #[must_use]
    pub fn with_phase(self, phase: Phase) -> Self {
        Self { phase, ..self }
    }

    /// Sets how much the answer contains; by default the first failure of each node.
    #[must_use]
    pub fn with_depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Sets when the request ends; by default only the budget of each call limits it.
    #[must_use]
    pub fn with_deadline(self, deadline: impl Into<Option<Instant>>) -> Self {
        Self { deadline: deadline.into(), ..self }
    }

    /// Sets the scores of feasible nodes that are wanted; by default none.
    #[must_use]
    pub fn with_scores(self, scores: impl Into<Option<ScoreRequest>>) -> Self {
        Self { scores: scores.into(), ..self }
    }

    /// Sets whether scores have the totals of all feasible nodes; by default of the best alone.
    #[must_use]
    pub fn with_totals(self, totals: bool) -> Self {
        Self { totals, ..self }
    }

    /// Sets the names of predicates that are not evaluated; by default none.
    #[must_use]
    pub fn with_skip(self, skip: Vec<String>) -> Self {
        Self { skip, ..self }
    }

    /// Sets whether nodes fit of which a party has said nothing, since it is to be asked; by default they do as the policy says.
    #[must_use]
    pub fn with_negotiated(self, is_negotiated: bool) -> Self {
        Self { is_negotiated, ..self }
    }

    /// Sets the core that asks in order to place the pods; by default none does.
    #[must_use]
    pub fn with_asker(self, asker: Option<Asker>) -> Self {
        Self { asker, ..self }
    }
}

/// A pod to evaluate.
#[derive(Debug, Clone)]
pub enum PodRef {
    /// A pod in the cache, by `metadata.uid`.
    Uid(String),
    /// A pod in the cache, by namespace and name.
    Name {
        /// Namespace of the pod, as in `metadata.namespace`.
        namespace: String,
        /// Name of the pod, as in `metadata.name`.
        name: String,
    },
    /// A pod in the cache, which must have this `metadata.resourceVersion` there.
    Version {
        /// The pod, by UID or by name.
        pod: Box<PodRef>,
        /// `metadata.resourceVersion`, exactly as the API server returned it.
        resource_version: String,
    },
    /// The cache's record of a pod. It may have been removed from the cache since the lookup.
    Known(Arc<PodRecord>),
    /// A whole pod object, which need not be in the cache.
    Whole(Box<Pod>),
}

/// Writes the UID or `namespace/name`, whichever identifies the pod in the query.
impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid(uid) => f.write_str(uid),
            Self::Name { namespace, name } => write!(f, "{namespace}/{name}"),
            Self::Version { pod, .. } => pod.fmt(f),
            Self::Known(pod) => write!(f, "{}/{}", pod.namespace, pod.name),
            Self::Whole(pod) => f.write_str(&pod.key()),
        }
    }
}

/// The nodes to evaluate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// Every node of the snapshot.
    All,
    /// Nodes by name. Repeated names count once; an unknown name is an error.
    Named(Vec<String>),
    /// Nodes of the snapshot in row order, until enough fit.
    Enough(Sample),
}

impl Nodes {
    /// The rows of the nodes, and the names that are unknown. Named nodes are deduplicated and sorted by name. A limit selects among
    /// all rows.
    pub(crate) fn batch(&self, snapshot: &Snapshot, unknown: Unknown) -> Result<(Batch, Vec<String>), Error> {
        let Self::Named(names) = self else { return Ok((Batch::All, Vec::new())) };
        let mut rows: Vec<Row> = Vec::with_capacity(names.len());
        let mut missing = Vec::new();
        for name in names {
            match snapshot.node_row(name) {
                Some(row) => rows.push(row),
                None if missing.len() > UNKNOWN_NODES => break,
                None => missing.push(name.clone()),
            }
        }
        if let Some(node) = missing.first()
            && (unknown == Unknown::Fails || rows.is_empty() || missing.len() > UNKNOWN_NODES)
        {
            return Err(Error::UnknownNode { node: node.clone() });
        }
        missing.sort_unstable();
        missing.dedup();
        rows.sort_unstable_by_key(|row| snapshot.node_name(*row));
        rows.dedup();
        Ok((Batch::Rows(rows.into()), missing))
    }
}

/// A limit on feasible nodes, as kube-scheduler samples nodes. Each pod of the query starts at the same row, wraps around after
/// the last row, and stops at the row that reaches the limit. The answer is that of a query about just the evaluated rows; if
/// the limit is not reached, these are all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The row to start at; row 0 if there is no such row.
    pub start: usize,
    /// The number of feasible nodes at which evaluation stops.
    pub limit: NonZero<usize>,
    /// Rows in the first range; each further range is twice as long.
    pub step: usize,
}

impl Sample {
    /// A sample that starts at row `start` and stops once `limit` nodes fit.
    pub fn new(start: usize, limit: NonZero<usize>) -> Self {
        Self { start, limit, step: SAMPLE_ROWS }
    }
}

/// How much the answer contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Per node the first predicate that rejects it, as in a scheduling cycle.
    FirstFailure,
    /// Per node the first predicate that rejects it, and the verdict of each predicate alone over all nodes of the query.
    Each,
}

/// Handling of pods and nodes of a query that are not in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Unknown {
    /// The first unknown pod or node fails the query.
    #[default]
    Fails,
    /// The answer names the unknown pods and nodes.
    AreNamed,
}
