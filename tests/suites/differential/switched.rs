//! Another version of Kubernetes in the middle of a history: the policy of a running engine is replaced by the default policy of another
//! version, as a reload does, while cached verdicts are there. Every answer is compared with the reference under the version that is active,
//! and the engine compares its cached verdicts with fresh ones.
//!
//! A run has `NODESIFT_SWITCHED_HISTORIES` (8) histories, of a few fixed [`seeds`](super::seeds) and of new ones.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nodesift_engine::{Engine, Metrics, Phase, Reuse};
use nodesift_fixtures::json;
use nodesift_fixtures::random::History;
use nodesift_policy::{PulledFolder, activate_beside};
use nodesift_reference::explain_under;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::reuse::Counted;
use crate::mirror::Mirror;
use crate::seeds::Seeds;
use crate::{FIXED_PART, SHOWN, Tally, Under, ask_and_compare, cases, cases_from_environment, runtime};

/// Default number of histories: some seconds of two cores.
const HISTORIES: u64 = 8;

/// Rounds of events in each history, and of those one in this many begins with another version.
const ROUNDS: usize = 12;
const SWITCH_PART: usize = 3;

/// Pods that are asked about in every round of a history, and unbound pods of the cluster.
const POOL: usize = 3;
const KNOWN_PODS: usize = 2;

#[test]
fn verdicts_are_those_of_the_version_that_is_active() {
    let count = cases_from_environment("NODESIFT_SWITCHED_HISTORIES", HISTORIES);
    let seeds = Seeds::for_run(count / FIXED_PART);
    let started = Instant::now();
    let worlds = Under::all();
    let next = AtomicU64::new(0);
    let work = || {
        let mut done = Done::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.add(follow(seeds.get(number), &worlds));
        }
    };
    let mut done = Done::default();
    cases::on_each_core(work).into_iter().for_each(|other| done.add(other));
    println!("{done:?} in {:.1} s", started.elapsed().as_secs_f32());
    let Done { tally, counted, .. } = done;
    let occurs = [done.switches, done.recounts, tally.rejected, tally.feasible, counted.kept, counted.evaluated];
    assert!(count < HISTORIES || occurs.iter().all(|count| *count > 0), "a case does not occur: {done:?}");
}

/// Counts of what was compared.
#[derive(Debug, Default, Clone, Copy)]
struct Done {
    tally: Tally,
    counted: Counted,
    switches: u64,
    /// Of the switches: those after which the cache counts otherwise.
    recounts: u64,
}

impl Done {
    fn add(&mut self, other: Self) {
        self.tally.add(other.tally);
        self.counted.add(other.counted);
        self.switches += other.switches;
        self.recounts += other.recounts;
    }
}

/// Follows one history, and replaces the version now and then.
fn follow(seed: u64, worlds: &[Under]) -> Done {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut done = Done { tally: Tally { clusters: 1, ..Tally::default() }, ..Done::default() };
    let mut history = History::new(seed);
    let mut at = random.usize(..worlds.len());
    let mut mirror = Mirror::new(worlds[at].policy.scheduler_names.clone()).under(&worlds[at].policy);
    mirror.load(history.cluster.objects());
    let mut registry = Registry::default();
    let runtime = runtime();
    let active = nodesift_policy::activate(&worlds[at].policy, 1, &runtime).expect("the policy can be loaded");
    let engine = Engine::new(mirror.reader(), active, runtime)
        .with_reuse(Reuse::Verified)
        .with_metrics(Metrics::register(&mut registry));
    // The same pods before and after: their cached verdicts are what a switch may make wrong.
    let pool: Vec<Value> = (0..POOL).map(|_| history.asked_pod()).collect();
    for round in 0..ROUNDS {
        if round > 0 && random.usize(..SWITCH_PART) > 0 {
            mirror.follow(&history.advance());
        }
        if round > 0 && random.usize(..SWITCH_PART) == 0 {
            at = random.usize(..worlds.len());
            done.switches += 1;
            done.recounts += u64::from(switch(&engine, &mut mirror, &worlds[at]));
        }
        let Under { version, filters, switches, .. } = &worlds[at];
        let unbound = |pod: &&Value| json::text(pod, "spec.nodeName").is_empty();
        let known = history.cluster.all("Pod").filter(unbound).take(KNOWN_PODS).cloned();
        for pod in pool.iter().cloned().chain(known.collect::<Vec<_>>()) {
            let explanation = explain_under(&history.cluster, &pod, filters, switches);
            done.tally.count(history.cluster.nodes().count(), &explanation);
            let found = ask_and_compare(&engine, &history.cluster, &pod, Phase::Allocate, &explanation);
            let shown: String = found.iter().take(SHOWN).map(|difference| format!("\n  {difference}")).collect();
            assert!(
                found.is_empty(),
                "seed {seed}, round {round}, {version}, {}:{shown}\n  pod {pod}",
                explanation.pod
            );
        }
    }
    Done { counted: Counted::read(&registry), ..done }
}

/// Makes the policy of another version active, as a reload does. Returns whether the cache counts otherwise with it.
fn switch(engine: &Engine, mirror: &mut Mirror, under: &Under) -> bool {
    let before = engine.policy();
    let next = activate_beside(&under.policy, &before, engine.runtime(), &PulledFolder::none(), &|| {});
    let next = next.expect("the policy can be loaded");
    let schedulers = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(schedulers(&before.scheduler_names), schedulers(&next.scheduler_names));
    if before.counts_as(&next) {
        drop(engine.replace_policy(next));
        return false;
    }
    drop(engine.replace_policy_and_recount(next, &mut || mirror.recount(&under.policy)));
    true
}
