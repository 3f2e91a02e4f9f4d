//! Overlays: the engine answers from its cache with an overlay, the reference from objects that were really changed. The
//! changes are the next events of a random history. Every query is also made without the overlay, before and after: cached
//! verdicts must not be used for an overlay, nor come from one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use nodesift_cache::OverlayError;
use nodesift_engine::{Depth, Engine, Error, Options, OverlaySpec, PodRef, Query};
use nodesift_fixtures::cluster::{Cluster, is_over};
use nodesift_fixtures::json::{key, name, text};
use nodesift_fixtures::random::{Event, History};
use nodesift_reference::{explain, filters};
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::comparison::{self, Answered};
use crate::mirror::{self, Mirror};
use crate::seeds::Seeds;
use crate::{FIXED_PART, SHOWN, cases_from_environment, default_policy, engine};

/// Default number of clusters: some seconds of one core.
const CLUSTERS: u64 = 12;

/// Overlays per cluster. The changes of each are then applied.
const ROUNDS: usize = 4;

/// Number of pods per overlay.
const PODS: usize = 3;

/// Pods that change all the time, and overlays that name some of them.
const CHANGING_PODS: usize = 200;
const CHANGING_OVERLAYS: usize = 500;

#[test]
fn answers_under_an_overlay_are_those_of_a_cluster_that_was_really_changed() {
    let count = cases_from_environment("NODESIFT_OVERLAY_CLUSTERS", CLUSTERS);
    let seeds = Seeds::for_run(count / FIXED_PART);
    let policy = default_policy();
    let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
    let filters = filters::named(&names);
    let (mut supposed, mut differences) = ([0; 3], Vec::new());
    for seed in seeds.take(count) {
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(history.cluster.objects());
        let engine = engine(&policy, &mirror);
        for round in 0..ROUNDS {
            let before = history.cluster.clone();
            let events = history.advance();
            let (real, hypothetical) = divide(&events, &before);
            mirror.follow(&real);
            let what_if = what_if(&before, &history.cluster, &hypothetical);
            for (count, more) in
                supposed.iter_mut().zip([what_if.nodes.len(), what_if.removed.len(), what_if.added.len()])
            {
                *count += more;
            }
            for _ in 0..PODS {
                let pod = history.asked_pod();
                let explanation = explain(&history.cluster, &pod, &filters);
                let nodes: Vec<String> = history.cluster.nodes().map(|node| name(node).to_owned()).collect();
                for depth in [Depth::Each, Depth::FirstFailure] {
                    let as_it_is = ask(&engine, &OverlaySpec::default(), &pod, depth);
                    let found = ask(&engine, &what_if, &pod, depth);
                    let mut found = comparison::differences(&found, &explanation, &nodes, depth);
                    let afterwards = ask(&engine, &OverlaySpec::default(), &pod, depth);
                    if as_it_is != afterwards {
                        found.push(format!("the overlay changed a later answer: {as_it_is:?}, then {afterwards:?}"));
                    }
                    if !found.is_empty() {
                        differences.push(format!("seed {seed}, round {round}: {found:?}\n  {what_if:?}\n  pod {pod}"));
                    }
                }
            }
            mirror.follow(&events);
        }
        assert!(differences.len() < SHOWN, "{}", differences.join("\n"));
    }
    println!("nodes, pods removed, pods added: {supposed:?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(count < CLUSTERS || supposed.iter().all(|count| *count > 0), "overlays of every kind");
}

#[test]
fn an_overlay_waits_for_what_is_changing_this_moment() {
    let policy = default_policy();
    let object = |pod: usize, round: usize| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p{pod}"), "namespace": "ns", "uid": format!("uid-{pod}")},
            "spec": {"nodeName": format!("n{}", (pod + round) % 2), "containers": [
                {"name": "c", "resources": {"requests": {"cpu": format!("{}m", round % 7 + 1)}}}]}})
    };
    let mut mirror = Mirror::new(policy.scheduler_names.clone());
    let nodes: Vec<Value> = (0..2)
        .map(|node| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{node}")}}))
        .collect();
    let pods: Vec<Value> = (0..CHANGING_PODS).map(|pod| object(pod, 0)).collect();
    mirror.load(nodes.iter().chain(&pods));
    let engine = engine(&policy, &mirror);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each round changes some of the pods and then publishes.
            for round in 1.. {
                let some = (0..CHANGING_PODS).filter(|pod| pod % 4 == round % 4);
                let events: Vec<Event> = some.map(|pod| Event::Apply(Box::new(object(pod, round)))).collect();
                mirror.follow(&events);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let mut random = fastrand::Rng::new();
        for _ in 0..CHANGING_OVERLAYS {
            let removed = (0..8).map(|_| PodRef::Uid(format!("uid-{}", random.usize(0..CHANGING_PODS)))).collect();
            let what_if = OverlaySpec { removed, ..OverlaySpec::default() };
            // Fails while the other thread is between a change and its publication.
            let supposed = timeout::until(|| match engine.overlay_snapshot(&what_if) {
                Err(Error::Overlay(OverlayError::Unsettled { .. })) => None,
                supposed => Some(supposed),
            });
            if !matches!(supposed, Some(Ok(_))) {
                is_over.store(true, Ordering::Relaxed);
            }
            supposed.expect("no unsettled pod").expect("an overlay of existing pods");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

fn ask(engine: &Engine, what_if: &OverlaySpec, pod: &Value, depth: Depth) -> Answered {
    let query = Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))]).with_depth(depth);
    let snapshot = engine.overlay_snapshot(what_if).expect("an overlay of existing objects");
    Answered::new(&engine.answer(&query, Options::on(&snapshot)).expect("an answer"))
}

/// Whether a pod is neither bound nor terminated.
fn is_waiting(pod: &Value) -> bool {
    text(pod, "spec.nodeName").is_empty() && !is_over(pod)
}

/// Whether an overlay can express an event.
fn is_hypothetical(event: &Event) -> bool {
    match event {
        // An overlay cannot express a nomination.
        Event::Apply(object) if text(object, "kind") == "Pod" => !is_waiting(object),
        Event::Apply(object) => text(object, "kind") == "Node",
        Event::Remove(object) => text(object, "kind") == "Pod",
    }
}

/// Events that really happen, and those that an overlay describes instead. What follows of a pod that really appears in the same round
/// really happens, such as its end: the overlay is the difference from the start of the round, which does not contain the pod.
fn divide(events: &[Event], before: &Cluster) -> (Vec<Event>, Vec<Event>) {
    let mut appeared: BTreeSet<String> = BTreeSet::new();
    events.iter().cloned().partition(|event| match event {
        Event::Apply(object) | Event::Remove(object)
            if text(object, "kind") == "Pod" && appeared.contains(&key(object)) =>
        {
            true
        }
        event if is_hypothetical(event) => false,
        Event::Apply(object) | Event::Remove(object) => {
            if text(object, "kind") == "Pod" && before.get("Pod", &key(object)).is_none() {
                appeared.insert(key(object));
            }
            true
        }
    })
}

/// The overlay that turns one cluster into the other, except for the events that are really applied.
fn what_if(before: &Cluster, after: &Cluster, events: &[Event]) -> OverlaySpec {
    let pods = |cluster: &Cluster| -> BTreeMap<String, Value> {
        let there = cluster.all("Pod").filter(|pod| !is_over(pod));
        there.map(|pod| (text(pod, "metadata.uid").to_owned(), pod.clone())).collect()
    };
    let (old, new) = (pods(before), pods(after));
    let has_node = |pod: &&Value| after.get("Node", text(pod, "spec.nodeName")).is_some();
    let changed_nodes: BTreeMap<String, &Value> = events
        .iter()
        .filter_map(|event| match event {
            Event::Apply(object) if text(object, "kind") == "Node" => Some(key(object)),
            _ => None,
        })
        .filter_map(|key| Some((key.clone(), after.get("Node", &key)?)))
        .collect();
    OverlaySpec {
        nodes: changed_nodes.values().map(|node| mirror::node(node)).collect(),
        removed: old
            .iter()
            .filter(|(uid, pod)| new.get(*uid).is_none_or(|now| now != *pod && !is_waiting(now)))
            .map(|(uid, _)| PodRef::Uid(uid.clone()))
            .collect(),
        added: new
            .iter()
            .filter(|(uid, pod)| old.get(*uid) != Some(*pod) && has_node(pod))
            .map(|(_, pod)| (PodRef::Whole(Box::new(mirror::pod(pod))), text(pod, "spec.nodeName").to_owned()))
            .collect(),
    }
}
