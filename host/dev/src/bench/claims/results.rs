//! The results of a cluster with devices: one object per pod, one per cluster. Start at [`ClaimResults`].

use serde::Serialize;

use super::super::native::NativeFigures;
use super::super::targets::ClaimTargets;

/// The results of one cluster with devices.
pub(in super::super) struct ClaimResults {
    pub(in super::super) pods: Vec<ClaimFigures>,
    pub(in super::super) cluster: DeviceFigures,
    pub(in super::super) targets: ClaimTargets,
}

/// One pod with a claim over all nodes, in process, on one thread. Times are medians in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub(in super::super) struct ClaimFigures {
    /// Nodes of the cluster.
    pub(in super::super) nodes: usize,
    /// Devices of the cluster.
    pub(in super::super) devices: usize,
    /// The name of the pod.
    pub(in super::super) pod: String,
    /// Number of nodes that fit.
    pub(in super::super) feasible: usize,
    /// No cached verdicts. What the pod's expressions say of each device is known.
    pub(in super::super) cold_ns: u64,
    /// After a claim was allocated to a device of one node.
    pub(in super::super) allocated_ns: u64,
    /// Every verdict is cached.
    pub(in super::super) warm_ns: u64,
    #[serde(flatten)]
    pub(in super::super) native: NativeFigures,
}

/// One cluster with devices. Times are medians in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub(in super::super) struct DeviceFigures {
    /// Nodes of the cluster.
    pub(in super::super) nodes: usize,
    /// Devices of the cluster.
    pub(in super::super) devices: usize,
    /// Devices that claims hold.
    pub(in super::super) held: usize,
    /// Time until the outcomes of an expression are known for every device, none of which was seen before. It reads attributes of
    /// which the devices have eight different values together.
    pub(in super::super) new_expression_common_ns: u64,
    /// Time until the outcomes of an expression are known for every device, none of which was seen before. It reads an attribute of
    /// which every device has its own value.
    pub(in super::super) new_expression_distinct_ns: u64,
    /// Pods that are placed in the next two figures.
    pub(in super::super) placed_pods: usize,
    /// Pods that one client places in a second over the Unix socket: for each a `Filter`, and an `Assume` that allocates.
    pub(in super::super) placed_per_second: u64,
    /// Clients of the next figure.
    pub(in super::super) clients: usize,
    /// Pods that so many clients place in a second together over the Unix socket.
    pub(in super::super) placed_by_clients_per_second: u64,
}
