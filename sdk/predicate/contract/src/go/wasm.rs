//! The functions in a component: imported from the host, and exported to it.

use std::fmt::Write as _;

use super::memory::{is_stored, lifted, loaders, stored_list, storer};
use super::{MADE, function_name, go, signature, variable};
use crate::model::{Body, Contract, Function, Kind};
use crate::text::camel;

/// Bytes of `area` in `facts/memory.go`, where functions return what is more than a number.
pub const AREA_BYTES: usize = 32 * 8;

/// Why the contract cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    /// A parameter that cannot be passed to the host.
    #[error("{0} has a parameter of a kind that cannot be passed to the host from Go")]
    Parameter(String),
    /// A value that is too large for the place of returned values.
    #[error("{0} returns {1} bytes: make `area` in facts/memory.go larger")]
    Area(String, usize),
    /// There is not one interface that a predicate exports, or that a scorer exports beside it.
    #[error("a world exports one interface, and not {0}")]
    Exports(usize),
}

/// A parameter as core values.
#[derive(Default)]
struct Lowered {
    /// Names and types of the core values.
    flat: Vec<String>,
    arguments: Vec<String>,
    /// Statements before the call.
    prepared: String,
}

/// `facts/wasm.go`.
///
/// # Errors
///
/// Where a function takes what cannot be passed, or returns too much.
pub fn wasm(contract: &Contract) -> Result<String, BindingError> {
    let mut text = format!("{MADE}\n//go:build wasip1\n\npackage facts\n\nimport (\n\t\"runtime\"\n\t\"unsafe\"\n)\n");
    for (interface, function) in contract.functions() {
        let name = function_name(interface, function);
        let is_in_memory = contract.returns_in_memory(function);
        let mut lowered = Lowered::default();
        let mut kept = String::new();
        for given in &function.params {
            if !lower(contract, &given.kind, &variable(&given.name), &mut lowered) {
                return Err(BindingError::Parameter(format!("{}.{}", interface.name, function.name)));
            }
            if refers_to_memory(contract, &given.kind) {
                let _ = writeln!(kept, "\truntime.KeepAlive({})", variable(&given.name));
            }
        }
        let Lowered { mut flat, mut arguments, prepared } = lowered;
        if is_in_memory {
            flat.push("result unsafe.Pointer".into());
            arguments.push("unsafe.Pointer(&area)".into());
        }
        let direct = function.result.as_ref().filter(|_| !is_in_memory);
        let wide = direct.map(|kind| format!(" {}", flat_type(kind))).unwrap_or_default();
        let import = format!("import{name}");
        let _ = writeln!(
            text,
            "\n//go:wasmimport {} {}\nfunc {import}({}){wide}",
            contract.full_name(interface),
            function.name,
            flat.join(", ")
        );
        signature(&mut text, contract, interface, function);
        text.push_str(&prepared);
        text.push_str(&called(contract, function, &format!("{import}({})", arguments.join(", ")))?);
        text.push_str(&kept);
        if is_in_memory || !prepared.is_empty() {
            text.push_str("\tunpin()\n");
        }
        match &function.result {
            None => {}
            Some(kind) if !is_in_memory => {
                let _ = writeln!(text, "\treturn {}", from_flat(contract, kind, "result"));
            }
            Some(Kind::Option(_)) => text.push_str("\treturn result, isSome\n"),
            Some(_) => text.push_str("\treturn result\n"),
        }
        text.push_str("}\n");
    }
    loaders(&mut text, contract, |text, id| {
        if is_stored(contract, id) {
            storer(text, contract, id);
        }
    });
    Ok(text)
}

/// The call, and what becomes of its result.
fn called(contract: &Contract, function: &Function, call: &str) -> Result<String, BindingError> {
    match &function.result {
        None => Ok(format!("\t{call}\n")),
        Some(_) if !contract.returns_in_memory(function) => Ok(format!("\tresult := {call}\n")),
        Some(kind) => {
            let size = contract.size(kind);
            if size > AREA_BYTES {
                return Err(BindingError::Area(function.name.clone(), size));
            }
            Ok(format!("\t{call}\n{}", lifted(contract, kind)))
        }
    }
}

/// `export_wasip1.go`: the exported functions, under the names of this version.
///
/// # Errors
///
/// Where not one interface is exported.
pub fn export(contract: &Contract) -> Result<String, BindingError> {
    let [predicate] = &contract.exports[..] else { return Err(BindingError::Exports(contract.exports.len())) };
    let name = contract.full_name(predicate);
    Ok(format!(
        "{MADE}\n//go:build wasip1\n\npackage nodesift\n\nimport \"unsafe\"\n\n\
         //go:wasmexport {name}#describe\nfunc exportDescribe() unsafe.Pointer {{\n\treturn describe()\n}}\n\n\
         //go:wasmexport {name}#configure\nfunc exportConfigure(text unsafe.Pointer, length uint32) unsafe.Pointer {{\n\
         \treturn configure(text, length)\n}}\n\n\
         //go:wasmexport {name}#filter\nfunc exportFilter(rows uint32) unsafe.Pointer {{\n\treturn filter(rows)\n}}\n"
    ))
}

/// `scoring/export_wasip1.go`: the functions that a scorer exports beside those of a predicate.
///
/// # Errors
///
/// Where a scorer does not export one interface.
pub fn export_scorer(contract: &Contract) -> Result<String, BindingError> {
    let [scorer] = &contract.scoring[..] else { return Err(BindingError::Exports(contract.scoring.len())) };
    let name = contract.full_name(scorer);
    Ok(format!(
        "{MADE}\n//go:build wasip1\n\npackage scoring\n\n\
         import (\n\t\"unsafe\"\n\n\t\"github.com/nodesift/nodesift/sdk/predicate/go/internal/scorer\"\n)\n\n\
         //go:wasmexport {name}#normalize-by\nfunc exportNormalizeBy() uint32 {{\n\treturn scorer.NormalizeBy()\n}}\n\n\
         //go:wasmexport {name}#score\nfunc exportScore(rows uint32) unsafe.Pointer {{\n\treturn scorer.Score(rows)\n}}\n"
    ))
}

/// A type of one core value, as a function of the host takes or returns it.
fn flat_type(kind: &Kind) -> &'static str {
    match kind {
        Kind::S32 => "int32",
        Kind::S64 => "int64",
        Kind::U64 => "uint64",
        _ => "uint32",
    }
}

fn from_flat(contract: &Contract, kind: &Kind, value: &str) -> String {
    match kind {
        Kind::Bool => format!("{value} != 0"),
        Kind::U32 | Kind::S32 | Kind::S64 | Kind::U64 => value.into(),
        _ => format!("{}({value})", go(contract, kind)),
    }
}

/// Whether a value refers to memory, which has to live as long as a call.
fn refers_to_memory(contract: &Contract, kind: &Kind) -> bool {
    match kind {
        Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64 => false,
        _ => !contract.is_enum(kind),
    }
}

/// Adds a parameter; false for one that cannot be passed.
fn lower(contract: &Contract, kind: &Kind, value: &str, lowered: &mut Lowered) -> bool {
    let name = format!("a{}", lowered.flat.len());
    match kind {
        Kind::String | Kind::Bool | Kind::U32 | Kind::S32 | Kind::S64 => {
            lowered.flat.push(format!("{name} {}", go(contract, kind)));
            lowered.arguments.push(value.into());
        }
        Kind::List(inner) => {
            lowered.flat.push(format!("{name} unsafe.Pointer"));
            lowered.flat.push(format!("{name}Length uint32"));
            let _ = writeln!(lowered.prepared, "\t{name} := {}", stored_list(contract, inner, value));
            lowered.arguments.push(name);
            lowered.arguments.push(format!("uint32(len({value}))"));
        }
        Kind::Named(id) => match &contract.definition(*id).body {
            Body::Enum(_) => {
                lowered.flat.push(format!("{name} uint32"));
                lowered.arguments.push(format!("uint32({value})"));
            }
            Body::Record(fields) => {
                return fields
                    .iter()
                    .all(|field| lower(contract, &field.kind, &format!("{value}.{}", camel(&field.name)), lowered));
            }
            Body::Variant(_) => return false,
        },
        _ => return false,
    }
    true
}
