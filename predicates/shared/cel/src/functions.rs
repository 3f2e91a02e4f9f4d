//! Conversions and general functions; calls of all others are handed on to the operators and the libraries.

use crate::operators::contains;
use crate::outcome::{NO_OVERLOAD, Outcome, no_overload, overflow};
use crate::steps::Steps;
use crate::value::Value;
use crate::{libraries, lists, operators, strings};

/// The functions that convert a value to the type of their name.
pub(crate) const CONVERSIONS: [&str; 7] = ["bool", "int", "uint", "double", "string", "bytes", "duration"];

/// Calls a function; for members the target is the first argument.
pub(crate) fn call(name: &str, args: &[Value], steps: &Steps) -> Outcome {
    if let [a, b] = args
        && let Some(outcome) = operators::call(name, a, b, steps)
    {
        return outcome;
    }
    match (name, args) {
        ("!_", [Value::Bool(value)]) => Ok(Value::Bool(!value)),
        ("-_", [Value::Int(value)]) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        ("-_", [Value::Double(value)]) => Ok(Value::Double(-value)),
        ("size", [value]) => size(value),
        ("type", [value]) => Ok(Value::Type(value.type_name())),
        ("dyn", [value]) => Ok(value.clone()),
        (name, [value]) if CONVERSIONS.contains(&name) => convert(name, value),
        (_, [Value::Optional(value), rest @ ..]) => optional(name, value.as_deref(), rest),
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [value]) => Ok(Value::some(value.clone())),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { Value::Optional(None) } else { Value::some(value.clone()) })
        }
        (_, [Value::String(text), rest @ ..]) if strings::is_known(name) => strings::call(name, text, rest, steps),
        (_, [Value::List(list), rest @ ..]) if lists::is_known(name) => lists::call(name, list, rest, steps),
        ("lists.range", [Value::Int(count)]) => lists::range(*count),
        ("includes", [target, value]) => includes(target, value, steps),
        ("getHours" | "getMinutes" | "getSeconds" | "getMilliseconds", [Value::Duration(nanos)]) => {
            Ok(Value::Int(nanos / unit_of(name)))
        }
        _ => libraries::call(name, args),
    }
}

/// The types that an expression can name.
const TYPES: [&str; 11] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"];

/// The type with this name, as a value of an expression.
pub(crate) fn type_named(name: &str) -> Option<&'static str> {
    TYPES.into_iter().find(|known| *known == name)
}

fn includes(target: &Value, value: &Value, steps: &Steps) -> Outcome {
    match target {
        Value::List(_) => contains(value, target, steps),
        target => target.equals(value, steps).map(Value::Bool),
    }
}

fn size(value: &Value) -> Outcome {
    match value {
        Value::String(text) => Ok(Value::count(text.chars().count())),
        Value::Bytes(bytes) => Ok(Value::count(bytes.len())),
        Value::List(list) => Ok(Value::count(list.len())),
        Value::Map(map) => Ok(Value::count(map.entries.len())),
        _ => Err("no such overload: size".to_owned()),
    }
}

fn optional(name: &str, value: Option<&Value>, rest: &[Value]) -> Outcome {
    match (name, rest) {
        ("hasValue", []) => Ok(Value::Bool(value.is_some())),
        ("value", []) => value.cloned().ok_or_else(|| "optional.none() dereference".to_owned()),
        ("or", [other @ Value::Optional(_)]) => {
            Ok(value.map_or_else(|| other.clone(), |value| Value::some(value.clone())))
        }
        ("orValue", [other]) => Ok(value.unwrap_or(other).clone()),
        ("optional.of", []) => Ok(Value::some(Value::Optional(value.cloned().map(Into::into)))),
        _ => no_overload(),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) | Value::Duration(value) => *value == 0,
        Value::Uint(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.entries.is_empty(),
        Value::Optional(inner) => inner.is_none(),
        _ => false,
    }
}

/// Converts a value to the type of this name.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranges are checked"
)]
pub(crate) fn convert(name: &str, value: &Value) -> Outcome {
    let from_text = || format!("type conversion error from 'string' to '{name}'");
    let range = || Err(overflow());
    match (name, value) {
        ("bool", Value::Bool(_))
        | ("int", Value::Int(_))
        | ("uint", Value::Uint(_))
        | ("double", Value::Double(_))
        | ("string", Value::String(_))
        | ("bytes", Value::Bytes(_))
        | ("duration", Value::Duration(_)) => Ok(value.clone()),
        ("bool", Value::String(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(from_text()),
        },
        ("int", Value::Uint(value)) => i64::try_from(*value).map(Value::Int).or_else(|_| range()),
        ("int", Value::Double(value)) if value.abs() < 2_f64.powi(63) => Ok(Value::Int(*value as i64)),
        ("int", Value::Double(_)) => range(),
        ("int", Value::String(text)) => text.parse().map(Value::Int).map_err(|_| from_text()),
        ("int", Value::Duration(nanos)) => Ok(Value::Int(nanos / unit_of("getSeconds"))),
        ("uint", Value::Int(value)) => u64::try_from(*value).map(Value::Uint).or_else(|_| range()),
        ("uint", Value::Double(value)) if *value >= 0.0 && *value < 2_f64.powi(64) => Ok(Value::Uint(*value as u64)),
        ("uint", Value::Double(_)) => range(),
        ("uint", Value::String(text)) => text.parse().map(Value::Uint).map_err(|_| from_text()),
        ("double", Value::Int(value)) => Ok(Value::Double(*value as f64)),
        ("double", Value::Uint(value)) => Ok(Value::Double(*value as f64)),
        ("double", Value::String(text)) => text.parse().map(Value::Double).map_err(|_| from_text()),
        ("bytes", Value::String(text)) => Ok(Value::Bytes(text.as_bytes().into())),
        ("duration", Value::String(text)) => parse_duration(text).map(Value::Duration).ok_or_else(from_text),
        ("string", value) => strings::shown(value).map(|text| Value::text(&text)).ok_or_else(|| NO_OVERLOAD.to_owned()),
        _ => no_overload(),
    }
}

fn unit_of(name: &str) -> i64 {
    match name {
        "getHours" => 3_600_000_000_000,
        "getMinutes" => 60_000_000_000,
        "getSeconds" => 1_000_000_000,
        _ => 1_000_000,
    }
}

/// Reads a duration such as `1h30m`, in nanoseconds.
fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(end);
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { i128::from(whole.parse::<i64>().ok()?) };
        let digits = fraction.get(..fraction.len().min(15))?;
        let part: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let scale = 10_i128.checked_pow(u32::try_from(digits.len()).ok()?)?;
        total = total.checked_add(whole.checked_mul(unit)? + part * unit / scale)?;
        rest = behind;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}
