//! Malformed JSON: every truncation, random mutations, and texts that are almost JSON. Always refused with a reason and a 4xx.

use nodesift_tests::machine::beside_others;
use nodesift_tests::wire::{Answer, Wire};
use serde_json::json;

use crate::arena::{Arena, node_names, pending_objects, pending_pods, random};

/// Randomly mutated bodies, over all calls.
const MUTATIONS: usize = 4_000;

/// A call and a valid body for it. It names few nodes, because evaluation is not what is tested.
fn bodies() -> [(&'static str, String); 3] {
    let nodes: Vec<String> = node_names().into_iter().take(3).collect();
    let pod = json!({"metadata": {"name": "é", "labels": {"a": "\u{1F600}"}}, "spec": {"priority": 7,
        "containers": [{"resources": {"requests": {"cpu": "100m"}}}], "tolerations": [{"operator": "Exists"}]}});
    let filter = json!({"pods": [{"object": pod}, pending_pods()[0]], "phase": "PHASE_RESERVE",
        "nodes": {"names": nodes}, "detail": "DETAIL_FEASIBLE"});
    let explain = json!({"pods": [{"json": pod.to_string()}], "nodes": {"names": nodes},
        "consistency": {"minGeneration": "0", "deadlineMs": 0}});
    let extender = json!({"Pod": pending_objects()[0], "Nodes": null, "NodeNames": nodes});
    [
        ("/v1/filter", filter.to_string()),
        ("/v1/explain", explain.to_string()),
        ("/extender/filter", extender.to_string()),
    ]
}

/// Whether a call has refused a request in its own protocol, with a short reason.
fn is_refused(path: &str, answer: &Answer) -> bool {
    let reason = if path.starts_with("/extender") {
        (answer.status == 200).then(|| answer.json()["Error"].clone())
    } else {
        (answer.status == 400).then(|| answer.json()["error"]["message"].clone())
    };
    let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default();
    !reason.is_empty() && reason.len() <= nodesift_api::limits::ERROR_BYTES + 3
}

#[test]
fn a03_a_body_cut_at_any_byte_is_refused() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    for (path, body) in bodies() {
        assert_eq!(wire.post(path, &body).unwrap().status, 200, "{path} takes it whole");
        for cut in 0..body.len() {
            let answer = wire.post(path, &body.as_bytes()[..cut]).unwrap();
            assert!(is_refused(path, &answer), "{path} cut at {cut}: {} {}", answer.status, answer.text());
        }
    }
    arena.goes_on();
}

/// One mutation: a byte, a range, an invalid number.
fn mutate(body: &mut Vec<u8>, random: &mut fastrand::Rng) {
    const PIECES: [&[u8]; 12] = [
        b"NaN",
        b"1e400",
        b"-1e400",
        b"-",
        b"\xff",
        b"\xed\xa0\x80",
        b"\"\\ud800\"",
        b"\0",
        b"[",
        b"{",
        b"null",
        b"99999999999999999999",
    ];
    let at = random.usize(..body.len());
    match random.u8(..6) {
        0 => body[at] = random.u8(..),
        1 => body[at] ^= 1 << random.u8(..8),
        2 => drop(body.drain(at..(at + random.usize(1..16)).min(body.len()))),
        3 => {
            let piece = body[at..(at + random.usize(1..40)).min(body.len())].to_vec();
            drop(body.splice(at..at, piece));
        }
        4 => drop(body.splice(at..at, random.choice(PIECES).unwrap().iter().copied())),
        _ => {
            let other = random.usize(..body.len());
            body.swap(at, other);
        }
    }
}

#[test]
fn a03_mutations_are_answered_without_a_5xx() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut random = random();
    let bodies = bodies();
    let mut wire = arena.wire();
    let (mut taken, mut refused) = (0, 0);
    for at in 0..MUTATIONS {
        let (path, body) = &bodies[at % bodies.len()];
        let mut body = body.clone().into_bytes();
        for _ in 0..random.usize(1..4) {
            mutate(&mut body, &mut random);
        }
        let answer = wire.post(path, &body).unwrap();
        let known = matches!(answer.status, 200 | 400 | 404 | 504);
        assert!(known, "{path} {}: {} {}", String::from_utf8_lossy(&body), answer.status, answer.text());
        // 504 is the answer to a mutation that requests a consistency which is never reached.
        assert!(answer.status != 504 || answer.text().contains("DEADLINE_EXCEEDED"));
        if is_refused(path, &answer) || answer.status != 200 { refused += 1 } else { taken += 1 }
    }
    println!("{taken} taken, {refused} refused");
    assert!(taken > 0 && refused > 0);
    arena.goes_on();
}

#[test]
fn a03_what_json_almost_allows_is_refused_with_a_reason() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire = arena.wire();
    let in_pod =
        |spec: &[u8]| [br#"{"pods":[{"object":{"metadata":{"name":"p"},"spec":{"#.as_slice(), spec, b"}}}]}"].concat();
    let refused: [&[u8]; 22] = [
        b"",
        b" ",
        b"null",
        b"[]",
        b"7",
        b"\"text\"",
        b"\xef\xbb\xbf{\"pods\":[]}",
        b"\xff\xfe{\0}\0",
        b"{\"pods\":[],\"pods\":[]}",
        b"{\"pods\":[{\"uid\":\"a\",\"uid\":\"b\"}]}",
        b"{\"pods\":[{\"uid\":\"a\",\"name\":{\"name\":\"b\"}}]}",
        b"{\"pods\":[],}",
        b"{'pods':[]}",
        b"{pods:[]}",
        b"{\"pods\":[]}{}",
        b"{\"pods\":[]}\0",
        b"/* a */{\"pods\":[]}",
        b"{\"pods\":[{\"uid\":\"\xff\"}]}",
        b"{\"pods\":[{\"uid\":\"\xed\xa0\x80\"}]}",
        b"{\"pods\":[{\"uid\":\"\\ud800\"}]}",
        b"{\"pods\":[{\"uid\":\"a\nb\"}]}",
        b"{\"pods\":[{\"uid\":\"\\x41\"}]}",
    ];
    let numbers: [&[u8]; 12] =
        [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"01", b"+1", b".5", b"1.", b"0x10", b"1e", b"--1"];
    let bodies = refused.iter().map(|body| body.to_vec());
    let numbers = numbers.iter().map(|number| in_pod(&[b"\"priority\":".as_slice(), number].concat()));
    for body in bodies.chain(numbers) {
        for path in ["/v1/filter", "/v1/explain"] {
            let answer = wire.post(path, &body).unwrap();
            let shown = String::from_utf8_lossy(&body);
            assert!(is_refused(path, &answer), "{path} {shown}: {} {}", answer.status, answer.text());
        }
    }
    arena.goes_on();
}

#[test]
fn a03_kube_schedulers_dialect_is_as_lenient_as_go_and_no_more() {
    let _beside = beside_others();
    let arena = Arena::new(&[]);
    let mut wire: Wire = arena.wire();
    let node = &node_names()[0];
    let with = |pod: &str| format!(r#"{{"Pod":{pod},"NodeNames":["{node}"]}}"#);
    // The last of a repeated field counts, unknown fields are skipped, null is absent, and case is ignored.
    for taken in [
        with(r#"{"metadata":{"name":"p"}},"Pod":{"metadata":{"name":"q"}}"#),
        with(r#"{"metadata":{"name":"p","creationTimestamp":null},"future":{"a":[1e308]}}"#),
        format!(r#"{{"POD":{{"metadata":{{"name":"p"}}}},"nodes":null,"nOdEnAmEs":["{node}"],"Other":1}}"#),
    ] {
        let answer = wire.post("/extender/filter", &taken).unwrap();
        assert_eq!((answer.status, &answer.json()["Error"]), (200, &json!("")), "{taken}: {}", answer.text());
    }
    for refused in [
        with("7"),
        with("[]"),
        with(r#"{"metadata":{"name":"p"},"spec":{"priority":1e400}}"#),
        with(r#"{"metadata":{"name":"p"},"spec":{"priority":NaN}}"#),
        with(r#"{"metadata":{"name":"\ud800"}}"#),
        with(r#"{"metadata":{"name":"p"}}"#).replace('[', "{").replace(']', "}"),
        format!("\u{feff}{}", with(r#"{"metadata":{"name":"p"}}"#)),
        format!("{} x", with(r#"{"metadata":{"name":"p"}}"#)),
    ] {
        let answer = wire.post("/extender/filter", &refused).unwrap();
        assert!(is_refused("/extender/filter", &answer), "{refused}: {} {}", answer.status, answer.text());
    }
    arena.goes_on();
}
