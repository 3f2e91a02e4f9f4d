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

/// Longest that the last event of a tenth of a second may take until answers name it, at the 99th percentile.
const LAG: Duration = Duration::from_millis(500);

/// Events that are sent at once, ten times a second.
const BATCHES_PER_SECOND: usize = 10;

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
        let version = answer.json()["version"]["podsResourceVersion"].as_str().unwrap_or_default().parse::<u64>();
        (version.unwrap_or_default(), asked.elapsed())
    };
    let quiet: Vec<Duration> = (0..100).map(|_| ask().1).collect();

    let (mut lags, mut took) = (Vec::new(), Vec::new());
    let pause = Duration::from_secs(1) / u32::try_from(BATCHES_PER_SECOND).unwrap();
    let pods = size.nodes * size.pods_per_node;
    let began = Instant::now();
    let mut behind = 0;
    for batch in 0..size.seconds * BATCHES_PER_SECOND {
        let due = began + pause * u32::try_from(batch).unwrap();
        let sent = Instant::now();
        if sent > due + pause {
            behind += 1;
        }
        let last = world.server.change(|store| {
            let events = size.events_per_second / BATCHES_PER_SECOND;
            let changed = |number: usize| (batch * events + number) * 7 % pods;
            (0..events).map(|number| store.apply(storm_pod(changed(number), batch, size.nodes))).last().unwrap()
        });
        let lag = patience::until(|| {
            let (version, time) = ask();
            took.push(time);
            (version >= last).then(|| sent.elapsed())
        });
        lags.push(lag.expect("the events are seen"));
        while let Some(left) = (due + pause).checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
    }
    let (lag, asked, asked_in_quiet) = (percentile(lags, 99), percentile(took, 99), percentile(quiet, 99));
    println!(
        "lag p99 {lag:?}; filter p99 {asked:?}, {asked_in_quiet:?} before; {behind} batches late; {:?} for {} events",
        began.elapsed(),
        size.seconds * size.events_per_second,
    );
    assert_eq!(world.lists("Pod"), 1, "kept up by the watch alone");
    assert!(lag <= patience::within(LAG), "lag p99 {lag:?}");
    judge::state_converges(&world.server, &world.sidecar);
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
