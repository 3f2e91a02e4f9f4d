//! Operators of two values: equality, order, arithmetic, membership.

use std::cmp::Ordering;

use crate::outcome::{Outcome, no_overload, overflow};
use crate::steps::{Steps, fits};
use crate::value::Value;

/// Applies an operator; none where there is none of this name.
pub(crate) fn call(name: &str, a: &Value, b: &Value, steps: &Steps) -> Option<Outcome> {
    Some(match name {
        "_==_" => equal(a, b, steps),
        // An equality that fails is none.
        "_!=_" => a.equals(b, steps).map(|equal| Value::Bool(!equal)),
        "_<_" => ordered(a, b, Ordering::is_lt),
        "_<=_" => ordered(a, b, Ordering::is_le),
        "_>_" => ordered(a, b, Ordering::is_gt),
        "_>=_" => ordered(a, b, Ordering::is_ge),
        "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => arithmetic(name, a, b),
        "@in" => contains(a, b, steps),
        _ => return None,
    })
}

/// Equality; a value of Kubernetes' own types has none with a value of another type behind it.
fn equal(a: &Value, b: &Value, steps: &Steps) -> Outcome {
    match (a, b) {
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => equal(a, b, steps),
        (Value::Null, _) | (_, Value::Null) => a.equals(b, steps).map(Value::Bool),
        _ if a.is_of_kubernetes() && a.type_name() != b.type_name() => no_overload(),
        _ => a.equals(b, steps).map(Value::Bool),
    }
}

fn ordered(a: &Value, b: &Value, holds: fn(Ordering) -> bool) -> Outcome {
    match a.order(b) {
        Some(order) => Ok(Value::Bool(holds(order))),
        // NaN is neither smaller nor larger.
        None if a.is_number() && b.is_number() => Ok(Value::Bool(false)),
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
        (Value::Duration(a), Value::Duration(b)) if name == "_+_" => {
            a.checked_add(*b).map(Value::Duration).ok_or_else(overflow)
        }
        (Value::Duration(a), Value::Duration(b)) if name == "_-_" => {
            a.checked_sub(*b).map(Value::Duration).ok_or_else(overflow)
        }
        _ => no_overload(),
    }
}

pub(crate) fn contains(element: &Value, of: &Value, steps: &Steps) -> Outcome {
    match of {
        Value::List(list) => Ok(Value::Bool(element.position(list.iter(), steps)?.is_some())),
        // Not `find`: a key with only a default is not in the map.
        Value::Map(map) => Ok(Value::Bool(map.entry(element, steps)?.is_some())),
        _ => no_overload(),
    }
}
