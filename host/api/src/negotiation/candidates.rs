//! Candidates of a round: nodes that predicates allow, in the order in which they are to be tried. Pure; start at [`pick`].

use std::sync::Arc;

use nodesift_negotiation::{Evaluate, Evaluated, Node};
use rustc_hash::FxHashSet;

use super::selector::LabelSelector;
use nodesift_cache::{Row, Snapshot};
use nodesift_engine::{PolicyParty, RowSet};

/// The first nodes that are wanted. `feasible` are the rows that predicates allow, `parties` those that decide.
pub(super) fn pick(snapshot: &Snapshot, feasible: &RowSet, parties: &[&PolicyParty], asked: &Evaluate) -> Evaluated {
    let skip: FxHashSet<&str> = asked.skip.iter().map(|node| &**node).collect();
    let is_reached = |row: Row| {
        parties.is_empty()
            || snapshot.labels().get(row).is_some_and(|labels| parties.iter().all(|party| party.reaches(labels)))
    };
    let fits = |row: Row, name: &str| feasible.contains(row) && !skip.contains(name) && is_reached(row);
    let fits_by_name = |name: &Node| snapshot.node_row(name).is_some_and(|row| fits(row, name));

    let mut picked = Picked { nodes: Vec::new(), names: FxHashSet::default(), wanted: asked.wanted };
    for node in asked.named.iter().filter(|node| fits_by_name(node)) {
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
        if fits_by_name(node) {
            picked.add(node);
        }
        next += 1;
    }
    Evaluated { negotiation: asked.negotiation, round: asked.round, nodes: picked.nodes, next }
}

/// Nodes, each once.
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
