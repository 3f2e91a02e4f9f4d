//! A predicate over row sets compared with the same over columns: the example NodeRules, with random rules, on random histories,
//! with cached verdicts compared with fresh ones.

use std::time::Duration;

use nodesift_engine::{Answer, Depth, FaultReport, Options, Phases};
use nodesift_policy::{ModuleSource, Policy, PredicateSpec, SpecLimits};
use serde_json::{Value, json};

use super::ASKED;
use super::world::{Counted, World};
use crate::default_policy;
use crate::seeds::Seeds;

/// Histories, and events in each.
const HISTORIES: u64 = 8;
const EVENTS: u64 = 120;

/// A busy machine is slow.
const CALL_TIME: Duration = Duration::from_secs(10);

/// One of these, or several.
fn some<'a>(random: &mut fastrand::Rng, values: &[&'a str]) -> Vec<&'a str> {
    values.iter().copied().filter(|_| random.bool()).collect()
}

/// Rules that some nodes break and others do not, mostly.
fn rules(random: &mut fastrand::Rng) -> Value {
    let mut labels = Vec::new();
    if random.bool() {
        labels.push(json!({"key": "disk", "values": some(random, &["ssd", "hdd", "", "nvme"])}));
    }
    if random.bool() {
        // More values than a vectorised comparison takes.
        let values = ["1", "2", "9", "-1", "007", "abc", ""];
        labels.push(json!({"key": "gen", "values": values[..random.usize(..values.len())]}));
    }
    if random.u8(0..4) == 0 {
        labels.push(json!({"key": "nosuch"}));
    }
    let mut free = Vec::new();
    for resource in some(random, &["cpu", "memory", "example.com/nosuch"]) {
        let amount: i64 = [0, 1, 500, 4_000, 4 << 30][random.usize(0..5)];
        free.push(json!({"resource": resource, "amount": amount}));
    }
    json!({"labels": labels, "cordons": random.bool(), "taints": random.u8(0..4) > 0, "free": free})
}

/// A policy with the rules twice: over row sets, and over columns.
fn policy(rules: &Value, folder: &std::path::Path) -> Policy {
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "NodeRules").unwrap();
    let path = folder.join("rules.wasm");
    std::fs::write(&path, example.bytes).unwrap();
    let known = default_policy();
    let of = |name: &str, columns: bool| {
        let mut args = rules.clone();
        args["columns"] = json!(columns);
        PredicateSpec {
            name: name.to_owned(),
            args,
            phases: Phases::ALL,
            module: ModuleSource::Path { path: path.clone().into(), digest: None },
            limits: SpecLimits { time_per_call: Some(CALL_TIME), ..SpecLimits::default() },
            ..known.predicates[0].clone()
        }
    };
    Policy { predicates: vec![of("BySets", false), of("ByColumns", true)], ..known }
}

/// Rejections of each predicate: reasons and rows.
fn rejected(answer: &Answer) -> Vec<Vec<(Vec<String>, Vec<u32>)>> {
    let of = |predicate: &nodesift_engine::PredicateAnswer| {
        let failures = predicate.failures.iter();
        failures.map(|group| (group.reasons.to_vec(), group.rows.iter().map(|row| row.0).collect())).collect()
    };
    answer.pods.iter().flat_map(|pod| pod.predicates.iter().map(of)).collect()
}

#[test]
fn row_sets_reject_what_columns_reject() {
    let folder = tempfile::tempdir().unwrap();
    let (mut counted, mut rows, mut queries) = (Counted::default(), 0, 0);
    for seed in Seeds::for_run(HISTORIES / 2).take(HISTORIES) {
        let rules = rules(&mut fastrand::Rng::with_seed(seed));
        let mut world = World::new(seed);
        let (engine, registry) = world.engine(&policy(&rules, folder.path()), None);
        while world.events < EVENTS {
            world.advance();
            for _ in 0..ASKED {
                let mut query = world.question();
                query.depth = Depth::Each;
                let place = || format!("seed {seed}, event {}, {rules}", world.events);
                let answer = engine
                    .answer(&query, Options::default())
                    .unwrap_or_else(|error| panic!("{}: {error}\n  {query:?}", place()));
                let of_rules = |fault: &FaultReport| fault.predicate.starts_with("By");
                let faults: Vec<_> =
                    answer.pods.iter().flat_map(|pod| &pod.faults).filter(|fault| of_rules(fault)).collect();
                assert!(faults.is_empty(), "{}: {faults:?}", place());
                // What no predicate evaluates has an entry of its own.
                let rejected = rejected(&answer);
                let [by_sets, by_columns, ..] = &rejected[..] else { panic!("{}: {rejected:?}", place()) };
                assert_eq!(by_sets, by_columns, "{}", place());
                rows += by_sets.iter().map(|(_, rows)| rows.len()).sum::<usize>();
                queries += 1;
            }
        }
        counted.add(Counted::read(&registry));
    }
    println!("{queries} queries, {rows} rejected rows, {counted:?}");
    let ways = [counted.kept, counted.patched, counted.evaluated];
    assert!(rows > 0 && ways.iter().all(|count| *count > 0), "a case does not occur: {rows} rows, {counted:?}");
}
