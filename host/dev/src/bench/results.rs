//! The results, and their JSON: one object per cluster and pod, one object per cluster. Start at [`Results`]. Those of clusters with
//! devices are in [`claims`](super::claims::results).

use std::time::Duration;

use serde::Serialize;

use super::claims::results::{ClaimFigures, ClaimResults, DeviceFigures};
use super::native::NativeFigures;
use super::targets::Targets;
use crate::measure::pods::PodTimes;
use crate::measure::{Template, Testbed};

/// The results of one cluster.
pub(super) struct Results {
    pub(super) pods: Vec<PodFigures>,
    pub(super) cluster: ClusterFigures,
    pub(super) targets: Targets,
}

/// One pod over all nodes, in process, on one thread. Times are medians in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PodFigures {
    /// Nodes of the cluster.
    pub(super) nodes: usize,
    /// Pods bound to nodes.
    pub(super) pods: usize,
    /// The name of the pod.
    pub(super) pod: String,
    /// Number of nodes that fit.
    pub(super) feasible: usize,
    /// Every predicate is evaluated over every node, without cached verdicts.
    pub(super) cold_ns: u64,
    /// Every verdict is cached.
    pub(super) warm_ns: u64,
    /// After a replica of the pod was bound.
    pub(super) row_changed_ns: u64,
    /// After a pod that none of its constraints matches was bound.
    pub(super) other_row_changed_ns: u64,
    /// Time of `cold_ns` where the nodes that fit are scored: the ten best are in the answer.
    pub(super) scored_cold_ns: u64,
    /// Time of `warm_ns` where every score is cached.
    pub(super) scored_warm_ns: u64,
    #[serde(flatten)]
    pub(super) native: NativeFigures,
}

/// One cluster. Times are in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ClusterFigures {
    /// Nodes of the cluster.
    pub(super) nodes: usize,
    /// Pods bound to nodes.
    pub(super) pods: usize,
    /// Median latency of requests over the Unix socket: one connection, one request at a time, one pod by UID.
    pub(super) uds_p50_ns: u64,
    /// 99th percentile of the latencies over the Unix socket.
    pub(super) uds_p99_ns: u64,
    /// Median of 32 bytes there and back over a bare Unix socket between the same two processes, on two cores.
    pub(super) uds_ping_p50_ns: u64,
    /// `uds_p50_ns` divided by `uds_ping_p50_ns`.
    pub(super) uds_by_ping: f64,
    /// Median latency of the same requests over TCP on loopback.
    pub(super) tcp_p50_ns: u64,
    /// 99th percentile of the latencies over TCP.
    pub(super) tcp_p99_ns: u64,
    /// Median of 32 bytes there and back over a bare TCP connection, on two cores.
    pub(super) tcp_ping_p50_ns: u64,
    /// `tcp_p50_ns` divided by `uds_p50_ns`.
    pub(super) tcp_by_uds: f64,
    /// The number of names in the answers of the next two figures.
    pub(super) names: u32,
    /// Median latency over the Unix socket with these names in JSON, beyond the same answer with a bitmap.
    pub(super) names_json_ns: u64,
    /// Median latency over the Unix socket with these names over gRPC, beyond the same answer with a bitmap.
    pub(super) names_grpc_ns: u64,
    /// Median time of as many bytes over a bare Unix socket, beyond 32 bytes.
    pub(super) names_bare_ns: u64,
    /// Number of requests over each kind of socket.
    pub(super) uds_requests: usize,
    /// Throughput of batches, in pods per second.
    pub(super) pods_per_second: u64,
    /// Pods in each batch.
    pub(super) batch_pods: usize,
    /// Connections that send batches.
    pub(super) connections: usize,
    /// Batches in flight on each connection.
    pub(super) in_flight: usize,
    /// Preemption dry run for the first pod on a full node with 30 victims, after a filter request for that pod.
    pub(super) preemption_ns: u64,
    /// One pod event in the cache while it maintains 200 pod counts.
    pub(super) pod_event_ns: u64,
}

/// One object of the output.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Line<'a> {
    Pod(&'a PodFigures),
    Cluster(&'a ClusterFigures),
    Claim(&'a ClaimFigures),
    Devices(&'a DeviceFigures),
}

/// The results of a cluster of either kind.
pub(super) enum Measured {
    Pods(Box<Results>),
    Claims(ClaimResults),
}

impl PodFigures {
    pub(super) fn new(testbed: &Testbed, template: &Template, times: &PodTimes) -> Self {
        Self {
            nodes: testbed.nodes(),
            pods: testbed.pods(),
            pod: template.name().to_owned(),
            feasible: times.feasible,
            cold_ns: nanos(times.cold),
            warm_ns: nanos(times.warm),
            row_changed_ns: nanos(times.row_changed),
            other_row_changed_ns: nanos(times.other_row_changed),
            scored_cold_ns: nanos(times.scored_cold),
            scored_warm_ns: nanos(times.scored_warm),
            native: NativeFigures::default(),
        }
    }
}

impl Measured {
    fn objects(&self) -> Vec<Line<'_>> {
        match self {
            Self::Pods(results) => {
                results.pods.iter().map(Line::Pod).chain([Line::Cluster(&results.cluster)]).collect()
            }
            Self::Claims(results) => {
                results.pods.iter().map(Line::Claim).chain([Line::Devices(&results.cluster)]).collect()
            }
        }
    }

    /// The results as JSON lines.
    ///
    /// # Errors
    ///
    /// If a figure does not encode.
    pub(super) fn lines(&self) -> serde_json::Result<String> {
        let mut text = String::new();
        for object in self.objects() {
            text.push_str(&serde_json::to_string(&object)?);
            text.push('\n');
        }
        Ok(text)
    }
}

/// The objects of all clusters.
pub(super) fn all(clusters: &[Measured]) -> Vec<Line<'_>> {
    clusters.iter().flat_map(Measured::objects).collect()
}

/// Converts a time to whole nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
