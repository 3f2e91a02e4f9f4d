//! Answers that are much larger than their requests: they are encoded while they are sent, so the sidecar never holds them
//! whole, and clients that read slowly are cut off without harm to others.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use nodesift_api::limits::{MESSAGE_BYTES, STREAMS};
use nodesift_proto::v1;
use nodesift_tests::machine::alone;
use nodesift_tests::process;
use nodesift_tests::wire::Wire;
use prost::Message as _;
use serde_json::{Value, json};
use tonic::Code;
use tonic::codegen::Service as _;
use tonic::codegen::http::Request;

use crate::arena::{Arena, mib, node_names};
use crate::grpc;

const NODES: usize = 5_000;
const PODS: usize = 400;
/// Memory that the sidecar may take whatever is asked, beyond half of what it takes idle.
const GROWTH: u64 = 64 << 20;
/// The pods' answers together, in bytes, at least: that of a predicate which names 5,000 nodes for each of them.
const ANSWER_BYTES: usize = 40 << 20;

/// A sidecar on many nodes.
fn arena() -> (Arena, tempfile::TempDir) {
    let node = |at: usize| {
        let name = format!("node-{at:05}.example.internal");
        json!({"apiVersion": "v1", "kind": "Node",
               "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
               "spec": {"taints": [{"key": "special", "effect": "NoSchedule"}]},
               "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
    };
    Arena::on((0..NODES).map(node).collect())
}

/// Pods that several predicates reject on every node, each with another request.
fn impossible(pods: usize) -> Vec<Value> {
    let pod = |at: usize| {
        json!({"metadata": {"name": format!("p{at}")},
               "spec": {"nodeSelector": {"no": "such"},
                        "containers": [{"name": "c", "resources": {"requests": {"cpu": 5000 + at, "memory": "1Ti"}}}]}})
    };
    (0..pods).map(|at| json!({"json": pod(at).to_string()})).collect()
}

/// Peak memory of the sidecar since `process::forget_peak`, checked against what it took idle.
fn assert_bounded(arena: &Arena, idle: u64, what: &str) {
    let peak = process::peak_resident_bytes(arena.sidecar.id());
    println!("{what}: idle {}, at most {}", mib(idle), mib(peak));
    assert!(peak <= idle + idle / 2 + GROWTH, "{what}: idle {}, at most {}", mib(idle), mib(peak));
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn readers_that_hold_every_stream_lock_nobody_out() {
    let _alone = alone();
    let arena = Arena::new(&[]);
    let open = |mut wire: Wire| {
        wire.send("GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        assert_eq!(wire.head().unwrap().status, 200);
        wire
    };
    // Streams of which nothing more than the head is read: where all are taken, the one idle longest ends for the newcomer.
    let _held: Vec<Wire> = (0..2 * STREAMS).map(|_| open(arena.tcp_wire())).collect();
    // Those on the Unix socket are counted apart.
    let _core = open(arena.wire());
    assert_eq!(arena.wire().get("/v1/state").unwrap().status, 200);
}

#[test]
fn explaining_hundreds_of_impossible_pods_takes_bounded_memory() {
    let _alone = alone();
    let (arena, _folder) = arena();
    let id = arena.sidecar.id();
    // The first evaluation makes columns that stay.
    let first = json!({"pods": impossible(1)}).to_string();
    assert_eq!(arena.wire().post("/v1/explain", first).unwrap().status, 200);
    let idle = process::resident_bytes(id);
    process::forget_peak(id);

    let body = json!({"pods": impossible(PODS)}).to_string();
    let answer = arena.wire().post("/v1/explain", &body).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.body.len() > ANSWER_BYTES, "{} bytes", answer.body.len());
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let pods = answer["pods"].as_array().unwrap();
    assert_eq!(pods.len(), PODS);
    for pod in pods {
        let rejected = |failure: &Value| failure["nodes"].as_array().map_or(0, Vec::len);
        let by = |predicate: &Value| predicate["failures"].as_array().unwrap().iter().map(rejected).sum::<usize>();
        let predicates: Vec<usize> = pod["predicates"].as_array().unwrap().iter().map(by).collect();
        assert_eq!(predicates.iter().filter(|nodes| **nodes == NODES).count(), 3, "{predicates:?}");
    }
    assert_bounded(&arena, idle, "explain of 400 impossible pods as JSON");

    // One message of gRPC has a length before it, so it is held whole, and refused where it is too large.
    let pods = impossible(PODS)
        .into_iter()
        .map(|pod| v1::Pod::from(v1::pod::Pod::Json(pod["json"].as_str().unwrap().to_owned())));
    let request = v1::ExplainRequest { pods: pods.collect(), ..Default::default() };
    let refused = grpc::block_on(async {
        let mut client = grpc::Client::connect(&arena.sidecar.unix()).await;
        client.call("Explain", request.encode_to_vec()).await.unwrap_err()
    });
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert!(refused.message().contains(&MESSAGE_BYTES.to_string()), "{refused}");
    assert_bounded(&arena, idle, "explain of 400 impossible pods over gRPC");
    arena.goes_on();
}

#[test]
fn answers_that_repeat_their_requests_count_until_they_are_read() {
    const REQUESTS: usize = 60;
    let _alone = alone();
    let arena = Arena::new(&[]);
    let id = arena.sidecar.id();
    let node = node_names().swap_remove(0);
    let pod = json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c"}]}});
    // A victim that nobody knows is one that leaves.
    let victims = json!({"Pods": [{"UID": "u".repeat(3 << 20)}]});
    let preempt = json!({"Pod": pod, "NodeNameToMetaVictims": {node: victims}}).to_string();
    assert_eq!(arena.tcp_wire().post("/extender/preempt", &preempt).unwrap().status, 200);
    let idle = process::resident_bytes(id);
    process::forget_peak(id);
    let url = format!("http://{}", arena.sidecar.address);
    let answered = grpc::block_on(async {
        // A client that opens no window for answers.
        let endpoint = tonic::transport::Endpoint::from_shared(url).unwrap().initial_stream_window_size(0);
        let channel = endpoint.connect().await.unwrap();
        let post = || {
            let body = tonic::body::Body::new(http_body_util::Full::new(preempt.clone().into()));
            let request = Request::post("/extender/preempt").header("content-type", "application/json");
            let (mut channel, request) = (channel.clone(), request.body(body).unwrap());
            async move {
                poll_fn(|cx| channel.poll_ready(cx)).await?;
                channel.call(request).await
            }
        };
        let mut unread = Vec::new();
        for _ in 0..REQUESTS {
            // Refused, or cut off, in the end.
            let Ok(answer) = post().await else { break };
            unread.push(answer);
        }
        unread.iter().filter(|answer| answer.status() == 200).count()
    });
    println!("{answered} of {REQUESTS} requests of 3 MiB were answered");
    assert_bounded(&arena, idle, "unread answers that repeat their requests");
    arena.goes_on();
}

#[test]
fn policies_that_nobody_reads_take_bounded_memory() {
    const CONNECTIONS: usize = 2;
    const REQUESTS: usize = 100;
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    let document = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: long}\nspec:\n  schedulerNames: [default-scheduler]\n  predicates:\n  - name: NodeName\n";
    // In JSON each of these characters takes two bytes.
    let comment = format!("#{}\n", "\"".repeat(100));
    std::fs::write(&file, comment.repeat(10_000) + document).unwrap();
    let arena = Arena::new(&["--policy", file.to_str().unwrap()]);
    let id = arena.sidecar.id();
    let answer = arena.wire().get("/v1/policy").unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.body.len() > 2_000_000, "{} bytes", answer.body.len());
    let idle = process::resident_bytes(id);
    process::forget_peak(id);
    let url = format!("http://{}", arena.sidecar.address);
    let answered = grpc::block_on(async {
        let asked = (0..CONNECTIONS).map(|_| async {
            // A client that opens no window for answers.
            let endpoint = tonic::transport::Endpoint::from_shared(url.clone()).unwrap().initial_stream_window_size(0);
            let channel = endpoint.connect().await.unwrap();
            let get = |_| {
                let (mut channel, request) = (channel.clone(), Request::get("/v1/policy"));
                async move {
                    poll_fn(|cx| channel.poll_ready(cx)).await?;
                    channel.call(request.body(tonic::body::Body::empty()).unwrap()).await
                }
            };
            // Refused, or cut off, in the end.
            let unread = join_all((0..REQUESTS).map(get)).await;
            unread.iter().flatten().filter(|answer| answer.status() == 200).count()
        });
        join_all(asked).await.into_iter().sum::<usize>()
    });
    println!("{answered} of {} requests were answered", CONNECTIONS * REQUESTS);
    assert!(answered > 0);
    assert_bounded(&arena, idle, "unread policies");
    arena.goes_on();
}

#[test]
fn fifty_readers_that_leave_their_answers_unread_take_bounded_memory() {
    const READERS: usize = 50;
    let _alone = alone();
    let (arena, _folder) = arena();
    let id = arena.sidecar.id();
    let body = json!({"pods": impossible(20)}).to_string();
    assert_eq!(arena.wire().post("/v1/explain", &body).unwrap().status, 200);
    let idle = process::resident_bytes(id);
    process::forget_peak(id);
    // The buffers of a Unix socket are small: almost all of an answer stays with the sidecar.
    let mut readers: Vec<Wire> = (0..READERS).map(|_| arena.wire()).collect();
    for reader in &mut readers {
        // One after the other, so that none is refused for the length of the queue.
        reader.send(post("/v1/explain", &body)).unwrap();
        assert_eq!(reader.receive_some(15).unwrap(), b"HTTP/1.1 200 OK");
        reader.wait_at_most(Duration::from_millis(1)).unwrap();
    }
    let start = Instant::now();
    let mut asked = 0;
    while start.elapsed() < Duration::from_secs(3) {
        for reader in &mut readers {
            // Slow but moving; one that was cut off stays so.
            let _byte = reader.receive_some(16);
        }
        let mut honest = arena.wire();
        assert_eq!(honest.post("/v1/filter", json!({"pods": impossible(1)}).to_string()).unwrap().status, 200);
        asked += 1;
    }
    println!("{asked} honest requests beside {READERS} slow readers");
    assert_bounded(&arena, idle, "fifty slow readers");
    drop(readers);
    arena.goes_on();
}
