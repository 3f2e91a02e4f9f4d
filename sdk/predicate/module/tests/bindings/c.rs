//! The bindings for C. The layout of a value in memory is that of a C structure on wasm32, so nothing is converted: a wrapper only
//! passes the core values. Start at [`header`] and [`source`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use wit_parser::{Function, InterfaceId, Type, TypeDefKind, TypeId};

use crate::model::{Model, doc_lines};

const MADE: &str = "// Made from the contract by the test `bindings` of nodesift-module; not to be edited.\n";

/// Generates `nodesift_contract.h`: every type and function of the contract.
pub(crate) fn header(model: &Model) -> String {
    let mut text = format!(
        "{MADE}//\n// Every type and function of the contract. What `nodesift.h` has is easier to use. Lists and texts that a function\n\
         // returns are valid until the end of the call of `filter`.\n\
         #ifndef NODESIFT_CONTRACT_H\n#define NODESIFT_CONTRACT_H\n\n\
         #include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n\
         // The version of the contract.\n#define NS_CONTRACT_VERSION {:?}\n\n\
         // Text in UTF-8: not terminated by a zero.\ntypedef struct ns_text {{\n    const char *data;\n    size_t length;\n}} ns_text;\n",
        nodesift_module::contract::version()
    );
    let mut known = BTreeSet::new();
    for interface in model.imports.iter().chain(&model.exports) {
        let _ = writeln!(text, "\n// {}", model.name(*interface));
        for line in doc_lines(&model.interface(*interface).docs) {
            let _ = writeln!(text, "{}", format!("// {line}").trim_end());
        }
        for id in model.own_types(*interface) {
            define(&mut text, model, &Type::Id(id), &mut known);
        }
        if model.exports.contains(interface) {
            continue;
        }
        for function in model.interface(*interface).functions.values() {
            let parameters = function.params.iter().map(|given| &given.ty);
            for kind in parameters.chain(&function.result) {
                define(&mut text, model, kind, &mut known);
            }
            text.push('\n');
            for line in doc_lines(&function.docs) {
                let _ = writeln!(text, "{}", format!("// {line}").trim_end());
            }
            let _ = writeln!(text, "{};", prototype(model, *interface, function));
        }
    }
    text.push_str("\n#endif\n");
    text
}

/// The functions: imported in a component, to be given by a test elsewhere.
pub(crate) fn source(model: &Model) -> String {
    let mut text = format!("{MADE}#include \"nodesift_contract.h\"\n\n#ifdef __wasm__\n");
    let (mut native, mut wasm) = (String::new(), String::new());
    for interface in &model.imports {
        for function in model.interface(*interface).functions.values() {
            wrapper(&mut wasm, model, *interface, function);
            let _ = writeln!(
                native,
                "\n__attribute__((weak)) {} {{\n    {}ns_missing({:?}, {:?});\n}}",
                prototype(model, *interface, function),
                function
                    .params
                    .iter()
                    .map(|given| format!("(void){};\n    ", parameter(&given.name)))
                    .collect::<String>(),
                model.name(*interface),
                function.name
            );
        }
    }
    text.push_str(&wasm);
    text.push_str(
        "\n#else\n\n// In `nodesift_test.c`: ends the test, with what it has to define.\n\
         _Noreturn void ns_missing(const char *interface, const char *function);\n",
    );
    text.push_str(&native);
    text.push_str("\n#endif\n");
    text
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of a parameter or field, apart from the words of C.
fn parameter(name: &str) -> String {
    match name {
        "signed" | "register" | "default" | "class" | "operator" | "namespace" => format!("{}_", snake(name)),
        _ => snake(name),
    }
}

/// The part of a type's name after `ns_`.
fn stem(model: &Model, kind: &Type) -> String {
    match kind {
        Type::Bool => "bool".into(),
        Type::U8 => "u8".into(),
        Type::U16 => "u16".into(),
        Type::U32 => "u32".into(),
        Type::U64 => "u64".into(),
        Type::S32 => "s32".into(),
        Type::S64 => "s64".into(),
        Type::String => "text".into(),
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::List(inner) => format!("list_{}", stem(model, inner)),
            TypeDefKind::Option(inner) => format!("option_{}", stem(model, inner)),
            TypeDefKind::Tuple(tuple) => {
                let parts: Vec<String> = tuple.types.iter().map(|kind| stem(model, kind)).collect();
                format!("tuple_{}", parts.join("_"))
            }
            TypeDefKind::Result(result) => {
                let of = |kind: &Option<Type>| kind.as_ref().map_or_else(|| "none".into(), |kind| stem(model, kind));
                format!("result_{}_{}", of(&result.ok), of(&result.err))
            }
            _ => {
                let (interface, name) = model.type_name(*id).unwrap();
                format!("{}_{}", snake(interface), snake(name))
            }
        },
        other => panic!("{other:?}"),
    }
}

/// A type in C.
fn c(model: &Model, kind: &Type) -> String {
    match kind {
        Type::Bool => "bool".into(),
        Type::U8 => "uint8_t".into(),
        Type::U16 => "uint16_t".into(),
        Type::U32 => "uint32_t".into(),
        Type::U64 => "uint64_t".into(),
        Type::S32 => "int32_t".into(),
        Type::S64 => "int64_t".into(),
        _ => format!("ns_{}", stem(model, kind)),
    }
}

/// Defines a type, after those that it holds. Each is defined once.
fn define(text: &mut String, model: &Model, kind: &Type, known: &mut BTreeSet<String>) {
    let Type::Id(id) = kind else { return };
    let name = c(model, kind);
    if !known.insert(name.clone()) {
        return;
    }
    let mut body = String::new();
    let mut part = |text: &mut String, docs: &[&str], kind: &Type, name: &str, indent: &str| {
        define(text, model, kind, known);
        for line in docs {
            let _ = writeln!(body, "{}", format!("{indent}// {line}").trim_end());
        }
        let _ = writeln!(body, "{indent}{} {name};", c(model, kind));
    };
    match model.kind(*id) {
        TypeDefKind::Record(record) => {
            for field in &record.fields {
                part(text, &doc_lines(&field.docs), &field.ty, &parameter(&field.name), "    ");
            }
        }
        TypeDefKind::Tuple(tuple) => {
            for (index, kind) in tuple.types.iter().enumerate() {
                part(text, &[], kind, &format!("part_{index}"), "    ");
            }
        }
        TypeDefKind::List(inner) => {
            define(text, model, inner, known);
            let _ = writeln!(body, "    const {} *items;\n    size_t length;", c(model, inner));
        }
        TypeDefKind::Option(inner) => {
            part(text, &[], &Type::Bool, "is_some", "    ");
            part(text, &[], inner, "value", "    ");
        }
        TypeDefKind::Result(result) => {
            part(text, &[], &Type::Bool, "is_error", "    ");
            let cases = [("ok", &result.ok), ("error", &result.err)];
            let mut union = String::new();
            for (name, kind) in cases {
                let Some(kind) = kind else { continue };
                define(text, model, kind, known);
                let _ = writeln!(union, "        {} {name};", c(model, kind));
            }
            let _ = writeln!(body, "    union {{\n{union}    }};");
        }
        TypeDefKind::Variant(variant) => {
            let mut union = String::new();
            let _ = writeln!(body, "    // One of {}_….\n    uint8_t tag;", name.to_uppercase());
            for case in &variant.cases {
                let Some(kind) = &case.ty else { continue };
                define(text, model, kind, known);
                let _ = writeln!(union, "        {} {};", c(model, kind), parameter(&case.name));
            }
            let _ = writeln!(body, "    union {{\n{union}    }};");
        }
        TypeDefKind::Enum(_) => {}
        other => panic!("{name} is {}", other.as_str()),
    }
    text.push('\n');
    let docs = &model.resolve.types[model.resolved(*id)].docs;
    for line in doc_lines(docs) {
        let _ = writeln!(text, "{}", format!("// {line}").trim_end());
    }
    constants(text, model, *id, &name);
    if matches!(model.kind(*id), TypeDefKind::Enum(_)) {
        let _ = writeln!(text, "typedef uint8_t {name};");
    } else {
        let _ = writeln!(text, "typedef struct {name} {{\n{body}}} {name};");
    }
}

/// The values of an enum, or the tags of a variant.
fn constants(text: &mut String, model: &Model, id: TypeId, name: &str) {
    let cases: Vec<(&str, Vec<&str>)> = match model.kind(id) {
        TypeDefKind::Enum(of) => of.cases.iter().map(|case| (case.name.as_str(), doc_lines(&case.docs))).collect(),
        TypeDefKind::Variant(of) => of.cases.iter().map(|case| (case.name.as_str(), doc_lines(&case.docs))).collect(),
        _ => return,
    };
    text.push_str("enum {\n");
    for (case, docs) in cases {
        for line in docs {
            let _ = writeln!(text, "{}", format!("    // {line}").trim_end());
        }
        let _ = writeln!(text, "    {}_{},", name.to_uppercase(), snake(case).to_uppercase());
    }
    text.push_str("};\n");
}

fn prototype(model: &Model, interface: InterfaceId, function: &Function) -> String {
    let given = function.params.iter().map(|given| format!("{} {}", c(model, &given.ty), parameter(&given.name)));
    let given: Vec<String> = given.collect();
    let given = if given.is_empty() { "void".into() } else { given.join(", ") };
    let result = function.result.as_ref().map_or_else(|| "void".into(), |kind| c(model, kind));
    format!("{result} ns_{}_{}({given})", snake(model.name(interface)), snake(&function.name))
}

/// A function that passes its parameters to the host as core values.
fn wrapper(text: &mut String, model: &Model, interface: InterfaceId, function: &Function) {
    let core = model.signature(function);
    let (mut flat, mut arguments) = (Vec::new(), Vec::new());
    for given in &function.params {
        lower(model, &given.ty, &parameter(&given.name), &mut flat, &mut arguments);
    }
    let result = function.result.as_ref().map(|kind| c(model, kind));
    if core.retptr {
        flat.push(format!("{} *", result.as_deref().unwrap()));
        arguments.push("&result".into());
    }
    let import = format!("import_{}_{}", snake(model.name(interface)), snake(&function.name));
    let returned = if core.retptr { None } else { result.clone() };
    let flat = if flat.is_empty() { "void".into() } else { flat.join(", ") };
    let _ = writeln!(
        text,
        "\n__attribute__((import_module({:?}), import_name({:?})))\nextern {} {import}({flat});\n\n{} {{",
        model.full_name(interface),
        function.name,
        returned.as_deref().unwrap_or("void"),
        prototype(model, interface, function)
    );
    let call = format!("{import}({})", arguments.join(", "));
    let _ = match (result, core.retptr) {
        (Some(kind), true) => writeln!(text, "    {kind} result;\n    {call};\n    return result;\n}}"),
        (Some(_), false) => writeln!(text, "    return {call};\n}}"),
        (None, _) => writeln!(text, "    {call};\n}}"),
    };
}

fn lower(model: &Model, kind: &Type, value: &str, flat: &mut Vec<String>, arguments: &mut Vec<String>) {
    match kind {
        Type::String => {
            flat.extend(["const char *".to_owned(), "size_t".to_owned()]);
            arguments.extend([format!("{value}.data"), format!("{value}.length")]);
        }
        Type::Id(id) => match model.kind(*id) {
            TypeDefKind::List(inner) => {
                flat.extend([format!("const {} *", c(model, inner)), "size_t".to_owned()]);
                arguments.extend([format!("{value}.items"), format!("{value}.length")]);
            }
            TypeDefKind::Record(record) => {
                for field in &record.fields {
                    lower(model, &field.ty, &format!("{value}.{}", parameter(&field.name)), flat, arguments);
                }
            }
            TypeDefKind::Enum(_) => {
                flat.push(c(model, kind));
                arguments.push(value.to_owned());
            }
            other => panic!("a parameter that is {}", other.as_str()),
        },
        _ => {
            flat.push(c(model, kind));
            arguments.push(value.to_owned());
        }
    }
}
