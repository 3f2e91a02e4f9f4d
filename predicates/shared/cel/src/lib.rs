//! CEL as device selectors use it: the language and libraries of Kubernetes 1.36, compiled once and evaluated per device.
//!
//! An expression is text; [`Program::compile`] checks it against the types of functions and of `device`, and
//! [`Program::matches`] evaluates it. There is no I/O, no clock and no unlimited work: see [`limits`]. What is not supported is
//! refused by name when an expression is compiled; nothing is guessed.
//!
//! | module | what |
//! |---|---|
//! | `lexer`, `parser`, `ast` | text to tree, macros included |
//! | `signatures`, `types`, `checker` | which functions exist, and whether a tree has a type |
//! | `value`, `eval`, `steps` | values; a tree to a value, within a budget |
//! | `functions`, `operators`, `strings`, `patterns`, `lists`, `outcome` | the standard functions and cel-go's extensions |
//! | `libraries`, `kubernetes`, `quantity`, `formats` | Kubernetes' own functions |
//!
//! Start with the table in `signatures`. Differences from cel-go: texts of compile errors are shorter; the cost of an expression
//! is the number of its steps; timestamps are missing.

pub mod limits;

mod ast;
mod checker;
mod eval;
mod formats;
mod functions;
mod kubernetes;
mod lexer;
mod libraries;
mod lists;
mod operators;
mod outcome;
mod parser;
mod patterns;
mod quantity;
mod signatures;
mod steps;
mod strings;
mod types;
mod value;

use std::rc::Rc;

use crate::ast::Expr;
use crate::kubernetes::Semver;
use crate::quantity::Quantity;
use crate::types::{BOOL, Type};
use crate::value::{Map, Value};

/// A device as selectors see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Device {
    /// The driver's name: the domain of names without one.
    pub driver: String,
    /// Whether several claims may share it.
    pub allow_multiple_allocations: bool,
    /// Attributes by name, with or without a domain.
    pub attributes: Vec<(String, Attribute)>,
    /// Capacities by name, as texts of quantities.
    pub capacity: Vec<(String, String)>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// A number.
    Int(i64),
    /// A flag.
    Bool(bool),
    /// A text.
    String(String),
    /// A semantic version.
    Version(String),
    /// A value of a type that is not known.
    Unsupported,
}

/// An expression that has been checked.
#[derive(Debug, Clone)]
pub struct Program {
    expr: Expr,
}

impl Program {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The text is no expression, has no type, or has a type other than that of flags and attributes: the fault as a text.
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.len() > limits::TEXT_BYTES {
            return Err(format!("an expression of more than {} bytes", limits::TEXT_BYTES));
        }
        let failed = |error: String| format!("compilation failed: {error}");
        let mut expr = parser::parse(text).map_err(failed)?;
        let found =
            checker::check(&mut expr).map_err(|error| match error.strip_prefix("program instantiation failed: ") {
                Some(_) => error,
                None => failed(error),
            })?;
        if found == BOOL || found == Type::Any {
            return Ok(Self { expr });
        }
        Err(format!("must evaluate to bool or the unknown type, not {found}"))
    }

    /// Whether a device matches.
    ///
    /// # Errors
    /// The device has a value that selectors cannot see, or the expression fails for it: the fault as a text.
    pub fn matches(&self, device: &Device) -> Result<bool, String> {
        match eval::evaluate(&self.expr, device.value()?)? {
            Value::Bool(matches) => Ok(matches),
            other => Err(format!("CEL result of type {} could not be converted to bool", other.type_name())),
        }
    }
}

impl Device {
    fn value(&self) -> Result<Value, String> {
        let mut attributes = Vec::with_capacity(self.attributes.len());
        for (name, attribute) in &self.attributes {
            attributes.push((name, attribute.value().map_err(|fault| format!("attribute {name}: {fault}"))?));
        }
        let mut capacity = Vec::with_capacity(self.capacity.len());
        for (name, text) in &self.capacity {
            let quantity = Quantity::parse(text).ok_or_else(|| format!("capacity {name}: no quantity"))?;
            capacity.push((name, Value::Quantity(quantity)));
        }
        Ok(Value::map(vec![
            (Value::text("driver"), Value::text(&self.driver)),
            (Value::text("allowMultipleAllocations"), Value::Bool(self.allow_multiple_allocations)),
            (Value::text("attributes"), self.by_domain(attributes)),
            (Value::text("capacity"), self.by_domain(capacity)),
        ]))
    }

    /// Values by domain and name; an unknown domain is an empty map.
    fn by_domain(&self, values: Vec<(&String, Value)>) -> Value {
        let mut domains: Vec<(&str, Vec<(Value, Value)>)> = Vec::new();
        for (name, value) in values {
            let (domain, name) = name.split_once('/').unwrap_or((&self.driver, name));
            let entry = (Value::text(name), value);
            match domains.iter_mut().find(|(known, _)| *known == domain) {
                Some((_, entries)) => entries.push(entry),
                None => domains.push((domain, vec![entry])),
            }
        }
        let entries = domains.into_iter().map(|(domain, entries)| (Value::text(domain), Value::map(entries))).collect();
        Value::Map(Rc::new(Map { entries, default: Some(Value::map(Vec::new())) }))
    }
}

impl Attribute {
    fn value(&self) -> Result<Value, String> {
        Ok(match self {
            Self::Int(value) => Value::Int(*value),
            Self::Bool(value) => Value::Bool(*value),
            Self::String(text) => Value::text(text),
            Self::Version(text) => {
                Value::Semver(Semver::parse(text).ok_or_else(|| "parse semantic version".to_owned())?.into())
            }
            Self::Unsupported => return Err("unsupported attribute value".to_owned()),
        })
    }
}
