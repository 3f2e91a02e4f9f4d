//! Placements of pods with claims on devices: what claims get, and when devices are free again.

#![allow(clippy::unwrap_used)]

use std::sync::Barrier;
use std::thread;

use nodesift_proto::v1::{self, pod};
use serde_json::{Value, json};

use super::*;
use crate::calls::testing;
use crate::{Readiness, Settings};
use nodesift_cache::metadata::{self, SliceRecord};
use nodesift_cache::{self as cache, SharedWriter};
use nodesift_engine::{ActivePolicy, ActivePredicate, Breaker, Engine, Mode, OnError, Phases, PolicySettings};
use nodesift_sandbox::{Grants, Runtime};
use nodesift_tests::guest::Guest;

/// A service with these predicates over the nodes `n` and `m` with one device each and `k` with none. The claims and pods of these
/// names ask for one device; the pod `x` asks for an extended resource, and `none` for nothing.
fn service(predicates: &[&str], names: &[&str]) -> Service {
    service_by(testing::active(predicates), names)
}

/// A service over the same nodes, claims and pods as `service`, with a policy.
fn service_by((active, runtime): (ActivePolicy, Runtime), names: &[&str]) -> Service {
    let (mut writer, reader) = cache::new();
    let selection = active.selection();

    for name in ["n", "m", "k"] {
        let node = json!({"metadata": {"name": name}, "status": {"allocatable": {"cpu": "1", "pods": "110"}}});
        writer.apply(metadata::node(&read(&node)));
    }
    ["n", "m"].iter().for_each(|node| writer.apply(SliceRecord::compile(&read(&slice(node)))));
    let class = json!({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "x.io/gpu"}});
    writer.apply(metadata::device_class(&read(&class)));
    names.iter().for_each(|name| writer.apply(metadata::resource_claim(&read(&claim(name)))));
    let pods = names.iter().copied().chain(["x", "none"]).map(pod_of);
    pods.for_each(|pod| writer.apply(metadata::pod_record_selecting(&read(&pod), &[], &selection)));
    writer.publish();
    let engine = Arc::new(Engine::new(reader, active, runtime));
    Service::new(engine, SharedWriter::new(writer.into()), Readiness::default(), Settings::default())
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn slice(node: &str) -> Value {
    json!({"metadata": {"name": node}, "spec": {"driver": "d", "nodeName": node, "devices": [{"name": "g"}],
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}})
}

fn claim(name: &str) -> Value {
    let exactly = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1});
    json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("claim-{name}")},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}})
}

fn pod_of(name: &str) -> Value {
    let mut pod =
        json!({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {"containers": [{"name": "c"}]}});
    match name {
        "none" => {}
        "x" => pod["spec"]["containers"][0]["resources"] = json!({"requests": {"x.io/gpu": "1"}}),
        _ => pod["spec"]["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": name}]),
    }
    pod
}

fn uid(uid: &str) -> Option<v1::Pod> {
    Some(v1::Pod::from(pod::Pod::Uid(uid.to_owned())))
}

fn request(pod: Option<v1::Pod>, node: &str) -> v1::AssumeRequest {
    v1::AssumeRequest { pod, node: node.to_owned(), allocate: true, ..v1::AssumeRequest::default() }
}

fn assume(service: &Service, name: &str, node: &str) -> Result<v1::AssumeResponse, Error> {
    service.assume_now(request(uid(name), node))
}

/// The pools of the devices that an answer gives, claim by claim.
fn pools(answer: &v1::AssumeResponse) -> Vec<(String, Value)> {
    let pool = |given: &v1::ClaimAllocation| {
        let result: Value = serde_json::from_str(&given.allocation).unwrap();
        (given.claim.clone(), result["devices"]["results"][0]["pool"].clone())
    };
    answer.allocations.iter().map(pool).collect()
}

/// That a pod has got a device of a node.
fn gets(service: &Service, name: &str, node: &str) -> v1::Placed {
    let answer = assume(service, name, node).unwrap();
    assert_eq!(pools(&answer), [(format!("ns/{name}"), json!(node))]);
    assert_eq!(answer.allocations[0].uid, format!("claim-{name}"));
    answer.placed()
}

/// That a pod is refused on a node, with this reason.
fn refused(service: &Service, name: &str, node: &str, reason: &str) {
    let before = service.writer().lock().assumption(name).map(|assumption| assumption.node.to_string());
    let error = assume(service, name, node).unwrap_err();
    assert_eq!(error.status().0, tonic::Code::FailedPrecondition, "{error}");
    assert!(error.text().contains(reason), "{error}");
    let after = service.writer().lock().assumption(name).map(|assumption| assumption.node.to_string());
    assert_eq!(before, after, "a refusal changes nothing");
}

fn forget(service: &Service, name: &str) {
    assert!(service.forget_now(v1::ForgetRequest { pod: uid(name) }).unwrap().was_assumed);
}

const TAKEN: &str = "cannot allocate all claims";

#[test]
fn the_last_device_is_given_once_and_again_when_its_pod_is_forgotten_or_expires() {
    let service = service(&["NodeName", "DynamicResources"], &["a", "b"]);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Assumed);
    refused(&service, "b", "n", TAKEN);
    forget(&service, "a");
    assert_eq!(gets(&service, "b", "n"), v1::Placed::Assumed);
    refused(&service, "a", "n", TAKEN);
    let mut writer = service.writer().lock();
    let deadline = writer.assumption("b").unwrap().until;
    assert_eq!(writer.expire(deadline).count, 1);
    drop(writer);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Assumed);
}

#[test]
fn threads_that_race_for_the_last_device_never_both_get_it() {
    const RACES: usize = 300;
    let names = ["a", "b", "c", "d"];
    let service = service(&["DynamicResources"], &names);
    let barrier = Barrier::new(names.len());
    let racer = |name: &str| -> usize {
        let mut won = 0;
        for _ in 0..RACES {
            barrier.wait();
            let outcome = loop {
                match assume(&service, name, "n") {
                    // This thread did not run for so long.
                    Err(Error::CheckInterrupted) => {}
                    outcome => break outcome,
                }
            };
            barrier.wait();
            match outcome {
                Ok(_) => won += usize::from(service.forget_now(v1::ForgetRequest { pod: uid(name) }).is_ok()),
                Err(error) => assert!(error.text().contains(TAKEN), "{error}"),
            }
            barrier.wait();
        }
        won
    };
    let won: usize = thread::scope(|scope| {
        let threads: Vec<_> = names.iter().map(|name| scope.spawn(|| racer(name))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, RACES);
}

#[test]
fn what_takes_too_long_under_the_lock_is_interrupted_and_changes_nothing() {
    let (mut active, runtime) = testing::active(&["DynamicResources"]);
    // It writes a line into the log, and never ends.
    let endless = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/log@0.2.0" "write" (func $write (param i32 i32 i32)))"#)
        .filter(
            "(call $write (i32.const 0) (i32.const 144) (i32.const 5)) (loop $forever (br $forever)) (unreachable)",
        );
    let grants = Grants { time_per_call: Some(testing::CALL_TIME), ..Grants::default() };
    let module = Arc::new(runtime.load(&endless.component(), grants).unwrap());
    let endless = ActivePredicate {
        name: Arc::from("Endless"),
        phases: Phases::ALL,
        on_error: OnError::Reject,
        mode: Mode::Enforce,
        digest: [0; 32],
        module: Arc::clone(&module),
        counts: Arc::default(),
        breaker: Arc::new(Breaker::that_never_opens()),
        is_beside: false,
    };
    active.predicates.insert(0, endless);
    let service = service_by((active, runtime), &["a", "b"]);
    // The first has something in flight from an earlier call.
    let plain = v1::AssumeRequest { allocate: false, ..request(uid("a"), "n") };
    assert_eq!(service.assume_now(plain).unwrap().placed(), v1::Placed::Assumed);
    service.writer().lock().hold_for_pod("a", &[(Arc::from("claim-a"), Vec::new())]).unwrap();
    for name in ["a", "b"] {
        let request = service.assume_plan("", request(uid(name), "m")).unwrap();
        let before = module.log_counts();
        // Where this thread does not run for all of the time, the predicate is not called.
        while module.log_counts() == before {
            let mut writer = service.writer().lock();
            let plan = service.plan(&mut writer, &request).unwrap();
            let error = service.evaluate_locked(&mut writer, &request, &plan, None).unwrap_err();
            assert_eq!(error.status().0, tonic::Code::Aborted, "{error}");
            assert!(error.text().contains("try again"), "{error}");
            assert_eq!(writer.held_for_pod(&Arc::from(name)).is_some(), name == "a");
            let node = writer.assumption(name).map(|assumption| assumption.node.to_string());
            assert_eq!(node.as_deref(), Some("n").filter(|_| name == "a"));
        }
    }
}

#[test]
fn a_pod_that_holds_devices_is_evaluated_without_the_lock_and_keeps_them_meanwhile() {
    let service = service(&["DynamicResources"], &["a", "b"]);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Assumed);
    let request = service.assume_plan("", request(uid("a"), "n")).unwrap();
    // Under the lock there is no time for anything but a comparison.
    let locked = |found: Option<Found>, writer: &mut Writer| {
        let plan = service.plan(writer, &request).unwrap();
        (service.evaluate_locked_within(Duration::ZERO, writer, &request, &plan, found), plan)
    };
    let found = service.evaluate_unlocked(&request, testing::patient()).unwrap();
    assert!(found.is_some());
    // Meanwhile nobody else gets them.
    refused(&service, "b", "n", TAKEN);
    let mut writer = service.writer().lock();
    let (allocations, plan) = locked(found, &mut writer);
    let until = Instant::now() + limits::ASSUME_TTL;
    assert_eq!(service.place(&mut writer, &plan, until, &allocations.unwrap()).unwrap(), Placed::Renewed);
    writer.publish();
    drop(writer);
    refused(&service, "b", "n", TAKEN);
    // What was found says nothing any more once something has changed.
    let found = service.evaluate_unlocked(&request, testing::patient()).unwrap();
    assert!(found.is_some());
    assert_eq!(gets(&service, "b", "m"), v1::Placed::Assumed);
    let mut writer = service.writer().lock();
    assert!(matches!(locked(found, &mut writer).0, Err(Error::CheckInterrupted)));
    drop(writer);
    forget(&service, "b");
    refused(&service, "b", "n", TAKEN);
}

#[test]
fn where_there_is_no_time_under_the_lock_nothing_changes() {
    let service = service(&["NodeName", "DynamicResources"], &["a", "b"]);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Assumed);
    for name in ["a", "b"] {
        let plan_of = v1::AssumeRequest { check: true, ..request(uid(name), "m") };
        let request = service.assume_plan("", plan_of).unwrap();
        let mut writer = service.writer().lock();
        let plan = service.plan(&mut writer, &request).unwrap();
        let error = service.evaluate_locked_within(Duration::ZERO, &mut writer, &request, &plan, None).unwrap_err();
        assert_eq!(error.status().0, tonic::Code::Aborted, "{error}");
        assert!(error.text().contains("try again"), "{error}");
        drop(writer);
        // What the pod has held it still holds.
        refused(&service, "b", "n", TAKEN);
    }
    assert_eq!(gets(&service, "b", "m"), v1::Placed::Assumed);
}

#[test]
fn a_call_that_is_repeated_or_about_another_node_is_not_in_its_own_way() {
    let service = service(&["DynamicResources"], &["a", "b"]);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Assumed);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Renewed, "its answer may have been lost");
    let generation = service.reader().snapshot().generation().0;
    let same = v1::AssumeRequest { if_generation: Some(generation), ..request(uid("a"), "n") };
    assert_eq!(service.assume_now(same).unwrap().placed(), v1::Placed::Renewed, "nothing else has changed");
    refused(&service, "b", "n", TAKEN);
    assert_eq!(gets(&service, "a", "m"), v1::Placed::Moved);
    assert_eq!(gets(&service, "b", "n"), v1::Placed::Assumed, "the hold on the other node has ended");
    refused(&service, "a", "k", TAKEN);
    refused(&service, "a", "n", TAKEN);
    forget(&service, "b");
    refused(&service, "b", "m", TAKEN);
}

#[test]
fn a_pod_that_is_assumed_already_gets_devices_afterwards() {
    let service = service(&["DynamicResources"], &["a", "b"]);
    let plain = v1::AssumeRequest { allocate: false, ..request(uid("a"), "n") };
    let answer = service.assume_now(plain.clone()).unwrap();
    assert_eq!((answer.placed(), pools(&answer)), (v1::Placed::Assumed, Vec::new()));
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Renewed);
    refused(&service, "b", "n", TAKEN);
    assert_eq!(service.assume_now(plain).unwrap().placed(), v1::Placed::Renewed, "which leaves its devices");
    refused(&service, "b", "n", TAKEN);
}

#[test]
fn devices_are_in_flight_until_the_claim_shows_them() {
    let service = service(&["DynamicResources"], &["a", "b"]);
    let answer = assume(&service, "a", "n").unwrap();
    let result: Value = serde_json::from_str(&answer.allocations[0].allocation).unwrap();
    let mut shown = claim("a");
    shown["status"] = json!({"allocation": result, "reservedFor": [{"resource": "pods", "name": "a", "uid": "a"}]});
    let mut writer = service.writer().lock();
    assert!(writer.held_for_pod(&Arc::from("a")).is_some());
    writer.apply(metadata::resource_claim(&read(&shown)));
    writer.publish();
    assert!(writer.held_for_pod(&Arc::from("a")).is_none());
    drop(writer);
    refused(&service, "b", "n", TAKEN);
    let again = assume(&service, "a", "n").unwrap();
    assert_eq!((again.placed(), pools(&again)), (v1::Placed::Renewed, Vec::new()), "all claims are allocated");
    forget(&service, "a");
    refused(&service, "b", "n", TAKEN);
    refused(&service, "a", "m", "resourceclaim not available on the node");
    // The status is taken back.
    service.writer().lock().apply(metadata::resource_claim(&read(&claim("a"))));
    assert_eq!(gets(&service, "b", "n"), v1::Placed::Assumed);
}

#[test]
fn extended_resources_get_a_claim_that_is_to_be_made() {
    let service = service(&["DynamicResources"], &["a"]);
    let answer = assume(&service, "x", "n").unwrap();
    assert_eq!(pools(&answer), [(String::new(), json!("n"))]);
    let [given] = answer.allocations.as_slice() else { unreachable!("one claim") };
    let (spec, mappings): (Value, Value) =
        (serde_json::from_str(&given.spec).unwrap(), serde_json::from_str(&given.request_mappings).unwrap());
    let request = &spec["devices"]["requests"][0];
    assert_eq!(request["exactly"]["deviceClassName"], "gpu");
    let mapping = json!([{"containerName": "c", "resourceName": "x.io/gpu", "requestName": request["name"]}]);
    assert_eq!((mappings, given.uid.as_str()), (mapping, ""));
    refused(&service, "a", "n", TAKEN);
    assert_eq!(assume(&service, "x", "m").unwrap().placed(), v1::Placed::Moved);
    assert_eq!(gets(&service, "a", "n"), v1::Placed::Assumed);
}

#[test]
fn pods_given_whole_without_claims_or_bound_get_what_there_is_for_them() {
    let service = service(&["DynamicResources"], &["a", "b"]);
    let none = assume(&service, "none", "k").unwrap();
    assert_eq!((none.placed(), none.allocations.len()), (v1::Placed::Assumed, 0));
    // The cache has the claim, and has never seen the pod.
    let mut whole = pod_of("a");
    whole["metadata"]["name"] = json!("new");
    whole["metadata"]["uid"] = json!("new");
    let whole = Some(v1::Pod::from(pod::Pod::Json(whole.to_string())));
    let answer = service.assume_now(request(whole.clone(), "n")).unwrap();
    assert_eq!(pools(&answer), [("ns/a".to_owned(), json!("n"))]);
    refused(&service, "b", "n", TAKEN);
    assert!(service.forget_now(v1::ForgetRequest { pod: whole }).unwrap().was_assumed);
    assert_eq!(gets(&service, "b", "n"), v1::Placed::Assumed);
    let mut bound = pod_of("b");
    bound["spec"]["nodeName"] = json!("n");
    let selection = service.engine().policy().selection();
    let mut writer = service.writer().lock();
    writer.apply(metadata::pod_record_selecting(&read(&bound), &[], &selection));
    writer.publish();
    drop(writer);
    let answer = assume(&service, "b", "n").unwrap();
    assert_eq!((answer.placed(), answer.allocations.len()), (v1::Placed::AlreadyBound, 0));
    refused(&service, "a", "n", TAKEN);
}

#[test]
fn a_policy_that_gives_no_devices_refuses_pods_with_claims_only() {
    let mut policy = service(&["NodeName"], &["a"]);
    assert_eq!(assume(&policy, "none", "n").unwrap().allocations.len(), 0);
    refused(&policy, "a", "n", "DynamicResources");
    // Where the policy lets pods with claims pass.
    let engine = policy.engine();
    let active = ActivePolicy::clone(&engine.policy());
    let settings = PolicySettings { on_unsupported: OnError::Ignore, ..PolicySettings::default() };
    let active = ActivePolicy { settings: Arc::new(settings), ..active };
    let engine = Engine::new(policy.reader().clone(), active, Runtime::start(None).unwrap());
    policy = Service::new(Arc::new(engine), policy.writer().clone(), Readiness::default(), Settings::default());
    refused(&policy, "a", "n", "no predicate of the policy gives devices to claims");
}
