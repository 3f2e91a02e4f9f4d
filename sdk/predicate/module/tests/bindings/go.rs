//! The bindings for Go. Values of the contract become values of Go: a list a slice, an option inside of a record a pointer, an option
//! that a function returns a second result. Start at [`types`] and [`wasm`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use wit_parser::{Function, InterfaceId, Type, TypeDefKind, TypeId};

use crate::model::{Model, camel, doc_lines, lower_camel};

/// Bytes of `area` in `facts/memory.go`, where functions return what is more than a number.
pub(crate) const AREA_BYTES: usize = 32 * 8;

const MADE: &str = "// Code generated from the contract by the test `bindings` of nodesift-module. DO NOT EDIT.\n";

/// The types of all interfaces, for both builds.
pub(crate) fn types(model: &Model) -> String {
    let mut text = format!("{MADE}\npackage facts\n");
    for interface in &model.imports {
        for id in model.own_types(*interface) {
            let name = type_name(model, id);
            let docs = doc_lines(&model.resolve.types[id].docs);
            text.push('\n');
            comment(
                &mut text,
                "",
                &[
                    &[format!("{name}: the type `{}` of {}.", own(model, id), model.name(*interface))][..],
                    &owned(&docs),
                ]
                .concat(),
            );
            match model.kind(id) {
                TypeDefKind::Record(record) => {
                    let fields = record
                        .fields
                        .iter()
                        .map(|field| (doc_lines(&field.docs), camel(&field.name), go(model, &field.ty)));
                    structure(&mut text, &name, &fields.collect::<Vec<_>>());
                }
                TypeDefKind::Variant(variant) => {
                    let fields = variant.cases.iter().map(|case| {
                        let kind =
                            case.ty.as_ref().map_or_else(|| "bool".into(), |kind| format!("*{}", go(model, kind)));
                        (doc_lines(&case.docs), camel(&case.name), kind)
                    });
                    structure(&mut text, &name, &fields.collect::<Vec<_>>());
                }
                TypeDefKind::Enum(cases) => {
                    let _ = writeln!(text, "type {name} uint8\n\n// The values of {name}.\nconst (");
                    for (index, case) in cases.cases.iter().enumerate() {
                        comment(&mut text, "\t", &owned(&doc_lines(&case.docs)));
                        let first = if index == 0 { format!(" {name} = iota") } else { String::new() };
                        let _ = writeln!(text, "\t{name}{}{first}", camel(&case.name));
                    }
                    text.push_str(")\n");
                }
                other => panic!("{name} is {}", other.as_str()),
            }
        }
    }
    text
}

/// The functions for tests, which are given by a test.
pub(crate) fn native(model: &Model) -> String {
    let mut text = format!("{MADE}\n//go:build !wasip1\n\npackage facts\n\n");
    text.push_str("// Host holds the functions of the contract that a test gives.\ntype Host struct {\n");
    for (interface, function) in functions(model) {
        let name = function_name(model, interface, function);
        // The name of the function after its comment ends a run of aligned lines.
        let _ = writeln!(text, "\t// {name}: `{}` of {}.", function.name, model.name(interface));
        let _ = writeln!(text, "\t{name} func({}){}", parameters(model, function), results(model, function));
    }
    text.push_str("}\n");
    for (interface, function) in functions(model) {
        let name = function_name(model, interface, function);
        signature(&mut text, model, interface, function);
        let _ = writeln!(
            text,
            "\tif host.{name} == nil {{\n\t\tpanic(missing({:?}, {:?}))\n\t}}",
            model.name(interface),
            function.name
        );
        let arguments: Vec<String> = function.params.iter().map(|given| lower_camel(&given.name)).collect();
        let returned = if function.result.is_some() { "return " } else { "" };
        let _ = writeln!(text, "\t{returned}host.{name}({})\n}}", arguments.join(", "));
    }
    text
}

/// The functions in a component, which are imported.
pub(crate) fn wasm(model: &Model) -> String {
    let mut text = format!("{MADE}\n//go:build wasip1\n\npackage facts\n\nimport (\n\t\"runtime\"\n\t\"unsafe\"\n)\n");
    for (interface, function) in functions(model) {
        let name = function_name(model, interface, function);
        let core = model.signature(function);
        let mut flat: Vec<String> = Vec::new();
        let mut arguments: Vec<String> = Vec::new();
        let mut prepared = String::new();
        let mut kept = String::new();
        for given in &function.params {
            lower(model, &given.ty, &lower_camel(&given.name), &mut flat, &mut arguments, &mut prepared);
            if is_in_memory(model, &given.ty) {
                let _ = writeln!(kept, "\truntime.KeepAlive({})", lower_camel(&given.name));
            }
        }
        if core.retptr {
            flat.push("result unsafe.Pointer".into());
            arguments.push("unsafe.Pointer(&area)".into());
        }
        let direct = match (&function.result, core.retptr) {
            (Some(kind), false) => Some(kind),
            _ => None,
        };
        let wide = direct.map(|kind| format!(" {}", flat_type(model, kind))).unwrap_or_default();
        let import = format!("import{name}");
        let _ = writeln!(
            text,
            "\n//go:wasmimport {} {}\nfunc {import}({}){wide}",
            model.full_name(interface),
            function.name,
            flat.join(", ")
        );
        signature(&mut text, model, interface, function);
        text.push_str(&prepared);
        let call = format!("{import}({})", arguments.join(", "));
        match (&function.result, core.retptr) {
            (None, _) => {
                let _ = writeln!(text, "\t{call}");
            }
            (Some(_), false) => {
                let _ = writeln!(text, "\tresult := {call}");
            }
            (Some(kind), true) => {
                let size = model.size(kind);
                assert!(size <= AREA_BYTES, "{name} returns {size} bytes: make `area` in facts/memory.go larger");
                let _ = writeln!(text, "\t{call}");
                text.push_str(&lifted(model, kind));
            }
        }
        text.push_str(&kept);
        if core.retptr || !prepared.is_empty() {
            text.push_str("\tunpin()\n");
        }
        match (&function.result, core.retptr) {
            (None, _) => {}
            (Some(kind), false) => {
                let _ = writeln!(text, "\treturn {}", from_flat(model, kind, "result"));
            }
            (Some(kind), true) => {
                text.push_str(if option(model, kind).is_some() {
                    "\treturn result, isSome\n"
                } else {
                    "\treturn result\n"
                });
            }
        }
        text.push_str("}\n");
    }
    for interface in &model.imports {
        for id in model.own_types(*interface) {
            if is_loaded(model, id) {
                loader(&mut text, model, id);
            }
            if is_stored(model, id) {
                storer(&mut text, model, id);
            }
        }
    }
    loaders_of_unnamed(&mut text, model);
    text
}

/// The exported functions, under the names of this version.
pub(crate) fn export(model: &Model) -> String {
    let [predicate] = model.exports[..] else { panic!("one interface is exported") };
    let name = model.full_name(predicate);
    format!(
        "{MADE}\n//go:build wasip1\n\npackage nodesift\n\nimport \"unsafe\"\n\n\
         //go:wasmexport {name}#describe\nfunc exportDescribe() unsafe.Pointer {{\n\treturn describe()\n}}\n\n\
         //go:wasmexport {name}#configure\nfunc exportConfigure(text unsafe.Pointer, length uint32) unsafe.Pointer {{\n\
         \treturn configure(text, length)\n}}\n\n\
         //go:wasmexport {name}#filter\nfunc exportFilter(rows uint32) unsafe.Pointer {{\n\treturn filter(rows)\n}}\n"
    )
}

fn functions(model: &Model) -> Vec<(InterfaceId, &Function)> {
    let of =
        |id: &InterfaceId| model.interface(*id).functions.values().map(|function| (*id, function)).collect::<Vec<_>>();
    model.imports.iter().flat_map(of).collect()
}

fn function_name(model: &Model, interface: InterfaceId, function: &Function) -> String {
    camel(model.name(interface)) + &camel(&function.name)
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn comment(text: &mut String, indent: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "{}", format!("{indent}// {line}").trim_end());
    }
}

/// A structure as gofmt writes it: types are aligned in each run of lines without a comment.
fn structure(text: &mut String, name: &str, fields: &[(Vec<&str>, String, String)]) {
    let _ = writeln!(text, "type {name} struct {{");
    let mut left = fields;
    while !left.is_empty() {
        let run = 1 + left[1..].iter().take_while(|(docs, ..)| docs.is_empty()).count();
        comment(text, "\t", &owned(&left[0].0));
        let width = left[..run].iter().map(|(_, name, _)| name.len()).max().unwrap_or_default();
        for (_, name, kind) in &left[..run] {
            let _ = writeln!(text, "\t{name:width$} {kind}");
        }
        left = &left[run..];
    }
    text.push_str("}\n");
}

fn signature(text: &mut String, model: &Model, interface: InterfaceId, function: &Function) {
    let name = function_name(model, interface, function);
    let docs = owned(&doc_lines(&function.docs));
    text.push('\n');
    comment(text, "", &[&[format!("{name}: `{}` of {}.", function.name, model.name(interface))][..], &docs].concat());
    let _ = writeln!(text, "func {name}({}){} {{", parameters(model, function), results(model, function));
}

fn parameters(model: &Model, function: &Function) -> String {
    let given = function.params.iter().map(|given| format!("{} {}", lower_camel(&given.name), go(model, &given.ty)));
    given.collect::<Vec<_>>().join(", ")
}

fn results(model: &Model, function: &Function) -> String {
    match &function.result {
        None => String::new(),
        Some(kind) => match option(model, kind) {
            Some(inner) => format!(" ({}, bool)", go(model, inner)),
            None => format!(" {}", go(model, kind)),
        },
    }
}

/// Returns the type inside an `option`; `None` for any other type.
fn option<'a>(model: &'a Model, kind: &Type) -> Option<&'a Type> {
    let Type::Id(id) = kind else { return None };
    match model.kind(*id) {
        TypeDefKind::Option(inner) => Some(inner),
        _ => None,
    }
}

fn own(model: &Model, id: TypeId) -> String {
    model.type_name(id).unwrap().1.to_owned()
}

fn type_name(model: &Model, id: TypeId) -> String {
    let (interface, name) = model.type_name(id).unwrap();
    camel(interface) + &camel(name)
}

/// A type in Go.
fn go(model: &Model, kind: &Type) -> String {
    match kind {
        Type::Bool => "bool".into(),
        Type::U8 => "uint8".into(),
        Type::U16 => "uint16".into(),
        Type::U32 => "uint32".into(),
        Type::U64 => "uint64".into(),
        Type::S32 => "int32".into(),
        Type::S64 => "int64".into(),
        Type::String => "string".into(),
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::List(inner) => format!("[]{}", go(model, inner)),
            TypeDefKind::Option(inner) => format!("*{}", go(model, inner)),
            TypeDefKind::Tuple(tuple) => {
                let parts: Vec<String> = tuple.types.iter().map(|kind| go(model, kind)).collect();
                format!("Tuple{}[{}]", parts.len(), parts.join(", "))
            }
            TypeDefKind::Result(result) => {
                let of = |kind: &Option<Type>| go(model, kind.as_ref().unwrap());
                format!("Result[{}, {}]", of(&result.ok), of(&result.err))
            }
            _ => type_name(model, *id),
        },
        other => panic!("{other:?}"),
    }
}

/// A type of one core value, as a function of the host takes or returns it.
fn flat_type(model: &Model, kind: &Type) -> &'static str {
    match kind {
        Type::S32 => "int32",
        Type::S64 => "int64",
        Type::Bool | Type::U8 | Type::U32 => "uint32",
        Type::Id(id) if matches!(model.kind(*id), TypeDefKind::Enum(_)) => "uint32",
        other => panic!("{other:?}"),
    }
}

fn from_flat(model: &Model, kind: &Type, value: &str) -> String {
    match kind {
        Type::Bool => format!("{value} != 0"),
        Type::U32 | Type::S32 | Type::S64 => value.into(),
        _ => format!("{}({value})", go(model, kind)),
    }
}

/// Whether a value refers to memory, which has to live as long as a call.
fn is_in_memory(model: &Model, kind: &Type) -> bool {
    match kind {
        Type::String => true,
        Type::Id(id) => !matches!(model.kind(*id), TypeDefKind::Enum(_)),
        _ => false,
    }
}

/// A parameter as core values: their types, the arguments, and statements before the call.
fn lower(
    model: &Model,
    kind: &Type,
    value: &str,
    flat: &mut Vec<String>,
    arguments: &mut Vec<String>,
    prepared: &mut String,
) {
    let name = format!("a{}", flat.len());
    match kind {
        Type::String => {
            flat.push(format!("{name} string"));
            arguments.push(value.into());
        }
        Type::Bool => {
            flat.push(format!("{name} bool"));
            arguments.push(value.into());
        }
        Type::U32 | Type::S32 | Type::S64 => {
            flat.push(format!("{name} {}", go(model, kind)));
            arguments.push(value.into());
        }
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::Enum(_) => {
                flat.push(format!("{name} uint32"));
                arguments.push(format!("uint32({value})"));
            }
            TypeDefKind::Record(record) => {
                for field in &record.fields {
                    lower(model, &field.ty, &format!("{value}.{}", camel(&field.name)), flat, arguments, prepared);
                }
            }
            TypeDefKind::List(inner) => {
                flat.push(format!("{name} unsafe.Pointer"));
                flat.push(format!("{name}Length uint32"));
                let _ = writeln!(prepared, "\t{name} := {}", stored_list(model, inner, value));
                arguments.push(name);
                arguments.push(format!("uint32(len({value}))"));
            }
            other => panic!("a parameter that is {}", other.as_str()),
        },
        other => panic!("{other:?}"),
    }
}

fn stored_list(model: &Model, inner: &Type, value: &str) -> String {
    match inner {
        Type::String => format!("lowerStrings({value})"),
        _ => format!("lowerList({value}, {}, {})", model.size(inner), store_function(model, inner)),
    }
}

/// Reads what a function has returned through `area`, into `result`.
fn lifted(model: &Model, kind: &Type) -> String {
    let mut text = String::from("\tp := unsafe.Pointer(&area)\n");
    if let Some(inner) = option(model, kind) {
        let _ = writeln!(text, "\tvar result {}", go(model, inner));
        text.push_str("\tisSome := load[uint8](p, 0) != 0\n");
        let value = loaded(model, inner, model.payload([None, Some(inner)]));
        let _ = writeln!(text, "\tif isSome {{\n\t\tresult = {value}\n\t}}");
    } else {
        let _ = writeln!(text, "\tresult := {}", loaded(model, kind, 0));
    }
    text
}

/// An expression that reads a value at `p` and an offset.
fn loaded(model: &Model, kind: &Type, at: usize) -> String {
    let plain = || format!("load[{}](p, {at})", go(model, kind));
    match kind {
        Type::Bool => format!("load[uint8](p, {at}) != 0"),
        Type::U8 | Type::U32 | Type::U64 | Type::S32 | Type::S64 => plain(),
        Type::String => format!("loadString(p, {at})"),
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::Enum(_) => plain(),
            TypeDefKind::List(Type::String) => format!("loadStrings(p, {at})"),
            TypeDefKind::List(inner @ (Type::U8 | Type::U32 | Type::S64)) => {
                format!("loadColumn[{}](p, {at})", go(model, inner))
            }
            TypeDefKind::List(inner) => {
                format!("loadList(p, {at}, {}, {})", model.size(inner), load_function(model, inner))
            }
            TypeDefKind::Option(inner) => {
                let payload = model.payload([None, Some(inner)]);
                format!("loadOption(p, {at}, {payload}, {})", load_function(model, inner))
            }
            TypeDefKind::Result(result) => {
                let (ok, err) = (result.ok.as_ref().unwrap(), result.err.as_ref().unwrap());
                let payload = model.payload([Some(ok), Some(err)]);
                format!("loadResult(p, {at}, {payload}, {}, {})", load_function(model, ok), load_function(model, err))
            }
            TypeDefKind::Tuple(tuple) => {
                let offsets = model.offsets(&tuple.types);
                let parts: Vec<String> =
                    tuple.types.iter().zip(offsets).map(|(kind, offset)| loaded(model, kind, at + offset)).collect();
                format!("{}{{{}}}", go(model, kind), parts.join(", "))
            }
            _ => format!("load{}(p, {at})", type_name(model, *id)),
        },
        other => panic!("{other:?}"),
    }
}

/// A function of an address and an offset that reads a value there.
fn load_function(model: &Model, kind: &Type) -> String {
    match kind {
        Type::String => "loadString".into(),
        Type::U32 | Type::S64 | Type::S32 | Type::U8 | Type::U64 => format!("load[{}]", go(model, kind)),
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::Record(_) | TypeDefKind::Variant(_) => format!("load{}", type_name(model, *id)),
            TypeDefKind::Enum(_) => format!("load[{}]", type_name(model, *id)),
            TypeDefKind::List(Type::String) => "loadStrings".into(),
            _ => format!("load{}", stem(model, kind)),
        },
        other => panic!("{other:?}"),
    }
}

/// The name of a type that has none in the contract.
fn stem(model: &Model, kind: &Type) -> String {
    let Type::Id(id) = kind else { return camel(&go(model, kind)) };
    match model.kind(*id) {
        TypeDefKind::List(inner) => format!("ListOf{}", stem(model, inner)),
        TypeDefKind::Tuple(tuple) => {
            let parts: String = tuple.types.iter().map(|kind| stem(model, kind)).collect();
            format!("Tuple{}Of{parts}", tuple.types.len())
        }
        TypeDefKind::Option(inner) => format!("OptionOf{}", stem(model, inner)),
        _ => type_name(model, *id),
    }
}

/// The functions that read values of types without names, as far as `text` calls them.
fn loaders_of_unnamed(text: &mut String, model: &Model) {
    let mut known = BTreeSet::new();
    // A type comes after those that it holds, whose functions it calls.
    for (id, definition) in model.resolve.types.iter().collect::<Vec<_>>().into_iter().rev() {
        let kind = Type::Id(id);
        let is_held = matches!(definition.kind, TypeDefKind::List(_) | TypeDefKind::Option(_) | TypeDefKind::Tuple(_));
        if definition.name.is_some() || !is_held {
            continue;
        }
        let name = format!("load{}", stem(model, &kind));
        if text.contains(&format!(" {name}")) && known.insert(name.clone()) {
            let _ = writeln!(
                text,
                "\nfunc {name}(p unsafe.Pointer, at uintptr) {} {{\n\tp = unsafe.Add(p, at)\n\treturn {}\n}}",
                go(model, &kind),
                loaded(model, &kind, 0)
            );
        }
    }
}

/// The function that reads a record or variant.
fn loader(text: &mut String, model: &Model, id: TypeId) {
    let name = type_name(model, id);
    let _ = writeln!(text, "\nfunc load{name}(p unsafe.Pointer, at uintptr) {name} {{\n\tp = unsafe.Add(p, at)");
    match model.kind(id) {
        TypeDefKind::Record(record) => {
            let offsets = model.offsets(record.fields.iter().map(|field| &field.ty));
            let _ = writeln!(text, "\treturn {name}{{");
            let width = record.fields.iter().map(|field| camel(&field.name).len() + 1).max().unwrap_or_default();
            for (field, offset) in record.fields.iter().zip(offsets) {
                let label = camel(&field.name) + ":";
                let _ = writeln!(text, "\t\t{label:width$} {},", loaded(model, &field.ty, offset));
            }
            text.push_str("\t}\n}\n");
        }
        TypeDefKind::Variant(variant) => {
            let payload = model.payload(variant.cases.iter().map(|case| case.ty.as_ref()));
            let _ = writeln!(text, "\tvar value {name}\n\tswitch load[uint8](p, 0) {{");
            for (index, case) in variant.cases.iter().enumerate() {
                let _ = writeln!(text, "\tcase {index}:");
                let _ = match &case.ty {
                    None => writeln!(text, "\t\tvalue.{} = true", camel(&case.name)),
                    Some(kind) => {
                        writeln!(
                            text,
                            "\t\tgiven := {}\n\t\tvalue.{} = &given",
                            loaded(model, kind, payload),
                            camel(&case.name)
                        )
                    }
                };
            }
            text.push_str("\t}\n\treturn value\n}\n");
        }
        _ => unreachable!("only records and variants have functions"),
    }
}

fn store_function(model: &Model, kind: &Type) -> String {
    match kind {
        Type::Id(id) if matches!(model.kind(*id), TypeDefKind::List(Type::String)) => "storeStrings".into(),
        Type::Id(id) => format!("store{}", type_name(model, *id)),
        other => panic!("{other:?}"),
    }
}

/// The function that writes a record.
fn storer(text: &mut String, model: &Model, id: TypeId) {
    let name = type_name(model, id);
    let TypeDefKind::Record(record) = model.kind(id) else { unreachable!("only records are stored") };
    let _ = writeln!(text, "\nfunc store{name}(p unsafe.Pointer, value {name}) {{");
    let offsets = model.offsets(record.fields.iter().map(|field| &field.ty));
    for (field, offset) in record.fields.iter().zip(offsets) {
        stored(text, model, &field.ty, &format!("value.{}", camel(&field.name)), offset, "\t");
    }
    text.push_str("}\n");
}

fn stored(text: &mut String, model: &Model, kind: &Type, value: &str, at: usize, indent: &str) {
    let _ = match kind {
        Type::String => writeln!(text, "{indent}storeString(p, {at}, {value})"),
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::Enum(_) => writeln!(text, "{indent}store(p, {at}, uint8({value}))"),
            TypeDefKind::List(inner) => {
                let list = stored_list(model, inner, value);
                writeln!(text, "{indent}storeList(p, {at}, {list}, len({value}))")
            }
            TypeDefKind::Option(inner) => {
                let _ = writeln!(text, "{indent}if {value} != nil {{\n{indent}\tstore(p, {at}, uint8(1))");
                let payload = at + model.payload([None, Some(inner)]);
                stored(text, model, inner, &format!("(*{value})"), payload, &format!("{indent}\t"));
                writeln!(text, "{indent}}}")
            }
            other => panic!("a part that is {}", other.as_str()),
        },
        other => panic!("{other:?}"),
    };
}

/// Whether a function reads values of this record or variant.
fn is_loaded(model: &Model, id: TypeId) -> bool {
    let used = |function: &Function| function.result.as_ref().is_some_and(|kind| holds(model, kind, id));
    matches!(model.kind(id), TypeDefKind::Record(_) | TypeDefKind::Variant(_))
        && functions(model).iter().any(|(_, function)| used(function))
}

/// Whether a function takes lists of this record.
fn is_stored(model: &Model, id: TypeId) -> bool {
    let is_in_list = |kind: &Type| match kind {
        Type::Id(list) => matches!(model.kind(*list), TypeDefKind::List(inner) if holds(model, inner, id)),
        _ => false,
    };
    matches!(model.kind(id), TypeDefKind::Record(_))
        && functions(model).iter().any(|(_, function)| function.params.iter().any(|given| is_in_list(&given.ty)))
}

/// Whether values of a type hold values of the type `id`.
fn holds(model: &Model, kind: &Type, id: TypeId) -> bool {
    let Type::Id(of) = kind else { return false };
    let any = |kinds: &[&Type]| kinds.iter().any(|kind| holds(model, kind, id));
    model.resolved(*of) == id
        || match model.kind(*of) {
            TypeDefKind::List(inner) | TypeDefKind::Option(inner) => any(&[inner]),
            TypeDefKind::Record(record) => any(&record.fields.iter().map(|field| &field.ty).collect::<Vec<_>>()),
            TypeDefKind::Tuple(tuple) => any(&tuple.types.iter().collect::<Vec<_>>()),
            TypeDefKind::Variant(variant) => {
                any(&variant.cases.iter().filter_map(|case| case.ty.as_ref()).collect::<Vec<_>>())
            }
            TypeDefKind::Result(result) => any(&result.ok.iter().chain(result.err.iter()).collect::<Vec<_>>()),
            _ => false,
        }
}
