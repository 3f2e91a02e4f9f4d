//! The functions that read values of the host from memory, and write values for it there.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{go, type_name};
use crate::model::{Body, Contract, Function, Kind, TypeId};
use crate::text::camel;

/// Reads what a function has returned through `area`, into `result`.
pub(super) fn lifted(contract: &Contract, kind: &Kind) -> String {
    let mut text = String::from("\tp := unsafe.Pointer(&area)\n");
    if let Kind::Option(inner) = kind {
        let _ = writeln!(text, "\tvar result {}", go(contract, inner));
        text.push_str("\tisSome := load[uint8](p, 0) != 0\n");
        let value = loaded(contract, inner, contract.payload([None, Some(&**inner)]));
        let _ = writeln!(text, "\tif isSome {{\n\t\tresult = {value}\n\t}}");
    } else {
        let _ = writeln!(text, "\tresult := {}", loaded(contract, kind, 0));
    }
    text
}

/// An expression that reads a value at `p` and an offset.
fn loaded(contract: &Contract, kind: &Kind, at: usize) -> String {
    let plain = || format!("load[{}](p, {at})", go(contract, kind));
    match kind {
        Kind::Bool => format!("load[uint8](p, {at}) != 0"),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64 => plain(),
        Kind::String => format!("loadString(p, {at})"),
        Kind::List(inner) => match &**inner {
            Kind::String => format!("loadStrings(p, {at})"),
            Kind::U8 | Kind::U32 | Kind::S64 => format!("loadColumn[{}](p, {at})", go(contract, inner)),
            _ => format!("loadList(p, {at}, {}, {})", contract.size(inner), load_function(contract, inner)),
        },
        Kind::Option(inner) => {
            let payload = contract.payload([None, Some(&**inner)]);
            format!("loadOption(p, {at}, {payload}, {})", load_function(contract, inner))
        }
        Kind::Result(ok, error) => {
            let payload = contract.payload([ok.as_deref(), error.as_deref()]);
            let function = |kind: &Option<Box<Kind>>| {
                kind.as_ref().map_or_else(|| "loadNothing".to_owned(), |kind| load_function(contract, kind))
            };
            format!("loadResult(p, {at}, {payload}, {}, {})", function(ok), function(error))
        }
        Kind::Tuple(parts) => {
            let offsets = contract.offsets(parts);
            let parts = parts.iter().zip(offsets).map(|(kind, offset)| loaded(contract, kind, at + offset));
            format!("{}{{{}}}", go(contract, kind), parts.collect::<Vec<_>>().join(", "))
        }
        Kind::Named(_) if contract.is_enum(kind) => plain(),
        Kind::Named(id) => format!("load{}(p, {at})", type_name(contract, *id)),
    }
}

/// A function of an address and an offset that reads a value there.
fn load_function(contract: &Contract, kind: &Kind) -> String {
    match kind {
        Kind::String => "loadString".into(),
        Kind::List(inner) if **inner == Kind::String => "loadStrings".into(),
        Kind::Named(id) if !contract.is_enum(kind) => format!("load{}", type_name(contract, *id)),
        Kind::List(_) | Kind::Option(_) | Kind::Tuple(_) | Kind::Result(..) | Kind::Bool => {
            format!("load{}", stem(contract, kind))
        }
        _ => format!("load[{}]", go(contract, kind)),
    }
}

/// The name of a type that has none in the contract.
fn stem(contract: &Contract, kind: &Kind) -> String {
    match kind {
        Kind::List(inner) => format!("ListOf{}", stem(contract, inner)),
        Kind::Tuple(parts) => {
            let names: String = parts.iter().map(|kind| stem(contract, kind)).collect();
            format!("Tuple{}Of{names}", parts.len())
        }
        Kind::Option(inner) => format!("OptionOf{}", stem(contract, inner)),
        Kind::Named(id) => type_name(contract, *id),
        _ => camel(&go(contract, kind)),
    }
}

/// The functions that read and write records and variants, each where a function of the contract needs it; `store` writes the latter.
pub(super) fn loaders(text: &mut String, contract: &Contract, store: impl Fn(&mut String, TypeId)) {
    for id in contract.imports.iter().flat_map(|interface| &interface.own_types) {
        if is_loaded(contract, *id) {
            loader(text, contract, *id);
        }
        store(text, *id);
    }
    let mut known = BTreeSet::new();
    for kind in &contract.unnamed {
        let name = format!("load{}", stem(contract, kind));
        if text.contains(&format!(" {name}")) && known.insert(name.clone()) {
            let _ = writeln!(
                text,
                "\nfunc {name}(p unsafe.Pointer, at uintptr) {} {{\n\tp = unsafe.Add(p, at)\n\treturn {}\n}}",
                go(contract, kind),
                loaded(contract, kind, 0)
            );
        }
    }
}

/// The function that reads a record or variant.
fn loader(text: &mut String, contract: &Contract, id: TypeId) {
    let name = type_name(contract, id);
    let _ = writeln!(text, "\nfunc load{name}(p unsafe.Pointer, at uintptr) {name} {{\n\tp = unsafe.Add(p, at)");
    match &contract.definition(id).body {
        Body::Record(fields) => {
            let offsets = contract.offsets(fields.iter().map(|field| &field.kind));
            let _ = writeln!(text, "\treturn {name}{{");
            let width = fields.iter().map(|field| camel(&field.name).len() + 1).max().unwrap_or_default();
            for (field, offset) in fields.iter().zip(offsets) {
                let label = camel(&field.name) + ":";
                let _ = writeln!(text, "\t\t{label:width$} {},", loaded(contract, &field.kind, offset));
            }
            text.push_str("\t}\n}\n");
        }
        Body::Variant(cases) | Body::Enum(cases) => {
            let payload = contract.payload(cases.iter().map(|case| case.kind.as_ref()));
            let _ = writeln!(text, "\tvar value {name}\n\tswitch load[uint8](p, 0) {{");
            for (index, case) in cases.iter().enumerate() {
                let (field, _) = (camel(&case.name), writeln!(text, "\tcase {index}:"));
                let _ = match &case.kind {
                    None => writeln!(text, "\t\tvalue.{field} = true"),
                    Some(kind) => {
                        let given = loaded(contract, kind, payload);
                        writeln!(text, "\t\tgiven := {given}\n\t\tvalue.{field} = &given")
                    }
                };
            }
            text.push_str("\t}\n\treturn value\n}\n");
        }
    }
}

pub(super) fn stored_list(contract: &Contract, inner: &Kind, value: &str) -> String {
    match inner {
        Kind::String => format!("lowerStrings({value})"),
        _ => format!("lowerList({value}, {}, {})", contract.size(inner), store_function(contract, inner)),
    }
}

fn store_function(contract: &Contract, kind: &Kind) -> String {
    match kind {
        Kind::List(inner) if **inner == Kind::String => "storeStrings".into(),
        Kind::Named(id) => format!("store{}", type_name(contract, *id)),
        _ => format!("store{}", stem(contract, kind)),
    }
}

/// The function that writes a record.
pub(super) fn storer(text: &mut String, contract: &Contract, id: TypeId) {
    let name = type_name(contract, id);
    let Body::Record(fields) = &contract.definition(id).body else { return };
    let _ = writeln!(text, "\nfunc store{name}(p unsafe.Pointer, value {name}) {{");
    let offsets = contract.offsets(fields.iter().map(|field| &field.kind));
    for (field, offset) in fields.iter().zip(offsets) {
        stored(text, contract, &field.kind, &format!("value.{}", camel(&field.name)), offset, "\t");
    }
    text.push_str("}\n");
}

fn stored(text: &mut String, contract: &Contract, kind: &Kind, value: &str, at: usize, indent: &str) {
    let _ = match kind {
        Kind::String => writeln!(text, "{indent}storeString(p, {at}, {value})"),
        Kind::Named(_) if contract.is_enum(kind) => writeln!(text, "{indent}store(p, {at}, uint8({value}))"),
        Kind::List(inner) => {
            let list = stored_list(contract, inner, value);
            writeln!(text, "{indent}storeList(p, {at}, {list}, len({value}))")
        }
        Kind::Option(inner) => {
            let _ = writeln!(text, "{indent}if {value} != nil {{\n{indent}\tstore(p, {at}, uint8(1))");
            let payload = at + contract.payload([None, Some(&**inner)]);
            stored(text, contract, inner, &format!("(*{value})"), payload, &format!("{indent}\t"));
            writeln!(text, "{indent}}}")
        }
        _ => writeln!(text, "{indent}store(p, {at}, {value})"),
    };
}

/// Whether a function reads values of this record or variant.
fn is_loaded(contract: &Contract, id: TypeId) -> bool {
    let used = |function: &Function| function.result.as_ref().is_some_and(|kind| holds(contract, kind, id));
    !contract.is_enum(&Kind::Named(id)) && contract.functions().any(|(_, function)| used(function))
}

/// Whether a function takes lists of this record.
pub(super) fn is_stored(contract: &Contract, id: TypeId) -> bool {
    let is_in_list = |kind: &Kind| matches!(kind, Kind::List(inner) if holds(contract, inner, id));
    matches!(contract.definition(id).body, Body::Record(_))
        && contract.functions().any(|(_, function)| function.params.iter().any(|given| is_in_list(&given.kind)))
}

/// Whether values of a type hold values of the type `id`.
fn holds(contract: &Contract, kind: &Kind, id: TypeId) -> bool {
    match kind {
        Kind::List(inner) | Kind::Option(inner) => holds(contract, inner, id),
        Kind::Tuple(parts) => parts.iter().any(|kind| holds(contract, kind, id)),
        Kind::Result(ok, error) => [ok, error].into_iter().flatten().any(|kind| holds(contract, kind, id)),
        Kind::Named(of) => {
            *of == id
                || match &contract.definition(*of).body {
                    Body::Record(fields) => fields.iter().any(|field| holds(contract, &field.kind, id)),
                    Body::Variant(cases) | Body::Enum(cases) => {
                        cases.iter().filter_map(|case| case.kind.as_ref()).any(|kind| holds(contract, kind, id))
                    }
                }
        }
        _ => false,
    }
}
