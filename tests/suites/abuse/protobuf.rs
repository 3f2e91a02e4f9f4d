//! Protobuf that no encoder writes: wrong wire types, wrong lengths, packed bombs, unknown fields, random mutations.

use nodesift_proto::v1;
use prost::Message as _;
use tonic::Code;

use nodesift_tests::machine::beside_others;

use crate::arena::{Arena, node_names, pending_objects, pending_pods, random};
use crate::grpc::wire::{bytes, tag, varint};
use crate::grpc::{Client, block_on};

/// Randomly mutated messages, over all calls.
const MUTATIONS: usize = 4_000;
/// Unknown fields of one message: more than any later version has.
const UNKNOWN: u64 = 100_000;
/// Entries of one packed list.
const PACKED: usize = 1 << 20;

/// Calls with valid messages.
fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let name = |at: usize| {
        let pod = &pending_pods()[at]["name"];
        let text = |key: &str| pod[key].as_str().unwrap().to_owned();
        v1::Pod::from(v1::pod::Pod::Name(v1::PodName { namespace: text("namespace"), name: text("name") }))
    };
    let whole = v1::Pod::from(v1::pod::Pod::Json(pending_objects()[2].to_string()));
    let object = v1::Pod::from(v1::pod::Pod::Object(serde_json::from_value(pending_objects()[3].clone()).unwrap()));
    let nodes = Some(v1::NodeSubset { names: node_names().into_iter().take(3).collect() });
    let consistency = Some(v1::Consistency { min_generation: Some(0), deadline_ms: Some(0), ..Default::default() });
    let filter = v1::FilterRequest {
        pods: vec![name(0), whole, object],
        nodes: nodes.clone(),
        detail: v1::Detail::Nodes.into(),
        consistency: consistency.clone(),
        ..Default::default()
    };
    let explain = v1::ExplainRequest { pods: vec![name(1)], nodes, consistency, ..Default::default() };
    let predicates = v1::PredicatesRequest {
        allocation_key: "nobody".into(),
        node_id: "n".into(),
        allocate: true,
        consistency: None,
    };
    let forget = v1::ForgetRequest { pod: Some(name(0)) };
    vec![
        ("Filter", filter.encode_to_vec()),
        ("Explain", explain.encode_to_vec()),
        ("Predicates", predicates.encode_to_vec()),
        ("Forget", forget.encode_to_vec()),
    ]
}

#[test]
fn a05_wrong_wire_types_and_lengths_that_lie_are_refused() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let huge = |field| [tag(field, 2), varint(u64::MAX), vec![0; 8]].concat();
    let refused: Vec<(&str, Vec<u8>)> = vec![
        ("pods as a number", [tag(1, 0), varint(7)].concat()),
        ("pods as a fixed64", [tag(1, 1), vec![0; 8]].concat()),
        ("pods as a group that does not end", tag(1, 3)),
        ("an end of no group", tag(1, 4)),
        ("a wire type that is none", tag(1, 6)),
        ("another", tag(1, 7)),
        ("field 0", [tag(0, 0), varint(1)].concat()),
        ("phase as bytes", bytes(2, b"x")),
        ("a length beyond the end", [tag(1, 2), varint(1000), vec![0; 10]].concat()),
        ("a length of 2^64 - 1", huge(1)),
        ("a length of 2^31", [tag(1, 2), varint(1 << 31)].concat()),
        ("a negative length", [tag(1, 2), vec![0xff; 9], vec![0x01]].concat()),
        ("a varint of eleven bytes", [tag(2, 0), vec![0xff; 10], vec![0x01]].concat()),
        ("a varint that ends early", [tag(2, 0), vec![0x80]].concat()),
        ("a tag that ends early", vec![0xff; 5]),
        ("a uid that is no UTF-8", bytes(1, &bytes(1, b"\xff\xfe"))),
        ("a uid with a surrogate", bytes(1, &bytes(1, b"\xed\xa0\x80"))),
        ("an unknown group that nests and does not end", tag(99, 3).repeat(10_000)),
    ];
    block_on(async {
        for endpoint in arena.endpoints() {
            let mut client = Client::connect(&endpoint).await;
            for (what, message) in &refused {
                let status = client.call("Filter", message.clone()).await.unwrap_err();
                assert_eq!(status.code(), Code::InvalidArgument, "{what}: {status}");
            }
        }
    });
    arena.goes_on();
}

#[test]
fn a05_unknown_fields_and_packed_bombs_are_skipped() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let message = messages().swap_remove(0).1;
    let unknown: Vec<u8> = (0..UNKNOWN)
        .flat_map(|at| match at % 4 {
            0 => [tag(1000 + at, 0), varint(at)].concat(),
            1 => [tag(1000 + at, 1), vec![0; 8]].concat(),
            2 => bytes(1000 + at, b"future"),
            _ => [tag(1000 + at, 3), tag(1000 + at, 4)].concat(),
        })
        .collect();
    let packed = bytes(1000, &vec![1; PACKED]);
    // The last of a repeated non-list field counts.
    let phases: Vec<u8> = [tag(2, 0), varint(2)].concat().repeat(PACKED / 2);
    block_on(async {
        let mut client = Client::connect(&arena.sidecar.unix()).await;
        let plain = v1::FilterResponse::decode(client.call("Filter", message.clone()).await.unwrap()).unwrap();
        for (what, before, after) in [
            ("unknown fields before", unknown.as_slice(), [].as_slice()),
            ("unknown fields after", [].as_slice(), unknown.as_slice()),
            ("an unknown packed list", [].as_slice(), packed.as_slice()),
            ("half a million phases", phases.as_slice(), [8 * 2, 1].as_slice()),
        ] {
            let message = [before, &message, after].concat();
            let answer = client.call("Filter", message).await.unwrap_or_else(|status| panic!("{what}: {status}"));
            let answer = v1::FilterResponse::decode(answer).unwrap();
            assert_eq!(answer.pods, plain.pods, "{what}");
        }
        // Where one flag is expected, a packed list of a million is refused.
        let status = client.call("Filter", [message, bytes(5, &vec![1; PACKED])].concat()).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    });
    arena.goes_on();
}

#[test]
fn a05_mutations_are_answered() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut random = random();
    let messages = messages();
    let (mut taken, mut refused) = (0, 0);
    block_on(async {
        let mut client = Client::connect(&arena.sidecar.unix()).await;
        for at in 0..MUTATIONS {
            let (call, message) = &messages[at % messages.len()];
            let mut message = message.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..message.len());
                match random.u8(..5) {
                    0 => message[at] = random.u8(..),
                    1 => message[at] ^= 1 << random.u8(..8),
                    2 => message.truncate(at.max(1)),
                    3 => drop(message.splice(at..at, varint(random.u64(..)))),
                    _ => drop(message.splice(at..at, tag(random.u64(1..20), random.u64(..8)))),
                }
            }
            match client.call(call, message.clone()).await {
                Ok(_) => taken += 1,
                Err(status) => {
                    refused += 1;
                    let known = matches!(
                        status.code(),
                        Code::InvalidArgument | Code::NotFound | Code::DeadlineExceeded | Code::ResourceExhausted
                    );
                    assert!(known, "{call} {message:x?}: {status}");
                }
            }
        }
    });
    println!("{taken} taken, {refused} refused");
    assert!(taken > 0 && refused > 0);
    arena.goes_on();
}
