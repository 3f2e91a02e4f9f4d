//! Reloads at the same time as others, and as the end of the process: the last written wins, and numbers only rise.

use std::thread;

use nodesift_tests::http::{Client, ask};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;
use serde_json::json;

use crate::running::{Reloading, generation, policy};

fn document(number: usize) -> String {
    let toleration = if number.is_multiple_of(2) { "name: TaintToleration" } else { "name: NodePorts" };
    format!("# {number}\n{}", policy(&["name: NodeName", toleration]))
}

/// R-05 of the reliability plan: reloads at the same time as others.
#[test]
fn of_reloads_at_the_same_time_the_last_written_wins_and_numbers_only_rise() {
    let _beside = beside_others();
    const ROUNDS: usize = 20;
    let reloading = Reloading::start(&document(0));
    let last = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 1..=ROUNDS {
                reloading.put(&document(number));
                // Between two of them, nothing at all or as long as a reload takes.
                thread::park_timeout(std::time::Duration::from_millis(number as u64 * 37 % 300));
            }
        });
        let (mut seen, mut last) = (0, 0);
        while !writer.is_finished() {
            last = generation(&reloading.status());
            assert!(last >= seen, "{last} after {seen}");
            seen = last;
        }
        last
    });
    let status = reloading.becomes(&document(ROUNDS));
    assert!(generation(&status) >= last);
    let answer = ask(&reloading.sidecar.unix(), "/v1/filter", &json!({"pending": true}));
    assert_eq!(answer["version"]["policyGeneration"], status["generation"]);
}

/// R-05 of the reliability plan: a reload during the end of the process.
#[test]
fn a_reload_during_the_drain_hurts_neither() {
    let _beside = beside_others();
    let reloading = Reloading::start(&document(0));
    let sidecar = &reloading.sidecar;
    // A request that is waiting keeps the drain from ending.
    let mut client = Client::connect(&sidecar.unix()).unwrap();
    let waiting = json!({"pods": [], "pending": true, "consistency": {"minGeneration": u64::MAX.to_string(), "deadlineMs": 4_000}});
    let status = thread::scope(|scope| {
        let waits = scope.spawn(|| client.post("/v1/filter", waiting.to_string().as_bytes()).unwrap().status);
        // Beside the request for the metrics themselves.
        let waits_there = || (reloading.metric("nodesift_api_requests_in_flight") >= 2.0).then_some(());
        timeout::until(waits_there).expect("a waiting request");
        sidecar.signal("TERM");
        timeout::until(|| sidecar.output().contains("shutting down").then_some(())).unwrap();
        reloading.put(&document(1));
        timeout::until(|| sidecar.output().contains("policy reloaded").then_some(()))
            .expect("a reload during the drain");
        waits.join().unwrap()
    });
    assert_eq!(status, 504);
    let (status, output) = reloading.sidecar.wait();
    assert_eq!(status.code(), Some(0), "{output}");
}
