//! An answer in Markdown, to paste into a ticket. Start at [`ticket`].

use nodesift_proto::v1;

use super::amount::grouped;
use super::details::details;
use super::lines::safe;
use super::screen::{View, fault_text, help, line, near_node, untried};

/// Facts of a row of the table, and nearest nodes.
const SHOWN: usize = 5;

/// The answer about a pod as Markdown. Text from outside is code, so that nothing in it is markup.
pub(crate) fn ticket(answer: &v1::WhyResponse, view: View<'_>) -> String {
    let version = answer.version.clone().unwrap_or_default();
    let mut text = format!("### {}\n\n", code(&line(answer, view.now)));
    let mut add = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for fault in &answer.faults {
        add(format!("- **fault:** {}", code(&fault_text(fault))));
    }
    add("| predicate | nodes rejected | left | why |\n|---|--:|--:|---|".to_owned());
    add(format!("| | | {} | |", grouped(answer.nodes)));
    for step in answer.funnel.iter().filter(|step| step.rejected > 0) {
        let (rejected, after) = (grouped(step.rejected), grouped(step.after));
        add(format!(
            "| {} | {rejected} | {after} | {} |",
            cell(&safe(&step.predicate)),
            cell(&details(answer, step, SHOWN))
        ));
    }
    add(String::new());
    for near in answer.nearest.iter().take(SHOWN) {
        add(format!("- nearest: {}", code(&near_node(near))));
    }
    for edit in answer.help.iter().take(SHOWN) {
        add(format!("- would help: {}", code(&help(std::slice::from_ref(edit), 1))));
    }
    if answer.help_unevaluated > 0 {
        add(format!("- {}", untried(answer)));
    }
    if let Some(message) = &answer.message {
        add(format!("- message: {}", code(&safe(message))));
    }
    if !view.skipped.is_empty() {
        add(format!("- not evaluated: {}", code(&safe(&view.skipped.join(", ")))));
    }
    add(format!("\nnodesift: generation {}, policy {}", version.generation, version.policy_generation));
    text
}

/// Code in a line, between more backticks than it has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Code in a cell of a table, where a bar would end it.
fn cell(text: &str) -> String {
    if text.is_empty() { String::new() } else { code(&text.replace('|', "\\|")) }
}
