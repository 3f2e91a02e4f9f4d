//! The contract printed without its documentation, as wit-component prints it: the golden file that shows a reviewer what has changed
//! for modules. The test `contract` of nodesift-guest compares it with what that crate prints. Start at [`printed`].

use std::fmt::Write as _;

use wit_parser::{Function, InterfaceId, Resolve, Type, TypeDefKind, TypeId, TypeOwner, World, WorldItem};

/// Why a contract cannot be printed.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// It is no WIT.
    #[error("the contract cannot be parsed: {0:#}")]
    Parse(anyhow::Error),
    /// It has what no contract of this project has.
    #[error("{0} cannot be printed")]
    Unknown(String),
}

/// The words of WIT that are written with a `%` where they are names.
const WORDS: [&str; 42] = [
    "use",
    "type",
    "func",
    "u8",
    "u16",
    "u32",
    "u64",
    "s8",
    "s16",
    "s32",
    "s64",
    "f32",
    "f64",
    "float32",
    "float64",
    "char",
    "resource",
    "record",
    "flags",
    "variant",
    "enum",
    "bool",
    "string",
    "option",
    "result",
    "future",
    "stream",
    "list",
    "own",
    "borrow",
    "_",
    "as",
    "from",
    "static",
    "interface",
    "tuple",
    "world",
    "import",
    "export",
    "package",
    "with",
    "include",
];

/// A file of `sdk/predicate/wit`, parsed and printed again.
///
/// # Errors
///
/// Where it is no WIT, or has worlds or types of kinds that no contract of this project has.
pub fn printed(file: &str, text: &str) -> Result<String, GoldenError> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source(file, text).map_err(GoldenError::Parse)?;
    let package = &resolve.packages[package];
    let mut printed = format!("package {};\n\n", package.name);
    for (name, id) in &package.interfaces {
        let _ = writeln!(printed, "interface {} {{\n{}}}\n", escaped(name), interface(&resolve, *id)?);
    }
    for (name, id) in &package.worlds {
        let _ = writeln!(printed, "world {} {{\n{}}}", escaped(name), world(&resolve, &resolve.worlds[*id])?);
    }
    Ok(printed)
}

fn escaped(name: &str) -> String {
    if WORDS.contains(&name) { format!("%{name}") } else { name.to_owned() }
}

fn interface(resolve: &Resolve, id: InterfaceId) -> Result<String, GoldenError> {
    let (mut uses, mut items) = (Vec::<(TypeOwner, Vec<String>)>::new(), Vec::new());
    for (name, kind) in &resolve.interfaces[id].types {
        match used(resolve, *kind) {
            Some((owner, original)) => {
                let named = if original == name {
                    escaped(name)
                } else {
                    format!("{} as {}", escaped(original), escaped(name))
                };
                match uses.last_mut().filter(|(last, _)| *last == owner) {
                    Some((_, names)) => names.push(named),
                    None => uses.push((owner, vec![named])),
                }
            }
            None => items.push(definition(resolve, name, *kind)?),
        }
    }
    let mut lines = String::new();
    for (owner, names) in uses {
        let TypeOwner::Interface(owner) = owner else { return Err(GoldenError::Unknown(names.join(", "))) };
        let name = resolve.interfaces[owner].name.as_deref().unwrap_or_default();
        let _ = writeln!(lines, "  use {}.{{{}}};", escaped(name), names.join(", "));
    }
    for function in resolve.interfaces[id].functions.values() {
        items.push(format!("  {}: {};\n", escaped(&function.name), signature(resolve, function)?));
    }
    let parts = std::iter::once(lines).filter(|lines| !lines.is_empty()).chain(items);
    Ok(parts.collect::<Vec<_>>().join("\n"))
}

/// Owner and name of the type that a `use` names.
fn used(resolve: &Resolve, kind: TypeId) -> Option<(TypeOwner, &String)> {
    let TypeDefKind::Type(Type::Id(other)) = resolve.types[kind].kind else { return None };
    let definition = &resolve.types[other];
    if definition.owner == resolve.types[kind].owner {
        return None;
    }
    Some((definition.owner, definition.name.as_ref()?))
}

fn signature(resolve: &Resolve, function: &Function) -> Result<String, GoldenError> {
    let param = |param: &wit_parser::Param| Ok(format!("{}: {}", escaped(&param.name), named(resolve, &param.ty)?));
    let params = function.params.iter().map(param).collect::<Result<Vec<_>, GoldenError>>()?;
    let result = match &function.result {
        Some(kind) => format!(" -> {}", named(resolve, kind)?),
        None => String::new(),
    };
    Ok(format!("func({}){result}", params.join(", ")))
}

/// A record, variant or enum, by a line per part.
fn definition(resolve: &Resolve, name: &str, id: TypeId) -> Result<String, GoldenError> {
    let (word, parts) = match &resolve.types[id].kind {
        TypeDefKind::Record(record) => {
            let field = |field: &wit_parser::Field| {
                Ok(format!("    {}: {},\n", escaped(&field.name), named(resolve, &field.ty)?))
            };
            ("record", record.fields.iter().map(field).collect::<Result<String, GoldenError>>()?)
        }
        TypeDefKind::Variant(variant) => {
            let case = |case: &wit_parser::Case| {
                let value = match &case.ty {
                    Some(kind) => format!("({})", named(resolve, kind)?),
                    None => String::new(),
                };
                Ok(format!("    {}{value},\n", escaped(&case.name)))
            };
            ("variant", variant.cases.iter().map(case).collect::<Result<String, GoldenError>>()?)
        }
        TypeDefKind::Enum(cases) => {
            ("enum", cases.cases.iter().map(|case| format!("    {},\n", escaped(&case.name))).collect())
        }
        other => return Err(GoldenError::Unknown(format!("{name}: {}", other.as_str()))),
    };
    Ok(format!("  {word} {} {{\n{parts}  }}\n", escaped(name)))
}

fn named(resolve: &Resolve, kind: &Type) -> Result<String, GoldenError> {
    let plain = match kind {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S8 => "s8",
        Type::S16 => "s16",
        Type::S32 => "s32",
        Type::S64 => "s64",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::Char => "char",
        Type::String => "string",
        Type::ErrorContext => "error-context",
        Type::Id(id) => return named_type(resolve, *id),
    };
    Ok(plain.to_owned())
}

fn named_type(resolve: &Resolve, id: TypeId) -> Result<String, GoldenError> {
    let definition = &resolve.types[id];
    if let Some(name) = &definition.name {
        return Ok(escaped(name));
    }
    Ok(match &definition.kind {
        TypeDefKind::List(inner) => format!("list<{}>", named(resolve, inner)?),
        TypeDefKind::Option(inner) => format!("option<{}>", named(resolve, inner)?),
        TypeDefKind::Tuple(tuple) => {
            let parts = tuple.types.iter().map(|kind| named(resolve, kind));
            format!("tuple<{}>", parts.collect::<Result<Vec<_>, _>>()?.join(", "))
        }
        TypeDefKind::Result(result) => match (&result.ok, &result.err) {
            (Some(ok), Some(error)) => format!("result<{}, {}>", named(resolve, ok)?, named(resolve, error)?),
            (None, Some(error)) => format!("result<_, {}>", named(resolve, error)?),
            (Some(ok), None) => format!("result<{}>", named(resolve, ok)?),
            (None, None) => "result".to_owned(),
        },
        other => return Err(GoldenError::Unknown(format!("a {} without a name", other.as_str()))),
    })
}

fn world(resolve: &Resolve, world: &World) -> Result<String, GoldenError> {
    let lines = |word: &str, items: &mut dyn Iterator<Item = &WorldItem>| {
        let line = |item: &WorldItem| match item {
            WorldItem::Interface { id, .. } => {
                let name = resolve.interfaces[*id].name.as_deref().unwrap_or_default();
                Ok(format!("  {word} {};\n", escaped(name)))
            }
            other => Err(GoldenError::Unknown(format!("{other:?}"))),
        };
        items.map(line).collect::<Result<String, GoldenError>>()
    };
    let imports = lines("import", &mut world.imports.values())?;
    let exports = lines("export", &mut world.exports.values())?;
    Ok([imports, exports].into_iter().filter(|lines| !lines.is_empty()).collect::<Vec<_>>().join("\n"))
}
