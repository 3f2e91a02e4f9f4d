//! Parties that are late, silent, slow, lying or flapping, over a socket.

use nodesift_negotiation::OnSilence;
use nodesift_proto::v1::negotiation_event::Event;
use nodesift_proto::v1::parties_client::PartiesClient;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, End};
use tonic::Code;

use super::sidecar::{Attending, Sidecar, names, party, request};

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_the_policy_does_not_have_is_refused_and_so_is_what_is_no_attendance() {
    let sidecar = Sidecar::start(1, 1, vec![party("a", OnSilence::Wait)]).await;
    let attend = |party: &str| Message::Attend(v1::PartyAttend { party: party.to_owned() });
    let answer = Message::Answer(v1::Answer::default());
    for (messages, code) in [
        (vec![attend("nobody")], Code::NotFound),
        (vec![answer], Code::InvalidArgument),
        (vec![attend("a"), attend("a")], Code::InvalidArgument),
    ] {
        let mut stream = Attending::open(sidecar.channel().await).await;
        messages.into_iter().for_each(|message| stream.send(message));
        assert_eq!(stream.status().await.unwrap().code(), code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_stream_takes_the_place_of_the_first() {
    let sidecar = Sidecar::start(1, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut first = sidecar.party("a").await;
    let mut second = Attending::open(sidecar.channel().await).await;
    second.send(Message::Attend(v1::PartyAttend { party: "a".to_owned() }));
    assert_eq!(first.status().await.unwrap().code(), Code::Aborted);
    let mut core = sidecar.core().await;
    let negotiating = tokio::spawn(async move { core.agree(request("p0")).await });
    let ask = second.ask().await;
    second.refuse(&ask, &[], 0);
    assert_eq!(negotiating.await.unwrap().1, names([0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_party_is_named_or_has_no_say_as_the_policy_wants_it() {
    let parties = vec![party("waits", OnSilence::Wait), party("ignored", OnSilence::Ignore)];
    let sidecar = Sidecar::start(2, 2, parties).await;
    let (mut waits, _ignored) = (sidecar.party("waits").await, sidecar.party("ignored").await);
    let mut core = sidecar.core().await;
    // Long enough for a question and its answer on a busy machine.
    let short = |pod: &str| v1::NegotiateRequest { round_ms: 500, deadline_ms: 2_000, ..request(pod) };
    let mut events = core.negotiate(short("p0")).await.unwrap();
    let ended = events.end().await;
    assert_eq!((ended.end(), ended.parties), (End::TimedOut, vec!["waits".to_owned()]));
    let negotiating = tokio::spawn(async move { core.agree(short("p1")).await });
    loop {
        let ask = waits.ask().await;
        if ask.subject == "pod:p1" {
            break waits.refuse(&ask, &names([0]), 0);
        }
    }
    assert_eq!(negotiating.await.unwrap().1, names([1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_about_nodes_that_were_not_asked_about_counts_for_nothing() {
    let sidecar = Sidecar::start(2, 1, vec![party("liar", OnSilence::Wait)]).await;
    let mut liar = sidecar.party("liar").await;
    let mut core = sidecar.core().await;
    let request = v1::NegotiateRequest { round_ms: 50, deadline_ms: 2_000, order: names([0]), ..request("p0") };
    let mut events = core.negotiate(request).await.unwrap();
    let ask = liar.ask().await;
    let node = names([1]).remove(0);
    let nodes = vec![v1::Unsuitable { node, ..Default::default() }];
    liar.send(Message::Answer(v1::Answer { id: ask.id, nodes, ..Default::default() }));
    let ended = events.end().await;
    assert_eq!((ended.end(), ended.parties), (End::TimedOut, vec!["liar".to_owned()]));
    assert_eq!(sidecar.metrics.malformed("liar"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_leaves_and_comes_back_is_asked_again() {
    let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut core = sidecar.core().await;
    let negotiating = tokio::spawn(async move { core.agree(request("p0")).await });
    for _ in 0..2 {
        let mut flapping = sidecar.party("a").await;
        flapping.ask().await;
        drop(flapping);
        sidecar.until(|overview| overview["parties"][0]["attends"] == false).await;
    }
    let mut a = sidecar.party("a").await;
    let ask = a.ask().await;
    a.refuse(&ask, &names([0]), 0);
    assert_eq!(negotiating.await.unwrap().1, names([1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_leaves_as_soon_as_it_attends_has_left() {
    let sidecar = Sidecar::start(1, 1, vec![party("a", OnSilence::Wait)]).await;
    for round in 0..300 {
        // One that has left before it was heard may attend late, and takes the place of the next, which then begins again.
        let hasty = loop {
            let mut hasty = Attending::open(sidecar.channel().await).await;
            hasty.send(Message::Attend(v1::PartyAttend { party: "a".to_owned() }));
            let attends = tokio::select! {
                () = sidecar.until(|overview| round % 3 == 0 || overview["parties"][0]["attends"] == true) => true,
                _ = hasty.status() => false,
            };
            if attends {
                break hasty;
            }
        };
        drop(hasty);
        sidecar.until(|overview| overview["parties"][0]["attends"] != true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_does_not_read_its_calls_is_cut_off_with_words() {
    for attempt in 0..5 {
        let sidecar = Sidecar::start(256, 3, vec![party("slow", OnSilence::Wait)]).await;
        let mut slow = sidecar.party("slow").await;
        let mut core = sidecar.core().await;
        // The party reads nothing, and each question is some kilobytes: the transport takes a few hundred, the queue takes the rest.
        let (mut id, mut kept) = (0, Vec::new());
        for round in 0..20_000 {
            let superseding = v1::NegotiateRequest { candidates: 256, supersedes: id, ..request("p0") };
            let mut events = core.negotiate(superseding).await.unwrap();
            assert!(matches!(events.next().await, Event::Asked(_)));
            id = events.id;
            kept.push(events);
            if round % 64 == 0 && sidecar.overview().await["parties"][0]["attends"] == false {
                break;
            }
        }
        sidecar.until(|overview| overview["parties"][0]["attends"] == false).await;
        let status = slow.status().await.unwrap();
        // On a machine that is slow, the connection is closed before the queue is full: a frame of it was not read for so long.
        if status.code() == Code::Unknown && attempt < 4 {
            continue;
        }
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert!(status.message().contains("not read"), "{status}");
        return;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tcp_nobody_attends_who_is_not_listed() {
    let sidecar = Sidecar::start(1, 1, vec![party("a", OnSilence::Wait)]).await;
    let said = futures_util::stream::iter([v1::PartyMessage {
        message: Some(Message::Attend(v1::PartyAttend { party: "a".to_owned() })),
    }]);
    let mut stranger = PartiesClient::new(sidecar.channel_over_tcp().await);
    let refused = stranger.attend(said).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert!(refused.message().contains("--allow-attend"), "{refused}");
    sidecar.party("a").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_floods_is_cut_off_and_the_others_go_on() {
    const NEGOTIATIONS: usize = 200;
    let parties = vec![party("good", OnSilence::Wait), party("bad", OnSilence::Ignore)];
    let sidecar = Sidecar::start(2, NEGOTIATIONS + 1, parties).await;
    let (mut good, mut bad) = (sidecar.party("good").await, sidecar.party("bad").await);
    let mut core = sidecar.core().await;
    let mut open = Vec::new();
    for pod in 1..=NEGOTIATIONS {
        let mut events = core.negotiate(request(&format!("p{pod}"))).await.unwrap();
        assert!(matches!(events.next().await, Event::Asked(_)));
        open.push(events);
        good.ask().await;
        bad.ask().await;
    }
    for _ in 0..14_000 {
        bad.send(Message::Invalidate(v1::Invalidate::default()));
    }
    // In the midst of it, and without any clock: a negotiation is agreed on.
    let negotiating = tokio::spawn(async move { core.agree(request("p0")).await });
    let ask = good.ask().await;
    good.refuse(&ask, &[], 0);
    let status = bad.status().await.unwrap();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert_eq!(negotiating.await.unwrap().1, names(0..2));
    sidecar.until(|overview| overview["parties"][1]["attends"] == false).await;
    assert_eq!(sidecar.overview().await["parties"][0]["attends"], true);
}
