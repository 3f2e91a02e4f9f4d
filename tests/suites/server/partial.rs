//! Requests that are answered in part: pending pods page by page, and batches with pods or nodes that have just gone.

use nodesift_proto::v1::{ExplainRequest, FilterRequest, NodeSubset, Pod, pod as pod_of};
use nodesift_tests::http::post;
use nodesift_tests::sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::decisions::{node, pod, serving};
use crate::running::{ask, command, in_time};

/// Pending pods, more than two requests may have.
const PENDING: usize = 2_300;

fn name(number: usize) -> String {
    format!("p{number:04}")
}

/// One node and many pending pods.
fn many_pending() -> (sidecar::Sidecar, tempfile::TempDir) {
    let mut objects = vec![node("n1", "1")];
    objects.extend((0..PENDING).map(|number| pod(&name(number), "600m", &json!({}))));
    serving(&objects, &[])
}

/// Namespaces and names of an answer's pods.
fn pods_of(answer: &Value) -> Vec<String> {
    answer["pods"].as_array().unwrap().iter().map(|pod| pod["pod"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn more_pending_pods_than_one_request_may_have_are_answered_page_by_page() {
    let (sidecar, _folder) = many_pending();
    let expected: Vec<String> = (0..PENDING).map(|number| format!("ns/{}", name(number))).collect();
    for (path, size, pages) in [("/v1/filter", 0, 3), ("/v1/explain", 250, 10), ("/v1/filter", 900, 3)] {
        let (mut all, mut token, mut asked) = (Vec::new(), json!(""), 0);
        loop {
            let answer = ask(&sidecar.unix(), path, &json!({"pending": true, "pageSize": size, "pageToken": token}));
            all.extend(pods_of(&answer));
            token = answer["nextPageToken"].clone();
            asked += 1;
            if token == "" {
                break;
            }
        }
        assert_eq!(all, expected, "{path}");
        assert_eq!(asked, pages, "{path} with pages of {size}");
    }
    // The pod of the token need not be pending any more.
    let from = |token: &str| ask(&sidecar.unix(), "/v1/filter", &json!({"pending": true, "pageToken": token}));
    assert_eq!(pods_of(&from("ns/p2298-gone")), ["ns/p2299"]);
    assert_eq!(pods_of(&from("zz/last")), Vec::<String>::new());
    for (request, named) in [
        (json!({"pending": true, "pageToken": "nonsense"}), "page_token"),
        (json!({"pods": [{"uid": "uid-p0000"}], "pageToken": "ns/p0000"}), "page_token"),
        (json!({"pods": [{"uid": "uid-p0000"}], "pageSize": 5}), "page_size"),
    ] {
        let refused = post(&sidecar.unix(), "/v1/filter", request.to_string()).unwrap();
        assert!(refused.status == 400 && refused.body.contains(named), "{request}: {}", refused.body);
    }
}

#[test]
fn the_command_explains_every_pending_pod_of_a_sidecar_however_many_there_are() {
    let (sidecar, _folder) = many_pending();
    let server = format!("unix:{}", sidecar.socket.display());
    let lines = in_time(|| {
        let output = sidecar::run(command().args(["explain", "--server", &server, "-o", "jsonl"]));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout
    });
    let conjunctions = lines.lines().filter(|line| line.contains(r#""predicate":"*""#));
    let pods: Vec<String> = conjunctions
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["pod"].as_str().unwrap().to_owned())
        .collect();
    assert!(pods.iter().eq((0..PENDING).map(|number| format!("ns/{}", name(number))).collect::<Vec<_>>().iter()));
}

#[test]
fn a_pod_that_has_gone_is_an_error_of_its_own_and_not_of_the_batch() {
    let (sidecar, _folder) = serving(&[node("n1", "1"), pod("first", "600m", &json!({}))], &[]);
    let batch = json!({"pods": [{"uid": "gone"}, {"uid": "uid-first"}, {"name": {"namespace": "ns", "name": "gone"}}]});
    for path in ["/v1/filter", "/v1/explain"] {
        let answer = ask(&sidecar.unix(), path, &batch);
        let pods = answer["pods"].as_array().unwrap();
        let pods: Vec<&Value> =
            pods.iter().map(|pod| if path == "/v1/filter" { pod } else { &pod["conjunction"] }).collect();
        assert_eq!(pods.len(), 3, "{answer}");
        for (gone, named) in [(pods[0], "gone"), (pods[2], "ns/gone")] {
            assert_eq!((&gone["pod"], &gone["error"]["code"]), (&json!(named), &json!("NOT_FOUND")), "{answer}");
            assert!(
                gone["error"]["message"].as_str().unwrap().starts_with(&format!("pod {named} is not in the cache"))
            );
            assert_eq!((&gone["feasible"], &gone["cycle"]), (&json!([]), &json!("CYCLE_UNSPECIFIED")), "{answer}");
        }
        assert_eq!((&pods[1]["pod"], &pods[1]["feasible"]), (&json!("ns/first"), &json!(["n1"])), "{answer}");
        assert_eq!(pods[1]["error"], Value::Null, "{answer}");
    }
    let nobody =
        post(&sidecar.unix(), "/v1/filter", json!({"pods": [{"uid": "a"}, {"uid": "b"}]}).to_string()).unwrap();
    assert_eq!(nobody.status, 404, "a request that has no answer fails: {}", nobody.body);
    let feasible = grpc(&sidecar.unix(), |mut client| async move {
        let uid = |uid: &str| Pod::from(pod_of::Pod::Uid(uid.to_owned()));
        let request = FilterRequest { pods: vec![uid("uid-first"), uid("gone")], ..FilterRequest::default() };
        client.filter(request).await.unwrap().into_inner().pods
    });
    assert!(feasible[0].error.is_none() && feasible[1].error.is_some(), "{feasible:?}");
}

#[test]
fn a_node_that_has_gone_is_named_and_the_others_are_answered() {
    let (sidecar, _folder) = serving(&[node("n1", "1"), pod("first", "600m", &json!({}))], &[]);
    let request = |nodes: &[&str]| json!({"pods": [{"uid": "uid-first"}], "nodes": {"names": nodes}});
    for path in ["/v1/filter", "/v1/explain"] {
        let answer = ask(&sidecar.unix(), path, &request(&["x", "n1", "gone", "x"]));
        assert_eq!(answer["unknownNodes"], json!(["gone", "x"]), "{answer}");
        let pod = if path == "/v1/filter" { &answer["pods"][0] } else { &answer["pods"][0]["conjunction"] };
        assert_eq!((&pod["feasible"], &pod["nodes"]), (&json!(["n1"]), &json!(1)), "{answer}");
        let none = post(&sidecar.unix(), path, request(&["x", "gone"]).to_string()).unwrap();
        assert_eq!(none.status, 404, "{}", none.body);
    }
    let unknown = grpc(&sidecar.unix(), |mut client| async move {
        let pods = vec![Pod::from(pod_of::Pod::Uid("uid-first".to_owned()))];
        let nodes = Some(NodeSubset { names: vec!["n1".to_owned(), "gone".to_owned()] });
        client.explain(ExplainRequest { pods, nodes, ..ExplainRequest::default() }).await.unwrap().into_inner()
    });
    assert_eq!(unknown.unknown_nodes, ["gone"]);
    // What is typed by hand is meant.
    let server = format!("unix:{}", sidecar.socket.display());
    for missing in [["--node", "gone", "n1"], ["--pod", "ns/gone", "ns/first"]] {
        let output = sidecar::run(command().args(["filter", "--server", &server]).args(missing));
        assert_ne!(output.code, Some(0), "{missing:?}: {}", output.stdout);
        assert!(output.stderr.contains("gone"), "{}", output.stderr);
    }
    // Names come from the list of pending pods, whose first one takes a moment.
    for command_name in ["filter", "explain"] {
        let mut said = String::new();
        let named = timeout::until(|| {
            said = sidecar::run(command().args([command_name, "--server", &server, "--pod", "ns/frist"])).stderr;
            said.contains("pod ns/frist is not in the cache").then_some(())?;
            said.contains("pods with a name like it: ns/first").then_some(())
        });
        assert!(named.is_some(), "{command_name}: {said}");
    }
}
