//! Random nodes, pods and what they are made of, with few names, so that they often meet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::metadata::requests::NonZero;
use crate::metadata::*;
use nodesift_object::node::{ConditionStatus, Taint, TaintEffect};
use nodesift_object::selector::Operator;

/// Rounds of a random test: few in each run of the tests, which are compiled without optimisation and have new seeds each time, and
/// `NODESIFT_RANDOM_TIMES` times as many in `make random`.
#[allow(clippy::expect_used, reason = "what a developer has set")]
pub(crate) fn rounds(few: u64) -> u64 {
    let times = std::env::var("NODESIFT_RANDOM_TIMES")
        .map_or(1, |times| times.parse().expect("NODESIFT_RANDOM_TIMES is a number"));
    few * u64::max(times, 1)
}

/// The last one is listed by no node.
pub(crate) const RESOURCES: [&str; 5] = ["cpu", "memory", "gpu", "fpga", "odd"];

pub(crate) const KEYS: [&str; 5] = ["zone", "disk", "team", "arch", "rack"];

pub(crate) fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}

pub(crate) fn random_node(random: &mut fastrand::Rng, name: &str) -> NodeFacts {
    let labels: BTreeMap<Arc<str>, Arc<str>> = (0..random.usize(0..5))
        .map(|_| (text(KEYS[random.usize(0..KEYS.len())]), text(&format!("v{}", random.u8(0..4)))))
        .collect();
    let resources: BTreeMap<Arc<str>, i64> =
        (0..random.usize(0..4)).map(|_| (text(RESOURCES[random.usize(0..4)]), random.i64(0..1000))).collect();
    NodeFacts {
        name: text(name),
        resource_version: text(""),
        labels: labels.into_iter().collect(),
        annotations: random_labels(random),
        unschedulable: random.u8(0..4) == 0,
        features: Vec::new(),
        conditions: random_conditions(random),
        info: random_labels(random),
        moments: Moments::from(Moment::ALL.map(|_| random.i64(0..3))),
        images: random_images(random),
        taints: (0..random.usize(0..3))
            .map(|_| Taint {
                key: KEYS[random.usize(0..2)].to_owned(),
                value: String::new(),
                effect: if random.bool() { TaintEffect::NoSchedule } else { TaintEffect::NoExecute },
            })
            .collect(),
        capacity: vec![(text("cpu"), random.i64(0..4))],
        allocatable: resources.into_iter().collect(),
        pod_limit: random.i64(0..110),
        sums: random_sums(random).into(),
    }
}

/// Names of images; no node holds the last one.
pub(crate) const IMAGES: [&str; 4] = ["a:1", "a:2", "b", "c"];

/// Images of a node, of which others have other sizes.
fn random_images(random: &mut fastrand::Rng) -> Labels {
    let mut images = Vec::new();
    for image in &IMAGES[..3] {
        if random.bool() {
            images.push((text(image), text(&random.i64(0..3).to_string())));
        }
    }
    images.into()
}

/// Names of sums that pods and nodes add to.
pub(crate) const SUMS: [&str; 4] = ["a.b", "c", "d-e", "f"];

/// Amounts that overflow together now and then.
pub(crate) fn random_sums(random: &mut fastrand::Rng) -> Amounts {
    let amount = |random: &mut fastrand::Rng| if random.u8(0..4) == 0 { random.i64(..) } else { random.i64(-9..9) };
    let sums: BTreeMap<Arc<str>, i64> =
        (0..random.usize(0..3)).map(|_| (text(SUMS[random.usize(0..SUMS.len())]), amount(random))).collect();
    sums.into_iter().collect()
}

/// Returns a random account of a pod; none as if the accounting component had none.
pub(crate) fn random_account(random: &mut fastrand::Rng) -> Option<Arc<Account>> {
    let amounts = |random: &mut fastrand::Rng| {
        let amounts: BTreeMap<Arc<str>, i64> = (0..random.usize(0..4))
            .map(|_| (text(["cpu", "memory", "gpu", "odd"][random.usize(0..4)]), random.i64(0..50)))
            .collect();
        amounts.into_iter().collect()
    };
    random.bool().then(|| {
        let (requests, usage, sums) = (amounts(random), amounts(random), random_sums(random).into());
        Arc::new(Account { requests, usage, sums, ..Account::default() })
    })
}

pub(crate) fn random_conditions(random: &mut fastrand::Rng) -> Conditions {
    let status = |random: &mut fastrand::Rng| {
        [ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown][random.usize(0..3)]
    };
    let condition = |kind: &str, random: &mut fastrand::Rng| (text(kind), status(random));
    ["DiskPressure", "Ready"]
        .into_iter()
        .filter(|_| random.bool())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|kind| condition(kind, random))
        .collect()
}

pub(crate) fn random_labels(random: &mut fastrand::Rng) -> Labels {
    let labels: BTreeMap<Arc<str>, Arc<str>> = (0..random.usize(0..3))
        .map(|_| (text(["app", "tier"][random.usize(0..2)]), text(&format!("v{}", random.u8(0..3)))))
        .collect();
    labels.into_iter().collect()
}

pub(crate) fn random_selector(random: &mut fastrand::Rng) -> PodSelector {
    let requirement = |random: &mut fastrand::Rng| {
        let operator = [Operator::In, Operator::NotIn, Operator::Exists, Operator::DoesNotExist][random.usize(0..4)];
        let values = (0..random.u8(1..3)).map(|value| text(&format!("v{value}")));
        LabelRequirement::new(["app", "tier"][random.usize(0..2)], operator, values).unwrap()
    };
    let requirements = (0..random.usize(0..3)).map(|_| requirement(random)).collect();
    let by_namespace = (random.u8(0..3) == 0).then(|| (0..random.usize(0..2)).map(|_| requirement(random)).collect());
    let namespaces = if random.bool() { vec![text("ns")] } else { vec![text("ns"), text("other")] };
    PodSelector { namespaces, namespace_requirements: by_namespace, requirements }
}

pub(crate) fn random_pod(random: &mut fastrand::Rng, name: &str, node: Option<Arc<str>>) -> PodRecord {
    let usage: BTreeMap<Arc<str>, i64> = (0..random.usize(0..4))
        .map(|_| (text(["cpu", "memory", "gpu", "odd"][random.usize(0..4)]), random.i64(0..50)))
        .collect();
    let ports: BTreeSet<HostPort> = (0..random.usize(0..6) / 3)
        .map(|_| HostPort {
            ip: text(if random.bool() { "0.0.0.0" } else { "10.0.0.1" }),
            protocol: text("TCP"),
            port: random.i32(80..83),
        })
        .collect();
    let nominated_node = (node.is_none() && random.bool()).then(|| text(&format!("n{}", random.u8(0..12))));
    PodRecord {
        uid: text(&format!("{name}-{}", random.u8(0..2))),
        namespace: text("ns"),
        name: text(name),
        resource_version: text(""),
        node_name: node,
        terminating: random.u8(0..5) == 0,
        ownership: [Ownership::Own, Ownership::Foreign, Ownership::ForeignStatic][random.usize(0..3)],
        priority: random.i32(0..3),
        nominated_node,
        facts: Arc::new(PodFacts {
            usage: usage.into_iter().collect(),
            owner: random_owner(random),
            non_zero_usage: random_non_zero_usage(random),
            host_ports: ports.into_iter().collect(),
            labels: random_labels(random),
            anti_affinity_terms: (0..random.usize(0..5) / 2)
                .map(|_| AntiAffinityTerm { selector: random_selector(random), topology_key: text("zone") })
                .collect(),
            preferences: random_preferences(random),
            ..PodFacts::default()
        }),
        account: random_account(random),
        pending: None,
    }
}

/// Terms that count in scores, of few kinds, so that pods often carry the same ones and one pod the same twice.
fn random_preferences(random: &mut fastrand::Rng) -> Option<Arc<PodPreferences>> {
    let term = |random: &mut fastrand::Rng| ScoringTerm {
        topology_key: text(["zone", "disk", "nowhere"][random.usize(0..3)]),
        weight: [None, Some(1), Some(-1), Some(100)][random.usize(0..4)],
        selector: random_selector(random),
    };
    let terms: Vec<ScoringTerm> = (0..random.usize(0..6) / 2).map(|_| term(random)).collect();
    (!terms.is_empty()).then(|| Arc::new(PodPreferences { terms, ..PodPreferences::default() }))
}

/// Usage that overflows now and then; none as if no policy read it.
fn random_non_zero_usage(random: &mut fastrand::Rng) -> Option<Arc<NonZeroUsage>> {
    let amount = |random: &mut fastrand::Rng| if random.u8(0..8) == 0 { random.i64(..) } else { random.i64(0..9) };
    let counted = NonZero { cpu: amount(random), memory: amount(random) };
    (random.u8(0..4) > 0).then(|| Arc::new(NonZeroUsage { counted, by_rules: None }))
}

pub(crate) fn random_owner(random: &mut fastrand::Rng) -> Option<Arc<OwnerFacts>> {
    let uid = ["", "c0", "c1", "c2"][random.usize(0..4)];
    random.bool().then(|| Arc::new(OwnerFacts { uid: text(uid), ..OwnerFacts::default() }))
}
