//! What the engine is asked: pods, nodes, phase, depth.

use std::num::NonZero;
use std::sync::Arc;

use crate::limits::SAMPLE_ROWS;
use crate::policy::Phase;
use nodesift_cache::metadata::PodRecord;
use nodesift_object::Pod;

/// Pods to judge against one snapshot.
#[derive(Debug)]
pub struct Query {
    /// Each gets an answer of its own, in this order.
    pub pods: Vec<PodRef>,
    /// The nodes asked about.
    pub nodes: Nodes,
    /// Which part of the policy runs.
    pub phase: Phase,
    /// How much is evaluation.
    pub depth: Depth,
}

/// A pod to judge.
#[derive(Debug)]
pub enum PodRef {
    /// A pod in the cache, by `metadata.uid`.
    Uid(String),
    /// A pod in the cache, by namespace and name.
    Name {
        /// `metadata.namespace`.
        namespace: String,
        /// `metadata.name`.
        name: String,
    },
    /// A pod as the cache had it when it was looked up; it may be gone since.
    Known(Arc<PodRecord>),
    /// A pod given whole; it need not be in the cache.
    Whole(Box<Pod>),
}

/// The nodes asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// Every node of the snapshot.
    All,
    /// Nodes by name; repeated names count once, an unknown name is an error.
    Named(Vec<String>),
    /// Nodes of the snapshot, row after row, until enough fit.
    Enough(Sample),
}

/// As many nodes as are enough, as kube-scheduler samples them: every pod of the question begins at the same row, goes on
/// behind the last row at the first, and ends with the row that makes it enough. The answer is that of a question about just
/// the rows that were judged; where they are not enough, these are all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The row to begin at; the first one where there is no such row.
    pub start: usize,
    /// How many nodes are enough.
    pub limit: NonZero<usize>,
    /// How many rows are judged at once, to begin with.
    pub step: usize,
}

impl Sample {
    /// From a row on, until so many fit.
    pub fn new(start: usize, limit: NonZero<usize>) -> Self {
        Self { start, limit, step: SAMPLE_ROWS }
    }
}

/// How much is evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The first predicate that rejects a node ends that node, as in a scheduling cycle.
    FirstFailure,
    /// Every predicate alone over every node, and the conjunction.
    Each,
}
