//! Functions of text. Positions count characters.

use crate::formatting;
use crate::outcome::{Outcome, no_overload};
use crate::patterns;
use crate::steps::{Steps, fits};
use crate::text::quoted;
use crate::value::Value;

/// Suffix of the name of a function whose pattern is constant, which is compiled once.
pub(crate) const CONSTANT_PATTERN: &str = " constant";

/// Whether a function with a text as its first argument is in here.
pub(crate) fn is_known(name: &str) -> bool {
    matches!(
        plain(name),
        "startsWith"
            | "endsWith"
            | "contains"
            | "matches"
            | "charAt"
            | "indexOf"
            | "lastIndexOf"
            | "lowerAscii"
            | "upperAscii"
            | "replace"
            | "split"
            | "substring"
            | "trim"
            | "format"
            | "strings.quote"
            | "find"
            | "findAll"
    )
}

/// Calls a function of a text by its name.
pub(crate) fn call(name: &str, text: &str, args: &[Value], steps: &Steps) -> Outcome {
    let string = |text: &str| Ok(Value::text(text));
    match (plain(name), args) {
        ("startsWith", [Value::String(part)]) => Ok(Value::Bool(text.starts_with(&**part))),
        ("endsWith", [Value::String(part)]) => Ok(Value::Bool(text.ends_with(&**part))),
        ("contains", [Value::String(part)]) => Ok(Value::Bool(text.contains(&**part))),
        ("matches", [Value::String(pattern)]) => Ok(Value::Bool(patterns::compile(pattern)?.is_match(text))),
        ("find", [Value::String(pattern)]) => {
            string(patterns::compile(pattern)?.find(text).map_or("", |found| found.as_str()))
        }
        ("findAll", [Value::String(pattern)]) => find_all(text, pattern, -1),
        ("findAll", [Value::String(pattern), Value::Int(most)]) => find_all(text, pattern, *most),
        ("charAt", [Value::Int(at)]) => char_at(text, *at),
        ("indexOf", [Value::String(part)]) => index_of(text, part, 0),
        ("indexOf" | "lastIndexOf", [Value::String(part), Value::Int(from)]) if part.is_empty() => {
            index_of_nothing(text, *from, steps)
        }
        ("indexOf", [Value::String(part), Value::Int(from)]) => index_of(text, part, *from),
        ("lastIndexOf", [Value::String(part)]) => last_index_of(text, part, None),
        ("lastIndexOf", [Value::String(part), Value::Int(from)]) => last_index_of(text, part, Some(*from)),
        ("lowerAscii", []) => string(&text.to_ascii_lowercase()),
        ("upperAscii", []) => string(&text.to_ascii_uppercase()),
        ("replace", [Value::String(old), Value::String(new)]) => replace(text, old, new, -1),
        ("replace", [Value::String(old), Value::String(new), Value::Int(most)]) => replace(text, old, new, *most),
        ("split", [Value::String(by)]) => Ok(split(text, by, -1)),
        ("split", [Value::String(by), Value::Int(most)]) => Ok(split(text, by, *most)),
        ("substring", [Value::Int(from)]) => substring(text, *from, None),
        ("substring", [Value::Int(from), Value::Int(to)]) => substring(text, *from, Some(*to)),
        ("trim", []) => string(text.trim()),
        ("strings.quote", []) => string(&quoted(text)),
        ("format", [Value::List(values)]) => formatting::format(text, values, steps).map(|text| Value::text(&text)),
        _ => no_overload(),
    }
}

/// The name of a function without what stands behind it.
pub(crate) fn plain(name: &str) -> &str {
    name.strip_suffix(CONSTANT_PATTERN).unwrap_or(name)
}

fn find_all(text: &str, pattern: &str, most: i64) -> Outcome {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let pattern = patterns::compile(pattern)?;
    Ok(Value::list(pattern.find_iter(text).take(most).map(|found| Value::text(found.as_str())).collect()))
}

fn out_of_range(at: i64) -> String {
    format!("index out of range: {at}")
}

fn char_at(text: &str, at: i64) -> Outcome {
    let position = usize::try_from(at).map_err(|_| out_of_range(at))?;
    let length = text.chars().count();
    match text.chars().nth(position) {
        Some(c) => Ok(Value::text(c.encode_utf8(&mut [0; 4]))),
        None if position == length => Ok(Value::text("")),
        None => Err(out_of_range(at)),
    }
}

/// Where a part is, from a position on; beyond the end it is nowhere.
fn index_of(text: &str, part: &str, from: i64) -> Outcome {
    if part.is_empty() {
        return Ok(Value::Int(0));
    }
    let start = usize::try_from(from).map_err(|_| out_of_range(from))?;
    let found = split_at(text, start).and_then(|(_, rest)| rest.split_once(part));
    Ok(found.map_or(Value::Int(-1), |(before, _)| Value::count(start + before.chars().count())))
}

/// Nothing is everywhere; up to 0.26 cel-go finds it at any number.
fn index_of_nothing(text: &str, from: i64, steps: &Steps) -> Outcome {
    if !steps.dialect.cel_go29 {
        return Ok(Value::Int(from));
    }
    let from = usize::try_from(from).map_err(|_| out_of_range(from))?;
    Ok(Value::count(from.min(text.chars().count())))
}

fn last_index_of(text: &str, part: &str, from: Option<i64>) -> Outcome {
    let length = text.chars().count();
    if part.is_empty() {
        return Ok(Value::count(length));
    }
    let start = from.map_or(Ok(length), |from| usize::try_from(from).map_err(|_| out_of_range(from)))?;
    if start >= length && from.is_some() {
        return Ok(Value::Int(-1));
    }
    // Nothing behind the end of a part that begins at `start`.
    let (before, rest) = split_at(text, start).unwrap_or((text, ""));
    let behind = rest.char_indices().nth(part.chars().count()).map_or(rest.len(), |(at, _)| at);
    Ok(match text.get(..before.len() + behind).and_then(|text| text.rsplit_once(part)) {
        Some((before, _)) => Value::count(before.chars().count()),
        None => Value::Int(-1),
    })
}

/// The characters before a position, and those from it on; none beyond the end.
fn split_at(text: &str, position: usize) -> Option<(&str, &str)> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.into_iter().nth(position).map(|at| text.split_at(at))
}

fn replace(text: &str, old: &str, new: &str, most: i64) -> Outcome {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let count = text.matches(old).take(most).count();
    fits((text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::text(&text.replacen(old, new, most)))
}

/// Splits as Go's `SplitN`: without a separator between all characters.
fn split(text: &str, by: &str, most: i64) -> Value {
    let texts = |parts: Vec<&str>| Value::list(parts.into_iter().map(Value::text).collect());
    let most = match most {
        0 => return Value::list(Vec::new()),
        most => usize::try_from(most).unwrap_or(usize::MAX),
    };
    if !by.is_empty() {
        return texts(text.splitn(most, by).collect());
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if parts.len() + 1 == most {
            parts.push(rest);
            break;
        }
        let (first, behind) = rest.split_at(c.len_utf8());
        parts.push(first);
        rest = behind;
    }
    texts(parts)
}

fn substring(text: &str, from: i64, to: Option<i64>) -> Outcome {
    let length = text.chars().count();
    let position = |at: i64| usize::try_from(at).ok().filter(|at| *at <= length).ok_or_else(|| out_of_range(at));
    if to.is_some_and(|to| from > to) {
        return Err(format!("invalid substring range. start: {from}, end: {}", to.unwrap_or(0)));
    }
    let (start, end) = (position(from)?, to.map_or(Ok(length), position)?);
    let part: String = text.chars().skip(start).take(end - start).collect();
    Ok(Value::text(&part))
}
