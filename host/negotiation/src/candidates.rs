//! The nodes that one negotiation considers, and what its parties say of them: one bit a party, and one word for explanations.

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::limits::PARTIES;
use crate::request::Node;
use crate::words::Word;

/// Which parties of a negotiation, by their seat.
pub(crate) type Seats = u16;

/// A node, with what has been said of it in this negotiation.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) node: Node,
    /// Its position in the core's order; nodes outside of it come last.
    rank: usize,
    /// Seats that it suits, or that are ignored.
    pub(crate) suits: Seats,
    /// Seats that it does not suit.
    pub(crate) unsuitable: Seats,
    /// Index of each seat's answer in the seat's `Words`, by seat.
    words: [Word; PARTIES],
}

impl Candidate {
    /// Returns the index of a seat's answer about the node.
    pub(crate) fn word(&self, seat: Seats) -> Word {
        self.words.get(place(seat)).copied().unwrap_or_default()
    }

    fn set_word(&mut self, seat: Seats, word: Word) {
        if let Some(said) = self.words.get_mut(place(seat)) {
            *said = word;
        }
    }
}

/// The place of a seat among the words.
fn place(seat: Seats) -> usize {
    seat.trailing_zeros() as usize
}

/// All candidates of a negotiation, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    list: Vec<Candidate>,
    /// Where each is in the list, by the hash of its name: with the names, the table would take as much memory as the list.
    positions: HashTable<u32>,
}

fn hash(node: &Node) -> u64 {
    FxBuildHasher.hash_one(node)
}

impl Candidates {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn contains(&self, node: &Node) -> bool {
        self.get(node).is_some()
    }

    /// The text of a candidate.
    pub(crate) fn text(&self, node: &Node) -> Option<&Node> {
        self.get(node).map(|it| &it.node)
    }

    fn get(&self, node: &Node) -> Option<&Candidate> {
        self.position(node).and_then(|at| self.list.get(at))
    }

    fn position(&self, node: &Node) -> Option<usize> {
        let is_it = |at: &u32| self.list.get(*at as usize).is_some_and(|it| it.node == *node);
        self.positions.find(hash(node), is_it).map(|at| *at as usize)
    }

    /// The nodes, whatever has been said of them.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.list.iter().map(|it| &it.node)
    }

    /// Iterates over all candidates, in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.list.iter()
    }

    /// Iterates over the candidates that no seat has rejected so far.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Candidate> {
        self.list.iter().filter(|it| it.unsuitable == 0)
    }

    /// Iterates over the candidates that a seat has rejected.
    pub(crate) fn unsuitable(&self, seat: Seats) -> impl Iterator<Item = &Node> {
        self.list.iter().filter(move |it| it.unsuitable & seat != 0).map(|it| &it.node)
    }

    /// Iterates over the candidates that no seat has rejected and for which a seat's answer is missing.
    pub(crate) fn undecided(&self, seat: Seats) -> impl Iterator<Item = &Node> {
        self.live().filter(move |it| it.suits & seat == 0).map(|it| &it.node)
    }

    /// Whether a seat has said something of a candidate.
    pub(crate) fn is_heard(&self, node: &Node, seat: Seats) -> bool {
        self.get(node).is_some_and(|it| it.word(seat) != Word::default())
    }

    /// Adds nodes that are none yet, `most` of them. `order` is the part of the core's order in which they may be, from `start`.
    /// Returns their number.
    pub(crate) fn add(&mut self, nodes: Vec<Node>, most: usize, order: &[Node], start: usize) -> usize {
        let before = self.list.len();
        // No more than is counted: what a negotiation holds is mostly this.
        self.list.reserve_exact(nodes.len().min(most));
        for node in nodes {
            if self.list.len() - before >= most {
                break;
            }
            // There are fewer candidates than an order may have nodes.
            if !self.contains(&node)
                && let Ok(at) = u32::try_from(self.list.len())
            {
                let hash_at = |at: &u32| self.list.get(*at as usize).map_or(0, |it| hash(&it.node));
                self.positions.insert_unique(hash(&node), at, hash_at);
                self.list.push(Candidate {
                    node,
                    rank: usize::MAX,
                    suits: 0,
                    unsuitable: 0,
                    words: Default::default(),
                });
            }
        }
        let added = self.list.get_mut(before..).unwrap_or_default();
        if !added.is_empty() {
            let names: FxHashSet<&Node> = added.iter().map(|it| &it.node).collect();
            let ranked = order.iter().enumerate().filter(|(_, node)| names.contains(node));
            let ranks: FxHashMap<Node, usize> = ranked.map(|(at, node)| (node.clone(), start + at)).collect();
            for candidate in added {
                candidate.rank = ranks.get(&candidate.node).copied().unwrap_or(usize::MAX);
            }
        }
        self.list.len() - before
    }

    /// A seat has said whether a node suits. What is no candidate is passed over. Returns whether the node suits everybody heard
    /// so far, and did not before.
    pub(crate) fn decide(&mut self, node: &Node, seat: Seats, suits: bool, word: Word) -> bool {
        let candidate = self.position(node).and_then(|at| self.list.get_mut(at));
        let Some(candidate) = candidate else { return false };
        let was_live = candidate.unsuitable == 0;
        candidate.set_word(seat, word);
        candidate.suits &= !seat;
        candidate.unsuitable &= !seat;
        if suits {
            candidate.suits |= seat;
        } else {
            candidate.unsuitable |= seat;
        }
        !was_live && candidate.unsuitable == 0
    }

    /// A seat says the same of all nodes of which it has not been heard.
    pub(crate) fn decide_rest(&mut self, seat: Seats, suits: bool) {
        for candidate in self.list.iter_mut().filter(|it| it.unsuitable == 0 && it.suits & seat == 0) {
            if suits {
                candidate.suits |= seat;
            } else {
                candidate.unsuitable |= seat;
            }
        }
    }

    /// Removes all answers of a seat, which are no longer valid.
    pub(crate) fn forget(&mut self, seat: Seats) {
        for candidate in &mut self.list {
            candidate.set_word(seat, Word::default());
            candidate.suits &= !seat;
            candidate.unsuitable &= !seat;
        }
    }

    /// Returns the candidates that suit all seats in `all`: first by their position in the core's order, then others as they were added.
    pub(crate) fn viable(&self, all: Seats) -> Vec<Node> {
        let mut viable: Vec<&Candidate> = self.live().filter(|it| it.suits & all == all).collect();
        viable.sort_by_key(|it| it.rank);
        viable.into_iter().map(|it| it.node.clone()).collect()
    }
}
