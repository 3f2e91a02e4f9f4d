//! Many events at once: the sidecar keeps up and keeps answering.
//!
//! The full size of W-14, 5,000 events a second for 20 s over 5,000 nodes and 50,000 pods, needs an optimised build:
//! `NODESIFT_STORM=full`. A debug build gets a tenth of the cluster and two fifths of the rate, for 5 s where figures
//! are recorded, and otherwise for 2 s.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::http::Client;
use nodesift_tests::machine::alone;
use nodesift_tests::{timeout, timing};
use serde_json::json;

use crate::oracle;
use crate::world::{World, node_name, pod};

/// Size of the cluster and of the storm.
struct Size {
    nodes: usize,
    pods_per_node: usize,
    events_per_second: usize,
    seconds: usize,
    /// Time that an answer may always take: some tenths of a millisecond, several times over, because other tests use the
    /// processors too and the build is not optimised.
    turn: Duration,
}

const SMALL: Size =
    Size { nodes: 500, pods_per_node: 10, events_per_second: 2_000, seconds: 5, turn: Duration::from_millis(3) };
const FULL: Size =
    Size { nodes: 5_000, pods_per_node: 10, events_per_second: 5_000, seconds: 20, turn: Duration::ZERO };

/// Limit on the 99th percentile of the time from a batch's last event to the first answer that names it.
const LAG: Duration = Duration::from_millis(500);

/// Limit on the 99th percentile of answer times, as a multiple of that without the storm.
const SLOWER: u32 = 2;

/// Batches of events per second. Batches are harder than evenly spread events. Some hundred answers fall between two
/// batches, so that the slowest of each is measured as well.
const BATCHES_PER_SECOND: usize = 50;

/// W-14 of the reliability list: a storm of events.
#[test]
fn a_storm_of_pod_events_is_kept_up_with() {
    let _alone = alone();
    let is_full = std::env::var("NODESIFT_STORM").is_ok_and(|value| value == "full");
    let small = Size { seconds: timing::rounds(2, SMALL.seconds), ..SMALL };
    let size = if is_full { FULL } else { small };
    let server = ApiServer::start();
    gathers(&server);
    crate::world::fill(&server, size.nodes, size.pods_per_node);
    let world = World::new(server);
    world.is_followed("Pod");
    let question = oracle::question(&[oracle::probe("asked", 15_000)]);
    let mut client = Client::connect(&world.sidecar.unix()).unwrap();
    let mut ask = || {
        let asked = Instant::now();
        let answer = client.post("/v1/filter", question.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        let time = asked.elapsed();
        (seen(&answer.body), time)
    };
    let quiet = Size { events_per_second: 0, seconds: size.seconds.div_ceil(4), ..size };
    let calm = weather(&quiet, &world.server, &mut ask);
    let storm = weather(&size, &world.server, &mut ask);
    let lag = percentile(storm.lags, 99);
    let asked = [percentile(storm.took, 99), percentile(storm.slowest, 50)];
    let before = [percentile(calm.took, 99), percentile(calm.slowest, 50)];
    println!(
        "lag p99 {lag:?}; filter p99 and median of the slowest per batch {asked:?}, {before:?} before; {:?} for {} events",
        storm.time,
        size.seconds * size.events_per_second,
    );
    assert_eq!(world.lists("Pod"), 1, "no relist");
    timing::figure("p99 of the lag in a storm of events", lag, LAG);
    for (asked, before) in asked.into_iter().zip(before) {
        timing::figure("filter in a storm of events", asked, size.turn.max(before * SLOWER));
    }
    let seconds = Duration::from_secs(size.seconds as u64);
    timing::figure("a storm of events", storm.time, seconds * 11 / 10);
    oracle::state_converges(&world.server, &world.sidecar);
}

/// Sends all pending events in one write. kube-apiserver flushes a watch where no event waits behind the one it has written
/// (`len(ch) == 0` in `pkg/endpoints/handlers/watch.go` of k8s.io/apiserver v0.36.2).
fn gathers(server: &ApiServer) {
    server.script(|script| script.always(Some("Pod"), Some(Verb::Watch), Fault::Together));
}

/// Measurements during the storm.
#[derive(Default)]
struct Weather {
    /// Per batch, the time from its first event to the answer that names its last event.
    lags: Vec<Duration>,
    /// Per answer, its time.
    took: Vec<Duration>,
    /// Per batch, the longest answer time until the next batch.
    slowest: Vec<Duration>,
    time: Duration,
}

/// Sends the events to a server, and requests answers all the time.
fn weather(size: &Size, server: &ApiServer, mut ask: impl FnMut() -> (u64, Duration)) -> Weather {
    let pause = Duration::from_secs(1) / u32::try_from(BATCHES_PER_SECOND).unwrap();
    let pods = size.nodes * size.pods_per_node;
    let mut weather = Weather::default();
    // Batches that no answer has named yet, each with the time at which it was sent.
    let mut unseen: VecDeque<(u64, Instant)> = VecDeque::new();
    let began = Instant::now();
    for batch in 0..size.seconds * BATCHES_PER_SECOND {
        let due = began + pause * u32::try_from(batch).unwrap();
        let sent = Instant::now();
        let last = server.change(|store| {
            let events = size.events_per_second / BATCHES_PER_SECOND;
            let changed = |number: usize| (batch * events + number) * 7 % pods;
            (0..events).map(|number| store.apply(storm_pod(changed(number), batch, size.nodes))).last()
        });
        unseen.extend(last.map(|last| (last, sent)));
        let first = weather.took.len();
        while Instant::now() < due + pause {
            weather.note(ask(), &mut unseen);
        }
        weather.slowest.extend(weather.took[first..].iter().max());
    }
    weather.time = began.elapsed();
    timeout::until(|| {
        weather.note(ask(), &mut unseen);
        unseen.is_empty().then_some(())
    })
    .expect("the events are seen");
    weather
}

impl Weather {
    /// Records an answer: the version that it names, and the time that it took.
    fn note(&mut self, (version, time): (u64, Duration), unseen: &mut VecDeque<(u64, Instant)>) {
        self.took.push(time);
        while let Some((_, sent)) = unseen.pop_front_if(|(last, _)| version >= *last) {
            self.lags.push(sent.elapsed());
        }
    }
}

/// The version of pods that an answer names. The rest of the answer is not parsed, to save processor time for the sidecar.
fn seen(answer: &str) -> u64 {
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        version: Version<'a>,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version<'a> {
        pods_resource_version: &'a str,
    }
    let answer: Answer<'_> = serde_json::from_str(answer).unwrap();
    answer.version.pods_resource_version.parse().unwrap_or_default()
}

fn storm_pod(number: usize, batch: usize, nodes: usize) -> serde_json::Value {
    let mut pod = pod(&format!("p{number}"), &node_name(number % nodes), 100);
    pod["metadata"]["labels"]["batch"] = json!(batch.to_string());
    pod
}

/// The value below which `percent` percent of the times are.
pub(crate) fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default()
}
