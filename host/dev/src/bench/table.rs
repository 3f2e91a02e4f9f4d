//! The results as tables, with the targets in brackets. Start at [`text`].

use std::fmt::Write as _;

use comfy_table::Cell;

use super::cells::{above, below, grouped, micros, ratio_cell, ratio_or_none, right, time_or_none};
use super::claims;
use super::results::{Measured, Results};
use super::targets::ratio;
use nodesift::terminal::{Paint, render, table};

/// The tables of all clusters.
pub(super) fn text(clusters: &[Measured], paint: Paint) -> String {
    let mut text = String::new();
    let mut has_targets = false;
    for measured in clusters {
        match measured {
            Measured::Pods(results) => {
                text.push_str(&section(results, paint));
                has_targets |= results.targets.warm.is_some();
            }
            Measured::Claims(results) => {
                text.push_str(&claims::table::text(results, paint));
                has_targets |= results.targets.cold.is_some();
            }
        }
        text.push('\n');
    }
    if has_targets {
        text.push_str(&paint.dim("in brackets: the target on two cores, and whether it is met"));
        text.push('\n');
    }
    text
}

fn section(results: &Results, paint: Paint) -> String {
    let (nodes, pods) = (grouped(results.cluster.nodes as u64), grouped(results.cluster.pods as u64));
    let headline = format!("{nodes} nodes, {pods} pods");
    let mut text = String::new();
    let _infallible = writeln!(text, "{}  {}", paint.bold(&headline), paint.dim("medians in µs, one thread"));
    text.push_str(&by_pod(results, paint));
    text.push_str(&scored(results, paint));
    text.push_str(&by_cluster(results, paint));
    text
}

fn by_pod(results: &Results, paint: Paint) -> String {
    let header = [
        "pod",
        "nodes that fit",
        "cold",
        "warm",
        "replica bound",
        "other pod bound",
        "native",
        "sandbox/native",
        "streamed",
        "sandbox/streamed",
    ];
    let mut drawing = table(paint, &header, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (at, pod) in results.pods.iter().enumerate() {
        let of_pod = |targets: [Option<f64>; 4]| targets.get(at).copied().flatten();
        let targets = results.targets;
        drawing.add_row([
            Cell::new(&pod.pod),
            right(Cell::new(grouped(pod.feasible as u64))),
            below(paint, micros(pod.cold_ns), of_pod(targets.cold)),
            below(paint, micros(pod.warm_ns), targets.warm),
            below(paint, micros(pod.row_changed_ns), of_pod(targets.row_changed)),
            below(paint, micros(pod.other_row_changed_ns), None),
            time_or_none(pod.native.native_ns),
            ratio_or_none(paint, pod.native.sandboxed_by_native, targets.sandboxed_by_native),
            time_or_none(pod.native.streamed_ns),
            ratio_or_none(paint, pod.native.sandboxed_by_streamed, targets.sandboxed_by_streamed),
        ]);
    }
    render(&drawing) + "\n"
}

/// Table of the same pods where the nodes that fit are scored.
fn scored(results: &Results, paint: Paint) -> String {
    let mut drawing = table(paint, &["pod, with scores", "cold", "warm", "warm/warm without"], &[1, 2, 3]);
    for (at, pod) in results.pods.iter().enumerate() {
        let targets = results.targets;
        drawing.add_row([
            Cell::new(&pod.pod),
            below(paint, micros(pod.scored_cold_ns), targets.scored_cold.get(at).copied().flatten()),
            below(paint, micros(pod.scored_warm_ns), None),
            ratio_cell(paint, ratio(pod.scored_warm_ns, pod.warm_ns), targets.scored_by_warm),
        ]);
    }
    render(&drawing) + "\n"
}

fn by_cluster(results: &Results, paint: Paint) -> String {
    let (cluster, targets) = (&results.cluster, results.targets);
    let mut drawing = table(paint, &["", "figure"], &[1]);
    let socket = format!("Unix socket, one pod per request, {} requests", grouped(cluster.uds_requests as u64));
    let batches = format!(
        "Unix socket, pods per second, batches of {}, {} connections, {} in flight on each",
        cluster.batch_pods, cluster.connections, cluster.in_flight
    );
    let first = results.pods.first().map_or("", |pod| pod.pod.as_str());
    drawing.add_row([Cell::new(format!("{socket}: p50")), below(paint, micros(cluster.uds_p50_ns), targets.uds_p50)]);
    drawing.add_row([Cell::new(format!("{socket}: p99")), below(paint, micros(cluster.uds_p99_ns), targets.uds_p99)]);
    let bare = "32 bytes there and back over a bare Unix socket to another core, in turn with these requests: p50";
    drawing.add_row([Cell::new(bare), below(paint, micros(cluster.uds_ping_p50_ns), None)]);
    drawing.add_row([
        Cell::new("one pod per request by bare messages, Unix socket"),
        ratio_cell(paint, cluster.uds_by_ping, targets.uds_by_ping),
    ]);
    let tcp = "TCP, one pod per request, as many requests";
    drawing.add_row([Cell::new(format!("{tcp}: p50")), below(paint, micros(cluster.tcp_p50_ns), None)]);
    drawing.add_row([Cell::new(format!("{tcp}: p99")), below(paint, micros(cluster.tcp_p99_ns), None)]);
    let bare = "32 bytes there and back over a bare TCP connection to another core: p50";
    drawing.add_row([Cell::new(bare), below(paint, micros(cluster.tcp_ping_p50_ns), None)]);
    drawing.add_row([
        Cell::new("one pod per request, TCP by Unix socket"),
        ratio_cell(paint, cluster.tcp_by_uds, targets.tcp_by_uds),
    ]);
    let names = grouped(u64::from(cluster.names));
    drawing.add_row([
        Cell::new(format!("{names} names in JSON, beyond a bitmap: p50")),
        below(paint, micros(cluster.names_json_ns), targets.names),
    ]);
    drawing.add_row([
        Cell::new(format!("{names} names over gRPC, beyond a bitmap: p50")),
        below(paint, micros(cluster.names_grpc_ns), targets.names),
    ]);
    drawing.add_row([
        Cell::new("as many bytes as these names in JSON over a bare Unix socket, beyond 32 bytes: p50"),
        below(paint, micros(cluster.names_bare_ns), None),
    ]);
    drawing.add_row([Cell::new(batches), above(paint, cluster.pods_per_second, targets.pods_per_second)]);
    let preemption = format!("preemption dry run for pod {first}, 30 victims, after its filter request");
    drawing.add_row([Cell::new(preemption), below(paint, micros(cluster.preemption_ns), targets.preemption)]);
    let event = "one pod event, 200 pod counts maintained";
    drawing.add_row([Cell::new(event), below(paint, micros(cluster.pod_event_ns), None)]);
    render(&drawing) + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::native::NativeFigures;
    use super::super::results::{ClusterFigures, PodFigures};
    use super::super::targets;
    use super::*;
    use nodesift_fixtures::synthetic::Shape;

    fn results(targets: targets::Targets) -> Measured {
        let pod = |name: &str, cold_ns, native_ns: Option<u64>| PodFigures {
            nodes: 5_000,
            pods: 150_000,
            pod: name.to_owned(),
            feasible: 3_219,
            cold_ns,
            warm_ns: 2_140,
            row_changed_ns: 4_300,
            other_row_changed_ns: 4_200,
            scored_cold_ns: 2 * cold_ns,
            scored_warm_ns: 5_000,
            native: NativeFigures {
                native_ns,
                sandboxed_ns: native_ns.map(|_| cold_ns),
                sandboxed_by_native: native_ns.map(|_| 1.21),
                streamed_ns: native_ns.map(|_| 12_340),
                sandboxed_by_streamed: native_ns.map(|_| 4.62),
            },
        };
        let cluster = ClusterFigures {
            nodes: 5_000,
            pods: 150_000,
            uds_p50_ns: 71_000,
            uds_p99_ns: 1_234_567,
            uds_ping_p50_ns: 43_000,
            uds_by_ping: 1.65,
            tcp_p50_ns: 92_000,
            tcp_p99_ns: 1_000_000,
            tcp_ping_p50_ns: 51_000,
            tcp_by_uds: 1.3,
            names: 5_000,
            names_json_ns: 41_000,
            names_grpc_ns: 30_000,
            names_bare_ns: 25_000,
            uds_requests: 20_000,
            pods_per_second: 98_765,
            batch_pods: 64,
            connections: 2,
            in_flight: 2,
            preemption_ns: 31_900,
            pod_event_ns: 10_040,
        };
        let pods = vec![pod("a", 57_040, Some(47_100)), pod("b", 101_600, None)];
        Measured::Pods(Box::new(Results { pods, cluster, targets }))
    }

    #[test]
    fn targets_stand_beside_their_figures() {
        let targets = targets::for_shape(Shape { nodes: 5_000, pods_per_node: 30, seed: targets::SEED });
        let text = text(&[results(targets)], Paint::PLAIN);
        for part in [
            "5,000 nodes, 150,000 pods",
            " 57.0 (60 met) ",
            " 102 (100 missed) ",
            " 1.21 (1.5 met)",
            " 12.3 ",
            " 4.62 (4 missed)",
            " 114 (",
            " 2.34 (2 missed)",
            ": p99  ",
            " 43.0",
            " 41.0 (50 met)",
            " 1.65 (1.6 missed)",
            " 1.30 (1.5 met)",
            " 1,235 (400 missed)",
            " 98,765 (15,000 met)",
            " 10.0\n",
            "in brackets: the target",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn another_cluster_has_no_targets() {
        let text = text(
            &[results(targets::for_shape(Shape { nodes: 5_000, pods_per_node: 31, seed: targets::SEED }))],
            Paint::PLAIN,
        );
        assert!(!text.contains("met") && !text.contains("missed") && !text.contains("in brackets"), "{text}");
    }
}
