//! The bindings for Go. Values of the contract become values of Go: a list a slice, an option inside of a record a pointer, an option
//! that a function returns a second result.
//!
//! ```text
//! types    facts/types.go
//! native   facts/native.go
//! wasm     facts/wasm.go, export_wasip1.go, scoring/export_wasip1.go
//! memory   the functions of facts/wasm.go that read and write values in memory
//! ```

mod memory;
mod native;
mod types;
mod wasm;

pub use native::native;
pub use types::types;
pub use wasm::{AREA_BYTES, BindingError, export, export_scorer, wasm};

use std::fmt::Write as _;

use crate::model::{Contract, Function, Interface, Kind, TypeId};
use crate::text::{camel, comment};

const MADE: &str = "// Code generated from the contract by `make contract`. DO NOT EDIT.\n";

pub(crate) fn function_name(interface: &Interface, function: &Function) -> String {
    camel(&interface.name) + &camel(&function.name)
}

/// `rows-in` as `rowsIn`, apart from the words of Go.
fn variable(name: &str) -> String {
    match name {
        "type" => "kind".to_owned(),
        _ => crate::text::lower_camel(name),
    }
}

/// The beginning of a function, with its documentation.
fn signature(text: &mut String, contract: &Contract, interface: &Interface, function: &Function) {
    let name = function_name(interface, function);
    let first = format!("{name}: `{}` of {}.", function.name, interface.name);
    text.push('\n');
    comment(text, "//", &[&[first][..], &function.docs].concat());
    let _ = writeln!(text, "func {name}({}){} {{", parameters(contract, function), results(contract, function));
}

pub(crate) fn parameters(contract: &Contract, function: &Function) -> String {
    let given = function.params.iter().map(|given| format!("{} {}", variable(&given.name), go(contract, &given.kind)));
    given.collect::<Vec<_>>().join(", ")
}

pub(crate) fn results(contract: &Contract, function: &Function) -> String {
    match &function.result {
        None => String::new(),
        Some(Kind::Option(inner)) => format!(" ({}, bool)", go(contract, inner)),
        Some(kind) => format!(" {}", go(contract, kind)),
    }
}

fn type_name(contract: &Contract, id: TypeId) -> String {
    let definition = contract.definition(id);
    camel(&definition.interface) + &camel(&definition.name)
}

/// A type in Go.
pub(crate) fn go(contract: &Contract, kind: &Kind) -> String {
    let part = |kind: &Option<Box<Kind>>| kind.as_ref().map_or_else(|| "struct{}".into(), |kind| go(contract, kind));
    match kind {
        Kind::Bool => "bool".into(),
        Kind::U8 => "uint8".into(),
        Kind::U16 => "uint16".into(),
        Kind::U32 => "uint32".into(),
        Kind::U64 => "uint64".into(),
        Kind::S32 => "int32".into(),
        Kind::S64 => "int64".into(),
        Kind::String => "string".into(),
        Kind::List(inner) => format!("[]{}", go(contract, inner)),
        Kind::Option(inner) => format!("*{}", go(contract, inner)),
        Kind::Tuple(parts) => {
            let names: Vec<String> = parts.iter().map(|kind| go(contract, kind)).collect();
            format!("Tuple{}[{}]", names.len(), names.join(", "))
        }
        Kind::Result(ok, error) => format!("Result[{}, {}]", part(ok), part(error)),
        Kind::Named(id) => type_name(contract, *id),
    }
}
