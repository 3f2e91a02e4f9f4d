//! The score of NodeAffinity: the weights of the preferences that a node meets. Start at [`Preference::read`] and [`weigh`].

use nodesift_sdk::columns::pod_placement::{PreferredTerm, Term};
use nodesift_sdk::node_selector::{Matcher, NodeSelector};

/// A preference for some nodes, which is worth something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preference {
    weight: i64,
    nodes: NodeSelector,
}

/// The bit of a row that does not meet the preference.
const UNMET: u8 = 1;

impl Preference {
    /// The preferences among these terms. A term of weight 0 is none; one without requirements matches no node. `path` is that of the
    /// list.
    ///
    /// # Errors
    ///
    /// The first invalid term, with its path: kube-scheduler ends the pod's cycle, unlike with required terms.
    pub(crate) fn read(terms: Vec<PreferredTerm>, path: &str) -> Result<Vec<Self>, String> {
        let weighted = terms.into_iter().enumerate().filter(|(_, term)| term.weight != 0);
        weighted.map(|(index, term)| Self::new(term.weight, term.preference, &format!("{path}[{index}]"))).collect()
    }

    fn new(weight: i32, term: Term, path: &str) -> Result<Self, String> {
        let nodes = NodeSelector::strict(vec![term], |_| format!("{path}.preference"))?;
        Ok(Self { weight: i64::from(weight), nodes })
    }
}

/// Per row the sum of the weights of the preferences that it meets.
pub(crate) fn weigh<'a>(rows: usize, preferences: impl Iterator<Item = &'a Preference>) -> Vec<i64> {
    let mut matcher = Matcher::new(rows);
    let (mut sums, mut patterns) = (vec![0_i64; rows], vec![0; rows]);
    for Preference { weight, nodes } in preferences {
        patterns.fill(0);
        matcher.mark_unmatched_node_selector(&mut patterns, nodes, UNMET);
        for (sum, pattern) in sums.iter_mut().zip(&patterns) {
            *sum += if *pattern == 0 { *weight } else { 0 };
        }
    }
    sums
}
