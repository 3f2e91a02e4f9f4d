//! Queries: pods, nodes, phase, depth.

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use crate::limits::SAMPLE_ROWS;
use crate::policy::Phase;
use nodesift_cache::metadata::PodRecord;
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
    /// Names of predicates of the policy that are not evaluated: they count as fitting every node.
    pub skip: Vec<String>,
}

impl Query {
    /// Which nodes pods fit in the phase of placing them, and the first predicate that rejects each of the others.
    pub fn of(pods: Vec<PodRef>) -> Self {
        let (nodes, phase, depth) = (Nodes::All, Phase::Allocate, Depth::FirstFailure);
        Self { pods, nodes, phase, depth, deadline: None, skip: Vec::new() }
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
