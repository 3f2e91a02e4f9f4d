//! Allocations over a socket: what a core may bind, what is given back, and what a restart leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use nodesift_api::Staleness;
use nodesift_api::access::Caller;
use nodesift_api::parties::{Outbox, Parties as _};
use nodesift_cache::Identity;
use nodesift_cache::metadata::{self, Selection};
use nodesift_negotiation::OnSilence;
use nodesift_proto::v1::negotiation_event::Event;
use nodesift_proto::v1::party_call::Call;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, End};
use serde_json::json;
use tonic::Code;

use crate::record::{
    DecidedParty, DecidedPod, Decision, DecisionState, NoRecord, Record, RecordError, Recorded, Revision, Written,
};

use super::sidecar::{
    Attending, Sidecar, decoded, names, node, party, party_for_claims, pod_object, request, schedulers,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_assumed_while_parties_allocate_and_may_be_bound_once_they_have() {
    let sidecar = Sidecar::start(3, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let agreeing = {
        let mut core = core.clone();
        tokio::spawn(async move { core.agree(request("p0")).await })
    };
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    let (id, nodes) = agreeing.await.unwrap();
    assert_eq!(core.select(id, vec!["elsewhere".to_owned()]).await.err().unwrap().code(), Code::FailedPrecondition);
    let mut events = core.select(id, nodes.clone()).await.unwrap();
    assert_eq!(core.select(id, nodes.clone()).await.err().unwrap().code(), Code::FailedPrecondition);
    assert!(matches!(events.next().await, Event::Selected(selected) if selected.node == node(0)));
    assert_eq!(sidecar.node_of("p0"), Some(node(0)));
    let allocate = a.allocate().await;
    assert_eq!(allocate.nodes, nodes);
    // Only for another node: the pod moves there.
    a.allocated(&allocate, &names([2]));
    assert!(matches!(events.next().await, Event::Allocated(allocated) if allocated.node == node(2)));
    assert!(events.status().await.is_none());
    assert_eq!(sidecar.node_of("p0"), Some(node(2)));
    // The watch shows it bound: there is nothing more to negotiate.
    sidecar.write(|writer| {
        let mut pod = pod_object("p0");
        pod["spec"]["nodeName"] = node(2).into();
        writer.apply(metadata::pod_record(&decoded(&pod), &schedulers()));
    });
    sidecar.until(|overview| overview["negotiations"].as_array().unwrap().is_empty()).await;
    assert_eq!(sidecar.node_of("p0"), Some(node(2)));
    // The party is told so, and once the pod has ended that nothing is needed any more.
    match a.call().await {
        Call::Bound(bound) => {
            assert_eq!((bound.id, &bound.node, &bound.pod.unwrap().name[..]), (allocate.id, &node(2), "p0"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(sidecar.overview().await["usage"]["held"], 1);
    sidecar.write(|writer| writer.remove(&Identity::pod("p0")));
    let deallocate = a.deallocate().await;
    assert_eq!(deallocate.id, allocate.id);
    a.send(Message::Deallocated(v1::PartyDeallocated { id: deallocate.id }));
    sidecar.until(|overview| overview["usage"]["held"] == 0 && overview["usage"]["deallocations"] == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_before_its_pod_is_bound_has_parties_give_back_and_the_policy_gives_the_time() {
    let slow = party("a", OnSilence::Wait).with_deadline(Some(Duration::from_secs(120)));
    let sidecar = Sidecar::start(2, 1, vec![slow]).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let mut events = core.negotiate(request("p0")).await.unwrap();
    match events.next().await {
        Event::Asked(asked) => assert_eq!((asked.parties, asked.allocate_ms), (vec!["a".to_owned()], 120_000)),
        other => panic!("{other:?}"),
    }
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    assert_eq!(events.end().await.end(), End::Viable);
    let mut selected = core.select(events.id, names([1])).await.unwrap();
    assert!(matches!(selected.next().await, Event::Selected(_)));
    let allocate = a.allocate().await;
    sidecar.until(|overview| overview["negotiations"][0]["endsMs"].as_u64() > Some(60_000)).await;
    a.allocated(&allocate, &names([1]));
    assert!(matches!(selected.next().await, Event::Allocated(_)));
    sidecar.write(|writer| writer.remove(&Identity::node(&node(1))));
    assert_eq!(a.deallocate().await.id, allocate.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_core_that_followed_has_selected_is_given_back_once_it_is_lost() {
    let sidecar = Sidecar::start_without_grace(1, 1, vec![party("a", OnSilence::Wait)], Staleness::default()).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let words = core.follow().await;
    let mut events = core.negotiate(request("p0")).await.unwrap();
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    assert_eq!(events.end().await.end(), End::Viable);
    let mut selected = core.select(events.id, names([0])).await.unwrap();
    let allocate = a.allocate().await;
    a.allocated(&allocate, &names([0]));
    while !matches!(selected.next().await, Event::Allocated(_)) {}
    assert_eq!(sidecar.node_of("p0"), Some(node(0)));
    drop((words, core));
    assert_eq!(a.deallocate().await.id, allocate.id);
    sidecar.until(|overview| overview["negotiations"].as_array().unwrap().is_empty()).await;
    sidecar.until(|_| sidecar.node_of("p0").is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_given_back_for_a_lost_core_while_pods_are_not_heard_of() {
    let (silence, looks) = (Arc::new(AtomicU64::new(60)), Arc::new(AtomicU64::new(0)));
    let heard = {
        let (silence, looks) = (Arc::clone(&silence), Arc::clone(&looks));
        move || {
            looks.fetch_add(1, Ordering::SeqCst);
            Some(Duration::from_secs(silence.load(Ordering::SeqCst)))
        }
    };
    let staleness = Staleness::default().with_pods(heard);
    let sidecar = Sidecar::start_without_grace(1, 1, vec![party("a", OnSilence::Wait)], staleness).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let words = core.follow().await;
    let mut events = core.negotiate(request("p0")).await.unwrap();
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    assert_eq!(events.end().await.end(), End::Viable);
    let mut selected = core.select(events.id, names([0])).await.unwrap();
    let allocate = a.allocate().await;
    a.allocated(&allocate, &names([0]));
    while !matches!(selected.next().await, Event::Allocated(_)) {}
    assert_eq!(looks.load(Ordering::SeqCst), 0, "nobody is away");
    drop((words, core));
    // The core is away, and the broker has looked twice since.
    sidecar.until(|_| looks.load(Ordering::SeqCst) > 2).await;
    assert_eq!(sidecar.overview().await["negotiations"].as_array().unwrap().len(), 1);
    assert_eq!(sidecar.node_of("p0"), Some(node(0)));
    silence.store(0, Ordering::SeqCst);
    assert_eq!(a.deallocate().await.id, allocate.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_with_the_same_record_gives_back_what_ended_while_there_was_none() {
    let record: Arc<dyn Record> = Arc::new(NoRecord::default());
    let sidecar = Sidecar::start_with(1, 1, vec![party("a", OnSilence::Wait)], Arc::clone(&record)).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let agreeing = {
        let mut core = core.clone();
        tokio::spawn(async move { core.agree(request("p0")).await })
    };
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    let (id, nodes) = agreeing.await.unwrap();
    let mut events = core.select(id, nodes.clone()).await.unwrap();
    let allocate = a.allocate().await;
    assert_eq!(record.load().await.unwrap().len(), 1, "recorded before a party is told");
    a.allocated(&allocate, &nodes);
    while !matches!(events.next().await, Event::Allocated(_)) {}
    sidecar.write(|writer| {
        let mut pod = pod_object("p0");
        pod["spec"]["nodeName"] = node(0).into();
        writer.apply(metadata::pod_record(&decoded(&pod), &schedulers()));
    });
    while !matches!(a.call().await, Call::Bound(_)) {}
    let state = || async { record.load().await.unwrap().first().map(|recorded| recorded.decision.state) };
    while state().await != Some(DecisionState::Bound) {
        tokio::task::yield_now().await;
    }
    drop((sidecar, core, events, a));

    // The pod is in no cluster any more.
    let sidecar = Sidecar::start_with(1, 0, vec![party("a", OnSilence::Wait)], Arc::clone(&record)).await;
    let mut a = sidecar.party("a").await;
    let deallocate = a.deallocate_after_bound().await;
    assert_eq!(deallocate.id, allocate.id);
    a.send(Message::Deallocated(v1::PartyDeallocated { id: deallocate.id }));
    while state().await.is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_are_not_listed_yet_are_taken_for_no_pods_that_have_ended() {
    let record: Arc<dyn Record> = Arc::new(NoRecord::default());
    let pod = DecidedPod { namespace: "ns".into(), name: "p0".into(), uid: "p0".into() };
    let held = DecidedParty { party: "a".into(), call: 7, claims: Vec::new(), gives_back: false };
    let bound = Decision { pod, state: DecisionState::Bound, node: node(0).into(), parties: vec![held] };
    record.decide(&bound, None).await.unwrap();
    let sidecar = Sidecar::start_with(1, 0, vec![party("a", OnSilence::Wait)], Arc::clone(&record)).await;
    let listing = sidecar.service.readiness().wait_for("the list of pods");
    let core = Caller::ANONYMOUS;
    assert!(sidecar.parties.follow(&core, Outbox::closed()).await.is_err());
    assert!(sidecar.parties.release(&core, v1::ReleaseRequest { id: 1 }).await.is_err());
    drop(sidecar.parties.broker());
    for _ in 0..100 {
        assert_eq!(sidecar.overview().await["usage"]["held"], 0);
    }
    sidecar.write(|writer| {
        let mut pod = pod_object("p0");
        pod["spec"]["nodeName"] = node(0).into();
        writer.apply(metadata::pod_record(&decoded(&pod), &schedulers()));
    });
    drop(listing);
    let mut a = sidecar.party("a").await;
    match a.call().await {
        Call::Bound(told) => assert_eq!(told.id, 7),
        other => panic!("{other:?}"),
    }
    sidecar.until(|overview| overview["usage"]["held"] == 1 && overview["usage"]["deallocations"] == 0).await;
    assert_eq!(record.load().await.unwrap()[0].decision, bound);
}

/// A record in which another sidecar gives back what is about to be recorded as allocated.
#[derive(Debug, Default)]
struct Taken(NoRecord);

impl Record for Taken {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        self.0.load()
    }

    fn decide<'a>(
        &'a self,
        decision: &'a Decision,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        let written = async move {
            if decision.state == DecisionState::Allocated {
                for Recorded { decision: mut other, revision } in self.0.load().await? {
                    other.state = DecisionState::Deallocating;
                    other.parties.iter_mut().for_each(|party| party.gives_back = true);
                    self.0.decide(&other, Some(&revision)).await?;
                }
            }
            self.0.decide(decision, seen).await
        };
        written.boxed()
    }

    fn remove<'a>(
        &'a self,
        pod: &'a DecidedPod,
        seen: Option<&'a Revision>,
    ) -> BoxFuture<'a, Result<Written, RecordError>> {
        self.0.remove(pod, seen)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_is_not_told_to_bind_what_another_sidecar_gives_back() {
    let record: Arc<dyn Record> = Arc::new(Taken::default());
    let sidecar = Sidecar::start_with(1, 1, vec![party("a", OnSilence::Wait)], Arc::clone(&record)).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let agreeing = {
        let mut core = core.clone();
        tokio::spawn(async move { core.agree(request("p0")).await })
    };
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    let (id, nodes) = agreeing.await.unwrap();
    let mut events = core.select(id, nodes.clone()).await.unwrap();
    assert!(matches!(events.next().await, Event::Selected(_)));
    let allocate = a.allocate().await;
    a.allocated(&allocate, &nodes);
    match events.next().await {
        Event::Failed(failed) => assert!(failed.reason.contains("another sidecar"), "{failed:?}"),
        other => panic!("{other:?}"),
    }
    let deallocate = a.deallocate().await;
    assert_eq!(deallocate.id, allocate.id);
    a.send(Message::Deallocated(v1::PartyDeallocated { id: deallocate.id }));
    while !record.load().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

/// A record that nobody may read.
#[derive(Debug)]
struct Unreadable;

impl Record for Unreadable {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Recorded>, RecordError>> {
        async { Err(RecordError::Refused("podnegotiations are not served".to_owned())) }.boxed()
    }

    fn decide<'a>(&'a self, _: &'a Decision, _: Option<&'a Revision>) -> BoxFuture<'a, Result<Written, RecordError>> {
        async { Ok(Written::Lost(None)) }.boxed()
    }

    fn remove<'a>(&'a self, _: &'a DecidedPod, _: Option<&'a Revision>) -> BoxFuture<'a, Result<Written, RecordError>> {
        async { Ok(Written::Lost(None)) }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_calls_while_the_record_cannot_be_read_is_told_so() {
    let sidecar = Sidecar::start_with(1, 1, vec![party("a", OnSilence::Wait)], Arc::new(Unreadable)).await;
    let refused = sidecar.core().await.negotiate(request("p0")).await.err().unwrap();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.message().contains("the record of decisions: podnegotiations are not served"), "{refused}");
    let mut a = Attending::open(sidecar.channel().await).await;
    a.send(Message::Attend(v1::PartyAttend { party: "a".to_owned() }));
    assert_eq!(a.status().await.unwrap().code(), Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_party_cannot_allocate_is_undone_everywhere() {
    let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]).await;
    let (mut a, mut b) = (sidecar.party("a").await, sidecar.party("b").await);
    let mut core = sidecar.core().await;
    let agreeing = {
        let mut core = core.clone();
        tokio::spawn(async move { core.agree(request("p0")).await })
    };
    let (asked_a, asked_b) = (a.ask().await, b.ask().await);
    a.refuse(&asked_a, &[], 0);
    b.refuse(&asked_b, &[], 0);
    let (id, nodes) = agreeing.await.unwrap();
    let mut events = core.select(id, nodes).await.unwrap();
    assert!(matches!(events.next().await, Event::Selected(_)));
    let (call_a, call_b) = (a.allocate().await, b.allocate().await);
    a.allocated(&call_a, &names([0, 1]));
    sidecar.until(|overview| overview["negotiations"][0]["parties"][0]["allocated"] == true).await;
    b.send(Message::Failed(v1::PartyFailed { id: call_b.id, reason: "no licence".to_owned(), ..Default::default() }));
    match events.next().await {
        Event::Failed(failed) => assert_eq!((failed.party.as_str(), failed.reason.as_str()), ("b", "no licence")),
        other => panic!("{other:?}"),
    }
    let deallocate = a.deallocate().await;
    assert_eq!(deallocate.id, call_a.id);
    a.send(Message::Deallocated(v1::PartyDeallocated { id: deallocate.id }));
    sidecar.until(|overview| overview["usage"]["deallocations"] == 0).await;
    let forgotten = sidecar.service.reader().snapshot_when(|_| sidecar.node_of("p0").is_none());
    tokio::time::timeout(super::sidecar::TIME, forgotten).await.unwrap();
}

/// Adds a pod that names a claim of the class `licence`.
fn claim_pods(sidecar: &Sidecar, pods: &[&str]) {
    sidecar.write(|writer| {
        let claim = json!({"metadata": {"name": "seat", "namespace": "ns", "uid": "seat"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "licence"}}]}}});
        writer.apply(metadata::resource_claim(&decoded(&claim)));
        let selection = Selection { pod_claims: true, ..Selection::default() };
        for pod in pods {
            let mut object = pod_object(pod);
            object["spec"]["resourceClaims"] = json!([{"name": "seat", "resourceClaimName": "seat"}]);
            writer.apply(metadata::pod_record_selecting(&decoded(&object), &schedulers(), &selection));
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_pods_for_one_claim_one_allocates_and_the_other_waits_and_sees_what_it_got() {
    let sidecar = Sidecar::start(4, 0, vec![party_for_claims("licence")]).await;
    claim_pods(&sidecar, &["one", "two"]);
    let mut licence = sidecar.party("licence").await;
    let mut core = sidecar.core().await;
    let (mut first, mut second) =
        (core.negotiate(request("one")).await.unwrap(), core.negotiate(request("two")).await.unwrap());
    for _ in 0..2 {
        let ask = licence.ask().await;
        assert_eq!(ask.claims, [v1::Claim { namespace: "ns".into(), name: "seat".into(), uid: "seat".into() }]);
        licence.refuse(&ask, &[], 0);
    }
    assert_eq!(first.end().await.end(), End::Viable);
    assert_eq!(second.end().await.end(), End::Viable);
    let mut winner = core.select(first.id, names([1])).await.unwrap();
    assert!(matches!(winner.next().await, Event::Selected(_)));
    let allocate = licence.allocate().await;
    assert!(sidecar.service.reader().snapshot().claims().is_in_flight("seat"), "no other pod gets it meanwhile");
    let mut loser = core.select(second.id, names([2])).await.unwrap();
    sidecar
        .until(|overview| {
            let all = overview["negotiations"].as_array().unwrap();
            all.iter().any(|it| it["uid"] == "two" && it["phase"] == "waiting" && it["waitsFor"] == "seat")
        })
        .await;
    licence.allocated(&allocate, &names([1]));
    assert!(matches!(winner.next().await, Event::Allocated(_)));
    // Its driver writes the claim: nobody negotiates about it any more, and predicates see where it can be used.
    sidecar.write(|writer| {
        let claim = json!({"metadata": {"name": "seat", "namespace": "ns", "uid": "seat"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "licence"}}]}},
            "status": {"allocation": {"devices": {"results": []}}, "reservedFor": [{"uid": "one", "name": "one"}]}});
        writer.apply(metadata::resource_claim(&decoded(&claim)));
    });
    let decided = loser.next().await;
    assert!(
        matches!(&decided, Event::Selected(selected) if selected.node == node(2)) || matches!(decided, Event::Asked(_))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_in_any_state_cores_negotiate_again() {
    for state in ["asking", "agreed", "allocating", "allocated"] {
        let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait)]).await;
        let mut a = sidecar.party("a").await;
        let mut core = sidecar.core().await;
        let mut events = core.negotiate(request("p0")).await.unwrap();
        let ask = a.ask().await;
        let mut selected = None;
        if state != "asking" {
            a.refuse(&ask, &[], 0);
            assert_eq!(events.end().await.end(), End::Viable);
        } else {
            assert!(matches!(events.next().await, Event::Asked(_)));
        }
        if state.starts_with("alloc") {
            let mut stream = core.select(events.id, names([0])).await.unwrap();
            assert!(matches!(stream.next().await, Event::Selected(_)));
            let allocate = a.allocate().await;
            if state == "allocated" {
                a.allocated(&allocate, &names([0]));
                assert!(matches!(stream.next().await, Event::Allocated(_)));
            }
            selected = Some(stream);
        }
        sidecar.until(|overview| overview["negotiations"][0]["phase"] == state).await;
        let old = events.id;
        let sidecar = sidecar.restart(2, 1, vec![party("a", OnSilence::Wait)]).await;
        // Streams that were open end with words.
        if state == "asking" {
            assert_eq!(events.status().await.unwrap().code(), Code::Unavailable, "{state}");
        }
        if let Some(mut stream) = selected.filter(|_| state == "allocating") {
            assert_eq!(stream.status().await.unwrap().code(), Code::Unavailable, "{state}");
        }
        assert_eq!(a.status().await.unwrap().code(), Code::Unavailable, "{state}");
        let (mut a, mut core) = (sidecar.party("a").await, sidecar.core().await);
        assert_eq!(core.select(old, names([0])).await.err().unwrap().code(), Code::NotFound, "{state}");
        let again = tokio::spawn(async move { core.agree(request("p0")).await });
        // An answer from before the restart hits nothing.
        a.refuse(&ask, &names([0, 1]), 0);
        let ask = a.ask().await;
        a.refuse(&ask, &[], 0);
        assert_eq!(again.await.unwrap().1, names([0, 1]), "{state}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_that_is_asked_nothing_goes_on_from_its_record() {
    let record: Arc<dyn Record> = Arc::new(NoRecord::default());
    let pod = DecidedPod { namespace: "ns".into(), name: "p0".into(), uid: "p0".into() };
    let held = DecidedParty { party: "a".into(), call: 7, claims: Vec::new(), gives_back: true };
    let left = Decision { pod, state: DecisionState::Deallocating, node: node(0).into(), parties: vec![held] };
    record.decide(&left, None).await.unwrap();
    let sidecar = Sidecar::start_with(1, 0, vec![party("a", OnSilence::Wait)], record).await;
    sidecar.parties.start();
    sidecar.until(|overview| overview["usage"]["deallocations"] == 1).await;
}
