//! Where facts come from: the kinds behind interfaces (`host/source`), fields of nodes (`host/dev`), and logs of changes
//! (`host/cache`, `host/engine`).

use std::fmt::Write as _;

use super::sandbox::fact_interfaces;
use super::table::Table;
use crate::model::{Contract, Interface};
use crate::text::camel;

/// Formats a list in the way of rustfmt: on one line where that fits, else an item per line.
fn listed(before: &str, items: &[String], after: &str, indent: &str) -> String {
    let one = format!("{indent}{before}{}{after}\n", items.join(", "));
    if one.trim_end_matches('\n').len() <= 120 {
        return one;
    }
    let items: String = items.iter().map(|item| format!("{indent}    {item},\n")).collect();
    format!("{indent}{before}\n{items}{indent}{after}\n")
}

/// Arms of a match over interfaces.
fn arm(patterns: &[String], value: &str, indent: &str) -> String {
    let one = format!("{indent}{} => {value},\n", patterns.join(" | "));
    if one.len() <= 121 {
        return one;
    }
    format!("{indent}{} => {value},\n", patterns.join(&format!("\n{indent}| ")))
}

/// Arms of `read_by` in `source/src/kube/kinds.rs`: the kinds besides nodes and pods.
#[must_use]
pub fn kinds(contract: &Contract) -> String {
    let mut groups: Vec<(&[String], Vec<String>)> = Vec::new();
    for interface in contract.imports.iter().filter(|interface| !interface.functions.is_empty()) {
        let (kinds, name) = (interface.notes.values("kinds"), format!("Interface::{}", camel(&interface.name)));
        match groups.iter_mut().find(|(known, _)| *known == kinds) {
            Some((_, names)) => names.push(name),
            None => groups.push((kinds, vec![name])),
        }
    }
    // Those that need no other kind come last.
    groups.sort_by_key(|(kinds, _)| kinds.is_empty());
    let indent = " ".repeat(8);
    let mut text = String::new();
    for (kinds, names) in groups {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("Kind::{}", kind.replace("CSI", "Csi"))).collect();
        let one = arm(&names, &format!("&[{}]", kinds.join(", ")), &indent);
        if one.lines().all(|line| line.len() <= 120) {
            text.push_str(&one);
        } else {
            text.push_str(&listed(&format!("{} => &[", names.join(&format!("\n{indent}| "))), &kinds, "],", &indent));
        }
    }
    text
}

/// The constant `NODE_FACTS` in `dev/src/record/prune.rs`: the fields of a node that an interface shows.
#[must_use]
pub fn node_fields(contract: &Contract) -> String {
    let fields: Vec<(&str, Vec<&str>)> = fact_interfaces(contract)
        .map(|interface| (interface.name.as_str(), interface.node_fields()))
        .filter(|(_, fields)| !fields.is_empty())
        .collect();
    let mut text = format!("const NODE_FACTS: [(&str, &[&str]); {}] = [\n", fields.len());
    for (interface, fields) in fields {
        let _ = writeln!(text, "    ({interface:?}, &{fields:?}),");
    }
    text.push_str("];\n");
    text
}

/// Logs of changes, each with the first interface that it is for, in the order of the contract.
fn logs<'a>(contract: &'a Contract, table: &Table<'_>) -> Vec<(String, &'a Interface)> {
    let mut logs: Vec<(String, &Interface)> = Vec::new();
    for interface in fact_interfaces(contract) {
        if let Some(log) = table.log(interface).filter(|log| logs.iter().all(|(known, _)| known != log)) {
            logs.push((log, interface));
        }
    }
    logs
}

/// The enum `NodeInterface` in `cache/src/columns/change_log.rs`.
#[must_use]
pub fn node_interfaces(contract: &Contract, table: &Table<'_>) -> String {
    let logs = logs(contract, table);
    let mut text = String::from(
        "/// A fact interface about nodes; the change log has one log for each.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]\npub enum NodeInterface {\n",
    );
    for (log, interface) in &logs {
        let _ = writeln!(text, "    /// Interface `{}` of the contract.\n    {log},", interface.name);
    }
    let _ = writeln!(
        text,
        "}}\n\nimpl NodeInterface {{\n    /// All of them, in the order of the contract.\n    pub const ALL: [Self; {}] = [",
        logs.len()
    );
    for (log, _) in &logs {
        let _ = writeln!(text, "        Self::{log},");
    }
    text.push_str("    ];\n\n    /// The log of a moment.\n    pub fn for_moment(moment: Moment) -> Self {\n        match moment {\n");
    for answer in &table.answers {
        if let (("moment", [moment]), Some(log)) = (answer.read(), table.log(answer.interface)) {
            let _ = writeln!(text, "            Moment::{moment} => Self::{log},");
        }
    }
    text.push_str("        }\n    }\n}\n");
    text
}

/// Arms of a match in `engine/src/reuse/cached.rs`: the logs that pods on nodes change, and the interface of each.
#[must_use]
pub fn logs_of_pods(contract: &Contract, table: &Table<'_>) -> String {
    let (of_pods, others): (Vec<_>, Vec<_>) =
        logs(contract, table).into_iter().partition(|(_, interface)| interface.notes.has("pods-on-nodes"));
    let indent = " ".repeat(12);
    let mut text = String::new();
    for (log, interface) in of_pods {
        let value = format!("Some(Interface::{})", camel(&interface.name));
        text.push_str(&arm(&[format!("NodeInterface::{log}")], &value, &indent));
    }
    let others: Vec<String> = others.into_iter().map(|(log, _)| format!("NodeInterface::{log}")).collect();
    text + &arm(&others, "None", &indent)
}
