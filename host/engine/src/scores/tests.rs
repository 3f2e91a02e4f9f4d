//! Pods scored by components over a cluster that changes, compared with plain loops; and what becomes of scorers that fail.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_cache::{Row, Writer, metadata};
use nodesift_sandbox::fault::FaultKind;
use nodesift_sandbox::wire::scoring::Normalization;
use nodesift_sandbox::{Grants, Lifetime, Module, Runtime};
use serde_json::json;

use super::normalization::normalize;
use super::ranking::shuffled;
use super::*;
use crate::{
    ActivePolicy, ActivePredicate, Comparison, Engine, FaultEffect, Mode, Nodes, OnError, Options, Phases, PodAnswer,
    PodRef, Query, ReloadOutcome, Reuse, Sample, ScoreDifferences, Shadow,
};

const COMPONENT: &str = include_str!("tests/component.wat");

/// Pods on a node from which the predicate rejects it.
const FULL: usize = 3;

/// Reads the number of pods on each node, gives it as score, and rejects nodes with [`FULL`] ones.
fn pods(normalization: Normalization) -> String {
    component(
        r#"(import "nodesift:predicate/node-resources@0.2.0" (instance $facts (export "pods" (func (result (list s64))))))"#,
        ("pods", "i32"),
        "(call $fact (i32.const 228))
         (block $done (loop $row
           (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
           (i32.store16
             (i32.add (i32.const 8192) (i32.shl (local.get $i) (i32.const 1)))
             (i64.ge_s (i64.load (i32.add (i32.load (i32.const 228)) (i32.shl (local.get $i) (i32.const 3)))) (i64.const 3)))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br $row)))
         (i32.store (i32.const 192) (i32.const 2))
         (i32.store (i32.const 196) (i32.const 8192))
         (i32.store (i32.const 200) (local.get $rows))
         (i32.store (i32.const 204) (i32.const 96))
         (i32.store (i32.const 208) (i32.const 1))
         (i32.const 192)",
        "(call $fact (i32.const 228)) (i32.store (i32.const 224) (i32.const 1)) (i32.const 224)",
        normalization,
    )
}

/// Gives each row the number of feasible rows up to it.
fn crowd(normalization: Normalization) -> String {
    component(
        r#"(import "nodesift:predicate/cluster-candidates@0.2.0" (instance $facts (export "feasible" (func (result (list u8))))))"#,
        ("feasible", "i32"),
        "(i32.store (i32.const 192) (i32.const 0)) (i32.const 192)",
        "(call $fact (i32.const 228))
         (block $done (loop $row
           (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
           (local.set $sum
             (i32.add (local.get $sum) (i32.load8_u (i32.add (i32.load (i32.const 228)) (local.get $i)))))
           (i64.store
             (i32.add (i32.const 16384) (i32.shl (local.get $i) (i32.const 3)))
             (i64.extend_i32_u (local.get $sum)))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br $row)))
         (i32.store (i32.const 224) (i32.const 1))
         (i32.store (i32.const 228) (i32.const 16384))
         (i32.const 224)",
        normalization,
    )
}

/// Does as the pod's label `mood` begins: skips, fails, traps, loops, or gives a high score; without one it gives the score 0.
fn moody() -> String {
    component(
        r#"(import "nodesift:predicate/pod-labels@0.2.0"
            (instance $facts (export "label" (func (param "key" string) (result (option string))))))"#,
        ("label", "i32 i32 i32"),
        "(i32.store (i32.const 192) (i32.const 0)) (i32.const 192)",
        "(call $fact (i32.const 16) (i32.const 4) (i32.const 256))
         (i32.store (i32.const 224) (i32.const 1))
         (i32.store (i32.const 228) (i32.const 2097152))
         (i32.store (i32.const 232) (local.get $rows))
         (if (i32.eqz (i32.load8_u (i32.const 256))) (then (return (i32.const 224))))
         (local.set $sum (i32.load8_u (i32.load (i32.const 260))))
         (if (i32.eq (local.get $sum) (i32.const 0x73)) (then (i32.store (i32.const 224) (i32.const 0))))
         (if (i32.eq (local.get $sum) (i32.const 0x74)) (then unreachable))
         (if (i32.eq (local.get $sum) (i32.const 0x6c)) (then (loop $forever (br $forever))))
         (if (i32.eq (local.get $sum) (i32.const 0x66)) (then
           (i32.store (i32.const 224) (i32.const 2))
           (i32.store (i32.const 228) (i32.const 20))
           (i32.store (i32.const 232) (i32.const 5))))
         (if (i32.eq (local.get $sum) (i32.const 0x68)) (then
           (i64.store (i32.const 16384) (i64.const 101))
           (i32.store (i32.const 228) (i32.const 16384))))
         (i32.const 224)",
        Normalization::None,
    )
}

fn component(
    import: &str,
    (function, params): (&str, &str),
    filter: &str,
    score: &str,
    normalization: Normalization,
) -> String {
    let number = Normalization::ALL.iter().position(|known| *known == normalization).unwrap();
    COMPONENT
        .replace("{import}", import)
        .replace("{function}", function)
        .replace("{params}", params)
        .replace("{filter}", filter)
        .replace("{score}", score)
        .replace("{normalization}", &number.to_string())
}

/// A cluster, and an engine whose cached scores are compared with fresh ones.
struct World {
    writer: Writer,
    engine: Engine,
    /// Numbers of pods, by number of the node.
    pods: Vec<usize>,
    bound: usize,
}

fn loaded(runtime: &Runtime, name: &str, text: &str, on_error: OnError) -> ActivePredicate {
    let time_per_call = Some(Duration::from_secs(30));
    let grants = Grants { lifetime: Lifetime::Recycled, time_per_call, ..Grants::default() };
    let module: Module = runtime.load(&wat::parse_str(text).unwrap(), grants).unwrap();
    ActivePredicate {
        name: name.into(),
        phases: Phases::ALL,
        on_error,
        mode: Mode::Enforce,
        digest: [0; 32],
        module: Arc::new(module),
        counts: Arc::default(),
        breaker: Arc::default(),
        is_beside: false,
    }
}

impl World {
    /// A world of so many nodes, with a predicate that rejects full ones.
    fn new(scorers: &[(&str, i64, String, OnError)], nodes: usize) -> Self {
        let (writer, reader) = nodesift_cache::new();
        let runtime = Runtime::start(None).unwrap();
        let full = loaded(&runtime, "Full", &pods(Normalization::None), OnError::Reject);
        let scorer = |(name, weight, text, on_error): &(&str, i64, String, OnError)| {
            ActiveScorer::new(loaded(&runtime, name, text, *on_error), *weight)
        };
        let policy = ActivePolicy {
            scorers: scorers.iter().map(scorer).collect(),
            ..ActivePolicy::new(vec!["default-scheduler".to_owned()], vec![full])
        };
        let engine = Engine::new(reader, policy, runtime).with_reuse(Reuse::Verified);
        let mut world = Self { writer, engine, pods: Vec::new(), bound: 0 };
        (0..nodes).for_each(|_| world.add_node());
        world.writer.publish();
        world
    }

    fn name(number: usize) -> String {
        format!("n{number}")
    }

    fn add_node(&mut self) {
        let node = json!({"metadata": {"name": Self::name(self.pods.len())}});
        self.writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
        self.pods.push(0);
    }

    fn bind(&mut self, node: usize) {
        self.bound += 1;
        let name = format!("bound-{}", self.bound);
        let metadata = json!({"name": name, "namespace": "ns", "uid": name});
        let pod = json!({"metadata": metadata, "spec": {"nodeName": Self::name(node)}});
        self.writer
            .apply(metadata::pod_record(&serde_json::from_value(pod).unwrap(), &["default-scheduler".to_owned()]));
        self.pods[node] += 1;
    }

    /// Adds a pending pod with this label `mood`.
    fn pend(&mut self, namespace: &str, mood: &str) {
        let labels = if mood.is_empty() { json!({}) } else { json!({"mood": mood}) };
        let metadata =
            json!({"name": mood, "namespace": namespace, "uid": format!("{namespace}-{mood}"), "labels": labels});
        let pod = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        self.writer.apply(metadata::pod_record(&pod, &["default-scheduler".to_owned()]));
    }

    fn ask(&self, mood: &str, nodes: Nodes, request: ScoreRequest) -> PodAnswer {
        let query = Self::query(mood).with_nodes(nodes).with_scores(request);
        self.engine.answer(&query, Options::default()).unwrap().pods.remove(0)
    }

    /// A query about a pod with this label `mood`.
    fn query(mood: &str) -> Query {
        let labels = if mood.is_empty() { json!({}) } else { json!({"mood": mood}) };
        let pod = json!({"metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": labels}});
        Query::new([PodRef::Whole(Box::new(serde_json::from_value(pod).unwrap()))])
    }

    fn row(&self, node: usize) -> Row {
        self.engine.snapshot().node_row(&Self::name(node)).unwrap()
    }
}

/// The scores of the feasible nodes by plain loops: those of all, in order.
fn expected(world: &World, feasible: &[usize], seed: Option<u64>) -> Vec<ScoredNode> {
    let rows: Vec<usize> = feasible.iter().map(|node| world.row(*node).index()).collect();
    let pods: Vec<i64> = feasible.iter().map(|node| i64::try_from(world.pods[*node]).unwrap()).collect();
    let crowd: Vec<i64> =
        rows.iter().map(|row| i64::try_from(rows.iter().filter(|other| *other <= row).count()).unwrap()).collect();
    let scorers = [
        (3, pods.clone(), Normalization::ByLargestReversed),
        (2, pods, Normalization::ByRange),
        (1, crowd, Normalization::ByDistance),
    ];
    let mut nodes: Vec<ScoredNode> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let mut node = ScoredNode { row: Row(u32::try_from(*row).unwrap()), total: 0, each: Vec::new() };
        for (weight, raw, normalization) in &scorers {
            let mut normalized = raw.clone();
            normalize(*normalization, &mut normalized).unwrap();
            node.total += weight * normalized[place];
            node.each.push(Some(NodeScore { raw: Some(raw[place]), normalized: normalized[place] }));
        }
        nodes.push(node);
    }
    let snapshot = world.engine.snapshot();
    nodes.sort_by_key(|node| {
        let name = snapshot.node_name(node.row).to_owned();
        (-node.total, seed.map(|seed| shuffled(seed, &name)), name)
    });
    nodes
}

#[test]
fn scores_are_those_of_plain_loops_over_a_cluster_that_changes() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let scorers = [
        ("Free", 3, pods(Normalization::ByLargestReversed), OnError::Reject),
        ("Busy", 2, pods(Normalization::ByRange), OnError::Reject),
        ("Crowd", 1, crowd(Normalization::ByDistance), OnError::Reject),
    ];
    let mut world = World::new(&scorers, 12);
    for _ in 0..60 {
        match random.u8(0..6) {
            0 => {}
            1 if world.pods.len() < 20 => world.add_node(),
            _ => {
                let node = random.usize(0..world.pods.len());
                if world.pods[node] < FULL + 1 {
                    world.bind(node);
                }
            }
        }
        world.writer.publish();
        for _ in 0..3 {
            let asked: Vec<usize> = (0..world.pods.len()).filter(|_| random.bool()).collect();
            let (nodes, asked) = match random.u8(0..3) {
                0 if !asked.is_empty() => (Nodes::Named(asked.iter().map(|node| World::name(*node)).collect()), asked),
                1 => {
                    let limit = NonZero::new(random.usize(1..5)).unwrap();
                    (Nodes::Enough(Sample::new(random.usize(0..world.pods.len()), limit)), Vec::new())
                }
                _ => (Nodes::All, (0..world.pods.len()).collect()),
            };
            let request =
                ScoreRequest { top: random.usize(1..25), seed: random.bool().then(|| random.u64(..4)), each: true };
            let answer = world.ask("", nodes.clone(), request);
            let feasible: Vec<usize> = match nodes {
                Nodes::Enough(_) => {
                    (0..world.pods.len()).filter(|node| answer.feasible.contains(world.row(*node))).collect()
                }
                _ => asked.into_iter().filter(|node| world.pods[*node] < FULL).collect(),
            };
            let scores = answer.scores.unwrap();
            let mut all = expected(&world, &feasible, request.seed);
            let cut = all.split_off(request.top.min(all.len()));
            let ties = all.last().map_or(0, |last| cut.iter().filter(|node| node.total == last.total).count());
            assert_eq!((&scores.nodes, scores.ties), (&all, ties), "{nodes:?}, {request:?}, pods {:?}", world.pods);
            assert_eq!(scores.error, None);
            let outcome = |known: &ScorerScores| (known.scorer.to_string(), known.weight, known.outcome);
            let names = [("Free", 3), ("Busy", 2), ("Crowd", 1)];
            let outcomes = names.map(|(name, weight)| (name.to_owned(), weight, ScorerOutcome::Scored));
            let outcomes = if feasible.is_empty() { Vec::new() } else { outcomes.to_vec() };
            assert_eq!(scores.scorers.iter().map(outcome).collect::<Vec<_>>(), outcomes);
        }
    }
    // Scores of all rows are kept, and patched where a pod comes to a node.
    let reused = world.engine.policy().scorers[0].component.counts.verdicts();
    assert!(reused.kept > 0 && reused.patched > 0, "{reused:?}");
}

#[test]
fn a_scorer_that_fails_adds_nothing_or_ends_the_scores_as_the_policy_says() {
    let whole = ScoreRequest { top: 10, seed: None, each: false };
    for (mood, kind, detail) in [
        ("trap", FaultKind::Trap, "unreachable"),
        ("high", FaultKind::MalformedVerdict, "the score of the node n0 is 101"),
    ] {
        for on_error in [OnError::Ignore, OnError::Reject] {
            let scorers = [
                ("Free", 2, pods(Normalization::ByLargestReversed), OnError::Reject),
                ("Moody", 5, moody(), on_error),
                ("Crowd", 1, crowd(Normalization::ByDistance), OnError::Reject),
            ];
            let world = World::new(&scorers, 2);
            let answer = world.ask(mood, Nodes::All, whole);
            assert!(answer.faults.is_empty() && answer.feasible.len() == 2, "the verdict is not concerned");
            let scores = answer.scores.unwrap();
            let [report] = &*scores.faults else { unreachable!("{scores:?}") };
            assert_eq!((&*report.predicate, report.fault.kind), ("Moody", kind));
            assert!(report.fault.detail.contains(detail), "{}", report.fault);
            let outcomes: Vec<ScorerOutcome> = scores.scorers.iter().map(|scorer| scorer.outcome).collect();
            if on_error == OnError::Ignore {
                assert_eq!(report.effect, FaultEffect::Ignored);
                assert_eq!(outcomes, [ScorerOutcome::Scored, ScorerOutcome::Failed, ScorerOutcome::Scored]);
                // Of the two, the first has the smaller number of feasible rows up to it.
                let totals: Vec<i64> = scores.nodes.iter().map(|node| node.total).collect();
                assert_eq!((totals, scores.error), (vec![300, 250], None));
            } else {
                assert_eq!(report.effect, FaultEffect::Rejected);
                assert_eq!(outcomes, [ScorerOutcome::Scored, ScorerOutcome::Failed, ScorerOutcome::NotAsked]);
                assert!(scores.nodes.is_empty());
                assert_eq!(scores.error, Some(format!("scorer \"Moody\" failed: {}", kind.name())));
            }
            // Counted for the scorer, as a fault of a predicate is. The second is that of the comparison.
            let faults = world.engine.policy().scorers[1].component.counts.faults();
            assert_eq!(faults.get(kind.name()), Some(&2), "{faults:?}");
        }
    }
}

/// The scorer would run for 30 s: it has the time of the request, of which the last part is for the verdicts.
#[test]
fn a_scorer_that_takes_all_time_of_a_request_costs_the_scores_and_no_verdict() {
    for on_error in [OnError::Ignore, OnError::Reject] {
        let scorers =
            [("Moody", 5, moody(), on_error), ("Free", 1, pods(Normalization::ByLargestReversed), OnError::Reject)];
        let mut world = World::new(&scorers, 3);
        (0..FULL).for_each(|_| world.bind(2));
        world.writer.publish();
        let request = ScoreRequest { top: 3, ..ScoreRequest::default() };
        let query = World::query("loop").with_scores(request).with_deadline(Instant::now() + Duration::from_secs(2));
        // An error, where the request as a whole was late.
        let answer = world.engine.answer(&query, Options::default()).unwrap().pods.remove(0);
        assert_eq!((answer.feasible.len(), answer.error.is_none()), (2, true));
        let scores = answer.scores.unwrap();
        let outcomes: Vec<ScorerOutcome> = scores.scorers.iter().map(|scorer| scorer.outcome).collect();
        assert_eq!(outcomes, [ScorerOutcome::Failed, ScorerOutcome::NotAsked]);
        assert!(scores.nodes.is_empty() && scores.totals.is_empty(), "{scores:?}");
        let error = scores.error.unwrap();
        assert_eq!(error, "the request's time for scores was up before scorer \"Moody\" answered");
        let [report] = &*scores.faults else { unreachable!("{:?}", scores.faults) };
        assert_eq!((report.fault.kind, report.effect), (FaultKind::RequestDeadline, FaultEffect::Rejected));
    }
}

#[test]
fn a_scorer_says_nothing_about_a_pod_or_that_it_cannot_be_scored() {
    let scorers =
        [("Moody", 5, moody(), OnError::Ignore), ("Free", 1, pods(Normalization::ByLargestReversed), OnError::Reject)];
    let world = World::new(&scorers, 2);
    let request = ScoreRequest { top: 1, seed: None, each: true };
    let outcomes = |scores: &PodScores| scores.scorers.iter().map(|scorer| scorer.outcome).collect::<Vec<_>>();
    let skipped = world.ask("skip", Nodes::All, request).scores.unwrap();
    assert_eq!(outcomes(&skipped), [ScorerOutcome::Skipped, ScorerOutcome::Scored]);
    let each = vec![None, Some(NodeScore { raw: Some(0), normalized: 100 })];
    assert_eq!(skipped.nodes, [ScoredNode { row: world.row(0), total: 100, each }]);
    assert_eq!(skipped.ties, 1);
    let failed = world.ask("fail", Nodes::All, request).scores.unwrap();
    assert_eq!(outcomes(&failed), [ScorerOutcome::Failed, ScorerOutcome::NotAsked]);
    assert_eq!((failed.error, failed.nodes, failed.faults), (Some("Moody: moody".to_owned()), vec![], vec![]));
}

#[test]
fn where_nothing_is_feasible_or_asked_for_nothing_is_scored() {
    let mut world = World::new(&[("Moody", 5, moody(), OnError::Reject)], 1);
    let request = ScoreRequest { top: 10, ..ScoreRequest::default() };
    assert_eq!(*world.ask("trap", Nodes::All, ScoreRequest::default()).scores.unwrap(), PodScores::default());
    (0..FULL).for_each(|_| world.bind(0));
    world.writer.publish();
    let answer = world.ask("trap", Nodes::All, request);
    assert!(answer.feasible.is_empty());
    assert_eq!(*answer.scores.unwrap(), PodScores::default());
    // A policy that scores nothing has totals of 0, in the order of names.
    let world = World::new(&[], 3);
    let scores = world.ask("", Nodes::All, request).scores.unwrap();
    let nodes = [0, 1, 2].map(|node| ScoredNode { row: world.row(node), total: 0, each: Vec::new() });
    assert_eq!((scores.nodes, scores.scorers), (nodes.to_vec(), vec![]));
}

#[test]
fn a_reload_keeps_the_scores_of_scorers_that_stay_wherever_they_are_listed() {
    let scorers = [
        ("Free", 3, pods(Normalization::ByLargestReversed), OnError::Reject),
        ("Crowd", 1, crowd(Normalization::ByDistance), OnError::Reject),
    ];
    let mut world = World::new(&scorers, 4);
    world.bind(1);
    world.writer.publish();
    let request = ScoreRequest { top: 4, ..ScoreRequest::default() };
    let before = world.ask("", Nodes::All, request).scores.unwrap();
    let mut policy = (*world.engine.policy()).clone();
    policy.scorers.reverse();
    drop(world.engine.replace_policy(policy));
    let after = world.ask("", Nodes::All, request).scores.unwrap();
    assert_eq!(after.nodes, before.nodes);
    for scorer in &world.engine.policy().scorers {
        let found = scorer.component.counts.verdicts();
        assert_eq!((found.evaluated, found.kept), (1, 1), "{}", scorer.name());
    }
}

#[test]
fn a_trial_refuses_scorers_that_fail_for_most_pods_and_names_the_others() {
    for (mood, kind, detail) in [
        ("trap", FaultKind::Trap, "unreachable"),
        ("high", FaultKind::MalformedVerdict, "the score of the node n0 is 101: not from 0 to 100"),
        ("fail", FaultKind::Unsupported, "the pod cannot be scored: moody"),
    ] {
        let mut world = World::new(&[("Moody", 5, moody(), OnError::Ignore)], 3);
        // Alike pods are tried once.
        for (namespace, mood) in [("a", "good"), ("b", "gentle"), ("c", "skip"), ("d", mood)] {
            world.pend(namespace, mood);
        }
        world.writer.publish();
        let trial = world.engine.try_active_policy().unwrap();
        // Each also by the predicate.
        assert_eq!((trial.pods, trial.calls, trial.is_cut), (4, 7, false), "{trial:?}");
        let [remark] = &*trial.remarks else { unreachable!("{trial:?}") };
        assert_eq!((&*remark.predicate, remark.is_of_scorer, &*remark.pod), ("Moody", true, &*format!("d/{mood}")));
        assert_eq!(remark.fault.kind, kind);
        assert!(remark.fault.detail.contains(detail), "{}", remark.fault);
        for namespace in ["e", "f", "g", "h"] {
            world.pend(namespace, &format!("{mood}-{namespace}"));
        }
        world.writer.publish();
        let refused = world.engine.try_active_policy().unwrap_err();
        assert_eq!((refused.is_of_scorer, refused.fault.kind), (true, kind), "{refused}");
        assert!(refused.to_string().starts_with("scorer Moody: pod "), "{refused}");
        // What is tried is counted nowhere.
        let active = world.engine.policy();
        assert!(active.components().all(|known| known.counts.calls() == 0 && known.counts.faults().is_empty()));
    }
}

#[test]
fn a_trial_does_not_judge_scores_of_nodes_that_do_not_fit() {
    let mut world = World::new(&[("Moody", 5, moody(), OnError::Ignore)], 3);
    for (namespace, mood) in [("a", "high"), ("b", "heavy"), ("c", "huge")] {
        world.pend(namespace, mood);
    }
    world.writer.publish();
    let refused = world.engine.try_active_policy().unwrap_err();
    assert_eq!(refused.fault.kind, FaultKind::MalformedVerdict, "{refused}");
    // The score is that of the first node alone.
    (0..FULL).for_each(|_| world.bind(0));
    world.writer.publish();
    let trial = world.engine.try_active_policy().unwrap();
    assert_eq!(trial.remarks, []);
}

#[test]
fn a_trial_tells_scorers_which_nodes_fit_before_it_refuses_them() {
    const NODES: usize = 150;
    let mut world = World::new(&[("Crowd", 1, crowd(Normalization::None), OnError::Ignore)], NODES);
    for namespace in ["a", "b", "c"] {
        world.pend(namespace, namespace);
    }
    world.writer.publish();
    let refused = world.engine.try_active_policy().unwrap_err();
    assert!(refused.fault.detail.ends_with("is 101: not from 0 to 100"), "{refused}");
    // 100 nodes are left.
    (100..NODES).for_each(|node| (0..FULL).for_each(|_| world.bind(node)));
    world.writer.publish();
    assert_eq!(world.engine.try_active_policy().unwrap().remarks, []);
}

#[test]
fn beside_the_active_policy_another_order_of_nodes_is_counted_where_scores_are_asked_for() {
    let free = ("Free", 1, pods(Normalization::ByLargestReversed), OnError::Reject);
    let busy = ("Busy", 2, pods(Normalization::ByRange), OnError::Reject);
    let mut world = World::new(std::slice::from_ref(&free), 4);
    // 0, 1, 2 and 2 pods: by the one the first is best, by the other the two last.
    for node in [1, 2, 2, 3, 3] {
        world.bind(node);
    }
    world.writer.publish();
    let active = world.engine.policy();
    let runtime = Runtime::start(None).unwrap();
    let scorer = |(name, weight, text, on_error): &(&str, i64, String, OnError)| {
        ActiveScorer::new(loaded(&runtime, name, text, *on_error), *weight)
    };
    let moody_too = ("Moody", 1, moody(), OnError::Reject);
    let other = ActivePolicy { scorers: vec![scorer(&free), scorer(&busy), scorer(&moody_too)], ..(*active).clone() };
    let unscored = ActivePolicy { scorers: Vec::new(), ..(*active).clone() };
    let comparisons = [("same", (*active).clone()), ("other", other), ("unscored", unscored)];
    let comparisons =
        comparisons.map(|(name, policy)| Comparison::new(name.to_owned(), world.engine.alternative(policy)));
    let (shadow, receiver) = Shadow::new(active.generation, comparisons.into());
    let shadow = Arc::new(shadow);
    world.engine.set_shadow(Some(Arc::clone(&shadow)));
    let request = ScoreRequest { top: 1, ..ScoreRequest::default() };
    let ask = |mood: &str, nodes: Nodes, request: ScoreRequest| {
        let answer = world.ask(mood, nodes, request);
        assert!(answer.scores.unwrap().totals.is_empty(), "they are for the comparison alone");
        shadow.taken();
        world.engine.compare(&shadow, &receiver.recv().unwrap());
    };
    ask("", Nodes::All, request);
    // Of these another one is best too.
    ask("", Nodes::Named(vec!["n0".to_owned(), "n1".to_owned()]), ScoreRequest { top: 7, ..request });
    ask("trap", Nodes::All, request);
    // Not compared: as many as one policy finds first, and no scores.
    ask("", Nodes::Enough(Sample::new(0, NonZero::new(1).unwrap())), request);
    ask("", Nodes::All, ScoreRequest::default());
    let [same, other, unscored] = [0, 1, 2].map(|at| shadow.comparisons[at].record());
    assert_eq!(same.differences.scores, ScoreDifferences { pods: 3, nodes: 10, ..ScoreDifferences::default() });
    assert_eq!(unscored.differences.scores, ScoreDifferences::default());
    let found = other.differences.scores;
    assert_eq!((found.pods, found.best_changed, found.unscored, found.nodes), (2, 2, 1, 6), "{found:?}");
    // 100, 50, 0 and 0 become 100, 150, 200 and 200: places 0, 1, 2 or 3 become 3, 2, 0 or 1. Of two, 100 and 0 become 100 and 200.
    assert_eq!(found.places, (3 + 1 + 1 + 1) + 2);
    assert_eq!((other.faults, other.differences.differing), (1, 0));
    let kept: Vec<_> = other.last.iter().map(|kept| (kept.best.as_ref(), kept.score_error.as_deref())).collect();
    let [(Some(first), None), (Some(_), None), (None, Some(error))] = &*kept else { unreachable!("{kept:?}") };
    let names = |names: &[&str]| (names.len(), names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!((&first.before, &first.after), (&names(&["n0"]), &names(&["n2", "n3"])));
    assert_eq!(*error, "scorer \"Moody\" failed: Trap");
}

#[test]
fn what_changes_of_scorers_is_told_of_each_reload() {
    let free = |weight| ("Free", weight, pods(Normalization::ByLargestReversed), OnError::Reject);
    let world = World::new(&[free(3), ("Gone", 2, crowd(Normalization::ByDistance), OnError::Reject)], 1);
    let runtime = Runtime::start(None).unwrap();
    let changed = |change: &dyn Fn(&mut Vec<ActiveScorer>)| {
        let mut policy = (*world.engine.policy()).clone();
        change(&mut policy.scorers);
        drop(world.engine.replace_policy(policy));
        world.engine.note_reload(ReloadOutcome::Active, Duration::ZERO, Vec::new(), None, None);
        world.engine.reloads().remove(0).scorers
    };
    let added =
        |name: &str| ActiveScorer::new(loaded(&runtime, name, &pods(Normalization::ByRange), OnError::Reject), 7);
    let changes = changed(&|scorers| {
        scorers[0].weight = 4;
        scorers[1] = added("New");
    });
    let weights = vec![WeightChange { scorer: "Free".into(), before: 3, after: 4 }];
    let (new, gone) = (vec![("New".into(), 7)], vec![("Gone".into(), 2)]);
    assert_eq!(changes, ScorerChanges { added: new, removed: gone, weights, ..ScorerChanges::default() });
    // Another order is no change.
    assert!(changed(&|scorers| scorers.reverse()).is_empty());
    let changes = changed(&|scorers| {
        scorers[0].component.module = added("New").component.module;
        scorers[1].component.digest = [1; 32];
    });
    let (replaced, reconfigured) = (vec!["Free".into()], vec!["New".into()]);
    assert_eq!(changes, ScorerChanges { replaced, reconfigured, ..ScorerChanges::default() });
    // Nothing that is refused changes any.
    world.engine.note_reload(ReloadOutcome::Refused, Duration::ZERO, Vec::new(), None, None);
    assert!(world.engine.reloads()[0].scorers.is_empty());
}
