//! Totals over the pods on the nodes of a cluster, one plain loop per fact: counts, terms of affinity, and volumes in use. A list by
//! node has one entry per node of the cluster.

use std::collections::BTreeSet;

use super::cluster::Cluster;
use super::pod::Pod;
use crate::columns::cluster_pods::PodSelector;
use crate::columns::cluster_volume_use::{DiskKind, DiskUser};
use crate::columns::pod_volumes::Volume;

pub(super) fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// By node how many pods match all selectors.
pub(super) fn matching(cluster: &Cluster, selectors: &[PodSelector], terminating: bool) -> Vec<u32> {
    let matches = |pod: &&Pod| cluster.counts(pod, selectors, terminating);
    cluster.nodes.iter().map(|node| count(node.running.iter().filter(matches))).collect()
}

/// By node the amount of a resource that pods request which match all selectors.
pub(super) fn requested(cluster: &Cluster, selectors: &[PodSelector], resource: &str, terminating: bool) -> Vec<i64> {
    let matches = |pod: &&Pod| cluster.counts(pod, selectors, terminating);
    let amount = |pod: &Pod| {
        let requests = pod.requests.iter().filter(|request| request.resource == resource);
        requests.map(|request| request.amount).sum::<i64>()
    };
    cluster.nodes.iter().map(|node| node.running.iter().filter(matches).map(amount).sum()).collect()
}

/// By node how many pods have the controller of the cluster's pod; none where that has no controller.
pub(super) fn same_controller(cluster: &Cluster, terminating: bool) -> Option<Vec<u32>> {
    let (_, uid) = cluster.pod.controller.as_ref()?;
    let is_same = |pod: &&Pod| {
        (terminating || !pod.terminating)
            && pod.namespace == cluster.pod.namespace
            && pod.controller.as_ref().is_some_and(|(_, other)| other == uid)
    };
    Some(cluster.nodes.iter().map(|node| count(node.running.iter().filter(is_same))).collect())
}

/// The topology keys of the terms of required anti-affinity that match the pod.
pub(super) fn anti_affinity_keys(cluster: &Cluster) -> Vec<String> {
    let pods = cluster.nodes.iter().flat_map(|node| &node.running);
    let keys: BTreeSet<&str> = pods.flat_map(|pod| cluster.matching_keys(pod, &pod.anti_affinity)).collect();
    keys.into_iter().map(String::from).collect()
}

/// By node how many of these terms have this topology key.
pub(super) fn anti_affinity_terms(cluster: &Cluster, topology_key: &str) -> Vec<u32> {
    let on_pod = |pod: &Pod| {
        count(cluster.matching_keys(pod, &pod.anti_affinity).into_iter().filter(|key| *key == topology_key))
    };
    cluster.nodes.iter().map(|node| node.running.iter().map(on_pod).sum()).collect()
}

/// The topology keys of the terms that match the pod and count in its scores.
pub(super) fn preference_keys(cluster: &Cluster) -> Vec<String> {
    let pods = cluster.nodes.iter().flat_map(|node| &node.running);
    let keys = pods.flat_map(|pod| {
        let preferred = cluster.matching_preferred(pod).into_iter().map(|(_, key)| key);
        preferred.chain(cluster.matching_keys(pod, &pod.affinity))
    });
    let keys: BTreeSet<&str> = keys.collect();
    keys.into_iter().map(String::from).collect()
}

/// By node how many preferred terms with this topology key match the pod.
pub(super) fn preferred_terms(cluster: &Cluster, topology_key: &str) -> Vec<u32> {
    let on_pod = |pod: &Pod| count(cluster.matching_preferred(pod).into_iter().filter(|(_, key)| *key == topology_key));
    cluster.nodes.iter().map(|node| node.running.iter().map(on_pod).sum()).collect()
}

/// By node the sum of the weights of these terms.
pub(super) fn preferred_weights(cluster: &Cluster, topology_key: &str) -> Vec<i64> {
    let on_pod = |pod: &Pod| {
        let matching = cluster.matching_preferred(pod).into_iter().filter(|(_, key)| *key == topology_key);
        matching.map(|(weight, _)| weight).sum::<i64>()
    };
    cluster.nodes.iter().map(|node| node.running.iter().map(on_pod).sum()).collect()
}

/// By node how many terms of required affinity with this topology key match the pod.
pub(super) fn required_terms(cluster: &Cluster, topology_key: &str) -> Vec<u32> {
    let on_pod =
        |pod: &Pod| count(cluster.matching_keys(pod, &pod.affinity).into_iter().filter(|key| *key == topology_key));
    cluster.nodes.iter().map(|node| node.running.iter().map(on_pod).sum()).collect()
}

/// The nodes whose pods use a disk.
pub(super) fn disk_users(cluster: &Cluster, kind: DiskKind, id: &str) -> Vec<DiskUser> {
    let users = (0_u32..).zip(&cluster.nodes).flat_map(|(row, node)| {
        let disks = node.disks.iter().filter(|disk| disk.kind == kind && disk.id == id);
        disks.map(move |disk| DiskUser { row, read_only: disk.read_only, monitors: disk.monitors.clone() })
    });
    users.collect()
}

/// The number of pods that use a claim by its name.
pub(super) fn claim_users(cluster: &Cluster, claim: &str) -> u32 {
    let pods = cluster.nodes.iter().flat_map(|node| &node.running);
    let uses = |pod: &&Pod| {
        let named = |volume: &Volume| matches!(volume, Volume::Claim(used) if used.name == claim && !used.ephemeral);
        pod.namespace == cluster.pod.namespace && pod.volumes.iter().any(named)
    };
    count(pods.filter(uses))
}
