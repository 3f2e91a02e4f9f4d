//! Prints the benchmark cluster with devices, one JSON object a line, for programs that are measured beside `nodesift-dev bench --devices`.
#![allow(clippy::print_stdout, reason = "the output is JSON lines")]

use clap::Parser;
use nodesift_fixtures::synthetic::devices::{DeviceShape, PENDING, class_json};

/// Prints the benchmark cluster with devices
#[derive(Debug, Parser)]
struct Args {
    /// Nodes of the cluster
    #[arg(long, default_value_t = 500)]
    nodes: u32,
    /// Devices on each node
    #[arg(long, default_value_t = 10)]
    devices_per_node: u32,
    /// Seed of the cluster
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    let Args { nodes, devices_per_node, seed } = Args::parse();
    let shape = DeviceShape { nodes, devices_per_node, uuids: true, seed };
    let pending = PENDING.iter().flat_map(|pod| [pod.claim_json(0), pod.pod_json(0)]);
    let objects = shape.nodes().chain([class_json()]).chain(shape.slices()).chain(shape.claims()).chain(pending);
    objects.for_each(|object| println!("{object}"));
}
