//! What one run found, as it is printed: an object per nodes and pod, and an object per nodes.

use std::time::Duration;

use serde::Serialize;

use super::aims::Aims;
use crate::measure::pods::PodTimes;
use crate::measure::{Ground, Template};

/// All of one cluster.
pub(super) struct Size {
    pub(super) pods: Vec<PodFigures>,
    pub(super) whole: SizeFigures,
    pub(super) aims: Aims,
}

/// One pod over all nodes, in process, on one thread: medians.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PodFigures {
    pub(super) nodes: usize,
    /// Pods on nodes.
    pub(super) pods: usize,
    pub(super) pod: String,
    /// Nodes that fit.
    pub(super) feasible: usize,
    pub(super) cold_ns: u64,
    pub(super) warm_ns: u64,
    /// A pod like it was bound since.
    pub(super) row_changed_ns: u64,
    /// A pod was bound since that nothing of it looks at.
    pub(super) other_row_changed_ns: u64,
    /// The same predicates compiled natively, everything around them the same, as the native program measured it.
    pub(super) native_ns: Option<u64>,
    /// Evaluated afresh in the sandbox, as the native program measured it in the same rounds.
    pub(super) sandboxed_ns: Option<u64>,
    /// The one by the other.
    pub(super) sandboxed_by_native: Option<f64>,
}

/// One cluster as a whole.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SizeFigures {
    pub(super) nodes: usize,
    pub(super) pods: usize,
    /// One request after the other on one connection, one pod by UID each.
    pub(super) uds_p50_ns: u64,
    pub(super) uds_p99_ns: u64,
    pub(super) uds_requests: usize,
    /// Answered in batches.
    pub(super) pods_per_second: u64,
    pub(super) batch_pods: usize,
    pub(super) connections: usize,
    /// Batches under way on each connection.
    pub(super) in_flight: usize,
    /// How many of a full node's 30 pods must go for the first pod, whose answer is kept.
    pub(super) preemption_ns: u64,
    /// One pod added or removed, with 200 counts of pods kept up to date.
    pub(super) pod_event_ns: u64,
}

/// Either, on a line of its own.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Line<'a> {
    Pod(&'a PodFigures),
    Size(&'a SizeFigures),
}

impl PodFigures {
    pub(super) fn new(ground: &Ground, template: &Template, times: &PodTimes) -> Self {
        Self {
            nodes: ground.nodes,
            pods: ground.pods,
            pod: template.name.clone(),
            feasible: times.feasible,
            cold_ns: nanos(times.cold),
            warm_ns: nanos(times.warm),
            row_changed_ns: nanos(times.row_changed),
            other_row_changed_ns: nanos(times.other_row_changed),
            native_ns: None,
            sandboxed_ns: None,
            sandboxed_by_native: None,
        }
    }
}

impl Size {
    fn objects(&self) -> impl Iterator<Item = Line<'_>> {
        self.pods.iter().map(Line::Pod).chain([Line::Size(&self.whole)])
    }

    /// As JSON lines.
    pub(super) fn lines(&self) -> serde_json::Result<String> {
        let mut text = String::new();
        for object in self.objects() {
            text.push_str(&serde_json::to_string(&object)?);
            text.push('\n');
        }
        Ok(text)
    }
}

/// The objects of all sizes.
pub(super) fn all(sizes: &[Size]) -> Vec<Line<'_>> {
    sizes.iter().flat_map(Size::objects).collect()
}

/// Whole nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
