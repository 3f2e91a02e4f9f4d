//! What negotiation costs: beside a bare exchange of messages over the same socket, and beside `Filter`.

use std::time::{Duration, Instant};

use nodesift_negotiation::OnSilence;
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::party_call::Call;
use nodesift_proto::v1::{self, pod};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::sidecar::{Attending, Sidecar, party, request};

/// Samples of each kind, after as many that are not measured.
const SAMPLES: usize = 300;
/// How much longer than a bare exchange a negotiation with a local party may take at the median.
const FACTOR: u32 = 10;
/// Cores that negotiate at once, and how often each begins: a thousand negotiations a second.
const AT_ONCE: usize = 32;
const PACE: Duration = Duration::from_millis(32);
/// How much longer `Filter` may take at its 99th percentile while others negotiate, on a machine that shares its cores with them.
const FILTER_FACTOR: u32 = 20;
/// How much longer than while they negotiate with another sidecar, which takes as much of the processors.
const CONTROL_FACTOR: u32 = 5;
/// How often each of the two is measured, and how long at least.
const TURNS: usize = 3;
const TURN: Duration = Duration::from_millis(500);
/// Below this, differences are those of the machine: cores, party, sidecar and other tests share its processors. A `Filter` that
/// waited for a party would take as long as a round.
const NOISE: Duration = Duration::from_millis(100);

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// A party that answers at once that everything suits.
fn obliging(mut party: Attending) {
    tokio::spawn(async move {
        loop {
            if let Call::Ask(ask) = party.call().await {
                party.refuse(&ask, &[], 0);
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_negotiation_with_a_local_party_takes_no_more_than_some_bare_exchanges() {
    let sidecar = Sidecar::start(128, 1, vec![party("a", OnSilence::Wait)]).await;
    obliging(sidecar.party("a").await);
    let mut core = sidecar.core().await;
    let mut bare = NodesiftClient::new(sidecar.channel().await);
    let filter = || v1::FilterRequest {
        pods: vec![v1::Pod::from(pod::Pod::Uid("p0".to_owned()))],
        detail: v1::Detail::Feasible.into(),
        bitmaps: Some(v1::Bitmaps::default()),
        ..Default::default()
    };
    let (mut exchanges, mut negotiations) = (Vec::new(), Vec::new());
    for sample in 0..2 * SAMPLES {
        let start = Instant::now();
        bare.filter(filter()).await.unwrap();
        let exchange = start.elapsed();
        let start = Instant::now();
        let (id, nodes) = core.agree(request("p0")).await;
        let negotiation = start.elapsed();
        assert_eq!(nodes.len(), 128);
        core.release(id).await.unwrap();
        if sample >= SAMPLES {
            exchanges.push(exchange);
            negotiations.push(negotiation);
        }
    }
    let (exchange, negotiation) = (median(exchanges), median(negotiations));
    println!("bare exchange p50 {exchange:?}; negotiation of 128 nodes with a local party p50 {negotiation:?}");
    assert!(negotiation <= exchange * FACTOR, "{negotiation:?} is more than {FACTOR} times {exchange:?}");
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
                while !*stopped.borrow() {
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
async fn filter_is_answered_as_before_while_cores_negotiate() {
    let sidecar = Sidecar::start(128, AT_ONCE + 1, vec![party("a", OnSilence::Wait)]).await;
    obliging(sidecar.party("a").await);
    // What takes the same time of the processors, and none of the sidecar that is measured.
    let other = Sidecar::start(128, AT_ONCE + 1, vec![party("a", OnSilence::Wait)]).await;
    obliging(other.party("a").await);
    let mut client = NodesiftClient::new(sidecar.channel().await);
    let filter =
        || v1::FilterRequest { pods: vec![v1::Pod::from(pod::Pod::Uid("p0".to_owned()))], ..Default::default() };
    let mut measure = async |samples: usize| {
        let mut times = Vec::new();
        for _ in 0..samples {
            let start = Instant::now();
            client.filter(filter()).await.unwrap();
            times.push(start.elapsed());
        }
        times
    };
    measure(SAMPLES).await;
    let alone = p99(measure(SAMPLES).await);
    let (mut beside, mut control) = (Vec::new(), Vec::new());
    let (mut count, mut elapsed) = (0, Duration::ZERO);
    // In turns, since the machine changes.
    for _ in 0..TURNS {
        for (negotiates, times) in [(&sidecar, &mut beside), (&other, &mut control)] {
            let (start, negotiating) = (Instant::now(), Negotiating::with(negotiates).await);
            times.extend(measure(SAMPLES).await);
            // Long enough to count.
            while start.elapsed() < TURN {
                measure(10).await;
            }
            elapsed += start.elapsed();
            count += negotiating.stop().await;
        }
    }
    let rate = count as f64 / elapsed.as_secs_f64();
    let (beside, control) = (p99(beside), p99(control));
    println!(
        "Filter p99 {alone:?} alone, {beside:?} beside {rate:.0} negotiations a second, {control:?} beside as many elsewhere"
    );
    assert!(beside <= (alone * FILTER_FACTOR).max(NOISE), "{beside:?} beside negotiations, {alone:?} alone");
    assert!(
        beside <= (control * CONTROL_FACTOR).max(NOISE / 2),
        "{beside:?} beside negotiations, {control:?} elsewhere"
    );
    assert!(count > 0);
}
