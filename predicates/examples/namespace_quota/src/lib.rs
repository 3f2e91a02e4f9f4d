//! NamespaceQuota: an example of a cluster-wide predicate over columns. In one zone, the pods of a namespace together request at most
//! so much of a resource.
//!
//! A ResourceQuota bounds the whole cluster when pods are created. This one bounds each zone when pods are placed: a pod that is over
//! the quota of one zone goes to another. Terminating pods are counted until they are gone.

use std::collections::BTreeMap;

use nodesift_sdk::columns::cluster_pods::{self, PodSelector};
use nodesift_sdk::columns::{config_maps, node_labels, pod_labels, pod_resources};
use nodesift_sdk::{Failure, Predicate, Verdict, kernels, syntax};
use serde::Deserialize;

/// Reason: with this pod, the zone of the node would be over the quota.
pub const REASON_OVER: &str = "node(s) stood in a zone where the namespace's quota is used up";

/// Reason: the node has no zone label.
pub const REASON_NO_ZONE: &str = "node(s) stood in no zone";

/// The pattern of rows in a zone that would be over the quota.
const OVER: u8 = 1;

/// The pattern of rows without a zone.
const NO_ZONE: u8 = 2;

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    /// The resource that is bounded.
    pub resource: String,
    /// The key of the label that names a node's zone.
    pub zone_label: String,
    /// By namespace, how much its pods may request in one zone: `cpu` in millicores, `memory` in bytes, others as a count. Other
    /// namespaces are not bounded.
    pub quotas: BTreeMap<String, i64>,
    /// A ConfigMap, `namespace/name`, whose entries are quotas by namespace as well. They come before those of `quotas`. The policy
    /// lists it in `spec.facts.configMaps`.
    pub config_map: Option<String>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            resource: "cpu".into(),
            zone_label: "topology.kubernetes.io/zone".into(),
            quotas: BTreeMap::new(),
            config_map: None,
        }
    }
}

/// Rejects nodes in zones where the pod would exceed the quota of its namespace.
#[derive(Debug)]
pub struct NamespaceQuota(Args);

impl NamespaceQuota {
    /// The quota of the namespace; none where it is not bounded.
    fn quota(&self, namespace: &str) -> Result<Option<i64>, Failure> {
        let Args { quotas, config_map, .. } = &self.0;
        let entry = config_map.as_ref().and_then(|name| config_maps::entry(name, namespace).map(|text| (name, text)));
        let Some((name, text)) = entry else { return Ok(quotas.get(namespace).copied()) };
        match text.trim().parse() {
            Ok(quota) if quota >= 0 => Ok(Some(quota)),
            _ => Err(Failure::error(format!("ConfigMap {name}: the quota of {namespace} is not a whole number"))),
        }
    }
}

impl Predicate for NamespaceQuota {
    const NAME: &'static str = "NamespaceQuota";
    const SUMMARY: &'static str = "rejects nodes in zones where the pod would exceed the quota of its namespace";
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if args.resource.is_empty() {
            return Err("resource: must not be empty".into());
        }
        if !syntax::is_label_key(&args.zone_label) {
            return Err(format!("zoneLabel: `{}` is not a label key", args.zone_label));
        }
        if let Some((namespace, quota)) = args.quotas.iter().find(|(_, quota)| **quota < 0) {
            return Err(format!("quotas.{namespace}: must be 0 or more, not {quota}"));
        }
        if args.config_map.as_ref().is_some_and(|name| name.split('/').filter(|part| !part.is_empty()).count() != 2) {
            return Err("configMap: must be `namespace/name`".into());
        }
        Ok(Self(args))
    }

    fn filter(&self, rows: usize) -> Verdict {
        let Args { resource, zone_label, .. } = &self.0;
        let wanted =
            pod_resources::requests().iter().find(|request| request.resource == *resource).map_or(0, |r| r.amount);
        if wanted <= 0 {
            return Verdict::FitsAll;
        }
        let namespace = pod_labels::namespace();
        let quota = match self.quota(&namespace) {
            Ok(Some(quota)) => quota,
            Ok(None) => return Verdict::FitsAll,
            Err(failure) => return Verdict::FitsNone(failure),
        };
        let of_the_namespace =
            PodSelector { namespaces: vec![namespace], namespace_requirements: None, requirements: Vec::new() };
        let zones = node_labels::column(zone_label);
        let requested = cluster_pods::requested(&[of_the_namespace], resource, true);
        let mut used = vec![0_i64; zones.iter().max().map_or(0, |code| *code as usize) + 1];
        for (zone, requested) in zones.iter().zip(requested) {
            if let Some(used) = used.get_mut(*zone as usize) {
                *used = used.saturating_add(requested);
            }
        }
        let is_over = |used: &i64| used.saturating_add(wanted) > quota;
        let mut table: Vec<u8> = used.iter().map(|used| if is_over(used) { OVER } else { 0 }).collect();
        if let Some(no_zone) = table.first_mut() {
            *no_zone = NO_ZONE;
        }
        let mut patterns = vec![0; rows];
        kernels::mark_by_table(&mut patterns, &zones, &table, NO_ZONE);
        Verdict::by_pattern(&patterns, |pattern| match pattern {
            // Preempting a pod of the namespace helps.
            OVER => Failure::unschedulable(REASON_OVER),
            _ => Failure::unresolvable(REASON_NO_ZONE),
        })
    }
}

nodesift_sdk::export!(NamespaceQuota);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nodesift_sdk::configure;
    use nodesift_sdk::native::{Cluster, Node, Pod};

    use super::*;

    const ZONE: &str = "topology.kubernetes.io/zone";
    const QUOTA: &str = r#"{"quotas":{"red":2000},"configMap":"ops/quota"}"#;

    fn pod(namespace: &str, cpu: i64) -> Pod {
        Pod::new(namespace).request("cpu", cpu)
    }

    /// In z1, pods of `red` request 1,500 millicores; in z2, 500.
    fn cluster(pod_to_place: Pod) -> Cluster {
        Cluster::new(pod_to_place)
            .node(Node::new("a").label(ZONE, "z1").running(pod("red", 1000)).running(pod("blue", 9000)))
            .node(Node::new("b").label(ZONE, "z1").running(pod("red", 500).terminating()))
            .node(Node::new("c").label(ZONE, "z2").running(pod("red", 500)))
            .node(Node::new("loose").running(pod("red", 5000)))
    }

    fn rejected(cluster: &Cluster, args: &str) -> Vec<String> {
        cluster.rejected(&configure::<NamespaceQuota>(args).unwrap())
    }

    #[test]
    fn a_zone_takes_no_more_than_the_quota() {
        let over = |names: &[&str]| names.iter().map(|name| format!("{name}: {REASON_OVER}")).collect::<Vec<_>>();
        let no_zone = vec![format!("loose: {REASON_NO_ZONE}")];
        assert_eq!(rejected(&cluster(pod("red", 500)), QUOTA), no_zone);
        assert_eq!(rejected(&cluster(pod("red", 501)), QUOTA), [over(&["a", "b"]), no_zone.clone()].concat());
        assert_eq!(rejected(&cluster(pod("red", 1501)), QUOTA), [over(&["a", "b", "c"]), no_zone].concat());
    }

    #[test]
    fn other_namespaces_and_pods_without_a_request_are_not_bounded() {
        assert!(rejected(&cluster(pod("blue", 9000)), QUOTA).is_empty());
        assert!(rejected(&cluster(Pod::new("red")), QUOTA).is_empty());
    }

    #[test]
    fn an_entry_of_the_config_map_comes_first() {
        let with = |value: &str| cluster(pod("red", 500)).config_entry("ops/quota", "red", value);
        assert_eq!(rejected(&with("1000"), QUOTA).len(), 3);
        assert_eq!(rejected(&with("9000\n"), QUOTA), [format!("loose: {REASON_NO_ZONE}")]);
        for invalid in ["-1", "2 cores", ""] {
            let expected = "a: ConfigMap ops/quota: the quota of red is not a whole number";
            assert_eq!(rejected(&with(invalid), QUOTA).first().map(String::as_str), Some(expected), "{invalid}");
        }
    }

    #[test]
    fn invalid_arguments_are_refused_with_their_path() {
        for (args, path) in [
            (r#"{"quota":{}}"#, "quota: unknown field"),
            (r#"{"resource":""}"#, "resource: "),
            (r#"{"zoneLabel":"a b"}"#, "zoneLabel: "),
            (r#"{"quotas":{"red":-1}}"#, "quotas.red: "),
            (r#"{"configMap":"quota"}"#, "configMap: "),
        ] {
            let error = configure::<NamespaceQuota>(args).unwrap_err();
            assert!(error.starts_with(path), "{args}: {error}");
        }
    }
}
