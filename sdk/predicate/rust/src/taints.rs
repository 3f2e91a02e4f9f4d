//! Taints that the pod being filtered does not tolerate. Each distinct taint set is tested once, and a row takes the
//! result of its set.

use crate::columns::node_taints::{self, Effect, Taint};
use crate::columns::pod_tolerations::{self, Toleration};
use crate::kernels;

impl Taint {
    /// Whether the taint prevents scheduling: its effect is NoSchedule or NoExecute. `DoNotScheduleTaintsFilterFunc` of
    /// kube-scheduler.
    #[must_use]
    pub fn prevents_scheduling(&self) -> bool {
        matches!(self.effect, Effect::NoSchedule | Effect::NoExecute)
    }
}

/// Whether every taint of a set that prevents scheduling is tolerated.
#[must_use]
pub fn tolerated(set: &[Taint], tolerations: &[Toleration]) -> bool {
    set.iter()
        .filter(|taint| taint.prevents_scheduling())
        .all(|taint| tolerations.iter().any(|one| one.tolerates(taint)))
}

/// `bit` where the pod being filtered does not tolerate the set, else 0; one entry per taint set of the cluster, not
/// per row. None where the pod tolerates every set. Tolerations are read only where a taint prevents scheduling.
#[must_use]
pub fn untolerated_sets(bit: u8) -> Option<Vec<u8>> {
    let sets = node_taints::sets();
    if !sets.iter().flatten().any(Taint::prevents_scheduling) {
        return None;
    }
    let tolerations = pod_tolerations::tolerations();
    let table: Vec<u8> = sets.iter().map(|set| if tolerated(set, &tolerations) { 0 } else { bit }).collect();
    (kernels::union(&table) != 0).then_some(table)
}

/// Sets `bit` in the rows with a taint that prevents scheduling and that the pod being filtered does not tolerate.
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
    fn rows_of_untolerated_sets_are_marked_and_keep_their_other_bits() {
        assert_eq!(patterns(Pod::new("default")), [1, 3, 1]);
    }

    #[test]
    fn a_set_that_no_node_has_marks_no_row() {
        assert_eq!(patterns(Pod::new("default").toleration("a", Operator::Exists, "", None)), [1, 1, 1]);
    }
}
