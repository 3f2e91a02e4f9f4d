//! Scorers as a function of one pod and one node. Start at [`NodeScorer`].

use super::{Columns, Node, NodePredicate, Pod};
use crate::scorer::{Normalization, Scorer, Scores};

/// A scorer over one pod and one node. Every `NodeScorer` is a [`Scorer`]. A type that only scores has a
/// [`filter`](NodePredicate::filter) that returns `Ok(())`.
pub trait NodeScorer: NodePredicate {
    /// How the host makes scores from 0 to 100 of raw scores; [`Normalization::None`] where they are from 0 to 100 already.
    const NORMALIZATION: Normalization;

    /// Looks at the pod before its nodes are scored, as PreScore in kube-scheduler. The result must depend only on the pod and the
    /// arguments. Unless a scorer has one of its own, every pod is scored.
    ///
    /// # Errors
    ///
    /// [`Unscored::Skip`] where the scorer says nothing about the pod, [`Unscored::Failed`] where it cannot score it. [`score`](Self::score)
    /// is then called for no node.
    fn pre_score(&self, pod: &Pod) -> Result<(), Unscored> {
        let _ = pod;
        Ok(())
    }

    /// Scores one node for the pod. The result must depend only on the pod, the node and the arguments.
    /// [`NO_SCORE`](crate::scorer::NO_SCORE) stands for none.
    fn score(&self, pod: &Pod, node: &Node) -> i64;
}

/// Why the nodes of a pod have no scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unscored {
    /// The scorer says nothing about the pod: it adds nothing on any node. Zeros are not the same, since a reversed normalization makes 100
    /// of them.
    Skip,
    /// The pod cannot be scored, with the reason. In kube-scheduler the pod's scheduling cycle ends with this error.
    Failed(String),
}

impl From<Unscored> for Scores {
    fn from(unscored: Unscored) -> Self {
        match unscored {
            Unscored::Skip => Self::Skip,
            Unscored::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl<P: NodeScorer> Scorer for P {
    fn normalization(&self) -> Normalization {
        P::NORMALIZATION
    }

    fn score(&self, rows: usize) -> Scores {
        let (pod, columns) = (Pod::default(), Columns::default());
        if let Err(unscored) = self.pre_score(&pod) {
            return unscored.into();
        }
        Scores::ByRow((0..rows).map(|row| NodeScorer::score(self, &pod, &Node { row, columns: &columns })).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoArgs;
    use crate::native::{Cluster, Node as NativeNode, Pod as NativePod};
    use crate::verdict::Failure;

    /// Scores nodes by a number that the pod names; skips pods that name none, and cannot score those whose number is none.
    struct Numbered;

    impl NodePredicate for Numbered {
        const NAME: &'static str = "Numbered";
        const SUMMARY: &'static str = "rejects no node";
        type Args = NoArgs;

        fn new(_: NoArgs) -> Result<Self, String> {
            Ok(Self)
        }

        fn filter(&self, _: &Pod, _: &Node) -> Result<(), Failure> {
            Ok(())
        }
    }

    impl NodeScorer for Numbered {
        const NORMALIZATION: Normalization = Normalization::ByLargest;

        fn pre_score(&self, pod: &Pod) -> Result<(), Unscored> {
            let number = pod.label("number").ok_or(Unscored::Skip)?;
            match number.parse::<i64>() {
                Ok(_) => Ok(()),
                Err(_) => Err(Unscored::Failed(format!("label number: {number}"))),
            }
        }

        fn score(&self, pod: &Pod, node: &Node) -> i64 {
            let number = pod.label("number").and_then(|number| number.parse().ok()).unwrap_or(-1);
            if node.name() == "a" { number } else { 0 }
        }
    }

    #[test]
    fn a_scorer_per_node_says_before_the_nodes_that_it_skips_a_pod_or_cannot_score_it() {
        let labelled = |number: &str| NativePod::new("default").label("number", number);
        for (pod, expected) in [
            (labelled("7"), Scores::ByRow(vec![7, 0])),
            (NativePod::new("default"), Scores::Skip),
            (labelled("x"), Scores::Failed("label number: x".to_owned())),
        ] {
            let cluster = Cluster::new(pod).node(NativeNode::new("a")).node(NativeNode::new("b"));
            assert_eq!(cluster.scores(&Numbered), expected);
        }
    }
}
