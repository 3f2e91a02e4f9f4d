//! TeamIsolation: an example of a custom predicate in the form per node. The README in this directory explains how to
//! test, build and deploy it.
//!
//! A pod with the label `example.com/team` runs only on nodes that have the same label with the same value. A pod
//! without the label runs on every node, so that system pods need no change.

use nodesift_sdk::Failure;
use nodesift_sdk::per_node::{Node, NodePredicate, Pod};
use serde::Deserialize;

/// Reason: the node belongs to another team or to none.
pub const REASON: &str = "node(s) didn't belong to the pod's team";

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Args {
    /// The key of the label that names the team, on pods and on nodes.
    pub label: String,
}

impl Default for Args {
    fn default() -> Self {
        Self { label: "example.com/team".into() }
    }
}

/// Rejects nodes that belong to another team than the pod.
#[derive(Debug)]
pub struct TeamIsolation {
    label: String,
}

impl NodePredicate for TeamIsolation {
    const NAME: &'static str = "TeamIsolation";
    const SUMMARY: &'static str = "rejects nodes that belong to another team than the pod";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.label.is_empty() {
            return Err("label: must not be empty".into());
        }
        Ok(Self { label: args.label })
    }

    fn filter(&self, pod: &Pod, node: &Node) -> Result<(), Failure> {
        let Some(team) = pod.label(&self.label) else { return Ok(()) };
        if node.label(&self.label) == Some(team) {
            return Ok(());
        }
        // Preempting pods does not change the label of a node.
        Err(Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(TeamIsolation);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const TEAM: &str = "example.com/team";

    fn cluster(pod: Pod) -> Cluster {
        Cluster::new(pod)
            .node(Node::new("red").label(TEAM, "red"))
            .node(Node::new("blue").label(TEAM, "blue").label("owner", "red"))
            .node(Node::new("unlabelled"))
    }

    #[test]
    fn a_pod_fits_the_nodes_of_its_team_only() {
        let predicate: TeamIsolation = configure("{}").unwrap();
        let rejected = cluster(Pod::new("default").label(TEAM, "red")).rejected(&predicate);
        assert_eq!(rejected, [format!("blue: {REASON}"), format!("unlabelled: {REASON}")]);
    }

    #[test]
    fn a_pod_without_a_team_fits_everywhere() {
        let predicate: TeamIsolation = configure("{}").unwrap();
        assert!(cluster(Pod::new("default")).rejected(&predicate).is_empty());
    }

    #[test]
    fn a_team_without_nodes_fits_nowhere() {
        let predicate: TeamIsolation = configure("{}").unwrap();
        assert_eq!(cluster(Pod::new("default").label(TEAM, "green")).rejected(&predicate).len(), 3);
    }

    #[test]
    fn the_label_key_is_an_argument() {
        let predicate: TeamIsolation = configure(r#"{"label":"owner"}"#).unwrap();
        let rejected = cluster(Pod::new("default").label("owner", "red")).rejected(&predicate);
        assert_eq!(rejected, [format!("red: {REASON}"), format!("unlabelled: {REASON}")]);
    }

    #[test]
    fn a_mistyped_argument_is_refused() {
        let error = configure::<TeamIsolation>(r#"{"lable":"owner"}"#).unwrap_err();
        assert!(error.contains("lable"), "{error}");
        assert_eq!(configure::<TeamIsolation>(r#"{"label":""}"#).unwrap_err(), "label: must not be empty");
    }
}
