//! Preemption: how many of a node's pods have to go until a pod fits there.
//!
//! Start with [`Engine::preempt`]; `dry_run` tries one node. Where pods are nominated for the node that are at least
//! as important, the pod has to fit with them there, and without, as it does in kube-scheduler's own dry run.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::dry_run::PreemptionDryRun;
use crate::answer::FaultReport;
use crate::query::PodRef;
use crate::reuse::Store;
use crate::{Engine, Error, Reuse};
use nodesift_cache::metadata::{Ownership, PodRecord};
use nodesift_cache::{OverlayError, Row, Snapshot};

/// How many pods must go for one pod, on some nodes.
#[derive(Debug)]
pub struct Preemption {
    /// The pod that wants to be somewhere.
    pub pod: PodRef,
    /// The nodes, each by itself, in any order.
    pub candidates: Vec<Candidate>,
}

/// A node on which pods could go.
#[derive(Debug)]
pub struct Candidate {
    /// The node's name.
    pub node: String,
    /// UIDs of pods on the node, in the order in which they would go. A UID that the cache does not have on this node takes
    /// part in the count but leaves nothing. So does a static pod: the kubelet would start it again, so that the room it
    /// takes is never there.
    pub victims: Vec<String>,
    /// How many of them go in any case.
    pub start: usize,
}

/// How many pods must go, from one snapshot and one policy.
#[derive(Debug)]
pub struct PreemptionAnswer {
    /// The snapshot that the answer was computed from.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy that it was computed with.
    pub policy_generation: u64,
    /// One per candidate of the query, in its order.
    pub outcomes: Vec<PreemptionOutcome>,
    /// Predicates that failed to answer, and what their failure policy did.
    pub faults: Vec<FaultReport>,
}

/// How many pods must go from one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreemptionOutcome {
    /// The pod fits once `victims[..=index]` are gone, and there is no such index between `start` and this; none where it
    /// does not fit with all of them gone.
    pub index: Option<usize>,
    /// Which of the victims are static pods, which stay, in order.
    pub stay: Vec<usize>,
}

impl Engine {
    /// Answers how many pods must go, from the newest snapshot that shows all that is known of the victims. All predicates
    /// of the allocate phase are asked.
    ///
    /// # Errors
    ///
    /// Where the pod or a node is not in the cache; [`OverlayError::Unsettled`] where the cache knows more of a victim than the
    /// newest snapshot shows: try again after the next publication.
    pub fn preempt(&self, query: &Preemption) -> Result<PreemptionAnswer, Error> {
        self.preempt_on(&self.snapshot(), query)
    }

    /// Answers from a given snapshot, so that a caller can look up nodes in the same one.
    ///
    /// # Errors
    ///
    /// Where the pod or a node is not in the cache, where the snapshot does not show yet what the cache knows of a victim,
    /// or where it shows the cluster as it is not.
    pub fn preempt_on(&self, snapshot: &Arc<Snapshot>, query: &Preemption) -> Result<PreemptionAnswer, Error> {
        if snapshot.overlaid_rows().is_some() {
            return Err(Error::PreemptionWithOverlay);
        }
        let subject = self.subject(&query.pod)?;
        let nodes = query.candidates.iter().map(|candidate| self.node(snapshot, candidate));
        let nodes: Vec<Node> = nodes.collect::<Result<_, Error>>()?;
        let running = self.running.load();
        let try_all = |store: Option<&Store>| {
            let mut dry_run = PreemptionDryRun::new(&running.policy, store, snapshot, subject.clone());
            let fits = nodes.iter().map(|node| dry_run.first_fit(node.row, &node.victims, node.start)).collect();
            (fits, dry_run.into_faults())
        };
        let (indices, faults): (Vec<Option<usize>>, _) = try_all((self.reuse != Reuse::Off).then_some(&running.store));
        if self.reuse == Reuse::Verified {
            let (fresh, fresh_faults) = try_all(None);
            if faults.is_empty() && fresh_faults.is_empty() && indices != fresh {
                let difference = format!("victims that go: {indices:?}, fresh {fresh:?}");
                return Err(self.mismatch(subject.name, difference));
            }
        }
        let outcomes = nodes.into_iter().zip(indices).map(|(node, index)| PreemptionOutcome { index, stay: node.stay });
        let (outcomes, policy_generation) = (outcomes.collect(), running.policy.generation);
        Ok(PreemptionAnswer { snapshot: Arc::clone(snapshot), policy_generation, outcomes, faults })
    }

    /// Looks up what a candidate names.
    fn node(&self, snapshot: &Snapshot, candidate: &Candidate) -> Result<Node, Error> {
        let unknown = || Error::UnknownNode { node: candidate.node.clone() };
        let row = snapshot.node_row(&candidate.node).ok_or_else(unknown)?;
        let (victims, stay) = self.victims(snapshot, candidate)?;
        Ok(Node { row, victims, stay, start: candidate.start })
    }

    /// The victims that leave something when they go, none in the place of each other one; and which of them stay.
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

/// Pods that go, none in the place of each one that leaves nothing, and which ones stay, in order.
type Victims = (Vec<Option<Arc<PodRecord>>>, Vec<usize>);
