//! Names that are near one which was mistyped, for messages. Start at [`pods`] and [`nodes`]; for other commands at [`missing_pod`].

use anyhow::anyhow;

use super::known::KnownPod;
use crate::args::PodKey;

/// Names that a message proposes.
const PROPOSED: usize = 3;

/// Edits from one name to another that make it near: a slip of the finger or two.
const NEAR: usize = 3;

/// The error about a pod that is not there, with the keys of pods that have a name like it.
pub(crate) fn missing_pod(error: anyhow::Error, key: &PodKey, known: &[KnownPod]) -> anyhow::Error {
    match pods(key, known).as_slice() {
        [] => error,
        near => anyhow!("{error:#}; pods with a name like it: {}", near.join(", ")),
    }
}

/// Keys of pods with a name that is near, the nearest first, each with its node where it has one. Another namespace counts as one more
/// edit; of pods that are equally near, those without a node come first.
pub(super) fn pods(key: &PodKey, known: &[KnownPod]) -> Vec<String> {
    let edits = |pod: &KnownPod| usize::from(pod.key.namespace != key.namespace);
    let text = |pod: &KnownPod| match &pod.node {
        Some(node) => format!("{} (on node {node})", pod.key),
        None => pod.key.to_string(),
    };
    let names = known.iter().map(|pod| (&*pod.key.name, edits(pod), pod));
    near(&key.name, names, |pod| (pod.node.is_some(), text(pod))).into_iter().map(|(_, text)| text).collect()
}

/// Names of nodes that are near, the nearest first.
pub(super) fn nodes(name: &str, known: &[String]) -> Vec<String> {
    near(name, known.iter().map(|node| (node.as_str(), 0, node)), |node| node.clone())
}

/// Finds names that are near, the nearest first, as `told` tells them, equally near ones in that order; each has edits that count in advance.
fn near<'a, T, K: Ord>(name: &str, known: impl Iterator<Item = (&'a str, usize, T)>, told: impl Fn(T) -> K) -> Vec<K> {
    let mut near: Vec<(usize, K)> = known
        .map(|(other, edits, of)| (distance(name, other) + edits, of))
        // Two short names differ in few letters, whatever they are.
        .filter(|(distance, _)| *distance <= NEAR && distance * 2 <= name.len() + 1)
        .map(|(distance, of)| (distance, told(of)))
        .collect();
    near.sort();
    near.into_iter().take(PROPOSED).map(|(_, told)| told).collect()
}

/// The number of characters to insert, delete or replace between two texts; for those of very different length, more than [`NEAR`].
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    if one.chars().count().abs_diff(other.len()) > NEAR {
        return NEAR + 1;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.chars().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (above, of_other) in row.iter().skip(1).zip(&other) {
            left = (left + 1).min(above + 1).min(diagonal + usize::from(c != *of_other));
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> PodKey {
        text.parse().unwrap_or_else(|error| unreachable!("{text}: {error}"))
    }

    #[test]
    fn a_name_that_was_mistyped_proposes_those_that_are_near() {
        for (one, other, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("web-0", "web-1", 1),
            ("kitten", "sitting", 3),
            ("abc", "cab", 2),
            ("ab", "abcdefgh", 4),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
        let known = ["shop/web-0", "shop/wbe-0", "other/web-0", "shop/database"].map(|text| KnownPod::from(key(text)));
        assert_eq!(pods(&key("shop/web-9"), &known), ["shop/web-0", "other/web-0", "shop/wbe-0"]);
        assert!(pods(&key("shop/nothing-like-it"), &known).is_empty());
        let said = |typed: &str| missing_pod(anyhow!("no {typed}"), &key(typed), &known).to_string();
        assert_eq!(said("shop/databsae"), "no shop/databsae; pods with a name like it: shop/database");
        assert_eq!(said("shop/nothing-like-it"), "no shop/nothing-like-it");
        let bound = |text| KnownPod { key: key(text), node: Some("n0".to_owned()) };
        let known = [bound("shop/web-1"), bound("other/web-9"), key("shop/web-2").into(), bound("other/database")];
        let expected = ["shop/web-2", "other/web-9 (on node n0)", "shop/web-1 (on node n0)"];
        assert_eq!(pods(&key("shop/web-9"), &known), expected);
        assert_eq!(pods(&key("shop/database"), &known), ["other/database (on node n0)"]);
        let known = ["worker-01", "worker-02", "control"].map(str::to_owned);
        assert_eq!(nodes("wroker-01", &known), ["worker-01", "worker-02"]);
    }
}
