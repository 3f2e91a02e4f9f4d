//! The clusters to measure: synthetic ones by size, or one from files. Start at [`select`].

use std::path::{Path, PathBuf};

use super::targets;
use crate::args::{BenchArgs, DeviceSize};
use nodesift::exit::Failure;
use nodesift_fixtures::synthetic::Shape;
use nodesift_fixtures::synthetic::devices::DeviceShape;

/// A cluster that is measured.
#[derive(Debug)]
pub(super) enum Cluster {
    /// A synthetic cluster of this shape.
    Synthetic(Shape),
    /// A synthetic cluster with devices, to measure pods with claims.
    Devices(DeviceShape),
    /// The objects and the pods of files.
    Files { cluster: Vec<PathBuf>, pods: Vec<PathBuf> },
}

/// Number of nodes from which a synthetic cluster has 10 pods on each node instead of 30.
const LARGE_NODES: u32 = 50_000;

/// The clusters that the arguments select, in the order in which they are measured.
///
/// # Errors
///
/// [`Failure::Usage`] if the arguments contradict each other.
pub(super) fn select(args: &BenchArgs) -> Result<Vec<Cluster>, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    if !args.cluster.cluster.is_empty() {
        if args.pods.is_empty() {
            return usage("no pods given: use --pods FILE beside --cluster");
        }
        if args.cluster.cluster.iter().chain(&args.pods).any(|file| file == Path::new("-")) {
            return usage("bench reads files more than once: give files instead of stdin (-)");
        }
        return Ok(vec![Cluster::Files { cluster: args.cluster.cluster.clone(), pods: args.pods.clone() }]);
    }
    let chosen = !args.nodes.is_empty() || !args.devices.is_empty();
    let sizes: &[u32] = match args.quick {
        _ if chosen => &args.nodes,
        true => &[5_000],
        false => &[5_000, 100_000],
    };
    let with_devices: &[DeviceSize] = match args.quick {
        _ if chosen => &args.devices,
        true => &[targets::DEVICES_SMALL],
        false => &[targets::DEVICES_SMALL, targets::DEVICES_LARGE],
    };
    let shapes = sizes.iter().enumerate().map(|(at, &nodes)| {
        let by_size = if nodes < LARGE_NODES { 30 } else { 10 };
        let pods_per_node = match args.pods_per_node.as_slice() {
            [] => by_size,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(by_size),
        };
        Cluster::Synthetic(Shape { nodes, pods_per_node, seed: targets::SEED })
    });
    if args.pods_per_node.len() > 1 && args.pods_per_node.len() != sizes.len() {
        return usage("--pods-per-node: expected one number, or one for each of --nodes");
    }
    let with_devices = with_devices.iter().map(|&DeviceSize { nodes, devices_per_node }| {
        Cluster::Devices(DeviceShape { nodes, devices_per_node, uuids: true, seed: targets::SEED })
    });
    Ok(shapes.chain(with_devices).collect())
}
