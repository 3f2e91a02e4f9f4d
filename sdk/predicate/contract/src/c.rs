//! The bindings for C. The layout of a value in memory is that of a C structure on wasm32, so nothing is converted: a wrapper only
//! passes the core values. Start at [`header`] and [`source`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::fakes;
use crate::model::{Body, Contract, Function, Interface, Kind, TypeId};
use crate::text::{comment, snake};

const MADE: &str = "// Made from the contract by `make contract`; not to be edited.\n";

/// Why the contract cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("{0} has a parameter of a kind that cannot be passed to the host from C")]
pub struct ParameterError(String);

/// The header `nodesift_contract.h`: every type and function of the contract, declared in C.
#[must_use]
pub fn header(contract: &Contract) -> String {
    let mut text = format!(
        "{MADE}//\n// Every type and function of the contract. What `nodesift.h` has is easier to use. Lists and texts that a function\n\
         // returns are valid until the end of the call of `filter`.\n\
         #ifndef NODESIFT_CONTRACT_H\n#define NODESIFT_CONTRACT_H\n\n\
         #include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n\
         // The version of the contract.\n#define NS_CONTRACT_VERSION {:?}\n\n\
         // Text in UTF-8: not terminated by a zero.\ntypedef struct ns_text {{\n    const char *data;\n    size_t length;\n}} ns_text;\n",
        contract.version()
    );
    let mut known = BTreeSet::new();
    for interface in contract.imports.iter().chain(&contract.exports).chain(&contract.scoring) {
        let _ = writeln!(text, "\n// {}", interface.name);
        comment(&mut text, "//", &interface.docs);
        for id in &interface.own_types {
            define(&mut text, contract, &Kind::Named(*id), &mut known);
        }
        for function in &interface.functions {
            for kind in function.params.iter().map(|param| &param.kind).chain(&function.result) {
                define(&mut text, contract, kind, &mut known);
            }
            text.push('\n');
            comment(&mut text, "//", &function.docs);
            let _ = writeln!(text, "{};", prototype(contract, interface, function));
        }
    }
    text.push_str("\n#endif\n");
    text
}

/// The functions: imported in a component; elsewhere what a test can define, and what objects that have nothing answer.
///
/// # Errors
///
/// Where a function has a parameter that cannot be passed.
pub fn source(contract: &Contract) -> Result<String, ParameterError> {
    let mut text = format!("{MADE}#include \"nodesift_contract.h\"\n\n#ifdef __wasm__\n");
    let mut native = String::new();
    for (interface, function) in contract.functions() {
        wrapper(&mut text, contract, interface, function)?;
        let ignored = |name: &str| format!("    (void){};\n", parameter(name));
        let body = if fakes::is_answered(interface, function) {
            fakes::c_body(contract, interface, function, &|kind| c(contract, kind))
        } else {
            format!("    ns_missing({:?}, {:?});\n", interface.name, function.name)
        };
        let _ = writeln!(
            native,
            "\n__attribute__((weak)) {} {{\n{}{body}}}",
            prototype(contract, interface, function),
            function.params.iter().map(|param| ignored(&param.name)).collect::<String>()
        );
    }
    text.push_str(
        "\n#else\n\n\
         // In `nodesift_test.c`: memory of zeros, the rows of the running evaluation, a maximum for each of them, and the end of a test with\n\
         // what it has to define.\n\
         void *ns_test_alloc(size_t bytes);\nsize_t ns_test_rows(void);\nconst int64_t *ns_test_maxima(void);\n\
         _Noreturn void ns_missing(const char *interface, const char *function);\n",
    );
    text.push_str(&native);
    text.push_str("\n#endif\n");
    Ok(text)
}

/// The name of a parameter or field, apart from the words of C.
fn parameter(name: &str) -> String {
    match name {
        "signed" | "register" | "default" | "class" | "operator" | "namespace" => format!("{}_", snake(name)),
        _ => snake(name),
    }
}

/// The part of a type's name after `ns_`.
fn stem(contract: &Contract, kind: &Kind) -> String {
    let part = |kind: &Option<Box<Kind>>| kind.as_ref().map_or_else(|| "none".into(), |kind| stem(contract, kind));
    match kind {
        Kind::Bool => "bool".into(),
        Kind::U8 => "u8".into(),
        Kind::U16 => "u16".into(),
        Kind::U32 => "u32".into(),
        Kind::U64 => "u64".into(),
        Kind::S32 => "s32".into(),
        Kind::S64 => "s64".into(),
        Kind::String => "text".into(),
        Kind::List(inner) => format!("list_{}", stem(contract, inner)),
        Kind::Option(inner) => format!("option_{}", stem(contract, inner)),
        Kind::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(|kind| stem(contract, kind)).collect();
            format!("tuple_{}", parts.join("_"))
        }
        Kind::Result(ok, error) => format!("result_{}_{}", part(ok), part(error)),
        Kind::Named(id) => {
            let definition = contract.definition(*id);
            format!("{}_{}", snake(&definition.interface), snake(&definition.name))
        }
    }
}

/// A type in C.
fn c(contract: &Contract, kind: &Kind) -> String {
    match kind {
        Kind::Bool => "bool".into(),
        Kind::U8 => "uint8_t".into(),
        Kind::U16 => "uint16_t".into(),
        Kind::U32 => "uint32_t".into(),
        Kind::U64 => "uint64_t".into(),
        Kind::S32 => "int32_t".into(),
        Kind::S64 => "int64_t".into(),
        _ => format!("ns_{}", stem(contract, kind)),
    }
}

/// Defines a type, after those that it holds. Each is defined once.
fn define(text: &mut String, contract: &Contract, kind: &Kind, known: &mut BTreeSet<String>) {
    let is_plain = matches!(
        kind,
        Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64 | Kind::String
    );
    let name = c(contract, kind);
    if is_plain || !known.insert(name.clone()) {
        return;
    }
    let mut body = String::new();
    match kind {
        Kind::Tuple(parts) => {
            for (index, kind) in parts.iter().enumerate() {
                define(text, contract, kind, known);
                let _ = writeln!(body, "    {} part_{index};", c(contract, kind));
            }
        }
        Kind::List(inner) => {
            define(text, contract, inner, known);
            let _ = writeln!(body, "    const {} *items;\n    size_t length;", c(contract, inner));
        }
        Kind::Option(inner) => {
            define(text, contract, inner, known);
            let _ = writeln!(body, "    bool is_some;\n    {} value;", c(contract, inner));
        }
        Kind::Result(ok, error) => {
            body.push_str("    bool is_error;\n");
            let cases = [("ok", ok), ("error", error)].map(|(name, kind)| (name.to_owned(), kind.as_deref()));
            alternatives(text, &mut body, contract, cases, known);
        }
        Kind::Named(id) => match &contract.definition(*id).body {
            Body::Record(fields) => {
                for field in fields {
                    define(text, contract, &field.kind, known);
                    comment(&mut body, "    //", &field.docs);
                    let _ = writeln!(body, "    {} {};", c(contract, &field.kind), parameter(&field.name));
                }
            }
            Body::Variant(cases) => {
                let _ = writeln!(body, "    // One of {}_….\n    uint8_t tag;", name.to_uppercase());
                let cases = cases.iter().map(|case| (parameter(&case.name), case.kind.as_ref()));
                alternatives(text, &mut body, contract, cases, known);
            }
            Body::Enum(_) => {}
        },
        _ => {}
    }
    text.push('\n');
    if let Kind::Named(id) = kind {
        comment(text, "//", &contract.definition(*id).docs);
        constants(text, contract, *id, &name);
    }
    if contract.is_enum(kind) {
        let _ = writeln!(text, "typedef uint8_t {name};");
    } else {
        let _ = writeln!(text, "typedef struct {name} {{\n{body}}} {name};");
    }
}

/// The values of a variant or result, as a union.
fn alternatives<'a>(
    text: &mut String,
    body: &mut String,
    contract: &Contract,
    cases: impl IntoIterator<Item = (String, Option<&'a Kind>)>,
    known: &mut BTreeSet<String>,
) {
    let mut union = String::new();
    for (name, kind) in cases {
        let Some(kind) = kind else { continue };
        define(text, contract, kind, known);
        let _ = writeln!(union, "        {} {name};", c(contract, kind));
    }
    let _ = writeln!(body, "    union {{\n{union}    }};");
}

/// The values of an enum, or the tags of a variant.
fn constants(text: &mut String, contract: &Contract, id: TypeId, name: &str) {
    let (Body::Enum(cases) | Body::Variant(cases)) = &contract.definition(id).body else { return };
    text.push_str("enum {\n");
    for case in cases {
        comment(text, "    //", &case.docs);
        let _ = writeln!(text, "    {}_{},", name.to_uppercase(), snake(&case.name).to_uppercase());
    }
    text.push_str("};\n");
}

fn prototype(contract: &Contract, interface: &Interface, function: &Function) -> String {
    let param = |param: &crate::model::Part| format!("{} {}", c(contract, &param.kind), parameter(&param.name));
    let given: Vec<String> = function.params.iter().map(param).collect();
    let given = if given.is_empty() { "void".into() } else { given.join(", ") };
    let result = function.result.as_ref().map_or_else(|| "void".into(), |kind| c(contract, kind));
    format!("{result} ns_{}_{}({given})", snake(&interface.name), snake(&function.name))
}

/// A function that passes its parameters to the host as core values.
fn wrapper(
    text: &mut String,
    contract: &Contract,
    interface: &Interface,
    function: &Function,
) -> Result<(), ParameterError> {
    let is_in_memory = contract.returns_in_memory(function);
    let (mut flat, mut arguments) = (Vec::new(), Vec::new());
    for param in &function.params {
        if !lower(contract, &param.kind, &parameter(&param.name), &mut flat, &mut arguments) {
            return Err(ParameterError(format!("{}.{}", interface.name, function.name)));
        }
    }
    let result = function.result.as_ref().map(|kind| c(contract, kind));
    if let (Some(result), true) = (&result, is_in_memory) {
        flat.push(format!("{result} *"));
        arguments.push("&result".into());
    }
    let import = format!("import_{}_{}", snake(&interface.name), snake(&function.name));
    let returned = if is_in_memory { None } else { result.as_deref() };
    let flat = if flat.is_empty() { "void".into() } else { flat.join(", ") };
    let _ = writeln!(
        text,
        "\n__attribute__((import_module({:?}), import_name({:?})))\nextern {} {import}({flat});\n\n{} {{",
        contract.full_name(interface),
        function.name,
        returned.unwrap_or("void"),
        prototype(contract, interface, function)
    );
    let call = format!("{import}({})", arguments.join(", "));
    let _ = match (&result, is_in_memory) {
        (Some(kind), true) => writeln!(text, "    {kind} result;\n    {call};\n    return result;\n}}"),
        (Some(_), false) => writeln!(text, "    return {call};\n}}"),
        (None, _) => writeln!(text, "    {call};\n}}"),
    };
    Ok(())
}

/// A parameter as core values; false for one that cannot be passed.
fn lower(contract: &Contract, kind: &Kind, value: &str, flat: &mut Vec<String>, arguments: &mut Vec<String>) -> bool {
    match kind {
        Kind::String => {
            flat.extend(["const char *".to_owned(), "size_t".to_owned()]);
            arguments.extend([format!("{value}.data"), format!("{value}.length")]);
        }
        Kind::List(inner) => {
            flat.extend([format!("const {} *", c(contract, inner)), "size_t".to_owned()]);
            arguments.extend([format!("{value}.items"), format!("{value}.length")]);
        }
        Kind::Option(_) | Kind::Tuple(_) | Kind::Result(..) => return false,
        Kind::Named(id) if !contract.is_enum(kind) => {
            let Body::Record(fields) = &contract.definition(*id).body else { return false };
            return fields.iter().all(|field| {
                lower(contract, &field.kind, &format!("{value}.{}", parameter(&field.name)), flat, arguments)
            });
        }
        _ => {
            flat.push(c(contract, kind));
            arguments.push(value.to_owned());
        }
    }
    true
}
