//! Metrics: nothing in a request becomes a label value.

use nodesift_tests::machine::beside_others;
use nodesift_tests::{http, timeout};
use serde_json::{Value, json};

use crate::arena::{Arena, about, in_time, pending_objects};

/// Distinct names in requests.
const NAMES: usize = 100_000;
/// Number of names per request.
const NAMES_EACH: usize = 1_000;
/// Limit on the number of series.
const SERIES: usize = 2_000;

fn series(arena: &Arena) -> Vec<String> {
    let shown = || Some(http::get(&arena.sidecar.unix(), "/metrics").unwrap().body);
    // Memory metrics are omitted while the cache is busy, those of pending pods until the first pass over them has ended.
    let whole = |text: &String| {
        ["nodesift_cache_orphan_pods ", "nodesift_pending_list_age_seconds "].iter().all(|name| text.contains(name))
    };
    let text = timeout::until(|| shown().filter(whole)).expect("all series");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut series: Vec<String> = lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect();
    series.sort_unstable();
    series
}

/// Returns the series that no request adds. Calls, codes, kinds of faults and causes are fixed sets, whose series appear with their
/// first use (of a cause with the first pass over the pending pods that finds one); their number is limited by that of all series.
fn not_from_requests(series: &[String]) -> Vec<&String> {
    let fixed = [
        "nodesift_api_request",
        "nodesift_predicate_fault",
        "nodesift_scorer_fault",
        "nodesift_pending_pod_oldest_timestamp",
    ];
    series.iter().filter(|series| !fixed.iter().any(|family| series.starts_with(family))).collect()
}

/// Names the series of one list only: the two whole lists would hide them.
fn assert_same(before: &[String], after: &[String]) {
    let (before, after) = (not_from_requests(before), not_from_requests(after));
    let one_only: Vec<_> = before
        .iter()
        .filter(|series| !after.contains(series))
        .chain(after.iter().filter(|series| !before.contains(series)))
        .collect();
    assert!(one_only.is_empty(), "{one_only:?}");
}

#[test]
fn a14_a_hundred_thousand_names_leave_no_series() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    arena.goes_on();
    let before = series(&arena);
    let mut wire = arena.wire();
    let pod = &pending_objects()[0];
    for first in (0..NAMES).step_by(NAMES_EACH) {
        // Unknown nodes, pods, labels, schedulers, paths and methods.
        let names: Vec<String> = (first..first + NAMES_EACH).map(|at| format!("node-{at}")).collect();
        let reply = wire.post("/extender/filter", json!({"Pod": pod, "NodeNames": names}).to_string()).unwrap();
        assert_eq!(reply.json()["FailedNodes"].as_object().unwrap().len(), NAMES_EACH);
        let mut other = pod.clone();
        other["metadata"] = json!({"name": format!("pod-{first}"), "namespace": format!("ns-{first}"), "labels": {format!("l{first}"): "x"}});
        other["spec"]["schedulerName"] = json!(format!("scheduler-{first}"));
        other["spec"]["nodeSelector"] = json!({format!("example.com/{first}"): "x"});
        other["spec"]["containers"][0]["resources"]["requests"][format!("example.com/device-{first}")] = json!("1");
        let answer = wire.post("/v1/explain", about(&[json!({"object": other})]).to_string()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let wrong: [(String, Value); 3] = [
            ("/v1/predicates".into(), json!({"allocationKey": format!("uid-{first}"), "nodeID": "n"})),
            ("/v1/filter".into(), json!({format!("field{first}"): 1})),
            (format!("/v1/{first}"), json!({})),
        ];
        for (path, body) in wrong {
            wire.post(&path, body.to_string()).unwrap();
        }
    }
    let after = series(&arena);
    println!("{} series", after.len());
    assert!(after.len() <= SERIES, "{} series", after.len());
    assert_same(&before, &after);
    arena.goes_on();
}

#[test]
fn a14_as_many_reasons_as_nodes_leave_no_series() {
    const NODES: usize = 300;
    let _beside = beside_others();
    // Each node lacks a device that all others have.
    let devices = |lacking: Option<usize>| -> Value {
        let there = (0..NODES).filter(|at| Some(*at) != lacking);
        there.map(|at| (format!("example.com/device-{at}"), json!("1"))).collect::<serde_json::Map<_, _>>().into()
    };
    let node = |at: usize| {
        let mut allocatable = devices(Some(at));
        allocatable["pods"] = json!("10");
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{at}")}, "status": {"allocatable": allocatable}})
    };
    let (arena, _folder) = Arena::on((0..NODES).map(node).collect());
    let before = series(&arena);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"requests": devices(None)}}]}});
    let question = about(&[json!({"object": pod})]).to_string();
    let answer = in_time(|| arena.wire().post("/v1/filter", question.clone()).unwrap().json());
    let failures = answer["pods"][0]["failures"].as_array().unwrap();
    assert_eq!(failures.len(), NODES, "a different reason per node: {answer}");
    let after = series(&arena);
    assert!(after.len() <= SERIES, "{} series", after.len());
    assert_same(&before, &after);
}
