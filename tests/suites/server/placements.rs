//! Placements inside a Filter request: made in order before its pods are evaluated, published at once, seen by what follows.

use nodesift_proto::v1::filter_stream_response::Outcome;
use nodesift_proto::v1::{
    AssumeRequest, FilterRequest, FilterStreamRequest, ForgetRequest, Pod, assume_outcome, forget_outcome,
    pod as pod_of,
};
use nodesift_tests::http::{get, post};
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::decisions::{node, pod, serving};
use crate::running::ask;

/// Pods that are placed one after the other on a stream, each on a node of its own.
const PLACED: usize = 200;

fn by_uid(uid: &str) -> Pod {
    Pod::from(pod_of::Pod::Uid(uid.to_owned()))
}

fn feasible(answer: &Value) -> Vec<&str> {
    answer["pods"][0]["feasible"].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect()
}

fn generation(version: &Value) -> u64 {
    version["generation"].as_str().unwrap().parse().unwrap()
}

/// Posts a request that is refused, and returns its status, code and message.
fn refused(sidecar: &Sidecar, request: &Value) -> (u16, String) {
    let response = post(&sidecar.unix(), "/v1/filter", request.to_string()).unwrap();
    let error = &response.json()["error"];
    (response.status, format!("{}: {}", error["code"].as_str().unwrap(), error["message"].as_str().unwrap()))
}

fn assumed_pods(sidecar: &Sidecar) -> usize {
    get(&sidecar.unix(), "/v1/state").unwrap().body.matches(r#""assumed":true"#).count()
}

#[test]
fn pods_of_a_request_are_evaluated_with_the_placements_inside_it() {
    let objects = [
        node("n1", "1"),
        node("n2", "1"),
        pod("first", "600m", &json!({})),
        pod("second", "600m", &json!({})),
        pod("third", "600m", &json!({})),
    ];
    let (sidecar, _folder) = serving(&objects, &[]);
    let first = json!({"pod": {"uid": "uid-first"}, "node": "n1"});
    let answer = ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"uid": "uid-second"}], "assume": [first]}));
    assert_eq!(feasible(&answer), ["n2"]);
    let assumed = &answer["assumed"][0]["answer"];
    assert_eq!(
        (&assumed["placed"], &assumed["pod"], &assumed["uid"]),
        (&json!("PLACED_ASSUMED"), &json!("ns/first"), &json!("uid-first"))
    );
    assert!(generation(&answer["version"]) >= generation(&assumed["version"]), "{answer}");
    assert_eq!(answer["forgotten"], json!([]));

    // The ends of assumptions come first: the room that one gives is there for those that follow.
    let request = json!({
        "pods": [{"uid": "uid-third"}],
        "assume": [{"pod": {"uid": "uid-second"}, "node": "n1", "check": true}],
        "forget": [{"pod": {"uid": "uid-first"}}],
    });
    let answer = ask(&sidecar.unix(), "/v1/filter", &request);
    assert_eq!(answer["forgotten"][0]["answer"]["wasAssumed"], true, "{answer}");
    assert_eq!(answer["assumed"][0]["answer"]["placed"], "PLACED_ASSUMED", "{answer}");
    assert_eq!(feasible(&answer), ["n2"]);

    // Nothing to evaluate: a request that only places.
    let request = json!({"forget": [{"pod": {"uid": "uid-second"}}, {"pod": {"uid": "uid-second"}}]});
    let answer = ask(&sidecar.unix(), "/v1/filter", &request);
    assert_eq!(answer["pods"], json!([]));
    let was_assumed = |at: usize| answer["forgotten"][at]["answer"]["wasAssumed"].as_bool().unwrap();
    assert_eq!([was_assumed(0), was_assumed(1)], [true, false]);
    assert_eq!(assumed_pods(&sidecar), 0);
}

#[test]
fn each_placement_has_an_outcome_of_its_own_and_all_are_published_once() {
    let mut objects: Vec<Value> = (0..3).map(|at| node(&format!("n{at}"), "1")).collect();
    objects.extend((0..6).map(|at| pod(&format!("p{at}"), "600m", &json!({}))));
    let (sidecar, _folder) = serving(&objects, &[]);
    let before = ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"uid": "uid-p5"}]}));
    let at = |uid: &str, node: &str| json!({"pod": {"uid": uid}, "node": node});
    let mut checked = at("uid-p2", "n0");
    checked["check"] = json!(true);
    let mut outdated = at("uid-p3", "n2");
    outdated["ifGeneration"] = before["version"]["generation"].clone();
    let mut endless = at("uid-p3", "n2");
    endless["ttlMs"] = json!(0);
    let request = json!({
        "pods": [{"uid": "uid-p5"}, {"uid": "nobody"}],
        "forget": [{"pod": {}}],
        "assume": [at("uid-p0", "n0"), at("nobody", "n0"), at("uid-p1", "n9"), at("uid-p1", "n1"), checked, outdated,
            endless, {"pod": {"uid": "uid-p3"}}, at("uid-p4", "n1")],
    });
    let answer = ask(&sidecar.unix(), "/v1/filter", &request);
    let outcome = |at: usize| &answer["assumed"][at];
    let error = |at: usize| {
        let error = &outcome(at)["error"];
        format!("{}: {}", error["code"].as_str().unwrap(), error["message"].as_str().unwrap())
    };
    for at in [0, 3, 8] {
        assert_eq!(outcome(at)["answer"]["placed"], "PLACED_ASSUMED", "{at}: {answer}");
    }
    for (at, expected) in [
        (1, "NOT_FOUND: pod nobody is not in the cache"),
        (2, "NOT_FOUND: node \"n9\" is not in the cache"),
        (4, "FAILED_PRECONDITION: pod ns/p2 does not fit node \"n0\": NodeResourcesFit (Unschedulable"),
        (5, "ABORTED: the cache is at generation "),
        (6, "INVALID_ARGUMENT: assume[6].ttl_ms: "),
        (7, "INVALID_ARGUMENT: assume[7].node: is empty"),
    ] {
        assert!(error(at).starts_with(expected), "{at}: {}", error(at));
    }
    let malformed = &answer["forgotten"][0]["error"];
    assert_eq!(malformed["code"], "INVALID_ARGUMENT");
    assert!(malformed["message"].as_str().unwrap().starts_with("forget[0].pod: give one of"), "{answer}");
    assert_eq!(feasible(&answer), ["n2"]);
    let unknown = &answer["pods"][1]["error"];
    assert_eq!(unknown["code"], "NOT_FOUND", "{answer}");
    // The two before the check, and the one behind it.
    let version = |at: usize| generation(&outcome(at)["answer"]["version"]);
    assert!(version(0) == version(3) && version(3) < version(8), "{answer}");
    assert_eq!(version(8), generation(&answer["version"]), "{answer}");

    // Where no pod is known the outcomes still arrive.
    let request = json!({"pods": [{"uid": "nobody"}], "forget": [{"pod": {"uid": "uid-p0"}}]});
    let answer = ask(&sidecar.unix(), "/v1/filter", &request);
    assert_eq!(answer["pods"][0]["error"]["code"], "NOT_FOUND", "{answer}");
    assert_eq!(answer["forgotten"][0]["answer"]["wasAssumed"], true, "{answer}");
}

#[test]
fn a_request_that_is_refused_places_nothing() {
    let objects = [node("n1", "1"), pod("first", "600m", &json!({}))];
    let (sidecar, _folder) = serving(&objects, &[]);
    let first = json!({"pod": {"uid": "uid-first"}, "node": "n1"});
    for (with, expected) in [
        (json!({"phase": 7}), "INVALID_ARGUMENT: phase"),
        (json!({"start": 3}), "INVALID_ARGUMENT: start"),
        (json!({"pods": [{}]}), "INVALID_ARGUMENT: pods[0]"),
        (json!({"pods": [{"json": "["}]}), "INVALID_ARGUMENT: pods[0].json"),
        (json!({"consistency": {"minNodesResourceVersion": "x"}}), "INVALID_ARGUMENT: consistency"),
        (json!({"assume": vec![&first; 1001]}), "RESOURCE_EXHAUSTED: 1001 placements"),
        (json!({"forget": vec![json!({"pod": {"uid": "uid-first"}}); 1000]}), "RESOURCE_EXHAUSTED: 1001 placements"),
    ] {
        let mut request = json!({"assume": [first]});
        request.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        let (_, text) = refused(&sidecar, &request);
        assert!(text.starts_with(expected), "{with}: {text}");
        assert_eq!(assumed_pods(&sidecar), 0, "{with}");
    }
}

#[test]
fn a_request_on_a_stream_sees_the_placements_of_all_before_it() {
    let mut objects: Vec<Value> = (0..PLACED).map(|at| node(&format!("n{at:03}"), "1")).collect();
    objects.extend((0..=PLACED).map(|at| pod(&format!("p{at:03}"), "600m", &json!({}))));
    let (sidecar, _folder) = serving(&objects, &[]);
    let uid = |at: usize| format!("uid-p{at:03}");
    let before = grpc(&sidecar.unix(), |mut client| async move {
        let request = FilterRequest { pods: vec![by_uid(&uid(PLACED))], ..FilterRequest::default() };
        client.filter(request).await.unwrap().into_inner()
    });
    assert_eq!(before.pods[0].feasible.len(), PLACED, "there is room before all placements");
    let answers = grpc(&sidecar.unix(), |mut client| async move {
        // All at once: each places the pod before the one that it asks about. Every third is a request that only places.
        let requests = (1..=PLACED).flat_map(|at| {
            let assume = vec![AssumeRequest {
                pod: Some(by_uid(&uid(at - 1))),
                node: format!("n{:03}", at - 1),
                ..AssumeRequest::default()
            }];
            let pods = vec![by_uid(&uid(at))];
            let id = u64::try_from(at).unwrap();
            let apart = at % 3 == 0;
            let placing = FilterRequest { assume: assume.clone(), ..FilterRequest::default() };
            let asking =
                FilterRequest { pods, assume: if apart { vec![] } else { assume }, ..FilterRequest::default() };
            let placing = apart.then_some(FilterStreamRequest { id: 0, filter: Some(placing) });
            placing.into_iter().chain([FilterStreamRequest { id, filter: Some(asking) }])
        });
        let requests = futures_util::stream::iter(requests.collect::<Vec<_>>());
        let answers = client.filter_stream(requests).await.unwrap().into_inner();
        futures_util::StreamExt::collect::<Vec<_>>(answers).await
    });
    assert_eq!(answers.len(), PLACED + PLACED / 3);
    for answer in answers {
        let answer = answer.unwrap();
        let at = usize::try_from(answer.id).unwrap();
        let Some(Outcome::Answer(found)) = answer.outcome else { panic!("{at}: {answer:?}") };
        for outcome in &found.assumed {
            assert!(matches!(outcome.outcome, Some(assume_outcome::Outcome::Answer(_))), "{outcome:?}");
        }
        let Some(pod) = found.pods.first() else { continue };
        // Placements of later requests may count already; those of earlier ones must.
        let taken = format!("n{at:03}");
        let early: Vec<&String> = pod.feasible.iter().filter(|node| **node < taken).collect();
        assert!(early.is_empty() && pod.faults.is_empty(), "request {at}: {early:?} {:?}", pod.faults);
        assert!(at < PLACED || pod.feasible.is_empty(), "a pod more than fits: {:?}", pod.feasible);
    }
    let forgotten = grpc(&sidecar.unix(), |mut client| async move {
        let forget = (0..PLACED).map(|at| ForgetRequest { pod: Some(by_uid(&uid(at))) }).collect();
        let request = FilterRequest { pods: vec![by_uid(&uid(PLACED))], forget, ..FilterRequest::default() };
        client.filter(request).await.unwrap().into_inner()
    });
    let was_assumed = forgotten.forgotten.iter().filter(
        |outcome| matches!(&outcome.outcome, Some(forget_outcome::Outcome::Answer(answer)) if answer.was_assumed),
    );
    assert_eq!((was_assumed.count(), forgotten.pods[0].feasible.len()), (PLACED, PLACED));
}

#[test]
fn a_pod_is_evaluated_in_the_version_that_is_asked_for_or_not_at_all() {
    let mut web = pod("web", "100m", &json!({}));
    web["metadata"]["resourceVersion"] = json!("7");
    let (sidecar, _folder) = serving(&[node("n1", "1"), web], &[]);
    let answer = |pod: Value| ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [pod]}))["pods"][0].clone();
    let name = json!({"namespace": "ns", "name": "web"});
    for held in [json!({"uid": "uid-web", "resourceVersion": "7"}), json!({"name": name, "resourceVersion": "7"})] {
        assert_eq!(answer(held)["feasible"], json!(["n1"]));
    }
    let newer = answer(json!({"uid": "uid-web", "resourceVersion": "8"}));
    assert_eq!((&newer["error"]["code"], &newer["feasible"]), (&json!("ABORTED"), &json!([])));
    let message = newer["error"]["message"].as_str().unwrap();
    assert!(message.contains("\"8\"") && message.contains("has \"7\""), "{message}");
    let unknown = answer(json!({"uid": "uid-nobody", "resourceVersion": "8"}));
    assert_eq!(unknown["error"]["code"], "ABORTED");
    // An assumption changes nothing that the API server has written.
    let first = json!({"assume": [{"pod": {"uid": "uid-web"}, "node": "n1"}], "pods": []});
    ask(&sidecar.unix(), "/v1/filter", &first);
    assert_eq!(answer(json!({"uid": "uid-web", "resourceVersion": "7"}))["feasible"], json!(["n1"]));

    let whole = json!({"json": pod("web", "100m", &json!({})).to_string(), "resourceVersion": "7"});
    let (status, said) = refused(&sidecar, &json!({"pods": [whole]}));
    assert!(status == 400 && said.contains("pods[0].resource_version"), "{status} {said}");
    let elsewhere = json!({"pods": [], "overlay": {"removedPods": [{"uid": "uid-web", "resourceVersion": "7"}]}});
    let (status, said) = refused(&sidecar, &elsewhere);
    assert!(status == 400 && said.contains("overlay.removed_pods[0].resource_version"), "{status} {said}");
}
