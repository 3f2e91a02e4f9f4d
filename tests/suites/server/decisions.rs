//! Assume and Forget: every later request sees a core's assumptions, and each call has its documented result.

use std::time::Duration;

use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{AssumeRequest, Detail, FilterRequest, ForgetRequest, NodeSubset, Placed, Pod, pod as pod_of};
use nodesift_tests::http::{get, post};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::agreement::grpc;
use crate::running::{ask, sample};

/// Loops of the test under load; set [`LOOPS_SET`] for more.
const LOOPS: usize = 2_000;
/// The number of assume-and-filter loops.
const LOOPS_SET: &str = "NODESIFT_ASSUME_LOOPS";
/// Cores that call concurrently.
const CORES: usize = 4;

pub(crate) fn node(name: &str, cpu: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": "a"}},
           "status": {"capacity": {"cpu": "2", "pods": "20"}, "allocatable": {"cpu": cpu, "pods": "10"}}})
}

pub(crate) fn pod(name: &str, cpu: &str, spec: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
    for (key, value) in spec.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    pod
}

/// A sidecar on a cluster of these objects.
pub(crate) fn serving(objects: &[Value], arguments: &[&str]) -> (Sidecar, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    let sidecar = sample(&[&["--cluster", file.to_str().unwrap()], arguments].concat());
    (sidecar, folder)
}

/// Two nodes of one core. `first` and `second` are pending and take most of a core each; `bound` takes a little of n1.
fn two_nodes(arguments: &[&str]) -> (Sidecar, TempDir) {
    let objects = [
        node("n1", "1"),
        node("n2", "1"),
        pod("first", "600m", &json!({})),
        pod("second", "600m", &json!({})),
        pod("bound", "100m", &json!({"nodeName": "n1"})),
    ];
    serving(&objects, arguments)
}

/// The nodes that a pod fits.
fn feasible(sidecar: &Sidecar, uid: &str) -> Vec<String> {
    let answer = ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"uid": uid}]}));
    serde_json::from_value(answer["pods"][0]["feasible"].clone()).unwrap()
}

fn assume(sidecar: &Sidecar, pod: &Value, node: &str) -> Value {
    ask(&sidecar.unix(), "/v1/assume", &json!({"pod": pod, "node": node}))
}

fn forget(sidecar: &Sidecar, pod: &Value) -> Value {
    ask(&sidecar.unix(), "/v1/forget", &json!({"pod": pod}))
}

fn refusal(sidecar: &Sidecar, request: &Value) -> (u16, String) {
    let response = post(&sidecar.unix(), "/v1/assume", request.to_string()).unwrap();
    let error = &response.json()["error"];
    (response.status, format!("{}: {}", error["code"].as_str().unwrap(), error["message"].as_str().unwrap()))
}

#[test]
fn an_assumed_pod_takes_its_room_until_it_is_forgotten() {
    let (sidecar, _folder) = two_nodes(&[]);
    let first = json!({"uid": "uid-first"});
    assert_eq!(feasible(&sidecar, "uid-second"), ["n1", "n2"]);

    let assumed = assume(&sidecar, &first, "n1");
    assert_eq!(
        (&assumed["placed"], &assumed["pod"], &assumed["uid"]),
        (&json!("PLACED_ASSUMED"), &json!("ns/first"), &json!("uid-first"))
    );
    assert_eq!(feasible(&sidecar, "uid-second"), ["n2"]);
    assert_eq!(assume(&sidecar, &first, "n1")["placed"], "PLACED_RENEWED");
    assert_eq!(feasible(&sidecar, "uid-second"), ["n2"]);

    let moved = assume(&sidecar, &json!({"name": {"namespace": "ns", "name": "first"}}), "n2");
    assert_eq!(moved["placed"], "PLACED_MOVED");
    assert_eq!(feasible(&sidecar, "uid-second"), ["n1"]);

    assert_eq!(forget(&sidecar, &first)["wasAssumed"], true);
    assert_eq!(feasible(&sidecar, "uid-second"), ["n1", "n2"]);
    assert_eq!(forget(&sidecar, &first)["wasAssumed"], false);
}

#[test]
fn an_assumed_pod_is_pending_no_longer() {
    let (sidecar, _folder) = two_nodes(&[]);
    let pending = || {
        let answer = ask(&sidecar.unix(), "/v1/filter", &json!({"pending": true}));
        let pods = answer["pods"].as_array().unwrap().iter().map(|pod| pod["pod"].as_str().unwrap().to_owned());
        pods.collect::<Vec<_>>()
    };
    assert_eq!(pending(), ["ns/first", "ns/second"]);
    assume(&sidecar, &json!({"uid": "uid-first"}), "n1");
    assert_eq!(pending(), ["ns/second"]);
    forget(&sidecar, &json!({"uid": "uid-first"}));
    assert_eq!(pending(), ["ns/first", "ns/second"]);
}

#[test]
fn what_cannot_be_assumed_is_refused_with_its_reason() {
    let (sidecar, _folder) = two_nodes(&[]);
    let at = |pod: Value, node: &str| refusal(&sidecar, &json!({"pod": pod, "node": node}));
    let (status, text) = at(json!({"uid": "nobody"}), "n1");
    assert!(status == 404 && text.starts_with("NOT_FOUND: pod nobody"), "{status} {text}");
    let (status, text) = at(json!({"uid": "uid-first"}), "n3");
    assert!(status == 404 && text.starts_with("NOT_FOUND: node \"n3\""), "{status} {text}");
    let (status, text) = at(json!({"uid": "uid-bound"}), "n2");
    assert!(status == 409 && text.starts_with("FAILED_PRECONDITION: pod ns/bound is bound to node \"n1\""), "{text}");
    let mut other = pod("first", "1", &json!({}));
    other["metadata"]["uid"] = json!("another");
    let (status, text) = at(json!({"object": other}), "n1");
    assert!(status == 409 && text.contains("uid-first"), "{status} {text}");
    let (status, text) = at(json!({"object": pod("new", "1", &json!({"nodeName": "n2"}))}), "n1");
    assert!(status == 400 && text.contains("pod.spec.nodeName"), "{status} {text}");
    let mut ended = pod("new", "1", &json!({}));
    ended["status"] = json!({"phase": "Succeeded"});
    let (status, text) = at(json!({"object": ended}), "n1");
    assert!(status == 400 && text.contains("has ended"), "{status} {text}");
    for (request, named) in [
        (json!({"node": "n1"}), "pod: give one of"),
        (json!({"pod": {"uid": "uid-first"}}), "node: is empty"),
        (json!({"pod": {"uid": ""}, "node": "n1"}), "pod.uid"),
        (json!({"pod": {"uid": "uid-first"}, "node": "n1", "ttlMs": 0}), "ttl_ms"),
        (json!({"pod": {"uid": "uid-first"}, "node": "n1", "ttlMs": 3_600_001}), "ttl_ms"),
    ] {
        let (status, text) = refusal(&sidecar, &request);
        assert!(status == 400 && text.contains(named), "{request}: {status} {text}");
    }
    assert_eq!(assume(&sidecar, &json!({"uid": "uid-bound"}), "n1")["placed"], "PLACED_ALREADY_BOUND");
    assert_eq!(feasible(&sidecar, "uid-second"), ["n1", "n2"], "failed calls change nothing");

    let status = grpc(&sidecar.unix(), |mut client| async move {
        let request = AssumeRequest { pod: Some(by_uid("uid-bound")), node: "n2".into(), ..AssumeRequest::default() };
        client.assume(request).await.unwrap_err()
    });
    assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status}");
}

#[test]
fn a_pod_that_the_sidecar_has_never_seen_can_be_assumed_whole() {
    let (sidecar, _folder) = two_nodes(&[]);
    let whole = json!({"object": pod("new", "500m", &json!({}))});
    let assumed = assume(&sidecar, &whole, "n2");
    assert_eq!((&assumed["placed"], &assumed["uid"]), (&json!("PLACED_ASSUMED"), &json!("uid-new")));
    assert_eq!(feasible(&sidecar, "uid-second"), ["n1"]);
    // From now on the pod is known by its UID.
    assert_eq!(assume(&sidecar, &json!({"uid": "uid-new"}), "n1")["placed"], "PLACED_MOVED");
    assert_eq!(feasible(&sidecar, "uid-second"), ["n2"]);
    assert_eq!(forget(&sidecar, &whole)["wasAssumed"], true);
    assert_eq!(feasible(&sidecar, "uid-second"), ["n1", "n2"]);
    let gone = post(&sidecar.unix(), "/v1/filter", json!({"pods": [{"uid": "uid-new"}]}).to_string()).unwrap();
    assert_eq!(gone.status, 404, "no event has confirmed it: {}", gone.body);
}

#[test]
fn an_assumption_that_is_not_confirmed_expires() {
    let ttl = format!("{}s", timeout::scaled(Duration::from_secs(1)).as_secs());
    let (sidecar, _folder) = two_nodes(&["--assume-ttl", &ttl]);
    // The first answer takes longest and would distort the time to expiry.
    feasible(&sidecar, "uid-second");
    let request = json!({"pod": {"uid": "uid-first"}, "node": "n1", "ttlMs": 3_600_000});
    ask(&sidecar.unix(), "/v1/assume", &request);
    assume(&sidecar, &json!({"object": pod("new", "500m", &json!({}))}), "n2");
    assert_eq!(feasible(&sidecar, "uid-second"), Vec::<String>::new());
    let expired = timeout::until(|| (feasible(&sidecar, "uid-second") == ["n2"]).then_some(()));
    assert!(expired.is_some(), "the default of this sidecar is {ttl}");
    let state = get(&sidecar.unix(), "/v1/state").unwrap().json();
    assert_eq!(state["nodes"][0]["ownPods"][1]["assumed"], true, "the other has an hour: {state}");
    let is_logged = || sidecar.output().contains("assumptions expired: no event has confirmed them").then_some(());
    timeout::until(is_logged).expect("the expiry is logged");
}

#[test]
fn a_conditional_assume_is_refused_where_its_condition_fails() {
    let (sidecar, _folder) = two_nodes(&[]);
    let request = |uid: &str, check: bool, generation: Option<&str>| {
        let mut request = json!({"pod": {"uid": uid}, "node": "n1", "check": check});
        if let Some(generation) = generation {
            request["ifGeneration"] = json!(generation);
        }
        request
    };
    let version = ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"uid": "uid-first"}]}))["version"].clone();
    let generation = version["generation"].as_str().unwrap();
    let assumed = ask(&sidecar.unix(), "/v1/assume", &request("uid-first", true, Some(generation)));
    assert_eq!(assumed["placed"], "PLACED_ASSUMED");
    let (status, text) = refusal(&sidecar, &request("uid-second", false, Some(generation)));
    assert!(status == 409 && text.starts_with("ABORTED: the cache is at generation "), "{status} {text}");
    let (status, text) = refusal(&sidecar, &request("uid-second", true, None));
    let expected = "FAILED_PRECONDITION: pod ns/second does not fit node \"n1\": NodeResourcesFit (Unschedulable";
    assert!(status == 409 && text.starts_with(expected) && text.ends_with(": Insufficient cpu"), "{status} {text}");
    let (status, text) = grpc(&sidecar.unix(), |mut client| async move {
        let request = AssumeRequest {
            pod: Some(by_uid("uid-second")),
            node: "n1".into(),
            check: true,
            ..AssumeRequest::default()
        };
        let status = client.assume(request).await.unwrap_err();
        (status.code(), status.message().to_owned())
    });
    assert!(status == tonic::Code::FailedPrecondition && text.contains("Insufficient cpu"), "{status} {text}");
    assert_eq!(feasible(&sidecar, "uid-second"), ["n2"], "a refusal changes nothing");
}

#[test]
fn cores_that_race_for_the_last_room_over_the_socket_never_both_get_it() {
    const RACES: usize = 100;
    let mut objects = vec![node("n1", "1")];
    objects.extend((0..CORES).map(|core| pod(&format!("p{core}"), "600m", &json!({}))));
    let (sidecar, _folder) = serving(&objects, &[]);
    let winners = grpc(&sidecar.unix(), |client| async move {
        let mut winners = Vec::new();
        for _ in 0..RACES {
            let calls = (0..CORES).map(|core| {
                let mut client = client.clone();
                async move {
                    let pod = by_uid(&format!("uid-p{core}"));
                    let request =
                        AssumeRequest { pod: Some(pod), node: "n1".into(), check: true, ..Default::default() };
                    loop {
                        match client.assume(request.clone()).await {
                            Ok(assumed) => return Some(assumed.into_inner().uid),
                            // On a busy machine no slot may become free, or a predicate exceeds its deadline.
                            Err(status) if status.code() == tonic::Code::ResourceExhausted => {}
                            Err(status) if status.message().contains("Insufficient cpu") => return None,
                            Err(status) => assert!(status.message().contains("Deadline"), "{status}"),
                        }
                    }
                }
            });
            let won: Vec<String> = futures_util::future::join_all(calls).await.into_iter().flatten().collect();
            for uid in &won {
                client.clone().forget(ForgetRequest { pod: Some(by_uid(uid)) }).await.unwrap();
            }
            winners.push(won.len());
        }
        winners
    });
    assert_eq!(winners, [1; RACES]);
}

fn by_uid(uid: &str) -> Pod {
    Pod::from(pod_of::Pod::Uid(uid.to_owned()))
}

/// Whether a pod fits one node.
async fn fits(client: &mut NodesiftClient<Channel>, uid: &str, node: &str) -> bool {
    let request = FilterRequest {
        pods: vec![by_uid(uid)],
        nodes: Some(NodeSubset { names: vec![node.to_owned()] }),
        detail: Detail::Failures.into(),
        ..FilterRequest::default()
    };
    loop {
        // On a busy machine no slot may become free in time.
        let answer = match client.filter(request.clone()).await {
            Err(status) if status.code() == tonic::Code::ResourceExhausted => continue,
            answer => answer.unwrap().into_inner(),
        };
        let answer = answer.pods.first().unwrap().clone();
        // On a busy machine a predicate may exceed its deadline; an answer with a fault does not count.
        if answer.faults.is_empty() {
            return !answer.feasible.is_empty();
        }
    }
}

#[test]
fn the_next_request_sees_each_assumption_under_concurrent_load() {
    let loops = std::env::var(LOOPS_SET).ok().and_then(|loops| loops.parse().ok()).unwrap_or(LOOPS);
    let mut objects = Vec::new();
    for core in 0..CORES {
        objects.push(node(&format!("n{core}"), "1"));
        objects.push(pod(&format!("placed-{core}"), "1", &json!({})));
        objects.push(pod(&format!("asked-{core}"), "1", &json!({})));
    }
    let (sidecar, _folder) = serving(&objects, &[]);
    grpc(&sidecar.unix(), |client| async move {
        let cores = (0..CORES).map(|core| {
            let mut client = client.clone();
            async move {
                let (node, placed, asked) =
                    (format!("n{core}"), format!("uid-placed-{core}"), format!("uid-asked-{core}"));
                let mut generation = 0;
                for round in 0..loops / CORES {
                    let request = AssumeRequest {
                        pod: Some(by_uid(&placed)),
                        node: node.clone(),
                        ttl_ms: Some(600_000),
                        ..AssumeRequest::default()
                    };
                    let assumed = client.assume(request).await.unwrap().into_inner();
                    assert_eq!(assumed.placed(), Placed::Assumed);
                    assert!(assumed.version.as_ref().unwrap().generation > generation);
                    assert!(!fits(&mut client, &asked, &node).await, "round {round}: the assumed pod was not seen");
                    let forgotten =
                        client.forget(ForgetRequest { pod: Some(by_uid(&placed)) }).await.unwrap().into_inner();
                    assert!(forgotten.was_assumed);
                    generation = forgotten.version.unwrap().generation;
                    assert!(fits(&mut client, &asked, &node).await, "round {round}: the forgotten pod was still seen");
                }
            }
        });
        futures_util::future::join_all(cores).await
    });
}
