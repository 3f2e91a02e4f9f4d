//! What is aimed at, on two cores: for the synthetic clusters of two sizes, and for no other cluster.

use nodesift_fixtures::synthetic::Shape;

/// The seed of the clusters that are measured.
pub(super) const SEED: u64 = 1;

/// The most that figures of one cluster may come to, in microseconds unless their names say otherwise; none where nothing
/// is aimed at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aims {
    /// Evaluated afresh, pods a to d.
    pub(super) cold: [Option<f64>; 4],
    pub(super) warm: Option<f64>,
    /// With a pod like it bound since, pods a to d.
    pub(super) row_changed: [Option<f64>; 4],
    /// Sandboxed by native, a number.
    pub(super) sandboxed_by_native: Option<f64>,
    pub(super) preemption: Option<f64>,
    pub(super) uds_p50: Option<f64>,
    pub(super) uds_p99: Option<f64>,
    /// The least, in pods a second.
    pub(super) pods_per_second: Option<f64>,
}

/// Nothing is aimed at.
pub(super) const NONE: Aims = Aims {
    cold: [None; 4],
    warm: None,
    row_changed: [None; 4],
    sandboxed_by_native: None,
    preemption: None,
    uds_p50: None,
    uds_p99: None,
    pods_per_second: None,
};

/// The aims for a synthetic cluster.
pub(super) fn of(shape: Shape) -> Aims {
    match shape {
        Shape { nodes: 5_000, pods_per_node: 30, seed: SEED } => Aims {
            cold: [Some(60.0), Some(100.0), Some(250.0), Some(400.0)],
            warm: Some(5.0),
            row_changed: [Some(10.0), None, None, Some(250.0)],
            sandboxed_by_native: Some(1.5),
            preemption: Some(50.0),
            uds_p50: Some(80.0),
            uds_p99: Some(400.0),
            pods_per_second: Some(15_000.0),
        },
        Shape { nodes: 100_000, pods_per_node: 10, seed: SEED } => {
            Aims { cold: [Some(1_500.0), None, None, None], warm: Some(15.0), sandboxed_by_native: Some(1.5), ..NONE }
        }
        _ => NONE,
    }
}
