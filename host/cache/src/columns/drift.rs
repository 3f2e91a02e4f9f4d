//! Drift: cells that differ from a recount of the pods and labels behind them, and devices whose use differs from claims.
//!
//! [`Drift`] is one such cell; a component that recounts a row collects them in a [`DriftReport`] as it repairs them.

use std::fmt;
use std::sync::Arc;

use super::{Column, Row};
use crate::metadata::PodRecord;

/// Something of a node or of a device that differed from a recount, and has been repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The node's name; none where it is about a device.
    pub node: Option<Arc<str>>,
    /// Name of what differs, for example `free cpu` of a node, or a device as `device driver/pool/name`.
    pub what: String,
    /// Value that the cache held.
    pub held: String,
    /// Value that the recount gave.
    pub counted: String,
}

impl Drift {
    /// A pod that is counted on a node and must not be, or the other way round.
    pub(crate) fn for_pod(node: &Arc<str>, pod: &PodRecord, held: &str, counted: &str) -> Self {
        let what = format!("pod {}/{}", pod.namespace, pod.name);
        Self { node: Some(Arc::clone(node)), what, held: held.to_owned(), counted: counted.to_owned() }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            write!(f, "node {node}: ")?;
        }
        write!(f, "{} was {}, counted {}", self.what, self.held, self.counted)
    }
}

/// The drift of one node, as it is found.
#[derive(Debug)]
pub(crate) struct DriftReport {
    node: Arc<str>,
    found: Vec<Drift>,
}

impl DriftReport {
    /// A report about a node that begins with what was found before.
    pub(crate) fn new(node: Arc<str>, found: Vec<Drift>) -> Self {
        Self { node, found }
    }

    /// The name of the node.
    pub(crate) fn node(&self) -> &Arc<str> {
        &self.node
    }

    /// Compares what is held with what was counted, and notes a difference; true where there is one.
    pub(crate) fn differs<T: PartialEq + fmt::Debug>(
        &mut self,
        what: impl FnOnce() -> String,
        held: &T,
        counted: &T,
    ) -> bool {
        if held == counted {
            return false;
        }
        let (held, counted) = (format!("{held:?}"), format!("{counted:?}"));
        self.found.push(Drift { node: Some(Arc::clone(&self.node)), what: what(), held, counted });
        true
    }

    /// Compares one cell with what was counted, and repairs it.
    pub(crate) fn repair_cell<T: Clone + PartialEq + fmt::Debug>(
        &mut self,
        what: &str,
        column: &mut Column<T>,
        row: Row,
        counted: T,
    ) {
        if let Some(held) = column.get(row).cloned()
            && self.differs(|| what.to_owned(), &held, &counted)
        {
            column.set(row, counted);
        }
    }

    /// All that was found.
    pub(crate) fn into_found(self) -> Vec<Drift> {
        self.found
    }
}

/// The UIDs of pods, sorted: lists of pods are compared by them.
pub(crate) fn uids_of<'a>(pods: impl IntoIterator<Item = &'a Arc<PodRecord>>) -> Vec<Arc<str>> {
    let mut uids: Vec<Arc<str>> = pods.into_iter().map(|pod| Arc::clone(&pod.uid)).collect();
    uids.sort_unstable();
    uids
}
