//! Computes what is constant once, when an expression is compiled: conversions of constants, literals of constants, membership in
//! them, patterns. What fails here fails for every device, so the expression is refused.

use std::rc::Rc;

use crate::ast::Expr;
use crate::dialect::Dialect;
use crate::functions::{CONVERSIONS, call};
use crate::operators::{IN_LIST, IN_SET};
use crate::patterns;
use crate::steps::Steps;
use crate::strings::CONSTANT_PATTERN;
use crate::value::{Map, Value};

/// Replaces constant parts of a checked expression by their values, as a dialect has them.
///
/// # Errors
/// One of them has none.
pub(crate) fn fold(dialect: Dialect, expr: &mut Expr) -> Result<(), String> {
    fold_within(expr, &Steps::new(dialect))
}

fn fold_within(expr: &mut Expr, steps: &Steps) -> Result<(), String> {
    let each = |expr: &mut Expr| fold_within(expr, steps);
    match expr {
        Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select { operand, .. } => each(operand)?,
        Expr::Index { operand, index, .. } => {
            each(operand)?;
            each(index)?;
            if let Some(key) = constant(index).filter(|key| !is_key(key)) {
                return Err(format!("program instantiation failed: invalid qualifier type: {}", key.type_name()));
            }
        }
        Expr::And(operands) | Expr::Or(operands) => operands.iter_mut().try_for_each(each)?,
        Expr::Conditional(parts) => parts.iter_mut().try_for_each(each)?,
        Expr::Message(_, fields) => fields.iter_mut().try_for_each(|(_, value, _)| each(value))?,
        Expr::Macro(parts) => {
            each(&mut parts.range)?;
            parts.args.iter_mut().try_for_each(each)?;
        }
        Expr::List(elements) => {
            elements.iter_mut().try_for_each(|(element, _)| each(element))?;
            let values: Option<Vec<Value>> = elements.iter().map(|(element, _)| constant(element).cloned()).collect();
            if let Some(values) = values {
                *expr = Expr::Literal(Value::list(values));
            }
        }
        Expr::Map(entries) => {
            for (key, value, _) in &mut *entries {
                each(key)?;
                each(value)?;
            }
            let pairs = entries.iter().map(|(key, value, _)| constant(key).zip(constant(value)));
            if let Some(pairs) = pairs.collect::<Option<Vec<_>>>() {
                let mut map = Map::default();
                for (key, value) in pairs {
                    map.set(key.clone(), value.clone(), steps)?;
                }
                *expr = Expr::Literal(Value::Map(Rc::new(map)));
            }
        }
        Expr::Call { name, target, args } => {
            // In `matches(text, pattern)` cel-go takes the text for the pattern.
            if name == "matches" && target.is_none() {
                check_pattern(name, args.first())?;
            }
            if let Some(target) = target {
                each(target)?;
            }
            args.iter_mut().try_for_each(each)?;
            if matches!(&**name, "matches" | "find" | "findAll") {
                let pattern = args.get(usize::from(target.is_none()));
                check_pattern(name, pattern)?;
                if pattern.and_then(constant).is_some() {
                    name.push_str(CONSTANT_PATTERN);
                }
            }
            if let Some(folded) = folded(name, args, steps)? {
                *expr = Expr::Literal(folded);
            }
        }
    }
    Ok(())
}

/// Whether a value can select an element.
pub(crate) fn is_key(value: &Value) -> bool {
    value.is_number() || matches!(value, Value::Bool(_) | Value::String(_))
}

fn constant(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Literal(value) => Some(value),
        _ => None,
    }
}

/// A pattern that is constant must be valid.
fn check_pattern(name: &str, pattern: Option<&Expr>) -> Result<(), String> {
    match pattern.and_then(constant) {
        Some(Value::String(pattern)) => {
            patterns::compile(pattern).map(drop).map_err(|_| format!("invalid {name} argument"))
        }
        _ => Ok(()),
    }
}

/// The value of a call, if it has a constant one; or the call changed to one of what is constant in it.
fn folded(name: &mut String, args: &[Expr], steps: &Steps) -> Result<Option<Value>, String> {
    match args {
        [arg] if CONVERSIONS.contains(&name.as_str()) || name == "dyn" || name == "type" => {
            let Some(value) = constant(arg) else { return Ok(None) };
            let converted = call(name, std::slice::from_ref(value), steps);
            converted.map(Some).map_err(|error| format!("program instantiation failed: {error}"))
        }
        [_, Expr::Literal(Value::List(list))] if name == IN_LIST => {
            if list.is_empty() {
                return Ok(Some(Value::Bool(false)));
            }
            if list.iter().all(is_key) {
                *name = IN_SET.to_owned();
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}
