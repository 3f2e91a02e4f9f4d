//! Functions of text. Positions count characters.

use crate::outcome::{Outcome, no_overload};
use crate::patterns;
use crate::steps::{Steps, fits};
use crate::value::Value;

/// Whether a function with a text as its first argument is in here.
pub(crate) fn is_known(name: &str) -> bool {
    matches!(
        name,
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
    match (name, args) {
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
        ("format", [Value::List(values)]) => formatted(text, values, steps).map(|text| Value::text(&text)),
        _ => no_overload(),
    }
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

fn index_of(text: &str, part: &str, from: i64) -> Outcome {
    let start = usize::try_from(from).map_err(|_| out_of_range(from))?;
    if part.is_empty() {
        return Ok(Value::count(start));
    }
    let (_, rest) = split_at(text, start).ok_or_else(|| out_of_range(from))?;
    Ok(match rest.split_once(part) {
        Some((before, _)) => Value::count(start + before.chars().count()),
        None => Value::Int(-1),
    })
}

fn last_index_of(text: &str, part: &str, from: Option<i64>) -> Outcome {
    let length = text.chars().count();
    let start = match from {
        Some(from) => usize::try_from(from).ok().filter(|at| *at < length).ok_or_else(|| out_of_range(from))?,
        None => length,
    };
    if part.is_empty() {
        return Ok(Value::count(start));
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
    let (start, end) = (position(from)?, to.map_or(Ok(length), position)?);
    if start > end {
        return Err(format!("invalid substring range. start: {start}, end: {end}"));
    }
    let part: String = text.chars().skip(start).take(end - start).collect();
    Ok(Value::text(&part))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The text of a value that has one.
pub(crate) fn shown(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) if value.is_infinite() => if *value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Value::Double(value) => shown_double(*value),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok()?,
        Value::Duration(nanos) => format!("{}s", shown_seconds(*nanos)),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(address, bits) => format!("{address}/{bits}"),
        _ => return None,
    })
}

/// Doubles with this exponent or a larger one are shown with it, as Go's `%g` does.
const LEAST_EXPONENT: i32 = 6;

/// Formats a double like Go's `%g`, with the shortest number of digits.
fn shown_double(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    if exponent.parse().is_ok_and(|exponent: i32| (-4..LEAST_EXPONENT).contains(&exponent)) {
        return value.to_string();
    }
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

fn shown_seconds(nanos: i64) -> String {
    let text = format!("{}.{:09}", nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    format!("{}{}", if nanos < 0 { "-" } else { "" }, text.trim_end_matches('0').trim_end_matches('.'))
}

/// A clause of a format: its precision and letter.
struct Clause {
    precision: Option<usize>,
    letter: char,
}

/// A precision beyond this is refused; it would only add zeros.
const MOST_PLACES: usize = 100;

/// The literal parts and clauses of a format.
fn clauses(format: &str) -> Result<Vec<Result<Clause, char>>, String> {
    let mut parts = Vec::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            parts.push(Err(c));
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            parts.push(Err('%'));
            continue;
        }
        let mut precision = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            let places = digits.parse().ok().filter(|places| *places <= MOST_PLACES);
            precision = Some(places.ok_or_else(|| "error while parsing precision".to_owned())?);
        }
        match chars.next() {
            Some(letter @ ('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o')) => {
                parts.push(Ok(Clause { precision, letter }))
            }
            Some(letter) => return Err(format!("unrecognized formatting clause \"{letter}\"")),
            None => return Err("unexpected end of string".to_owned()),
        }
    }
    Ok(parts)
}

/// Refuses a constant format that its arguments cannot fill; attributes as they are cannot be arguments.
pub(crate) fn check_format(format: &str, count: usize, attributes: &[bool]) -> Result<(), String> {
    let clauses = clauses(format)?.into_iter().flatten().count();
    if clauses > count {
        return Err(format!("index {count} out of range"));
    }
    match attributes.iter().position(|attribute| *attribute) {
        Some(at) if at < clauses => {
            Err(format!("error during formatting: argument {at} is an attribute; convert it first"))
        }
        _ => Ok(()),
    }
}

fn formatted(format: &str, values: &[Value], steps: &Steps) -> Result<String, String> {
    let mut text = String::new();
    let mut values = values.iter();
    for part in clauses(format)? {
        match part {
            Err(c) => text.push(c),
            Ok(clause) => {
                let value = values.next().ok_or_else(|| "index out of range".to_owned())?;
                let part = clause.fill(value, steps)?.ok_or_else(|| {
                    format!("error during formatting: %{} does not take {}", clause.letter, value.type_name())
                })?;
                fits(text.len().saturating_add(part.len()))?;
                text.push_str(&part);
            }
        }
    }
    Ok(text)
}

impl Clause {
    fn fill(&self, value: &Value, steps: &Steps) -> Result<Option<String>, String> {
        if self.letter == 's' {
            return element(value, steps);
        }
        Ok(self.number(value))
    }

    #[allow(clippy::cast_precision_loss, reason = "as Go does")]
    fn number(&self, value: &Value) -> Option<String> {
        let places = self.precision.unwrap_or(6);
        let signed = |value: i64, digits: String| if value < 0 { format!("-{digits}") } else { digits };
        let double = |value: &Value| match value {
            Value::Double(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            Value::Uint(value) => Some(*value as f64),
            _ => None,
        };
        match (self.letter, value) {
            ('d', Value::Int(_) | Value::Uint(_)) => shown(value),
            ('d' | 'f' | 'e', Value::Double(number)) if number.is_nan() || number.is_infinite() => Some(
                if number.is_nan() {
                    "NaN"
                } else if *number > 0.0 {
                    "Infinity"
                } else {
                    "-Infinity"
                }
                .to_owned(),
            ),
            ('f', value) => Some(format!("{:.*}", places, double(value)?)),
            ('e', value) => {
                let text = format!("{:.*e}", places, double(value)?);
                let (digits, exponent) = text.split_once('e')?;
                let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
                Some(format!("{digits}e{sign}{exponent:0>2}"))
            }
            ('b', Value::Bool(value)) => Some(u8::from(*value).to_string()),
            ('b', Value::Int(value)) => Some(signed(*value, format!("{:b}", value.unsigned_abs()))),
            ('b', Value::Uint(value)) => Some(format!("{value:b}")),
            ('o', Value::Int(value)) => Some(signed(*value, format!("{:o}", value.unsigned_abs()))),
            ('o', Value::Uint(value)) => Some(format!("{value:o}")),
            ('x' | 'X', value) => {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                let text = match value {
                    Value::Int(value) => signed(*value, format!("{:x}", value.unsigned_abs())),
                    Value::Uint(value) => format!("{value:x}"),
                    Value::String(text) => hex(text.as_bytes()),
                    Value::Bytes(bytes) => hex(bytes),
                    _ => return None,
                };
                Some(if self.letter == 'X' { text.to_ascii_uppercase() } else { text })
            }
            _ => None,
        }
    }
}

/// A value as `%s` shows it.
///
/// # Errors
/// There are no steps left: one for each value inside, and those of its text. Or the text is too long.
fn element(value: &Value, steps: &Steps) -> Result<Option<String>, String> {
    steps.take(1)?;
    match value {
        Value::List(list) => {
            let mut parts = Vec::new();
            for value in list.iter() {
                let Some(part) = element(value, steps)? else { return Ok(None) };
                parts.push(part);
            }
            joined(&parts, steps).map(|text| Some(format!("[{text}]")))
        }
        Value::Map(map) => {
            let mut parts = Vec::new();
            for (key, value) in &map.entries {
                let (Some(key), Some(value)) = (element(key, steps)?, element(value, steps)?) else { return Ok(None) };
                parts.push(format!("{key}: {value}"));
            }
            parts.sort();
            joined(&parts, steps).map(|text| Some(format!("{{{text}}}")))
        }
        value => {
            let text = plain(value);
            steps.read(text.as_ref().map_or(0, String::len))?;
            Ok(text)
        }
    }
}

fn joined(parts: &[String], steps: &Steps) -> Result<String, String> {
    let bytes = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()).saturating_add(2));
    fits(bytes)?;
    steps.read(bytes)?;
    Ok(parts.join(", "))
}

/// A value with none inside, as `%s` shows it.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::Type(name) => Some((*name).to_owned()),
        Value::Double(number) if number.is_nan() => Some("NaN".to_owned()),
        Value::Double(number) if number.is_infinite() => {
            Some(if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned())
        }
        Value::Bool(_)
        | Value::Bytes(_)
        | Value::Double(_)
        | Value::Duration(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::String(_) => shown(value),
        _ => None,
    }
}
