//! Pending pods are evaluated before the first request about them: that request finds kept verdicts.

use nodesift_tests::http::ask;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::world::{World, pod};

/// Predicates of the default policy.
const PREDICATES: f64 = 12.0;

fn fates(world: &World, fate: &str) -> f64 {
    world.metric("nodesift_pods_ahead_total", fate)
}

fn verdicts(world: &World) -> [f64; 3] {
    ["kept", "patched", "evaluated"].map(|from| world.metric("nodesift_verdicts_total", from))
}

fn filter(sidecar: &Sidecar, uid: &str) -> Value {
    ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"uid": uid}]}))["pods"][0].clone()
}

fn uid(world: &World, name: &str) -> String {
    let objects = world.server.look(|store| store.objects());
    let found = objects.iter().find(|object| object["kind"] == "Pod" && object["metadata"]["name"] == name);
    found.unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[test]
fn the_first_question_about_a_pending_pod_is_answered_from_kept_verdicts() {
    let world = World::with(6, 2);
    assert_eq!(fates(&world, ""), 0.0, "nobody is pending");
    world.server.apply(pod("new", "", 300));
    timeout::until(|| (fates(&world, "prepared") == 1.0).then_some(()))
        .unwrap_or_else(|| panic!("nothing is prepared:\n{}", world.sidecar.output()));
    let [kept, patched, evaluated] = verdicts(&world);
    assert_eq!(evaluated, PREDICATES, "every predicate was asked ahead");
    let answer = filter(&world.sidecar, &uid(&world, "new"));
    assert_eq!(answer["feasible"].as_array().unwrap().len(), 6, "{answer}");
    assert_eq!(verdicts(&world), [kept + PREDICATES, patched, evaluated]);
}

#[test]
fn every_pod_that_appears_has_one_fate_and_a_template_is_evaluated_once() {
    const PODS: usize = 40;
    let world = World::with(4, 1);
    world.server.change(|store| {
        for number in 0..PODS {
            store.apply(pod(&format!("same-{number}"), "", 300));
        }
        // Not ours to place.
        let mut foreign = pod("foreign", "", 300);
        foreign["spec"]["schedulerName"] = json!("somebody-else");
        store.apply(foreign);
    });
    timeout::until(|| (fates(&world, "") == PODS as f64).then_some(()))
        .unwrap_or_else(|| panic!("{} of {PODS} pods have a fate", fates(&world, "")));
    let [_, _, evaluated] = verdicts(&world);
    assert_eq!(evaluated, PREDICATES, "one template is evaluated once");
    let last = uid(&world, "same-0");
    filter(&world.sidecar, &last);
    assert_eq!(verdicts(&world)[2], evaluated, "what is kept serves all pods of the template");
    assert!(fates(&world, "prepared") >= 1.0 && fates(&world, "dropped") == 0.0);
}
