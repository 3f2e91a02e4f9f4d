//! Two policies in turn under load (R-03 and R-04, for some seconds): no request fails, and each answer is of one of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nodesift_tests::http::{Client, ask};
use serde_json::{Value, json};

use crate::running::{Reloading, alone, generation, policy};

/// Between two changes.
const INTERVAL: Duration = Duration::from_millis(100);

const TIME: Duration = Duration::from_secs(6);

const CLIENTS: usize = 4;

/// The same first predicate; then others, by which answers are told apart.
fn documents() -> [String; 2] {
    [
        policy(&["name: NodeAffinity", "name: NodeResourcesFit", "name: TaintToleration"]),
        policy(&["name: NodeAffinity", "name: NodePorts", "name: NodeUnschedulable"]),
    ]
}

/// The predicates that an explanation is about, and its generation.
fn explained(answer: &Value) -> (u64, Vec<String>) {
    let generation = answer["version"]["policyGeneration"].as_str().unwrap().parse().unwrap();
    let mut of_pods = answer["pods"].as_array().unwrap().iter().map(|pod| {
        let predicates = pod["predicates"].as_array().unwrap().iter();
        predicates.map(|found| found["predicate"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    });
    let first = of_pods.next().unwrap();
    assert!(of_pods.all(|other| other == first), "one answer is of two policies");
    (generation, first)
}

#[test]
fn under_load_no_request_fails_and_each_answer_is_wholly_of_the_generation_that_it_names() {
    let _alone = alone();
    let [first, second] = documents();
    let reloading = Reloading::start(&first);
    let unix = reloading.sidecar.unix();
    let request = json!({"pending": true, "pageSize": 8});
    let calls = |reloading: &Reloading| reloading.status()["predicates"][0]["calls"].as_u64().unwrap();
    ask(&unix, "/v1/filter", &request);
    let warm = calls(&reloading);
    let (ends, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    let load = || {
        let mut client = Client::connect(&unix).unwrap();
        let body = request.to_string();
        let mut seen: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        let mut last = 0;
        while !ends.load(Ordering::Relaxed) {
            for path in ["/v1/filter", "/v1/explain"] {
                let answer = client.post(path, body.as_bytes()).expect("an answer");
                assert_eq!(answer.status, 200, "{path}: {}", answer.body);
                answers.fetch_add(1, Ordering::Relaxed);
                if path == "/v1/explain" {
                    let (generation, predicates) = explained(&answer.json());
                    assert!(generation >= last, "generation {generation} after {last}");
                    last = generation;
                    let known = seen.entry(generation).or_insert_with(|| predicates.clone());
                    assert_eq!(*known, predicates, "generation {generation}");
                }
            }
        }
        seen
    };
    let seen = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(load)).collect();
        let start = Instant::now();
        for number in 1_u32.. {
            if start.elapsed() > TIME {
                break;
            }
            reloading.put(if number.is_multiple_of(2) { &first } else { &second });
            let next = start + INTERVAL * number;
            while let Some(rest) = next.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
                thread::park_timeout(rest);
            }
        }
        ends.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    // All clients have seen the same predicates under the same number, and the status says the same.
    let mut all: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (generation, predicates) in seen.into_iter().flatten() {
        let known = all.entry(generation).or_insert_with(|| predicates.clone());
        assert_eq!(*known, predicates, "generation {generation}");
    }
    println!("{} answers of {} generations", answers.load(Ordering::Relaxed), all.len());
    assert!(all.len() >= 3, "{all:?}");
    let kinds: std::collections::BTreeSet<&Vec<String>> = all.values().collect();
    assert_eq!(kinds.len(), 2, "{all:?}");
    let status = reloading.status();
    assert_eq!(status["lastFailure"], Value::Null);
    assert!(generation(&status) >= *all.keys().last().unwrap());
    // What is in both has been called for no pod a second time.
    assert_eq!(calls(&reloading), warm, "cached verdicts of an unchanged predicate were dropped");
}
