//! The score of TaintToleration: less for nodes with more taints that the pod would rather avoid. Start at [`untolerated`].

use nodesift_sdk::columns::node_taints::{self, Effect, Taint};
use nodesift_sdk::columns::pod_tolerations::{self, Toleration};

/// Per row the number of taints of effect PreferNoSchedule that the pod does not tolerate. Each distinct list of taints is counted once, and
/// a row takes the number of its list.
pub(crate) fn untolerated(rows: usize) -> Vec<i64> {
    let sets = node_taints::sets();
    if !sets.iter().flatten().any(is_preference) {
        return vec![0; rows];
    }
    let tolerations = pod_tolerations::tolerations();
    let counts: Vec<i64> = sets.iter().map(|set| count(set, &tolerations)).collect();
    let count_of = |set: u32| usize::try_from(set).ok().and_then(|set| counts.get(set)).copied().unwrap_or(0);
    node_taints::column().into_iter().map(count_of).collect()
}

fn is_preference(taint: &Taint) -> bool {
    taint.effect == Effect::PreferNoSchedule
}

/// Two taints of one key count twice.
fn count(set: &[Taint], tolerations: &[Toleration]) -> i64 {
    let is_untolerated = |taint: &&Taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint));
    set.iter().filter(|taint| is_preference(taint)).filter(is_untolerated).map(|_| 1).sum()
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
    fn without_such_taints_no_toleration_is_read() {
        let cluster = Cluster::new(Pod::new("default")).node(Node::new("hard").taint("a", "", Effect::NoExecute));
        assert_eq!(cluster.scores(&TaintToleration), Scores::ByRow(vec![0]));
    }
}
