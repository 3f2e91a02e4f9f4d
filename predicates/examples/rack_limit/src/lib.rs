//! RackLimit: an example of a cluster-wide predicate over columns. It limits the number of pods of an app per rack.
//!
//! A pod label names the app, a node label names the rack. A node without a rack is rejected for pods of an app. A pod
//! without an app fits every node. Terminating pods are counted until they are gone.

use nodesift_sdk::columns::cluster_pods::{self, PodSelector};
use nodesift_sdk::columns::selectors::{Operator, Requirement};
use nodesift_sdk::columns::{node_labels, pod_labels};
use nodesift_sdk::{Failure, Predicate, Verdict, kernels, syntax, topology};
use serde::Deserialize;

/// Reason: the rack of the node has reached the limit.
pub const REASON_FULL: &str = "node(s) stood in a rack with enough pods of the app";

/// Reason: the node has no rack label.
pub const REASON_NO_RACK: &str = "node(s) stood in no rack";

/// The pattern of rows in a full rack.
const FULL: u8 = 1;

/// The pattern of rows without a rack.
const NO_RACK: u8 = 2;

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    /// The key of the label that names a pod's app.
    pub label_key: String,
    /// The key of the label that names a node's rack.
    pub topology_key: String,
    /// The maximum number of pods of an app in a rack.
    pub limit: u32,
}

impl Default for Args {
    fn default() -> Self {
        Self { label_key: "app".into(), topology_key: "example.com/rack".into(), limit: 4 }
    }
}

/// Rejects nodes without a rack, and nodes in racks with enough pods of the pod's app.
#[derive(Debug)]
pub struct RackLimit(Args);

impl Predicate for RackLimit {
    const NAME: &'static str = "RackLimit";
    const SUMMARY: &'static str = "rejects nodes in racks that have enough pods of the pod's app";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        for (argument, key) in [("labelKey", &args.label_key), ("topologyKey", &args.topology_key)] {
            if !syntax::is_label_key(key) {
                return Err(format!("{argument}: `{key}` is not a label key"));
            }
        }
        Ok(Self(args))
    }

    fn filter(&self, rows: usize) -> Verdict {
        let Args { label_key, topology_key, limit } = &self.0;
        let Some(app) = pod_labels::label(label_key) else { return Verdict::FitsAll };
        let of_the_app = PodSelector {
            namespaces: vec![pod_labels::namespace()],
            namespace_requirements: None,
            requirements: vec![Requirement {
                key: label_key.clone(),
                operator: Operator::In,
                values: vec![app],
                operator_text: "In".into(),
            }],
        };
        let racks = node_labels::column(topology_key);
        let pods = topology::pods(&racks, &cluster_pods::matching(&[of_the_app], true));
        let mut table: Vec<u8> = pods.iter().map(|pods| if pods < limit { 0 } else { FULL }).collect();
        if let Some(no_rack) = table.first_mut() {
            *no_rack = NO_RACK;
        }
        let mut patterns = vec![0; rows];
        kernels::mark_by_table(&mut patterns, &racks, &table, NO_RACK);
        Verdict::by_pattern(&patterns, |pattern| match pattern {
            // Preempting a pod of the app helps.
            FULL => Failure::unschedulable(REASON_FULL),
            _ => Failure::unresolvable(REASON_NO_RACK),
        })
    }
}

nodesift_sdk::export!(RackLimit);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const RACK: &str = "example.com/rack";

    fn web() -> Pod {
        Pod::new("default").label("app", "web")
    }

    fn cluster(pod: Pod) -> Cluster {
        let full = |name| (0..2).fold(Node::new(name).label(RACK, "r1"), |node, _| node.running(web()));
        Cluster::new(pod)
            .node(full("a"))
            .node(full("b"))
            .node(Node::new("c").label(RACK, "r1"))
            .node(Node::new("d").label(RACK, "r2").running(web().terminating()))
            .node(Node::new("e").running(web()))
    }

    fn rejected(args: &str, pod: Pod) -> Vec<String> {
        cluster(pod).rejected(&configure::<RackLimit>(args).unwrap())
    }

    #[test]
    fn a_rack_is_full_when_its_nodes_together_reach_the_limit() {
        let full = ["a", "b", "c"].map(|node| format!("{node}: {REASON_FULL}"));
        let expected = [&full[..], &[format!("e: {REASON_NO_RACK}")]].concat();
        assert_eq!(rejected("{}", web()), expected);
        assert_eq!(rejected(r#"{"limit":5}"#, web()), [format!("e: {REASON_NO_RACK}")]);
    }

    #[test]
    fn terminating_pods_are_counted() {
        assert_eq!(rejected(r#"{"limit":1}"#, web()).len(), 5);
    }

    #[test]
    fn other_apps_and_namespaces_are_not_counted() {
        let no_rack = [format!("e: {REASON_NO_RACK}")];
        assert_eq!(rejected("{}", Pod::new("default").label("app", "db")), no_rack);
        assert_eq!(rejected("{}", Pod::new("other").label("app", "web")), no_rack);
    }

    #[test]
    fn a_pod_without_an_app_fits_everywhere() {
        assert!(rejected("{}", Pod::new("default")).is_empty());
    }

    #[test]
    fn the_label_keys_are_arguments() {
        let pod = Pod::new("default").label("team", "red");
        let args = r#"{"labelKey":"team","topologyKey":"example.com/row"}"#;
        assert_eq!(rejected(args, pod).len(), 5);
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (args, path) in [
            (r#"{"labelkey":"app"}"#, "labelkey: unknown field"),
            (r#"{"labelKey":""}"#, "labelKey: "),
            (r#"{"topologyKey":"a b"}"#, "topologyKey: "),
            (r#"{"limit":-1}"#, "limit: "),
        ] {
            let error = configure::<RackLimit>(args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
