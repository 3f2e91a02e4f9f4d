//! Messages of `google.protobuf`: their types and fields, and the values that they stand for. Start at [`make`].

use std::rc::Rc;

use crate::any;
use crate::outcome::Outcome;
use crate::steps::Steps;
use crate::time::{Timestamp, duration_of_fields};
use crate::types::{DURATION, EMPTY, INT, STRING, TIMESTAMP, Type, WRAPPERS};
use crate::value::{Map, Value};

/// Whole numbers with a double of their own, from the negative of this one.
const EXACT: i64 = (1 << 53) - 1;

/// Names of types that a message can be written with, but that no message has.
const UNKNOWN: [&str; 4] = ["duration", "timestamp", "null_type", "kubernetes.DRADevice"];

fn wrapped(name: &str) -> Option<&'static str> {
    WRAPPERS.into_iter().find(|(wrapper, _)| *wrapper == name).map(|(_, of)| of)
}

/// The type of a message's value; none where there is no such message.
pub(crate) fn type_of(name: &str) -> Option<Type> {
    if let Some(of) = wrapped(name) {
        return Some(Type::Wrapper(of));
    }
    Some(match name {
        "google.protobuf.Any" => Type::Any,
        "google.protobuf.Value" => Type::Dyn,
        "google.protobuf.ListValue" => Type::list(Type::Dyn),
        "google.protobuf.Struct" => Type::map(STRING, Type::Dyn),
        "duration" | DURATION => Type::Plain(DURATION),
        "timestamp" | TIMESTAMP => Type::Plain(TIMESTAMP),
        "null_type" => Type::Plain("null"),
        "kubernetes.DRADevice" => Type::Device,
        EMPTY => Type::Plain(EMPTY),
        _ => return None,
    })
}

/// The type of a field.
pub(crate) fn field(name: &str, field: &str) -> Option<Type> {
    if let Some(of) = wrapped(name) {
        return (field == "value").then_some(Type::Plain(of));
    }
    Some(match (name, field) {
        ("google.protobuf.Any", "type_url") | ("google.protobuf.Value", "string_value") => STRING,
        ("google.protobuf.Any", "value") => Type::Plain("bytes"),
        ("google.protobuf.Value", "null_value") => INT,
        ("google.protobuf.Value", "number_value") => Type::Plain("double"),
        ("google.protobuf.Value", "bool_value") => Type::Plain("bool"),
        ("google.protobuf.Value", "struct_value") | ("google.protobuf.Struct", "fields") => {
            Type::map(STRING, Type::Dyn)
        }
        ("google.protobuf.Value", "list_value") | ("google.protobuf.ListValue", "values") => Type::list(Type::Dyn),
        ("duration" | "timestamp" | DURATION | TIMESTAMP, "seconds" | "nanos") => INT,
        _ => return None,
    })
}

/// The value of a message with these fields.
///
/// # Errors
/// There is no such message, or a field cannot have its value.
pub(crate) fn make(name: &str, fields: &[(String, Value)], steps: &Steps) -> Outcome {
    if UNKNOWN.contains(&name) {
        return Err(format!("unknown type '{name}'"));
    }
    let field = |wanted: &str| fields.iter().rev().find(|(known, _)| known == wanted).map(|(_, value)| value);
    let int = |wanted: &str| field(wanted).map_or(Ok(0), |value| whole(wanted, value));
    match name {
        DURATION => Ok(Value::Duration(duration_of_fields(int("seconds")?, narrow("nanos", int("nanos")?)?))),
        TIMESTAMP => Ok(Value::Timestamp(Timestamp::of_fields(int("seconds")?, narrow("nanos", int("nanos")?)?))),
        EMPTY => Ok(Value::Empty),
        "google.protobuf.Any" => match (field("type_url"), field("value")) {
            (Some(Value::String(url)), Some(Value::Bytes(bytes))) => any::unpack(url, bytes, steps),
            (Some(Value::String(url)), None) => any::unpack(url, &[], steps),
            _ => Err("conversion error: got invalid Any message".to_owned()),
        },
        "google.protobuf.ListValue" => match field("values") {
            None => Ok(Value::list(Vec::new())),
            Some(list @ Value::List(_)) => json(list, steps),
            Some(other) => Err(unfit("values", other)),
        },
        "google.protobuf.Struct" => match field("fields") {
            None => Ok(Value::map(Vec::new())),
            Some(map @ Value::Map(_)) => json(map, steps),
            Some(other) => Err(unfit("fields", other)),
        },
        "google.protobuf.Value" => match fields.last().map(|(name, value)| (name.as_str(), value)) {
            None | Some(("null_value", Value::Int(_))) => Ok(Value::Null),
            Some(("number_value", value @ Value::Double(_)))
            | Some(("string_value", value @ Value::String(_)))
            | Some(("bool_value", value @ Value::Bool(_))) => Ok(value.clone()),
            Some(("struct_value", value @ Value::Map(_))) | Some(("list_value", value @ Value::List(_))) => {
                json(value, steps)
            }
            Some((name, value)) => Err(unfit(name, value)),
        },
        name => wrapper(name, field("value")),
    }
}

fn unfit(field: &str, value: &Value) -> String {
    format!("field type conversion error for {field} value type: {}", value.type_name())
}

fn whole(field: &str, value: &Value) -> Result<i64, String> {
    match value {
        Value::Int(value) => Ok(*value),
        other => Err(unfit(field, other)),
    }
}

fn narrow(field: &str, value: i64) -> Result<i32, String> {
    i32::try_from(value).map_err(|_| unfit(field, &Value::Int(value)))
}

#[allow(clippy::cast_possible_truncation, reason = "a float has no more")]
fn wrapper(name: &str, value: Option<&Value>) -> Outcome {
    let Some(of) = wrapped(name) else { return Err(format!("unknown type '{name}'")) };
    Ok(match (of, value) {
        ("bool", None) => Value::Bool(false),
        ("int", None) => Value::Int(0),
        ("uint", None) => Value::Uint(0),
        ("double", None) => Value::Double(0.0),
        ("string", None) => Value::text(""),
        (_, None) => Value::Bytes(Rc::from([])),
        (_, Some(value @ Value::Int(number))) if of == "int" => {
            if name.ends_with(".Int32Value") {
                narrow("value", *number)?;
            }
            value.clone()
        }
        (_, Some(value @ Value::Uint(number))) if of == "uint" => {
            if name.ends_with(".UInt32Value") && u32::try_from(*number).is_err() {
                return Err(unfit("value", value));
            }
            value.clone()
        }
        (_, Some(Value::Double(number))) if name.ends_with(".FloatValue") => Value::Double(f64::from(*number as f32)),
        (of, Some(value)) if value.type_name() == of => value.clone(),
        (_, Some(value)) => return Err(unfit("value", value)),
    })
}

/// A value as it is after it was written as JSON.
///
/// # Errors
/// There is no JSON of it, or there are no steps left.
#[allow(clippy::cast_precision_loss, reason = "only where nothing is lost")]
pub(crate) fn json(value: &Value, steps: &Steps) -> Outcome {
    steps.take(1)?;
    Ok(match value {
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Double(_) => value.clone(),
        Value::Int(number) if number.abs() <= EXACT => Value::Double(*number as f64),
        Value::Uint(number) if i64::try_from(*number).is_ok_and(|number| number <= EXACT) => {
            Value::Double(*number as f64)
        }
        Value::Int(_) | Value::Uint(_) | Value::Duration(_) | Value::Timestamp(_) => {
            return crate::functions::convert("string", value);
        }
        Value::Bytes(bytes) => {
            steps.read(bytes.len())?;
            Value::text(&base64(bytes))
        }
        Value::List(list) => Value::list(list.iter().map(|element| json(element, steps)).collect::<Result<_, _>>()?),
        Value::Map(map) => {
            let mut entries = Map::default();
            for (key, value) in &map.entries {
                let key = match key {
                    Value::String(_) => key.clone(),
                    other => return Err(unfit("fields", other)),
                };
                entries.set(key, json(value, steps)?, steps)?;
            }
            Value::Map(Rc::new(entries))
        }
        Value::Empty => Value::map(Vec::new()),
        other => return Err(unfit("value", other)),
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let number = (0..3).fold(0_usize, |sum, at| sum << 8 | usize::from(chunk.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let is_there = digit <= chunk.len();
            text.push(if is_there { char::from(DIGITS[number >> (18 - 6 * digit) & 63]) } else { '=' });
        }
    }
    text
}
