//! Writers of the SDK for Rust, and of the bridge that gives natively compiled predicates the host's facts.
//!
//! ```text
//! facts    facts/functions.rs: the trait of all fact functions
//! columns  columns/{pod,node,cluster,state}.rs: the functions that authors call
//! moments  columns of moments in the fixture and per node
//! bindings what wit-bindgen makes of each world
//! bridge   tests/bench: the same values of the host and of the SDK
//! ```

pub mod bindings;
pub mod bridge;
pub mod columns;
pub mod facts;
pub mod moments;

use crate::model::{Body, Contract, Function, Interface, Kind};
use crate::text::{camel, snake};

/// The functions that the SDK for Rust has: it makes no row sets, because the code of a component compares faster than it calls.
fn functions(contract: &Contract) -> impl Iterator<Item = (&Interface, &Function)> {
    contract.facts().filter(|(interface, function)| !function.makes_rows(interface))
}

/// The name of a parameter.
fn parameter(name: &str) -> String {
    crate::host::sandbox::argument_name(name)
}

/// The name of the method of `Facts`.
fn method(interface: &Interface, function: &Function) -> String {
    format!("{}_{}", snake(&interface.name), snake(&function.name))
}

/// A type of a value, with `path` before the name of a type of the contract.
fn rust(contract: &Contract, kind: &Kind, path: &dyn Fn(&str) -> String) -> String {
    let part = |kind: &Option<Box<Kind>>| kind.as_ref().map_or_else(|| "()".into(), |kind| rust(contract, kind, path));
    match kind {
        Kind::Bool => "bool".into(),
        Kind::U8 => "u8".into(),
        Kind::U16 => "u16".into(),
        Kind::U32 => "u32".into(),
        Kind::U64 => "u64".into(),
        Kind::S32 => "i32".into(),
        Kind::S64 => "i64".into(),
        Kind::String => "String".into(),
        Kind::List(inner) => format!("Vec<{}>", rust(contract, inner, path)),
        Kind::Option(inner) => format!("Option<{}>", rust(contract, inner, path)),
        Kind::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(|kind| rust(contract, kind, path)).collect();
            format!("({})", parts.join(", "))
        }
        Kind::Result(ok, error) => format!("Result<{}, {}>", part(ok), part(error)),
        Kind::Named(id) => {
            let definition = contract.definition(*id);
            format!("{}{}", path(&definition.interface), camel(&definition.name))
        }
    }
}

/// A type of a parameter: what is more than a number is borrowed.
fn borrowed(contract: &Contract, kind: &Kind, path: &dyn Fn(&str) -> String) -> String {
    match kind {
        Kind::String => "&str".into(),
        Kind::List(inner) => format!("&[{}]", rust(contract, inner, path)),
        Kind::Named(id) if !matches!(contract.definition(*id).body, Body::Enum(_)) => {
            format!("&{}", rust(contract, kind, path))
        }
        _ => rust(contract, kind, path),
    }
}

/// The beginning of a function up to its `{`, as rustfmt writes it.
fn signature(begin: &str, params: &[String], result: &str, indent: &str) -> String {
    let one = format!("{indent}{begin}({}){result} {{\n", params.join(", "));
    if one.len() <= 121 {
        return one;
    }
    let lines: String = params.iter().map(|param| format!("{indent}    {param},\n")).collect();
    format!("{indent}{begin}(\n{lines}{indent}){result} {{\n")
}

/// The result of a function with its arrow.
fn result(contract: &Contract, function: &Function, path: &dyn Fn(&str) -> String) -> String {
    function.result.as_ref().map(|kind| format!(" -> {}", rust(contract, kind, path))).unwrap_or_default()
}
