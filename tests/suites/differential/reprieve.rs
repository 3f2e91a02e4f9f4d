//! Reprieve: the engine compared with the reference, which removes a node's victims from the cluster's objects, gives them back one
//! by one, and evaluates everything again each time.
//!
//! There are `NODESIFT_REPRIEVE_CASES` (200) cases, of a few fixed [`seeds`](super::seeds) and of new ones: one pod, several nodes,
//! and some of the pods of each as victims; some with nominated pods and skipped predicates. A difference names its seed, which reproduces
//! it.

use nodesift_engine::{Engine, NodeVictims, Options, PodRef, Query, Reprieve, ReprieveOutcome, Reuse};
use nodesift_engine::{FaultReport, ReprieveError};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{key, name, text};
use nodesift_fixtures::random::History;
use nodesift_reference::{Filter, explain, filters};
use nodesift_sandbox::fault::FaultKind;
use serde_json::Value;

use crate::cases::{self, Tally as _};
use crate::mirror::{self, Mirror};
use crate::situation::Situation;
use crate::{cases_from_environment, default_policy, engine};

/// Default number of cases: some seconds of two cores.
const CASES: u64 = 200;

/// Rounds of events in each cluster's history; cases are made after each.
const ROUNDS: usize = 3;

/// Preemptors in each round, nodes for each of them, and victims per node at most.
const PODS: usize = 6;
const NODES: usize = 4;
const VICTIMS: usize = 6;

/// The filters whose verdict about a node depends on pods of other nodes.
const CLUSTER_WIDE: [&str; 2] = ["PodTopologySpread", "InterPodAffinity"];

#[test]
fn reprieve_agrees_with_a_recomputation_that_gives_victims_back_one_by_one() {
    let wanted = cases_from_environment("NODESIFT_REPRIEVE_CASES", CASES);
    let done = cases::compare(wanted, history);
    assert!(wanted < CASES || done.has_every_kind(), "every kind of case occurs: {done:?}");
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    /// Nodes that reject the pod without all victims, and those where a filter does so that looks at other nodes.
    rejected: u64,
    rejected_by_others: u64,
    /// Nodes where all victims stay, and where some do.
    all_kept: u64,
    some_kept: u64,
    /// Nodes where a victim goes because a filter rejects it that looks at other nodes.
    evicted_around: u64,
    /// Nodes and victims that are not there.
    errors: u64,
    differences: Vec<String>,
}

impl cases::Tally for Tally {
    fn cases(&self) -> u64 {
        self.cases
    }

    fn has_every_kind(&self) -> bool {
        let evaluated = [self.rejected, self.rejected_by_others, self.all_kept, self.some_kept, self.evicted_around];
        evaluated.iter().all(|count| *count > 0) && self.errors > 0
    }

    fn differences(&self) -> &[String] {
        &self.differences
    }

    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.rejected += other.rejected;
        self.rejected_by_others += other.rejected_by_others;
        self.all_kept += other.all_kept;
        self.some_kept += other.some_kept;
        self.evicted_around += other.evicted_around;
        self.errors += other.errors;
        self.differences.extend(other.differences);
    }
}

impl Tally {
    fn count(&mut self, expected: &Expected, victims: usize) {
        match &expected.outcome {
            Err(_) => self.errors += 1,
            Ok(Outcome::Rejected(filter, ..)) => {
                self.rejected += 1;
                self.rejected_by_others += u64::from(CLUSTER_WIDE.contains(&filter.as_str()));
            }
            Ok(Outcome::Fits(kept)) if victims > 0 && kept.len() == victims => self.all_kept += 1,
            Ok(Outcome::Fits(kept)) => self.some_kept += u64::from(!kept.is_empty()),
        }
        self.evicted_around += u64::from(expected.is_evicted_around);
    }
}

/// Part of an outcome that is compared.
#[derive(Debug, PartialEq)]
enum Outcome {
    Fits(Vec<usize>),
    /// The filter, its code and its reasons.
    Rejected(String, String, Vec<String>),
}

struct Expected {
    outcome: Result<Outcome, ()>,
    is_evicted_around: bool,
}

/// All cases of one cluster.
fn history(seed: u64) -> Tally {
    let policy = default_policy();
    let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
    let filters = filters::named(&names);
    let mut tally = Tally::default();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = History::new(seed);
    let mut mirror = Mirror::new(policy.scheduler_names.clone());
    mirror.load(history.cluster.objects());
    let engine = engine(&policy, &mirror).with_reuse(Reuse::Verified);
    for round in 0..ROUNDS {
        mirror.follow(&history.advance());
        for _ in 0..PODS {
            let pod = history.asked_pod();
            // As a core does: it filters first and preempts if the pod fits no node.
            if random.bool() {
                engine.answer(&about(&pod), Options::default()).expect("an answer");
            }
            let nodes = nodes(&mut random, &history.cluster);
            let situation = Situation::random(&mut random, &history.cluster, &filters);
            let found = ask(&engine, &pod, &nodes, &situation);
            tally.cases += 1;
            for (node, found) in nodes.iter().zip(found) {
                let expected = recompute(&situation.cluster, &situation.filters(), &pod, node);
                tally.count(&expected, node.victims.len());
                if found != expected.outcome {
                    let expected = expected.outcome;
                    tally.differences.push(format!(
                        "seed {seed}, round {round}: engine {found:?}, reference {expected:?}; {node:?}\n  pod {pod}"
                    ));
                    return tally;
                }
            }
        }
    }
    tally
}

fn about(pod: &Value) -> Query {
    Query::new([PodRef::Whole(Box::new(mirror::pod(pod)))])
}

/// Different nodes with some of their pods in random order. A few are not there, or have a victim of another node.
fn nodes(random: &mut fastrand::Rng, cluster: &Cluster) -> Vec<NodeVictims> {
    let mut all: Vec<String> = cluster.nodes().map(|node| name(node).to_owned()).collect();
    random.shuffle(&mut all);
    all.truncate(NODES);
    if random.u8(0..8) == 0 {
        all.push("nowhere".to_owned());
    }
    let with_victims = |node: String| {
        let here = cluster.get("Node", &node).into_iter().flat_map(|node| cluster.pods_on(node));
        let mut victims: Vec<String> = here.map(|pod| text(pod, "metadata.uid").to_owned()).collect();
        random.shuffle(&mut victims);
        victims.truncate(random.usize(0..=VICTIMS));
        if random.u8(0..20) == 0 {
            let elsewhere = cluster.placed_pods().into_iter().find(|(home, _)| name(home) != node);
            victims.extend(elsewhere.map(|(_, pod)| text(pod, "metadata.uid").to_owned()));
        }
        NodeVictims { node, victims }
    };
    all.into_iter().map(with_victims).collect()
}

fn ask(engine: &Engine, pod: &Value, nodes: &[NodeVictims], situation: &Situation) -> Vec<Result<Outcome, ()>> {
    let pod = PodRef::Whole(Box::new(mirror::pod(pod)));
    let snapshot = engine.nominating(&engine.snapshot(), &situation.nominated).expect("all pods are there");
    let query =
        Reprieve { pod, nodes: nodes.to_vec(), deadline: None, skip: situation.skip.clone(), is_negotiated: false };
    let answer = engine.reprieve(&query, &snapshot);
    let answer = answer.expect("an answer");
    let is_ignored = |fault: &FaultReport| fault.fault.kind == FaultKind::Unsupported;
    assert!(answer.faults.iter().all(is_ignored), "{:?}", answer.faults);
    let outcome = |outcome: Result<ReprieveOutcome, ReprieveError>| match outcome {
        Err(ReprieveError::UnknownNode { .. } | ReprieveError::UnknownVictim { .. }) => Err(()),
        Ok(ReprieveOutcome::Fits { kept }) => Ok(Outcome::Fits(kept)),
        Ok(ReprieveOutcome::Rejected { predicate, failure }) => {
            let reasons = failure.reasons.iter().map(ToString::to_string).collect();
            Ok(Outcome::Rejected(predicate.to_string(), format!("{:?}", failure.code), reasons))
        }
    };
    answer.outcomes.into_iter().map(outcome).collect()
}

/// Recomputes the outcome in kube-scheduler's order: all victims are removed, and given back one by one.
fn recompute(cluster: &Cluster, filters: &[Filter], pod: &Value, asked: &NodeVictims) -> Expected {
    let missing = || Expected { outcome: Err(()), is_evicted_around: false };
    if cluster.get("Node", &asked.node).is_none() {
        return missing();
    }
    let mut left = cluster.clone();
    let mut victims = Vec::new();
    for uid in &asked.victims {
        let is_here = |pod: &&Value| text(pod, "spec.nodeName") == asked.node && text(pod, "metadata.uid") == uid;
        let Some(victim) = cluster.all("Pod").find(is_here) else { return missing() };
        left.remove("Pod", &key(victim)).expect("each victim is there once");
        victims.push(victim);
    }
    let rejection = |left: &Cluster| explain(left, pod, filters).together.first.remove(&asked.node);
    if let Some((filter, failure)) = rejection(&left) {
        let outcome =
            Outcome::Rejected(filter.to_owned(), format!("{:?}", failure.code), failure.reasons.into_iter().collect());
        return Expected { outcome: Ok(outcome), is_evicted_around: false };
    }
    let (mut kept, mut is_evicted_around) = (Vec::new(), false);
    for (index, victim) in victims.into_iter().enumerate() {
        left.apply(victim.clone());
        match rejection(&left) {
            None => kept.push(index),
            Some((filter, _)) => {
                is_evicted_around |= CLUSTER_WIDE.contains(&filter);
                left.remove("Pod", &key(victim)).expect("it was given back");
            }
        }
    }
    Expected { outcome: Ok(Outcome::Fits(kept)), is_evicted_around }
}
