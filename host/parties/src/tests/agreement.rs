//! Rounds over a socket: what parties say decides about the nodes of an agreement, and stays in the cache.

use nodesift_cache::Identity;
use nodesift_negotiation::OnSilence;
use nodesift_proto::v1::negotiation_event::Event;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, End};
use tonic::Code;

use super::sidecar::{Sidecar, names, node, party, request};

#[tokio::test(flavor = "multi_thread")]
async fn two_parties_agree_in_the_order_of_the_core() {
    let sidecar = Sidecar::start(6, 1, vec![party("a", OnSilence::Wait), party("b", OnSilence::Wait)]).await;
    let (mut a, mut b) = (sidecar.party("a").await, sidecar.party("b").await);
    let mut core = sidecar.core().await;
    let mut events =
        core.negotiate(v1::NegotiateRequest { order: names([5, 4, 3, 2]), ..request("p0") }).await.unwrap();
    match events.next().await {
        Event::Asked(asked) => assert_eq!((asked.nodes, asked.parties), (4, vec!["a".to_owned(), "b".to_owned()])),
        other => panic!("{other:?}"),
    }
    let (asked_a, asked_b) = (a.ask().await, b.ask().await);
    assert_eq!(asked_a.nodes, names([5, 4, 3, 2]));
    assert_eq!(asked_a.subject, "pod:p0");
    let pod = asked_a.pod.clone().unwrap();
    assert_eq!((pod.namespace.as_str(), pod.name.as_str(), pod.uid.as_str()), ("ns", "p0", "p0"));
    assert_eq!(pod.labels["app"], "web");
    // Reordered, and one of them piece by piece.
    b.refuse(&asked_b, &names([5]), 0);
    let part = v1::Unsuitable { node: node(3), reason: "no licence".to_owned(), ..Default::default() };
    a.send(Message::Answer(v1::Answer { id: asked_a.id, nodes: vec![part], partial: true, ..Default::default() }));
    a.refuse(&asked_a, &[], 0);
    match events.next().await {
        Event::Viable(viable) => assert_eq!(viable.nodes, names([4, 2])),
        other => panic!("{other:?}"),
    }
    assert_eq!(events.end().await.end(), End::Viable);
    assert_eq!(sidecar.overview().await["negotiations"][0]["phase"], "agreed");
}

#[tokio::test(flavor = "multi_thread")]
async fn alternatives_by_name_and_by_selector_are_candidates_of_the_next_round_if_predicates_allow_them() {
    let sidecar = Sidecar::start(8, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let mut events = core.negotiate(v1::NegotiateRequest { order: names([0, 1]), ..request("p0") }).await.unwrap();
    let ask = a.ask().await;
    let nodes = names([0, 1]).into_iter().map(|node| v1::Unsuitable { node, ..Default::default() }).collect();
    let alternatives = vec![node(5), "nowhere".to_owned()];
    let selector = "rack in (2, 3)".to_owned();
    a.send(Message::Answer(v1::Answer { id: ask.id, nodes, alternatives, selector, ..Default::default() }));
    let ask = a.ask().await;
    assert_eq!(ask.nodes, names([5, 2, 3, 6, 7]));
    assert_eq!(ask.recheck, names([0, 1]));
    a.refuse(&ask, &names([5, 2, 0, 1]), 0);
    loop {
        match events.next().await {
            Event::Viable(viable) => break assert_eq!(viable.nodes, names([3, 6, 7])),
            Event::Asked(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_valid_for_a_time_is_a_column_until_it_is_invalidated() {
    let sidecar = Sidecar::start(3, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let shown = |wanted: usize| {
        let (service, a) = (sidecar.service.clone(), "a".into());
        async move {
            let subject = nodesift_negotiation::Subject::Pod("p0".into());
            let count = |answers: &nodesift_cache::PartyAnswers| answers.get(&a, &subject).map_or(0, |it| it.len());
            let found = service.reader().snapshot_when(|snapshot| count(snapshot.parties()) == wanted);
            tokio::time::timeout(super::sidecar::TIME, found).await.unwrap();
        }
    };
    let negotiating = tokio::spawn(async move { core.agree(request("p0")).await });
    let ask = a.ask().await;
    a.refuse(&ask, &names([1]), 30_000);
    assert_eq!(negotiating.await.unwrap().1, names([0, 2]));
    shown(3).await;
    a.send(Message::Invalidate(v1::Invalidate { subject: ask.subject }));
    shown(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_out_of_reach_of_a_party_are_no_candidates() {
    let mut near = party("near", OnSilence::Wait);
    near.nodes = [("rack".into(), "1".into())].into();
    let sidecar = Sidecar::start(8, 1, vec![near]).await;
    let mut near = sidecar.party("near").await;
    let mut core = sidecar.core().await;
    let negotiating = tokio::spawn(async move { core.agree(request("p0")).await });
    let ask = near.ask().await;
    assert_eq!(ask.nodes, names([1, 5]));
    near.refuse(&ask, &names([1]), 0);
    assert_eq!(negotiating.await.unwrap().1, names([5]));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_parties_the_agreement_is_what_filter_says() {
    let sidecar = Sidecar::start(3, 1, Vec::new()).await;
    let (_, nodes) = sidecar.core().await.agree(request("p0")).await;
    assert_eq!(nodes, names(0..3));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_negotiation_of_a_pod_wins_unless_the_other_supersedes_it() {
    let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let mut first = core.negotiate(request("p0")).await.unwrap();
    assert!(matches!(first.next().await, Event::Asked(_)));
    a.ask().await;
    let refused = core.negotiate(request("p0")).await.err().unwrap();
    assert_eq!(refused.code(), Code::AlreadyExists);
    assert!(refused.message().contains(&first.id.to_string()), "{refused}");
    let second = v1::NegotiateRequest { supersedes: first.id, ..request("p0") };
    let mut second = core.negotiate(second).await.unwrap();
    assert_eq!(first.end().await.end(), End::Superseded);
    let ask = a.ask().await;
    a.refuse(&ask, &[], 0);
    assert_eq!(second.end().await.end(), End::Viable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_that_leaves_gives_up_and_its_questions_are_withdrawn() {
    let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let mut events = core.negotiate(request("p0")).await.unwrap();
    assert!(matches!(events.next().await, Event::Asked(_)));
    let ask = a.ask().await;
    drop(events);
    match a.call().await {
        v1::party_call::Call::Withdraw(withdraw) => assert_eq!(withdraw.id, ask.id),
        other => panic!("{other:?}"),
    }
    sidecar.until(|overview| overview["negotiations"].as_array().unwrap().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_deleted_or_bound_elsewhere_ends_its_negotiation() {
    let sidecar = Sidecar::start(2, 2, vec![party("a", OnSilence::Wait)]).await;
    let _a = sidecar.party("a").await;
    let mut core = sidecar.core().await;
    let (mut gone, mut bound) =
        (core.negotiate(request("p0")).await.unwrap(), core.negotiate(request("p1")).await.unwrap());
    assert!(matches!(gone.next().await, Event::Asked(_)) && matches!(bound.next().await, Event::Asked(_)));
    sidecar.write(|writer| {
        writer.remove(&Identity::pod("p0"));
        let mut pod = super::sidecar::pod_object("p1");
        pod["spec"]["nodeName"] = node(0).into();
        let pod = super::sidecar::decoded(&pod);
        writer.apply(nodesift_cache::metadata::pod_record(&pod, &super::sidecar::schedulers()));
    });
    assert_eq!(gone.end().await.end(), End::Gone);
    assert_eq!(bound.end().await.end(), End::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_request_is_named() {
    let sidecar = Sidecar::start(1, 1, Vec::new()).await;
    let mut core = sidecar.core().await;
    for (request, code, text) in [
        (request("nobody"), Code::NotFound, "nobody"),
        (v1::NegotiateRequest::default(), Code::InvalidArgument, "pod"),
        (v1::NegotiateRequest { candidates: 257, ..request("p0") }, Code::InvalidArgument, "candidates"),
        (v1::NegotiateRequest { round_ms: 9, ..request("p0") }, Code::InvalidArgument, "round"),
        (v1::NegotiateRequest { deadline_ms: 600_001, ..request("p0") }, Code::InvalidArgument, "deadline"),
        (v1::NegotiateRequest { order: vec!["n".into(); 16_385], ..request("p0") }, Code::ResourceExhausted, "order"),
    ] {
        let refused = core.negotiate(request).await.err().unwrap();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(text), "{refused}");
    }
    assert_eq!(core.select(1, names([0])).await.err().unwrap().code(), Code::NotFound);
    assert_eq!(core.release(1).await.unwrap_err().code(), Code::NotFound);
}
