//! Before the first answer: no request is answered until every kind has been listed, and only needed kinds are listed.

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::http::{get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::json;

use crate::oracle;
use crate::world::{self, World, launch, node, pod};

/// Objects per page of a list.
pub(crate) const PAGE: usize = 500;

/// A server with five pages of pods.
pub(crate) fn five_pages() -> ApiServer {
    let server = ApiServer::start();
    world::fill(&server, 5, PAGE * 4 / 5 + 20);
    server
}

/// Asserts that the sidecar reports what it waits for, and refuses all requests.
fn is_not_ready(sidecar: &Sidecar, waits_for: &str) {
    let ready = get(&sidecar.tcp(), "/readyz").unwrap();
    assert_eq!(ready.status, 503, "{}", ready.body);
    assert!(ready.body.contains(waits_for), "{} does not name {waits_for}", ready.body);
    for path in ["/v1/filter", "/v1/explain"] {
        let answer = post(&sidecar.unix(), path, oracle::question(&oracle::probes())).unwrap();
        assert_eq!(answer.status, 503, "{path}: {}", answer.body);
        assert!(answer.body.contains(waits_for), "{path}: {} does not name {waits_for}", answer.body);
    }
    assert_eq!(get(&sidecar.tcp(), "/livez").unwrap().status, 200);
}

/// W-11 of the reliability list: a server that is down at the start.
#[test]
fn a_server_that_is_down_at_the_start_is_waited_for() {
    let _beside = beside_others();
    let server = ApiServer::start();
    world::fill(&server, 3, 2);
    server.go_down();
    let sidecar = launch(&server, &[]);
    is_not_ready(&sidecar, "nodes");
    is_not_ready(&sidecar, "pods");
    server.come_up();
    sidecar.wait_until_ready();
    oracle::converges(&server, &sidecar);
}

/// W-11 of the reliability list: a list that is not whole.
#[test]
fn a_list_that_hangs_after_four_of_five_pages_is_no_list() {
    let _beside = beside_others();
    let server = five_pages();
    server.script(|script| script.always(Some("Pod"), Some(Verb::List(5)), Fault::Hang));
    let sidecar = launch(&server, &[]);
    let asked =
        || server.script(|script| script.count("Pod", Verb::List(5)) > 0 && script.count("Node", Verb::Watch) > 0);
    timeout::until(|| asked().then_some(())).expect("the fifth page is requested, and the nodes are watched");
    is_not_ready(&sidecar, "pods");
    // The watch starts when the list is complete, shortly before the list is applied.
    let waits = || get(&sidecar.tcp(), "/readyz").unwrap().body.contains("nodes");
    timeout::until(|| (!waits()).then_some(())).expect("nodes have been listed");
    // The server answers again; stalled requests are closed.
    server.clear_faults();
    server.cut();
    sidecar.wait_until_ready();
    oracle::converges(&server, &sidecar);
}

/// W-11: the same for a page that is refused, whose list starts again.
#[test]
fn a_first_list_that_expires_on_its_second_page_begins_anew() {
    let _beside = beside_others();
    let server = five_pages();
    server.next("Pod", Verb::List(2), Fault::expired());
    let world = World::new(server);
    assert_eq!(world.lists("Pod"), 2);
    world.converges();
}

#[test]
fn every_kind_is_listed_once_and_watched_from_where_its_list_ends() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Node");
    world.is_followed("Pod");
    world.converges();
    let version = world.server.look(|store| store.version()).to_string();
    for kind in ["Node", "Pod", "Namespace"] {
        assert_eq!((kind, world.lists(kind)), (kind, 1));
    }
    for request in world.server.requests() {
        if request.is_watch() {
            assert_eq!(request.parameter("resourceVersion"), version, "{request:?}");
            assert_eq!(request.parameter("allowWatchBookmarks"), "true", "{request:?}");
            let seconds: u32 = request.parameter("timeoutSeconds").parse().unwrap();
            assert!((6..=10).contains(&seconds), "{request:?}");
        } else {
            assert_eq!(request.parameter("resourceVersion"), "", "a consistent read: {request:?}");
        }
    }
}

#[test]
fn a_policy_without_volumes_asks_for_no_storage() {
    let _beside = beside_others();
    let server = ApiServer::start();
    world::fill(&server, 3, 2);
    let sidecar = launch(&server, &["--predicates", "NodeUnschedulable,TaintToleration,NodeResourcesFit"]);
    sidecar.wait_until_ready();
    let is_watched = || (server.count(|request| request.kind == "Pod" && request.is_watch()) > 0).then_some(());
    timeout::until(is_watched).expect("pods are watched");
    let mut kinds: Vec<&str> = server.requests().iter().map(|request| request.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["DeviceClass", "Node", "Pod"]);
}

/// A pod that requests a device which only a DeviceClass serves must not simply fit, whichever predicates run.
#[test]
fn a_device_class_is_seen_where_no_predicate_reads_resources() {
    let _beside = beside_others();
    let server = ApiServer::start();
    world::fill(&server, 2, 1);
    let device = "example.com/gpu";
    server.apply(json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpus"},
        "spec": {"extendedResourceName": device}}));
    let world = World::started(server, &["--predicates", "TaintToleration,NodeAffinity"]);
    let mut asking = oracle::probe("asking", 100);
    asking["spec"]["containers"][0]["resources"]["requests"][device] = json!("1");
    let question = oracle::question(&[asking, oracle::probe("plain", 100)]);
    let answer = post(&world.sidecar.unix(), "/v1/filter", question).unwrap().json();
    assert_eq!(answer["pods"][0]["feasible"], json!([]), "{answer}");
    assert_eq!(answer["pods"][0]["faults"][0]["fault"], "Unsupported", "{answer}");
    assert_eq!(answer["pods"][1]["feasible"], json!(["n0", "n1"]), "{answer}");
}

#[test]
fn an_empty_cluster_is_ready_and_says_that_there_are_no_nodes() {
    let _beside = beside_others();
    let world = World::new(ApiServer::start());
    let question = oracle::question(&[oracle::probe("lonely", 1)]);
    let answer = post(&world.sidecar.unix(), "/v1/filter", question).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["pods"][0]["message"], "no nodes available to schedule pods");
    world.server.apply(node(0));
    world.server.apply(pod("p", "n0", 100));
    world.converges();
}

/// W-09 at the start: a forbidden list is reported.
#[test]
fn a_list_that_is_forbidden_is_named_with_what_to_grant() {
    let _beside = beside_others();
    let server = ApiServer::start();
    world::fill(&server, 2, 1);
    server.script(|script| script.always(Some("Pod"), None, Fault::forbidden()));
    let sidecar = launch(&server, &[]);
    timeout::until(|| sidecar.output().contains("forbidden").then_some(())).expect("the log names what is forbidden");
    let output = sidecar.output();
    let line = output.lines().find(|line| line.contains("forbidden")).unwrap();
    assert!(line.contains("pods") && line.contains("list"), "{line}");
    is_not_ready(&sidecar, "pods");
}

/// A cluster that does not serve DeviceClass, like most clusters.
#[test]
fn a_kind_that_the_server_does_not_know_is_empty() {
    let _beside = beside_others();
    let server = ApiServer::start();
    world::fill(&server, 3, 2);
    let unknown = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404,
        "message": "the server could not find the requested resource", "reason": "NotFound"});
    let fault = Fault::Status { code: 404, status: unknown, retry_after: None };
    server.script(|script| script.always(Some("DeviceClass"), None, fault));
    let world = World::new(server);
    world.converges();
}
