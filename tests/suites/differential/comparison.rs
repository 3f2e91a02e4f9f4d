//! The differences between two answers to one query, by names.

use std::collections::BTreeMap;

use nodesift_engine::{Answer, Cycle, Depth, FailureGroup, RowsByName};
use nodesift_reference::Explanation;

/// Rejected nodes, each with code and reasons.
type Rejected = BTreeMap<String, (&'static str, Vec<String>)>;

/// The engine's answer about one pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    predicates: Vec<(String, Rejected)>,
    feasible: Vec<String>,
    /// Nodes, each with the first predicate that rejects it.
    first: BTreeMap<String, (String, &'static str, Vec<String>)>,
    message: Option<String>,
    /// How far kube-scheduler's scheduling cycle gets.
    cycle: Cycle,
    faults: Vec<String>,
}

impl Answered {
    pub(super) fn new(answer: &Answer) -> Self {
        let [pod] = &answer.pods[..] else { panic!("one pod in the query, {} in the answer", answer.pods.len()) };
        let name = |row| answer.snapshot.node_name(row).to_owned();
        let rejected = |failures: &[FailureGroup]| -> Rejected {
            let by_node = |failure: &FailureGroup| {
                let what = (failure.code.name(), failure.reasons.to_vec());
                failure.rows.iter().map(|row| (name(row), what.clone())).collect::<Vec<_>>()
            };
            failures.iter().flat_map(by_node).collect()
        };
        let first = pod.failures.iter().flat_map(|failure| {
            let what = (failure.predicate.to_string(), failure.code.name(), failure.reasons.to_vec());
            failure.rows.iter().map(|row| (name(row), what.clone())).collect::<Vec<_>>()
        });
        Self {
            predicates: pod.predicates.iter().map(|one| (one.predicate.to_string(), rejected(&one.failures))).collect(),
            feasible: RowsByName::new(&pod.feasible, &answer.snapshot.node_names()).map(name).collect(),
            first: first.collect(),
            message: pod.message.as_deref().map(str::to_owned),
            cycle: pod.cycle,
            faults: pod.faults.iter().map(|fault| format!("{fault:?}")).collect(),
        }
    }
}

/// The differences between the engine's answer about some nodes and the reference's.
pub(super) fn differences(found: &Answered, reference: &Explanation, nodes: &[String], depth: Depth) -> Vec<String> {
    let mut differences: Vec<String> = found.faults.iter().map(|fault| format!("fault {fault}")).collect();
    let about = format!("{depth:?} over {} nodes", nodes.len());

    let expected = |outcome: &nodesift_reference::Outcome| -> Rejected {
        let asked = outcome.failures.iter().filter(|(node, _)| nodes.contains(node));
        asked.map(|(node, failure)| (node.clone(), (failure.code.name(), failure.reasons.clone()))).collect()
    };
    if depth == Depth::Each {
        let names: Vec<&str> = reference.alone.iter().map(|(name, _)| *name).collect();
        let answered: Vec<&str> = found.predicates.iter().map(|(name, _)| name.as_str()).collect();
        if names != answered {
            differences.push(format!("{about}: predicates {answered:?}, reference {names:?}"));
        }
        for ((name, found), (_, outcome)) in found.predicates.iter().zip(&reference.alone) {
            let expected = expected(outcome);
            if *found != expected {
                differences.push(format!("{about}: {name}:{}", contrast(found, &expected)));
            }
        }
    }

    let first = |node: &String| {
        let (filter, failure) = reference.together.first.get(node)?;
        Some((node.clone(), ((*filter).to_owned(), failure.code.name(), failure.reasons.clone())))
    };
    let expected_first: BTreeMap<_, _> = nodes.iter().filter_map(first).collect();
    if found.first != expected_first {
        differences.push(format!("{about}: first failures:{}", contrast(&found.first, &expected_first)));
    }
    let feasible: Vec<&String> = nodes.iter().filter(|node| reference.together.feasible.contains(node)).collect();
    if found.feasible.iter().collect::<Vec<_>>() != feasible {
        differences.push(format!("{about}: feasible {:?}, reference {feasible:?}", found.feasible));
    }
    let cycle = expected_cycle(reference, nodes);
    // About no node at all, an error before any node cannot be told from errors of nodes.
    if found.cycle != cycle && !nodes.is_empty() {
        differences.push(format!("{about}: cycle {:?}, reference {cycle:?}", found.cycle));
    }
    let all_nodes = nodes.len() == reference_nodes(reference, nodes);
    if all_nodes && !messages_agree(found, reference) {
        differences.push(format!("{about}: message {:?}, reference {:?}", found.message, reference.together));
    }
    differences
}

/// The number of nodes that the reference evaluated: each of them is feasible or rejected.
fn reference_nodes(reference: &Explanation, nodes: &[String]) -> usize {
    let rejected = reference.alone.iter().flat_map(|(_, outcome)| outcome.failures.keys());
    let all: std::collections::BTreeSet<&String> = rejected.chain(&reference.together.feasible).chain(nodes).collect();
    all.len()
}

/// How far the cycle gets about some nodes.
fn expected_cycle(reference: &Explanation, nodes: &[String]) -> Cycle {
    use nodesift_reference::Cycle as Reference;
    match reference.cycle_over(&nodes.iter().map(String::as_str).collect()) {
        Reference::EachNode => Cycle::EachNode,
        Reference::NamedNodes => Cycle::NamedNodes,
        Reference::Rejected => Cycle::Rejected,
        Reference::Aborted => Cycle::Aborted,
    }
}

/// Whether the messages agree. Where an error ends the cycle, both must be present, and nobody reads them.
fn messages_agree(found: &Answered, reference: &Explanation) -> bool {
    match reference.together.cycle {
        nodesift_reference::Cycle::Aborted => found.message.is_some() == reference.together.message.is_some(),
        _ => found.message == reference.together.message,
    }
}

/// The entries that differ between two maps.
fn contrast<V: PartialEq + std::fmt::Debug>(found: &BTreeMap<String, V>, reference: &BTreeMap<String, V>) -> String {
    let mut keys: Vec<&String> = found.keys().chain(reference.keys()).collect();
    keys.sort();
    keys.dedup();
    let different = keys.into_iter().filter(|key| found.get(*key) != reference.get(*key));
    let shown = different
        .take(4)
        .map(|key| format!("\n    {key}: engine {:?}, reference {:?}", found.get(key), reference.get(key)));
    shown.collect()
}
