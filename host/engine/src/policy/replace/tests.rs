//! Requests while the policy is replaced: each is answered by the policy of its snapshot.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nodesift_cache as cache;
use nodesift_sandbox::Runtime;

use super::*;
use crate::{Options, PodRef, Query};

fn policy(scheduler: &str) -> ActivePolicy {
    ActivePolicy::new(vec![scheduler.to_owned()], Vec::new())
}

#[test]
fn a_snapshot_is_answered_by_the_policy_that_decides_what_is_foreign_in_it() {
    /// Policies, at least, and answers of each thread.
    const REPLACED: u64 = 2_000;
    const ANSWERS: u64 = 2_000;
    let (mut writer, reader) = cache::new();
    let engine = Engine::new(reader, policy("s0"), Runtime::start(None).unwrap());
    let pod = serde_json::from_value(serde_json::json!({"metadata": {"name": "p"}})).unwrap();
    let query = Query::new([PodRef::Whole(Box::new(pod))]);
    let (is_over, met) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 4]);
    std::thread::scope(|scope| {
        let readers: Vec<_> = met
            .iter()
            .map(|met| {
                let (engine, is_over, query) = (&engine, &is_over, &query);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let snapshot = engine.snapshot();
                        // Some requests wait between their snapshot and their turn.
                        (0..random.u32(0..3)).for_each(|_| std::thread::yield_now());
                        let answer = engine.answer(query, Options::on(&snapshot)).unwrap();
                        // The first policy has generation 1, and each recount is a generation.
                        assert_eq!(answer.policy_generation, snapshot.ownership() + 1);
                        met.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        // Held as the reload's thread holds them.
        let mut retired = Vec::new();
        let is_enough = || met.iter().all(|met| met.load(Ordering::Relaxed) >= ANSWERS);
        let is_one_over = || readers.iter().any(std::thread::ScopedJoinHandle::is_finished);
        let (mut number, mut drained) = (0, 0);
        while (number < REPLACED || !is_enough()) && !is_one_over() {
            number += 1;
            let name = format!("s{number}");
            let before = engine.replace_policy_and_recount(policy(&name), &mut || {
                writer.recount_ownership(std::slice::from_ref(&name));
                writer.publish();
                std::thread::yield_now();
            });
            drained += u64::from(before.is_drained());
            retired.push(before);
            assert_eq!(engine.policy().generation, number + 1);
            std::thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_eq!(drained, 0, "a request may still hold an older snapshot");
    });
}

#[test]
fn warnings_about_the_cluster_are_those_that_were_found_last_for_the_active_policy() {
    let engine = Engine::new(cache::new().1, policy("s0"), Runtime::start(None).unwrap());
    let before = engine.policy();
    assert_eq!(engine.cluster_warnings(&before), Vec::<String>::new(), "nobody has looked");
    engine.note_cluster_warnings(&before, vec!["no device".to_owned()]);
    assert_eq!(engine.cluster_warnings(&before), ["no device"]);
    let _retired = engine.replace_policy(policy("s0"));
    assert_eq!(engine.cluster_warnings(&engine.policy()), Vec::<String>::new(), "they are of the one before");
}
