//! Pods that got the same answer, taken together: replicas of one workload need one explanation.

use std::collections::HashMap;

use super::Reported;

/// One answer and the pods that got it.
#[derive(Debug)]
pub(crate) struct Shape<A> {
    /// `namespace/name` of each, in the order of answers.
    pub(super) pods: Vec<String>,
    /// The answer, about no pod in particular.
    pub(super) answer: A,
}

impl<A> Shape<A> {
    /// The first pods by name, and how many more.
    pub(super) fn title(&self) -> String {
        listed(&self.pods, 1)
    }
}

/// The answers by what they say, in the order in which each first came.
pub(super) fn shapes<A: Reported>(answers: &[A]) -> Vec<Shape<A>> {
    let mut shapes: Vec<Shape<A>> = Vec::new();
    let mut at_key: HashMap<Vec<u8>, usize> = HashMap::new();
    for answer in answers {
        let anonymous = answer.without_pod();
        let mut key = Vec::new();
        // Writing to a Vec fails only where encoding does; such answers share no place with any other.
        if anonymous.write_lines(&mut key).is_err() {
            key = answer.pod().as_bytes().to_vec();
        }
        let at = *at_key.entry(key).or_insert(shapes.len());
        match shapes.get_mut(at) {
            Some(shape) => shape.pods.push(answer.pod().to_owned()),
            None => shapes.push(Shape { pods: vec![answer.pod().to_owned()], answer: anonymous }),
        }
    }
    shapes
}

/// The first few names, and how many more there are.
pub(super) fn listed(names: &[String], few: usize) -> String {
    let shown = names.iter().take(few).map(|name| super::plain(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(few) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
