//! The bridge of `tests/bench/src/lib.rs`: the host's facts as the SDK's `Facts`. Values with types of the contract are converted by
//! hand; this writes the others.

use std::fmt::Write as _;

use super::{borrowed, method, parameter, result, signature};
use crate::host::table::{Answer, Table};
use crate::model::{Contract, Kind};
use crate::text::snake;

/// Methods of `Facts` for `Bridge`.
#[must_use]
pub fn bridge(contract: &Contract, table: &Table<'_>) -> String {
    let path = |interface: &str| format!("{}::", snake(interface));
    let mut text = String::new();
    for answer in &table.answers {
        let Some(value) = value(answer) else { continue };
        let params = answer.function.params.iter();
        let params =
            params.map(|param| format!("{}: {}", parameter(&param.name), borrowed(contract, &param.kind, &path)));
        let params: Vec<String> = std::iter::once("&self".to_owned()).chain(params).collect();
        let begin = format!("fn {}", method(answer.interface, answer.function));
        text.push_str(&signature(&begin, &params, &result(contract, answer.function, &path), "    "));
        let _ = writeln!(text, "        {value}\n    }}\n");
    }
    text
}

/// The host's value as the SDK's; none where it is converted by hand.
fn value(answer: &Answer<'_>) -> Option<String> {
    let is_plain = |kind: &Kind| matches!(kind, Kind::String | Kind::Bool | Kind::U32 | Kind::S64);
    let has_plain = answer.function.params.iter().all(|param| is_plain(&param.kind));
    if !has_plain || answer.may_trap || answer.function.makes_rows(answer.interface) {
        return None;
    }
    let arguments: Vec<String> = answer.function.params.iter().map(|param| parameter(&param.name)).collect();
    let call = format!("self.0.{}({})", answer.method, arguments.join(", "));
    // `text`, `texts` and `pairs` are in `convert`. A parameter may be called `text`, too.
    let is_shadowed = arguments.iter().any(|argument| argument == "text");
    let value = match answer.value.as_str() {
        "bool" | "i32" | "u32" | "i64" | "Option<u32>" => call,
        "Arc<[i64]>" | "Arc<[u32]>" | "Arc<[u8]>" => format!("{call}.to_vec()"),
        "Option<Arc<[i64]>>" | "Option<Arc<[u32]>>" | "Option<Arc<[u8]>>" => {
            format!("{call}.map(|column| column.to_vec())")
        }
        _ if is_shadowed => return None,
        "Arc<str>" => format!("text(&{call})"),
        "Option<Arc<str>>" => format!("{call}.as_ref().map(text)"),
        "Arc<[Arc<str>]>" | "Vec<Arc<str>>" => format!("texts(&{call})"),
        "Vec<Vec<Arc<str>>>" => format!("{call}.iter().map(|set| texts(set)).collect()"),
        "Arc<[(Arc<str>, Arc<str>)]>" => format!("pairs(&{call})"),
        _ => return None,
    };
    Some(value)
}
