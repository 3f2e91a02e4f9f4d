//! The last events of each node. Of one node a bounded number is kept, of all nodes together a bounded number of bytes; beyond that the
//! oldest event of all goes first, so that a node where much happens takes the history of no other. Start at [`Histories::push`].

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::events::Event;
use crate::limits::{HISTORY_BYTES, NODE_EVENTS};

/// Events by node, those of one node in their order.
#[derive(Debug)]
pub(super) struct Histories {
    by_node: FxHashMap<Arc<str>, VecDeque<Numbered>>,
    /// Nodes by the number of the oldest event that is kept of each.
    oldest: BTreeSet<(u64, Arc<str>)>,
    /// Number of the next event.
    next: u64,
    /// Sum of the bytes that all events count for.
    bytes: usize,
    /// Most events of one node.
    node_events: usize,
    /// Most bytes of all events.
    most_bytes: usize,
}

/// An event with its number among all.
#[derive(Debug)]
struct Numbered {
    number: u64,
    event: Arc<Event>,
}

impl Default for Histories {
    fn default() -> Self {
        Self::with_limits(NODE_EVENTS, HISTORY_BYTES)
    }
}

impl Histories {
    fn with_limits(node_events: usize, most_bytes: usize) -> Self {
        Self { by_node: FxHashMap::default(), oldest: BTreeSet::new(), next: 0, bytes: 0, node_events, most_bytes }
    }

    /// Keeps an event, and lets go of those that are too many.
    pub(super) fn push(&mut self, event: &Arc<Event>) {
        let (number, node) = (self.next, event.node());
        self.next += 1;
        self.bytes += event.bytes();
        let events = self.by_node.entry(Arc::clone(node)).or_default();
        if events.is_empty() {
            self.oldest.insert((number, Arc::clone(node)));
        }
        events.push_back(Numbered { number, event: Arc::clone(event) });
        if events.len() > self.node_events {
            self.drop_oldest(node);
        }
        while self.bytes > self.most_bytes
            && let Some((_, node)) = self.oldest.first().cloned()
            && self.drop_oldest(&node)
        {}
    }

    /// The events that are kept of a node, in their order.
    pub(super) fn events_on(&self, node: &str) -> Vec<Arc<Event>> {
        self.by_node.get(node).into_iter().flatten().map(|numbered| Arc::clone(&numbered.event)).collect()
    }

    /// Bytes of the events that are kept, at most.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops the oldest event of a node; false where there is none.
    fn drop_oldest(&mut self, node: &Arc<str>) -> bool {
        let Some(events) = self.by_node.get_mut(node) else { return false };
        let Some(Numbered { number, event }) = events.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(event.bytes());
        self.oldest.remove(&(number, Arc::clone(node)));
        match events.front() {
            Some(next) => drop(self.oldest.insert((next.number, Arc::clone(node)))),
            None => drop(self.by_node.remove(node)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::events::{AllocationChange, AllocationEvent};
    use crate::write::model::{random_pod, text};

    #[test]
    fn the_oldest_events_go_first_and_no_node_takes_the_history_of_another() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..50 {
            let (node_events, most_bytes) = (random.usize(1..6), random.usize(1_000..20_000));
            let mut histories = Histories::with_limits(node_events, most_bytes);
            let mut kept: Vec<Arc<Event>> = Vec::new();
            for _ in 0..200 {
                let node = text(&format!("n{}", random.u8(0..8)));
                let pod = random_pod(&mut random, "p", Some(node));
                let event =
                    Arc::new(Event::Allocation(AllocationEvent::new(AllocationChange::Added, &pod, false, Vec::new())));
                histories.push(&event);
                kept.push(event);
                let node = pod.node_name.as_deref();
                let on_node = |event: &Arc<Event>| Some(&**event.node()) == node;
                if kept.iter().filter(|event| on_node(event)).count() > node_events {
                    kept.remove(kept.iter().position(on_node).unwrap_or_default());
                }
                while kept.iter().map(|event| event.bytes()).sum::<usize>() > most_bytes {
                    kept.remove(0);
                }
                for number in 0..8 {
                    let node = format!("n{number}");
                    let expected: Vec<_> = kept.iter().filter(|event| **event.node() == *node).collect();
                    let found = histories.events_on(&node);
                    let is_same = found.iter().zip(&expected).all(|(found, known)| Arc::ptr_eq(found, known));
                    assert!(found.len() == expected.len() && is_same, "seed {seed}: {node}");
                }
                let bytes: usize = kept.iter().map(|event| event.bytes()).sum();
                assert_eq!(
                    (histories.bytes(), histories.oldest.len()),
                    (bytes, histories.by_node.len()),
                    "seed {seed}"
                );
            }
        }
    }
}
