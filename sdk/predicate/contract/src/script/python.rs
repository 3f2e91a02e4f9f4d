//! A stub for Python: records are objects with attributes, an option is the value or None. Enums and variants are made by the tool that
//! builds the component, so they are left open.

use std::fmt::Write as _;

use crate::model::{Body, Contract, Interface, Kind, TypeDef};
use crate::text::{camel, snake};

const HEAD: &str = "\"\"\"What `facts(name)` returns, and what else `_host` has. Made from the contract by `make contract`; not to be edited.\"\"\"

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, overload

class NotListed(Exception): ...

def bind(functions: Mapping[str, Any]) -> Mapping[str, Any]: ...
def write(level: str, text: str) -> None: ...
";

/// The stub `_host.pyi`: types in Python for the functions of the host's module `_host`.
#[must_use]
pub fn stub(contract: &Contract) -> String {
    let mut text = HEAD.to_owned();
    for definition in contract.imports.iter().flat_map(|interface| &interface.own_types) {
        record(&mut text, contract, contract.definition(*definition));
    }
    let interfaces = || contract.imports.iter().filter(|of| of.is_fact() && !of.functions.is_empty());
    for interface in interfaces() {
        functions(&mut text, contract, interface);
    }
    for interface in interfaces() {
        let _ = write!(
            text,
            "\n@overload\ndef facts(name: Literal[\"{}\"], what: str | None = None) -> {}: ...",
            interface.name,
            camel(&interface.name)
        );
    }
    text.push_str("\n@overload\ndef facts(name: str, what: str | None = None) -> Any: ...\n");
    text
}

/// A documentation as the first statement of a body.
fn docs(text: &mut String, indent: &str, lines: &[String]) {
    let _ = match lines {
        [] => Ok(()),
        [line] => writeln!(text, "{indent}\"\"\"{line}\"\"\""),
        [first, others @ ..] => {
            let _ = writeln!(text, "{indent}\"\"\"{first}");
            for line in others {
                let _ = writeln!(text, "{}", format!("{indent}{line}").trim_end());
            }
            writeln!(text, "{indent}\"\"\"")
        }
    };
}

fn record(text: &mut String, contract: &Contract, definition: &TypeDef) {
    let Body::Record(fields) = &definition.body else { return };
    let _ = writeln!(text, "\nclass {}(Protocol):", name(definition));
    docs(text, "    ", &definition.docs);
    for field in fields {
        let _ = writeln!(
            text,
            "    @property\n    def {}(self) -> {}: ...",
            word(&field.name),
            python(contract, &field.kind)
        );
    }
}

fn functions(text: &mut String, contract: &Contract, interface: &Interface) {
    let _ = writeln!(text, "\nclass {}(Protocol):", camel(&interface.name));
    docs(text, "    ", &interface.docs);
    for function in &interface.functions {
        let params = function.params.iter();
        let params = params.map(|param| {
            format!("{}: {}", word(&param.name), python(contract, &param.kind).replace("list[", "Sequence["))
        });
        let mut params: Vec<String> = std::iter::once("self".to_owned()).chain(params).collect();
        if params.len() > 1 {
            params.push("/".to_owned());
        }
        let result = function.result.as_ref().map_or_else(|| "None".into(), |kind| python(contract, kind));
        let _ = writeln!(text, "    def {}({}) -> {result}:", word(&function.name), params.join(", "));
        docs(text, "        ", &function.docs);
        text.push_str("        ...\n");
    }
}

fn name(definition: &TypeDef) -> String {
    format!("{}{}", camel(&definition.interface), camel(&definition.name))
}

/// A name, apart from the words of Python.
fn word(name: &str) -> String {
    match name {
        "class" | "from" | "in" | "not" | "and" | "or" => format!("{}_", snake(name)),
        _ => snake(name),
    }
}

/// A type in Python.
fn python(contract: &Contract, kind: &Kind) -> String {
    match kind {
        Kind::Bool => "bool".into(),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64 => "int".into(),
        Kind::String => "str".into(),
        Kind::List(inner) if **inner == Kind::U8 => "bytes".into(),
        Kind::List(inner) => format!("list[{}]", python(contract, inner)),
        Kind::Option(inner) => format!("{} | None", python(contract, inner)),
        Kind::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(|kind| python(contract, kind)).collect();
            format!("tuple[{}]", parts.join(", "))
        }
        // What is an error is raised.
        Kind::Result(ok, _) => ok.as_ref().map_or_else(|| "None".into(), |kind| python(contract, kind)),
        Kind::Named(id) => match contract.definition(*id).body {
            Body::Record(_) => name(contract.definition(*id)),
            Body::Variant(_) | Body::Enum(_) => "Any".into(),
        },
    }
}
