//! Functions of lists, and of lists as sets.

use std::cmp::Ordering;

use crate::limits::RANGE_ELEMENTS;
use crate::operators::arithmetic;
use crate::outcome::{Outcome, no_overload};
use crate::steps::{Steps, fits};
use crate::types::{DURATION, TIMESTAMP, Type};
use crate::value::Value;

/// Functions with an overload per type of elements. Where the type is known, a call has its name behind that of the function.
pub(crate) const BY_TYPE: [&str; 4] = ["isSorted", "sum", "max", "min"];

/// Whether a function with a list as its first argument is in here.
pub(crate) fn is_known(name: &str) -> bool {
    matches!(
        function_and_type(name).0,
        "join"
            | "slice"
            | "flatten"
            | "first"
            | "last"
            | "sort"
            | "reverse"
            | "distinct"
            | "isSorted"
            | "sum"
            | "max"
            | "min"
            | "indexOf"
            | "lastIndexOf"
            | "sets.contains"
            | "sets.equivalent"
            | "sets.intersects"
    )
}

/// Whether values of a type can be keys of an order.
pub(crate) fn is_sortable(of: &Type) -> bool {
    matches!(
        of,
        Type::Plain("bool" | "int" | "uint" | "double" | "string" | "bytes" | DURATION | TIMESTAMP)
            | Type::Wrapper(_)
            | Type::Variable(_)
    )
}

/// Calls a function of a list by its name.
pub(crate) fn call(name: &str, list: &[Value], args: &[Value], steps: &Steps) -> Outcome {
    let (name, of) = function_and_type(name);
    // Elements of another type have no overload; the first one tells.
    if !of.is_empty() && list.first().is_some_and(|first| first.type_name() != of) {
        return no_overload();
    }
    match (name, args) {
        ("join", []) => join(list, ""),
        ("join", [Value::String(between)]) => join(list, between),
        ("slice", [Value::Int(from), Value::Int(to)]) => slice(list, *from, *to),
        ("flatten", []) => flattened(list, 1, steps),
        ("flatten", [Value::Int(depth)]) => flattened(list, *depth, steps),
        ("first", []) => Ok(Value::Optional(list.first().cloned().map(Into::into))),
        ("last", []) => Ok(Value::Optional(list.last().cloned().map(Into::into))),
        ("sort", []) => sort(list.iter().map(|element| (element.clone(), element.clone())).collect()),
        ("reverse", []) => Ok(Value::list(list.iter().rev().cloned().collect())),
        ("distinct", []) => {
            let mut distinct: Vec<Value> = Vec::new();
            for element in list {
                steps.take(distinct.len())?;
                if element.position(distinct.iter(), steps)?.is_none() {
                    distinct.push(element.clone());
                }
            }
            Ok(Value::list(distinct))
        }
        // What has no order with its neighbour is in order, if it has any.
        ("isSorted", []) if !list.iter().all(is_comparable) => no_overload(),
        ("isSorted", []) => {
            Ok(Value::Bool(list.windows(2).all(|pair| pair[0].order(&pair[1]) != Some(Ordering::Greater))))
        }
        ("sum", []) => sum(list, of),
        ("max", []) => extreme(list, name, Ordering::Greater),
        ("min", []) => extreme(list, name, Ordering::Less),
        ("indexOf", [element]) => Ok(position(element.position(list.iter(), steps)?)),
        ("lastIndexOf", [element]) => {
            Ok(position(element.position(list.iter().rev(), steps)?.map(|behind| list.len() - 1 - behind)))
        }
        ("sets.contains", [Value::List(other)]) => Ok(Value::Bool(contains_all(list, other, steps)?)),
        ("sets.equivalent", [Value::List(other)]) => {
            Ok(Value::Bool(contains_all(list, other, steps)? && contains_all(other, list, steps)?))
        }
        ("sets.intersects", [Value::List(other)]) => {
            for element in other.iter() {
                if is_in(list, element, steps)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        _ => no_overload(),
    }
}

/// A sum; texts and lists can be added, but have none.
fn sum(list: &[Value], of: &str) -> Outcome {
    let nothing = match list.first().map_or(of, |first| first.type_name()) {
        "" | "int" => Value::Int(0),
        "uint" => Value::Uint(0),
        "double" => Value::Double(0.0),
        DURATION => Value::Duration(0),
        _ => return no_overload(),
    };
    list.iter().try_fold(nothing, |sum, element| arithmetic("_+_", &sum, element))
}

fn function_and_type(name: &str) -> (&str, &str) {
    name.split_once(' ').unwrap_or((name, ""))
}

fn is_comparable(value: &Value) -> bool {
    value.is_number() || value.order(value).is_some()
}

/// The numbers from zero; up to 0.26 cel-go makes none of a negative count.
pub(crate) fn range(count: i64, steps: &Steps) -> Outcome {
    if count < 0 && steps.dialect.cel_go29 {
        return Err(format!("lists.range: size must be non-negative, got {count}"));
    }
    if u64::try_from(count).is_ok_and(|count| count > RANGE_ELEMENTS) {
        return Err(format!("lists.range: more than {RANGE_ELEMENTS} elements"));
    }
    // Its elements take their steps when it is there.
    steps.expect(usize::try_from(count).unwrap_or_default())?;
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

/// Sorts values by their keys, equal keys in their order.
pub(crate) fn sort(mut keyed: Vec<(Value, Value)>) -> Outcome {
    let Some((first, _)) = keyed.first() else { return Ok(Value::list(Vec::new())) };
    if !is_comparable(first) {
        return Err("list elements must be comparable".to_owned());
    }
    if !keyed.iter().all(|(key, _)| key.type_name() == first.type_name()) {
        return Err("list elements must have the same type".to_owned());
    }
    // `sort_by` panics where the order is not total: numbers that are none come last, all as equals.
    let is_nan = |key: &Value| matches!(key, Value::Double(number) if number.is_nan());
    keyed.sort_by(|(a, _), (b, _)| a.order(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b))));
    Ok(Value::list(keyed.into_iter().map(|(_, value)| value).collect()))
}

fn flattened(list: &[Value], depth: i64, steps: &Steps) -> Outcome {
    if depth < 0 {
        return Err("level must be non-negative".to_owned());
    }
    // As Kubernetes counts it, however deep the list is.
    steps.take(list.len().saturating_mul(usize::try_from(depth).unwrap_or(usize::MAX)))?;
    let mut elements = Vec::new();
    // What is still to be flattened, innermost last.
    let mut rest = vec![list.iter()];
    while let Some(inner) = rest.last_mut() {
        let Some(element) = inner.next() else {
            rest.pop();
            continue;
        };
        steps.take(1)?;
        match element {
            Value::List(inner) if i64::try_from(rest.len()).is_ok_and(|levels| levels <= depth) => {
                rest.push(inner.iter())
            }
            other => elements.push(other.clone()),
        }
    }
    Ok(Value::list(elements))
}

fn join(list: &[Value], between: &str) -> Outcome {
    let parts: Option<Vec<&str>> = list
        .iter()
        .map(|element| match element {
            Value::String(text) => Some(&**text),
            _ => None,
        })
        .collect();
    let Some(parts) = parts else { return no_overload() };
    let bytes = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()));
    fits(bytes.saturating_add(between.len().saturating_mul(parts.len().saturating_sub(1))))?;
    Ok(Value::text(&parts.join(between)))
}

fn slice(list: &[Value], from: i64, to: i64) -> Outcome {
    if from < 0 || to < 0 {
        return Err(format!("cannot slice({from}, {to}), negative indexes not supported"));
    }
    if from > to {
        return Err(format!("cannot slice({from}, {to}), start index must be less than or equal to end index"));
    }
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok()).and_then(|(from, to)| list.get(from..to));
    match range {
        Some(part) => Ok(Value::list(part.to_vec())),
        None => Err(format!("cannot slice({from}, {to}), list is length {}", list.len())),
    }
}

fn extreme(list: &[Value], name: &str, wanted: Ordering) -> Outcome {
    let mut elements = list.iter();
    let Some(mut best) = elements.next() else { return Err(format!("{name} called on empty list")) };
    if !list.iter().all(is_comparable) {
        return no_overload();
    }
    for element in elements {
        // What has no order with the best so far is not better.
        if element.order(best) == Some(wanted) {
            best = element;
        }
    }
    Ok(best.clone())
}

fn position(found: Option<usize>) -> Value {
    found.map_or(Value::Int(-1), Value::count)
}

fn is_in(list: &[Value], element: &Value, steps: &Steps) -> Result<bool, String> {
    steps.take(list.len())?;
    Ok(element.position(list.iter(), steps)?.is_some())
}

fn contains_all(list: &[Value], others: &[Value], steps: &Steps) -> Result<bool, String> {
    for other in others {
        if !is_in(list, other, steps)? {
            return Ok(false);
        }
    }
    Ok(true)
}
