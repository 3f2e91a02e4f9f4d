//! Decisions on their way into the record: each with the pod and the node that the state machine does not know, written in the order of the
//! pod. Start at [`Decided`], which the broker has, and [`Decisions`], which writes.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use nodesift_cache::metadata::PodRecord;
use nodesift_negotiation::{CallId, Held, Stage};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::limits::{
    RECORD_CLAIM_TRIES, RECORD_CLAIMS, RECORD_LOAD_TIME, RECORD_RETRY_FIRST, RECORD_RETRY_MOST, RECORD_TIME,
    RECORD_UNHEARD, RECORD_WRITES,
};
use crate::record::{DecidedParty, DecidedPod, Decision, DecisionState, Record, RecordError, Recorded, Written};

/// Pods about which something is decided, with their nodes.
#[derive(Debug, Default)]
pub(crate) struct Decided(BTreeMap<Arc<str>, (DecidedPod, Arc<str>)>);

impl Decided {
    /// A pod is about to be assumed on a node. Returns the decision to record before, if it is a new one.
    pub(crate) fn assume(
        &mut self,
        record: &PodRecord,
        node: &Arc<str>,
        decision: Option<nodesift_negotiation::Decision>,
    ) -> Option<Decision> {
        if let Some((_, on)) = self.0.get_mut(&record.uid) {
            *on = Arc::clone(node);
        }
        let decision = decision?;
        self.0.entry(Arc::clone(&record.uid)).or_insert_with(|| {
            let [namespace, name, uid] = [&record.namespace, &record.name, &record.uid].map(Arc::clone);
            (DecidedPod { namespace, name, uid }, Arc::clone(node))
        });
        self.decide(&decision)
    }

    /// A decision has changed. Returns it as it is to be recorded; `None` for a pod that was never assumed.
    pub(crate) fn decide(&mut self, decision: &nodesift_negotiation::Decision) -> Option<Decision> {
        let (pod, node) = self.0.get(&decision.pod)?.clone();
        if decision.held.is_empty() {
            self.0.remove(&decision.pod);
        }
        let party = |held: &Held| DecidedParty {
            party: Arc::clone(&held.party),
            call: held.call.0,
            claims: held.claims.clone(),
            gives_back: held.gives_back,
        };
        let state = match decision.stage {
            Stage::Allocating => DecisionState::Allocating,
            Stage::Allocated => DecisionState::Allocated,
            Stage::Bound => DecisionState::Bound,
            Stage::Deallocating => DecisionState::Deallocating,
        };
        Some(Decision { pod, state, node, parties: decision.held.iter().map(party).collect() })
    }

    /// Goes on from a recorded decision, as the state machine takes it. `is_bound` says whether the pod is bound by now.
    pub(crate) fn restore(&mut self, recorded: Decision, is_bound: bool) -> nodesift_negotiation::Decision {
        let Decision { pod, state, node, parties } = recorded;
        let stage = match state {
            DecisionState::Bound => Stage::Bound,
            // A core may bind although it is not written that all have allocated, where the record refuses that.
            DecisionState::Allocating | DecisionState::Allocated if is_bound => Stage::Bound,
            DecisionState::Allocating | DecisionState::Allocated | DecisionState::Deallocating => Stage::Deallocating,
        };
        let held = parties.into_iter().map(|it| Held {
            party: it.party,
            call: CallId(it.call),
            claims: it.claims,
            gives_back: it.gives_back,
        });
        let decision = nodesift_negotiation::Decision { pod: Arc::clone(&pod.uid), stage, held: held.collect() };
        self.0.insert(Arc::clone(&pod.uid), (pod, node));
        decision
    }
}

/// Writes decisions. Clones share what is known of the record.
#[derive(Debug, Clone)]
pub(crate) struct Decisions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    record: Arc<dyn Record>,
    /// The decisions that this process has written or read last, by UID of the pod.
    known: Mutex<FxHashMap<Arc<str>, Recorded>>,
    /// UIDs of pods of which the first write may have been done without this process hearing of it.
    unheard: Mutex<FxHashSet<Arc<str>>>,
    /// Pods wait for claims, and nobody for other writes.
    claims: Semaphore,
    writes: Semaphore,
}

/// Outcome of one write of a decision.
#[derive(Debug)]
enum Outcome {
    /// It is recorded, or need not be.
    Done,
    /// Another sidecar has written the same decision before. What stands is known now, and the next try replaces it.
    Again,
    /// This decision has come further elsewhere, or is over there; `taken`: something is given back that this one holds.
    Further { taken: bool },
    /// Another sidecar's decision about the pod stands.
    Other(Box<Recorded>),
}

impl Decisions {
    pub(crate) fn new(record: Arc<dyn Record>) -> Self {
        let (known, unheard) = Default::default();
        let (claims, writes) = (Semaphore::new(RECORD_CLAIMS), Semaphore::new(RECORD_WRITES));
        Self(Arc::new(Shared { record, known, unheard, claims, writes }))
    }

    /// Reads all decisions, again and again until that succeeds; meanwhile `unread` has why the last try failed.
    pub(crate) async fn load(&self, unread: &watch::Sender<Option<String>>) -> Vec<Decision> {
        let mut pause = RECORD_RETRY_FIRST;
        loop {
            match in_time(RECORD_LOAD_TIME, self.0.record.load()).await {
                Ok(recorded) => {
                    let mut known = self.0.known.lock();
                    let note = |recorded: Recorded| {
                        let decision = recorded.decision.clone();
                        known.insert(Arc::clone(&decision.pod.uid), recorded);
                        decision
                    };
                    return recorded.into_iter().map(note).collect();
                }
                Err(error) => {
                    tracing::error!(%error, "decisions are not read: nothing is negotiated before");
                    let (RecordError::Unavailable(reason) | RecordError::Refused(reason)) = error;
                    unread.send_replace(Some(format!("the record of decisions: {reason}")));
                }
            }
            sleep(pause).await;
            pause = (2 * pause).min(RECORD_RETRY_MOST);
        }
    }

    /// Reads the decisions of sidecars that are not there any more, but for those that this process goes on from already. Where that fails,
    /// the next look may find them.
    pub(crate) async fn load_left(&self) -> Vec<Decision> {
        let recorded = match in_time(RECORD_LOAD_TIME, self.0.record.load_left()).await {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::warn!(%error, "decisions that other sidecars have left are not read");
                return Vec::new();
            }
        };
        let mut known = self.0.known.lock();
        let mut left = Vec::new();
        for recorded in recorded {
            if let Entry::Vacant(entry) = known.entry(Arc::clone(&recorded.decision.pod.uid)) {
                left.push(recorded.decision.clone());
                entry.insert(recorded);
            }
        }
        left
    }

    /// Writes a decision that has to be the first of all sidecars, or the next of this one, before parties allocate.
    ///
    /// # Errors
    ///
    /// The reason for people, where another was first, or nobody knows within [`RECORD_TIME`].
    pub(crate) async fn claim(&self, decision: &Decision) -> Result<(), Arc<str>> {
        let claimed = in_time(RECORD_TIME, async {
            for _ in 0..RECORD_CLAIM_TRIES {
                match self.write_once(decision, &self.0.claims).await? {
                    Outcome::Done => return Ok(None),
                    Outcome::Other(other) => return Ok(Some(other)),
                    Outcome::Again => {}
                    Outcome::Further { .. } => break,
                }
            }
            Err(RecordError::Unavailable("another sidecar goes on writing the decision".to_owned()))
        });
        match claimed.await {
            Ok(None) => Ok(()),
            Ok(Some(other)) => {
                Err(format!("another sidecar has decided on node {} for the pod", other.decision.node).into())
            }
            Err(error) => Err(error.to_string().into()),
        }
    }

    /// Writes what has become of a decision, again and again until that succeeds or another sidecar has written over it. Returns whether
    /// what the decision holds is given back elsewhere.
    pub(crate) async fn write(&self, decision: &Decision) -> bool {
        let (mut pause, mut is_refused) = (RECORD_RETRY_FIRST, false);
        loop {
            let (namespace, pod) = (&*decision.pod.namespace, &*decision.pod.name);
            match self.write_once(decision, &self.0.writes).await {
                Ok(Outcome::Done) => return false,
                Ok(Outcome::Again) => {}
                Ok(Outcome::Further { taken }) => return taken,
                Ok(Outcome::Other(other)) => {
                    let state = other.decision.state;
                    tracing::warn!(namespace, pod, ?state, "another sidecar decides about the pod");
                    return is_taken(decision, Some(&other.decision));
                }
                Err(RecordError::Refused(reason)) => {
                    if !std::mem::replace(&mut is_refused, true) {
                        tracing::error!(namespace, pod, reason, "what is decided about the pod is not recorded");
                    }
                    // Nobody would ever write again what is held until the pod ends, or remove what is over.
                    if !is_settled(decision) {
                        return false;
                    }
                    pause = RECORD_RETRY_MOST;
                }
                Err(error) => tracing::warn!(%error, "a decision is written again"),
            }
            sleep(pause).await;
            pause = (2 * pause).min(RECORD_RETRY_MOST);
        }
    }

    /// Writes or removes a decision once, with one of these permits.
    async fn write_once(&self, decision: &Decision, permits: &Semaphore) -> Result<Outcome, RecordError> {
        let uid = &decision.pod.uid;
        let known = self.0.known.lock().get(uid).cloned();
        match &known {
            // A process that begins decides most of what it has read.
            Some(known) if known.decision == *decision => return Ok(Outcome::Done),
            // It does not become this process's again.
            Some(known) if gives_back(&known.decision, decision) => return Ok(Outcome::Further { taken: true }),
            // What is given back elsewhere is not recorded anew.
            None if is_settled(decision) && !self.0.unheard.lock().contains(uid) => return Ok(Outcome::Done),
            _ => {}
        }
        let Ok(_permit) = permits.acquire().await else {
            return Err(RecordError::Unavailable("the process ends".to_owned()));
        };
        let seen = known.as_ref().map(|known| &known.revision);
        let written = if decision.parties.is_empty() {
            in_time(RECORD_TIME, self.0.record.remove(&decision.pod, seen)).await
        } else {
            // Before the write: whoever waits for it may give up meanwhile.
            let is_first = seen.is_none() && self.note_unheard(uid);
            let written = in_time(RECORD_TIME, self.0.record.decide(decision, seen)).await;
            if is_first && matches!(written, Err(RecordError::Refused(_))) {
                self.0.unheard.lock().remove(uid);
            }
            written
        };
        let written = written?;
        self.0.unheard.lock().remove(uid);
        let mut all = self.0.known.lock();
        match written {
            Written::Yes(revision) if !decision.parties.is_empty() => {
                all.insert(Arc::clone(uid), Recorded { decision: decision.clone(), revision });
                Ok(Outcome::Done)
            }
            Written::Yes(_) => {
                all.remove(uid);
                Ok(Outcome::Done)
            }
            // Another sidecar goes on from the same decision: each writes what it knows, and whoever hears that all is given back removes it.
            Written::Lost(Some(other)) if is_same(known.as_ref(), decision, &other.decision) => {
                let stands = &other.decision;
                // To claim is to begin anew, with calls that what stands does not have.
                let is_further = decision.state != DecisionState::Allocating && rank(decision) < rank(stands);
                let taken = is_taken(decision, Some(stands));
                all.insert(Arc::clone(uid), *other);
                Ok(if taken || is_further { Outcome::Further { taken } } else { Outcome::Again })
            }
            // It is not this process's any more, unless it has been found to be left meanwhile.
            Written::Lost(other) => {
                let now = all.get(uid).map(|now| &now.revision);
                if now == seen {
                    all.remove(uid);
                }
                Ok(match other {
                    Some(other) => Outcome::Other(other),
                    None if decision.state == DecisionState::Allocating && !decision.parties.is_empty() => {
                        Outcome::Again
                    }
                    None => Outcome::Further { taken: is_taken(decision, None) },
                })
            }
        }
    }

    /// Notes that a first write for a pod may be done without being heard of. Returns whether that is new.
    fn note_unheard(&self, uid: &Arc<str>) -> bool {
        let mut unheard = self.0.unheard.lock();
        unheard.len() < RECORD_UNHEARD && unheard.insert(Arc::clone(uid))
    }
}

/// Whether another decision is about nothing but calls that this process knows.
fn is_same(known: Option<&Recorded>, decision: &Decision, other: &Decision) -> bool {
    let has = |decision: &Decision, call: u64| decision.parties.iter().any(|party| party.call == call);
    let is_known = |call: u64| known.is_some_and(|known| has(&known.decision, call)) || has(decision, call);
    other.parties.iter().all(|party| is_known(party.call))
}

/// Whether a decision that stands gives back a call that another one holds.
fn gives_back(stands: &Decision, decision: &Decision) -> bool {
    let is_given_back = |call: u64| stands.parties.iter().any(|party| party.call == call && party.gives_back);
    decision.parties.iter().any(|own| !own.gives_back && is_given_back(own.call))
}

/// Whether something is given back elsewhere that a decision holds, by what stands in its place. What has been given back is not there any
/// more, but neither is what is about to be allocated.
fn is_taken(decision: &Decision, stands: Option<&Decision>) -> bool {
    let is_there = |call: u64| stands.is_some_and(|stands| stands.parties.iter().any(|party| party.call == call));
    let is_new = decision.state == DecisionState::Allocating;
    stands.is_some_and(|stands| gives_back(stands, decision))
        || !is_new && decision.parties.iter().any(|own| !own.gives_back && !is_there(own.call))
}

/// Whether a decision is held until its pod ends, given back, or over: nothing is allocated by it any more.
fn is_settled(decision: &Decision) -> bool {
    decision.parties.is_empty() || matches!(decision.state, DecisionState::Bound | DecisionState::Deallocating)
}

/// How far a decision has come: none goes back to an earlier one of the same calls.
fn rank(decision: &Decision) -> u8 {
    match decision.state {
        _ if decision.parties.is_empty() => 4,
        DecisionState::Allocating => 0,
        DecisionState::Allocated => 1,
        DecisionState::Bound => 2,
        DecisionState::Deallocating => 3,
    }
}

/// Calls of the record within a time.
async fn in_time<T>(limit: Duration, call: impl Future<Output = Result<T, RecordError>>) -> Result<T, RecordError> {
    let late = || RecordError::Unavailable(format!("no answer within {limit:?}"));
    timeout(limit, call).await.unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests;
