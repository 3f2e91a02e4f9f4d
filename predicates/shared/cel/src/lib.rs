//! CEL as device selectors use it: the language and libraries of Kubernetes 1.36, compiled once and evaluated per device. What
//! other minor versions have instead is a [`Dialect`].
//!
//! An expression is text; [`Program::compile`] checks it against the types of functions and of `device`, and
//! [`Program::matches`] evaluates it. There is no I/O, no clock and no unlimited work: see [`limits`]. What is not supported is
//! refused by name when an expression is compiled; nothing is guessed.
//!
//! # Many devices
//!
//! A cluster has far more devices than kinds of them. [`Program::paths`] names what of a device an outcome can depend on, and
//! [`key_of`] gives those values of a device: a host keeps the outcome of each key and evaluates once per key that is new to it.
//! What is not read, such as UUIDs, makes no new keys. Where `paths` is `None` each device is evaluated. [`Device::fault`] reads
//! all values of a device, but for no program in particular: once per device is enough.
//!
//! ```
//! # use std::collections::HashMap;
//! # use nodesift_cel::{Device, Program, key_of};
//! /// The outcomes of devices that are given with their faults.
//! fn outcomes(program: &Program, devices: &[(Device, Option<String>)]) -> Vec<Result<bool, String>> {
//!     let Some(paths) = program.paths() else {
//!         return devices.iter().map(|(device, _)| program.matches(device)).collect();
//!     };
//!     let mut known = HashMap::new();
//!     let mut outcomes = Vec::new();
//!     for (device, fault) in devices {
//!         let key = key_of(&paths, device, fault.as_deref());
//!         outcomes.push(known.entry(key).or_insert_with(|| program.matches(device)).clone());
//!     }
//!     outcomes
//! }
//! # let gpus = ["a", "a", "b"].map(|driver| (Device { driver: driver.to_owned(), ..Device::default() }, None));
//! # assert_eq!(outcomes(&Program::compile("device.driver == 'a'").unwrap(), &gpus), [Ok(true), Ok(true), Ok(false)]);
//! ```
//!
//! A host that makes keys by itself follows [`Path`], and [`Device::fault`]: a device with a value that expressions cannot see has
//! that text as its key, whatever is read. An outcome, its text included, tells nothing else of a device. After a change of a
//! device its new key decides.
//!
//! # Where to start
//!
//! | module | what |
//! |---|---|
//! | `lexer`, `parser`, `macros`, `ast` | text to tree |
//! | `dialect` | what differs between versions of Kubernetes |
//! | `signatures`, `types`, `checker` | which functions exist, and whether a tree has a type |
//! | `fold` | what is constant in a tree, computed once |
//! | `value`, `map`, `eval`, `steps` | values; a tree to a value, within a budget |
//! | `activation` | a device as the value that a tree reads |
//! | `paths`, `key` | what a tree reads of a device; those values of one device |
//! | `functions`, `operators`, `strings`, `text`, `formatting`, `patterns`, `lists`, `time`, `outcome` | the standard functions and cel-go's extensions |
//! | `messages`, `any` | messages of `google.protobuf` as the values that they stand for |
//! | `libraries`, `kubernetes`, `quantity`, `formats` | Kubernetes' own functions |
//!
//! Start with `signatures.txt`, the table of all functions. Differences from cel-go: texts of compile errors are shorter; the cost of an expression
//! is the number of its steps; types have at most [`limits::TYPE_NODES`] nodes.

pub mod limits;

mod activation;
mod any;
mod ast;
mod checker;
mod dialect;
mod eval;
mod fold;
mod formats;
mod formatting;
mod functions;
mod key;
mod kubernetes;
mod lexer;
mod libraries;
mod lists;
mod macros;
mod map;
mod messages;
mod operators;
mod outcome;
mod parser;
mod paths;
mod patterns;
mod quantity;
mod signatures;
mod steps;
mod strings;
mod text;
mod time;
mod types;
mod value;

pub use crate::dialect::Dialect;
pub use crate::key::{Key, key_of};
pub use crate::paths::Path;

use crate::activation::Activation;
use crate::ast::Expr;
use crate::kubernetes::Semver;
use crate::quantity::Quantity;
use crate::types::{BOOL, Type};
use crate::value::Value;

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// An integer of 64 bits.
    Int(i64),
    /// A value of type bool.
    Bool(bool),
    /// A value of type string.
    String(String),
    /// A semantic version, as it is written.
    Version(String),
    /// A list of values, for programs of a [`Dialect`] with lists. For others it is [`Attribute::Unsupported`].
    List(Vec<Attribute>),
    /// A value of a type that is not known.
    Unsupported,
}

/// An expression that has been checked.
#[derive(Debug, Clone)]
pub struct Program {
    dialect: Dialect,
    expr: Expr,
    activation: Activation,
}

impl Program {
    /// Compiles an expression of the default dialect.
    ///
    /// # Errors
    /// As [`Self::compile_in`].
    pub fn compile(text: &str) -> Result<Self, String> {
        Self::compile_in(Dialect::default(), text)
    }

    /// Compiles an expression of a dialect.
    ///
    /// # Errors
    /// The text is no expression, has no type, or has a type other than that of flags and attributes: the fault as a text of at most
    /// [`limits::ERROR_BYTES`].
    pub fn compile_in(dialect: Dialect, text: &str) -> Result<Self, String> {
        Self::checked(dialect, text).map_err(cut)
    }

    fn checked(dialect: Dialect, text: &str) -> Result<Self, String> {
        if text.len() > limits::TEXT_BYTES {
            return Err(format!("an expression of more than {} bytes", limits::TEXT_BYTES));
        }
        let failed = |error: String| format!("compilation failed: {error}");
        let mut expr = parser::parse(dialect, text).map_err(failed)?;
        let found = checker::check(dialect, &mut expr).map_err(failed)?;
        fold::fold(dialect, &mut expr).map_err(|error| match error.strip_prefix("program instantiation failed: ") {
            Some(_) => error,
            None => failed(error),
        })?;
        let is_bool = if dialect.cel_go29 { found.is_equivalent(&BOOL) } else { found == BOOL };
        if is_bool || found == Type::attribute(dialect) {
            return Ok(Self { dialect, expr, activation: Activation::default() });
        }
        Err(format!("must evaluate to bool or the unknown type, not {found}"))
    }

    /// Whether a device matches.
    ///
    /// # Errors
    /// The device has a value that selectors cannot see, or the expression fails for it: the fault as a text of at most
    /// [`limits::ERROR_BYTES`].
    pub fn matches(&self, device: &Device) -> Result<bool, String> {
        match self
            .activation
            .device_value(device)
            .and_then(|value| eval::evaluate(self.dialect, &self.expr, value))
            .map_err(cut)?
        {
            Value::Bool(matches) => Ok(matches),
            other => Err(format!("CEL result of type {} could not be converted to bool", other.type_name())),
        }
    }

    /// Returns the paths of a device that the outcome can depend on beside [`Device::fault`], sorted; `None` where it may be any.
    pub fn paths(&self) -> Option<Vec<Path>> {
        paths::paths(&self.expr)
    }
}

impl Device {
    /// Why every expression fails for this device, if so: it has a value that expressions cannot see, or too many values.
    pub fn fault(&self) -> Option<String> {
        let attribute = |(name, attribute): &(String, Attribute)| match attribute {
            // No value has to be made to see that these have one.
            Attribute::Int(_) | Attribute::Bool(_) | Attribute::String(_) => None,
            Attribute::Version(text) if Semver::is_valid(text) => None,
            other => other.value(name).err(),
        };
        let capacity = |(name, text): &(String, String)| quantity(name, text).err();
        let values = || self.attributes.iter().find_map(attribute).or_else(|| self.capacity.iter().find_map(capacity));
        self.limited().err().or_else(values).map(cut)
    }

    fn limited(&self) -> Result<(), String> {
        let values = |(_, attribute): &(String, Attribute)| match attribute {
            Attribute::List(elements) => elements.len().max(1),
            _ => 1,
        };
        let attributes = self.attributes.iter().map(values).fold(0, usize::saturating_add);
        if attributes.saturating_add(self.capacity.len()) > limits::DEVICE_VALUES {
            return Err(format!("more than {} attributes and capacities", limits::DEVICE_VALUES));
        }
        Ok(())
    }
}

/// The text of an error, cut.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(limits::ERROR_BYTES));
    text
}

fn quantity(name: &str, text: &str) -> Result<Quantity, String> {
    Quantity::parse(text).ok_or_else(|| format!("capacity {name}: no quantity"))
}

impl Attribute {
    fn value(&self, name: &str) -> Result<Value, String> {
        let unseen = |fault: &str| format!("attribute {name}: {fault}");
        Ok(match self {
            Self::Int(value) => Value::Int(*value),
            Self::Bool(value) => Value::Bool(*value),
            Self::String(text) => Value::text(text),
            Self::Version(text) => {
                Value::Semver(Semver::parse(text).ok_or_else(|| unseen("parse semantic version"))?.into())
            }
            Self::List(elements) => {
                Value::list(elements.iter().map(|element| element.value(name)).collect::<Result<_, _>>()?)
            }
            Self::Unsupported => return Err(unseen("unsupported attribute value")),
        })
    }
}
