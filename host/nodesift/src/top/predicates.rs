//! `nodesift top predicates`: what predicates have cost a running sidecar, from its metrics. Start at [`run`].

use std::collections::BTreeMap;
use std::thread;

use anyhow::anyhow;
use comfy_table::{Cell, CellAlignment};
use http::StatusCode;
use serde::Serialize;

use crate::args::TopPredicatesArgs;
use crate::report::why::one_line;
use crate::terminal::{Paint, render, table};
use crate::{client, limits, policy, report};

const PATH: &str = "/metrics";

/// Cost of one predicate since the active policy has it as it is.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    predicate: String,
    /// Time of the calls that ran until the predicate ended: those that their request ended, or that found no place, are not among them.
    seconds: f64,
    /// Number of calls that this is the time of.
    timed: u64,
    /// Number of calls that were made, all of them.
    calls: u64,
    /// Nodes in these calls.
    rows: u64,
    /// Number of answers about a pod from cached verdicts, with or without a call about the rows that had changed.
    reused: u64,
    /// Number of answers about a pod from a call about all rows that were asked for.
    evaluated: u64,
    /// Calls that ended in a fault, or were not made.
    faults: u64,
}

/// Runs the command.
///
/// # Errors
///
/// [`Failure::Usage`](crate::exit::Failure::Usage) if there is no sidecar to ask,
/// [`Failure::Unavailable`](crate::exit::Failure::Unavailable) if it does not answer; those of a write to stdout.
pub(super) fn run(args: &TopPredicatesArgs) -> anyhow::Result<()> {
    let endpoint = policy::endpoint(&args.sidecar)?;
    loop {
        let (status, text) = client::get(&endpoint, PATH, limits::CLIENT_CONNECT, limits::CLIENT_METRICS_BYTES)?;
        if status != StatusCode::OK {
            let error = anyhow!("{}: {}", status.as_u16(), text.trim());
            return Err(client::unavailable(&endpoint, PATH, error).into());
        }
        let costs = costs(&text);
        let text = report::written(args.output, &costs, || rendered(&costs, Paint::for_stdout()))?;
        super::print(&text, args.watch)?;
        if !args.watch {
            return Ok(());
        }
        thread::sleep(limits::WATCH_SIDECAR);
    }
}

/// The costs that metrics tell, the largest first.
fn costs(metrics: &str) -> Vec<Cost> {
    let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
    for line in metrics.lines() {
        let Some(sample) = line.strip_prefix("nodesift_predicate_").and_then(Sample::read) else { continue };
        let Sample { name: figure, labels, value } = sample;
        let label = |name: &str| labels.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        let Some(predicate) = label("predicate") else { continue };
        let cost = costs.entry(predicate.to_owned()).or_default();
        let count = || value.parse::<u64>().unwrap_or(0);
        match figure {
            "duration_seconds_sum" => cost.seconds = value.parse().unwrap_or(0.0),
            "duration_seconds_count" => cost.timed = count(),
            "calls_total" => cost.calls = count(),
            "rows_total" => cost.rows = count(),
            "faults_total" => cost.faults += count(),
            "verdicts_total" if label("from") == Some("evaluated") => cost.evaluated = count(),
            "verdicts_total" => cost.reused += count(),
            _ => {}
        }
    }
    let named = costs.into_iter().map(|(predicate, cost)| Cost { predicate, ..cost });
    let mut costs: Vec<Cost> = named.collect();
    // Stable, so that equal ones are in the order of their names.
    costs.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    costs
}

/// A line of metrics that has labels.
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: &'a str,
}

impl<'a> Sample<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (name, mut rest) = line.split_once('{')?;
        let mut labels = Vec::new();
        loop {
            if let Some(after) = rest.strip_prefix('}') {
                // What else stands there is a time or an exemplar.
                return Some(Self { name, labels, value: after.trim_start().split(' ').next()? });
            }
            let (key, after) = rest.strip_prefix(',').unwrap_or(rest).split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((key, value));
            rest = after;
        }
    }
}

/// A value up to its closing quote, without escapes, and what follows. Names of predicates have quotes, commas and braces where somebody wants
/// them.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut characters) = (String::new(), text.chars());
    loop {
        match characters.next()? {
            '"' => return Some((value, characters.as_str())),
            '\\' => match characters.next()? {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
}

fn rendered(costs: &[Cost], paint: Paint) -> String {
    if costs.is_empty() {
        return "no predicate has been called\n".to_owned();
    }
    let all: f64 = costs.iter().map(|cost| cost.seconds).sum();
    let titles = ["predicate", "time", "share", "calls", "a call", "nodes a call", "reused", "faults"];
    let mut rows = table(paint, &titles, &[1, 2, 3, 4, 5, 6, 7]);
    for cost in costs {
        let Cost { predicate, seconds, timed, calls, rows: nodes, reused, evaluated, faults } = cost;
        let verdicts = reused.saturating_add(*evaluated);
        let figures = [
            time(*seconds),
            if all > 0.0 { format!("{:.0} %", seconds / all * 100.0) } else { "-".to_owned() },
            calls.to_string(),
            if *timed == 0 { "-".to_owned() } else { time(seconds / *timed as f64) },
            nodes.checked_div(*calls).map_or_else(|| "-".to_owned(), |nodes| nodes.to_string()),
            reused
                .saturating_mul(100)
                .checked_div(verdicts)
                .map_or_else(|| "-".to_owned(), |share| format!("{share} %")),
            faults.to_string(),
        ];
        let figures = figures.into_iter().map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
        rows.add_row(std::iter::once(Cell::new(one_line(predicate))).chain(figures));
    }
    render(&rows) + "\n"
}

/// A time in seconds as people read it.
fn time(seconds: f64) -> String {
    match seconds {
        ..0.001 => format!("{:.0} µs", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# TYPE nodesift_predicate_calls counter
nodesift_predicate_calls_total{predicate=\"NodeName\"} 4
nodesift_predicate_calls_total{predicate=\"NodePorts\"} 0
nodesift_predicate_calls_total{predicate=\"NodeResourcesFit\"} 10
nodesift_predicate_rows_total{predicate=\"NodeName\"} 1192
nodesift_predicate_rows_total{predicate=\"NodeResourcesFit\"} 30
nodesift_predicate_duration_seconds_sum{predicate=\"NodeName\"} 0.0005
nodesift_predicate_duration_seconds_count{predicate=\"NodeName\"} 4
nodesift_predicate_duration_seconds_sum{predicate=\"NodeResourcesFit\"} 1.5
nodesift_predicate_duration_seconds_count{predicate=\"NodeResourcesFit\"} 6
nodesift_predicate_duration_seconds_bucket{le=\"0.000004\",predicate=\"NodeName\"} 4
nodesift_predicate_verdicts_total{predicate=\"NodeName\",from=\"kept\"} 5
nodesift_predicate_verdicts_total{predicate=\"NodeName\",from=\"patched\"} 1
nodesift_predicate_verdicts_total{predicate=\"NodeName\",from=\"evaluated\"} 4
nodesift_predicate_faults_total{predicate=\"NodeName\",fault=\"Trap\"} 2
nodesift_predicate_faults_total{predicate=\"NodeName\",fault=\"Deadline\"} 1
nodesift_pending_pods{cause=\"Fits\"} 86
nodesift_nodes 298
";

    #[test]
    fn a_predicate_has_whatever_name_its_policy_gives_it() {
        for name in ["gpu, by model", "a} b", "\"a\" \\ 'b'", "predicate=\"x\"", "क्षि", "{", "n"] {
            let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
            let metrics =
                format!("nodesift_predicate_calls_total{{predicate=\"{escaped}\",kind=\"x\"}} 3 # {{a=\"b\"}} 1\n");
            let told: Vec<_> = costs(&metrics).into_iter().map(|cost| (cost.predicate, cost.calls)).collect();
            assert_eq!(told, [(name.to_owned(), 3)], "{metrics}");
        }
        assert!(
            costs("nodesift_predicate_calls_total{predicate=\"a\nnodesift_predicate_calls_total{predicate} 1")
                .is_empty()
        );
    }

    #[test]
    fn what_costs_most_comes_first() {
        let costs = costs(METRICS);
        let told: Vec<_> = costs.iter().map(|cost| (&*cost.predicate, cost.calls)).collect();
        assert_eq!(told, [("NodeResourcesFit", 10), ("NodeName", 4), ("NodePorts", 0)]);
        let Some(of_names) = costs.get(1) else { unreachable!("three predicates") };
        assert_eq!((of_names.rows, of_names.reused, of_names.evaluated, of_names.faults), (1192, 6, 4, 3));
        let text = rendered(&costs, Paint::PLAIN);
        let cells = |name: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1).collect()
        };
        assert_eq!(cells("NodeResourcesFit"), ["1.5 s", "100 %", "10", "250.0 ms", "3", "-", "0"], "{text}");
        assert_eq!(cells("NodeName"), ["500 µs", "0 %", "4", "125 µs", "298", "60 %", "3"], "{text}");
        assert_eq!(cells("NodePorts"), ["0 µs", "0 %", "0", "-", "-", "-", "0"], "{text}");
        assert_eq!(rendered(&[], Paint::PLAIN), "no predicate has been called\n");
    }
}
