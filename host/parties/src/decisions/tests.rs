//! Decisions of several sidecars in one record, and records that have troubles.
#![allow(clippy::unwrap_used)]

use futures_util::future::BoxFuture;

use super::*;
use crate::record::{NoRecord, Revision};

fn unread() -> watch::Sender<Option<String>> {
    watch::channel(None).0
}

fn decision(state: DecisionState, calls: &[u64]) -> Decision {
    let pod = DecidedPod { namespace: "ns".into(), name: "p".into(), uid: "u".into() };
    let party = |call: &u64| DecidedParty {
        party: "licences".into(),
        call: *call,
        claims: Vec::new(),
        gives_back: state == DecisionState::Deallocating,
    };
    Decision { pod, state, node: "n".into(), parties: calls.iter().map(party).collect() }
}

#[tokio::test]
async fn of_two_sidecars_that_decide_one_wins_and_the_other_may_once_it_is_over() {
    let record: Arc<dyn Record> = Arc::new(NoRecord::default());
    let (one, two) = (Decisions::new(Arc::clone(&record)), Decisions::new(Arc::clone(&record)));
    one.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap();
    let refused = two.claim(&decision(DecisionState::Allocating, &[2])).await.unwrap_err();
    assert!(refused.contains("node n"), "{refused}");
    one.write(&decision(DecisionState::Bound, &[1])).await;
    // What it did not decide it does not remove either.
    two.write(&decision(DecisionState::Deallocating, &[])).await;
    let recorded = record.load().await.unwrap();
    assert_eq!(recorded.first().unwrap().decision, decision(DecisionState::Bound, &[1]));
    one.write(&decision(DecisionState::Deallocating, &[1])).await;
    one.write(&decision(DecisionState::Deallocating, &[])).await;
    assert!(record.load().await.unwrap().is_empty());
    two.claim(&decision(DecisionState::Allocating, &[2])).await.unwrap();
}

/// A record in memory whose writers have all gone.
#[derive(Debug, Default)]
struct Left(NoRecord);

impl Record for Left {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        self.0.load()
    }

    fn load_left(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        self.0.load()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        self.0.decide(decision, seen)
    }

    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        self.0.remove(pod, seen)
    }
}

#[tokio::test]
async fn what_a_sidecar_has_left_is_found_once_and_ended() {
    let record: Arc<dyn Record> = Arc::new(Left::default());
    let before = Decisions::new(Arc::clone(&record));
    before.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap();
    assert!(before.load_left().await.is_empty(), "it is its own");
    let after = Decisions::new(Arc::clone(&record));
    after.claim(&decision(DecisionState::Allocating, &[2])).await.unwrap_err();
    assert_eq!(after.load_left().await, [decision(DecisionState::Allocating, &[1])]);
    assert!(after.load_left().await.is_empty(), "it goes on from it already");
    after.write(&decision(DecisionState::Deallocating, &[1])).await;
    after.write(&decision(DecisionState::Deallocating, &[])).await;
    after.claim(&decision(DecisionState::Allocating, &[2])).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_that_go_on_from_one_decision_end_it_together() {
    let record: Arc<dyn Record> = Arc::new(NoRecord::default());
    let before = Decisions::new(Arc::clone(&record));
    before.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap();
    let (one, two) = (Decisions::new(Arc::clone(&record)), Decisions::new(Arc::clone(&record)));
    for sidecar in [&one, &two] {
        assert_eq!(sidecar.load(&unread()).await.len(), 1);
    }
    for sidecar in [&one, &two] {
        sidecar.write(&decision(DecisionState::Bound, &[1])).await;
    }
    one.write(&decision(DecisionState::Deallocating, &[1])).await;
    two.write(&decision(DecisionState::Bound, &[1])).await;
    let stands = record.load().await.unwrap();
    assert_eq!(stands.first().unwrap().decision.state, DecisionState::Deallocating, "it does not go back");
    one.write(&decision(DecisionState::Deallocating, &[])).await;
    // What is given back by then is not recorded anew.
    two.write(&decision(DecisionState::Deallocating, &[1])).await;
    two.write(&decision(DecisionState::Deallocating, &[])).await;
    assert!(record.load().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claim_over_what_another_sidecar_has_written_meanwhile_is_written() {
    let record: Arc<dyn Record> = Arc::new(NoRecord::default());
    Decisions::new(Arc::clone(&record)).claim(&decision(DecisionState::Allocating, &[1, 2])).await.unwrap();
    let (one, two) = (Decisions::new(Arc::clone(&record)), Decisions::new(Arc::clone(&record)));
    for sidecar in [&one, &two] {
        sidecar.load(&unread()).await;
    }
    assert!(!one.write(&decision(DecisionState::Deallocating, &[1, 2])).await);
    let mut claimed = decision(DecisionState::Allocating, &[1, 2, 3]);
    claimed.parties.iter_mut().take(2).for_each(|party| party.gives_back = true);
    two.claim(&claimed).await.unwrap();
    assert_eq!(record.load().await.unwrap().first().unwrap().decision, claimed);
}

#[tokio::test(start_paused = true)]
async fn what_another_sidecar_gives_back_is_taken_and_is_not_written_over() {
    for state in [DecisionState::Allocating, DecisionState::Allocated, DecisionState::Bound] {
        for is_removed in [false, true] {
            let record: Arc<dyn Record> = Arc::new(NoRecord::default());
            let (one, two) = (Decisions::new(Arc::clone(&record)), Decisions::new(Arc::clone(&record)));
            one.claim(&decision(DecisionState::Allocating, &[1, 2])).await.unwrap();
            two.load(&unread()).await;
            two.write(&decision(DecisionState::Deallocating, &[1])).await;
            if is_removed {
                two.write(&decision(DecisionState::Deallocating, &[])).await;
                if state == DecisionState::Allocating {
                    // Nobody has allocated yet: it is decided anew.
                    continue;
                }
            }
            // In another order, so that it is another one.
            assert!(one.write(&decision(state, &[2, 1])).await, "{state:?}, {is_removed}");
            let stands = record.load().await.unwrap();
            let given_back = decision(DecisionState::Deallocating, &[1]);
            assert_eq!(stands.first().map(|it| &it.decision), (!is_removed).then_some(&given_back), "{state:?}");
            // What it gives back itself nobody takes.
            assert!(!one.write(&decision(DecisionState::Deallocating, &[1, 2])).await);
        }
    }
}

/// Troubles of a record with a write.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// It is done, and nobody hears of it.
    Unheard,
    /// Nothing is done, and nobody hears of it.
    Silent,
    Refused,
}

/// A record in memory that has these troubles first, and whose only writer is the one under test.
#[derive(Debug, Default)]
struct Troubled {
    record: NoRecord,
    troubles: Mutex<Vec<Trouble>>,
    writes: Mutex<usize>,
}

impl Troubled {
    fn new(troubles: impl IntoIterator<Item = Trouble>) -> Arc<Self> {
        Arc::new(Self { troubles: Mutex::new(troubles.into_iter().collect()), ..Self::default() })
    }

    fn begin(&self) -> Option<Trouble> {
        *self.writes.lock() += 1;
        let mut troubles = self.troubles.lock();
        if troubles.is_empty() { None } else { Some(troubles.remove(0)) }
    }

    async fn end(trouble: Option<Trouble>, written: Written) -> Result<Written, RecordError> {
        match trouble {
            None => Ok(written),
            Some(Trouble::Refused) => Err(RecordError::Refused("forbidden".to_owned())),
            Some(Trouble::Unheard | Trouble::Silent) => std::future::pending().await,
        }
    }
}

impl Record for Troubled {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        self.record.load()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        Box::pin(async move {
            let trouble = self.begin();
            let written = match trouble {
                None | Some(Trouble::Unheard) => self.record.decide(decision, seen).await?,
                Some(Trouble::Silent | Trouble::Refused) => Written::Lost(None),
            };
            Self::end(trouble, written).await
        })
    }

    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        Box::pin(async move {
            let trouble = self.begin();
            let stands = self.record.load().await?.into_iter().next().map(|stands| stands.revision);
            let written = match trouble {
                None | Some(Trouble::Unheard) => self.record.remove(pod, seen.or(stands.as_ref())).await?,
                Some(Trouble::Silent | Trouble::Refused) => Written::Lost(None),
            };
            Self::end(trouble, written).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_written_without_being_heard_of_is_removed() {
    let record = Troubled::new([Trouble::Unheard, Trouble::Unheard]);
    let decisions = Decisions::new(Arc::<Troubled>::clone(&record));
    decisions.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap_err();
    assert_eq!(record.load().await.unwrap().len(), 1);
    decisions.write(&decision(DecisionState::Deallocating, &[])).await;
    assert!(record.load().await.unwrap().is_empty());
    // Nothing is left to remove.
    let before = *record.writes.lock();
    decisions.write(&decision(DecisionState::Deallocating, &[])).await;
    assert_eq!(*record.writes.lock(), before);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_loses_no_removal_and_what_was_never_recorded_is_not_removed() {
    let record = Troubled::new([]);
    let decisions = Decisions::new(Arc::<Troubled>::clone(&record));
    decisions.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap();
    for state in [DecisionState::Bound, DecisionState::Deallocating] {
        record.troubles.lock().push(Trouble::Refused);
        decisions.write(&decision(state, &[1])).await;
        assert_eq!(record.load().await.unwrap().first().unwrap().decision.state, state);
    }
    record.troubles.lock().extend([Trouble::Refused, Trouble::Refused]);
    decisions.write(&decision(DecisionState::Deallocating, &[])).await;
    assert!(record.load().await.unwrap().is_empty());
    // A claim that is refused leaves nothing.
    record.troubles.lock().push(Trouble::Refused);
    decisions.claim(&decision(DecisionState::Allocating, &[2])).await.unwrap_err();
    let before = *record.writes.lock();
    decisions.write(&decision(DecisionState::Deallocating, &[])).await;
    assert_eq!(*record.writes.lock(), before);
}

/// A record in memory that takes its time to read all.
#[derive(Debug, Default)]
struct Slow(NoRecord);

impl Record for Slow {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        Box::pin(async move {
            sleep(RECORD_LOAD_TIME - RECORD_TIME).await;
            self.0.load().await
        })
    }

    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        self.0.decide(decision, seen)
    }

    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        self.0.remove(pod, seen)
    }
}

#[tokio::test(start_paused = true)]
async fn all_decisions_may_take_longer_to_read_than_one_to_write() {
    let record = Arc::new(Slow::default());
    record.decide(&decision(DecisionState::Bound, &[1]), None).await.unwrap();
    let decisions = Decisions::new(record);
    let loaded = timeout(RECORD_LOAD_TIME, decisions.load(&unread())).await.unwrap();
    assert_eq!(loaded, [decision(DecisionState::Bound, &[1])]);
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_already_is_not_written_and_claims_wait_for_no_other_write() {
    let record = Troubled::new([]);
    let decisions = Decisions::new(Arc::<Troubled>::clone(&record));
    decisions.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap();
    let bound = decision(DecisionState::Bound, &[1]);
    decisions.write(&bound).await;
    let before = *record.writes.lock();
    decisions.write(&bound).await;
    let after = Decisions::new(Arc::<Troubled>::clone(&record));
    after.load(&unread()).await;
    after.write(&bound).await;
    assert_eq!(*record.writes.lock(), before);

    // All permits of other writes are taken by some that nobody answers.
    record.troubles.lock().extend([Trouble::Silent; RECORD_WRITES]);
    let pod = |number: usize, state| {
        let mut decision = decision(state, &[2]);
        decision.pod.uid = format!("other-{number}").into();
        decision
    };
    let writing: Vec<_> = (0..RECORD_WRITES)
        .map(|number| {
            let (decisions, decision) = (decisions.clone(), pod(number, DecisionState::Allocated));
            tokio::spawn(async move { decisions.write(&decision).await })
        })
        .collect();
    while !record.troubles.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    decisions.claim(&pod(RECORD_WRITES, DecisionState::Allocating)).await.unwrap();
    writing.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_process_that_begins_goes_on_from_what_is_recorded() {
    // With or without the write that follows the end of the allocation.
    for (is_written, is_bound, expected) in [
        (true, true, Stage::Bound),
        (false, true, Stage::Bound),
        (true, false, Stage::Deallocating),
        (false, false, Stage::Deallocating),
    ] {
        let record: Arc<dyn Record> = Arc::new(NoRecord::default());
        let before = Decisions::new(Arc::clone(&record));
        before.claim(&decision(DecisionState::Allocating, &[1])).await.unwrap();
        if is_written {
            before.write(&decision(DecisionState::Allocated, &[1])).await;
        }
        let after = Decisions::new(Arc::clone(&record));
        let mut decided = Decided::default();
        let [recorded]: [Decision; 1] = after.load(&unread()).await.try_into().unwrap();
        let restored = decided.restore(recorded, is_bound);
        assert_eq!((restored.stage, restored.held.len()), (expected, 1));
        // It has the version, so that it can write.
        let next = decided.decide(&restored).unwrap();
        after.claim(&next).await.unwrap();
    }
}
