//! Answers with a limit compared with full ones: a model queries all nodes, iterates over the rows from the start row until
//! enough fit, and queries just those rows. The engine must give the same answer, whatever verdicts are cached.

use std::collections::BTreeMap;
use std::num::NonZero;

use nodesift_cache::Row;
use nodesift_engine::{Depth, Engine, Nodes, Options, PodAnswer, PodRef, Query, Reuse, Sample};
use nodesift_fixtures::random::History;
use serde_json::Value;

use crate::mirror::{self, Mirror};
use crate::seeds::Seeds;
use crate::{FIXED_PART, cases_from_environment, default_policy, engine};

/// Default number of clusters: some seconds of one core.
const CLUSTERS: u64 = 16;

/// Rounds of events in each cluster's history, each followed by queries.
const ROUNDS: usize = 4;

/// Number of pods per query.
const PODS: usize = 3;

/// Number of queries per round.
const QUESTIONS: usize = 3;

#[test]
fn enough_nodes_are_those_of_a_walk_over_all() {
    let count = cases_from_environment("NODESIFT_SAMPLE_CLUSTERS", CLUSTERS);
    let seeds = Seeds::for_run(count / FIXED_PART);
    let policy = default_policy();
    let mut tally = Tally::default();
    for seed in seeds.take(count) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(history.cluster.objects());
        let slow = engine(&policy, &mirror).with_reuse(Reuse::Off);
        let engines = [
            engine(&policy, &mirror).with_reuse(Reuse::Off),
            engine(&policy, &mirror),
            engine(&policy, &mirror).with_reuse(Reuse::Verified),
        ];
        for _ in 0..ROUNDS {
            mirror.follow(&history.advance());
            for _ in 0..QUESTIONS {
                let pods: Vec<Value> = (0..PODS).map(|_| history.asked_pod()).collect();
                let nodes = slow.snapshot().node_count();
                let most = if random.bool() { 3 } else { nodes + 1 };
                let limit = random.usize(1..=most);
                let sample = Sample {
                    step: random.usize(1..4),
                    ..Sample::new(random.usize(0..nodes + 2), NonZero::new(limit).expect("at least one"))
                };
                let mut walked: BTreeMap<(usize, bool), String> = BTreeMap::new();
                for (number, engine) in engines.iter().enumerate() {
                    if number > 0 && random.bool() {
                        // So that some verdicts are cached.
                        ask(engine, &pods, Nodes::All, Depth::FirstFailure);
                    }
                    let is_each = random.u8(0..4) == 0;
                    let depth = if is_each { Depth::Each } else { Depth::FirstFailure };
                    let found = ask(engine, &pods, Nodes::Enough(sample), depth);
                    for (place, (pod, found)) in pods.iter().zip(&found).enumerate() {
                        let walk = || said(&walk(&slow, pod, &sample, depth, &mut tally));
                        let expected = walked.entry((place, is_each)).or_insert_with(walk);
                        assert_eq!(said(found), *expected, "seed {seed}, engine {number}, {sample:?}\n{pod}");
                    }
                }
            }
        }
    }
    println!("{tally:?}");
    let kinds = [tally.enough, tally.too_few, tally.wrapped, tally.named, tally.rejected];
    assert!(count < CLUSTERS || kinds.iter().all(|times| *times > 0), "a case does not occur: {tally:?}");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Tally {
    enough: u64,
    too_few: u64,
    /// The limit is reached only after wrapping around.
    wrapped: u64,
    /// Pods that name nodes, and pods that are rejected as a whole.
    named: u64,
    rejected: u64,
}

fn ask(engine: &Engine, pods: &[Value], nodes: Nodes, depth: Depth) -> Vec<PodAnswer> {
    let pods = pods.iter().map(|pod| PodRef::Whole(Box::new(mirror::pod(pod))));
    engine.answer(&Query::new(pods).with_nodes(nodes).with_depth(depth), Options::default()).expect("an answer").pods
}

/// Models an answer with a limit: walks over the rows from the start row until enough fit, and queries just those.
fn walk(engine: &Engine, pod: &Value, sample: &Sample, depth: Depth, tally: &mut Tally) -> PodAnswer {
    let snapshot = engine.snapshot();
    let all = ask(engine, std::slice::from_ref(pod), Nodes::All, depth).remove(0);
    let nodes = snapshot.node_count();
    let start = if sample.start < nodes { sample.start } else { 0 };
    let mut judged: Vec<Row> = Vec::new();
    let mut fitting = 0;
    for row in (start..nodes).chain(0..start).map(|row| Row(u32::try_from(row).expect("few rows"))) {
        if fitting == sample.limit.get() {
            break;
        }
        judged.push(row);
        fitting += usize::from(all.feasible.contains(row));
    }
    tally.enough += u64::from(fitting == sample.limit.get());
    tally.too_few += u64::from(fitting < sample.limit.get());
    tally.wrapped += u64::from(judged.len() < nodes && judged.last().is_some_and(|row| row.index() < start));
    tally.named += u64::from(all.cycle == nodesift_engine::Cycle::NamedNodes);
    tally.rejected += u64::from(all.cycle == nodesift_engine::Cycle::Rejected);
    let next = (start + judged.len()) % nodes.max(1);
    let names = judged.iter().map(|row| snapshot.node_name(*row).to_owned()).collect();
    let answer = ask(engine, std::slice::from_ref(pod), Nodes::Named(names), depth).remove(0);
    if judged.len() == nodes {
        assert_eq!(said(&answer), said(&all), "a message counts all nodes");
    }
    PodAnswer { next: Some(Row(u32::try_from(next).expect("few rows"))), ..answer }
}

/// All fields of an answer as text.
fn said(answer: &PodAnswer) -> String {
    let rows = |rows: &nodesift_engine::RowSet| rows.iter().map(|row| row.0).collect::<Vec<_>>();
    let failures = |failures: &[nodesift_engine::FailureGroup]| {
        let one = |failure: &nodesift_engine::FailureGroup| {
            format!("{} {:?} {:?} {:?}", failure.predicate, failure.code, failure.reasons, rows(&failure.rows))
        };
        failures.iter().map(one).collect::<Vec<_>>()
    };
    let predicates: Vec<_> =
        answer.predicates.iter().map(|alone| (&alone.predicate, failures(&alone.failures))).collect();
    format!(
        "{} of {} {:?}, {:?}, {:?}, {:?}, {:?}, {:?}, next {:?}",
        rows(&answer.feasible).len(),
        answer.nodes,
        rows(&answer.feasible),
        failures(&answer.failures),
        predicates,
        answer.message,
        answer.cycle,
        answer.faults,
        answer.next
    )
}
