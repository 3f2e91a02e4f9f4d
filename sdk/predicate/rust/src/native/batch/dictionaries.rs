//! Dictionaries and sets of a batch, and the codes of its rows in them.
//!
//! Where the contract leaves the host a choice, the fixture takes the less convenient one, so that predicates do not
//! come to depend on it: dictionaries and sets hold unused entries, and codes are not in the order of values.

use std::collections::{BTreeMap, BTreeSet};

use super::super::node::Node;
use super::Batch;
use crate::columns::node_taints::Taint;
use crate::columns::pod_tolerations::Effect;

/// A value that is in every dictionary and set, and on no node.
const UNUSED: &str = "unused";

impl Batch {
    /// The dictionary of a label or annotation: the values of all nodes of the cluster in descending order, and an unused
    /// one.
    pub(super) fn dictionary(&self, texts: Texts, key: &str) -> Vec<String> {
        let texts: BTreeSet<&str> =
            self.cluster.nodes.iter().filter_map(|node| texts(node).get(key)).map(String::as_str).collect();
        let mut dictionary = vec![String::new(), UNUSED.into()];
        dictionary.extend(texts.into_iter().rev().filter(|text| *text != UNUSED).map(String::from));
        dictionary
    }

    /// The codes of a label or annotation.
    pub(super) fn codes(&self, texts: Texts, key: &str) -> Vec<u32> {
        let dictionary = self.dictionary(texts, key);
        self.column(|node| texts(node).get(key).and_then(|text| index(&dictionary, text, 1)).unwrap_or(0))
    }

    /// The dictionary of a label or annotation, parsed.
    pub(super) fn integers(&self, texts: Texts, key: &str) -> Vec<i64> {
        self.dictionary(texts, key).iter().map(|text| text.parse().unwrap_or(i64::MIN)).collect()
    }

    /// The distinct feature sets of the cluster, and an unused one.
    pub(super) fn feature_sets(&self) -> Vec<Vec<String>> {
        let mut sets = vec![Vec::new(), vec![UNUSED.into()]];
        for node in &self.cluster.nodes {
            let set = node.features.iter().cloned().collect();
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        sets
    }

    /// The distinct taint lists of the cluster, and an unused one.
    pub(super) fn taint_sets(&self) -> Vec<Vec<Taint>> {
        let unused = Taint { key: UNUSED.into(), value: String::new(), effect: Effect::NoSchedule };
        let mut sets = vec![Vec::new(), vec![unused]];
        for node in &self.cluster.nodes {
            if !sets.contains(&node.taints) {
                sets.push(node.taints.clone());
            }
        }
        sets
    }
}

/// Labels, annotations or info of a node.
pub(super) type Texts = fn(&Node) -> &BTreeMap<String, String>;

pub(super) fn labels(node: &Node) -> &BTreeMap<String, String> {
    &node.labels
}

pub(super) fn annotations(node: &Node) -> &BTreeMap<String, String> {
    &node.annotations
}

pub(super) fn info(node: &Node) -> &BTreeMap<String, String> {
    &node.info
}

/// The index of `wanted` in `entries`, looked for from index `from` on.
pub(super) fn index<T: PartialEq>(entries: &[T], wanted: &T, from: usize) -> Option<u32> {
    let position = entries.iter().skip(from).position(|entry| entry == wanted)?;
    u32::try_from(position + from).ok()
}
