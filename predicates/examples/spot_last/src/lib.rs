//! SpotLast: an example of a custom scorer in the form per node. The README in this directory explains how to test, build and deploy it.
//!
//! A node with a label that says that it can be reclaimed has the score 0, every other node 100. No node is rejected: where only such
//! nodes fit, the pod gets one.

use nodesift_sdk::Failure;
use nodesift_sdk::per_node::{Node, NodePredicate, NodeScorer, Pod};
use nodesift_sdk::scorer::Normalization;
use serde::Deserialize;

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Args {
    /// The key of the label that says whether a node can be reclaimed.
    pub label: String,
    /// The values of this label that say so.
    pub values: Vec<String>,
}

impl Default for Args {
    fn default() -> Self {
        Self { label: "karpenter.sh/capacity-type".into(), values: vec!["spot".into()] }
    }
}

/// Scores nodes that can be reclaimed lower than others.
#[derive(Debug)]
pub struct SpotLast(Args);

impl NodePredicate for SpotLast {
    const NAME: &'static str = "SpotLast";
    const SUMMARY: &'static str = "rejects no node; scores those lower that can be reclaimed";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.label.is_empty() {
            return Err("label: must not be empty".into());
        }
        Ok(Self(args))
    }

    fn filter(&self, _: &Pod, _: &Node) -> Result<(), Failure> {
        Ok(())
    }
}

impl NodeScorer for SpotLast {
    /// Scores are from 0 to 100 as they are.
    const NORMALIZATION: Normalization = Normalization::None;

    fn score(&self, _: &Pod, node: &Node) -> i64 {
        let is_spot = node.label(&self.0.label).is_some_and(|value| self.0.values.iter().any(|spot| spot == value));
        if is_spot { 0 } else { 100 }
    }
}

nodesift_sdk::export!(SpotLast, scorer);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};
    use nodesift_sdk::scorer::Scores;

    use super::*;

    const CAPACITY: &str = "karpenter.sh/capacity-type";

    fn cluster() -> Cluster {
        Cluster::new(Pod::new("default"))
            .node(Node::new("spot").label(CAPACITY, "spot"))
            .node(Node::new("on-demand").label(CAPACITY, "on-demand"))
            .node(Node::new("unlabelled").label("pool", "spot"))
    }

    #[test]
    fn nodes_that_can_be_reclaimed_score_lower() {
        let scorer: SpotLast = configure("{}").unwrap();
        assert_eq!(cluster().scores(&scorer), Scores::ByRow(vec![0, 100, 100]));
    }

    #[test]
    fn label_and_values_are_arguments() {
        let scorer: SpotLast = configure(r#"{"label":"pool","values":["spot","preemptible"]}"#).unwrap();
        assert_eq!(cluster().scores(&scorer), Scores::ByRow(vec![100, 100, 0]));
        let scorer: SpotLast = configure(r#"{"values":[]}"#).unwrap();
        assert_eq!(cluster().scores(&scorer), Scores::ByRow(vec![100, 100, 100]));
    }

    #[test]
    fn no_node_is_rejected() {
        let scorer: SpotLast = configure("{}").unwrap();
        assert!(cluster().rejected(&scorer).is_empty());
    }

    #[test]
    fn a_mistyped_argument_is_refused() {
        let error = configure::<SpotLast>(r#"{"lable":"pool"}"#).unwrap_err();
        assert!(error.contains("lable"), "{error}");
        assert_eq!(configure::<SpotLast>(r#"{"label":""}"#).unwrap_err(), "label: must not be empty");
    }
}
