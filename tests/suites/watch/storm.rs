//! Many events at once: the sidecar keeps up, and answers meanwhile.
//!
//! The full size of W-14, 5,000 events a second for 20 s over 5,000 nodes and 50,000 pods, is for an optimised build:
//! `NODESIFT_STORM=full`. A debug build is given a tenth of the cluster and two fifths of the rate for 5 s.

use std::time::{Duration, Instant};

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::post;
use nodesift_tests::patience;
use serde_json::json;

use crate::judge;
use crate::world::{World, node_name, pod};

/// How large and how long.
struct Size {
    nodes: usize,
    pods_per_node: usize,
    events_per_second: usize,
    seconds: usize,
}

const SMALL: Size = Size { nodes: 500, pods_per_node: 10, events_per_second: 2_000, seconds: 5 };
const FULL: Size = Size { nodes: 5_000, pods_per_node: 10, events_per_second: 5_000, seconds: 20 };

/// Longest that the last event of a batch may take until answers name it, at the 99th percentile.
const LAG: Duration = Duration::from_millis(500);

/// How many times longer than without the storm an answer may take, at the 99th percentile.
const SLOWER: u32 = 2;

/// What it may take in any case. The API server and the client have this machine's cores as well, and an answer of a fifth of a
/// millisecond that has to wait for one takes many times that.
const TURN: Duration = Duration::from_millis(3);

/// How often events are sent, as many at once as that leaves for each time. An API server does not wait to gather any.
const BATCHES_PER_SECOND: usize = 50;

/// W-14.
#[test]
fn a_storm_of_pod_events_is_kept_up_with() {
    let size = if std::env::var("NODESIFT_STORM").is_ok_and(|value| value == "full") { FULL } else { SMALL };
    let server = ApiServer::start();
    crate::world::fill(&server, size.nodes, size.pods_per_node);
    let world = World::of(server);
    world.is_followed("Pod");
    let question = judge::question(&[judge::probe("asked", 15_000)]);
    let ask = || {
        let asked = Instant::now();
        let answer = post(&world.sidecar.unix(), "/v1/filter", &question).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        let time = asked.elapsed();
        (seen(&answer.body), time)
    };
    // The same work on the same machine, of which nothing is told.
    let elsewhere = ApiServer::start();
    crate::world::fill(&elsewhere, size.nodes, size.pods_per_node);
    let calm = weather(&size, &elsewhere, size.seconds.div_ceil(4), ask, |_| None);
    drop(elsewhere);

    let storm = weather(&size, &world.server, size.seconds, ask, Some);
    let (lag, asked, before) = (percentile(storm.lags, 99), percentile(storm.took, 99), percentile(calm.took, 99));
    println!(
        "lag p99 {lag:?}; filter p99 {asked:?}, {before:?} before; {} batches late; {:?} for {} events",
        storm.behind,
        storm.time,
        size.seconds * size.events_per_second,
    );
    assert_eq!(world.lists("Pod"), 1, "kept up by the watch alone");
    assert!(lag <= patience::within(LAG), "lag p99 {lag:?}");
    assert!(asked <= patience::within(TURN.max(before * SLOWER)), "filter p99 {asked:?}, {before:?} before");
    judge::state_converges(&world.server, &world.sidecar);
}

/// What was seen while events happened.
#[derive(Default)]
struct Weather {
    /// Per batch, from when it began to happen to the answer that names its last event.
    lags: Vec<Duration>,
    /// Per answer.
    took: Vec<Duration>,
    /// Batches that came too late.
    behind: usize,
    time: Duration,
}

/// Has events happen on a server, and asks all the while. `awaited` is what answers must name of them, if anything.
fn weather(
    size: &Size,
    server: &ApiServer,
    seconds: usize,
    ask: impl Fn() -> (u64, Duration),
    awaited: impl Fn(u64) -> Option<u64>,
) -> Weather {
    let pause = Duration::from_secs(1) / u32::try_from(BATCHES_PER_SECOND).unwrap();
    let pods = size.nodes * size.pods_per_node;
    let mut weather = Weather::default();
    let began = Instant::now();
    for batch in 0..seconds * BATCHES_PER_SECOND {
        let due = began + pause * u32::try_from(batch).unwrap();
        let sent = Instant::now();
        if sent > due + pause {
            weather.behind += 1;
        }
        let last = server.change(|store| {
            let events = size.events_per_second / BATCHES_PER_SECOND;
            let changed = |number: usize| (batch * events + number) * 7 % pods;
            (0..events).map(|number| store.apply(storm_pod(changed(number), batch, size.nodes))).last().unwrap()
        });
        if let Some(last) = awaited(last) {
            let lag = patience::until(|| {
                let (version, time) = ask();
                weather.took.push(time);
                (version >= last).then(|| sent.elapsed())
            });
            weather.lags.push(lag.expect("the events are seen"));
        }
        while Instant::now() < due + pause {
            weather.took.push(ask().1);
        }
    }
    weather.time = began.elapsed();
    weather
}

/// The version of pods that an answer names. What is not asked for is not read: this machine has the sidecar's work to do.
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

/// The value below which so many of a hundred are.
pub(crate) fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default()
}
