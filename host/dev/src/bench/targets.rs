//! Targets of the figures on two cores, for two synthetic clusters, and for two with devices. Other clusters have none. Start at
//! [`for_shape`] and [`for_devices`]; [`ratio`] is how figures are compared.

use crate::args::DeviceSize;
use nodesift_fixtures::synthetic::Shape;
use nodesift_fixtures::synthetic::devices::DeviceShape;

/// The clusters with devices that are measured unless others are chosen.
pub(super) const DEVICES_SMALL: DeviceSize = DeviceSize { nodes: 500, devices_per_node: 10 };
pub(super) const DEVICES_LARGE: DeviceSize = DeviceSize { nodes: 5_000, devices_per_node: 8 };

/// The seed of the synthetic clusters.
pub(super) const SEED: u64 = 1;

/// Upper bounds for the figures of one cluster, in microseconds unless said otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Targets {
    /// Cold, pods a to d.
    pub(super) cold: [Option<f64>; 4],
    /// Time of a warm evaluation, of every pod.
    pub(super) warm: Option<f64>,
    /// After a replica was bound, pods a to d.
    pub(super) row_changed: [Option<f64>; 4],
    /// Cold with scores, pods a to d.
    pub(super) scored_cold: [Option<f64>; 4],
    /// Warm with scores divided by warm without, of every pod: a ratio.
    pub(super) scored_by_warm: Option<f64>,
    /// Cold time in the sandbox divided by native time, a ratio.
    pub(super) sandboxed_by_native: Option<f64>,
    /// Cold time in the sandbox divided by that of a plain native loop over the same columns, a ratio.
    pub(super) sandboxed_by_streamed: Option<f64>,
    /// The preemption dry run.
    pub(super) preemption: Option<f64>,
    /// Median latency over the Unix socket.
    pub(super) uds_p50: Option<f64>,
    /// Unix socket, median divided by that of bare messages.
    pub(super) uds_by_ping: Option<f64>,
    /// TCP, median divided by that of the Unix socket.
    pub(super) tcp_by_uds: Option<f64>,
    /// Names of nodes instead of a bitmap, over the Unix socket.
    pub(super) names: Option<f64>,
    /// Unix socket, 99th percentile.
    pub(super) uds_p99: Option<f64>,
    /// Lower bound for batches over the Unix socket, in pods per second.
    pub(super) pods_per_second: Option<f64>,
}

/// Cold with scores, in microseconds: what kube-scheduler 1.36.2 needs for its filters alone, 1,670, 4,180, 24,000 and 39,000, divided by 50 for
/// pods a and b, and by 150 for c and d. Its scores come on top, so that these are stricter than the same ratios of whole cycles.
const SCORED_COLD: [Option<f64>; 4] = [Some(33.0), Some(83.0), Some(160.0), Some(260.0)];

/// Targets of a cluster without any.
pub(super) const NONE: Targets = Targets {
    cold: [None; 4],
    warm: None,
    row_changed: [None; 4],
    scored_cold: [None; 4],
    scored_by_warm: None,
    sandboxed_by_native: None,
    sandboxed_by_streamed: None,
    preemption: None,
    uds_p50: None,
    uds_by_ping: None,
    tcp_by_uds: None,
    names: None,
    uds_p99: None,
    pods_per_second: None,
};

/// The targets for a synthetic cluster.
pub(super) fn for_shape(shape: Shape) -> Targets {
    match shape {
        Shape { nodes: 5_000, pods_per_node: 30, seed: SEED } => Targets {
            cold: [Some(60.0), Some(100.0), Some(250.0), Some(400.0)],
            warm: Some(5.0),
            row_changed: [Some(10.0), None, None, Some(250.0)],
            scored_cold: SCORED_COLD,
            scored_by_warm: Some(2.0),
            sandboxed_by_native: Some(1.5),
            sandboxed_by_streamed: Some(4.0),
            preemption: Some(50.0),
            uds_p50: Some(80.0),
            uds_by_ping: Some(1.6),
            tcp_by_uds: Some(1.5),
            names: Some(50.0),
            uds_p99: Some(400.0),
            pods_per_second: Some(15_000.0),
        },
        Shape { nodes: 100_000, pods_per_node: 10, seed: SEED } => Targets {
            cold: [Some(1_500.0), None, None, None],
            warm: Some(15.0),
            sandboxed_by_native: Some(1.5),
            ..NONE
        },
        _ => NONE,
    }
}

/// Bounds for the figures of one cluster with devices: upper ones in microseconds, unless said otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClaimTargets {
    /// Time of a cold evaluation, of every pod.
    pub(super) cold: Option<f64>,
    /// After a claim was allocated, every pod.
    pub(super) allocated: Option<f64>,
    /// Time of a warm evaluation, of every pod.
    pub(super) warm: Option<f64>,
    /// An expression that is new, whatever it reads.
    pub(super) new_expression: Option<f64>,
    /// Lower bound for pods that are placed, in pods per second.
    pub(super) placed_per_second: Option<f64>,
    /// For comparison: kube-scheduler's plugin about pods `one` and `four`, in microseconds.
    pub(super) kube_scheduler: Option<[f64; 2]>,
}

/// The targets for a synthetic cluster with devices.
pub(super) fn for_devices(shape: DeviceShape) -> ClaimTargets {
    let DeviceShape { nodes, devices_per_node, uuids: true, seed: SEED } = shape else {
        return ClaimTargets::default();
    };
    let common = ClaimTargets { placed_per_second: Some(2_000.0), ..ClaimTargets::default() };
    match (DeviceSize { nodes, devices_per_node }) {
        DEVICES_SMALL => ClaimTargets {
            cold: Some(350.0),
            allocated: Some(8.0),
            warm: Some(3.0),
            kube_scheduler: Some([52_000.0, 42_000.0]),
            ..common
        },
        DEVICES_LARGE => ClaimTargets {
            cold: Some(3_000.0),
            new_expression: Some(60_000.0),
            kube_scheduler: Some([744_000.0, 548_000.0]),
            ..common
        },
        _ => ClaimTargets::default(),
    }
}

/// One time divided by another.
#[allow(clippy::cast_precision_loss)] // Nanoseconds of a median are far below 2^52.
pub(super) fn ratio(time_ns: u64, by_ns: u64) -> f64 {
    time_ns as f64 / by_ns.max(1) as f64
}
