//! Assumed pods: a core has placed them on a node, and no watch event shows them bound yet.
//!
//! An assumed pod counts on its node as if it were bound, as in kube-scheduler's own cache. An assumption is confirmed when
//! the watch shows the pod bound to that node. It ends without confirmation when the watch shows the pod bound elsewhere,
//! terminated or deleted, when it expires, when the core forgets it, and when the node is removed; the pod is then pending
//! again, or removed where the watch never showed it. Start with [`Writer::assume`]. The caller supplies the time, always
//! from a monotonic clock.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use super::Writer;
use super::metrics::{Ended, Metrics, Reason};
use crate::limits::{ASSUMED_BYTES, ASSUMED_PODS, OVERDUE_NAMED};
use crate::metadata::PodRecord;
use crate::pods::PodIndex;

pub(super) use super::metrics::Reason as End;

/// Why a pod cannot be assumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssumeError {
    /// The pod is not in the cache.
    #[error("pod {pod} is not in the cache: name a pod that exists, or send the whole pod")]
    UnknownPod {
        /// Pod as the request named it.
        pod: String,
    },
    /// The node is not in the cache.
    #[error("node {node:?} is not in the cache")]
    UnknownNode {
        /// Node as the request named it.
        node: String,
    },
    /// The watch shows the pod bound to another node.
    #[error("pod {pod} is bound to node {node:?} already")]
    Bound {
        /// Key of the pod, `namespace/name`.
        pod: String,
        /// The node that it is bound to.
        node: Arc<str>,
    },
    /// The name belongs to a pod of another UID.
    #[error("pod {pod} has UID {uid:?} in the cache: one of the two is out of date, try again once it is deleted")]
    OtherPod {
        /// Key of the pod, `namespace/name`.
        pod: String,
        /// UID of the pod in the cache.
        uid: Arc<str>,
    },
    /// The watch has shown that the pod was deleted, or has ended.
    #[error("pod {pod} was deleted or has ended: there is nothing to assume")]
    Gone {
        /// `namespace/name`, or the UID where it was named by that.
        pod: String,
    },
    /// The number of assumed pods is at its limit, [`ASSUMED_PODS`].
    #[error("{ASSUMED_PODS} pods are assumed already: bind or forget some, or let them expire")]
    Full,
    /// The assumed pods that the watch has never shown are as large as they may be.
    #[error(
        "the pods assumed already take {ASSUMED_BYTES} bytes: bind or forget some, let them expire, or name pods of the cache \
         instead of sending whole ones"
    )]
    TooLarge,
}

/// The outcome of assuming a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// The pod counts on the node from now on.
    Assumed,
    /// The pod was assumed on this node before; its deadline is renewed.
    Renewed,
    /// The pod was assumed on another node before, and counts on this one now.
    Moved,
    /// The watch has shown the pod on this node already: nothing to assume.
    AlreadyBound,
}

/// Plan of assuming a pod on a node. It is out of date once the writer has changed anything.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The pod, as if it were on no node.
    pub pod: Arc<PodRecord>,
    /// Node to assume the pod on.
    pub node: Arc<str>,
    /// Outcome of carrying out the plan.
    pub placed: Placed,
    /// Whether the pod is another than the one that counts now under its UID.
    pub replaces: bool,
    /// The pod as the watch shows it; `None` where it never has.
    shown: Option<Arc<PodRecord>>,
    /// Bytes that the pod counts for in [`ASSUMED_BYTES`].
    bytes: usize,
}

/// A pod that is assumed.
#[derive(Debug, Clone)]
pub struct Assumption {
    /// The node that the pod is assumed on.
    pub node: Arc<str>,
    /// When the assumption expires.
    pub until: Instant,
    /// The pod as the watch shows it; `None` where it never has.
    shown: Option<Arc<PodRecord>>,
    /// Bytes that it counts for in [`ASSUMED_BYTES`].
    bytes: usize,
}

impl Assumption {
    /// Whether this is the pod as the watch shows it.
    pub(super) fn shows(&self, pod: &PodRecord) -> bool {
        self.shown.as_ref().is_some_and(|shown| **shown == *pod)
    }
}

/// Assumptions whose deadline has passed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overdue {
    /// Number of these assumptions.
    pub count: usize,
    /// The first [`OVERDUE_NAMED`] of them, as `namespace/name`.
    pub names: Vec<String>,
}

impl fmt::Display for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))?;
        match self.count.saturating_sub(self.names.len()) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// All assumptions, by UID and by deadline.
#[derive(Debug)]
pub(super) struct Assumed {
    /// Tells readers which pods are assumed.
    pods: Arc<PodIndex>,
    by_uid: FxHashMap<Arc<str>, Assumption>,
    by_deadline: BTreeSet<(Instant, Arc<str>)>,
    /// Sum of the bytes that all assumptions count for.
    bytes: usize,
    metrics: Metrics,
}

impl Assumed {
    /// No assumptions about pods of this index.
    pub(super) fn new(pods: Arc<PodIndex>) -> Self {
        Self { pods, by_uid: FxHashMap::default(), by_deadline: BTreeSet::new(), bytes: 0, metrics: Metrics::default() }
    }

    /// Whether a pod is assumed.
    pub(super) fn contains(&self, uid: &str) -> bool {
        !self.by_uid.is_empty() && self.by_uid.contains_key(uid)
    }

    /// UIDs with the time at which each assumption expires.
    pub(super) fn deadlines(&self) -> FxHashMap<Arc<str>, Instant> {
        self.by_uid.iter().map(|(uid, assumption)| (Arc::clone(uid), assumption.until)).collect()
    }

    fn insert(&mut self, uid: &Arc<str>, assumption: Assumption) {
        self.pods.set_assumed(uid, true);
        self.by_deadline.insert((assumption.until, Arc::clone(uid)));
        self.bytes += assumption.bytes;
        if let Some(old) = self.by_uid.insert(Arc::clone(uid), assumption) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
            if self.by_uid.get(uid).is_some_and(|new| new.until != old.until) {
                self.by_deadline.remove(&(old.until, Arc::clone(uid)));
            }
        }
        self.gauge();
    }

    /// Ends an assumption; none where there was none.
    pub(super) fn end(&mut self, uid: &str, reason: Reason) -> Option<Assumption> {
        if self.by_uid.is_empty() {
            return None;
        }
        let (uid, assumption) = self.by_uid.remove_entry(uid)?;
        self.bytes = self.bytes.saturating_sub(assumption.bytes);
        self.pods.set_assumed(&uid, false);
        self.by_deadline.remove(&(assumption.until, uid));
        self.metrics.assumptions_ended.get_or_create(&Ended { reason }).inc();
        self.gauge();
        Some(assumption)
    }

    /// Decides about the pods as the watch shows them anew, by the schedulers of another policy.
    pub(super) fn recount(&mut self, own_schedulers: &[String]) {
        for shown in self.by_uid.values_mut().filter_map(|assumption| assumption.shown.as_mut()) {
            let ownership = shown.ownership_by(own_schedulers);
            if ownership != shown.ownership {
                *shown = Arc::new(shown.owned(ownership));
            }
        }
    }

    /// Replaces pods as the watch shows them, those of which this gives another state.
    pub(super) fn recount_shown(&mut self, anew: impl Fn(&Arc<PodRecord>) -> Option<Arc<PodRecord>>) {
        for shown in self.by_uid.values_mut().filter_map(|assumption| assumption.shown.as_mut()) {
            if let Some(other) = anew(shown) {
                *shown = other;
            }
        }
    }

    fn gauge(&self) {
        self.metrics.assumed.set(i64::try_from(self.by_uid.len()).unwrap_or(i64::MAX));
    }
}

impl Writer {
    /// Sets the metrics that assumptions are counted in from now on.
    pub fn set_metrics(&mut self, metrics: Metrics) {
        self.watermarks.count_in(metrics.above_watermark.clone());
        self.assumed.metrics = metrics;
        self.assumed.gauge();
    }

    /// Assumes a pod of the cache on a node, until a moment. Published by [`Writer::publish`], as any change.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`].
    pub fn assume(&mut self, uid: &str, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        let plan = self.plan(uid, node)?;
        Ok(self.carry_out(&plan, until))
    }

    /// Assumes a pod given as an object, which the watch need not have shown. Where it has, the pod of the watch counts.
    ///
    /// # Errors
    ///
    /// As [`Self::plan_whole`].
    pub fn assume_whole(&mut self, pod: &PodRecord, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        let plan = self.plan_whole(pod, node)?;
        Ok(self.carry_out(&plan, until))
    }

    /// Plans what [`Self::assume`] would do, and changes nothing.
    ///
    /// # Errors
    ///
    /// Where pod or node are not in the cache, the pod is bound to another node or is gone, or assumed pods are as many or as large as they
    /// may be.
    pub fn plan(&self, uid: &str, node: &str) -> Result<Plan, AssumeError> {
        let Some(pod) = self.pods.by_uid(uid) else {
            let pod = uid.to_owned();
            return Err(if self.gone.contains(uid) {
                AssumeError::Gone { pod }
            } else {
                AssumeError::UnknownPod { pod }
            });
        };
        self.plan_pod(&pod, true, node)
    }

    /// Plans what [`Self::assume_whole`] would do, and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`], and where another pod of this namespace and name is in the cache.
    pub fn plan_whole(&self, pod: &PodRecord, node: &str) -> Result<Plan, AssumeError> {
        if self.pods.by_uid(&pod.uid).is_some_and(|known| self.was_shown(&known)) {
            return self.plan(&pod.uid, node);
        }
        // The request was on its way while the pod went: nothing would ever confirm it or take it back.
        if self.gone.contains(&pod.uid) {
            return Err(AssumeError::Gone { pod: name(pod) });
        }
        match self.pods.by_name(&pod.namespace, &pod.name) {
            Some(known) if known.uid != pod.uid => {
                Err(AssumeError::OtherPod { pod: name(pod), uid: Arc::clone(&known.uid) })
            }
            _ => self.plan_pod(&Arc::new(pod.on_node(None)), false, node),
        }
    }

    /// Does what was planned. Nothing may have changed since then: plan, and carry out, under one lock.
    pub fn carry_out(&mut self, plan: &Plan, until: Instant) -> Placed {
        if plan.placed != Placed::AlreadyBound {
            let (node, shown) = (Arc::clone(&plan.node), plan.shown.clone());
            let assumption = Assumption { node, until, shown, bytes: plan.bytes };
            self.assumed.insert(&plan.pod.uid, assumption);
            self.put_pod(&Arc::new(plan.pod.on_node(Some(Arc::clone(&plan.node)))));
        }
        plan.placed
    }

    /// Ends an assumption on behalf of the core; false where the pod was not assumed.
    pub fn forget(&mut self, uid: &str) -> bool {
        self.revert(uid, Reason::Forgotten)
    }

    /// Ends the assumptions whose deadline has passed, and names them.
    pub fn expire(&mut self, now: Instant) -> Overdue {
        let expired = self.overdue(now);
        while let Some((until, uid)) = self.assumed.by_deadline.first().cloned()
            && until <= now
        {
            self.revert(&uid, Reason::Expired);
        }
        expired
    }

    /// The assumptions whose deadline has passed.
    pub fn overdue(&self, now: Instant) -> Overdue {
        let mut overdue = Overdue::default();
        for (_, uid) in self.assumed.by_deadline.iter().take_while(|(until, _)| *until <= now) {
            overdue.count += 1;
            if overdue.count <= OVERDUE_NAMED {
                overdue.names.extend(self.pods.by_uid(uid).map(|pod| name(&pod)));
            }
        }
        overdue
    }

    /// The assumption about a pod.
    pub fn assumption(&self, uid: &str) -> Option<&Assumption> {
        self.assumed.by_uid.get(uid)
    }

    /// How many pods are assumed.
    pub fn assumed_pods(&self) -> usize {
        self.assumed.by_uid.len()
    }

    /// Whether the watch has shown a pod; false for one that only a core has assumed. A list without such a pod does not mean
    /// that it was deleted.
    pub fn was_shown(&self, pod: &PodRecord) -> bool {
        self.assumption(&pod.uid).is_none_or(|assumption| assumption.shown.is_some())
    }

    /// Plans for a pod; `shown` says that the watch has shown it.
    fn plan_pod(&self, pod: &Arc<PodRecord>, shown: bool, node: &str) -> Result<Plan, AssumeError> {
        let pod = &*self.as_counted(pod);
        let (placed, shown) = match (self.assumption(&pod.uid), &pod.node_name) {
            (Some(assumption), _) if *assumption.node == *node => (Placed::Renewed, assumption.shown.clone()),
            (Some(assumption), _) => (Placed::Moved, assumption.shown.clone()),
            (None, Some(bound)) if **bound == *node => (Placed::AlreadyBound, None),
            (None, Some(bound)) => return Err(AssumeError::Bound { pod: name(pod), node: Arc::clone(bound) }),
            (None, None) => (Placed::Assumed, shown.then(|| Arc::clone(pod))),
        };
        let node = match self.nodes.row(node).and_then(|row| self.nodes.index().name(row)) {
            Some(name) => Arc::clone(name),
            // A pod can be bound to a node that is not known yet.
            None if placed == Placed::AlreadyBound => Arc::from(node),
            None => return Err(AssumeError::UnknownNode { node: node.to_owned() }),
        };
        if placed == Placed::Assumed && self.assumed_pods() >= ASSUMED_PODS {
            return Err(AssumeError::Full);
        }
        // A pod that the watch has shown is in the cache anyway.
        let bytes = if shown.is_none() && placed != Placed::AlreadyBound { pod.memory_bytes() } else { 0 };
        let others = self.assumed.bytes - self.assumption(&pod.uid).map_or(0, |assumption| assumption.bytes);
        if bytes > 0 && others.saturating_add(bytes) > ASSUMED_BYTES {
            return Err(AssumeError::TooLarge);
        }
        let pod = if pod.node_name.is_none() { Arc::clone(pod) } else { Arc::new(pod.on_node(None)) };
        let replaces = self.pods.by_uid(&pod.uid).is_some_and(|known| known.on_node(None) != *pod);
        Ok(Plan { pod, node, placed, replaces, shown, bytes })
    }

    /// The pod that counts once the watch shows this one: where it is assumed and not bound, it stays on its assumed node.
    pub(super) fn reconcile(&mut self, pod: Arc<PodRecord>) -> Arc<PodRecord> {
        if self.assumed.by_uid.is_empty() {
            return pod;
        }
        let Some(assumption) = self.assumed.by_uid.get_mut(&pod.uid) else { return pod };
        let Some(bound) = &pod.node_name else {
            let placed = pod.on_node(Some(Arc::clone(&assumption.node)));
            assumption.shown = Some(pod);
            self.assumed.bytes -= std::mem::take(&mut assumption.bytes);
            return Arc::new(placed);
        };
        if *bound != assumption.node {
            self.assumed.end(&pod.uid, Reason::Conflict);
            return pod;
        }
        self.assumed.end(&pod.uid, Reason::Confirmed);
        // The columns stay as they are, but a dump of the state does not.
        self.advance_generation();
        if let Some(known) = self.pods.by_uid(&pod.uid) {
            self.note_confirmed(&known);
        }
        pod
    }

    /// Ends the assumptions about pods on a node that is about to be removed.
    pub(super) fn revert_assumed_on(&mut self, node: &str) {
        let on_node = |assumption: &Assumption| *assumption.node == *node;
        let assumed = self.assumed.by_uid.iter().filter(|(_, assumption)| on_node(assumption));
        let uids: Vec<Arc<str>> = assumed.map(|(uid, _)| Arc::clone(uid)).collect();
        uids.iter().for_each(|uid| {
            self.revert(uid, Reason::NodeRemoved);
        });
    }

    /// Ends an assumption, and goes back to the pod of the watch; false where there was none.
    fn revert(&mut self, uid: &str, reason: Reason) -> bool {
        let Some(assumption) = self.assumed.end(uid, reason) else { return false };
        match assumption.shown {
            Some(shown) => self.put_pod(&shown),
            None => self.take_pod(uid),
        }
        true
    }
}

fn name(pod: &PodRecord) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

#[cfg(test)]
mod tests;
