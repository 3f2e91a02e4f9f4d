//! NodeName: rejects every node but the one in `spec.nodeName`, where that is set.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodename.

use nodesift_sdk::columns::{node_identity, pod_placement};
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict};

/// Reason: `spec.nodeName` names another node.
pub const REASON: &str = "node(s) didn't match the requested node name";

/// Rejects every node but the one in `spec.nodeName`.
#[derive(Debug)]
pub struct NodeName;

impl Predicate for NodeName {
    const NAME: &'static str = "NodeName";
    const SUMMARY: &'static str = "rejects nodes other than the one that the pod names";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let Some(name) = pod_placement::node_name() else { return Verdict::FitsAll };
        let mut mismatch = vec![1; rows];
        if let Some(wanted) = node_identity::row(&name).and_then(|row| mismatch.get_mut(row as usize)) {
            *wanted = 0;
        }
        Verdict::by_pattern(&mismatch, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(NodeName);

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn cluster(pod: Pod) -> Cluster {
        Cluster::new(pod).node(Node::new("a")).node(Node::new("b"))
    }

    #[test]
    fn a_pod_that_names_no_node_fits_everywhere() {
        assert_eq!(cluster(Pod::new("default")).verdict(&NodeName), Verdict::FitsAll);
    }

    #[test]
    fn a_pod_fits_the_node_it_names_and_no_other() {
        let cluster = cluster(Pod::new("default").node_name("b"));
        assert_eq!(cluster.failures(&NodeName), [Some(Failure::unresolvable(REASON)), None]);
    }

    #[test]
    fn a_pod_that_names_a_node_which_does_not_exist_fits_nowhere() {
        let cluster = cluster(Pod::new("default").node_name("c"));
        assert_eq!(
            cluster.verdict(&NodeName),
            Verdict::ByRow(nodesift_sdk::Outcome { codes: vec![1; 2], failures: vec![Failure::unresolvable(REASON)] })
        );
    }

    #[test]
    fn it_takes_no_arguments() {
        assert!(nodesift_sdk::configure::<NodeName>("{}").is_ok());
        assert!(nodesift_sdk::configure::<NodeName>(r#"{"a":1}"#).is_err());
    }
}
