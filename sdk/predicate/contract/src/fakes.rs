//! The answers of tests about objects that have nothing: what the host answers where no object has what a function is about. The test
//! harnesses of the SDKs for JavaScript, Python and Go begin with them, and those for C end there, so that none lacks a function. Start at
//! [`outputs`]; C is in `c_body`, which the bindings for C use.
//!
//! Whether a list has an entry per row is read from its documentation, which says so in the same words everywhere.

use std::fmt::Write as _;

use crate::go;
use crate::model::{Body, Case, Contract, Function, Interface, Kind, Part, TypeDef};
use crate::output::Output;
use crate::text::{camel, lower_camel, snake};

/// Words of the documentation of a list with an entry per row.
const PER_ROW: &str = "one entry per row of the ";

/// Lists that have at least one entry, to which the code 0 of rows refers that have nothing.
const WITH_ENTRY_0: [&str; 3] = ["node-taints.sets", "node-features.sets", "device-columns.situations"];

/// Columns whose numbers are the maximum s64 where nothing limits them.
const WITHOUT_LIMIT: [&str; 1] = ["cluster-attachments.limit"];

/// How many entries a list has, and which.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A zero per row.
    Zeros,
    /// The maximum s64 per row.
    Maxima,
    /// The one entry of rows that have nothing.
    Entry0,
    /// None, and any value that is no list.
    Plain,
}

impl Shape {
    /// The shape of what is at a place: a function of an interface, or a field of a type.
    fn read(place: &str, docs: &[String], kind: &Kind) -> Self {
        let is_numbers =
            matches!(kind, Kind::List(inner) if matches!(**inner, Kind::U8 | Kind::U16 | Kind::U32 | Kind::S64));
        if WITH_ENTRY_0.contains(&place) {
            Self::Entry0
        } else if !is_numbers || !docs.join(" ").to_lowercase().contains(PER_ROW) {
            Self::Plain
        } else if WITHOUT_LIMIT.contains(&place) {
            Self::Maxima
        } else {
            Self::Zeros
        }
    }

    fn from_function(interface: &Interface, function: &Function, kind: &Kind) -> Self {
        Self::read(&format!("{}.{}", interface.name, function.name), &function.docs, kind)
    }

    fn from_field(definition: &TypeDef, field: &Part) -> Self {
        Self::read(&format!("{}.{}", definition.name, field.name), &field.docs, &field.kind)
    }
}

/// Whether a function is answered. One that makes a set of rows is not: the harness has the sets.
pub(crate) fn is_answered(interface: &Interface, function: &Function) -> bool {
    interface.is_fact() && !function.makes_rows(interface)
}

/// The functions that are answered, with what they return.
fn functions(contract: &Contract) -> impl Iterator<Item = (&Interface, &Function, &Kind)> {
    let answered = contract.functions().filter(|(interface, function)| is_answered(interface, function));
    answered.filter_map(|(interface, function)| Some((interface, function, function.result.as_ref()?)))
}

/// The files for JavaScript, Python and Go.
#[must_use]
pub fn outputs(contract: &Contract) -> Vec<Output> {
    let file = |path: &str, text: String| Output::file(&format!("sdk/predicate/{path}"), text);
    vec![
        file("js/src/testing/empty.js", js(contract)),
        file("python/src/nodesift/testing/empty.py", python(contract)),
        file("go/facts/empty.go", go_file(contract)),
    ]
}

/// A text per interface, with one per function inside.
fn nested(
    contract: &Contract,
    begin: impl Fn(&str) -> String,
    line: impl Fn(&Interface, &Function, &Kind) -> String,
    end: &str,
) -> String {
    let mut text = String::new();
    let mut last = None;
    for (interface, function, kind) in functions(contract) {
        if last != Some(&interface.name) {
            if last.is_some() {
                text.push_str(end);
            }
            text.push_str(&begin(&interface.name));
            last = Some(&interface.name);
        }
        text.push_str(&line(interface, function, kind));
    }
    text + end
}

// ---- JavaScript

fn js(contract: &Contract) -> String {
    let line = |interface: &Interface, function: &Function, kind: &Kind| {
        let value = js_value(contract, kind, Shape::from_function(interface, function, kind));
        // A brace would begin the body of the function.
        let value = if value.starts_with('{') { format!("({value})") } else { value };
        format!("    {}: () => {value},\n", lower_camel(&function.name))
    };
    format!(
        "// Made from the contract by `make contract`; not to be edited.\n\
         /** Every function of the contract that gives facts, for `rows` nodes and a pod that have nothing of what it is about. */\n\
         export const empty = (rows) => ({{\n{}}});\n",
        nested(contract, |name| format!("  '{name}': {{\n"), line, "  },\n")
    )
}

fn js_value(contract: &Contract, kind: &Kind, shape: Shape) -> String {
    let plain = |kind: &Kind| js_value(contract, kind, Shape::Plain);
    match (kind, shape) {
        (Kind::List(inner), Shape::Zeros) if **inner == Kind::U8 => "new Uint8Array(rows)".into(),
        (_, Shape::Zeros) => "new Array(rows).fill(0)".into(),
        (_, Shape::Maxima) => "new Array(rows).fill(2 ** 63 - 1)".into(),
        (Kind::List(inner), Shape::Entry0) => format!("[{}]", plain(inner)),
        (Kind::Bool, _) => "false".into(),
        (Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64, _) => "0".into(),
        (Kind::String, _) => "''".into(),
        (Kind::List(inner), _) if **inner == Kind::U8 => "new Uint8Array(0)".into(),
        (Kind::List(_), _) => "[]".into(),
        (Kind::Option(_), _) => "null".into(),
        (Kind::Tuple(parts), _) => format!("[{}]", parts.iter().map(plain).collect::<Vec<_>>().join(", ")),
        (Kind::Result(ok, _), _) => ok.as_ref().map_or_else(|| "undefined".into(), |kind| plain(kind)),
        (Kind::Named(id), _) => {
            let definition = contract.definition(*id);
            match (&definition.body, first(&definition.body)) {
                (Body::Record(fields), _) => {
                    let field = |field: &Part| {
                        let value = js_value(contract, &field.kind, Shape::from_field(definition, field));
                        format!("{}: {value}", lower_camel(&field.name))
                    };
                    format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
                }
                (Body::Variant(_), Some(case)) => {
                    let value = case.kind.as_ref().map(|kind| format!(", val: {}", plain(kind))).unwrap_or_default();
                    format!("{{ tag: '{}'{value} }}", case.name)
                }
                (_, case) => format!("'{}'", case.map_or("", |case| case.name.as_str())),
            }
        }
    }
}

/// The first alternative of a variant or enum.
fn first(body: &Body) -> Option<&Case> {
    match body {
        Body::Record(_) => None,
        Body::Variant(cases) | Body::Enum(cases) => cases.first(),
    }
}

// ---- Python

fn python(contract: &Contract) -> String {
    let line = |interface: &Interface, function: &Function, kind: &Kind| {
        let value = python_value(contract, kind, Shape::from_function(interface, function, kind));
        format!("            {}=lambda *_: {value},\n", snake(&function.name))
    };
    format!(
        "\"\"\"The functions of the contract about nothing. Made from the contract by `make contract`; not to be edited.\"\"\"\n\n\
         from types import SimpleNamespace\nfrom typing import Any\n\n\n\
         def empty(rows: int) -> dict[str, Any]:\n    \
         \"\"\"Every function of the contract that gives facts, for nodes and a pod that have nothing of what it is about.\"\"\"\n    \
         return {{\n{}    }}\n",
        nested(contract, |name| format!("        \"{name}\": SimpleNamespace(\n"), line, "        ),\n")
    )
}

fn python_value(contract: &Contract, kind: &Kind, shape: Shape) -> String {
    let plain = |kind: &Kind| python_value(contract, kind, Shape::Plain);
    match (kind, shape) {
        (Kind::List(inner), Shape::Zeros) if **inner == Kind::U8 => "bytes(rows)".into(),
        (_, Shape::Zeros) => "[0] * rows".into(),
        (_, Shape::Maxima) => "[2**63 - 1] * rows".into(),
        (Kind::List(inner), Shape::Entry0) => format!("[{}]", plain(inner)),
        (Kind::Bool, _) => "False".into(),
        (Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64, _) => "0".into(),
        (Kind::String, _) => "\"\"".into(),
        (Kind::List(inner), _) if **inner == Kind::U8 => "b\"\"".into(),
        (Kind::List(_), _) => "[]".into(),
        (Kind::Option(_), _) => "None".into(),
        (Kind::Tuple(parts), _) => format!("({})", parts.iter().map(plain).collect::<Vec<_>>().join(", ")),
        (Kind::Result(ok, _), _) => ok.as_ref().map_or_else(|| "None".into(), |kind| plain(kind)),
        (Kind::Named(id), _) => {
            let definition = contract.definition(*id);
            match (&definition.body, first(&definition.body)) {
                (Body::Record(fields), _) => {
                    let field = |field: &Part| {
                        let value = python_value(contract, &field.kind, Shape::from_field(definition, field));
                        format!("                {}={value},\n", snake(&field.name))
                    };
                    format!("SimpleNamespace(\n{}            )", fields.iter().map(field).collect::<String>())
                }
                (Body::Variant(_), Some(case)) => {
                    let value = case.kind.as_ref().map(|kind| format!("value={}", plain(kind))).unwrap_or_default();
                    format!("SimpleNamespace({value})")
                }
                (_, case) => {
                    format!(
                        "SimpleNamespace(name=\"{}\")",
                        snake(case.map_or("", |case| case.name.as_str())).to_uppercase()
                    )
                }
            }
        }
    }
}

// ---- Go

fn go_file(contract: &Contract) -> String {
    let mut text = String::from(
        "// Code generated from the contract by `make contract`. DO NOT EDIT.\n\n//go:build !wasip1\n\npackage facts\n\n\
         import (\n\t\"math\"\n\t\"slices\"\n)\n\n\
         // Empty gives every function of the contract that gives facts, for nodes and a pod that have nothing of what it is about. Those that\n\
         // make sets of rows are not among them.\nfunc Empty(rows int) Host {\n\tvar host Host\n",
    );
    for (interface, function, kind) in functions(contract) {
        let value = match kind {
            Kind::Option(inner) => format!("{}, false", go_value(contract, inner, Shape::Plain)),
            kind => go_value(contract, kind, Shape::from_function(interface, function, kind)),
        };
        let _ = writeln!(
            text,
            "\thost.{} = func({}){} {{\n\t\treturn {value}\n\t}}",
            go::function_name(interface, function),
            go::parameters(contract, function),
            go::results(contract, function)
        );
    }
    text + "\treturn host\n}\n"
}

fn go_value(contract: &Contract, kind: &Kind, shape: Shape) -> String {
    let name = || go::go(contract, kind);
    match (kind, shape) {
        (_, Shape::Zeros) => format!("make({}, rows)", name()),
        (_, Shape::Maxima) => format!("slices.Repeat({}{{math.MaxInt64}}, rows)", name()),
        (Kind::List(inner), Shape::Entry0) => format!("{}{{{}}}", name(), go_entry(contract, inner)),
        (Kind::Bool, _) => "false".into(),
        (Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64, _) => "0".into(),
        (Kind::String, _) => "\"\"".into(),
        (Kind::List(_) | Kind::Option(_), _) => "nil".into(),
        (Kind::Tuple(_) | Kind::Result(..), _) => format!("{}{{}}", name()),
        (Kind::Named(id), _) => {
            let definition = contract.definition(*id);
            let Body::Record(fields) = &definition.body else {
                return if contract.is_enum(kind) { "0".into() } else { format!("{}{{}}", name()) };
            };
            // Fields that are left out are empty.
            let shaped = fields.iter().map(|field| (field, Shape::from_field(definition, field)));
            let given = shaped.filter(|(_, shape)| *shape != Shape::Plain);
            let given = given
                .map(|(field, shape)| format!("{}: {}", camel(&field.name), go_value(contract, &field.kind, shape)));
            format!("{}{{{}}}", name(), given.collect::<Vec<_>>().join(", "))
        }
    }
}

/// An entry of a list, whose type is that of the list.
fn go_entry(contract: &Contract, kind: &Kind) -> String {
    let Kind::Named(id) = kind else { return "nil".into() };
    match &contract.definition(*id).body {
        Body::Variant(cases) => match cases.first() {
            Some(Case { name, kind: Some(kind), .. }) => {
                format!("{{{}: new({})}}", camel(name), go::go(contract, kind))
            }
            case => format!("{{{}: true}}", case.map(|case| camel(&case.name)).unwrap_or_default()),
        },
        Body::Record(_) => "{}".into(),
        Body::Enum(_) => "0".into(),
    }
}

// ---- C

/// The body of a function in C that answers about nothing; `c` writes a type. `ns_test_rows` is the number of rows.
pub(crate) fn c_body(
    contract: &Contract,
    interface: &Interface,
    function: &Function,
    c: &dyn Fn(&Kind) -> String,
) -> String {
    let Some(kind) = &function.result else { return String::new() };
    let shape = Shape::from_function(interface, function, kind);
    match kind {
        Kind::Bool => "    return false;\n".into(),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::S32 | Kind::S64 => "    return 0;\n".into(),
        kind if contract.is_enum(kind) => "    return 0;\n".into(),
        kind => {
            let value = c_value(contract, kind, shape, c).unwrap_or_else(|| "{0}".into());
            format!("    return ({}){value};\n", c(kind))
        }
    }
}

/// An initialiser; none where every byte is zero.
fn c_value(contract: &Contract, kind: &Kind, shape: Shape, c: &dyn Fn(&Kind) -> String) -> Option<String> {
    let definition = match (kind, shape) {
        (Kind::List(inner), Shape::Zeros) => {
            return Some(format!("{{ns_test_alloc(ns_test_rows() * sizeof({})), ns_test_rows()}}", c(inner)));
        }
        (_, Shape::Maxima) => return Some("{ns_test_maxima(), ns_test_rows()}".into()),
        (Kind::List(inner), Shape::Entry0) => return Some(format!("{{ns_test_alloc(sizeof({})), 1}}", c(inner))),
        (Kind::Named(id), _) => contract.definition(*id),
        _ => return None,
    };
    let Body::Record(fields) = &definition.body else { return None };
    let given = fields.iter().filter_map(|field| {
        let value = c_value(contract, &field.kind, Shape::from_field(definition, field), c)?;
        Some(format!(".{} = {value}", snake(&field.name)))
    });
    let given: Vec<String> = given.collect();
    (!given.is_empty()).then(|| format!("{{{}}}", given.join(", ")))
}
