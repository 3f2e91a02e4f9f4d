//! Macros, by name and number of arguments: calls whose first arguments are names of variables.

use crate::ast::{Expr, Macro, MacroKind};

/// Name that no variable of most macros may have.
const RESULT: &str = "__result__";

/// The macro of this name and number of arguments, with its number of variables.
pub(crate) fn named(target: &Expr, name: &str, args: usize) -> Option<(MacroKind, usize)> {
    Some(match (name, args) {
        ("all", 2 | 3) => (MacroKind::All, args - 1),
        ("exists", 2 | 3) => (MacroKind::Exists, args - 1),
        ("exists_one", 2 | 3) | ("existsOne", 3) => (MacroKind::ExistsOne, args - 1),
        ("map", 2 | 3) => (MacroKind::Map, 1),
        ("filter", 2) => (MacroKind::Filter, 1),
        ("sortBy", 2) => (MacroKind::SortBy, 1),
        ("transformList", 3 | 4) => (MacroKind::TransformList, 2),
        ("transformMap", 3 | 4) => (MacroKind::TransformMap, 2),
        ("transformMapEntry", 3 | 4) => (MacroKind::TransformMapEntry, 2),
        ("optMap", 2) => (MacroKind::OptMap, 1),
        ("optFlatMap", 2) => (MacroKind::OptFlatMap, 1),
        ("bind", 3) if matches!(target, Expr::Ident(name) if name == "cel") => (MacroKind::Bind, 1),
        _ => return None,
    })
}

/// The tree of a macro.
///
/// # Errors
/// What is wrong with its arguments.
pub(crate) fn expand(kind: MacroKind, variables: usize, target: Expr, mut args: Vec<Expr>) -> Result<Expr, String> {
    let rest = args.split_off(variables);
    let mut names = Vec::new();
    for arg in args {
        match arg {
            // Standard macros keep their result under this name.
            Expr::Ident(name)
                if name == RESULT && !matches!(kind, MacroKind::Bind | MacroKind::OptMap | MacroKind::OptFlatMap) =>
            {
                return Err(format!("{RESULT} is no name of a variable"));
            }
            Expr::Ident(name) if !names.contains(&name) => names.push(name),
            Expr::Ident(_) => return Err("its variables must have different names".to_owned()),
            _ => return Err("a variable must be a name".to_owned()),
        }
    }
    let (range, args) = match kind {
        MacroKind::Bind => {
            let mut rest = rest.into_iter();
            let Some(value) = rest.next() else { return Err("its value is missing".to_owned()) };
            (value, rest.collect())
        }
        _ => (target, rest),
    };
    Ok(Expr::Macro(Box::new(Macro { kind, range, variables: names, args })))
}
