//! Everything known at one moment, for dumps. The writer collects it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::Snapshot;
use crate::metadata::PodRecord;

/// Everything that the cache holds at one moment.
#[derive(Debug)]
pub struct State {
    /// Snapshot of the nodes and of all else but pods.
    pub snapshot: Arc<Snapshot>,
    /// The pods, in no order; assumed ones as if they were bound.
    pub pods: Vec<Arc<PodRecord>>,
    /// UIDs of the assumed pods, with the time at which each assumption expires.
    pub assumed: FxHashMap<Arc<str>, Instant>,
    /// Names of the nodes of which it is not known what they add to sums, each with the reason.
    pub unknown_sums: BTreeMap<Arc<str>, Arc<str>>,
}
