//! The table of interfaces in `host/sandbox/src/interface.rs`.

use std::fmt::Write as _;

use super::table::{Answer, Table};
use crate::model::{Body, Contract, Interface, Kind};
use crate::text::{camel, snake};

/// Why a function cannot be linked.
#[derive(Debug, thiserror::Error)]
#[error("{0} has the parameter `{1}`, of a kind that `argument!` in host/sandbox/src/interface.rs has no name for")]
pub struct ArgumentError(String, String);

/// The invocation of `interfaces!`.
///
/// # Errors
///
/// Where a parameter has no name in `argument!`.
pub fn interfaces(contract: &Contract, table: &Table<'_>) -> Result<String, ArgumentError> {
    let mut text = String::from("interfaces! {\n");
    for interface in contract.imports.iter().filter(|interface| !interface.functions.is_empty()) {
        let pods_on_nodes = interface.notes.has("pods-on-nodes");
        let since = interface.since().map(|since| format!(", since: V{}", since.replace('.', "_")));
        let _ = writeln!(
            text,
            "    /// {}\n    {} = {:?}, pods_on_nodes: {pods_on_nodes}{} {{",
            interface.summary(),
            camel(&interface.name),
            interface.name,
            since.unwrap_or_default()
        );
        for answer in table.answers.iter().filter(|answer| answer.interface.name == interface.name) {
            text.push_str(&line(contract, answer)?);
        }
        text.push_str("    }\n");
    }
    text.push_str("}\n");
    Ok(text)
}

fn line(contract: &Contract, answer: &Answer<'_>) -> Result<String, ArgumentError> {
    let argument = |param: &crate::model::Part| {
        let kind = argument_kind(contract, &param.kind).ok_or_else(|| {
            ArgumentError(format!("{}.{}", answer.interface.name, answer.function.name), param.name.clone())
        })?;
        Ok(format!("{}: {kind}", argument_name(&param.name)))
    };
    let arguments = answer.function.params.iter().map(argument).collect::<Result<Vec<_>, _>>()?.join(", ");
    let meter = if answer.is_metered { "; meter" } else { "" };
    let ends = match (answer.may_trap, answer.function.makes_rows(answer.interface)) {
        (true, _) => ", or trap",
        (_, true) => ", as set",
        _ => "",
    };
    let begin =
        format!("        {:?} => {} {}({arguments}{meter})", answer.function.name, answer.timing, answer.method);
    let end = format!("-> {}{ends};\n", qualified(&answer.value));
    let between = if begin.len() + end.len() > 120 { "\n            " } else { " " };
    Ok(begin + between + &end)
}

/// The name of a parameter in Rust.
pub(crate) fn argument_name(name: &str) -> String {
    match name {
        "type" => "kind".to_owned(),
        _ => snake(name),
    }
}

/// The host's name in `argument!` for a parameter of this type; none where it has no name.
pub(super) fn argument_kind(contract: &Contract, kind: &Kind) -> Option<String> {
    Some(match kind {
        Kind::String => "text".to_owned(),
        Kind::Bool => "flag".to_owned(),
        Kind::U32 => "number".to_owned(),
        Kind::S64 => "integer".to_owned(),
        Kind::List(inner) if **inner == Kind::String => "texts".to_owned(),
        Kind::List(inner) => match &**inner {
            Kind::Named(id) if contract.definition(*id).name == "pod-selector" => "selectors".to_owned(),
            _ => return None,
        },
        Kind::Named(id) => {
            let definition = contract.definition(*id);
            match (definition.name.as_str(), &definition.body) {
                ("field", _) => "info_field".to_owned(),
                (_, Body::Variant(_)) => return None,
                (name, _) => snake(name),
            }
        }
        _ => return None,
    })
}

/// A type in Rust with `wire::` before the names that are of that module.
pub(super) fn qualified(value: &str) -> String {
    const KNOWN: [&str; 6] = ["Arc", "Vec", "Option", "Result", "Rows", "Box"];
    let mut text = String::new();
    let mut rest = value;
    while let Some(start) = rest.find(|letter: char| letter.is_alphabetic()) {
        let (before, after) = rest.split_at(start);
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        let (word, after) = after.split_at(after.find(|letter| !is_word(letter)).unwrap_or(after.len()));
        let is_of_wire = word.contains("::") || word.starts_with(char::is_uppercase) && !KNOWN.contains(&word);
        text.push_str(before);
        text.push_str(if is_of_wire { "wire::" } else { "" });
        text.push_str(word);
        rest = after;
    }
    text + rest
}

/// The interfaces with functions that give facts.
pub(super) fn fact_interfaces(contract: &Contract) -> impl Iterator<Item = &Interface> {
    contract.imports.iter().filter(|interface| interface.is_fact() && !interface.functions.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_wire_are_qualified() {
        assert_eq!(qualified("Arc<[i64]>"), "Arc<[i64]>");
        assert_eq!(
            qualified("Result<Arc<[claims::Claim]>, claims::Obstacle>"),
            "Result<Arc<[wire::claims::Claim]>, wire::claims::Obstacle>"
        );
        assert_eq!(qualified("(Vec<AffinityTerm>, Option<Arc<str>>)"), "(Vec<wire::AffinityTerm>, Option<Arc<str>>)");
    }
}
