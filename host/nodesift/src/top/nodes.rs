//! `nodesift top nodes`: what is free on nodes, or on those with the same value of a label. Start at [`run`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

use crate::args::TopNodesArgs;
use crate::exit::Failure;
use crate::report::{self, why::number, why::one_line};
use crate::terminal::{Paint, render, table};
use crate::why::{NodeRow, is_plain};

/// Resources that are shown where none is named.
const RESOURCES: [&str; 3] = ["cpu", "memory", "pods"];

/// Nodes with something in common, or one node.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeGroup {
    /// Name of the node, or value of the label; none of nodes without the label.
    key: Option<String>,
    /// Number of the nodes.
    nodes: usize,
    /// Number of those that are cordoned, on which nothing counts as free.
    cordoned: usize,
    /// Per resource, in the order in which they are asked for.
    resources: Vec<Room>,
}

/// Amounts of one resource: in millicores for `cpu`, else in whole units.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Room {
    resource: String,
    allocatable: i64,
    free: i64,
    /// Most that is free on one node.
    largest: i64,
    /// Name of that node; empty where nothing is free.
    node: String,
}

/// Runs the command.
///
/// # Errors
///
/// [`Failure::Usage`] if a name is no label or resource; those of the source, and of a write to stdout.
pub(super) fn run(args: &TopNodesArgs) -> anyhow::Result<()> {
    if let Some(wrong) = args.by.iter().chain(&args.resources).find(|name| !is_plain(name)) {
        return Err(Failure::Usage(format!("{wrong:?} is no name of a label or resource")).into());
    }
    let mut resources = args.resources.clone();
    if resources.is_empty() {
        resources = RESOURCES.map(str::to_owned).to_vec();
    }
    super::shown(&args.source, args.watch, &|source| {
        let rows = source.node_rows(args.by.as_deref(), &resources)?;
        let groups = summed(rows, args.by.is_some(), &resources);
        let table = || rendered(&groups, args.by.as_deref(), &resources, args.limit, Paint::for_stdout());
        report::written(args.output, &groups, table)
    })
}

/// The nodes by themselves, or added up by their values; those with most of the first resource free come first.
fn summed(rows: Vec<NodeRow>, is_by_value: bool, resources: &[String]) -> Vec<NodeGroup> {
    let mut groups: BTreeMap<Option<String>, NodeGroup> = BTreeMap::new();
    for row in rows {
        let key = if is_by_value { row.value } else { Some(row.name.clone()) };
        let group = groups.entry(key.clone()).or_insert_with(|| NodeGroup {
            key,
            resources: resources.iter().map(|name| Room { resource: name.clone(), ..Room::default() }).collect(),
            ..NodeGroup::default()
        });
        group.nodes += 1;
        group.cordoned += usize::from(row.is_cordoned);
        for (room, (allocatable, free)) in group.resources.iter_mut().zip(row.amounts) {
            // A node may hold more than it has, which takes nothing from others.
            let free = if row.is_cordoned { 0 } else { free.max(0) };
            room.allocatable = room.allocatable.saturating_add(allocatable);
            room.free = room.free.saturating_add(free);
            if free > room.largest {
                room.largest = free;
                room.node.clone_from(&row.name);
            }
        }
    }
    let mut groups: Vec<NodeGroup> = groups.into_values().collect();
    // Stable, so that equal ones are in the order of their keys.
    groups.sort_by_key(|group| Reverse(group.resources.first().map(|room| room.free)));
    groups
}

fn rendered(groups: &[NodeGroup], by: Option<&str>, resources: &[String], limit: usize, paint: Paint) -> String {
    if groups.is_empty() {
        return "there are no nodes\n".to_owned();
    }
    let mut titles = vec![one_line(by.unwrap_or("node"))];
    titles.extend(by.map(|_| "nodes".to_owned()));
    titles.push("cordoned".to_owned());
    for name in resources {
        titles.extend([format!("{name} free"), "of".to_owned()]);
        titles.extend(by.map(|_| "on one node".to_owned()));
    }
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut rows = table(paint, &titles, &(1..titles.len()).collect::<Vec<_>>());
    let shown = if limit == 0 { groups.len() } else { limit };
    for group in groups.iter().take(shown) {
        let mut cells = vec![Cell::new(group.key.as_deref().map_or_else(|| "(without)".to_owned(), one_line))];
        let mut add = |text: String| cells.push(Cell::new(text).set_alignment(CellAlignment::Right));
        if by.is_some() {
            add(group.nodes.to_string());
        }
        add(match (group.cordoned, by) {
            (0, _) => String::new(),
            (_, None) => "yes".to_owned(),
            (cordoned, Some(_)) => cordoned.to_string(),
        });
        for room in &group.resources {
            add(number(&room.resource, room.free));
            add(number(&room.resource, room.allocatable));
            if by.is_some() {
                add(number(&room.resource, room.largest));
            }
        }
        rows.add_row(cells);
    }
    let more = groups.len().saturating_sub(shown);
    let more = if more == 0 { String::new() } else { format!("{more} more: --limit 0 prints all\n") };
    format!("{}\n{more}", render(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, value: Option<&str>, is_cordoned: bool, amounts: (i64, i64)) -> NodeRow {
        NodeRow { name: name.to_owned(), value: value.map(str::to_owned), is_cordoned, amounts: vec![amounts] }
    }

    #[test]
    fn nodes_are_added_up_and_nothing_is_free_where_no_pod_may_go() {
        let rows = || {
            vec![
                row("a", Some("x"), false, (4_000, 1_500)),
                row("b", Some("x"), true, (4_000, 4_000)),
                row("c", Some("y"), false, (8_000, -500)),
                row("d", None, false, (2_000, 2_000)),
            ]
        };
        let resources = ["cpu".to_owned()];
        let groups = summed(rows(), true, &resources);
        let text = rendered(&groups, Some("zone"), &resources, 2, Paint::PLAIN);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[2], ["(without)", "1", "2", "2", "2"]);
        assert_eq!(lines[3], ["x", "2", "1", "1.5", "8", "1.5"]);
        assert_eq!(lines[4], ["1", "more:", "--limit", "0", "prints", "all"]);
        let keys: Vec<_> = groups.iter().map(|group| group.key.as_deref()).collect();
        assert_eq!(keys, [None, Some("x"), Some("y")]);
        let groups = summed(rows(), false, &resources);
        let keys: Vec<_> = groups.iter().filter_map(|group| group.key.as_deref()).collect();
        assert_eq!(keys, ["d", "a", "b", "c"]);
        assert_eq!((groups[1].resources[0].largest, groups[1].resources[0].node.as_str()), (1_500, "a"));
        assert_eq!(rendered(&[], None, &resources, 0, Paint::PLAIN), "there are no nodes\n");
    }
}
