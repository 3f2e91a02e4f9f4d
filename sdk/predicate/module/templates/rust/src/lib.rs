//! {{type}}: a pod with the label `example.com/team` runs only on nodes that have the same label with the same value. A pod without the
//! label runs on every node.

use nodesift_sdk::Failure;
use nodesift_sdk::per_node::{Node, NodePredicate, Pod};
use serde::Deserialize;

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The key of the label, on pods and on nodes.
    pub label: String,
}

/// Rejects nodes that belong to another team than the pod.
#[derive(Debug)]
pub struct {{type}} {
    label: String,
}

impl NodePredicate for {{type}} {
    const NAME: &'static str = "{{type}}";
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
        // `unresolvable`: preempting pods does not change the label of a node.
        Err(Failure::unresolvable("node(s) didn't belong to the pod's team"))
    }
}

nodesift_sdk::export!({{type}});

#[cfg(test)]
mod tests {
    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const TEAM: &str = "example.com/team";

    #[test]
    fn a_pod_fits_the_nodes_of_its_team_only() {
        let predicate: {{type}} = configure(r#"{"label": "example.com/team"}"#).unwrap();
        let rejected = Cluster::new(Pod::new("default").label(TEAM, "red"))
            .node(Node::new("a").label(TEAM, "red"))
            .node(Node::new("b").label(TEAM, "blue"))
            .node(Node::new("c"))
            .rejected(&predicate);
        let reason = "node(s) didn't belong to the pod's team";
        assert_eq!(rejected, [format!("b: {reason}"), format!("c: {reason}")]);
    }

    #[test]
    fn a_mistyped_argument_is_refused() {
        let error = configure::<{{type}}>(r#"{"lable": "example.com/team"}"#).unwrap_err();
        assert!(error.starts_with("lable: unknown field"), "{error}");
    }
}
