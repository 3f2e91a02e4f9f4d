//! What the cache holds, gathered in one moment, for dumps: the writer is held only while references are collected.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::{Snapshot, Writer};
use crate::metadata::PodRecord;

/// Everything known at one moment.
#[derive(Debug)]
pub struct State {
    /// The nodes.
    pub snapshot: Arc<Snapshot>,
    /// The pods, in no order; those that are assumed as if they were bound.
    pub pods: Vec<Arc<PodRecord>>,
    /// UIDs of the pods that are assumed, with when the assumption ends.
    pub assumed: FxHashMap<Arc<str>, Instant>,
}

impl Writer {
    /// Publishes, and gathers every node and pod.
    pub fn state(&mut self) -> State {
        self.publish();
        State { snapshot: self.latest.load_full(), pods: self.pods.all(), assumed: self.assumed.due() }
    }

    /// Publishes, and gathers the pods on one node and those nominated for it; none where the node is not known.
    pub fn state_of(&mut self, node: &str) -> Option<State> {
        self.publish();
        let snapshot = self.latest.load_full();
        snapshot.node_row(node)?;
        let nominated = snapshot.nominated(node).iter().cloned();
        let pods = self.pods_on(node).into_iter().chain(nominated).collect();
        Some(State { snapshot, pods, assumed: self.assumed.due() })
    }
}
