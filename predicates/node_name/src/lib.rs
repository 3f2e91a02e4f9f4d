//! NodeName: rejects every node but the one in `spec.nodeName`, where that is set.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodename.

use nodesift_sdk::columns::{node_identity, pod_placement};
use nodesift_sdk::{Failure, Predicate, SwitchArgs, Verdict};

/// Reason: `spec.nodeName` names another node.
pub const REASON: &str = "node(s) didn't match the requested node name";

/// Rejects every node but the one in `spec.nodeName`.
#[derive(Debug)]
pub struct NodeName {
    /// Whether the pod names its node before any filter runs, as PreFilter of the plugin since Kubernetes 1.37 does.
    selects: bool,
}

impl Predicate for NodeName {
    const NAME: &'static str = "NodeName";
    const SUMMARY: &'static str = "rejects nodes other than the one that the pod names";
    type Args = SwitchArgs;

    fn new(args: SwitchArgs) -> Result<Self, String> {
        let [selects] = args.read([("NodeNameSelectsNode", false)])?;
        Ok(Self { selects })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let Some(name) = pod_placement::node_name() else { return Verdict::FitsAll };
        let mut mismatch = vec![1; rows];
        let row = node_identity::row(&name);
        if let Some(wanted) = row.and_then(|row| mismatch.get_mut(row as usize)) {
            *wanted = 0;
        }
        let verdict = Verdict::by_pattern(&mismatch, |_| Failure::unresolvable(REASON));
        if self.selects { verdict.with_named_rows(row.into_iter().collect()) } else { verdict }
    }
}

nodesift_sdk::export!(NodeName);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn node_name() -> NodeName {
        NodeName { selects: false }
    }

    fn cluster(pod: Pod) -> Cluster {
        Cluster::new(pod).node(Node::new("a")).node(Node::new("b"))
    }

    #[test]
    fn a_pod_that_names_no_node_fits_everywhere() {
        assert_eq!(cluster(Pod::new("default")).verdict(&node_name()), Verdict::FitsAll);
    }

    #[test]
    fn a_pod_fits_the_node_it_names_and_no_other() {
        let cluster = cluster(Pod::new("default").node_name("b"));
        assert_eq!(cluster.failures(&node_name()), [Some(Failure::unresolvable(REASON)), None]);
    }

    #[test]
    fn a_pod_that_names_a_node_which_does_not_exist_fits_nowhere() {
        let cluster = cluster(Pod::new("default").node_name("c"));
        assert_eq!(
            cluster.verdict(&node_name()),
            Verdict::ByRow(nodesift_sdk::Outcome { codes: vec![1; 2], failures: vec![Failure::unresolvable(REASON)] })
        );
    }

    #[test]
    fn the_node_is_named_where_the_plugin_selects_it() {
        let selecting = nodesift_sdk::configure::<NodeName>(r#"{"switches":{"NodeNameSelectsNode":true}}"#).unwrap();
        for (node, codes, rows) in [("b", vec![1, 0], vec![1]), ("c", vec![1, 1], vec![])] {
            let outcome = nodesift_sdk::Outcome { codes, failures: vec![Failure::unresolvable(REASON)] };
            let cluster = cluster(Pod::new("default").node_name(node));
            assert_eq!(cluster.verdict(&selecting), Verdict::Named((outcome, rows)));
        }
        assert_eq!(cluster(Pod::new("default")).verdict(&selecting), Verdict::FitsAll);
    }

    #[test]
    fn it_takes_no_arguments_but_its_switch() {
        assert!(nodesift_sdk::configure::<NodeName>("{}").is_ok_and(|it| !it.selects));
        for args in [r#"{"a":1}"#, r#"{"switches":{"A":true}}"#] {
            assert!(nodesift_sdk::configure::<NodeName>(args).is_err());
        }
    }
}
