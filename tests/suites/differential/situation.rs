//! Queries that nominate pods for other nodes than the cluster has them, and that skip predicates: the engine compared with the
//! reference, which changes the objects of these pods and leaves the filters out. The engine also compares cached verdicts with
//! fresh ones.

use std::time::Instant;

use nodesift_engine::{Depth, Engine, Options, PodRef, Query, Reuse};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{name, text};
use nodesift_fixtures::random::History;
use nodesift_reference::{Filter, explain, filters};
use serde_json::{Value, json};

use crate::comparison::{self, Answered};
use crate::mirror::{self, Mirror};
use crate::seeds::Seeds;
use crate::{FIXED_SEEDS, cases_from_environment, default_policy, engine};

/// Default number of clusters: some seconds.
const CLUSTERS: u64 = 12;

/// Rounds of events in each cluster's history, and pods that are asked about in each.
const ROUNDS: usize = 3;
const PODS: usize = 4;

/// Pods that are nominated, or not nominated any more, at most.
const NOMINATED: usize = 5;

/// Assumptions of a query beside the cluster: nominated pods and skipped predicates.
pub(crate) struct Situation {
    /// Pods, and the nodes that they are nominated for; empty for none.
    pub(crate) nominated: Vec<(PodRef, String)>,
    /// Predicates that are not evaluated.
    pub(crate) skip: Vec<String>,
    /// The cluster in which it is so.
    pub(crate) cluster: Cluster,
}

impl Situation {
    /// A random one; `filters` are those that may be skipped.
    pub(crate) fn random(random: &mut fastrand::Rng, cluster: &Cluster, filters: &[Filter]) -> Self {
        let mut changed = cluster.clone();
        let mut pending: Vec<Value> = cluster.all("Pod").filter(|pod| is_pending(pod)).cloned().collect();
        random.shuffle(&mut pending);
        let nodes: Vec<&str> = cluster.nodes().map(name).collect();
        let mut nominated = Vec::new();
        for mut pod in pending.into_iter().take(random.usize(0..=NOMINATED)) {
            let node = if nodes.is_empty() || random.u8(0..3) == 0 { "" } else { nodes[random.usize(..nodes.len())] };
            if random.bool() {
                // As the core has it, which knows more than the API server.
                pod["spec"]["priority"] = json!(random.i32(-5..20));
            }
            let uid = text(&pod, "metadata.uid").to_owned();
            let is_changed =
                changed.all("Pod").any(|known| known["spec"] == pod["spec"] && text(known, "metadata.uid") == uid);
            let named = if is_changed { PodRef::Uid(uid) } else { PodRef::Whole(Box::new(mirror::pod(&pod))) };
            pod["status"]["nominatedNodeName"] = json!(node);
            changed.apply(pod);
            nominated.push((named, node.to_owned()));
        }
        let skip = filters.iter().filter(|_| random.u8(0..6) == 0).map(|filter| filter.name.to_owned()).collect();
        Self { nominated, skip, cluster: changed }
    }

    /// The filters that are not skipped.
    pub(crate) fn filters(&self) -> Vec<Filter> {
        let names: Vec<String> = default_policy().predicates.iter().map(|predicate| predicate.name.clone()).collect();
        let left: Vec<&str> = names.iter().filter(|name| !self.skip.contains(name)).map(String::as_str).collect();
        filters::named(&left)
    }
}

/// Neither on a node nor at its end.
fn is_pending(pod: &Value) -> bool {
    text(pod, "spec.nodeName").is_empty() && !["Succeeded", "Failed"].contains(&text(pod, "status.phase"))
}

#[test]
fn nominated_pods_and_skipped_predicates_of_a_query_count_for_it_alone() {
    let wanted = cases_from_environment("NODESIFT_SITUATION_CLUSTERS", CLUSTERS);
    let seeds = Seeds::for_run(FIXED_SEEDS);
    let (started, mut pods, mut changed) = (Instant::now(), 0, 0);
    for seed in seeds.take(wanted) {
        let policy = default_policy();
        let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
        let all = filters::named(&names);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(history.cluster.objects());
        let engine = engine(&policy, &mirror).with_reuse(Reuse::Verified);
        for round in 0..ROUNDS {
            mirror.follow(&history.advance());
            for _ in 0..PODS {
                let pod = history.asked_pod();
                let situation = Situation::random(&mut random, &history.cluster, &all);
                let before = explain(&history.cluster, &pod, &all).together;
                let expected = explain(&situation.cluster, &pod, &situation.filters());
                pods += 1;
                changed += u64::from(before.first != expected.together.first);
                for depth in [Depth::FirstFailure, Depth::Each] {
                    let found = ask(&engine, &pod, &situation, depth);
                    let nodes: Vec<String> = history.cluster.nodes().map(|node| name(node).to_owned()).collect();
                    let found = comparison::differences(&found, &expected, &nodes, depth);
                    let Situation { nominated, skip, .. } = &situation;
                    assert!(
                        found.is_empty(),
                        "seed {seed}, round {round}: {found:?}; {nominated:?} {skip:?}\n  pod {pod}"
                    );
                }
                let found = ask(
                    &engine,
                    &pod,
                    &Situation { nominated: Vec::new(), skip: Vec::new(), cluster: history.cluster.clone() },
                    Depth::FirstFailure,
                );
                let nodes: Vec<String> = history.cluster.nodes().map(|node| name(node).to_owned()).collect();
                let after = comparison::differences(
                    &found,
                    &explain(&history.cluster, &pod, &all),
                    &nodes,
                    Depth::FirstFailure,
                );
                assert!(after.is_empty(), "seed {seed}, round {round}: a query has changed the next one: {after:?}");
            }
        }
    }
    println!("{pods} pods, {changed} of them with other verdicts, in {:.1} s", started.elapsed().as_secs_f32());
    assert!(wanted < CLUSTERS || changed * 4 > pods, "{changed} of {pods}");
}

fn ask(engine: &Engine, pod: &Value, situation: &Situation, depth: Depth) -> Answered {
    let snapshot = engine.nominating(&engine.snapshot(), &situation.nominated).expect("all pods are there");
    let query =
        Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))]).with_depth(depth).with_skip(situation.skip.clone());
    Answered::new(&engine.answer(&query, Options::on(&snapshot)).expect("an answer"))
}
