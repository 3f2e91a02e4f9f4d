//! Answers as JSON documents and as bytes of messages, compared with the messages of [`response`](crate::calls::response)
//! in the mappings that are generated from the proto file.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use nodesift_proto::v1;
use nodesift_proto::wkt::Timestamp;
use prost::Message as _;
use serde_json::json;
use tokio::time::Instant;

use super::answers::Encode;
use super::document::Document;
use super::grpc::message;
use super::json;
use crate::Age;
use crate::admission::deadline::Deadline;
use crate::calls::changes::Outcomes;
use crate::calls::explain::Explanation;
use crate::calls::filter::Filtered;
use crate::calls::yunikorn::PreFiltered;
use nodesift_cache::metadata::{Account, AccountFault};
use nodesift_cache::{self as cache, Row, Snapshot, metadata};
use nodesift_engine::{
    Answer, Code, Cycle, FailureGroup, FaultEffect, FaultReport, NodeScore, PodAnswer, PodScores, PredicateAnswer,
    RequestedDevices, RowSet, ScoredNode, ScorerOutcome, ScorerScores,
};
use nodesift_sandbox::fault::{Fault, FaultKind};

fn snapshot(nodes: usize) -> Arc<Snapshot> {
    let (mut writer, reader) = cache::new();
    for node in 0..nodes {
        let node = json!({"metadata": {"name": format!("node-{}", node * 7 % nodes)}});
        writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    }
    writer.publish();
    reader.snapshot()
}

fn rows(random: &mut Rng, nodes: usize) -> Arc<RowSet> {
    if random.u8(..4) == 0 {
        return Arc::new(RowSet::all(nodes));
    }
    let share = random.usize(1..=nodes);
    let rows = (0..u32::try_from(nodes).unwrap()).filter(|_| random.usize(..nodes) < share);
    Arc::new(rows.map(Row).collect())
}

fn groups(random: &mut Rng, nodes: usize) -> Vec<FailureGroup> {
    let group = |random: &mut Rng| FailureGroup {
        predicate: ["NodeName", "Quoted \"predicate\""][random.usize(..2)].into(),
        code: [Code::Unschedulable, Code::UnschedulableAndUnresolvable, Code::Error][random.usize(..3)],
        reasons: (0..random.usize(..3)).map(|at| format!("reason {at}: <&>\u{7f} é \"x\"\n")).collect(),
        rows: rows(random, nodes),
    };
    (0..random.usize(..4)).map(|_| group(random)).collect()
}

fn pod(random: &mut Rng, nodes: usize) -> PodAnswer {
    let fault = Fault { kind: FaultKind::Deadline, detail: "after 5 ms".to_owned() };
    let report = FaultReport { predicate: "Slow".into(), fault, effect: FaultEffect::Rejected };
    let predicate = |random: &mut Rng| PredicateAnswer { predicate: "P".into(), failures: groups(random, nodes) };
    PodAnswer {
        pod: format!("default/web-{}", random.u8(..)),
        nodes,
        feasible: rows(random, nodes),
        failures: groups(random, nodes).into(),
        predicates: (0..random.usize(..3)).map(|_| predicate(random)).collect(),
        devices: (0..random.usize(..3)).map(|_| requested(random)).collect(),
        account: random.bool().then(|| account(random)),
        parties: None,
        message: random.bool().then(|| "0/5 nodes are available".into()),
        cycle: [Cycle::EachNode, Cycle::NamedNodes, Cycle::Rejected, Cycle::Aborted][random.usize(..4)],
        named: (nodes > 0 && random.bool()).then(|| [random.u32(..u32::try_from(nodes).unwrap())].into()),
        claims_to_release: (0..random.usize(..3)).map(|at| format!("default/\"claim\"-{at}")).collect(),
        faults: if random.bool() { vec![report] } else { Vec::new() },
        scores: random.bool().then(|| Box::new(scores(random, nodes))),
        error: None,
        next: random.bool().then(|| Row(random.u32(..9))),
    }
}

/// Random scores of a pod.
fn scores(random: &mut Rng, nodes: usize) -> PodScores {
    let outcomes = [ScorerOutcome::Scored, ScorerOutcome::Skipped, ScorerOutcome::Failed, ScorerOutcome::NotAsked];
    let scorers: Vec<ScorerScores> = (0..random.usize(..4))
        .map(|at| ScorerScores {
            scorer: format!("\"S\" {at}").into(),
            weight: random.i64(1..=1_000_000),
            outcome: outcomes[random.usize(..4)],
        })
        .collect();
    let score =
        |random: &mut Rng| NodeScore { raw: random.bool().then(|| random.i64(..)), normalized: random.i64(0..=100) };
    let each = random.bool();
    let node = |random: &mut Rng| ScoredNode {
        row: Row(random.u32(..u32::try_from(nodes).unwrap())),
        total: random.i64(0..1_000_000_000),
        each: scorers.iter().filter(|_| each).map(|_| random.bool().then(|| score(random))).collect(),
    };
    let fault = Fault { kind: FaultKind::Deadline, detail: "after 5 ms".to_owned() };
    let report = FaultReport { predicate: "Slow".into(), fault, effect: FaultEffect::Ignored };
    PodScores {
        nodes: if nodes > 0 { (0..random.usize(..5)).map(|_| node(random)).collect() } else { Vec::new() },
        ties: random.usize(..9),
        totals: Vec::new(),
        scorers: scorers.clone(),
        faults: if random.bool() { vec![report] } else { Vec::new() },
        error: random.bool().then(|| "scorer \"S\": no\nreason".to_owned()),
    }
}

/// Random account of a pod.
fn account(random: &mut Rng) -> Arc<Account> {
    let amounts = |random: &mut Rng| {
        (0..random.usize(..3)).map(|at| (format!("r{at}").into(), random.i64(..))).collect::<Vec<(Arc<str>, i64)>>()
    };
    let (requests, usage, sums) = (amounts(random), amounts(random), amounts(random).into());
    let flags = (0..random.usize(..3)).map(|at| format!("flag-{at}").into()).collect();
    let fault = random.bool().then(|| AccountFault { text: "\"odd\"".into(), is_last: random.bool() });
    Arc::new(Account { requests, usage, sums, flags, fault })
}

/// Random counts of devices for a request of a claim.
fn requested(random: &mut Rng) -> RequestedDevices {
    RequestedDevices {
        claim: "default/gpu".to_owned(),
        is_allocated: random.bool(),
        request: "r/large".to_owned(),
        class: "gpu.example.com".to_owned(),
        wanted: random.u64(..3),
        of_class: random.usize(..9),
        matching: random.usize(..9),
        tolerated: random.usize(..9),
        free: random.usize(..9),
        nodes: random.usize(..9),
        holders: (0..random.usize(..3)).map(|at| format!("default/other-{at}")).collect(),
        match_attributes: (0..random.usize(..2)).map(|at| format!("gpu.example.com/numa-{at}")).collect(),
        distinct_attributes: (0..random.usize(..2)).map(|at| format!("gpu.example.com/root-{at}")).collect(),
    }
}

/// Random stances of parties.
fn stances(random: &mut Rng) -> Vec<v1::PartyStance> {
    let stance = |random: &mut Rng| v1::PartyStance {
        party: "licences".to_owned(),
        said: ["Accepted", "Refused"][random.usize(..2)].to_owned(),
        reason: "no \"free\" licence".to_owned(),
        nodes: random.u32(..9),
        since: random
            .bool()
            .then(|| Timestamp { seconds: random.i64(0..1 << 32), nanos: random.i32(0..1_000) * 1_000_000 }),
    };
    (0..random.usize(..3)).map(|_| stance(random)).collect()
}

/// Random results of changes.
fn outcomes(random: &mut Rng) -> Outcomes {
    let error = || v1::CallError { code: "NOT_FOUND".to_owned(), message: "pod \"x\" is not here".to_owned() };
    let assumed = |random: &mut Rng| {
        let answer = v1::AssumeResponse { uid: format!("uid-{}", random.u8(..)), ..v1::AssumeResponse::default() };
        let answer = v1::assume_outcome::Outcome::Answer(answer);
        let outcome = if random.bool() { answer } else { v1::assume_outcome::Outcome::Error(error()) };
        v1::AssumeOutcome { outcome: Some(outcome) }
    };
    let forgotten = |random: &mut Rng| {
        let answer = v1::ForgetResponse { version: None, was_assumed: random.bool() };
        let answer = v1::forget_outcome::Outcome::Answer(answer);
        let outcome = if random.bool() { answer } else { v1::forget_outcome::Outcome::Error(error()) };
        v1::ForgetOutcome { outcome: Some(outcome) }
    };
    Outcomes {
        assumed: (0..random.usize(..3)).map(|_| assumed(random)).collect(),
        forgotten: (0..random.usize(..3)).map(|_| forgotten(random)).collect(),
    }
}

/// The answer about a pod that is not in the cache.
fn gone() -> PodAnswer {
    let pod = "default/\"gone\"".to_owned();
    let error = Some(Box::new(nodesift_engine::Error::UnknownPod { pod: pod.clone() }));
    PodAnswer { pod, error, ..PodAnswer::default() }
}

/// A response as JSON text.
fn text<R: Encode>(response: &R) -> String {
    let mut document: Document = json::message::document(response).unwrap();
    let pieces: Vec<Vec<u8>> = std::iter::from_fn(|| document.next_piece()).collect();
    String::from_utf8(pieces.concat()).unwrap()
}

#[test]
fn random_answers_agree_with_their_messages_in_both_encodings() {
    let seed = nodesift_seed::seed();
    let mut random = Rng::with_seed(seed);
    let snapshots: Vec<Arc<Snapshot>> = [1, 5, 70, 3_000].map(snapshot).into();
    for round in 0..400 {
        let snapshot = Arc::clone(&snapshots[if round % 40 == 0 { 3 } else { random.usize(..3) }]);
        let nodes = snapshot.node_count();
        let answer = |random: &mut Rng| Answer {
            snapshot: Arc::clone(&snapshot),
            policy_generation: random.u64(..),
            pods: (0..random.usize(..4))
                .map(|_| if random.u8(..5) == 0 { gone() } else { pod(random, nodes) })
                .collect(),
            unknown_nodes: (0..random.usize(..3)).map(|at| format!("gone \"{at}\"")).collect(),
        };
        let filtered = Filtered {
            answer: answer(&mut random),
            age: Age::default(),
            detail: [v1::Detail::Feasible, v1::Detail::Failures, v1::Detail::Nodes][random.usize(..3)],
            bitmaps: random.bool().then(v1::Bitmaps::default),
            next_page_token: ["", "ns/\"last\""][random.usize(..2)].to_owned(),
            outcomes: outcomes(&mut random),
        };
        let expected = filtered.message();
        assert_eq!(text(&filtered), serde_json::to_string(&expected).unwrap(), "round {round}");
        let bytes = message::encode(&filtered).unwrap();
        assert_eq!(v1::FilterResponse::decode(&bytes[5..]).unwrap(), expected, "round {round}");
        let streamed = v1::FilterStreamResponse::decode(&message::filter_stream(u64::MAX, Ok(bytes))[5..]).unwrap();
        let outcome = v1::filter_stream_response::Outcome::Answer(expected);
        assert_eq!(streamed, v1::FilterStreamResponse { id: u64::MAX, outcome: Some(outcome) }, "round {round}");

        let next_page_token = ["", "ns/\"last\""][random.usize(..2)].to_owned();
        let answer_of_pods = answer(&mut random);
        let parties = answer_of_pods.pods.iter().map(|_| stances(&mut random)).collect();
        let parties = if random.bool() { parties } else { Vec::new() };
        let deadline = Deadline::after(Instant::now(), Duration::ZERO);
        let explanation =
            Explanation { answer: answer_of_pods, age: Age::default(), next_page_token, deadline, parties };
        let expected = explanation.message();
        assert_eq!(text(&explanation), serde_json::to_string(&expected).unwrap(), "round {round}");
        let bytes = message::encode(&explanation).unwrap();
        assert_eq!(v1::ExplainResponse::decode(&bytes[5..]).unwrap(), expected, "round {round}");

        let evaluated = PreFiltered::Evaluated(answer(&mut random), Age::default());
        for response in [evaluated, PreFiltered::Missing("gone")] {
            let expected = response.message();
            assert_eq!(text(&response), serde_json::to_string(&expected).unwrap(), "round {round}");
            let bytes = message::encode(&response).unwrap();
            assert_eq!(v1::PreFilterPredicatesResponse::decode(&bytes[5..]).unwrap(), expected, "round {round}");
        }
    }
}
