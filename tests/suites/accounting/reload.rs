//! Another policy accounts otherwise: its accounts are there with it, all at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nodesift_engine::{ActivePolicy, Options, PodRef, Query};
use serde_json::{Value, json};

use super::world::{World, activate, granting, node, pod, taken, until};

/// Makes a policy active as `serve` does.
fn replace(world: &World, next: ActivePolicy) {
    if let Some(accounting) = &next.accounting {
        let (pods, nodes) = {
            let writer = world.writer.lock();
            (writer.pods().all(), writer.accounted_nodes())
        };
        accounting.prepare(&pods, &nodes, &|| false);
    }
    let counting = next.clone();
    drop(world.engine.replace_policy_and_recount(next, &mut || {
        let mut writer = world.writer.lock();
        writer.recount_accounts(counting.accountant());
        writer.recount_ownership(&counting.scheduler_names);
        writer.publish();
    }));
}

/// How a policy counts: the pods of the namespace take what they request, or nothing.
fn settings(counts: bool) -> Option<Value> {
    let ignored = if counts { "other" } else { "ns" };
    Some(granting(&json!({"ignoreNamespaces": [ignored]})))
}

#[test]
fn a_reload_amid_a_storm_of_events_mixes_no_accounts() {
    let world = World::new(settings(true).as_ref());
    let asked = pod("asked", 1, None, 1_395, Some("a"));
    world.deliver(&[node("n", 1, 1000, None), asked.clone()]);
    world.deliver(&[pod("p", 1, Some("n"), 495, Some("a")), pod("q", 1, Some("n"), 495, None)]);
    world.settle(2);
    let (is_over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let versions = AtomicU64::new(10);
    std::thread::scope(|scope| {
        // Events that change facts, and not what pods take.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let version = versions.fetch_add(1, Ordering::Relaxed);
                let name = if version.is_multiple_of(2) { "p" } else { "q" };
                let mut changed = pod(name, version, Some("n"), 495, Some("a").filter(|_| name == "p"));
                changed["metadata"]["labels"] = json!({"version": version.to_string()});
                world.deliver(&[changed]);
                std::thread::yield_now();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let whole = PodRef::Whole(Box::new(serde_json::from_value(asked.clone()).unwrap()));
                let query = Query::new([whole, PodRef::Uid("u-asked".to_owned())]);
                let mut answers = [0, 0];
                while !is_over.load(Ordering::Relaxed) {
                    // One that was taken before the policy is older than it, and asked again.
                    let Ok(answer) = world.engine.answer(&query, Options::default()) else { continue };
                    // The first policy, and each second one after it, counts.
                    let counts = answer.policy_generation % 2 == 1;
                    let (cpu, sum) = taken(&answer.snapshot)["n"];
                    let expected = if counts { (1000, Some(1007)) } else { (0, Some(1000)) };
                    assert_eq!((cpu, sum), expected, "policy {}", answer.policy_generation);
                    for pod in &answer.pods {
                        // It requests more than a node has, or nothing.
                        assert_eq!(pod.feasible.len(), usize::from(!counts), "policy {}", answer.policy_generation);
                    }
                    answers[usize::from(counts)] += 1;
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                println!("{answers:?} answers");
                assert!(!answers.contains(&0), "{answers:?}");
            });
        }
        for round in 0..30 {
            let next = activate(world.engine.runtime(), settings(round % 2 == 1).as_ref()).unwrap();
            replace(&world, next);
            let before = answered.load(Ordering::Relaxed);
            until(|| answered.load(Ordering::Relaxed) >= before + 10);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let snapshot = world.settle(1_000_000_000);
    assert_eq!(taken(&snapshot)["n"], (1000, Some(1007)));
}

#[test]
fn a_policy_brings_accounting_and_takes_it_away() {
    let objects = [node("n", 1, 1000, None), pod("p", 1, Some("n"), 300, Some("c")), pod("q", 1, None, 300, Some("b"))];
    // Annotations, owners and containers are kept from the beginning, as after a list with what the next policy selects.
    let world = World::new(Some(&granting(&json!({}))));
    world.deliver(&objects);
    assert_eq!(taken(&world.settle(2))["n"], (300, Some(1007)));
    assert_eq!(world.writer.lock().unknown_account_count(), 1);
    replace(&world, activate(world.engine.runtime(), None).unwrap());
    let snapshot = world.reader.snapshot();
    assert_eq!((taken(&snapshot)["n"], snapshot.sum_names().len()), ((305, None), 0));
    assert_eq!(world.writer.lock().unknown_account_count(), 0);
    // Meanwhile it changes.
    world.deliver(&[pod("p", 3, Some("n"), 400, Some("c"))]);
    assert_eq!(taken(&world.settle(4))["n"], (405, None));
    replace(&world, activate(world.engine.runtime(), Some(&granting(&json!({"onError": "Refuse"})))).unwrap());
    assert_eq!(taken(&world.reader.snapshot())["n"], (400, Some(1007)));
    assert_eq!(world.writer.lock().unknown_account_count(), 1);
    let mut writer = world.writer.lock();
    let rows = writer.audit_rows();
    assert!(writer.audit(0..rows).is_empty());
    assert!(Arc::strong_count(&world.writer) >= 1);
}
