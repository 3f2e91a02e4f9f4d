//! The functions and operators with their types. A name that is not here does not exist: expressions that use it are refused.
//!
//! They are in `signatures.txt`; those of the authorizer are there too, though no selector can have one.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::types::{FORMAT, PLAIN, Type};

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    /// Whether it is called as `target.name(args)`.
    pub(crate) member: bool,
    /// The target first; variables are numbered from 0.
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// The variables in it.
    pub(crate) variables: usize,
}

/// One overload per line: `name(types): result`, members with a dot in front. Those of one function are in cel-go's order: where the
/// type of an argument is not known yet, the first that fits makes it known.
const TABLE: &str = include_str!("signatures.txt");

/// A line with the letter `C` or `S` stands for one line per comparable type, or type with a sum.
const COMPARABLE: [&str; 8] = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];
const SUMMABLE: [&str; 4] = ["int", "uint", "double", "duration"];

/// A line with the letters `N` and `M` stands for one line per pair of types that have an order.
const ORDERED: [(&str, &str); 14] = [
    ("bool", "bool"),
    ("int", "int"),
    ("int", "double"),
    ("int", "uint"),
    ("uint", "uint"),
    ("uint", "double"),
    ("uint", "int"),
    ("double", "double"),
    ("double", "int"),
    ("double", "uint"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("timestamp", "timestamp"),
    ("duration", "duration"),
];

/// The overloads of a function.
pub(crate) fn overloads(name: &str) -> Option<&'static [Overload]> {
    static ALL: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    ALL.get_or_init(all).get(name).map(Vec::as_slice)
}

fn all() -> BTreeMap<&'static str, Vec<Overload>> {
    let mut all: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
    for line in TABLE.lines() {
        let Some((head, result)) = line.rsplit_once("): ") else { continue };
        let Some((name, args)) = head.split_once('(') else { continue };
        let member = name.starts_with('.');
        let overloads = all.entry(name.trim_start_matches('.')).or_default();
        for (n, m) in meanings(args) {
            let mut variables = 0;
            let mut read = |text: &str| {
                let mut rest = text;
                read_type(&mut rest, n, m, &mut variables)
            };
            let args = split_args(args).into_iter().map(&mut read).collect();
            let result = read(result);
            overloads.push(Overload { member, args, result, variables });
        }
    }
    all
}

/// Returns the types that the letters of a line stand for, one pair per overload.
fn meanings(args: &str) -> Vec<(&'static str, &'static str)> {
    let letter = |letter: char| {
        args.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .any(|word| word.len() == 1 && word.starts_with(letter))
    };
    if letter('C') {
        COMPARABLE.into_iter().map(|name| (name, name)).collect()
    } else if letter('S') {
        SUMMABLE.into_iter().map(|name| (name, name)).collect()
    } else if letter('N') {
        ORDERED.to_vec()
    } else {
        vec![("", "")]
    }
}

/// Splits at commas outside of brackets.
fn split_args(args: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in args.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(args.get(start..at).unwrap_or("").trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = args.get(start..).unwrap_or("").trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn read_type(text: &mut &str, n: &'static str, m: &'static str, variables: &mut usize) -> Type {
    let trimmed = text.trim_start_matches([' ', ',']);
    let end = trimmed.find(['(', ')', ',', ' ']).unwrap_or(trimmed.len());
    let (word, rest) = trimmed.split_at(end);
    *text = rest.strip_prefix('(').unwrap_or(rest);
    let mut next = || read_type(text, n, m, variables);
    let plain = |word: &str| {
        let known = PLAIN.into_iter().find(|(name, _)| *name == word);
        known.map_or(Type::Dyn, |(_, shown)| Type::Plain(shown))
    };
    let read = match word {
        "list" => Type::list(next()),
        "optional" => Type::optional(next()),
        "map" => {
            let key = next();
            Type::map(key, next())
        }
        "type" => Type::meta(next()),
        "format" => Type::Plain(FORMAT),
        "A" | "B" => {
            let number = usize::from(word == "B");
            *variables = (*variables).max(number + 1);
            Type::Variable(number)
        }
        "C" | "S" | "N" => plain(n),
        "M" => plain(m),
        word => plain(word),
    };
    *text = text.strip_prefix(')').unwrap_or(text);
    read
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let shown = |name: &str| -> Vec<String> {
            let show = |overload: &Overload| {
                let args: Vec<String> = overload.args.iter().map(ToString::to_string).collect();
                format!("{}({}): {}", if overload.member { "." } else { "" }, args.join(", "), overload.result)
            };
            overloads(name).unwrap().iter().map(show).collect()
        };
        assert_eq!(shown("@in"), ["(dyn, list(dyn)): bool", "(dyn, map(dyn, dyn)): bool"]);
        assert_eq!(shown("getQuery"), [".(kubernetes.URL): map(string, list(string))"]);
        assert_eq!(shown("flatten"), [".(list(list(dyn))): list(dyn)", ".(list(dyn), int): list(dyn)"]);
        assert_eq!(shown("validate"), [".(kubernetes.NamedFormat, string): optional_type(list(string))"]);
        assert_eq!(shown("format.date"), ["(): kubernetes.NamedFormat"]);
        assert_eq!(shown("_<_").len(), 8 + 6);
        assert_eq!(shown("sum").len(), 4);
    }
}
