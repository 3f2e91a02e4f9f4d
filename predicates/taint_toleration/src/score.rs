//! The score of TaintToleration: less for nodes with more taints that the pod would rather avoid. Start at [`untolerated`].

use nodesift_sdk::columns::node_taints::{self, Effect, Taint};
use nodesift_sdk::columns::pod_tolerations;
use nodesift_sdk::taints::Tolerated;

/// Per row the number of taints of effect PreferNoSchedule that the pod does not tolerate. Each distinct list of taints is counted once, and
/// a row takes the number of its list.
pub(crate) fn untolerated(rows: usize) -> Vec<i64> {
    let sets = node_taints::sets();
    if !sets.iter().flatten().any(is_preference) {
        return vec![0; rows];
    }
    let tolerations = pod_tolerations::tolerations();
    let tolerated = Tolerated::new(&tolerations);
    let counts: Vec<i64> = sets.iter().map(|set| count(set, &tolerated)).collect();
    let count_of = |set: u32| usize::try_from(set).ok().and_then(|set| counts.get(set)).copied().unwrap_or(0);
    node_taints::column().into_iter().map(count_of).collect()
}

fn is_preference(taint: &Taint) -> bool {
    taint.effect == Effect::PreferNoSchedule
}

/// Two taints of one key count twice.
fn count(set: &[Taint], tolerated: &Tolerated<'_>) -> i64 {
    set.iter().filter(|taint| is_preference(taint) && !tolerated.contains(taint)).map(|_| 1).sum()
}

#[cfg(test)]
mod tests {
    use nodesift_sdk::columns::pod_tolerations::Operator;
    use nodesift_sdk::native::{Cluster, Node, Pod};
    use nodesift_sdk::scorer::Scores;

    use super::*;
    use crate::TaintToleration;

    fn counts(pod: Pod) -> Scores {
        let cluster = Cluster::new(pod)
            .node(Node::new("plain"))
            .node(Node::new("one").taint("a", "1", Effect::PreferNoSchedule))
            .node(Node::new("hard").taint("a", "1", Effect::NoSchedule))
            .node(
                Node::new("three")
                    .taint("a", "1", Effect::PreferNoSchedule)
                    .taint("a", "2", Effect::PreferNoSchedule)
                    .taint("b", "", Effect::PreferNoSchedule),
            );
        cluster.scores(&TaintToleration)
    }

    #[test]
    fn taints_of_one_key_count_each() {
        assert_eq!(counts(Pod::new("default")), Scores::ByRow(vec![0, 1, 0, 3]));
    }

    #[test]
    fn only_tolerations_of_the_effect_or_of_every_effect_count() {
        let pod = |effect| Pod::new("default").toleration("a", Operator::Exists, "", effect);
        assert_eq!(counts(pod(Some(Effect::NoSchedule))), Scores::ByRow(vec![0, 1, 0, 3]));
        assert_eq!(counts(pod(Some(Effect::PreferNoSchedule))), Scores::ByRow(vec![0, 0, 0, 1]));
        assert_eq!(counts(pod(None)), Scores::ByRow(vec![0, 0, 0, 1]));
        let equal = Pod::new("default").toleration("a", Operator::Equal, "2", None);
        assert_eq!(counts(equal), Scores::ByRow(vec![0, 1, 0, 2]));
    }

    #[test]
    fn thousands_of_taints_are_not_each_compared_with_thousands_of_tolerations() {
        // One by one it would be 400 million comparisons.
        let key = |number: usize| format!("k{number}");
        let tolerate = |pod: Pod, number: usize| pod.toleration(&key(number), Operator::Equal, "1", None);
        let taint = |node: Node, number: usize| node.taint(&key(number), "1", Effect::PreferNoSchedule);
        let pod = (10..20_000).fold(Pod::new("default"), tolerate);
        let node = (0..20_000).fold(Node::new("many"), taint);
        assert_eq!(Cluster::new(pod).node(node).scores(&TaintToleration), Scores::ByRow(vec![10]));
    }

    #[test]
    fn without_such_taints_no_toleration_is_read() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("hard").taint("a", "", Effect::NoExecute));
        assert_eq!(cluster.scores(&TaintToleration), Scores::ByRow(vec![0]));
    }
}
