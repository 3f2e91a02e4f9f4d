//! Types for JavaScript and TypeScript: records are objects, an option is the value or null, an enum its text, a variant an object with
//! `tag` and `val`.

use std::fmt::Write as _;

use crate::model::{Body, Contract, Kind, Part, TypeDef};
use crate::text::{camel, lower_camel};

/// The file `types/contract.d.ts`: every type and fact function of the contract, in TypeScript.
#[must_use]
pub fn types(contract: &Contract) -> String {
    let mut text = String::from(
        "// Made from the contract by `make contract`; not to be edited.\n\
         /** Every type and function of the contract, as `facts(name)` gives them. */\n\n",
    );
    for interface in &contract.imports {
        for id in &interface.own_types {
            definition(&mut text, contract, contract.definition(*id));
        }
    }
    text.push_str("/** The functions of each interface. */\nexport interface Contract {\n");
    for interface in contract.facts().map(|(interface, _)| interface).fold(Vec::new(), |mut known, interface| {
        if known.last().is_none_or(|last: &&crate::model::Interface| last.name != interface.name) {
            known.push(interface);
        }
        known
    }) {
        docs(&mut text, "  ", &interface.docs);
        let _ = writeln!(text, "  '{}': {{", interface.name);
        for function in &interface.functions {
            docs(&mut text, "    ", &function.docs);
            let params: Vec<String> = function.params.iter().map(|param| part(contract, param, false)).collect();
            let result = function.result.as_ref().map_or_else(|| "void".into(), |kind| ts(contract, kind));
            let _ = writeln!(text, "    {}({}): {result};", lower_camel(&function.name), params.join(", "));
        }
        text.push_str("  };\n");
    }
    text.push_str("}\n");
    text
}

fn docs(text: &mut String, indent: &str, lines: &[String]) {
    match lines {
        [] => {}
        [line] => {
            let _ = writeln!(text, "{indent}/** {line} */");
        }
        lines => {
            let _ = writeln!(text, "{indent}/**");
            for line in lines {
                let _ = writeln!(text, "{}", format!("{indent} * {line}").trim_end());
            }
            let _ = writeln!(text, "{indent} */");
        }
    }
}

/// A field or parameter. An option inside of a record can be left out.
fn part(contract: &Contract, part: &Part, may_be_left_out: bool) -> String {
    let mark = if may_be_left_out && matches!(part.kind, Kind::Option(_)) { "?" } else { "" };
    format!("{}{mark}: {}", lower_camel(&part.name), ts(contract, &part.kind))
}

fn definition(text: &mut String, contract: &Contract, definition: &TypeDef) {
    docs(text, "", &definition.docs);
    let name = name(definition);
    match &definition.body {
        Body::Record(fields) => {
            let _ = writeln!(text, "export interface {name} {{");
            for field in fields {
                docs(text, "  ", &field.docs);
                let _ = writeln!(text, "  readonly {};", part(contract, field, true));
            }
            text.push_str("}\n\n");
        }
        Body::Variant(cases) | Body::Enum(cases) => {
            let _ = write!(text, "export type {name} =");
            for case in cases {
                let value = case.kind.as_ref().map(|kind| format!("; readonly val: {}", ts(contract, kind)));
                let _ = match &definition.body {
                    Body::Enum(_) => write!(text, "\n  | '{}'", case.name),
                    _ => write!(text, "\n  | {{ readonly tag: '{}'{} }}", case.name, value.unwrap_or_default()),
                };
            }
            text.push_str(";\n\n");
        }
    }
}

fn name(definition: &TypeDef) -> String {
    camel(&definition.interface) + &camel(&definition.name)
}

/// A type in TypeScript.
fn ts(contract: &Contract, kind: &Kind) -> String {
    match kind {
        Kind::Bool => "boolean".into(),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::S32 | Kind::S64 => "number".into(),
        Kind::U64 => "number | bigint".into(),
        Kind::String => "string".into(),
        Kind::List(inner) if **inner == Kind::U8 => "Uint8Array".into(),
        Kind::List(inner) => match ts(contract, inner) {
            union if union.contains(' ') && !union.starts_with("readonly [") => format!("readonly ({union})[]"),
            plain if plain.starts_with("readonly ") => format!("readonly ({plain})[]"),
            plain => format!("readonly {plain}[]"),
        },
        Kind::Option(inner) => format!("{} | null", ts(contract, inner)),
        Kind::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(|kind| ts(contract, kind)).collect();
            format!("readonly [{}]", parts.join(", "))
        }
        // What is an error is thrown.
        Kind::Result(ok, _) => ok.as_ref().map_or_else(|| "void".into(), |kind| ts(contract, kind)),
        Kind::Named(id) => name(contract.definition(*id)),
    }
}
