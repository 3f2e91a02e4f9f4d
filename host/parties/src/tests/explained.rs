//! Parties in `Explain`: who refuses, who is silent, and since when; nothing where the policy has none.
#![allow(clippy::disallowed_methods, reason = "answers have times of the wall clock")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use nodesift_engine::ExplainedParties;
use nodesift_negotiation::{Class, NegotiationId, OnSilence, Owner, Said, Stance};
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, pod};

use super::sidecar::{Sidecar, names, party, request};
use crate::{Command, view};

/// Party, what it has said and why, and of how many nodes.
type Told = (String, String, String, u32);

fn told(party: &str, said: &str, reason: &str, nodes: u32) -> Told {
    (party.to_owned(), said.to_owned(), reason.to_owned(), nodes)
}

/// Stances of parties about a pod. Checks that every stance has a time between two moments, except `NotAsked`, which has none.
async fn explained(sidecar: &Sidecar, pod: &str, from: SystemTime) -> Vec<Told> {
    let pods = vec![v1::Pod::from(pod::Pod::Uid(pod.to_owned()))];
    let mut client = NodesiftClient::new(sidecar.channel().await);
    let response = client.explain(v1::ExplainRequest { pods, ..Default::default() }).await.unwrap().into_inner();
    let seconds =
        |time: SystemTime| i64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let times = seconds(from)..=seconds(SystemTime::now());
    let stances = response.pods.into_iter().flat_map(|pod| pod.parties);
    let stances = stances.map(|stance| {
        assert_eq!(stance.since.is_none(), stance.said == "NotAsked", "{stance:?}");
        assert!(stance.since.is_none_or(|since| times.contains(&since.seconds)), "{stance:?} is not in {times:?}");
        (stance.party, stance.said, stance.reason, stance.nodes)
    });
    stances.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn parties_are_explained_before_while_and_after_they_are_asked() {
    let parties = ["licences", "uplink", "disk"].map(|name| party(name, OnSilence::Wait));
    let sidecar = Sidecar::start(3, 2, parties.into()).await;
    let began = SystemTime::now();
    let away = |party: &str, nodes| told(party, "NotAsked", "it does not attend", nodes);
    // Nobody has negotiated yet.
    assert_eq!(explained(&sidecar, "p0", began).await, ["licences", "uplink", "disk"].map(|name| away(name, 0)));

    let (mut licences, mut uplink) = (sidecar.party("licences").await, sidecar.party("uplink").await);
    let mut core = sidecar.core().await;
    // Rounds so long that nobody counts as silent too long on a slow machine.
    let request = v1::NegotiateRequest { round_ms: 60_000, deadline_ms: 120_000, ..request("p0") };
    let events = core.negotiate(request).await.unwrap();
    let ask = licences.ask().await;
    licences.refuse(&ask, &names([0, 2]), 30_000);
    uplink.ask().await;
    sidecar.until(|overview| overview["negotiations"][0]["parties"][0]["unsuitable"] == 2).await;
    let answer = [told("licences", "Refused", "full", 2), told("licences", "Accepted", "", 1)];
    let while_asked = [told("uplink", "Silent", "", 1), away("disk", 1)];
    let found = explained(&sidecar, "p0", began).await;
    assert_eq!(found[..2], answer);
    assert_eq!(found[2..], while_asked);
    // Another pod has another subject.
    assert_eq!(explained(&sidecar, "p1", began).await[0], told("licences", "NotAsked", "", 0));

    drop(events);
    sidecar.until(|overview| overview["negotiations"].as_array().unwrap().is_empty()).await;
    // What it has said stands for its validity; of the others nothing is known any more.
    let found = explained(&sidecar, "p0", began).await;
    assert_eq!(found[..2], answer);
    assert_eq!(found[2..], [told("uplink", "NotAsked", "", 0), away("disk", 0)]);
    licences.send(Message::Invalidate(v1::Invalidate::default()));
    sidecar.until(|overview| overview["usage"]["keptNodes"] == 0).await;
    assert_eq!(explained(&sidecar, "p0", began).await[0], told("licences", "NotAsked", "", 0));
}

/// The queue of commands is full all the time, and every explanation and overview would wait behind it.
#[tokio::test]
async fn questions_about_negotiations_do_not_wait_behind_commands() {
    const COMMANDS: usize = 20_000;
    let sidecar = Sidecar::start(1, 1, vec![party("licences", OnSilence::Wait)]).await;
    let broker = sidecar.parties.broker();
    let done = Arc::new(AtomicUsize::new(0));
    for number in 0..COMMANDS {
        let (broker, done) = (broker.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let owner = Owner { class: Class::Local, identity: Arc::default() };
            let id = NegotiationId(u64::try_from(number).unwrap_or_default());
            // There is none.
            let _refused = broker.ask(|reply| Command::Release(id, owner, reply)).await;
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    while done.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let parties = ExplainedParties { pod: Arc::from("p0"), seats: [].into(), known: Vec::new() };
    let began = done.load(Ordering::Relaxed);
    sidecar.parties.ask_for_stances(&parties).await;
    sidecar.overview().await;
    let ended = done.load(Ordering::Relaxed);
    assert!(
        ended < COMMANDS / 2,
        "{began} of {COMMANDS} commands were done when it was asked, and {ended} when it was answered"
    );
}

#[test]
fn the_time_of_an_answer_is_when_it_came_and_not_when_it_is_asked_for() {
    let (came, clock) = (Instant::now(), SystemTime::now());
    let told = |later: Duration| {
        let stance = Stance { party: "a".into(), said: Said::Accepted, nodes: 1, since: Some(came) };
        view::stance(stance, came + later, clock + later).since.unwrap()
    };
    let seconds = clock.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(told(Duration::ZERO).seconds, i64::try_from(seconds).unwrap());
    for later in [Duration::from_millis(1), Duration::from_millis(200), Duration::from_secs(3600)] {
        assert_eq!(told(later), told(Duration::ZERO), "asked for {later:?} later");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_parties_nothing_is_said_of_them() {
    let sidecar = Sidecar::start(1, 1, Vec::new()).await;
    assert_eq!(explained(&sidecar, "p0", SystemTime::now()).await, []);
}
