//! Nesting: deep documents and messages are refused at a known depth, and none overflows the stack.

use nodesift_api::limits::JSON_DEPTH;
use nodesift_proto::wkt;
use prost::Message as _;
use serde_json::json;
use tonic::Code;

use nodesift_tests::machine::beside_others;

use crate::arena::{Arena, node_names};
use crate::grpc::wire::bytes;
use crate::grpc::{Client, block_on};

/// Deeper than any stack allows: a recursive parser would need some hundred megabytes.
const BOTTOMLESS: usize = 1_000_000;
/// Bytes of a document that opens nested values and never closes them.
const OPEN_BYTES: usize = 3_000_000;
/// Depth of nested messages that is decoded, not counting the request.
const MESSAGE_DEPTH: usize = 100;

/// A request whose document is nested to a depth, the request's own object included.
fn nested(depth: usize) -> String {
    // The surrounding levels are the request, its list of pods, the pod, and the object.
    format!(r#"{{"pods":[{{"object":{{"metadata":{{"name":"p"}},"unknown":{}}}}}]}}"#, lists(depth - 4))
}

fn lists(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn a04_json_is_read_to_its_depth_and_refused_beyond() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    let status = |wire: &mut nodesift_tests::wire::Wire, body: &str| {
        let answer = wire.post("/v1/filter", body).unwrap();
        (answer.status, answer.text())
    };
    let (fits, text) = status(&mut wire, &nested(JSON_DEPTH - 1));
    assert_eq!(fits, 200, "{text}");
    for depth in [JSON_DEPTH + 1, BOTTOMLESS] {
        let (refused, text) = status(&mut wire, &nested(depth));
        assert!(refused == 400 && text.contains("recursion limit"), "{depth}: {text}");
        // Never closed, so never a complete document.
        for open in ["[", "{\"a\":", "{\"pods\":[{\"object\":{\"a\":"] {
            let (refused, text) = status(&mut wire, &open.repeat(depth.min(OPEN_BYTES / open.len())));
            assert_eq!(refused, 400, "{text}");
        }
    }
    // The text of a pod is a separate document. A field of the wrong type is refused at any depth. An unknown field is skipped
    // without recursion, so it may have any depth.
    for depth in [JSON_DEPTH - 2, JSON_DEPTH + 1, BOTTOMLESS] {
        for (spec, expected) in [("spec\":{\"nodeSelector", 400), ("future\":{\"field", 200)] {
            let pod = format!(r#"{{"metadata":{{"name":"p"}},"{spec}":{}}}}}"#, lists(depth));
            let (found, text) = status(&mut wire, &json!({"pods": [{"json": pod}]}).to_string());
            assert_eq!(found, expected, "{depth}: {text}");
        }
    }
    arena.goes_on();
}

#[test]
fn a04_the_extender_skips_what_is_deep_without_the_stack() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    let node = &node_names()[0];
    for depth in [JSON_DEPTH - 1, JSON_DEPTH + 1, BOTTOMLESS] {
        let lists = lists(depth);
        for pod in [
            format!(r#"{{"metadata":{{"name":"p"}},"future":{lists}}}"#),
            format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":{lists}}}}}"#),
            lists.clone(),
        ] {
            let answer = wire.post("/extender/filter", format!(r#"{{"Pod":{pod},"NodeNames":["{node}"]}}"#)).unwrap();
            assert_eq!(answer.status, 200);
            let refused = answer.json()["Error"] != "";
            assert_eq!(refused, !pod.contains("future"), "{depth}: {}", answer.text());
        }
        let other = wire.post("/extender/preempt", format!(r#"{{"Pod":{lists},"NodeNameToVictims":{{}}}}"#)).unwrap();
        assert_eq!(other.status, 400, "{}", other.text());
    }
    arena.goes_on();
}

/// A request with this number of nested messages, itself included.
fn messages(depth: usize) -> Vec<u8> {
    // FilterRequest.pods, Pod.object, Struct.fields, its entry's value, then nested lists: Value.list_value and
    // ListValue.values alternate.
    const AROUND: [u64; 4] = [1, 4, 1, 2];
    const LIST: [u64; 2] = [6, 1];
    let fields: Vec<u64> = AROUND.into_iter().chain(LIST.into_iter().cycle()).take(depth - 1).collect();
    // Besides the nested value, the pod has its required fields.
    let metadata: wkt::Struct = serde_json::from_value(json!({"metadata": {"name": "p"}})).unwrap();
    // Built from the innermost message outwards and reversed, so that no level is copied.
    let mut reversed: Vec<u8> = Vec::new();
    for (at, field) in fields.into_iter().enumerate().rev() {
        let head = bytes(field, &[]);
        let length = crate::grpc::wire::varint(reversed.len() as u64);
        reversed.extend(length.iter().rev());
        reversed.extend(head[..head.len() - 1].iter().rev());
        if at == AROUND.len() - 2 {
            reversed.extend(metadata.encode_to_vec().iter().rev());
        }
    }
    reversed.reverse();
    reversed
}

#[test]
fn a04_messages_are_read_to_their_depth_and_refused_beyond() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    for endpoint in arena.endpoints() {
        block_on(async {
            let mut client = Client::connect(&endpoint).await;
            for call in ["Filter", "Explain"] {
                client.call(call, messages(MESSAGE_DEPTH - 1)).await.expect("an unknown field is skipped");
                // The request itself does not count.
                for depth in [MESSAGE_DEPTH + 2, 100_000] {
                    let status = client.call(call, messages(depth)).await.unwrap_err();
                    assert_eq!(status.code(), Code::InvalidArgument, "{depth}: {status}");
                }
            }
        });
    }
    arena.goes_on();
}
