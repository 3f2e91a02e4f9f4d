//! Conversions and general functions; calls of all others are handed on to the operators and the libraries.

use crate::outcome::{NO_OVERLOAD, Outcome, UNCONVERTED, no_overload, overflow};
use crate::steps::Steps;
use crate::strings::CONSTANT_PATTERN;
use crate::time::{Timestamp, parse_duration, part_of_duration};
use crate::types::{DURATION, EMPTY, TIMESTAMP};
use crate::value::Value;
use crate::{libraries, lists, operators, strings, text};

/// The functions that convert a value to the type of their name.
pub(crate) const CONVERSIONS: [&str; 8] = ["bool", "int", "uint", "double", "string", "bytes", "duration", "timestamp"];

/// Elements that `includes` looks at in Kubernetes 1.36.
const MOST_INCLUDED: usize = 48;

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
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [value]) => Ok(Value::some(value.clone())),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { Value::Optional(None) } else { Value::some(value.clone()) })
        }
        // With a constant pattern cel-go takes what is a text in Go, as the name of a type is.
        (_, [Value::Type(text), rest @ ..]) if name.ends_with(CONSTANT_PATTERN) => {
            strings::call(name, text, rest, steps)
        }
        (_, [Value::Optional(value), rest @ ..]) => optional(name, value.as_deref(), rest),
        (_, [Value::String(text), rest @ ..]) if strings::is_known(name) => strings::call(name, text, rest, steps),
        (_, [Value::List(list), rest @ ..]) if lists::is_known(name) => lists::call(name, list, rest, steps),
        ("lists.range", [Value::Int(count)]) => lists::range(*count, steps),
        ("includes", [target, value]) => includes(target, value, steps),
        ("optional.unwrap" | "unwrapOpt", [Value::List(list)]) => unwrapped(list),
        (_, [Value::Duration(nanos)]) => {
            part_of_duration(name, *nanos).map_or_else(no_overload, |part| Ok(Value::Int(part)))
        }
        (_, [Value::Timestamp(at)]) => part_of_timestamp(name, *at, "UTC"),
        (_, [Value::Timestamp(at), Value::String(zone)]) => part_of_timestamp(name, *at, zone),
        _ => libraries::call(strings::plain(name), args),
    }
}

/// The types that an expression can name.
const TYPES: [&str; 16] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "optional_type",
    "net.IP",
    "net.CIDR",
    DURATION,
    TIMESTAMP,
    EMPTY,
];

/// The value of a name that is no variable: a type, or the only number with a name.
pub(crate) fn constant(name: &str) -> Option<Value> {
    if name == "google.protobuf.NullValue.NULL_VALUE" {
        return Some(Value::Int(0));
    }
    TYPES.into_iter().find(|known| *known == name).map(Value::Type)
}

fn part_of_timestamp(name: &str, at: Timestamp, zone: &str) -> Outcome {
    at.part(name, zone)?.map_or_else(no_overload, |part| Ok(Value::Int(part)))
}

fn unwrapped(list: &[Value]) -> Outcome {
    let mut values = Vec::new();
    for element in list {
        let Value::Optional(value) = element else { return Err("value is not optional".to_owned()) };
        values.extend(value.as_deref().cloned());
    }
    Ok(Value::list(values))
}

/// Whether a list has a value, or a value is equal to another. It is the element whose equality is asked, while `in` asks that of the value.
fn includes(target: &Value, value: &Value, steps: &Steps) -> Outcome {
    let Value::List(list) = target else { return target.equals(value, steps).map(Value::Bool) };
    for (at, element) in list.iter().enumerate() {
        if at >= MOST_INCLUDED && !steps.dialect.cel_go29 {
            return Err(format!("'includes' function cannot be applied to lists longer than {MOST_INCLUDED} values"));
        }
        if element.equals(value, steps)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
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
        ("value", []) if matches!(value, Some(Value::Fault)) => Err(UNCONVERTED.to_owned()),
        ("value", []) => value.cloned().ok_or_else(|| "optional.none() dereference".to_owned()),
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
        Value::Timestamp(at) => at.is_first(),
        Value::Empty => true,
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
    let timestamp =
        |found: Option<Timestamp>| found.map(Value::Timestamp).ok_or_else(|| "invalid timestamp".to_owned());
    match (name, value) {
        ("bool", Value::Bool(_))
        | ("int", Value::Int(_))
        | ("uint", Value::Uint(_))
        | ("double", Value::Double(_))
        | ("string", Value::String(_))
        | ("bytes", Value::Bytes(_))
        | ("duration", Value::Duration(_))
        | ("timestamp", Value::Timestamp(_)) => Ok(value.clone()),
        ("bool", Value::String(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(from_text()),
        },
        ("int", Value::Uint(value)) => i64::try_from(*value).map(Value::Int).or_else(|_| range()),
        ("int", Value::Double(value)) if value.abs() < 2_f64.powi(63) => Ok(Value::Int(*value as i64)),
        ("int", Value::Double(_)) => range(),
        ("int", Value::String(text)) => text.parse().map(Value::Int).map_err(|_| from_text()),
        ("int", Value::Duration(nanos)) => Ok(Value::Int(*nanos)),
        ("int", Value::Timestamp(at)) => Ok(Value::Int(at.seconds)),
        ("uint", Value::Int(value)) => u64::try_from(*value).map(Value::Uint).or_else(|_| range()),
        ("uint", Value::Double(value)) if *value >= 0.0 && *value < 2_f64.powi(64) => Ok(Value::Uint(*value as u64)),
        ("uint", Value::Double(_)) => range(),
        ("uint", Value::String(text)) => unsigned(text).map(Value::Uint).ok_or_else(from_text),
        ("double", Value::Int(value)) => Ok(Value::Double(*value as f64)),
        ("double", Value::Uint(value)) => Ok(Value::Double(*value as f64)),
        ("double", Value::String(text)) => parse_double(text).map(Value::Double).ok_or_else(from_text),
        ("bytes", Value::String(text)) => Ok(Value::Bytes(text.as_bytes().into())),
        ("duration", Value::String(text)) => parse_duration(text).map(Value::Duration).ok_or_else(from_text),
        ("timestamp", Value::Int(seconds)) => timestamp(Timestamp::new(*seconds, 0)),
        ("timestamp", Value::String(text)) => timestamp(Timestamp::parse(text)),
        ("string", Value::Null | Value::Type(_)) => no_overload(),
        ("string", value) => text::shown(value).map(|text| Value::text(&text)).ok_or_else(|| NO_OVERLOAD.to_owned()),
        _ => no_overload(),
    }
}

fn unsigned(text: &str) -> Option<u64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// Reads a double; a number that is too large is none, and NaN has no sign.
fn parse_double(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    let is_named = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_alphabetic());
    match value {
        value if value.is_nan() => (!text.starts_with(['+', '-'])).then_some(value),
        value if value.is_infinite() && !is_named => None,
        value => Some(value),
    }
}
