//! JSON over HTTP and gRPC, over TCP and the Unix socket, and the command line as a client: all give the answers that the
//! command line gives offline.

use futures_util::StreamExt as _;
use nodesift_proto::v1::filter_stream_response::Outcome;
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{ExplainRequest, FilterRequest, FilterStreamRequest, Pod, PodName, pod};
use nodesift_tests::http::Endpoint;
use serde_json::{Value, json};
use tonic::transport::Channel;

use crate::running::{answer, ask, in_time, offline, pending_pods, request, sample};

#[test]
fn filter_says_the_same_on_every_way() {
    let sidecar = sample(&[]);
    let pods = pending_pods();
    assert_eq!(pods.len(), 94);
    let expected: Vec<Value> =
        offline(&["filter", "-o", "jsonl"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        let over_json = ask(&endpoint, "/v1/filter", &request(&pods));
        assert!(over_json["version"]["generation"].as_str().is_some_and(|generation| generation != "0"));
        assert!(over_json["version"]["policyGeneration"].as_str().is_some_and(|generation| generation != "0"));
        let answers = over_json["pods"].as_array().unwrap();
        assert_eq!(answers.len(), expected.len());
        for (found, expected) in answers.iter().zip(&expected) {
            same_filter(found, expected);
        }

        let over_grpc = in_time(|| {
            grpc(&endpoint, |mut client| async move {
                let request = FilterRequest { pods: named(&pending_pods()), ..FilterRequest::default() };
                serde_json::to_value(client.filter(request).await.unwrap().into_inner()).unwrap()
            })
        });
        assert_eq!(over_grpc["pods"], over_json["pods"]);
    }
}

/// Absent lists and empty ones are the same in the protobuf JSON mapping.
fn same_filter(found: &Value, expected: &Value) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    assert_eq!(found["pod"], expected["pod"]);
    assert_eq!(list(&found["feasible"]), list(&expected["feasible"]), "{}", expected["pod"]);
    assert_eq!(found["message"].as_str(), expected["message"].as_str());
    let failures: Vec<Value> = list(&found["failures"])
        .iter()
        .map(|failure| {
            json!({"predicate": failure["predicate"], "code": failure["code"], "reasons": failure["reasons"],
                   "count": failure["count"]})
        })
        .collect();
    assert_eq!(failures, list(&expected["failures"]));
}

#[test]
fn explain_says_the_same_on_every_way() {
    let sidecar = sample(&[]);
    let expected = offline(&["explain", "-o", "jsonl"]);
    for server in [format!("http://{}", sidecar.address), format!("unix:{}", sidecar.socket.display())] {
        assert_eq!(answer(&["explain", "-o", "jsonl", "--server", &server]), expected, "{server}");
    }

    let pods: Vec<_> = pending_pods().into_iter().take(3).collect();
    let over_json = ask(&sidecar.unix(), "/v1/explain", &request(&pods));
    let over_grpc = in_time(|| {
        let request = ExplainRequest { pods: named(&pods), ..ExplainRequest::default() };
        grpc(&sidecar.unix(), |mut client| async move {
            serde_json::to_value(client.explain(request).await.unwrap().into_inner()).unwrap()
        })
    });
    assert_eq!(over_grpc["pods"], over_json["pods"]);
}

#[test]
fn a_pod_by_name_by_uid_and_whole_is_the_same_pod() {
    let sidecar = sample(&[]);
    let (namespace, name) = pending_pods().swap_remove(0);
    let object = crate::running::objects("Pod")
        .into_iter()
        .find(|pod| pod["metadata"]["namespace"] == *namespace && pod["metadata"]["name"] == *name)
        .unwrap();
    let answers = [
        json!({"name": {"namespace": namespace, "name": name}}),
        json!({"uid": object["metadata"]["uid"]}),
        json!({"object": object}),
        json!({"json": object.to_string()}),
    ]
    .map(|pod| ask(&sidecar.tcp(), "/v1/explain", &json!({"pods": [pod]}))["pods"].clone());
    for other in &answers {
        assert_eq!(other, &answers[0]);
    }
}

#[test]
fn a_subset_of_nodes_is_judged_alone() {
    let sidecar = sample(&[]);
    let (namespace, name) = pending_pods().swap_remove(0);
    let nodes = crate::running::objects("Node");
    let names: Vec<&str> = nodes.iter().take(5).map(|node| node["metadata"]["name"].as_str().unwrap()).collect();
    let pod = json!([{"name": {"namespace": namespace, "name": name}}]);
    let ask_for = |nodes: Value| {
        let request = json!({"pods": pod, "nodes": nodes, "detail": "DETAIL_NODES"});
        ask(&sidecar.tcp(), "/v1/filter", &request)["pods"][0].clone()
    };
    let rejected = |answer: &Value| {
        let failures = answer["failures"].as_array().cloned().unwrap_or_default();
        failures.iter().map(|failure| failure["nodes"].as_array().unwrap().len()).sum::<usize>()
    };
    let feasible = |answer: &Value| answer["feasible"].as_array().map_or(0, Vec::len);
    let few = ask_for(json!({"names": names}));
    assert_eq!(feasible(&few) + rejected(&few), names.len());
    let all = ask_for(Value::Null);
    assert_eq!(feasible(&all) + rejected(&all), nodes.len());
}

pub(crate) fn named(pods: &[(String, String)]) -> Vec<Pod> {
    let pod = |(namespace, name): &(String, String)| {
        let name = PodName { namespace: namespace.clone(), name: name.clone() };
        Pod::from(pod::Pod::Name(name))
    };
    pods.iter().map(pod).collect()
}

/// Calls the sidecar over gRPC.
pub(crate) fn grpc<T, F: Future<Output = T>>(endpoint: &Endpoint, ask: impl FnOnce(NodesiftClient<Channel>) -> F) -> T {
    over(endpoint, |channel| ask(NodesiftClient::new(channel).max_decoding_message_size(64 << 20)))
}

/// Calls any service of the sidecar over gRPC.
pub(crate) fn over<T, F: Future<Output = T>>(endpoint: &Endpoint, ask: impl FnOnce(Channel) -> F) -> T {
    let url = match endpoint {
        Endpoint::Tcp(address) => format!("http://{address}"),
        Endpoint::Unix(path) => format!("unix:{}", path.display()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        ask(channel).await
    })
}

#[test]
fn a_stream_answers_in_order_and_outlives_a_request_that_fails() {
    let sidecar = sample(&[]);
    let pods = named(&pending_pods());
    let one_by_one: Vec<Value> = pods.iter().map(|pod| filtered(&sidecar.unix(), pod)).collect();
    let answers = grpc(&sidecar.unix(), |mut client| async move {
        let mut requests: Vec<Pod> = pods;
        requests.insert(7, Pod::from(pod::Pod::Uid("nobody".into())));
        let requests = requests.into_iter().zip(100..).map(|(pod, id)| {
            let filter = Some(FilterRequest { pods: vec![pod], ..FilterRequest::default() });
            FilterStreamRequest { id, filter }
        });
        let answers = client.filter_stream(futures_util::stream::iter(requests.collect::<Vec<_>>())).await.unwrap();
        answers.into_inner().map(Result::unwrap).collect::<Vec<_>>().await
    });
    let mut expected = one_by_one.into_iter();
    for (answer, id) in answers.into_iter().zip(100..) {
        assert_eq!(answer.id, id);
        match answer.outcome.unwrap() {
            Outcome::Error(error) => assert_eq!((id, error.code.as_str()), (107, "NOT_FOUND")),
            Outcome::Answer(answer) => {
                let (found, expected) = (serde_json::to_value(&answer.pods).unwrap(), expected.next().unwrap());
                // A predicate that exceeds its deadline reports a fault; these answers are not compared.
                if !found.to_string().contains("Deadline") {
                    assert_eq!(found, expected);
                }
            }
        }
    }
    assert!(expected.next().is_none());
}

fn filtered(endpoint: &Endpoint, pod: &Pod) -> Value {
    in_time(|| {
        grpc(endpoint, |mut client| {
            let request = FilterRequest { pods: vec![pod.clone()], ..FilterRequest::default() };
            async move { serde_json::to_value(client.filter(request).await.unwrap().into_inner().pods).unwrap() }
        })
    })
}
