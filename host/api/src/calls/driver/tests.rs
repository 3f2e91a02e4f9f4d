//! The driver with scripted calls, and with `Filter` over both protocols. Time stands still unless every task waits.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::thread::{self, ThreadId};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use nodesift_proto::v1::{Bitmaps, FilterRequest, Pod, PodName, pod};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Duration;
use tower::ServiceExt as _;

use super::*;
use crate::access::Access;
use crate::calls::filter::Filter;
use crate::calls::testing;
use crate::exposition::Exposition;
use crate::{BodyLimit, Readiness, Settings, router};
use nodesift_cache::{self as cache, OverlayError, SharedWriter, metadata};
use nodesift_engine::{self as engine, ActivePolicy, Clock};
use nodesift_sandbox::Runtime;

/// A service whose policy has no predicates, over one node and one pending pod.
fn service() -> (Service, SharedWriter) {
    let (mut writer, reader) = cache::new();
    add_node(&mut writer, "n");
    let pod = json!({"metadata": {"namespace": "default", "name": "web", "uid": "u"}});
    let schedulers = vec!["default-scheduler".to_owned()];
    writer.apply(metadata::pod_record(&serde_json::from_value(pod).unwrap(), &schedulers));
    writer.publish();
    let writer = SharedWriter::new(writer.into());
    let policy = ActivePolicy::new(schedulers, Vec::new());
    let engine = Arc::new(Engine::new(reader, policy, Runtime::start(None).unwrap()));
    (Service::new(engine, Arc::clone(&writer), Readiness::default(), Settings::default()), writer)
}

fn add_node(writer: &mut cache::Writer, name: &str) {
    writer.apply(metadata::node(&serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()));
}

/// Adds a node and publishes, so that the cache has another generation.
fn publish(writer: &SharedWriter, node: &str) {
    let mut writer = writer.lock();
    add_node(&mut writer, node);
    writer.publish();
}

/// A call that fails as unsettled for a number of times.
struct Scripted {
    unsettled: usize,
    tries: usize,
    tried: Arc<Notify>,
    consistency: Option<Consistency>,
}

impl Call for Scripted {
    type Request = Self;
    type Parsed = Self;
    type Response = usize;

    fn consistency(request: &Self) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn parse(request: Self) -> Result<Self, Error> {
        Ok(request)
    }

    fn answer(_: &Engine, _: &Staleness, _: Deadline, request: &mut Self) -> Result<usize, Error> {
        request.tries += 1;
        request.tried.notify_one();
        if request.tries <= request.unsettled {
            return Err(engine::Error::from(OverlayError::Unsettled { uid: "u".into() }).into());
        }
        Ok(request.tries)
    }
}

/// Waits until no evaluation runs, so that every slot is free.
async fn slots_are_free(service: &Service) {
    while service.metrics().evaluations.get() != 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_unsettled_request_waits_for_publications_without_a_slot() {
    let (service, writer) = service();
    let tried = Arc::new(Notify::new());
    let call = Scripted { unsettled: 2, tries: 0, tried: Arc::clone(&tried), consistency: None };
    let answer = tokio::spawn({
        let service = service.clone();
        async move { run(&service, RequestScope::detached(), Stage::<Scripted>::Decoded(call), Ok).await }
    });
    for node in ["a", "b"] {
        tried.notified().await;
        slots_are_free(&service).await;
        assert!(!answer.is_finished());
        publish(&writer, node);
    }
    assert_eq!(answer.await.unwrap().unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stays_unsettled_fails_after_a_bounded_time() {
    let (service, _writer) = service();
    let call = Scripted { unsettled: usize::MAX, tries: 0, tried: Arc::default(), consistency: None };
    let start = Instant::now();
    let error = run(&service, RequestScope::detached(), Stage::<Scripted>::Decoded(call), Ok).await.unwrap_err();
    assert_eq!(error.status().0, tonic::Code::Aborted);
    let waited = start.elapsed();
    assert!(waited >= limits::UNSETTLED_WAIT && waited < 2 * limits::UNSETTLED_WAIT, "{waited:?}");
}

/// A call whose policy is replaced, and another snapshot published before, once it has taken its snapshot.
struct Overtaken {
    writer: SharedWriter,
    tries: usize,
}

impl Call for Overtaken {
    type Request = Self;
    type Parsed = Self;
    type Response = (usize, usize);

    fn consistency(_: &Self) -> Option<&Consistency> {
        None
    }

    fn parse(request: Self) -> Result<Self, Error> {
        Ok(request)
    }

    fn answer(engine: &Engine, _: &Staleness, _: Deadline, request: &mut Self) -> Result<(usize, usize), Error> {
        let snapshot = engine.snapshot();
        request.tries += 1;
        if request.tries == 1 {
            publish(&request.writer, "late");
            drop(engine.replace_policy((*engine.policy()).clone()));
        }
        let query = engine::Query::new([engine::PodRef::Uid("u".to_owned())]);
        let answer = engine.answer(&query, engine::Options::on(&snapshot))?;
        Ok((request.tries, answer.snapshot.node_count()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_with_a_snapshot_from_before_the_policy_is_tried_again_at_once_with_the_newest() {
    let (service, writer) = service();
    let start = Instant::now();
    let call = Overtaken { writer, tries: 0 };
    let answer = run(&service, RequestScope::detached(), Stage::<Overtaken>::Decoded(call), Ok).await;
    assert_eq!((answer.unwrap(), start.elapsed()), ((2, 2), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn minimum_versions_are_waited_for_without_a_slot_wherever_a_body_is_decoded() {
    for body_bytes in [1, limits::DECODE_BYTES + 1] {
        let (service, writer) = service();
        let stage = Stage::<Scripted>::Encoded(vec![b' '; body_bytes].into(), |_| {
            let consistency =
                Consistency { min_generation: Some(1_000), deadline_ms: Some(30_000), ..Default::default() };
            Ok(Scripted { unsettled: 0, tries: 0, tried: Arc::default(), consistency: Some(consistency) })
        });
        let answer = tokio::spawn({
            let service = service.clone();
            async move { run(&service, RequestScope::detached(), stage, Ok).await }
        });
        for number in 0..1_000 {
            slots_are_free(&service).await;
            tokio::task::yield_now().await;
            publish(&writer, &format!("n-{number}"));
        }
        assert_eq!(answer.await.unwrap().unwrap(), 1, "{body_bytes}");
    }
}

/// Sends a request to POST /v1/filter.
async fn post(router: &Router, body: &Value) -> Value {
    let request = Request::post("/v1/filter")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

#[tokio::test]
async fn json_and_grpc_give_the_same_cached_answer_without_an_evaluation() {
    let (service, _writer) = service();
    let router = router::router(
        service.clone(),
        Access::default(),
        BodyLimit(limits::BODY_BYTES),
        Exposition::new(Registry::default()),
    );
    let body = json!({"pods": [{"name": {"namespace": "default", "name": "web"}}], "bitmaps": {}});
    assert_eq!(service.slots().mean_time(), Duration::ZERO);
    let evaluated = post(&router, &body).await;
    assert_eq!(evaluated["pods"][0]["feasibleCount"], 1, "{evaluated}");
    let one_evaluation = service.slots().mean_time();
    assert_ne!(one_evaluation, Duration::ZERO);

    let cached_over_json = post(&router, &body).await;
    let name = PodName { namespace: "default".into(), name: "web".into() };
    let pods = vec![Pod::from(pod::Pod::Name(name))];
    let request = FilterRequest { pods, bitmaps: Some(Bitmaps::default()), ..FilterRequest::default() };
    let cached_over_grpc =
        run(&service, RequestScope::detached(), Stage::<Filter>::Decoded(request), Ok).await.unwrap();
    assert_eq!(service.slots().mean_time(), one_evaluation, "no slot was used again");

    assert_eq!(cached_over_json, evaluated);
    // Names instead of bitmaps come from the same cached verdicts.
    let names = post(&router, &json!({"pods": body["pods"]})).await;
    assert_eq!(names["pods"][0]["feasible"], json!(["n"]), "{names}");
    assert_eq!(service.slots().mean_time(), one_evaluation, "no slot was used for names");
    assert_eq!(serde_json::to_value(cached_over_grpc.message()).unwrap(), evaluated);
}

/// A service by InterPodAffinity that compares cached verdicts for so long on an I/O thread, and the threads that have begun to answer. A
/// running pod on the node `n`, but none on `m`, has more terms that match the pending pod than are looked at without a look at the clock.
fn service_beside_terms(time: Duration) -> (Service, SharedWriter, Arc<Mutex<Vec<ThreadId>>>) {
    let (active, runtime) = testing::active(&["InterPodAffinity"]);
    let (mut writer, reader) = cache::new();
    for name in ["n", "m"] {
        let node = json!({"metadata": {"name": name, "labels": {"host": name}}});
        writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    }
    let pods = [
        running("tenant", "default", "n", 3_000),
        json!({"metadata": {"namespace": "default", "name": "web", "uid": "u"}}),
    ];
    for pod in pods {
        let pod = serde_json::from_value(pod).unwrap();
        writer.apply(metadata::pod_record_selecting(&pod, &active.scheduler_names, &active.selection()));
    }
    writer.publish();
    let threads = Arc::<Mutex<Vec<ThreadId>>>::default();
    let began = Arc::clone(&threads);
    let clock = Clock::new(move || {
        began.lock().push(thread::current().id());
        0
    });
    let engine = Engine::new(reader, active, runtime).with_clock(clock).with_cached_lookup_time(time);
    let writer = SharedWriter::new(writer.into());
    let service = Service::new(Arc::new(engine), Arc::clone(&writer), Readiness::default(), Settings::default());
    (service, writer, threads)
}

/// A pod on a node with so many terms of required anti-affinity, each of which matches all pods of its namespace.
fn running(name: &str, namespace: &str, node: &str, terms: usize) -> Value {
    let term = |number: usize| {
        let not_in = json!([{"key": "app", "operator": "NotIn", "values": [format!("x{number}")]}]);
        json!({"topologyKey": "host", "labelSelector": {"matchExpressions": not_in}})
    };
    let terms: Vec<Value> = (0..terms).map(term).collect();
    let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    json!({"metadata": {"namespace": namespace, "name": name, "uid": name}, "spec": {"nodeName": node, "affinity": affinity}})
}

#[tokio::test]
async fn a_lookup_of_cached_verdicts_that_is_over_goes_on_in_a_slot_and_is_answered_the_same() {
    let mut answers = Vec::new();
    for (time, is_at_once) in [(Duration::from_secs(3_600), true), (Duration::ZERO, false)] {
        let (service, writer, threads) = service_beside_terms(time);
        let exposition = Exposition::new(Registry::default());
        let router = router::router(service.clone(), Access::default(), BodyLimit(limits::BODY_BYTES), exposition);
        let body = json!({"pods": [{"name": {"namespace": "default", "name": "web"}}]});
        let evaluated = post(&router, &body).await;
        assert_eq!(evaluated["pods"][0]["feasible"], json!(["m"]), "{evaluated}");
        // Other terms: whether the cached verdict holds is known only once those that match the pod are looked up again.
        {
            let mut writer = writer.lock();
            let other = serde_json::from_value(running("other", "elsewhere", "m", 1)).unwrap();
            writer.apply(metadata::pod_record(&other, &[]));
            writer.publish();
        }
        threads.lock().clear();
        let answer = post(&router, &body).await;
        let threads = threads.lock().clone();
        // Tasks of this test, and so the I/O, are on its own thread; slots are on others.
        let all_here = !threads.is_empty() && threads.iter().all(|id| *id == thread::current().id());
        assert_eq!(all_here, is_at_once, "{threads:?}");
        answers.push([evaluated["pods"].clone(), answer["pods"].clone()]);
    }
    assert!(answers.iter().flatten().all(|answer| *answer == answers[0][0]), "{answers:?}");
}
