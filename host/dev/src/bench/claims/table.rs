//! The results of a cluster with devices as tables. Start at [`text`].

use std::fmt::Write as _;

use comfy_table::Cell;

use super::super::cells::{above, below, grouped, micros, ratio_or_none, right, shown, time_or_none};
use super::results::ClaimResults;
use nodesift::terminal::{Paint, render, table};

/// The tables of one cluster with devices.
pub(in super::super) fn text(results: &ClaimResults, paint: Paint) -> String {
    let cluster = &results.cluster;
    let [nodes, devices, held] = [cluster.nodes, cluster.devices, cluster.held].map(|count| grouped(count as u64));
    let headline = format!("{nodes} nodes, {devices} devices, {held} of them held by claims");
    let mut text = String::new();
    let _infallible = writeln!(text, "{}  {}", paint.bold(&headline), paint.dim("medians in µs, one thread"));
    text.push_str(&by_pod(results, paint));
    text.push_str(&by_cluster(results, paint));
    if let Some(times) = results.targets.kube_scheduler {
        let [one, four] = times.map(shown);
        let note = format!(
            "for comparison: DynamicResources of kube-scheduler 1.36.2, PreFilter and Filter over all nodes of a cluster of this size, \
             one thread, another run: {one} for pod one, {four} for pod four"
        );
        let _infallible = writeln!(text, "{}", paint.dim(&note));
    }
    text
}

fn by_pod(results: &ClaimResults, paint: Paint) -> String {
    let header = ["pod", "nodes that fit", "cold", "claim allocated", "warm", "native", "sandbox/native"];
    let mut drawing = table(paint, &header, &[1, 2, 3, 4, 5, 6]);
    for pod in &results.pods {
        let targets = results.targets;
        drawing.add_row([
            Cell::new(&pod.pod),
            right(Cell::new(grouped(pod.feasible as u64))),
            below(paint, micros(pod.cold_ns), targets.cold),
            below(paint, micros(pod.allocated_ns), targets.allocated),
            below(paint, micros(pod.warm_ns), targets.warm),
            time_or_none(pod.native.native_ns),
            ratio_or_none(paint, pod.native.sandboxed_by_native, None),
        ]);
    }
    render(&drawing) + "\n"
}

fn by_cluster(results: &ClaimResults, paint: Paint) -> String {
    let (cluster, targets) = (&results.cluster, results.targets);
    let mut drawing = table(paint, &["", "figure"], &[1]);
    let devices = grouped(cluster.devices as u64);
    drawing.add_row([
        Cell::new(format!("an expression that is new, over {devices} devices with 8 distinct values of what it reads")),
        below(paint, micros(cluster.new_expression_common_ns), targets.new_expression),
    ]);
    drawing.add_row([
        Cell::new(format!("the same with {devices} distinct values")),
        below(paint, micros(cluster.new_expression_distinct_ns), targets.new_expression),
    ]);
    let pods = grouped(cluster.placed_pods as u64);
    drawing.add_row([
        Cell::new(format!("Unix socket, Filter and Assume that allocates, pods per second, {pods} pods, one client")),
        above(paint, cluster.placed_per_second, targets.placed_per_second),
    ]);
    drawing.add_row([
        Cell::new(format!("the same by {} clients", cluster.clients)),
        above(paint, cluster.placed_by_clients_per_second, targets.placed_per_second),
    ]);
    render(&drawing) + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::super::native::NativeFigures;
    use super::super::super::targets;
    use super::super::results::{ClaimFigures, DeviceFigures};
    use super::*;
    use nodesift_fixtures::synthetic::devices::DeviceShape;

    fn results(shape: DeviceShape) -> ClaimResults {
        let pod = ClaimFigures {
            nodes: 500,
            devices: 5_000,
            pod: "one".to_owned(),
            feasible: 371,
            cold_ns: 349_000,
            allocated_ns: 9_100,
            warm_ns: 2_140,
            native: NativeFigures {
                native_ns: Some(250_000),
                sandboxed_ns: Some(350_000),
                sandboxed_by_native: Some(1.4),
                ..NativeFigures::default()
            },
        };
        let cluster = DeviceFigures {
            nodes: 500,
            devices: 5_000,
            held: 1_493,
            new_expression_common_ns: 3_210_000,
            new_expression_distinct_ns: 7_000_000,
            placed_pods: 625,
            placed_per_second: 1_999,
            clients: 4,
            placed_by_clients_per_second: 2_345,
        };
        ClaimResults { pods: vec![pod], cluster, targets: targets::for_devices(shape) }
    }

    #[test]
    fn targets_and_kube_schedulers_times_stand_beside_the_figures() {
        let shape = DeviceShape { nodes: 500, devices_per_node: 10, uuids: true, seed: targets::SEED };
        let text = text(&results(shape), Paint::PLAIN);
        for part in [
            "500 nodes, 5,000 devices, 1,493 of them held by claims",
            " 349 (350 met) ",
            " 9.1 (8 missed) ",
            " 2.1 (3 met) ",
            " 1.40",
            " 3,210\n",
            " 1,999 (2,000 missed)",
            " 2,345 (2,000 met)",
            "52,000 for pod one, 42,000 for pod four",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn another_cluster_with_devices_has_neither() {
        let shape = DeviceShape { nodes: 500, devices_per_node: 11, uuids: true, seed: targets::SEED };
        let text = text(&results(shape), Paint::PLAIN);
        assert!(!text.contains("met") && !text.contains("missed") && !text.contains("kube-scheduler"), "{text}");
    }
}
