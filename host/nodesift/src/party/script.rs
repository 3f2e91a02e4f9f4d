//! The script of a party: which nodes do not suit, how late and how completely it answers, what becomes of allocations. Pure; start at
//! [`Script`].

use std::collections::BTreeSet;
use std::time::Duration;

use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{Allocate, Answer, Ask, PartyAllocated, PartyFailed, Unsuitable};
use serde::Deserialize;

/// Script of a party: its answers and their delays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Script {
    /// Nodes that do not suit; the first entry that names a node says why.
    unsuitable: Vec<Group>,
    /// The only nodes that suit; `None`: all but the unsuitable ones.
    only: Option<Group>,
    /// Whether it answers nothing at all.
    silent: bool,
    /// How late it answers, in milliseconds.
    delay_ms: u32,
    /// Answers come in parts about so many nodes each; 0: in one.
    part_nodes: usize,
    /// How long answers are valid for others, in milliseconds.
    valid_ms: u32,
    /// Nodes that would suit, and were not asked about.
    alternatives: Vec<String>,
    /// Label selector of nodes that would suit, and were not asked about.
    selector: String,
    /// Answers to calls to allocate.
    allocate: Allocation,
}

/// Nodes, and why they do not suit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Group {
    /// Names; one that ends in `*` is a prefix.
    nodes: Vec<String>,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Allocation {
    outcome: Outcome,
    /// How late, in milliseconds.
    delay_ms: u32,
    /// The nodes on which it can be used; empty: all that the script suits.
    nodes: Vec<String>,
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Outcome {
    #[default]
    Succeed,
    Fail,
    Silence,
}

impl Group {
    fn has(&self, node: &str) -> bool {
        self.nodes.iter().any(|name| is_named(name, node))
    }
}

/// Whether a name, or a prefix that ends in `*`, names a node.
pub(super) fn is_named(name: &str, node: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => node.starts_with(prefix),
        None => name == node,
    }
}

/// Messages to send after a time.
pub(crate) type Timed = (Duration, Vec<Message>);

impl Script {
    /// Why a node does not suit; none where it does.
    pub(crate) fn reason(&self, node: &str) -> Option<&str> {
        let named = self.unsuitable.iter().find(|group| group.has(node));
        let left_out = self.only.as_ref().filter(|only| !only.has(node));
        named.or(left_out).map(|group| group.reason.as_str())
    }

    /// The answers to a question; none where it is silent.
    pub(crate) fn answer(&self, ask: &Ask) -> Option<Timed> {
        if self.silent {
            return None;
        }
        let asked: BTreeSet<&String> = ask.nodes.iter().chain(&ask.recheck).collect();
        let refused = |node: &&String| {
            let (node, reason) = ((**node).clone(), self.reason(node)?.to_owned());
            Some(Unsuitable { node, reason, claim: String::new() })
        };
        let mut refused: Vec<Unsuitable> = asked.iter().filter_map(refused).collect();
        let mut messages = Vec::new();
        while self.part_nodes > 0 && refused.len() > self.part_nodes {
            let rest = refused.split_off(self.part_nodes);
            let nodes = std::mem::replace(&mut refused, rest);
            let part = Answer { id: ask.id, nodes, partial: true, valid_ms: self.valid_ms, ..Answer::default() };
            messages.push(Message::Answer(part));
        }
        let alternatives = self.alternatives.iter().filter(|node| !asked.contains(node)).cloned().collect();
        messages.push(Message::Answer(Answer {
            id: ask.id,
            nodes: refused,
            partial: false,
            alternatives,
            selector: self.selector.clone(),
            valid_ms: self.valid_ms,
        }));
        Some((Duration::from_millis(self.delay_ms.into()), messages))
    }

    /// Answers a call to allocate; none where the party is silent.
    pub(crate) fn allocate(&self, call: &Allocate) -> Option<Timed> {
        let Allocation { outcome, delay_ms, nodes, reason } = &self.allocate;
        let usable = |node: &&String| if nodes.is_empty() { self.reason(node).is_none() } else { nodes.contains(node) };
        let usable: Vec<String> = call.nodes.iter().filter(usable).cloned().collect();
        let message = match outcome {
            Outcome::Silence => return None,
            Outcome::Succeed if !usable.is_empty() => {
                let claims = call.claims.iter().map(|claim| claim.uid.clone()).collect();
                Message::Allocated(PartyAllocated { id: call.id, claims, nodes: usable })
            }
            Outcome::Succeed | Outcome::Fail => {
                let reason = if reason.is_empty() { "it cannot be allocated".to_owned() } else { reason.clone() };
                let nodes = call.nodes.clone();
                Message::Failed(PartyFailed { id: call.id, claim: String::new(), reason, nodes })
            }
        };
        Some((Duration::from_millis((*delay_ms).into()), vec![message]))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn script(text: &str) -> Script {
        serde_saphyr::from_str(text).unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn nodes_are_refused_by_name_by_prefix_and_by_being_left_out() {
        let script = script(
            "unsuitable: [{nodes: [a, b-*], reason: full}]\nonly: {nodes: [a, 'b*', c], reason: no licence}\nvalidMs: 500",
        );
        let reasons = ["a", "b-1", "b", "c", "d"].map(|node| script.reason(node));
        assert_eq!(reasons, [Some("full"), Some("full"), None, None, Some("no licence")]);
        let ask = Ask { id: 7, nodes: names(&["a", "c"]), recheck: names(&["a", "d"]), ..Ask::default() };
        let (delay, messages) = script.answer(&ask).unwrap();
        let [Message::Answer(answer)] = &messages[..] else { panic!("{messages:?}") };
        let refused: Vec<_> = answer.nodes.iter().map(|it| (it.node.as_str(), it.reason.as_str())).collect();
        assert_eq!((delay, answer.id, answer.valid_ms, answer.partial), (Duration::ZERO, 7, 500, false));
        assert_eq!(refused, [("a", "full"), ("d", "no licence")]);
    }

    #[test]
    fn answers_come_in_parts_late_or_not_at_all() {
        let parted = script("unsuitable: [{nodes: ['*'], reason: full}]\npartNodes: 2\ndelayMs: 30");
        let ask = Ask { nodes: names(&["a", "b", "c"]), ..Ask::default() };
        let (delay, messages) = parted.answer(&ask).unwrap();
        let parts: Vec<_> = messages
            .iter()
            .map(|message| match message {
                Message::Answer(answer) => (answer.nodes.len(), answer.partial),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((delay, parts), (Duration::from_millis(30), vec![(2, true), (1, false)]));
        assert_eq!(script("silent: true").answer(&ask), None);
    }

    #[test]
    fn allocations_end_as_the_script_says() {
        let call = Allocate { id: 3, nodes: names(&["a", "b"]), ..Allocate::default() };
        let outcome = |text: &str| script(text).allocate(&call).map(|(_, mut messages)| messages.remove(0));
        match outcome("unsuitable: [{nodes: [a], reason: full}]") {
            Some(Message::Allocated(allocated)) => assert_eq!((allocated.id, allocated.nodes), (3, names(&["b"]))),
            other => panic!("{other:?}"),
        }
        match outcome("allocate: {outcome: fail, reason: broken}") {
            Some(Message::Failed(failed)) => assert_eq!((failed.reason.as_str(), failed.nodes.len()), ("broken", 2)),
            other => panic!("{other:?}"),
        }
        assert!(matches!(outcome("allocate: {nodes: [c]}"), Some(Message::Failed(_))));
        assert_eq!(outcome("allocate: {outcome: silence}"), None);
    }

    #[test]
    fn what_no_script_has_is_refused_by_name() {
        let error = serde_saphyr::from_str::<Script>("unsuitabel: []").unwrap_err().to_string();
        assert!(error.contains("unsuitabel"), "{error}");
    }
}
