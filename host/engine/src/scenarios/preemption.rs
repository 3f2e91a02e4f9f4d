//! Preemption: how many victims must be removed from a node until a pod fits there.
//!
//! Start with [`Engine::preempt`]; `dry_run` evaluates one node. Nominated pods of the same or higher priority count as in
//! kube-scheduler's dry run: the pod must fit both with and without them.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::dry_run::PreemptionDryRun;
use crate::answer::FaultReport;
use crate::query::PodRef;
use crate::reuse::Store;
use crate::{Engine, Error, Reuse};
use nodesift_cache::metadata::{Ownership, PodRecord};
use nodesift_cache::{OverlayError, Row, Snapshot};

/// A preemption query: one pod and its candidate nodes.
#[derive(Debug)]
pub struct Preemption {
    /// The pod that preempts (the preemptor).
    pub pod: PodRef,
    /// The candidate nodes, in any order. Each is evaluated alone.
    pub candidates: Vec<Candidate>,
    /// When the request ends, as in [`Query::deadline`](crate::Query::deadline).
    pub deadline: Option<Instant>,
}

/// A candidate node and its victims.
#[derive(Debug)]
pub struct Candidate {
    /// Name of the node.
    pub node: String,
    /// UIDs of pods on the node, in the order of their removal. A UID that the cache does not have on this node takes an index,
    /// but its removal frees nothing. The same holds for a static pod, because the kubelet would start it again.
    pub victims: Vec<String>,
    /// The least index to return: `victims[..=start]` are removed in any case.
    pub start: usize,
}

/// The answer to a preemption query, from one snapshot and one policy.
#[derive(Debug)]
pub struct PreemptionAnswer {
    /// The snapshot that the answer was computed from.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy with which it was computed.
    pub policy_generation: u64,
    /// One entry per candidate of the query, in its order.
    pub outcomes: Vec<PreemptionOutcome>,
    /// Predicates whose call failed, and the effect of their failure policy.
    pub faults: Vec<FaultReport>,
}

/// The result of the dry run on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionOutcome {
    /// The least index from `start` on at which the pod fits without `victims[..=index]`; `None` where it does not fit without
    /// all victims.
    pub index: Option<usize>,
    /// Indices of the victims that are static pods, which cannot be removed; ascending.
    pub stay: Vec<usize>,
}

impl Engine {
    /// Answers a preemption query from a snapshot, with all predicates of the allocate phase. It is no [`Query`](crate::Query): each
    /// candidate is another state of the cluster, and has a number of victims in place of a verdict.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`] or [`Error::UnknownNode`] where the pod or a node is not in the cache. [`OverlayError::Unsettled`]
    /// where the cache has a newer state of a victim than the newest snapshot: try again after the next publication.
    /// [`Error::DeadlineExceeded`] where the query's deadline passes first, [`Error::PreemptionWithOverlay`] where the snapshot has an
    /// overlay.
    pub fn preempt(&self, query: &Preemption, snapshot: &Arc<Snapshot>) -> Result<PreemptionAnswer, Error> {
        if snapshot.overlaid_rows().is_some() {
            return Err(Error::PreemptionWithOverlay);
        }
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) {
            return Err(Error::OlderThanPolicy);
        }
        let subject = self.subject(&query.pod, &running.policy)?;
        let nodes = query.candidates.iter().map(|candidate| self.node(snapshot, candidate));
        let nodes: Vec<Node> = nodes.collect::<Result<_, Error>>()?;
        let try_all = |store: Option<&Store>| {
            let mut dry_run =
                PreemptionDryRun::new(&running.policy, store, snapshot, subject.clone(), &[], query.deadline);
            let mut fits: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
            for node in &nodes {
                fits.push(dry_run.first_fit(node.row, &node.victims, node.start));
                if query.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Err(Error::DeadlineExceeded);
                }
            }
            Ok((fits, dry_run.into_faults()))
        };
        let (indices, faults) = try_all((self.reuse != Reuse::Off).then_some(&running.store))?;
        if self.reuse == Reuse::Verified {
            let (fresh, fresh_faults) = try_all(None)?;
            if faults.is_empty() && fresh_faults.is_empty() && indices != fresh {
                let difference = format!("indices of the last victim: cached {indices:?}, fresh {fresh:?}");
                return Err(self.mismatch(subject.name, difference));
            }
        }
        let outcomes = nodes.into_iter().zip(indices).map(|(node, index)| PreemptionOutcome { index, stay: node.stay });
        let (outcomes, policy_generation) = (outcomes.collect(), running.policy.generation);
        Ok(PreemptionAnswer { snapshot: Arc::clone(snapshot), policy_generation, outcomes, faults })
    }

    /// Looks up the node and the victims of a candidate.
    fn node(&self, snapshot: &Snapshot, candidate: &Candidate) -> Result<Node, Error> {
        let unknown = || Error::UnknownNode { node: candidate.node.clone() };
        let row = snapshot.node_row(&candidate.node).ok_or_else(unknown)?;
        let (victims, stay) = self.victims(snapshot, candidate)?;
        Ok(Node { row, victims, stay, start: candidate.start })
    }

    /// The victims, with `None` for each whose removal frees nothing, and the indices of the static pods.
    fn victims(&self, snapshot: &Snapshot, candidate: &Candidate) -> Result<Victims, OverlayError> {
        let mut victims: Vec<Option<Arc<PodRecord>>> = Vec::with_capacity(candidate.victims.len());
        let mut stay = Vec::new();
        let mut gone: FxHashSet<&str> = FxHashSet::default();
        for (index, uid) in candidate.victims.iter().enumerate() {
            let is_repeated = gone.contains(uid.as_str());
            let victim = if is_repeated { None } else { snapshot.counted(self.cache.pods(), uid)? };
            if victim.as_ref().is_some_and(|pod| pod.ownership == Ownership::ForeignStatic) {
                stay.push(index);
            }
            let is_here = |pod: &Arc<PodRecord>| pod.node_name.as_deref() == Some(&*candidate.node);
            let victim = victim.filter(|pod| is_here(pod) && pod.ownership != Ownership::ForeignStatic);
            if victim.is_some() {
                gone.insert(uid);
            }
            victims.push(victim);
        }
        Ok((victims, stay))
    }
}

/// A candidate, looked up.
struct Node {
    row: Row,
    victims: Vec<Option<Arc<PodRecord>>>,
    stay: Vec<usize>,
    start: usize,
}

/// Victims, with `None` for each whose removal frees nothing, and the ascending indices of the static pods.
type Victims = (Vec<Option<Arc<PodRecord>>>, Vec<usize>);
