//! Writers of regions of `host/engine/src`: the reads that a call records, and the answers that are columns of moments.

use std::fmt::Write as _;

use super::sandbox::{argument_kind, argument_name, qualified};
use super::table::{Answer, Table};
use crate::model::{Contract, Kind};
use crate::text::snake;

/// Why it is not known what a function reads.
#[derive(Debug, thiserror::Error)]
#[error("{0}: `{1}` is nothing that the head of host/engine/facts.txt explains")]
pub struct ReadError(String, String);

/// Lines of `recorded!` in `reuse/recorder.rs`.
///
/// # Errors
///
/// Where it is not known what a function reads.
pub fn recorded(contract: &Contract, table: &Table<'_>) -> Result<String, ReadError> {
    let mut text = String::new();
    for answer in &table.answers {
        let Some(record) = record(table, answer)? else { continue };
        let arguments: Vec<String> = arguments(contract, answer);
        let begin = format!("        {}({}) -> {},", answer.method, arguments.join(", "), qualified(&answer.value));
        let end = format!("|this| this.{record};\n");
        let between = if begin.len() + end.len() > 120 { "\n            " } else { " " };
        let _ = write!(text, "{begin}{between}{end}");
    }
    Ok(text)
}

/// Parameters of a method of `Facts`, with their types.
fn arguments(contract: &Contract, answer: &Answer<'_>) -> Vec<String> {
    let argument = |param: &crate::model::Part| {
        let kind = match argument_kind(contract, &param.kind).unwrap_or_default().as_str() {
            "text" => "&str",
            "texts" => "&[Cow<'_, str>]",
            "flag" => "bool",
            "number" => "u32",
            "integer" => "i64",
            "disk_kind" => "wire::DiskKind",
            "info_field" => "wire::InfoField",
            "attachment" => "&wire::Attachment",
            "selectors" => "&[wire::PodSelector]",
            _ => "&wire::devices::Query",
        };
        format!("{}: {kind}", argument_name(&param.name))
    };
    answer.function.params.iter().map(argument).collect()
}

/// The call of the recorder that records what a function reads; none where that is written by hand.
fn record(table: &Table<'_>, answer: &Answer<'_>) -> Result<Option<String>, ReadError> {
    let texts: Vec<String> = named(answer, &|kind| *kind == Kind::String);
    let others: Vec<String> = named(answer, &|kind| *kind != Kind::String);
    let log = table.log(answer.interface).unwrap_or_default();
    // By its only text, or by what the other arguments are.
    let key = |name: &str| match others.as_slice() {
        [] => format!("FactKey::{name}"),
        others => format!("FactKey::{name}({})", others.join(", ")),
    };
    Ok(Some(match (answer.read(), texts.first()) {
        (("field", [name]), _) => format!("field(PodField::{name})"),
        (("fact" | "read", [name]), None) => format!("read({})", key(name)),
        (("fact" | "read", [name]), Some(text)) => format!("read_by({text}, FactKey::{name})"),
        (("whole", [name]), _) => format!("read(FactKey::{name})"),
        (("claim", [name]), Some(text)) => format!("claim_by({text}, FactKey::{name})"),
        (("moment", [name]), _) => {
            format!("column(NodeInterface::{log}, FactKey::NodeMoment(Moment::{name}))")
        }
        (("column", [name]), None) => format!("column(NodeInterface::{log}, {})", key(name)),
        (("column", [name]), Some(text)) => format!("column_by(NodeInterface::{log}, {text}, FactKey::{name})"),
        (("sets", [name]), _) => format!("sets(NodeInterface::{log}, FactKey::{name})"),
        (("dictionary", [column, dictionary]), Some(text)) => {
            format!("dictionary(NodeInterface::{log}, {text}, FactKey::{column}, FactKey::{dictionary})")
        }
        (("resource", [name]), Some(text)) => format!("resource(ResourceColumn::{name}, {text})"),
        (("by", [hand]), _) if hand == "hand" => return Ok(None),
        _ => {
            let name = format!("{}.{}", answer.interface.name, answer.function.name);
            return Err(ReadError(name, answer.reads.join(" ")));
        }
    }))
}

/// Names of the arguments of some types. Of a list of texts the choice of rows depends, and not what is read.
fn named(answer: &Answer<'_>, is_wanted: &dyn Fn(&Kind) -> bool) -> Vec<String> {
    let params = answer.function.params.iter().filter(|param| !matches!(param.kind, Kind::List(_)));
    params.filter(|param| is_wanted(&param.kind)).map(|param| argument_name(&param.name)).collect()
}

/// Lines of `fact_table!` in `reuse/fact_read.rs`: the facts about the pod that are its methods' values.
#[must_use]
pub fn pod_facts(table: &Table<'_>) -> String {
    let mut text = String::new();
    for answer in &table.answers {
        let ("fact", [name]) = answer.read() else { continue };
        let arguments: Vec<String> = answer.function.params.iter().map(|param| argument_name(&param.name)).collect();
        let keyed: Vec<String> = arguments.iter().map(|argument| format!("{argument}: Arc<str>")).collect();
        let keyed = if keyed.is_empty() { String::new() } else { format!("({})", keyed.join(", ")) };
        let _ = writeln!(
            text,
            "        {name}{keyed}: {} = |context| context.{}({});",
            qualified(&answer.value),
            answer.method,
            arguments.join(", ")
        );
    }
    text
}

/// Methods of `Facts` for `Context` in `facts/interfaces.rs`: columns of moments.
#[must_use]
pub fn moments(table: &Table<'_>) -> String {
    let mut text = String::new();
    for answer in &table.answers {
        let ("moment", [name]) = answer.read() else { continue };
        let _ = writeln!(
            text,
            "\n    fn {}(&self) -> Arc<[i64]> {{\n        self.column(self.snapshot.moments(Moment::{name}))\n    }}",
            snake(&answer.method)
        );
    }
    text
}
