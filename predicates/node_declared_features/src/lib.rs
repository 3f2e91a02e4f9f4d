//! NodeDeclaredFeatures: rejects nodes that do not declare every node feature that the pod requires.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/nodedeclaredfeatures. The host
//! infers which features a pod requires, because that depends on the supported Kubernetes release.

use nodesift_sdk::columns::{node_features, pod_features};
use nodesift_sdk::{Failure, Predicate, SwitchArgs, Verdict, kernels};

/// Reason: the node lacks a required feature.
pub const REASON: &str = "node(s) didn't match Pod's required features";

/// Feature that a pod with `volumeMounts[].bindMountOptions` requires, since Kubernetes 1.37; earlier API servers drop the field.
const BIND_MOUNT_OPTIONS: &str = "VolumeBindMountOptions";

/// The bit of a row that lacks a feature.
const LACKING: u8 = 1;

/// Rejects nodes that do not declare every feature that the pod requires.
#[derive(Debug)]
pub struct NodeDeclaredFeatures {
    /// Whether options of bind mounts require a feature.
    bind_mount_options: bool,
}

impl Predicate for NodeDeclaredFeatures {
    const NAME: &'static str = "NodeDeclaredFeatures";
    const SUMMARY: &'static str = "rejects nodes that do not declare a feature which the pod needs";
    type Args = SwitchArgs;

    fn new(args: SwitchArgs) -> Result<Self, String> {
        let [bind_mount_options] = args.read([("BindMountOptionsFeature", false)])?;
        Ok(Self { bind_mount_options })
    }

    fn filter(&self, rows: usize) -> Verdict {
        let mut required = pod_features::required();
        required.retain(|feature| self.bind_mount_options || feature != BIND_MOUNT_OPTIONS);
        if required.is_empty() {
            return Verdict::FitsAll;
        }
        // Most nodes share a few sets. Each set is tested once, and a row takes the result of its set.
        let lacking =
            |set: &Vec<String>| if required.iter().all(|feature| set.contains(feature)) { 0 } else { LACKING };
        let table: Vec<u8> = node_features::sets().iter().map(lacking).collect();
        let mut patterns = vec![0; rows];
        kernels::mark_by_table(&mut patterns, &node_features::column(), &table, LACKING);
        Verdict::by_pattern(&patterns, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(NodeDeclaredFeatures);

#[cfg(test)]
mod tests {
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    fn features() -> NodeDeclaredFeatures {
        NodeDeclaredFeatures { bind_mount_options: false }
    }

    fn cluster(pod: Pod) -> Cluster {
        Cluster::new(pod)
            .node(Node::new("none"))
            .node(Node::new("one").feature("A"))
            .node(Node::new("both").feature("A").feature("B"))
    }

    #[test]
    fn a_pod_without_required_features_fits_everywhere() {
        assert_eq!(cluster(Pod::new("default")).verdict(&features()), Verdict::FitsAll);
    }

    #[test]
    fn a_node_must_declare_every_required_feature() {
        let one = cluster(Pod::new("default").feature("A")).rejected(&features());
        assert_eq!(one, [format!("none: {REASON}")]);
        let both = cluster(Pod::new("default").feature("A").feature("B")).rejected(&features());
        assert_eq!(both, [format!("none: {REASON}"), format!("one: {REASON}")]);
    }

    #[test]
    fn preemption_does_not_help() {
        let verdict = cluster(Pod::new("default").feature("C")).verdict(&features());
        assert_eq!(
            verdict,
            Verdict::ByRow(nodesift_sdk::Outcome { codes: vec![1; 3], failures: vec![Failure::unresolvable(REASON)] })
        );
    }

    #[test]
    fn options_of_bind_mounts_require_a_feature_where_the_switch_is_on() {
        let cluster = cluster(Pod::new("default").feature(BIND_MOUNT_OPTIONS));
        assert_eq!(cluster.verdict(&features()), Verdict::FitsAll);
        let all = ["none", "one", "both"].map(|node| format!("{node}: {REASON}"));
        assert_eq!(cluster.rejected(&NodeDeclaredFeatures { bind_mount_options: true }), all);
    }
}
