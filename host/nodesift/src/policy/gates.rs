//! `nodesift policy gates`: the feature gates and quirks of Kubernetes that are known, with what they are by default in each version. Start
//! at [`gates`].

use std::collections::BTreeMap;

use serde::Serialize;

use crate::args::PolicyGatesArgs;
use crate::report::written;
use crate::terminal::{self, Paint, render, table};
use nodesift_policy::kubernetes::{Kind, Stage, Switch, Table};

/// `nodesift policy gates`.
///
/// # Errors
///
/// If stdout cannot be written to.
pub(crate) fn gates(args: &PolicyGatesArgs) -> anyhow::Result<()> {
    let rows = rows(Table::built_in());
    terminal::print(&written(args.output, &rows, || shown(&rows, Table::built_in(), Paint::for_stdout()))?)
}

/// A gate or a quirk, as documents show it.
#[derive(Debug, Serialize)]
struct Row<'t> {
    name: &'t str,
    kind: Kind,
    /// By version. A version that has no such gate is not there.
    versions: BTreeMap<String, InVersion>,
    /// Predicates whose verdicts follow it, and `host`; empty where it is known and not served.
    gives: &'t [String],
    says: &'t str,
}

/// A gate or a quirk in one version.
#[derive(Debug, Serialize)]
struct InVersion {
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<Stage>,
    default: bool,
    /// Whether a policy can set it to something else.
    served: bool,
}

/// Whatever a policy can name: gates first, then quirks, each by name.
fn rows(table: &Table) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> =
        table.switches.iter().filter(|switch| switch.kind != Kind::Behavior).map(|switch| row(switch, table)).collect();
    rows.sort_by_key(|row| (row.kind != Kind::Gate, row.name));
    rows
}

fn row<'t>(switch: &'t Switch, table: &Table) -> Row<'t> {
    let mut versions = BTreeMap::new();
    for version in &table.versions {
        let (stage, default) = (switch.stage_in(*version), switch.default_in(*version));
        let is_there = match switch.kind {
            Kind::Gate => stage.is_some(),
            Kind::Quirk | Kind::Behavior => default,
        };
        if is_there {
            let served = switch.is_served_in(*version) && !switch.is_locked_in(*version);
            versions.insert(version.to_string(), InVersion { stage, default, served });
        }
    }
    Row { name: &switch.name, kind: switch.kind, versions, gives: &switch.gives, says: &switch.says }
}

fn shown(rows: &[Row<'_>], table_of_versions: &Table, paint: Paint) -> String {
    let versions: Vec<String> = table_of_versions.versions.iter().map(ToString::to_string).collect();
    let mut out = String::new();
    for (kind, title) in [(Kind::Gate, "FEATURE GATE"), (Kind::Quirk, "QUIRK")] {
        let head: Vec<&str> = std::iter::once(title)
            .chain(versions.iter().map(String::as_str))
            .chain(["GIVEN TO", "WHAT IT CHANGES"])
            .collect();
        let mut shown = table(paint, &head, &[]);
        for row in rows.iter().filter(|row| row.kind == kind) {
            let cells = versions.iter().map(|version| cell(row.versions.get(version)));
            let gives = if row.gives.is_empty() { "not served".to_owned() } else { row.gives.join(", ") };
            let cells = std::iter::once(row.name.to_owned()).chain(cells).chain([gives, row.says.to_owned()]);
            shown.add_row(cells.collect::<Vec<_>>());
        }
        out.push_str(&render(&shown));
        out.push_str("\n\n");
    }
    out.push_str("* cannot be changed there: it is always on, or what it changes is not served\n");
    out
}

/// `Beta on`, `Alpha off*`, `there` for a quirk, or a dash where the version has none.
fn cell(known: Option<&InVersion>) -> String {
    let Some(known) = known else { return "-".to_owned() };
    let fixed = if known.served { "" } else { "*" };
    match known.stage {
        Some(stage) => format!("{stage:?} {}{fixed}", if known.default { "on" } else { "off" }),
        None => "there".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TABLE: &str = r#"
versions: ["1.35", "1.36"]
defaultPolicy: {"1.35": [{name: A}], "1.36": [{name: A}]}
defaultScores: {"1.35": [], "1.36": []}
unservedScores: []
switches:
- {name: Z, kind: Quirk, gives: [A], values: {"1.35": true, "1.36": false}, says: z.}
- {name: B, kind: Gate, stage: {"1.36": Alpha}, gives: [], values: {"1.35": false, "1.36": false}, says: b.}
- {name: A, kind: Gate, stage: {"1.35": Beta, "1.36": GA}, gives: [A, host], values: {"1.35": false, "1.36": true}, says: a.}
- {name: D, kind: Gate, stage: {"1.35": GA, "1.36": GA}, unlocked: ["1.35"], gives: [A], values: {"1.35": true, "1.36": true}, says: d.}
- {name: C, kind: Behavior, gives: [A], values: {"1.35": false, "1.36": true}, says: c.}
"#;

    #[test]
    fn gates_come_before_quirks_by_name_and_behaviours_are_not_shown() {
        let table = Table::read(TABLE).unwrap();
        let rows = rows(&table);
        assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["A", "B", "D", "Z"]);
        let cells = |at: usize| ["1.35", "1.36"].map(|version| cell(rows[at].versions.get(version)));
        assert_eq!(cells(0), ["Beta off", "GA on*"]);
        assert_eq!(cells(1), ["-", "Alpha off*"]);
        assert_eq!(cells(2), ["GA on", "GA on*"]);
        assert_eq!(cells(3), ["there", "-"]);
    }

    #[test]
    fn every_row_is_a_line_of_the_table() {
        let table = Table::read(TABLE).unwrap();
        let text = shown(&rows(&table), &table, Paint::PLAIN);
        for expected in ["A, host", "not served", "WHAT IT CHANGES", "QUIRK"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}
