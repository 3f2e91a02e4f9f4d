//! The figures for people, the aims in brackets beside them.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Color};

use super::figures::{PodFigures, Size};
use crate::cli::report::{Paint, drawn, table};

/// Everything that one run found.
pub(super) fn text(sizes: &[Size], paint: Paint) -> String {
    let mut text = String::new();
    for size in sizes {
        let (nodes, pods) = (grouped(size.whole.nodes as u64), grouped(size.whole.pods as u64));
        let headline = format!("{nodes} nodes, {pods} pods");
        let _infallible = writeln!(text, "{}  {}", paint.bold(&headline), paint.dim("medians on one thread, µs"));
        text.push_str(&by_pod(size, paint));
        text.push_str(&as_a_whole(size, paint));
        text.push('\n');
    }
    if sizes.iter().any(|size| size.aims.warm.is_some()) {
        text.push_str(&paint.dim("in brackets what is aimed at on two cores, and whether it is met"));
        text.push('\n');
    }
    text
}

fn by_pod(size: &Size, paint: Paint) -> String {
    let header =
        ["pod", "nodes that fit", "afresh", "kept", "its like bound", "another bound", "natively", "sandboxed/native"];
    let mut drawing = table(paint, &header, &[1, 2, 3, 4, 5, 6, 7]);
    for (at, pod) in size.pods.iter().enumerate() {
        let of_pod = |aims: [Option<f64>; 4]| aims.get(at).copied().flatten();
        let aims = size.aims;
        drawing.add_row([
            Cell::new(&pod.pod),
            right(Cell::new(grouped(pod.feasible as u64))),
            below(paint, micros(pod.cold_ns), of_pod(aims.cold)),
            below(paint, micros(pod.warm_ns), aims.warm),
            below(paint, micros(pod.row_changed_ns), of_pod(aims.row_changed)),
            below(paint, micros(pod.other_row_changed_ns), None),
            right(Cell::new(pod.native_ns.map_or_else(|| "-".to_owned(), |ns| shown(micros(ns))))),
            ratio(paint, pod, aims.sandboxed_by_native),
        ]);
    }
    drawn(&drawing) + "\n"
}

fn as_a_whole(size: &Size, paint: Paint) -> String {
    let (whole, aims) = (&size.whole, size.aims);
    let mut drawing = table(paint, &["", "figure"], &[1]);
    let socket = format!("Unix socket, one pod by UID, {} requests", grouped(whole.uds_requests as u64));
    let batches = format!(
        "pods a second, batches of {} on {} connections, {} under way on each",
        whole.batch_pods, whole.connections, whole.in_flight
    );
    let first = size.pods.first().map_or("", |pod| pod.pod.as_str());
    drawing.add_row([Cell::new(format!("{socket}: p50")), below(paint, micros(whole.uds_p50_ns), aims.uds_p50)]);
    drawing.add_row([Cell::new(format!("{socket}: p99")), below(paint, micros(whole.uds_p99_ns), aims.uds_p99)]);
    drawing.add_row([Cell::new(batches), above(paint, whole.pods_per_second, aims.pods_per_second)]);
    let preemption = format!("how many of 30 pods must go for pod {first}, its filter answer kept");
    drawing.add_row([Cell::new(preemption), below(paint, micros(whole.preemption_ns), aims.preemption)]);
    let event = "one pod event, 200 counts of pods alive";
    drawing.add_row([Cell::new(event), below(paint, micros(whole.pod_event_ns), None)]);
    drawn(&drawing) + "\n"
}

/// A figure that is to stay below its aim.
fn below(paint: Paint, figure: f64, aim: Option<f64>) -> Cell {
    beside(paint, &shown(figure), aim.map(|aim| (shown_aim(aim), figure <= aim)))
}

/// A figure that is to reach its aim.
fn above(paint: Paint, figure: u64, aim: Option<f64>) -> Cell {
    #[allow(clippy::cast_precision_loss)] // Far below 2^52.
    let met = |aim: f64| figure as f64 >= aim;
    beside(paint, &grouped(figure), aim.map(|aim| (shown_aim(aim), met(aim))))
}

fn ratio(paint: Paint, pod: &PodFigures, aim: Option<f64>) -> Cell {
    match pod.sandboxed_by_native {
        Some(ratio) => beside(paint, &format!("{ratio:.2}"), aim.map(|aim| (aim.to_string(), ratio <= aim))),
        None => right(Cell::new("-")),
    }
}

fn beside(paint: Paint, figure: &str, aim: Option<(String, bool)>) -> Cell {
    right(match aim {
        None => Cell::new(figure),
        Some((aim, true)) => paint.cell(format!("{figure} ({aim} met)"), Color::Green),
        Some((aim, false)) => paint.cell(format!("{figure} ({aim} missed)"), Color::Red),
    })
}

fn right(cell: Cell) -> Cell {
    cell.set_alignment(CellAlignment::Right)
}

#[allow(clippy::cast_precision_loss)] // Nanoseconds of a median are far below 2^52.
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1_000.0
}

/// Microseconds, to a tenth where that says something.
fn shown(micros: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Neither negative nor large.
    if micros < 99.95 { format!("{micros:.1}") } else { grouped(micros.round() as u64) }
}

fn shown_aim(aim: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Whole numbers of our own.
    grouped(aim as u64)
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use nodesift_fixtures::synthetic::Shape;

    use super::super::aims;
    use super::super::figures::SizeFigures;
    use super::*;

    fn size(aims: aims::Aims) -> Size {
        let pod = |name: &str, cold_ns, native_ns: Option<u64>| PodFigures {
            nodes: 5_000,
            pods: 150_000,
            pod: name.to_owned(),
            feasible: 3_219,
            cold_ns,
            warm_ns: 2_140,
            row_changed_ns: 4_300,
            other_row_changed_ns: 4_200,
            native_ns,
            sandboxed_ns: native_ns.map(|_| cold_ns),
            sandboxed_by_native: native_ns.map(|_| 1.21),
        };
        let whole = SizeFigures {
            nodes: 5_000,
            pods: 150_000,
            uds_p50_ns: 71_000,
            uds_p99_ns: 1_234_567,
            uds_requests: 20_000,
            pods_per_second: 98_765,
            batch_pods: 64,
            connections: 2,
            in_flight: 2,
            preemption_ns: 31_900,
            pod_event_ns: 10_040,
        };
        Size { pods: vec![pod("a", 57_040, Some(47_100)), pod("b", 101_600, None)], whole, aims }
    }

    #[test]
    fn aims_stand_beside_the_figures_that_have_one() {
        let aims = aims::of(Shape { nodes: 5_000, pods_per_node: 30, seed: aims::SEED });
        let text = text(&[size(aims)], Paint::PLAIN);
        for part in [
            "5,000 nodes, 150,000 pods",
            " 57.0 (60 met) ",
            " 102 (100 missed) ",
            " 1.21 (1.5 met)",
            ": p99  ",
            " 1,235 (400 missed)",
            " 98,765 (15,000 met)",
            " 10.0\n",
            "in brackets what is aimed at",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn another_cluster_has_no_aims() {
        let text = text(&[size(aims::of(Shape { nodes: 5_000, pods_per_node: 31, seed: aims::SEED }))], Paint::PLAIN);
        assert!(!text.contains("met") && !text.contains("missed") && !text.contains("in brackets"), "{text}");
    }
}
