//! Cost of negotiation: the messages of one, its time beside a bare exchange over the same socket, its time by nodes and parties, and that of
//! `Filter` beside others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nodesift_negotiation::OnSilence;
use nodesift_proto::v1::negotiation_event::Event;
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::party_call::Call;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, pod};
use nodesift_tests::timing;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::sidecar::{Attending, Events, Sidecar, party, request};

/// Samples of each kind, after as many that are not measured.
const SAMPLES: usize = 300;
/// How much longer than a bare exchange a negotiation with a local party is to take at the median.
const FACTOR: f64 = 10.0;
/// Nodes that all suit, and parties that all decide, of which times are told; and what an agreement with one party about the most of these
/// nodes is to take at the median.
const NODES: [usize; 3] = [1, 16, 128];
const PARTIES: [usize; 3] = [1, 2, 4];
const AGREEMENT: Duration = Duration::from_micros(400);
/// Cores that negotiate at once, and how often each begins: a thousand negotiations a second.
const AT_ONCE: usize = 32;
const PACE: Duration = Duration::from_millis(32);
/// How much longer `Filter` is to take at its 99th percentile while others negotiate, on a machine that shares its cores with them.
const FILTER_FACTOR: f64 = 20.0;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

fn filter() -> v1::FilterRequest {
    v1::FilterRequest {
        pods: vec![v1::Pod::from(pod::Pod::Uid("p0".to_owned()))],
        detail: v1::Detail::Feasible.into(),
        bitmaps: Some(v1::Bitmaps::default()),
        ..Default::default()
    }
}

/// A party that answers at once that everything suits. Counts what it is asked.
fn obliging(mut party: Attending) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            if let Call::Ask(ask) = party.call().await {
                count.fetch_add(1, Ordering::Relaxed);
                party.refuse(&ask, &[], 0);
            }
        }
    });
    asked
}

/// A party that does at once what it is asked and told.
fn willing(mut party: Attending) {
    tokio::spawn(async move {
        while let Ok(Some(v1::PartyCall { call: Some(call) })) = party.calls.message().await {
            match call {
                Call::Ask(ask) => party.refuse(&ask, &[], 0),
                Call::Allocate(allocate) => party.allocated(&allocate, &allocate.nodes),
                Call::Deallocate(back) => party.send(Message::Deallocated(v1::PartyDeallocated { id: back.id })),
                Call::Bound(_) | Call::Withdraw(_) => {}
            }
        }
    });
}

/// The events of a negotiation up to its end.
async fn read(events: &mut Events) -> Vec<Event> {
    let mut read = Vec::new();
    while !matches!(read.last(), Some(Event::Ended(_))) {
        read.push(events.next().await);
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn a_negotiation_with_a_local_party_is_one_question_and_one_agreement() {
    let sidecar = Sidecar::start(128, 1, vec![party("a", OnSilence::Wait)]).await;
    let asked = obliging(sidecar.party("a").await);
    let mut core = sidecar.core().await;
    let mut bare = NodesiftClient::new(sidecar.channel().await);
    let (mut exchanges, mut negotiations) = (Vec::new(), Vec::new());
    for sample in 0..2 * SAMPLES {
        let start = Instant::now();
        bare.filter(filter()).await.unwrap();
        let exchange = start.elapsed();
        let start = Instant::now();
        let mut events = core.negotiate(request("p0")).await.unwrap();
        let read = read(&mut events).await;
        let negotiation = start.elapsed();
        match &read[..] {
            [Event::Asked(_), Event::Viable(viable), Event::Ended(_)] => assert_eq!(viable.nodes.len(), 128),
            other => panic!("more or fewer messages than needed: {other:?}"),
        }
        assert!((1..=sample + 1).contains(&asked.load(Ordering::Relaxed)), "one question for each at most");
        core.release(events.id).await.unwrap();
        if sample >= SAMPLES {
            exchanges.push(exchange);
            negotiations.push(negotiation);
        }
    }
    let (exchange, negotiation) = (median(exchanges), median(negotiations));
    println!("bare exchange p50 {exchange:?}; negotiation of 128 nodes with a local party p50 {negotiation:?}");
    let ratio = negotiation.as_secs_f64() / exchange.as_secs_f64();
    timing::number("a negotiation with a local party, of a bare exchange", ratio, FACTOR);
}

#[tokio::test(flavor = "multi_thread")]
async fn parties_agree_on_all_nodes_and_allocate_whatever_their_number() {
    for (count, nodes) in PARTIES.into_iter().flat_map(|count| NODES.map(|nodes| (count, nodes))) {
        let names: Vec<String> = (0..count).map(|number| format!("party-{number}")).collect();
        let parties = names.iter().map(|name| party(name, OnSilence::Wait)).collect();
        let sidecar = Sidecar::start(nodes, 1, parties).await;
        for name in &names {
            willing(sidecar.party(name).await);
        }
        let mut core = sidecar.core().await;
        let (mut agreements, mut allocations) = (Vec::new(), Vec::new());
        for _ in 0..timing::rounds(2, SAMPLES) {
            let start = Instant::now();
            let (id, viable) = core.agree(request("p0")).await;
            agreements.push(start.elapsed());
            assert_eq!(viable.len(), nodes);
            let start = Instant::now();
            let mut events = core.select(id, viable).await.unwrap();
            while !matches!(events.next().await, Event::Allocated(_)) {}
            allocations.push(start.elapsed());
            core.release(id).await.unwrap();
            // Where the pod is assumed, it has taken its room.
            sidecar.until(|_| sidecar.node_of("p0").is_none()).await;
        }
        let aim = if (count, nodes) == (1, 128) { AGREEMENT } else { Duration::ZERO };
        timing::figure(&format!("agreement on nodes: {nodes}, parties: {count}"), median(agreements), aim);
        timing::figure(&format!("allocation on nodes: {nodes}, parties: {count}"), median(allocations), Duration::ZERO);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_waits_for_no_party_that_others_wait_for() {
    let sidecar = Sidecar::start(128, AT_ONCE + 1, vec![party("a", OnSilence::Wait)]).await;
    // It says nothing, and rounds are so long that none of them ends.
    let _silent = sidecar.party("a").await;
    let mut waiting = Vec::new();
    for number in 1..=AT_ONCE {
        let pod = request(&format!("p{number}"));
        let request = v1::NegotiateRequest { candidates: 16, round_ms: 60_000, deadline_ms: 120_000, ..pod };
        let mut core = sidecar.core().await;
        let events = core.negotiate(request).await.unwrap();
        waiting.push((core, events));
    }
    let under_way = |overview: &serde_json::Value| overview["negotiations"].as_array().unwrap().len();
    sidecar.until(|overview| under_way(overview) == AT_ONCE).await;
    let mut client = NodesiftClient::new(sidecar.channel().await);
    for _ in 0..SAMPLES {
        client.filter(filter()).await.unwrap();
    }
    assert_eq!(under_way(&sidecar.overview().await), AT_ONCE, "Filter was answered after a negotiation had ended");
    drop(waiting);
}

/// Cores that negotiate with a sidecar, [`AT_ONCE`] at [`PACE`], until they are stopped.
struct Negotiating {
    stop: watch::Sender<bool>,
    cores: Vec<JoinHandle<usize>>,
}

impl Negotiating {
    async fn with(sidecar: &Sidecar) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut cores = Vec::new();
        for number in 1..=AT_ONCE {
            let (mut core, pod, stopped) = (sidecar.core().await, format!("p{number}"), stopped.clone());
            cores.push(tokio::spawn(async move {
                let (mut count, mut paces) = (0_usize, tokio::time::interval(PACE));
                paces.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
                // Once at least.
                while count == 0 || !*stopped.borrow() {
                    paces.tick().await;
                    let (id, _) = core.agree(v1::NegotiateRequest { candidates: 16, ..request(&pod) }).await;
                    core.release(id).await.unwrap();
                    count += 1;
                }
                count
            }));
        }
        Self { stop, cores }
    }

    /// The number of negotiations.
    async fn stop(self) -> usize {
        self.stop.send(true).unwrap();
        let mut count = 0;
        for core in self.cores {
            count += core.await.unwrap();
        }
        count
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_is_answered_while_cores_negotiate() {
    let sidecar = Sidecar::start(128, AT_ONCE + 1, vec![party("a", OnSilence::Wait)]).await;
    obliging(sidecar.party("a").await);
    let mut client = NodesiftClient::new(sidecar.channel().await);
    let mut measure = async || {
        let mut times = Vec::new();
        for _ in 0..SAMPLES {
            let start = Instant::now();
            client.filter(filter()).await.unwrap();
            times.push(start.elapsed());
        }
        p99(times)
    };
    measure().await;
    let alone = measure().await;
    let negotiating = Negotiating::with(&sidecar).await;
    let beside = measure().await;
    let count = negotiating.stop().await;
    assert!(count >= AT_ONCE, "{count} negotiations of {AT_ONCE} cores");
    println!("Filter p99 {alone:?} alone, {beside:?} beside {count} negotiations");
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    timing::number("p99 of Filter beside negotiations, of the one without", ratio, FILTER_FACTOR);
}
