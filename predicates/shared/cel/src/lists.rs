//! Functions of lists, and of lists as sets.

use std::cmp::Ordering;

use crate::operators::arithmetic;
use crate::outcome::{Outcome, no_overload};
use crate::steps::{Steps, fits};
use crate::types::Type;
use crate::value::Value;

/// Elements that `lists.range` makes at most, so that one call cannot take the memory of its host.
const LONGEST_RANGE: i64 = 100_000;

/// Whether a function with a list as its first argument is in here.
pub(crate) fn is_known(name: &str) -> bool {
    matches!(
        name,
        "join"
            | "slice"
            | "flatten"
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
    matches!(of, Type::Plain("bool" | "int" | "uint" | "double" | "string" | "bytes" | "google.protobuf.Duration"))
}

/// Calls a function of a list by its name.
pub(crate) fn call(name: &str, list: &[Value], args: &[Value], steps: &Steps) -> Outcome {
    match (name, args) {
        ("join", []) => join(list, ""),
        ("join", [Value::String(between)]) => join(list, between),
        ("slice", [Value::Int(from), Value::Int(to)]) => slice(list, *from, *to),
        ("flatten", []) => flatten(list, steps),
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
        ("isSorted", []) => {
            let orders: Option<Vec<Ordering>> = list.windows(2).map(|pair| pair[0].order(&pair[1])).collect();
            orders.map_or_else(no_overload, |orders| Ok(Value::Bool(orders.iter().all(|order| order.is_le()))))
        }
        ("sum", []) => {
            let mut elements = list.iter();
            let first = elements.next().cloned().unwrap_or(Value::Int(0));
            // Texts and lists can be added, but have no sum.
            if !(first.is_number() || matches!(first, Value::Duration(_))) {
                return no_overload();
            }
            elements.try_fold(first, |sum, element| arithmetic("_+_", &sum, element))
        }
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

/// The numbers from zero.
pub(crate) fn range(count: i64) -> Outcome {
    if count > LONGEST_RANGE {
        return Err(format!("lists.range: more than {LONGEST_RANGE} elements"));
    }
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

/// Sorts values by their keys, equal keys in their order.
pub(crate) fn sort(mut keyed: Vec<(Value, Value)>) -> Outcome {
    let first = keyed.first().map(|(key, _)| key.clone());
    let comparable = |key: &Value| {
        let same = first.as_ref().is_some_and(|first| first.type_name() == key.type_name());
        same && (key.is_number() || key.order(key).is_some())
    };
    if !keyed.iter().all(|(key, _)| comparable(key)) {
        return Err("list elements must have the same type".to_owned());
    }
    keyed.sort_by(|(a, _), (b, _)| a.order(b).unwrap_or(Ordering::Equal));
    Ok(Value::list(keyed.into_iter().map(|(_, value)| value).collect()))
}

fn flatten(list: &[Value], steps: &Steps) -> Outcome {
    let mut elements = Vec::new();
    for element in list {
        match element {
            Value::List(inner) => {
                steps.take(inner.len())?;
                elements.extend_from_slice(inner);
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
    for element in elements {
        match element.order(best) {
            Some(order) if order == wanted => best = element,
            Some(_) => {}
            None => return no_overload(),
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
