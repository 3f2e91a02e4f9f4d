//! Candidates of a round: nodes that predicates allow, in the order in which they are to be tried. Pure; start at [`pick`].

use std::sync::Arc;

use nodesift_cache::{Row, Snapshot};
use nodesift_engine::{PolicyParty, RowSet};
use nodesift_negotiation::{Evaluate, Evaluated, Node};
use rustc_hash::FxHashSet;

use crate::selector::LabelSelector;

/// The first nodes that are wanted. `feasible` are the rows that predicates allow, `parties` those that decide.
pub(super) fn pick(snapshot: &Snapshot, feasible: &RowSet, parties: &[&PolicyParty], asked: &Evaluate) -> Evaluated {
    let skip: FxHashSet<&str> = asked.skip.iter().map(|node| &**node).collect();
    let is_reached = |row: Row| {
        parties.is_empty()
            || snapshot.labels().get(row).is_some_and(|labels| parties.iter().all(|party| party.reaches(labels)))
    };
    let fits = |row: Row, name: &str| feasible.contains(row) && !skip.contains(name) && is_reached(row);
    // The text of the cache: that of a party is held by nobody else.
    let fitting = |name: &Node| {
        let row = snapshot.node_row(name).filter(|row| fits(*row, name))?;
        snapshot.names().get(row)
    };

    let mut picked = Picked { nodes: Vec::new(), names: FxHashSet::default(), wanted: asked.wanted };
    for node in asked.named.iter().filter_map(fitting) {
        picked.add(node);
    }
    let alternatives: Vec<LabelSelector> =
        asked.selectors.iter().filter_map(|(_, text)| LabelSelector::parse(text)).collect();
    if !alternatives.is_empty() {
        for row in feasible.iter() {
            if picked.is_full() {
                break;
            }
            let (Some(name), Some(labels)) = (snapshot.names().get(row), snapshot.labels().get(row)) else { continue };
            if alternatives.iter().any(|it| it.matches(labels)) && fits(row, name) {
                picked.add(name);
            }
        }
    }
    let mut next = asked.start;
    while !picked.is_full()
        && let Some(node) = asked.order.get(next)
    {
        if let Some(node) = fitting(node) {
            picked.add(node);
        }
        next += 1;
    }
    Evaluated { negotiation: asked.negotiation, round: asked.round, nodes: picked.nodes, next }
}

/// Candidate nodes, each once, at most `wanted`.
struct Picked {
    nodes: Vec<Node>,
    names: FxHashSet<Node>,
    wanted: usize,
}

impl Picked {
    fn is_full(&self) -> bool {
        self.nodes.len() >= self.wanted
    }

    fn add(&mut self, node: &Node) {
        if !self.is_full() && self.names.insert(Arc::clone(node)) {
            self.nodes.push(Arc::clone(node));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing)]

    use std::collections::BTreeMap;

    use fastrand::Rng;
    use nodesift_cache::{self as cache, metadata};
    use nodesift_negotiation::{Concern, NegotiationId, OnSilence, Party, Scope};
    use serde_json::json;

    use super::*;

    /// A node: its labels, and whether predicates allow it.
    struct Known {
        name: String,
        labels: BTreeMap<String, String>,
        is_feasible: bool,
    }

    fn random_nodes(random: &mut Rng) -> Vec<Known> {
        let node = |at: usize, random: &mut Rng| {
            let mut labels = BTreeMap::new();
            for key in ["rack", "zone"] {
                if random.bool() {
                    labels.insert(key.to_owned(), ["a", "b"][random.usize(..2)].to_owned());
                }
            }
            Known { name: format!("n{at}"), labels, is_feasible: random.u8(..4) > 0 }
        };
        (0..random.usize(1..40)).map(|at| node(at, random)).collect()
    }

    /// Selectors as text, with what they mean.
    type Meaning = fn(&BTreeMap<String, String>) -> bool;
    const SELECTORS: [(&str, Meaning); 4] = [
        ("rack=a", |labels| labels.get("rack").is_some_and(|rack| rack == "a")),
        ("zone notin (b)", |labels| labels.get("zone").is_none_or(|zone| zone != "b")),
        ("rack, !zone", |labels| labels.contains_key("rack") && !labels.contains_key("zone")),
        // Not a selector: it matches nothing.
        ("rack in (", |_| false),
    ];

    /// The slow twin of [`pick`]: everything that may be picked in one list, in its order. `reached` are the labels that parties want.
    fn picked(nodes: &[Known], reached: &[BTreeMap<String, String>], asked: &Evaluate, consumed: usize) -> Vec<String> {
        let is_allowed = |name: &str| {
            nodes.iter().any(|node| {
                node.name == name
                    && node.is_feasible
                    && reached
                        .iter()
                        .all(|labels| labels.iter().all(|(key, value)| node.labels.get(key) == Some(value)))
            }) && !asked.skip.iter().any(|skipped| **skipped == *name)
        };
        let meant = |text: &str| SELECTORS.iter().find(|(known, _)| *known == text).unwrap().1;
        let selected = nodes.iter().filter(|node| asked.selectors.iter().any(|(_, text)| meant(text)(&node.labels)));
        let in_order = asked.order.iter().take(consumed).skip(asked.start).map(|name| name.to_string());
        let named = asked.named.iter().map(|name| name.to_string());
        let mut found: Vec<String> = Vec::new();
        for name in named.chain(selected.map(|node| node.name.clone())).chain(in_order) {
            if is_allowed(&name) && !found.contains(&name) && found.len() < asked.wanted {
                found.push(name);
            }
        }
        found
    }

    #[test]
    fn candidates_are_those_that_are_found_one_by_one() {
        let seed = nodesift_seed::seed();
        let mut random = Rng::with_seed(seed);
        let (mut full, mut exhausted) = (0, 0);
        for round in 0..2_000 {
            let nodes = random_nodes(&mut random);
            let (mut writer, reader) = cache::new();
            for node in &nodes {
                let object = json!({"metadata": {"name": node.name, "labels": node.labels}});
                writer.apply(metadata::node(&serde_json::from_value(object).unwrap()));
            }
            writer.publish();
            let snapshot = reader.snapshot();
            let row = |node: &Known| snapshot.node_row(&node.name).unwrap();
            let feasible: RowSet = nodes.iter().filter(|node| node.is_feasible).map(row).collect();

            // Some names are no nodes, and some come twice.
            let names = |random: &mut Rng, most: usize| -> Vec<Arc<str>> {
                let name = |random: &mut Rng| format!("n{}", random.usize(..nodes.len() + 2)).into();
                (0..random.usize(..=most)).map(|_| name(random)).collect()
            };
            let reached: Vec<BTreeMap<String, String>> = (0..random.usize(..3))
                .map(|_| (0..random.usize(..2)).map(|_| ("rack".to_owned(), "a".to_owned())).collect())
                .collect();
            let parties: Vec<PolicyParty> = reached.iter().map(party).collect();
            let selector = |random: &mut Rng| ("p".into(), SELECTORS[random.usize(..SELECTORS.len())].0.into());
            let order: Arc<[Arc<str>]> = names(&mut random, 60).into();
            let asked = Evaluate {
                negotiation: NegotiationId(1),
                round: 1,
                pod: "p".into(),
                parties: Vec::new(),
                named: names(&mut random, 4),
                selectors: (0..random.usize(..3)).map(|_| selector(&mut random)).collect(),
                start: random.usize(..=order.len()),
                order,
                skip: names(&mut random, 8).into_iter().collect(),
                wanted: random.usize(1..12),
            };
            let found = pick(&snapshot, &feasible, &parties.iter().collect::<Vec<_>>(), &asked);
            // Of the order, no more is used up than is needed.
            let is_enough = |end: &usize| picked(&nodes, &reached, &asked, *end).len() == asked.wanted;
            let next = (asked.start..=asked.order.len()).find(is_enough).unwrap_or(asked.order.len());
            let expected = picked(&nodes, &reached, &asked, next);
            assert_eq!(
                (found.nodes.iter().map(ToString::to_string).collect(), found.next),
                (expected, next),
                "round {round}"
            );
            full += usize::from(found.nodes.len() == asked.wanted);
            exhausted += usize::from(found.next == asked.order.len());
        }
        println!("{full} with all that was wanted, {exhausted} at the end of the order");
        assert!(full > 100 && exhausted > 100, "{full} and {exhausted}");
    }

    /// A party that decides for nodes with these labels.
    fn party(labels: &BTreeMap<String, String>) -> PolicyParty {
        let party = Party { name: "p".into(), concern: Concern::Pods, scope: Scope::Pod, on_silence: OnSilence::Wait };
        let object = json!({"metadata": {"name": "n", "labels": labels}});
        let object: nodesift_object::Node = serde_json::from_value(object).unwrap();
        PolicyParty::new(party, &Default::default(), &object.metadata.labels).unwrap()
    }
}
