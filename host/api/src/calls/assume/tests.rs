//! Conditional placements, by threads that race for the last room of a node, and by one request at a time.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use nodesift_proto::v1::pod;
use serde_json::{Value, json};

use super::*;
use crate::calls::changes::Changes;
use crate::calls::testing;
use crate::{Readiness, Settings};
use nodesift_cache::metadata;
use nodesift_cache::{self as cache, Identity, SharedWriter};
use nodesift_engine::Engine;

/// Races for the last room.
const RACES: u32 = 10_000;
/// Threads in each race, each with a pod of its own.
const RACERS: usize = 8;

/// A service over these nodes and pods, with the predicates of this name.
fn service(predicates: &[&str], nodes: &[Value], pods: &[Value]) -> Service {
    let (mut writer, reader) = cache::new();
    let schedulers = vec!["default-scheduler".to_owned()];
    let decoded = |value: &Value| serde_json::from_value(value.clone()).unwrap();
    nodes.iter().for_each(|node| writer.apply(metadata::node(&serde_json::from_value(node.clone()).unwrap())));
    pods.iter().for_each(|pod| writer.apply(metadata::pod_record(&decoded(pod), &schedulers)));
    writer.publish();
    let (active, runtime) = testing::active(predicates);
    let engine = Arc::new(Engine::new(reader, active, runtime));
    Service::new(engine, SharedWriter::new(writer.into()), Readiness::default(), Settings::default())
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
           "status": {"allocatable": {"cpu": "1", "pods": "110"}}})
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web"}},
           "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}})
}

/// A pod with the labels of `pod` that is not to share a node with pods of these labels.
fn alone(name: &str) -> Value {
    let mut pod = pod(name, "100m");
    pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!([{"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}]);
    pod
}

fn uid(uid: &str) -> Option<v1::Pod> {
    Some(v1::Pod::from(pod::Pod::Uid(uid.to_owned())))
}

fn whole(pod: &Value) -> Option<v1::Pod> {
    Some(v1::Pod::from(pod::Pod::Json(pod.to_string())))
}

fn checked(pod: Option<v1::Pod>, node: &str) -> v1::AssumeRequest {
    v1::AssumeRequest { pod, node: node.to_owned(), check: true, ..v1::AssumeRequest::default() }
}

/// Code and text of a refusal.
fn refused(service: &Service, request: v1::AssumeRequest) -> (tonic::Code, String) {
    let error = service.assume_now(request).unwrap_err();
    (error.status().0, error.text())
}

/// CPU that is free on the first node, in millicores.
fn free_cpu(service: &Service) -> i64 {
    let snapshot = service.reader().snapshot();
    *snapshot.resource("cpu").unwrap().free.get(snapshot.node_row("n").unwrap()).unwrap()
}

/// Has every thread assume its pod at the same moment, `races` times; returns how often each number of threads won.
fn race(service: &Service, pods: &[Value], races: u32, check: bool) -> [u32; RACERS + 1] {
    let start = Barrier::new(pods.len());
    let end = Barrier::new(pods.len());
    let winners = AtomicU32::new(0);
    // A thread that panicked would leave the others at the barrier.
    let wrong = Mutex::new(Vec::new());
    let mut won = [0; RACERS + 1];
    let racer = |name: &str| {
        let mut counts = [0; RACERS + 1];
        for _ in 0..races {
            start.wait();
            let outcome = service.assume_now(v1::AssumeRequest { check, ..checked(uid(name), "n") });
            match &outcome {
                Ok(_) => {
                    winners.fetch_add(1, Ordering::Relaxed);
                }
                Err(Error::DoesNotFit { .. }) => {}
                Err(error) => wrong.lock().push(error.text()),
            }
            if end.wait().is_leader() {
                counts[winners.swap(0, Ordering::Relaxed) as usize] += 1;
                if check && free_cpu(service) < 0 {
                    wrong.lock().push("overcommitted".to_owned());
                }
            }
            end.wait();
            if outcome.is_ok()
                && !service
                    .forget_now(v1::ForgetRequest { pod: uid(name) })
                    .is_ok_and(|forgotten| forgotten.was_assumed)
            {
                wrong.lock().push(format!("{name} was not assumed"));
            }
        }
        counts
    };
    thread::scope(|scope| {
        let names = pods.iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap());
        let threads: Vec<_> = names.map(|name| scope.spawn(move || racer(name))).collect();
        for thread in threads {
            thread.join().unwrap().into_iter().zip(&mut won).for_each(|(count, won)| *won += count);
        }
    });
    assert_eq!(wrong.into_inner(), Vec::<String>::new());
    won
}

#[test]
fn one_of_eight_threads_takes_the_last_room_with_check_in_ten_thousand_races() {
    let pods: Vec<Value> = (0..RACERS).map(|number| pod(&format!("p{number}"), "600m")).collect();
    let service = service(&["NodeResourcesFit"], &[node("n")], &pods);
    let started = Instant::now();
    let won = race(&service, &pods, RACES, true);
    println!(
        "{RACES} races of {RACERS} threads in {:.1} s: one winner in {}, none in {}, overcommitted in {}",
        started.elapsed().as_secs_f32(),
        won[1],
        won[0],
        won[2..].iter().sum::<u32>()
    );
    assert_eq!(won[1], RACES, "races by their number of winners: {won:?}");
    assert_eq!(free_cpu(&service), 1_000);
}

#[test]
fn without_check_every_thread_is_taken_at_its_word() {
    let pods: Vec<Value> = (0..RACERS).map(|number| pod(&format!("p{number}"), "600m")).collect();
    let service = service(&["NodeResourcesFit"], &[node("n")], &pods);
    assert_eq!(race(&service, &pods, 100, false)[RACERS], 100);
    let large = service.assume_now(v1::AssumeRequest { check: false, ..checked(whole(&pod("large", "5000")), "n") });
    assert_eq!(large.unwrap().placed(), v1::Placed::Assumed);
}

#[test]
fn a_pod_that_does_not_fit_is_refused_with_predicate_and_reasons_and_changes_nothing() {
    let service = service(&["NodeUnschedulable", "NodeResourcesFit"], &[node("n")], &[pod("p", "600m")]);
    let before = service.reader().snapshot().generation();
    for large in [whole(&pod("large", "5000")), whole(&pod("large", "1001m"))] {
        let (code, text) = refused(&service, checked(large, "n"));
        assert_eq!(code, tonic::Code::FailedPrecondition);
        assert!(text.starts_with("pod ns/large does not fit node \"n\": NodeResourcesFit (Unschedulable"), "{text}");
        assert!(text.ends_with(": Insufficient cpu"), "{text}");
    }
    assert_eq!(service.reader().snapshot().generation(), before);
    assert_eq!(service.assume_now(checked(whole(&pod("new", "400m")), "n")).unwrap().placed(), v1::Placed::Assumed);
    assert_eq!(service.assume_now(checked(uid("p"), "n")).unwrap().placed(), v1::Placed::Assumed);
    assert_eq!(free_cpu(&service), 0);
    let (code, _) = refused(&service, checked(uid("nobody"), "n"));
    assert_eq!(code, tonic::Code::NotFound);
}

#[test]
fn a_pod_that_is_assumed_already_does_not_stand_in_its_own_way() {
    let nodes = [node("n"), node("m")];
    let pods = [alone("a"), alone("b"), pod("full", "1")];
    let service = service(&["NodeName", "NodeResourcesFit", "InterPodAffinity"], &nodes, &pods);
    let placed = |uid_: &str, node: &str| service.assume_now(checked(uid(uid_), node)).unwrap().placed();
    assert_eq!(placed("a", "n"), v1::Placed::Assumed);
    assert_eq!(placed("a", "n"), v1::Placed::Renewed);
    assert_eq!(placed("a", "m"), v1::Placed::Moved, "neither its node nor its own labels keep it away");
    let (_, text) = refused(&service, checked(uid("b"), "m"));
    assert!(text.contains("InterPodAffinity"), "{text}");
    assert_eq!(placed("b", "n"), v1::Placed::Assumed);
    let (_, text) = refused(&service, checked(uid("a"), "n"));
    assert!(text.contains("InterPodAffinity"), "{text}");
    let still = service.writer().lock().assumption("a").map(|assumption| assumption.node.to_string());
    assert_eq!(still.as_deref(), Some("m"), "a refused move leaves the pod where it was");
    let (_, text) = refused(&service, checked(uid("full"), "m"));
    assert!(text.contains("NodeResourcesFit"), "{text}");
}

#[test]
fn a_pod_that_has_become_larger_is_checked_when_it_is_assumed_again() {
    let service = service(&["NodeName", "NodeResourcesFit"], &[node("n")], &[]);
    let placed = |cpu: &str| service.assume_now(checked(whole(&pod("a", cpu)), "n")).map(|answer| answer.placed());
    assert_eq!(placed("400m").unwrap(), v1::Placed::Assumed);
    assert_eq!(placed("900m").unwrap(), v1::Placed::Renewed, "it does not stand in its own way");
    let (_, text) = refused(&service, checked(whole(&pod("a", "5000")), "n"));
    assert!(text.contains("NodeResourcesFit"), "{text}");
    // The pod that counts is still the one that fits.
    let (_, text) = refused(&service, checked(whole(&pod("b", "200m")), "n"));
    assert!(text.contains("NodeResourcesFit"), "{text}");
    assert_eq!(service.assume_now(checked(whole(&pod("b", "100m")), "n")).unwrap().placed(), v1::Placed::Assumed);
}

#[test]
fn if_generation_admits_exactly_the_newest_generation() {
    let service = service(&["NodeResourcesFit"], &[node("n")], &[pod("a", "100m"), pod("b", "100m")]);
    let request = |name: &str, generation: u64| v1::AssumeRequest {
        if_generation: Some(generation),
        check: false,
        ..checked(uid(name), "n")
    };
    let first = service.reader().snapshot().generation().0;
    for other in [first - 1, first + 1, 0, u64::MAX] {
        let (code, text) = refused(&service, request("a", other));
        assert_eq!(code, tonic::Code::Aborted);
        assert!(text.contains(&format!("at generation {first}, and if_generation is {other}")), "{text}");
    }
    let assumed = service.assume_now(request("a", first)).unwrap();
    let next = assumed.version.unwrap().generation;
    assert!(next > first);
    let (code, _) = refused(&service, request("b", first));
    assert_eq!(code, tonic::Code::Aborted, "the decision about b was made before a was placed");
    let both = v1::AssumeRequest { check: true, ..request("b", next) };
    assert_eq!(service.assume_now(both).unwrap().placed(), v1::Placed::Assumed, "placements can be chained");
}

#[test]
fn assumptions_outlive_a_silence_of_the_source_and_what_arrives_after_it() {
    let service = service(&["NodeResourcesFit"], &[node("n")], &[pod("a", "100m")]);
    let start = Instant::now();
    let mut writer = service.writer().lock();
    writer.assume("a", "n", start + Duration::from_secs(30)).unwrap();
    let mut hearing = Hearing::default();
    let mut at = |seconds: u64, silent: u64| {
        let (now, silence) = (start + Duration::from_secs(seconds), Duration::from_secs(silent));
        let expired = hearing.until(now, silence).map(|heard| writer.expire(heard).count).unwrap_or_default();
        let overdue = writer.overdue(now);
        (expired, hearing.is_to_warn(&overdue, now, silence).then(|| overdue.to_string()))
    };
    // Confirmed 5 s ago, before the deadline: what happened at the deadline is not known yet.
    assert_eq!(at(31, 5), (0, None));
    assert_eq!(at(45, 19), (0, Some("ns/a".to_owned())));
    assert_eq!(at(46, 20), (0, None), "warned once");
    assert_eq!(at(200, 174), (0, None));
    // The source is back, and what it has to tell of the outage is on its way.
    assert_eq!(at(201, 0), (0, None));
    assert_eq!(at(204, 0), (0, None));
    assert_eq!(at(205, 0), (1, None));
    assert_eq!(at(300, 60), (0, None), "there is nothing to warn of");
}

#[test]
fn a_warning_names_a_bounded_number_of_pods() {
    let pods: Vec<Value> = (0..25).map(|number| pod(&format!("p{number:02}"), "1m")).collect();
    let service = service(&["NodeResourcesFit"], &[node("n")], &pods);
    let now = Instant::now();
    let mut writer = service.writer().lock();
    for number in 0..25_u64 {
        writer.assume(&format!("p{number:02}"), "n", now + Duration::from_millis(number)).unwrap();
    }
    let overdue = writer.overdue(now + Duration::from_secs(1)).to_string();
    assert!(overdue.starts_with("ns/p00, ns/p01, ") && overdue.ends_with("ns/p09 and 15 more"), "{overdue}");
}

#[test]
fn a_late_placement_of_a_pod_that_is_gone_is_refused() {
    let service = service(&["NodeResourcesFit"], &[node("n")], &[pod("a", "100m"), pod("b", "100m")]);
    service.assume_now(checked(uid("a"), "n")).unwrap();
    {
        let mut writer = service.writer().lock();
        writer.remove(&Identity::pod("a"));
        writer.remove(&Identity::pod("never-shown"));
        // Deleted and created again between two events.
        let again = json!({"metadata": {"name": "b", "namespace": "ns", "uid": "b2"}});
        writer.apply(metadata::pod_record(&serde_json::from_value(again).unwrap(), &[]));
        writer.publish();
    }
    for name in ["a", "never-shown"] {
        for reference in [uid(name), whole(&pod(name, "100m"))] {
            let (code, text) = refused(&service, v1::AssumeRequest { check: false, ..checked(reference, "n") });
            assert_eq!(code, tonic::Code::NotFound, "{text}");
            assert!(text.contains("was deleted or has ended"), "{text}");
        }
    }
    let (_, text) = refused(&service, checked(whole(&pod("b", "100m")), "n"));
    assert!(text.contains("was deleted or has ended"), "{text}");
    assert_eq!(free_cpu(&service), 1_000);
    assert_eq!(service.assume_now(checked(uid("b2"), "n")).unwrap().placed(), v1::Placed::Assumed);
}

#[test]
fn a_change_whose_client_has_given_up_is_not_made_once_the_writer_is_free() {
    let service = service(&["NodeResourcesFit"], &[node("n")], &[pod("a", "100m"), pod("b", "100m")]);
    service.assume_now(checked(uid("b"), "n")).unwrap();
    let soon = || Deadline::after(tokio::time::Instant::now(), Duration::from_millis(20));
    let forget = || v1::ForgetRequest { pod: uid("b") };
    let before = free_cpu(&service);
    let refusals = |deadline: Deadline| {
        let assumed = [false, true]
            .map(|check| service.assume_by(v1::AssumeRequest { check, ..checked(uid("a"), "n") }, deadline).map(drop));
        let changes = Changes {
            forget: vec![forget()],
            assume: vec![v1::AssumeRequest { check: false, ..checked(uid("a"), "n") }],
        };
        let outcomes = service.change_now(changes, deadline);
        let forgotten = service.forget_by(forget(), deadline).map(drop);
        for refused in assumed.into_iter().chain([forgotten]) {
            assert!(matches!(refused, Err(Error::DeadlineExceeded { .. })), "{refused:?}");
        }
        let code = "DEADLINE_EXCEEDED";
        let forgotten = outcomes.forgotten.into_iter().map(|outcome| outcome.outcome.unwrap());
        assert!(
            forgotten
                .clone()
                .all(|outcome| matches!(outcome, v1::forget_outcome::Outcome::Error(error) if error.code == code))
        );
        let assumed = outcomes.assumed.into_iter().map(|outcome| outcome.outcome.unwrap());
        assert!(
            assumed
                .clone()
                .all(|outcome| matches!(outcome, v1::assume_outcome::Outcome::Error(error) if error.code == code))
        );
        assert_eq!((forgotten.len(), assumed.len()), (1, 1));
    };
    let held = service.writer().lock();
    refusals(soon());
    drop(held);
    // Free, but too late.
    refusals(Deadline::after(tokio::time::Instant::now(), Duration::ZERO));
    assert_eq!(free_cpu(&service), before);
    assert!(service.forget_now(forget()).unwrap().was_assumed);
}
