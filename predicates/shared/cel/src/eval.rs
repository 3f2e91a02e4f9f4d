//! Evaluates a tree. Errors are texts, as cel-go words them where that is known.

use std::rc::Rc;

use crate::ast::{Expr, GLOBAL_DEVICE, Macro, MacroKind};
use crate::dialect::Dialect;
use crate::fold::is_key;
use crate::functions::call;
use crate::lists;
use crate::messages;
use crate::outcome::{Outcome, UNCONVERTED, no_overload};
use crate::steps::Steps;
use crate::value::{Map, Value};

/// Evaluates an expression of a dialect about a device.
pub(crate) fn evaluate(dialect: Dialect, expr: &Expr, device: Value) -> Outcome {
    Evaluator { device, variables: Vec::new(), steps: Steps::new(dialect) }.eval(expr)
}

struct Evaluator<'a> {
    device: Value,
    /// The variables of macros, innermost last. One that failed fails where it is read.
    variables: Vec<(&'a str, Outcome)>,
    steps: Steps,
}

impl<'a> Evaluator<'a> {
    fn eval(&mut self, expr: &'a Expr) -> Outcome {
        self.steps.take(1)?;
        match expr {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Ident(name) => self.ident(name),
            Expr::Select { operand, field, optional, test } => {
                let operand = self.eval(operand)?;
                match &operand {
                    Value::Map(map) if *test => Ok(Value::Bool(map.find_text(field, &self.steps)?.is_some())),
                    Value::Optional(inner) if *test => {
                        let found =
                            inner.as_deref().map(|value| self.present(value, &Value::text(field))).transpose()?;
                        Ok(Value::Bool(found.flatten().is_some()))
                    }
                    _ if *test => Ok(Value::Bool(self.present(&operand, &Value::text(field))?.is_some())),
                    Value::Map(map) if !*optional => {
                        let found = map.find_text(field, &self.steps)?.cloned();
                        found.ok_or_else(|| format!("no such key: {}", shown(&Value::text(field))))
                    }
                    _ => self.member(&operand, &Value::text(field), *optional),
                }
            }
            Expr::Index { operand, index, optional } => {
                let (operand, index) = (self.eval(operand)?, self.eval(index)?);
                self.member(&operand, &index, *optional)
            }
            Expr::Call { name, target: Some(target), args }
                if args.len() == 1 && matches!(&**name, "or" | "orValue") =>
            {
                match self.eval(target)? {
                    Value::Optional(None) => args.first().map_or_else(no_overload, |other| self.eval(other)),
                    Value::Optional(Some(value)) if name == "orValue" => known(&value),
                    Value::Optional(value) => Ok(Value::Optional(value)),
                    // What is no optional passed in 0.26.
                    _ if self.steps.dialect.cel_go29 => no_overload(),
                    other => Ok(other),
                }
            }
            Expr::Call { name, target, args } => {
                // Most have one operand or two, for which no list is made.
                match (target.as_deref(), args.as_slice()) {
                    (Some(a), []) | (None, [a]) => {
                        let values = [self.eval(a)?];
                        self.call(name, &values)
                    }
                    (Some(a), [b]) | (None, [a, b]) => {
                        let values = [self.eval(a)?, self.eval(b)?];
                        self.call(name, &values)
                    }
                    (target, args) => {
                        let operands = target.into_iter().chain(args);
                        let values = operands.map(|operand| self.eval(operand)).collect::<Result<Vec<_>, _>>()?;
                        self.call(name, &values)
                    }
                }
            }
            Expr::And(operands) => self.logical(operands.iter(), false),
            Expr::Or(operands) => self.logical(operands.iter(), true),
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                match self.eval(condition)? {
                    Value::Bool(true) => self.eval(then).and_then(|value| self.unwrapped(value)),
                    Value::Bool(false) => self.eval(otherwise).and_then(|value| self.unwrapped(value)),
                    _ => no_overload(),
                }
            }
            Expr::List(elements) => {
                let mut list = Vec::with_capacity(elements.len());
                for (element, optional) in elements {
                    match (self.eval(element)?, optional) {
                        (value, false) => list.push(value),
                        (Value::Optional(value), true) => list.extend(value.as_deref().cloned()),
                        _ => return no_overload(),
                    }
                }
                Ok(Value::list(list))
            }
            Expr::Map(entries) => self.map(entries),
            Expr::Message(name, fields) => {
                let mut values: Vec<(String, Value)> = Vec::new();
                for (field, value, optional) in fields {
                    let value = match (self.eval(value)?, optional) {
                        (value, false) => Some(value),
                        (Value::Optional(value), true) => value.as_deref().cloned(),
                        _ => return no_overload(),
                    };
                    values.retain(|(known, _)| known != field);
                    values.extend(value.map(|value| (field.clone(), value)));
                }
                let made = messages::make(name, &values, &self.steps)?;
                made.check_size()?;
                self.steps.take(made.weight())?;
                Ok(made)
            }
            Expr::Macro(parts) => self.expand(parts),
        }
    }

    fn call(&self, name: &str, values: &[Value]) -> Outcome {
        for value in values {
            self.steps.take(value.weight())?;
        }
        let result = call(name, values, &self.steps)?;
        result.check_size()?;
        self.steps.take(result.weight())?;
        Ok(result)
    }

    fn ident(&self, name: &str) -> Outcome {
        if let Some((_, outcome)) = self.variables.iter().rev().find(|(known, _)| *known == name) {
            return outcome.clone().and_then(|value| self.unwrapped(value));
        }
        if name == "device" || name == GLOBAL_DEVICE {
            return Ok(self.device.clone());
        }
        Err(format!("no such attribute(s): {name}"))
    }

    /// The deciding operand, in any order; else the first error; else the other value.
    fn logical(&mut self, operands: impl Iterator<Item = &'a Expr>, deciding: bool) -> Outcome {
        let mut error = None;
        for operand in operands {
            let outcome = self.eval(operand);
            // The limit of steps ends everything.
            self.steps.take(0)?;
            match outcome {
                Ok(Value::Bool(value)) if value == deciding => return Ok(Value::Bool(deciding)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => error = error.or_else(|| no_overload().err()),
                Err(found) => error = error.or(Some(found)),
            }
        }
        error.map_or(Ok(Value::Bool(!deciding)), Err)
    }

    fn map(&mut self, entries: &'a [(Expr, Expr, bool)]) -> Outcome {
        let mut map = Map::default();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = match (self.eval(value)?, optional) {
                (value, false) => value,
                (Value::Optional(Some(value)), true) => (*value).clone(),
                (Value::Optional(None), true) => {
                    map.remove(&key, &self.steps)?;
                    continue;
                }
                _ => return no_overload(),
            };
            map.set(key, value, &self.steps)?;
        }
        Ok(Value::Map(Rc::new(map)))
    }

    fn expand(&mut self, parts: &'a Macro) -> Outcome {
        let range = self.eval(&parts.range);
        if parts.kind == MacroKind::Bind {
            // The limit of steps ends everything.
            self.steps.take(0)?;
            return self.bound(parts, &[range], 0);
        }
        let range = range?;
        match parts.kind {
            MacroKind::OptMap | MacroKind::OptFlatMap => match range {
                Value::Optional(None) => Ok(Value::Optional(None)),
                Value::Optional(Some(value)) => {
                    let mapped = self.bound(parts, &[known(&value)], 0)?;
                    self.unwrapped(if parts.kind == MacroKind::OptMap { Value::some(mapped) } else { mapped })
                }
                _ => no_overload(),
            },
            _ => {
                let items = items(&range, parts.variables.len()).ok_or_else(|| "no such overload".to_owned())?;
                self.comprehension(parts, &range, items)
            }
        }
    }

    /// Evaluates an argument of a macro with its variables bound.
    fn bound(&mut self, parts: &'a Macro, values: &[Outcome], arg: usize) -> Outcome {
        let before = self.variables.len();
        self.variables.extend(parts.variables.iter().map(String::as_str).zip(values.iter().cloned()));
        let outcome = parts.args.get(arg).map_or_else(no_overload, |arg| self.eval(arg));
        self.variables.truncate(before);
        outcome
    }

    fn comprehension(&mut self, parts: &'a Macro, range: &Value, items: Items<'_>) -> Outcome {
        let last = parts.args.len().saturating_sub(1);
        let mut error = None;
        let mut count = 0_usize;
        let mut list = Vec::new();
        let mut entries: Vec<(Value, Value)> = Vec::new();
        let mut map = Map::default();
        for item in items {
            self.steps.take(1)?;
            // A filter comes before the result.
            if last > 0 {
                match self.bound(parts, &item, 0)? {
                    Value::Bool(true) => {}
                    Value::Bool(false) => continue,
                    _ => return no_overload(),
                }
            }
            let outcome = self.bound(parts, &item, last);
            if let MacroKind::All | MacroKind::Exists = parts.kind {
                // As `&&` and `||` over all items: an error counts only where no item decides.
                self.steps.take(0)?;
                let deciding = parts.kind == MacroKind::Exists;
                match outcome {
                    Ok(Value::Bool(value)) if value == deciding => return Ok(Value::Bool(deciding)),
                    Ok(Value::Bool(_)) => {}
                    Ok(_) => error = error.or_else(|| no_overload().err()),
                    Err(found) => error = error.or(Some(found)),
                }
                continue;
            }
            let value = outcome?;
            let key = item.first().cloned().unwrap_or_else(no_overload)?;
            match (parts.kind, value) {
                (MacroKind::ExistsOne, Value::Bool(value)) => count += usize::from(value),
                (MacroKind::Filter, Value::Bool(value)) => list.extend(value.then_some(key)),
                (MacroKind::ExistsOne | MacroKind::Filter, _) => return no_overload(),
                (MacroKind::SortBy, value) => entries.push((value, key)),
                (MacroKind::TransformMap, value) => entries.push((key, value)),
                (MacroKind::TransformMapEntry, Value::Map(entry)) => {
                    for (key, value) in &entry.entries {
                        self.steps.take(1)?;
                        if map.entry(key, &self.steps)?.is_some() {
                            return Err("insert failed: key already exists".to_owned());
                        }
                        map.entries.push((key.clone(), value.clone()));
                    }
                }
                (MacroKind::TransformMapEntry, _) => return no_overload(),
                (_, value) => list.push(value),
            }
        }
        match parts.kind {
            MacroKind::All | MacroKind::Exists => error.map_or(Ok(Value::Bool(parts.kind == MacroKind::All)), Err),
            MacroKind::ExistsOne => Ok(Value::Bool(count == 1)),
            MacroKind::SortBy if matches!(range, Value::List(_)) => {
                for (key, _) in &entries {
                    self.steps.take(key.weight())?;
                }
                lists::sort(entries)
            }
            MacroKind::SortBy => no_overload(),
            MacroKind::TransformMap => Ok(Value::map(entries)),
            MacroKind::TransformMapEntry => Ok(Value::Map(Rc::new(map))),
            _ => Ok(Value::list(list)),
        }
    }

    /// An optional that a variable or a condition gives: up to 0.26, cel-go changes it.
    fn unwrapped(&self, value: Value) -> Outcome {
        if self.steps.dialect.cel_go29 { Ok(value) } else { unwrapped(value) }
    }

    /// A field or element; of an optional it is optional, and none where it is missing.
    fn member(&self, operand: &Value, key: &Value, optional: bool) -> Outcome {
        let inner;
        let (operand, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(_)) => {
                inner = self.unwrapped(operand.clone())?;
                match &inner {
                    Value::Optional(Some(value)) => (&**value, true),
                    operand => (operand, true),
                }
            }
            operand => (operand, optional),
        };
        let found = self.present(operand, key)?;
        if optional {
            return Ok(Value::Optional(found.map(Rc::new)));
        }
        found.ok_or_else(|| match operand {
            Value::List(_) => format!("index out of bounds: {}", shown(key)),
            _ => format!("no such key: {}", shown(key)),
        })
    }

    /// A field or element, if it is there; in what has none nothing is there.
    fn present(&self, operand: &Value, key: &Value) -> Result<Option<Value>, String> {
        if !is_key(key) {
            return Err(format!("invalid qualifier type: {}", key.type_name()));
        }
        match operand {
            Value::Map(map) => Ok(map.find(key, &self.steps)?.cloned()),
            Value::List(list) => {
                let at = match key {
                    Value::Int(at) => *at,
                    Value::Uint(at) => {
                        i64::try_from(*at).map_err(|_| format!("unsupported index value {at} in list"))?
                    }
                    Value::Double(_) => match crate::functions::convert("int", key)? {
                        whole @ Value::Int(at) if whole.equals(key, &self.steps)? => at,
                        _ => return Err(format!("unsupported index value {} in list", shown(key))),
                    },
                    _ => return Err(format!("unsupported index type '{}' in list", key.type_name())),
                };
                Ok(usize::try_from(at).ok().and_then(|at| list.get(at)).cloned())
            }
            Value::Empty => Err(format!("no such field '{}'", shown(key))),
            Value::Fault => Err(UNCONVERTED.to_owned()),
            _ => Ok(None),
        }
    }
}

/// Made one at a time: a macro may end with the first.
type Items<'v> = Box<dyn Iterator<Item = Vec<Outcome>> + 'v>;

/// The values of a macro's variables, per item: elements or keys, with two variables indices or keys and values.
fn items(range: &Value, variables: usize) -> Option<Items<'_>> {
    match range {
        Value::List(list) if variables == 1 => Some(Box::new(list.iter().map(|element| vec![Ok(element.clone())]))),
        Value::List(list) => {
            Some(Box::new(list.iter().enumerate().map(|(at, element)| vec![Ok(Value::count(at)), Ok(element.clone())])))
        }
        Value::Map(map) => {
            Some(Box::new(map.entries.iter().map(|(key, value)| vec![Ok(key.clone()), Ok(value.clone())])))
        }
        _ => None,
    }
}

/// An optional that a variable or a condition gives: cel-go unwraps it and what is inside, and wraps that again. A type comes back as
/// its name, an optional as its value, and of Kubernetes' own types comes a fault.
fn unwrapped(value: Value) -> Outcome {
    let Value::Optional(Some(inner)) = &value else { return Ok(value) };
    match &**inner {
        Value::Format(_) => Ok(value),
        inner if inner.is_of_kubernetes() => Ok(Value::some(Value::Fault)),
        Value::Type(name) => Ok(Value::some(Value::text(name))),
        Value::Optional(None) => Ok(Value::some(Value::Null)),
        inner @ Value::Optional(_) => unwrapped(inner.clone()),
        _ => Ok(value),
    }
}

/// The value in an optional.
fn known(value: &Value) -> Outcome {
    if let Value::Fault = value { Err(UNCONVERTED.to_owned()) } else { Ok(value.clone()) }
}

fn shown(key: &Value) -> String {
    crate::text::shown(key).unwrap_or_else(|| key.type_name().to_owned())
}
