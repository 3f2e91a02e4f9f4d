//! Operators of two values: equality, order, arithmetic, membership.

use std::cmp::Ordering;

use crate::map::{check_key, is_same_key};
use crate::outcome::{Outcome, no_overload, overflow};
use crate::steps::{Steps, fits};
use crate::time::Timestamp;
use crate::value::Value;

/// Membership of a value in what is known to be a list, and in a list of constants of primitive types.
pub(crate) const IN_LIST: &str = "@in list";
pub(crate) const IN_SET: &str = "@in set";

/// Applies an operator; none where there is none of this name.
pub(crate) fn call(name: &str, a: &Value, b: &Value, steps: &Steps) -> Option<Outcome> {
    Some(match name {
        "_==_" => a.equality(b, steps).and_then(|equal| equal.map_or_else(no_overload, |equal| Ok(Value::Bool(equal)))),
        // An equality that fails is none.
        "_!=_" => a.equals(b, steps).map(|equal| Value::Bool(!equal)),
        "_<_" => ordered(a, b, Ordering::is_lt),
        "_<=_" => ordered(a, b, Ordering::is_le),
        "_>_" => ordered(a, b, Ordering::is_gt),
        "_>=_" => ordered(a, b, Ordering::is_ge),
        "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => arithmetic(name, a, b),
        "@in" | IN_LIST => contains(a, b, steps),
        IN_SET => in_set(a, b, steps),
        _ => return None,
    })
}

fn ordered(a: &Value, b: &Value, holds: fn(Ordering) -> bool) -> Outcome {
    match a.order(b) {
        Some(order) => Ok(Value::Bool(holds(order))),
        None if a.is_number() && b.is_number() => Err("NaN values cannot be ordered".to_owned()),
        None => no_overload(),
    }
}

pub(crate) fn arithmetic(name: &str, a: &Value, b: &Value) -> Outcome {
    let by_zero = || if name == "_%_" { "modulus by zero" } else { "division by zero" }.to_owned();
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) if matches!(name, "_/_" | "_%_") => {
            Err(by_zero())
        }
        (Value::Int(a), Value::Int(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            result.map(Value::Int).ok_or_else(overflow)
        }
        (Value::Uint(a), Value::Uint(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            result.map(Value::Uint).ok_or_else(|| "unsigned integer overflow".to_owned())
        }
        (Value::Double(a), Value::Double(b)) => match name {
            "_+_" => Ok(Value::Double(a + b)),
            "_-_" => Ok(Value::Double(a - b)),
            "_*_" => Ok(Value::Double(a * b)),
            "_/_" => Ok(Value::Double(a / b)),
            _ => no_overload(),
        },
        (Value::String(a), Value::String(b)) if name == "_+_" => {
            fits(a.len().saturating_add(b.len()))?;
            Ok(Value::text(&format!("{a}{b}")))
        }
        (Value::Bytes(a), Value::Bytes(b)) if name == "_+_" => {
            fits(a.len().saturating_add(b.len()))?;
            Ok(Value::Bytes([&**a, &**b].concat().into()))
        }
        (Value::List(a), Value::List(b)) if name == "_+_" => Ok(Value::list([&***a, &***b].concat())),
        (Value::Duration(_) | Value::Timestamp(_), _) => of_time(name, a, b),
        _ => no_overload(),
    }
}

fn of_time(name: &str, a: &Value, b: &Value) -> Outcome {
    let duration = |nanos: Option<i64>| nanos.map(Value::Duration).ok_or_else(overflow);
    let timestamp =
        |found: Option<Timestamp>| found.map(Value::Timestamp).ok_or_else(|| "timestamp overflow".to_owned());
    match (name, a, b) {
        ("_+_", Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        ("_-_", Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        ("_+_", Value::Timestamp(at), Value::Duration(nanos))
        | ("_+_", Value::Duration(nanos), Value::Timestamp(at)) => timestamp(at.plus(*nanos)),
        ("_-_", Value::Timestamp(at), Value::Duration(nanos)) => {
            timestamp(nanos.checked_neg().and_then(|nanos| at.plus(nanos)))
        }
        ("_-_", Value::Timestamp(a), Value::Timestamp(b)) => duration(a.since(*b)),
        _ => no_overload(),
    }
}

/// Membership by the keys of a map that has each number in all types of numbers.
#[allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "as Go does")]
fn in_set(value: &Value, of: &Value, steps: &Steps) -> Outcome {
    let Value::List(list) = of else { return no_overload() };
    check_key(value)?;
    for element in list.iter() {
        let is_same = match (element, value) {
            (Value::Int(known), Value::Double(value)) => *known as f64 == *value,
            (Value::Uint(known), Value::Double(value)) => *known as f64 == *value,
            (known, value) if known.is_number() && value.is_number() => known.equals(value, steps)?,
            (known, value) => is_same_key(known, value, steps)?,
        };
        if is_same {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(crate) fn contains(element: &Value, of: &Value, steps: &Steps) -> Outcome {
    match of {
        Value::List(list) => Ok(Value::Bool(element.position(list.iter(), steps)?.is_some())),
        // Not `find`: a key with only a default is not in the map.
        Value::Map(map) => Ok(Value::Bool(map.entry(element, steps)?.is_some())),
        _ => no_overload(),
    }
}
