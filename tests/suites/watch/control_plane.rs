//! Beside a control plane that dies, freezes, or takes a permission away: assumed pods keep their room, and readiness, answers and
//! log tell the same truth.

use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault};
use nodesift_tests::http::{Response, get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};
use serde_json::json;

use crate::oracle::{probes, question};
use crate::world::{World, fill, pod};

/// Limit on the time until answers are stale, whatever happened.
const NOTICED: Duration = Duration::from_secs(45);

fn readyz(world: &World) -> Response {
    get(&world.sidecar.unix(), "/readyz").unwrap()
}

/// Age in milliseconds and staleness of an answer. It is asked about one pod, since some tests ask all the time.
fn age(world: &World) -> (u64, bool) {
    let answer = post(&world.sidecar.unix(), "/v1/filter", question(&probes()[..1])).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    let version = &answer.json()["version"];
    (version["stalenessMs"].as_str().unwrap().parse().unwrap(), version["stale"] == true)
}

fn assume(world: &World, request: &serde_json::Value) -> Response {
    post(&world.sidecar.unix(), "/v1/assume", request.to_string()).unwrap()
}

/// Whether the watch's pod is assumed.
fn is_assumed(world: &World, name: &str) -> bool {
    let state = get(&world.sidecar.unix(), "/v1/state").unwrap().json();
    let nodes = state["nodes"].as_array().unwrap().iter();
    let mut pods = nodes.flat_map(|node| node["ownPods"].as_array().unwrap());
    pods.any(|pod| pod["name"] == name && pod["assumed"] == true)
}

fn by_name(name: &str) -> serde_json::Value {
    json!({"name": {"namespace": "default", "name": name}})
}

/// How often the log has a line with all of these words.
fn logged(world: &World, words: &[&str]) -> usize {
    world.sidecar.output().lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// Waits until the log has such a line; it is read a moment after it was written.
fn logs(world: &World, words: &[&str]) {
    let is_logged = timeout::until(|| (logged(world, words) > 0).then_some(()));
    is_logged.unwrap_or_else(|| panic!("{words:?} is not logged: {}", world.sidecar.output()));
}

/// A fault of the server: how it begins, what readiness says of it, and how it ends.
struct Trouble {
    begin: fn(&ApiServer),
    said: &'static str,
    end: fn(&ApiServer),
}

const TROUBLES: [Trouble; 3] = [
    Trouble { begin: ApiServer::go_down, said: "API server unreachable", end: ApiServer::come_up },
    Trouble { begin: ApiServer::freeze, said: "API server unreachable", end: ApiServer::thaw },
    Trouble {
        begin: |server| server.script(|script| script.always(Some("Pod"), None, Fault::forbidden())),
        said: "forbidden",
        end: ApiServer::clear_faults,
    },
];

#[test]
fn whatever_the_control_plane_does_is_noticed_within_45_s_and_told_alike_everywhere() {
    let _beside = beside_others();
    std::thread::scope(|scope| {
        for trouble in &TROUBLES {
            for refuses in [false, true] {
                scope.spawn(move || is_noticed(trouble, refuses));
            }
        }
    });
}

fn is_noticed(Trouble { begin, said, end }: &Trouble, refuses: bool) {
    let server = ApiServer::start();
    fill(&server, 3, 2);
    let world = World::started(server, if refuses { &["--refuse-stale"] } else { &[] });
    world.is_followed("Pod");
    begin(&world.server);
    let began = Instant::now();
    let noticed = timeout::until(|| match refuses {
        true => {
            let answer = post(&world.sidecar.unix(), "/v1/filter", question(&probes()[..1])).unwrap();
            (answer.status == 503).then_some(())
        }
        false => age(&world).1.then_some(()),
    });
    noticed.unwrap_or_else(|| panic!("{said} is not noticed"));
    let took = began.elapsed();
    println!("{said}, refusing: {refuses}: noticed after {took:?}");
    timing::at_most(said, took, NOTICED + Duration::from_secs(1));
    let ready = readyz(&world);
    assert_eq!(ready.status, if refuses { 503 } else { 200 }, "{}", ready.body);
    assert!(ready.body.contains("stale: nothing confirmed for ") && ready.body.contains(said), "{}", ready.body);
    let extender =
        post(&world.sidecar.unix(), "/extender/filter", r#"{"Pod": {"metadata": {"name": "p"}}, "NodeNames": ["n0"]}"#)
            .unwrap();
    let error = extender.json()["Error"].as_str().unwrap().to_owned();
    assert_eq!(!error.is_empty(), refuses, "{error}");
    assert_eq!(get(&world.sidecar.unix(), "/livez").unwrap().status, 200);

    end(&world.server);
    let recovered = timeout::until(|| (readyz(&world).body == "ok\n").then_some(()));
    recovered.unwrap_or_else(|| panic!("{said} is over, and readiness is {}", readyz(&world).body));
    assert!(!age(&world).1);
    logs(&world, &["outage over: "]);
    let begins = logged(&world, &["outage: "]);
    assert_eq!((begins, logged(&world, &["outage over: "])), (1, 1), "{said}: {}", world.sidecar.output());
}

#[test]
fn answers_from_a_quiet_cluster_are_seconds_old_at_most() {
    let _beside = beside_others();
    let world = World::with(3, 2);
    let (began, mut oldest) = (Instant::now(), 0);
    let (mut last, mut confirmed) = (0, 0);
    // Two watches of every kind end meanwhile.
    while began.elapsed() < Duration::from_secs(22) {
        let age = age(&world).0;
        confirmed += u32::from(age < last);
        (last, oldest) = (age, oldest.max(age));
        std::thread::park_timeout(Duration::from_millis(200));
    }
    println!("an answer was {oldest} ms old at most, and the cache was confirmed {confirmed} times");
    assert!(confirmed > 0, "nothing has confirmed the cache");
    timing::at_most("the oldest confirmation", Duration::from_millis(oldest), Duration::from_secs(12));
    assert_eq!(logged(&world, &["outage"]), 0, "{}", world.sidecar.output());
}

#[test]
fn an_outage_is_two_lines_in_the_log_however_many_kinds_and_retries_there_are() {
    let _beside = beside_others();
    let world = World::with(3, 2);
    world.is_followed("Pod");
    world.server.go_down();
    logs(&world, &["outage: API server unreachable"]);
    let requests = || world.metric("nodesift_kube_failures_total", "");
    timeout::until(|| (requests() > 60.0).then_some(())).expect("every kind is retried");
    world.server.come_up();
    logs(&world, &["outage over"]);
    let log = world.sidecar.output();
    let is_alarm = |line: &&str| line.contains("nodesift_source") && (line.contains("WARN") || line.contains("ERROR"));
    let lines: Vec<&str> = log.lines().filter(is_alarm).collect();
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(lines[0].contains("answers grow stale") && lines[0].contains("failure="), "{lines:#?}");
    assert_eq!(logged(&world, &["outage over", "lasted_s"]), 1, "{log}");
}

#[test]
fn a_self_check_without_lists_says_that_nothing_was_compared() {
    let _beside = beside_others();
    let world = World::with(3, 2);
    world.server.go_down();
    world.sidecar.signal("USR1");
    let line = timeout::until(|| {
        let output = world.sidecar.output();
        output.lines().find(|line| line.contains("self-check")).map(str::to_owned)
    });
    let line = line.expect("the self-check is logged");
    assert!(line.contains("self-check incomplete") && line.contains("kinds_not_compared=1"), "{line}");
    assert!(!line.contains("self-check completed"), "{line}");
    world.server.come_up();
    world.converges();
    world.sidecar.signal("USR1");
    logs(&world, &["self-check completed", "differences=0"]);
}

#[test]
fn an_assumed_pod_keeps_its_room_while_the_api_server_is_silent() {
    let _beside = beside_others();
    let server = ApiServer::start();
    fill(&server, 3, 2);
    server.apply(pod("waiting", "", 100));
    let world = World::started(server, &["--assume-ttl", "2s"]);
    world.is_followed("Pod");
    world.server.go_down();
    let assumed = assume(&world, &json!({"pod": by_name("waiting"), "node": "n1"}));
    assert_eq!(assumed.status, 200, "{}", assumed.body);
    logs(&world, &["assumptions kept past their time to live", "default/waiting"]);
    assert!(is_assumed(&world, "waiting"), "long past its time to live");
    assert_eq!(logged(&world, &["assumptions expired"]), 0, "{}", world.sidecar.output());
    // It was never bound: once that is known, its room is given back.
    world.server.come_up();
    timeout::until(|| (!is_assumed(&world, "waiting")).then_some(())).expect("the assumption expires");
    logs(&world, &["assumptions expired", "default/waiting"]);
}

#[test]
fn a_pod_that_was_bound_in_an_outage_never_loses_its_room() {
    let _beside = beside_others();
    let server = ApiServer::start();
    fill(&server, 3, 2);
    server.apply(pod("waiting", "", 100));
    let world = World::started(server, &["--assume-ttl", "2s"]);
    world.is_followed("Pod");
    world.server.go_down();
    assert_eq!(assume(&world, &json!({"pod": by_name("waiting"), "node": "n1"})).status, 200);
    world.server.apply(pod("waiting", "n1", 100));
    logs(&world, &["assumptions kept"]);
    world.server.come_up();
    timeout::until(|| (!is_assumed(&world, "waiting")).then_some(())).expect("the watch confirms it");
    world.converges();
    assert_eq!(logged(&world, &["assumptions expired"]), 0, "{}", world.sidecar.output());
}

#[test]
fn a_late_placement_of_a_pod_that_the_watch_has_shown_deleted_is_refused() {
    let _beside = beside_others();
    let world = World::with(3, 2);
    let mut whole = pod("short", "", 100);
    world.server.apply(whole.clone());
    let state = || get(&world.sidecar.unix(), "/v1/state").unwrap().json();
    let uid = timeout::until(|| {
        let state = state();
        state["pending"].as_array().unwrap().first().map(|pod| pod["uid"].as_str().unwrap().to_owned())
    });
    let uid = uid.expect("the pod is shown");
    whole["metadata"]["uid"] = json!(uid);
    world.server.delete("Pod", "default/short");
    timeout::until(|| state()["pending"].as_array().unwrap().is_empty().then_some(())).expect("its end is shown");
    for reference in [json!({"object": whole}), json!({"uid": uid})] {
        let late = assume(&world, &json!({"pod": reference, "node": "n1", "ttlMs": 3_600_000}));
        assert!(late.status == 404 && late.body.contains("was deleted or has ended"), "{}: {}", late.status, late.body);
    }
}
