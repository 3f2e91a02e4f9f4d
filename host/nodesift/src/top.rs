//! `nodesift top`: lists that are made anew, the largest first. `top pending` is here, [`nodes`] has `top nodes`, [`predicates`] has
//! `top predicates`. Start at [`run`].

mod nodes;
mod predicates;

use std::io::IsTerminal as _;
use std::thread;

use comfy_table::{Cell, CellAlignment};

use crate::args::{GroupBy, SourceArgs, TopCommand, TopPendingArgs};
use crate::limits;
use crate::report::{self, why::one_line};
use crate::terminal::{self, Paint, render, table};
use crate::why::{Grouped, Source, note_skipped};

/// Escapes with which a terminal is drawn anew: home, and clear to the end.
const REDRAW: &str = "\u{1b}[H\u{1b}[2J";

/// Runs a command of `top`.
///
/// # Errors
///
/// Those of the source, and of a write to stdout.
pub(crate) fn run(command: &TopCommand) -> anyhow::Result<()> {
    match command {
        TopCommand::Pending(args) => pending(args),
        TopCommand::Nodes(args) => nodes::run(args),
        TopCommand::Predicates(args) => predicates::run(args),
    }
}

fn pending(args: &TopPendingArgs) -> anyhow::Result<()> {
    shown(&args.source, args.watch, &|source| {
        let grouped = source.groups(args.by, args.namespace.as_deref(), &args.source.listed.skip)?;
        report::written(args.output, &grouped.groups, || rendered(&grouped, args.by, Paint::for_stdout()))
    })
}

/// Prints a list of a source, once or again and again.
fn shown(
    args: &SourceArgs,
    is_watched: bool,
    list: &dyn Fn(&mut Source) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut source = Source::open(args)?;
    let mut is_first = true;
    loop {
        let text = list(&mut source)?;
        if std::mem::take(&mut is_first) {
            note_skipped(&args.listed.skip);
        }
        print(&text, is_watched)?;
        if !is_watched {
            return Ok(());
        }
        thread::sleep(if source.is_live() { limits::WATCH_SIDECAR } else { limits::WATCH_LIST });
        if !source.is_live() {
            source = Source::reopen(args)?;
        }
    }
}

/// Prints a list, on a terminal in place of the one before where it is watched.
fn print(text: &str, is_watched: bool) -> anyhow::Result<()> {
    let redraw = if is_watched && std::io::stdout().is_terminal() { REDRAW } else { "" };
    terminal::print(&format!("{redraw}{text}"))
}

fn rendered(grouped: &Grouped, by: GroupBy, paint: Paint) -> String {
    if grouped.groups.is_empty() {
        return match grouped.pods {
            0 => "no pod is pending\n".to_owned(),
            1 => format!("1 pod is pending, and is in no group by {}: top pending --by cause\n", by.name()),
            pods => {
                format!(
                    "{pods} pods are pending, and none of them is in a group by {}: top pending --by cause\n",
                    by.name()
                )
            }
        };
    }
    let mut rows = table(paint, &["pods", "group", "such as"], &[0]);
    for group in &grouped.groups {
        let more = group.count.saturating_sub(group.pods.len() as u64);
        let pods = one_line(&group.pods.join(", "));
        let pods = if more == 0 { pods } else { format!("{pods} and {more} more") };
        let count = Cell::new(group.count).set_alignment(CellAlignment::Right);
        rows.add_row([count, Cell::new(one_line(&group.key)), Cell::new(pods)]);
    }
    format!("{}\n", render(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecars_groups_are_shown_like_ones_own_and_hostile_names_escaped() {
        let document = serde_json::json!({"groups": [{"key": "NoRoom", "count": 5, "headline": "full",
            "pods": ["a/x\u{1b}[2J", "a/y"]}]});
        let text = rendered(&crate::why::listed(&document), GroupBy::Cause, Paint::PLAIN);
        assert!(text.contains("5  NoRoom  a/x\\u{1b}[2J, a/y and 3 more\n"), "{text}");
        let none = |pods| rendered(&Grouped { pods, groups: Vec::new() }, GroupBy::Predicate, Paint::PLAIN);
        assert_eq!(none(0), "no pod is pending\n");
        assert_eq!(none(1), "1 pod is pending, and is in no group by predicate: top pending --by cause\n");
        let text = "94 pods are pending, and none of them is in a group by predicate: top pending --by cause\n";
        assert_eq!(none(94), text);
    }
}
