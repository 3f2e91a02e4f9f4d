//! Which taint sets a pod tolerates: each distinct set is judged once, and a row takes the bit of its set.

use crate::columns::node_taints::{self, Effect, Taint};
use crate::columns::pod_tolerations::{self, Toleration};
use crate::kernels;

impl Taint {
    /// Whether the taint keeps pods away, rather than only making a node less wanted: `DoNotScheduleTaintsFilterFunc`
    /// of kube-scheduler.
    #[must_use]
    pub fn keeps_away(&self) -> bool {
        matches!(self.effect, Effect::NoSchedule | Effect::NoExecute)
    }
}

/// Whether every taint of a set that keeps pods away is tolerated.
#[must_use]
pub fn tolerated(set: &[Taint], tolerations: &[Toleration]) -> bool {
    set.iter().filter(|taint| taint.keeps_away()).all(|taint| tolerations.iter().any(|one| one.tolerates(taint)))
}

/// Per distinct taint set of the cluster, `bit` where the pod being filtered does not tolerate it; none where it
/// tolerates all of them. Reads no more than it needs.
#[must_use]
pub fn untolerated_sets(bit: u8) -> Option<Vec<u8>> {
    let sets = node_taints::sets();
    if !sets.iter().flatten().any(Taint::keeps_away) {
        return None;
    }
    let tolerations = pod_tolerations::tolerations();
    let table: Vec<u8> = sets.iter().map(|set| if tolerated(set, &tolerations) { 0 } else { bit }).collect();
    (kernels::union(&table) != 0).then_some(table)
}

/// Sets `bit` in rows with a taint that keeps the pod being filtered away.
pub fn mark_untolerated(patterns: &mut [u8], bit: u8) {
    if let Some(table) = untolerated_sets(bit) {
        kernels::mark_by_table(patterns, &node_taints::column(), &table, bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::pod_tolerations::Operator;
    use crate::native::{Cluster, Node, Pod};

    fn patterns(pod: Pod) -> Vec<u8> {
        let cluster = Cluster::new(pod)
            .node(Node::new("plain"))
            .node(Node::new("tainted").taint("a", "1", Effect::NoSchedule))
            .node(Node::new("soft").taint("b", "2", Effect::PreferNoSchedule));
        cluster.run(|rows| {
            let mut patterns = vec![1; rows];
            mark_untolerated(&mut patterns, 2);
            patterns
        })
    }

    #[test]
    fn rows_of_untolerated_sets_are_marked_beside_what_they_are_marked_with() {
        assert_eq!(patterns(Pod::new("default")), [1, 3, 1]);
    }

    #[test]
    fn a_set_that_no_node_carries_is_judged_and_marks_nothing() {
        assert_eq!(patterns(Pod::new("default").toleration("a", Operator::Exists, "", None)), [1, 1, 1]);
    }
}
