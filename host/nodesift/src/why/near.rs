//! Names that are near one which was mistyped, for messages. Start at [`pods`] and [`nodes`]; for other commands at [`missing_pod`].

use anyhow::anyhow;

use crate::args::PodKey;

/// Names that a message proposes.
const PROPOSED: usize = 3;

/// Edits from one name to another that make it near: a slip of the finger or two.
const NEAR: usize = 3;

/// The error about a pod that is not there, with the keys of pods that have a name like it.
pub(crate) fn missing_pod(error: anyhow::Error, key: &PodKey, known: &[PodKey]) -> anyhow::Error {
    match pods(key, known).as_slice() {
        [] => error,
        near => anyhow!("{error:#}; pods with a name like it: {}", near.join(", ")),
    }
}

/// Keys of pods with a name that is near, the nearest first. Another namespace counts as one more edit.
pub(super) fn pods(key: &PodKey, known: &[PodKey]) -> Vec<String> {
    let elsewhere = |pod: &PodKey| usize::from(pod.namespace != key.namespace);
    near(&key.name, known.iter().map(|pod| (elsewhere(pod), &*pod.name, pod.to_string())))
}

/// Names of nodes that are near, the nearest first.
pub(super) fn nodes(name: &str, known: &[String]) -> Vec<String> {
    near(name, known.iter().map(|node| (0, node.as_str(), node.clone())))
}

/// Texts of names that are near; each name has edits that count in advance.
fn near<'a>(name: &str, known: impl Iterator<Item = (usize, &'a str, String)>) -> Vec<String> {
    let mut near: Vec<(usize, String)> = known
        .map(|(edits, other, text)| (distance(name, other) + edits, text))
        // Two short names differ in few letters, whatever they are.
        .filter(|(distance, _)| *distance <= NEAR && distance * 2 <= name.len() + 1)
        .collect();
    near.sort();
    near.into_iter().take(PROPOSED).map(|(_, text)| text).collect()
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
        let known = ["shop/web-0", "shop/wbe-0", "other/web-0", "shop/database"].map(key);
        assert_eq!(pods(&key("shop/web-9"), &known), ["shop/web-0", "other/web-0", "shop/wbe-0"]);
        assert!(pods(&key("shop/nothing-like-it"), &known).is_empty());
        let said = |typed: &str| missing_pod(anyhow!("no {typed}"), &key(typed), &known).to_string();
        assert_eq!(said("shop/databsae"), "no shop/databsae; pods with a name like it: shop/database");
        assert_eq!(said("shop/nothing-like-it"), "no shop/nothing-like-it");
        let known = ["worker-01", "worker-02", "control"].map(str::to_owned);
        assert_eq!(nodes("wroker-01", &known), ["worker-01", "worker-02"]);
    }
}
