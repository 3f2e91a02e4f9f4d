//! The record of decisions: what outlives the process of a negotiation, and is the same for every sidecar and scheduler of a cluster.
//!
//! Start at [`Record`]. The broker writes a [`Decision`] before it tells a party to allocate, at each change after that, and removes it once
//! every party has given back what it had. The exchange itself, rounds and answers, is in no record. [`NoRecord`] keeps decisions in memory:
//! for clusters in files, and where nothing may be written.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// The pod of a decision. A pod that is made anew under the same name has another UID, and is another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DecidedPod {
    /// `metadata.namespace` of the pod.
    pub namespace: Arc<str>,
    /// `metadata.name` of the pod.
    pub name: Arc<str>,
    /// `metadata.uid` of the pod.
    pub uid: Arc<str>,
}

/// How far a decision has been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionState {
    /// Parties may allocate. Written before the first of them is told to.
    Allocating,
    /// All parties have allocated, and the pod may be bound.
    Allocated,
    /// The pod is bound, and its parties hold what they have allocated until it ends.
    Bound,
    /// All parties give back what they hold. The record goes once none is left.
    Deallocating,
}

/// Allocation of one party for a pod, as far as it may hold one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedParty {
    /// Name of the party in the policy.
    pub party: Arc<str>,
    /// Id of its `Allocate`, which `Bound` and `Deallocate` repeat.
    pub call: u64,
    /// `metadata.uid` of the claims; none for a party that decides about pods.
    pub claims: Vec<Arc<str>>,
    /// Whether the party has been told to give it back, and has not confirmed that. A pod that was given up and is selected again may have
    /// both kinds of the same party.
    pub gives_back: bool,
}

/// The decision about one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Pod that is decided about.
    pub pod: DecidedPod,
    /// How far it has been carried out.
    pub state: DecisionState,
    /// `metadata.name` of the node on which the pod is assumed, or to which it is bound.
    pub node: Arc<str>,
    /// Allocations that parties hold, or may, by their calls; what they have confirmed to have given back is not there any more.
    pub parties: Vec<DecidedParty>,
}

/// Version of a recorded decision, such as `metadata.resourceVersion`. It means nothing but to the record that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision(pub Arc<str>);

/// A decision as the record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Decision as it stands.
    pub decision: Decision,
    /// Its version, which the next write of it names.
    pub revision: Revision,
}

/// Outcome of a write that compares before it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It is written, and has this version now. After a removal the version is that of what was removed.
    Yes(Revision),
    /// The record has another version than the write named, which stands: another sidecar was first. `None` where the record has nothing
    /// for the pod any more.
    Lost(Option<Box<Recorded>>),
}

/// Why a record does not do what it is asked to.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The place of the record does not answer, or not in time. A later try may succeed.
    #[error("the record of decisions does not answer: {0}")]
    Unavailable(String),
    /// The record refuses the write, for example for want of a permission. No later try succeeds by itself.
    #[error("the record of decisions refuses: {0}")]
    Refused(String),
}

/// Decisions about pods, of which the first writer wins. Every write has an end within [`RECORD_TIME`](crate::limits::RECORD_TIME), and every
/// read of all within [`RECORD_LOAD_TIME`](crate::limits::RECORD_LOAD_TIME): the broker waits no longer, and takes it for
/// [`RecordError::Unavailable`].
pub trait Record: fmt::Debug + Send + Sync {
    /// Returns the decisions to go on from, once, before the broker negotiates: not those of another sidecar that is there. What is held for
    /// pods that are bound stays so until they end, and everything else is given back.
    ///
    /// # Errors
    ///
    /// [`RecordError`]; the broker tries again, and negotiates nothing before.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>>;

    /// Returns the decisions of sidecars that are not there any more, from time to time: whoever has ended after this one began would leave
    /// them to nobody. None for a record that no other sidecar writes.
    ///
    /// # Errors
    ///
    /// [`RecordError`]; the broker looks again later.
    fn load_left(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    /// Writes the decision about a pod if the record has exactly the version `seen` of it, `None` for nothing.
    ///
    /// # Errors
    ///
    /// [`RecordError`]; whether it is written is unknown after [`RecordError::Unavailable`], and the next call says.
    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>>;

    /// Removes the decision about a pod if the record has exactly the version `seen` of it. What is not there is removed. With `None`, it
    /// removes what this process may have written without hearing of it, and nothing that another has.
    ///
    /// # Errors
    ///
    /// As [`Self::decide`].
    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>>;
}

/// A record in memory, which ends with the process. It holds what the broker holds, and no more: one decision for each pod that is selected,
/// bound or given back.
#[derive(Debug, Default)]
pub struct NoRecord(Mutex<InMemory>);

#[derive(Debug, Default)]
struct InMemory {
    decisions: FxHashMap<Arc<str>, Recorded>,
    writes: u64,
}

impl InMemory {
    fn decide(&mut self, decision: &Decision, seen: Option<&Revision>) -> Written {
        let known = self.decisions.get(&decision.pod.uid);
        if known.map(|known| &known.revision) != seen {
            return Written::Lost(known.cloned().map(Box::new));
        }
        self.writes += 1;
        let revision = Revision(self.writes.to_string().into());
        let recorded = Recorded { decision: decision.clone(), revision: revision.clone() };
        self.decisions.insert(Arc::clone(&decision.pod.uid), recorded);
        Written::Yes(revision)
    }

    fn remove(&mut self, pod: &DecidedPod, seen: Option<&Revision>) -> Written {
        let known = self.decisions.get(&pod.uid);
        // Of every write here the writer hears.
        let Some(seen) = seen else { return Written::Lost(known.cloned().map(Box::new)) };
        match known {
            Some(known) if known.revision != *seen => Written::Lost(Some(Box::new(known.clone()))),
            _ => {
                self.decisions.remove(&pod.uid);
                Written::Yes(seen.clone())
            }
        }
    }
}

impl Record for NoRecord {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        let all = self.0.lock().decisions.values().cloned().collect();
        async move { Ok(all) }.boxed()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        async move { Ok(self.0.lock().decide(decision, seen)) }.boxed()
    }

    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        async move { Ok(self.0.lock().remove(pod, seen)) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    fn decision(uid: &str, state: DecisionState) -> Decision {
        let pod = DecidedPod { namespace: "ns".into(), name: uid.into(), uid: uid.into() };
        let parties = vec![DecidedParty { party: "licences".into(), call: 1, claims: Vec::new(), gives_back: false }];
        Decision { pod, state, node: "n".into(), parties }
    }

    #[tokio::test]
    async fn the_first_of_two_writers_wins_and_the_other_sees_what_it_wrote() {
        let record = NoRecord::default();
        let first = decision("u", DecisionState::Allocating);
        let Written::Yes(one) = record.decide(&first, None).await.unwrap() else { panic!("nobody was there before") };
        let lost = record.decide(&decision("u", DecisionState::Bound), None).await.unwrap();
        let stands = Recorded { decision: first.clone(), revision: one.clone() };
        assert_eq!(lost, Written::Lost(Some(Box::new(stands.clone()))));
        assert_eq!(record.load().await.unwrap(), [stands]);

        let Written::Yes(two) = record.decide(&decision("u", DecisionState::Allocated), Some(&one)).await.unwrap()
        else {
            panic!("it has the version that stands")
        };
        assert!(matches!(record.remove(&first.pod, Some(&one)).await.unwrap(), Written::Lost(Some(_))));
        assert_eq!(record.remove(&first.pod, Some(&two)).await.unwrap(), Written::Yes(two.clone()));
        assert_eq!(record.remove(&first.pod, Some(&two)).await.unwrap(), Written::Yes(two.clone()), "it is gone");
        assert_eq!(record.decide(&first, Some(&two)).await.unwrap(), Written::Lost(None));
        assert!(record.load().await.unwrap().is_empty());
    }
}
