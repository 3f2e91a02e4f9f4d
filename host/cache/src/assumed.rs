//! Assumed pods: where a core has decided to place a pod that the watch does not show bound yet.
//!
//! An assumed pod counts on its node as if it were bound, as in kube-scheduler's own cache. The truth of the watch ends
//! the assumption: bound to that node it is confirmed; bound elsewhere, ended or deleted, the truth wins. So do time, the
//! core itself, and the node's removal; the pod is then pending again, or gone where the watch never showed it. Start
//! with [`Writer::assume`]. Time comes in from outside, always from a monotonic clock.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::Writer;
use super::allocations::AllocationChange;
use super::metrics::{Ended, Metrics, Reason};
use crate::limits::ASSUMED_PODS;
use crate::metadata::PodRecord;

pub(super) use super::metrics::Reason as End;

/// Why a pod cannot be assumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssumeError {
    /// The pod is not in the cache.
    #[error("pod {pod} is not in the cache: name a pod that exists, or send the whole pod")]
    UnknownPod {
        /// As it was named.
        pod: String,
    },
    /// The node is not in the cache.
    #[error("node {node:?} is not in the cache")]
    UnknownNode {
        /// As it was named.
        node: String,
    },
    /// The watch shows the pod bound to another node.
    #[error("pod {pod} is bound to node {node:?} already")]
    Bound {
        /// `namespace/name`.
        pod: String,
        /// Where it is.
        node: Arc<str>,
    },
    /// The name belongs to a pod of another UID.
    #[error("pod {pod} has UID {uid:?} in the cache: one of the two is out of date, try again once it is deleted")]
    OtherPod {
        /// `namespace/name`.
        pod: String,
        /// Of the pod in the cache.
        uid: Arc<str>,
    },
    /// As many pods are assumed as may be.
    #[error("{ASSUMED_PODS} pods are assumed already: bind or forget some, or let them expire")]
    Full,
}

/// What came of assuming a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It counts on the node from now on.
    Assumed,
    /// It was assumed there before; its time starts anew.
    Renewed,
    /// It was assumed on another node before, and counts on this one now.
    Moved,
    /// The watch has shown it there already: nothing to assume.
    AlreadyBound,
}

/// A pod that is assumed.
#[derive(Debug, Clone)]
pub struct Assumption {
    /// Where.
    pub node: Arc<str>,
    /// When the assumption ends by itself.
    pub until: Instant,
    /// The pod as the watch shows it; none where it never has.
    pub(super) truth: Option<Arc<PodRecord>>,
}

/// All assumptions, by UID and by when they end.
#[derive(Debug, Default)]
pub(super) struct Assumed {
    by_uid: FxHashMap<Arc<str>, Assumption>,
    by_end: BTreeSet<(Instant, Arc<str>)>,
    metrics: Metrics,
}

impl Assumed {
    /// Whether a pod is assumed.
    pub(super) fn contains(&self, uid: &str) -> bool {
        !self.by_uid.is_empty() && self.by_uid.contains_key(uid)
    }

    /// UIDs with when each assumption ends.
    pub(super) fn due(&self) -> FxHashMap<Arc<str>, Instant> {
        self.by_uid.iter().map(|(uid, assumption)| (Arc::clone(uid), assumption.until)).collect()
    }

    fn insert(&mut self, uid: &Arc<str>, assumption: Assumption) {
        self.by_end.insert((assumption.until, Arc::clone(uid)));
        if let Some(old) = self.by_uid.insert(Arc::clone(uid), assumption)
            && self.by_uid.get(uid).is_some_and(|new| new.until != old.until)
        {
            self.by_end.remove(&(old.until, Arc::clone(uid)));
        }
        self.gauge();
    }

    /// Ends an assumption; none where there was none.
    pub(super) fn end(&mut self, uid: &str, reason: Reason) -> Option<Assumption> {
        if self.by_uid.is_empty() {
            return None;
        }
        let (uid, assumption) = self.by_uid.remove_entry(uid)?;
        self.by_end.remove(&(assumption.until, uid));
        self.metrics.assumptions_ended.get_or_create(&Ended { reason }).inc();
        self.gauge();
        Some(assumption)
    }

    fn gauge(&self) {
        self.metrics.assumed.set(i64::try_from(self.by_uid.len()).unwrap_or(i64::MAX));
    }
}

impl Writer {
    /// Counts into these from now on.
    pub fn count_into(&mut self, metrics: Metrics) {
        self.assumed.metrics = metrics;
        self.assumed.gauge();
    }

    /// Assumes a pod of the cache on a node, until a moment. Published by [`Writer::publish`], as any change.
    pub fn assume(&mut self, uid: &str, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        let pod = self.pods.by_uid(uid).ok_or_else(|| AssumeError::UnknownPod { pod: uid.to_owned() })?;
        self.place(&pod, true, node, until)
    }

    /// Assumes a pod given whole, which the watch need not have shown. Where it has, what the watch shows of it counts.
    pub fn assume_whole(&mut self, pod: &PodRecord, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        if self.pods.by_uid(&pod.uid).is_some_and(|known| self.was_shown(&known)) {
            return self.assume(&pod.uid, node, until);
        }
        match self.pods.by_name(&pod.namespace, &pod.name) {
            Some(known) if known.uid != pod.uid => {
                Err(AssumeError::OtherPod { pod: name(pod), uid: Arc::clone(&known.uid) })
            }
            _ => self.place(&Arc::new(pod.on_node(None)), false, node, until),
        }
    }

    /// Takes an assumption back; false where the pod was not assumed.
    pub fn forget(&mut self, uid: &str) -> bool {
        self.revert(uid, Reason::Forgotten)
    }

    /// Ends what has been assumed for too long; how many that was.
    pub fn expire(&mut self, now: Instant) -> usize {
        let mut expired = 0;
        while let Some((until, uid)) = self.assumed.by_end.first().cloned()
            && until <= now
        {
            self.revert(&uid, Reason::Expired);
            expired += 1;
        }
        expired
    }

    /// What is assumed of a pod.
    pub fn assumption(&self, uid: &str) -> Option<&Assumption> {
        self.assumed.by_uid.get(uid)
    }

    /// How many pods are assumed.
    pub fn assumed_pods(&self) -> usize {
        self.assumed.by_uid.len()
    }

    /// Whether the watch has shown a pod; false for one that only a core has spoken of. A list that lacks such a pod says
    /// nothing about it.
    pub fn was_shown(&self, pod: &PodRecord) -> bool {
        self.assumption(&pod.uid).is_none_or(|assumption| assumption.truth.is_some())
    }

    /// Places a pod; `shown` says that the watch has shown it.
    fn place(&mut self, pod: &Arc<PodRecord>, shown: bool, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        let (placed, truth) = match (self.assumption(&pod.uid), &pod.node_name) {
            (Some(assumption), _) if *assumption.node == *node => (Placed::Renewed, assumption.truth.clone()),
            (Some(assumption), _) => (Placed::Moved, assumption.truth.clone()),
            (None, Some(bound)) if **bound == *node => return Ok(Placed::AlreadyBound),
            (None, Some(bound)) => return Err(AssumeError::Bound { pod: name(pod), node: Arc::clone(bound) }),
            (None, None) => (Placed::Assumed, shown.then(|| Arc::clone(pod))),
        };
        let Some(row) = self.nodes.row(node) else { return Err(AssumeError::UnknownNode { node: node.to_owned() }) };
        if placed == Placed::Assumed && self.assumed_pods() >= ASSUMED_PODS {
            return Err(AssumeError::Full);
        }
        let node = self.nodes.names.get(row).map_or_else(|| Arc::from(node), Arc::clone);
        self.assumed.insert(&pod.uid, Assumption { node: Arc::clone(&node), until, truth });
        self.put_pod(&Arc::new(pod.on_node(Some(node))));
        Ok(placed)
    }

    /// What counts of a pod that the watch shows: where it is assumed and not bound, it stays where it is assumed.
    pub(super) fn settle(&mut self, pod: Arc<PodRecord>) -> Arc<PodRecord> {
        if self.assumed.by_uid.is_empty() {
            return pod;
        }
        let Some(assumption) = self.assumed.by_uid.get_mut(&pod.uid) else { return pod };
        let Some(bound) = &pod.node_name else {
            let placed = pod.on_node(Some(Arc::clone(&assumption.node)));
            assumption.truth = Some(pod);
            return Arc::new(placed);
        };
        if *bound != assumption.node {
            self.assumed.end(&pod.uid, Reason::Conflict);
            return pod;
        }
        self.assumed.end(&pod.uid, Reason::Confirmed);
        // The columns stay as they are, but a dump of the state does not.
        self.generation.0 += 1;
        if let Some(known) = self.pods.by_uid(&pod.uid) {
            self.allocations.record(AllocationChange::Updated, &known, false);
        }
        pod
    }

    /// Ends the assumptions about pods on a node that is about to go.
    pub(super) fn revert_assumed_on(&mut self, node: &str) {
        let on_node = |assumption: &Assumption| *assumption.node == *node;
        let assumed = self.assumed.by_uid.iter().filter(|(_, assumption)| on_node(assumption));
        let uids: Vec<Arc<str>> = assumed.map(|(uid, _)| Arc::clone(uid)).collect();
        uids.iter().for_each(|uid| {
            self.revert(uid, Reason::NodeRemoved);
        });
    }

    /// Ends an assumption, and goes back to what the watch shows; false where there was none.
    fn revert(&mut self, uid: &str, reason: Reason) -> bool {
        let Some(assumption) = self.assumed.end(uid, reason) else { return false };
        match assumption.truth {
            Some(truth) => self.put_pod(&truth),
            None => self.take_pod(uid),
        }
        true
    }
}

fn name(pod: &PodRecord) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}
