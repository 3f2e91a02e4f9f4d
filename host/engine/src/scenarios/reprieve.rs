//! Which victims a preemption on each of several nodes needs, as kube-scheduler's dry run finds them: all victims of the node are
//! removed; where the pod then fits, they are given back one at a time, and each stays with which the pod still fits.
//! Source: `SelectVictimsOnNode` in pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
//!
//! Static pods are victims as any pod, or stay, as the policy says ([`StaticPods`]).
//!
//! Start with [`Engine::reprieve`]; `reprieve_run` evaluates the nodes. Each node is judged alone: victims of other nodes stay.

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::Ownership;
use rustc_hash::FxHashSet;

use super::dry_run::PreemptionDryRun;
use super::reprieve_run::{ReprieveOutcome, Tried};
use crate::answer::FaultReport;
use crate::evaluate::Stop;
use crate::policy::StaticPods;
use crate::query::PodRef;
use crate::reuse::Store;
use crate::subject::Subject;
use crate::{Engine, Error, Reuse};

/// One pod, and the victims that may be evicted for it.
#[derive(Debug)]
pub struct Reprieve {
    /// The pod that preempts (the preemptor).
    pub pod: PodRef,
    /// Nodes and their victims, in any order; no node twice.
    pub nodes: Vec<NodeVictims>,
    /// When the request ends, as in [`Query::deadline`](crate::Query::deadline).
    pub deadline: Option<Instant>,
    /// Names of predicates that are not evaluated, as in [`Query::skip`](crate::Query::skip).
    pub skip: Vec<String>,
    /// Whether nodes fit of which a party has said nothing, as in [`Query::is_negotiated`](crate::Query::is_negotiated).
    pub is_negotiated: bool,
}

/// The victims of a node.
#[derive(Debug, Clone)]
pub struct NodeVictims {
    /// Name of the node.
    pub node: String,
    /// UIDs of pods on the node, in the order in which they are given back; none twice.
    pub victims: Vec<String>,
}

/// The answer, from one snapshot and one policy.
#[derive(Debug)]
pub struct ReprieveAnswer {
    /// The snapshot that the answer was computed from.
    pub snapshot: Arc<Snapshot>,
    /// The generation of the policy with which it was computed.
    pub policy_generation: u64,
    /// One entry per node of the query, in its order.
    pub outcomes: Vec<Result<ReprieveOutcome, ReprieveError>>,
    /// Predicates whose call failed, and the effect of their failure policy.
    pub faults: Vec<FaultReport>,
}

/// Why there is no answer about a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReprieveError {
    /// The snapshot does not have the node.
    #[error("there is no node {node:?}")]
    UnknownNode {
        /// Name of the node in the query.
        node: String,
    },
    /// A victim does not count on the node.
    #[error("there is no pod with the UID {victim:?} on node {node:?}")]
    UnknownVictim {
        /// The name of the node.
        node: String,
        /// The UID of the victim.
        victim: String,
    },
}

impl Engine {
    /// Answers from a snapshot, with all predicates of the allocate phase. Unlike [`Self::preempt`], it finds out which victims may stay,
    /// whatever their order. Static pods that stay, as the policy may want it, are among the victims that are kept.
    ///
    /// # Errors
    ///
    /// As for [`Self::preempt`], except that a node or victim that is not there is the outcome of that node.
    pub fn reprieve(&self, query: &Reprieve, snapshot: &Arc<Snapshot>) -> Result<ReprieveAnswer, Error> {
        if snapshot.overlaid_rows().is_some() {
            return Err(Error::PreemptionWithOverlay);
        }
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) {
            return Err(Error::OlderThanPolicy);
        }
        running.policy.check_names(&query.skip)?;
        let subject = self.subject(&query.pod, &running.policy)?;
        let subject = Subject { is_negotiated: query.is_negotiated, ..subject };
        let static_pods = running.policy.settings.static_pods;
        let nodes = query.nodes.iter().map(|node| self.asked_node(snapshot, node, static_pods));
        let nodes: Vec<Result<AskedNode, ReprieveError>> = nodes.collect::<Result<_, Error>>()?;
        let run = |store: Option<&Store>| {
            let mut tried: Vec<Tried> = nodes.iter().flatten().map(|node| node.tried.clone()).collect();
            let mut dry_run =
                PreemptionDryRun::new(&running.policy, store, snapshot, subject.clone(), &query.skip, query.deadline);
            let outcomes = dry_run.reprieve(&mut tried).map_err(|stop| match stop {
                Stop::Deadline | Stop::NominatedRows => Error::DeadlineExceeded,
            })?;
            Ok::<_, Error>((outcomes, dry_run.into_faults()))
        };
        let (found, faults) = run((self.reuse != Reuse::Off).then_some(&running.store))?;
        if self.reuse == Reuse::Verified {
            let (fresh, fresh_faults) = run(None)?;
            if faults.is_empty() && fresh_faults.is_empty() && found != fresh {
                let difference = format!("victims: cached {found:?}, fresh {fresh:?}");
                return Err(self.mismatch(subject.name, difference));
            }
        }
        let mut found = found.into_iter();
        let unanswered = || ReprieveError::UnknownNode { node: String::new() };
        let outcomes = nodes.into_iter().map(|node| -> Result<ReprieveOutcome, ReprieveError> {
            let node = node?;
            Ok(node.outcome(found.next().ok_or_else(unanswered)?))
        });
        let outcomes = outcomes.collect();
        let (snapshot, policy_generation) = (Arc::clone(snapshot), running.policy.generation);
        Ok(ReprieveAnswer { snapshot, policy_generation, outcomes, faults })
    }

    /// Looks up a node and its victims.
    fn asked_node(
        &self,
        snapshot: &Snapshot,
        asked: &NodeVictims,
        static_pods: StaticPods,
    ) -> Result<Result<AskedNode, ReprieveError>, Error> {
        let node = || asked.node.clone();
        let Some(row) = snapshot.node_row(&asked.node) else {
            return Ok(Err(ReprieveError::UnknownNode { node: node() }));
        };
        let (mut victims, mut places, mut stay) = (Vec::with_capacity(asked.victims.len()), Vec::new(), Vec::new());
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        for (place, uid) in asked.victims.iter().enumerate() {
            let victim = snapshot.counted(self.cache.pods(), uid)?;
            let is_here = |pod: &Arc<_>| is_on(pod, &asked.node) && seen.insert(uid);
            match victim.filter(is_here) {
                Some(victim) if static_pods == StaticPods::Never && victim.ownership == Ownership::ForeignStatic => {
                    stay.push(place);
                }
                Some(victim) => {
                    victims.push(victim);
                    places.push(place);
                }
                None => return Ok(Err(ReprieveError::UnknownVictim { node: node(), victim: uid.clone() })),
            }
        }
        Ok(Ok(AskedNode { tried: Tried::new(row, victims), places, stay }))
    }
}

/// A node with its victims, looked up.
struct AskedNode {
    /// The node with those victims that may go.
    tried: Tried,
    /// Place in the query of each of these victims, ascending.
    places: Vec<usize>,
    /// Places of the victims that stay whatever becomes of the others, ascending.
    stay: Vec<usize>,
}

impl AskedNode {
    /// The outcome about all victims of the query, from that about the victims that may go.
    fn outcome(&self, found: ReprieveOutcome) -> ReprieveOutcome {
        match found {
            ReprieveOutcome::Fits { kept } => {
                let kept = kept.into_iter().filter_map(|index| self.places.get(index).copied());
                let mut kept: Vec<usize> = kept.chain(self.stay.iter().copied()).collect();
                kept.sort_unstable();
                ReprieveOutcome::Fits { kept }
            }
            rejected @ ReprieveOutcome::Rejected { .. } => rejected,
        }
    }
}

fn is_on(pod: &nodesift_cache::metadata::PodRecord, node: &str) -> bool {
    pod.node_name.as_deref() == Some(node)
}
