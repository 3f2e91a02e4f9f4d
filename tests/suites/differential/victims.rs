//! Preemption queries with victims that the newest snapshot does not show yet, and with very many victims.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_cache::metadata::{self, PodRecord};
use nodesift_cache::{self as cache, Identity, OverlayError, Reader, Writer};
use nodesift_engine::{Candidate, Engine, Error, OverlaySpec, PodRef, Preemption};
use nodesift_object::Pod;
use nodesift_tests::timing;
use serde_json::json;

use crate::{default_policy, runtime};

/// The largest number of victims in one query.
const VICTIMS: usize = nodesift_api::limits::REQUEST_VICTIMS;

/// Limit on the time: far above a linear algorithm's, far below that of comparing all pairs of victims.
const VICTIMS_TIME: Duration = Duration::from_secs(5);

fn engine(reader: Reader) -> Engine {
    let runtime = runtime();
    let active = nodesift_policy::activate(&default_policy(), 1, &runtime).unwrap();
    Engine::new(reader, active, runtime)
}

/// A cache with one node that has room for one pod.
fn cluster() -> (Writer, Reader) {
    let (mut writer, reader) = cache::new();
    let node = json!({
        "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "200000"}}
    });
    writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    (writer, reader)
}

fn pod(name: &str, node: Option<&str>) -> Pod {
    let requests = json!({"requests": {"cpu": "1"}});
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": requests}]}
    }))
    .unwrap()
}

fn record(name: &str) -> PodRecord {
    metadata::pod_record(&pod(name, Some("n")), &["default-scheduler".to_owned()])
}

fn question(victims: &[&str]) -> Preemption {
    let victims = victims.iter().map(|uid| (*uid).to_owned()).collect();
    let candidates = vec![Candidate { node: "n".to_owned(), victims, start: 0 }];
    Preemption { pod: PodRef::Whole(Box::new(pod("preemptor", None))), candidates, deadline: None }
}

#[test]
fn a_victim_that_changes_this_moment_is_looked_at_again_and_not_taken_for_nobody() {
    let (mut writer, reader) = cluster();
    writer.apply(record("victim"));
    writer.publish();
    let engine = engine(reader);
    let query = question(&["victim"]);
    assert_eq!(engine.preempt(&query, &engine.snapshot()).unwrap().outcomes[0].index, Some(0));

    let is_unsettled = |error: Error| matches!(error, Error::Overlay(OverlayError::Unsettled { .. }));
    writer.apply(PodRecord { terminating: true, ..record("victim") });
    assert!(is_unsettled(engine.preempt(&query, &engine.snapshot()).unwrap_err()), "nothing was published meanwhile");
    writer.publish();
    assert_eq!(
        engine.preempt(&query, &engine.snapshot()).unwrap().outcomes[0].index,
        Some(0),
        "the next publication shows it"
    );

    // A removed pod still takes resources in the newest snapshot.
    writer.remove(&Identity::pod("victim"));
    assert!(is_unsettled(engine.preempt(&query, &engine.snapshot()).unwrap_err()));
    writer.publish();
    assert_eq!(
        engine.preempt(&query, &engine.snapshot()).unwrap().outcomes[0].index,
        Some(0),
        "there is room without it"
    );
}

#[test]
fn preemption_is_not_answered_from_a_cluster_as_it_is_not() {
    let (mut writer, reader) = cluster();
    writer.apply(record("victim"));
    writer.publish();
    let engine = engine(reader);
    let what_if = OverlaySpec { removed: vec![PodRef::Uid("victim".to_owned())], ..OverlaySpec::default() };
    let supposed = engine.overlay_snapshot(&what_if).unwrap();
    let refused = engine.preempt(&question(&["victim"]), &supposed).unwrap_err();
    assert!(matches!(refused, Error::PreemptionWithOverlay), "{refused}");
}

#[test]
fn very_many_victims_take_a_time_that_grows_with_their_number_and_not_with_its_square() {
    let (mut writer, reader) = cluster();
    let first = record("victim-0");
    for number in 0..VICTIMS {
        let name: Arc<str> = Arc::from(format!("victim-{number}"));
        writer.apply(PodRecord { uid: Arc::clone(&name), name, ..first.clone() });
    }
    writer.publish();
    let engine = engine(reader);
    let victims: Vec<String> = (0..VICTIMS).map(|number| format!("victim-{number}")).collect();
    let candidates = vec![Candidate { node: "n".to_owned(), start: VICTIMS - 1, victims }];
    let query = Preemption { pod: PodRef::Whole(Box::new(pod("preemptor", None))), candidates, deadline: None };
    let started = Instant::now();
    let answer = engine.preempt(&query, &engine.snapshot()).unwrap();
    let taken = started.elapsed();
    println!("{VICTIMS} victims in {taken:?}");
    assert!(answer.faults.is_empty(), "{:?}", answer.faults);
    assert_eq!(answer.outcomes[0].index, Some(VICTIMS - 1));
    timing::figure("a search for victims", taken, VICTIMS_TIME);
}
