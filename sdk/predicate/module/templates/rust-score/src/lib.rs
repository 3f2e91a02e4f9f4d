//! {{type}}: a pod with the label `example.com/team` prefers nodes that have the same label with the same value. A pod without the label
//! has the same score everywhere. No node is rejected.

use nodesift_sdk::Failure;
use nodesift_sdk::per_node::{Node, NodePredicate, NodeScorer, Pod};
use nodesift_sdk::scorer::Normalization;
use serde::Deserialize;

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The key of the label, on pods and on nodes.
    pub label: String,
}

/// Prefers nodes that belong to the pod's team.
#[derive(Debug)]
pub struct {{type}} {
    label: String,
}

impl NodePredicate for {{type}} {
    const NAME: &'static str = "{{type}}";
    const SUMMARY: &'static str = "rejects no node; prefers those that belong to the pod's team";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.label.is_empty() {
            return Err("label: must not be empty".into());
        }
        Ok(Self { label: args.label })
    }

    fn filter(&self, _: &Pod, _: &Node) -> Result<(), Failure> {
        Ok(())
    }
}

impl NodeScorer for {{type}} {
    // Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
    const NORMALIZATION: Normalization = Normalization::None;

    fn score(&self, pod: &Pod, node: &Node) -> i64 {
        let Some(team) = pod.label(&self.label) else { return 0 };
        if node.label(&self.label) == Some(team) { 100 } else { 0 }
    }
}

nodesift_sdk::export!({{type}}, scorer);

#[cfg(test)]
mod tests {
    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};
    use nodesift_sdk::scorer::Scores;

    use super::*;

    const TEAM: &str = "example.com/team";

    fn scores(pod: Pod) -> Scores {
        let scorer: {{type}} = configure(r#"{"label": "example.com/team"}"#).unwrap();
        let nodes = [Node::new("a").label(TEAM, "red"), Node::new("b").label(TEAM, "blue"), Node::new("c")];
        nodes.into_iter().fold(Cluster::new(pod), Cluster::node).scores(&scorer)
    }

    #[test]
    fn a_pod_prefers_the_nodes_of_its_team() {
        assert_eq!(scores(Pod::new("default").label(TEAM, "red")), Scores::ByRow(vec![100, 0, 0]));
        assert_eq!(scores(Pod::new("default")), Scores::ByRow(vec![0, 0, 0]));
    }

    #[test]
    fn a_mistyped_argument_is_refused() {
        let error = configure::<{{type}}>(r#"{"lable": "example.com/team"}"#).unwrap_err();
        assert!(error.starts_with("lable: unknown field"), "{error}");
    }
}
