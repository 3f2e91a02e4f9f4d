//! Pods with the same answer: replicas of one workload share one entry of a table.

use std::collections::HashMap;

use super::document::Document;
use crate::terminal::escaped;

/// One answer and the pods that have it.
#[derive(Debug)]
pub(crate) struct Group<A> {
    /// `namespace/name` of each pod, in the order of the answers.
    pods: Vec<String>,
    /// The answer, without the name of a pod.
    answer: A,
}

impl<A> Group<A> {
    /// The answer, without the name of a pod.
    pub(super) fn answer(&self) -> &A {
        &self.answer
    }

    /// The first pod's name, and the number of the others.
    pub(super) fn title(&self) -> String {
        listed(&self.pods, 1)
    }
}

/// Groups answers by content, in the order in which each content first appears.
pub(super) fn groups<A: Document>(answers: &[A]) -> Vec<Group<A>> {
    let mut groups: Vec<Group<A>> = Vec::new();
    let mut index_by_content: HashMap<Vec<u8>, usize> = HashMap::new();
    for answer in answers {
        let anonymous = answer.without_pod();
        let mut content = Vec::new();
        // Writing to a Vec fails only if encoding does. Such an answer gets a group of its own.
        if anonymous.write_lines(&mut content).is_err() {
            content = answer.pod().as_bytes().to_vec();
        }
        let index = *index_by_content.entry(content).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.pods.push(answer.pod().to_owned()),
            None => groups.push(Group { pods: vec![answer.pod().to_owned()], answer: anonymous }),
        }
    }
    groups
}

/// The first `limit` names, and the number of the others.
pub(super) fn listed(names: &[String], limit: usize) -> String {
    let listed = names.iter().take(limit).map(|name| escaped(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(limit) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}
