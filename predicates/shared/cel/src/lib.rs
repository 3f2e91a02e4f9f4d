//! CEL as device selectors use it: the language and libraries of Kubernetes 1.36, compiled once and evaluated per device.
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
//! | `lexer`, `parser`, `ast` | text to tree, macros included |
//! | `signatures`, `types`, `checker` | which functions exist, and whether a tree has a type |
//! | `value`, `eval`, `steps` | values; a tree to a value, within a budget |
//! | `paths`, `key` | what a tree reads of a device; those values of one device |
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
mod key;
mod kubernetes;
mod lexer;
mod libraries;
mod lists;
mod operators;
mod outcome;
mod parser;
mod paths;
mod patterns;
mod quantity;
mod signatures;
mod steps;
mod strings;
mod types;
mod value;

use std::cell::RefCell;
use std::rc::Rc;

pub use crate::key::{Key, key_of};
pub use crate::paths::Path;

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    texts: Texts,
}

impl Program {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The text is no expression, has no type, or has a type other than that of flags and attributes: the fault as a text of at most
    /// [`limits::ERROR_BYTES`].
    pub fn compile(text: &str) -> Result<Self, String> {
        Self::checked(text).map_err(cut)
    }

    fn checked(text: &str) -> Result<Self, String> {
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
            return Ok(Self { expr, texts: Texts::default() });
        }
        Err(format!("must evaluate to bool or the unknown type, not {found}"))
    }

    /// Whether a device matches.
    ///
    /// # Errors
    /// The device has a value that selectors cannot see, or the expression fails for it: the fault as a text of at most
    /// [`limits::ERROR_BYTES`].
    pub fn matches(&self, device: &Device) -> Result<bool, String> {
        match device.value(&self.texts).and_then(|value| eval::evaluate(&self.expr, value)).map_err(cut)? {
            Value::Bool(matches) => Ok(matches),
            other => Err(format!("CEL result of type {} could not be converted to bool", other.type_name())),
        }
    }

    /// What of a device the outcome can depend on beside [`Device::fault`], sorted; `None` where it may be anything.
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
        if self.attributes.len().saturating_add(self.capacity.len()) > limits::DEVICE_VALUES {
            return Err(format!("more than {} attributes and capacities", limits::DEVICE_VALUES));
        }
        Ok(())
    }

    fn value(&self, texts: &Texts) -> Result<Value, String> {
        self.limited()?;
        let driver = texts.get(&self.driver);
        let mut attributes = Domains::new(&driver, texts);
        for (name, attribute) in &self.attributes {
            attributes.add(name, attribute.value(name)?);
        }
        let mut capacity = Domains::new(&driver, texts);
        for (name, text) in &self.capacity {
            capacity.add(name, Value::Quantity(quantity(name, text)?));
        }
        let (attributes, capacity) = (attributes.into_value(), capacity.into_value());
        let text = |text| Value::String(texts.get(text));
        Ok(Value::map(vec![
            (text("driver"), Value::String(driver)),
            (text("allowMultipleAllocations"), Value::Bool(self.allow_multiple_allocations)),
            (text("attributes"), attributes),
            (text("capacity"), capacity),
        ]))
    }
}

/// Values by name.
type Entries = Vec<(Value, Value)>;

/// Values by domain and name; an unknown domain is an empty map.
struct Domains<'a> {
    driver: &'a Rc<str>,
    texts: &'a Texts,
    domains: Vec<(Rc<str>, Entries)>,
}

impl<'a> Domains<'a> {
    fn new(driver: &'a Rc<str>, texts: &'a Texts) -> Self {
        Self { driver, texts, domains: Vec::new() }
    }

    fn add(&mut self, name: &str, value: Value) {
        let (domain, name) = key::split(name, self.driver);
        let entry = (Value::String(self.texts.get(name)), value);
        match self.domains.iter_mut().find(|(known, _)| **known == *domain) {
            Some((_, entries)) => entries.push(entry),
            None => self.domains.push((self.texts.get(domain), vec![entry])),
        }
    }

    fn into_value(self) -> Value {
        let map = |entries, default| Value::Map(Rc::new(Map { entries, default, is_of_device: true }));
        let domains = self.domains.into_iter();
        let entries = domains.map(|(domain, entries)| (Value::String(domain), map(entries, None))).collect();
        map(entries, Some(self.texts.nothing.clone()))
    }
}

/// Texts that devices have in common, each made once for many devices.
#[derive(Debug, Clone)]
struct Texts {
    known: RefCell<Vec<Rc<str>>>,
    /// A domain without values.
    nothing: Value,
}

impl Default for Texts {
    fn default() -> Self {
        let nothing = Map { entries: Vec::new(), default: None, is_of_device: true };
        Self { known: RefCell::default(), nothing: Value::Map(Rc::new(nothing)) }
    }
}

impl Texts {
    fn get(&self, text: &str) -> Rc<str> {
        let mut known = self.known.borrow_mut();
        if let Some(found) = known.iter().find(|known| ***known == *text) {
            return Rc::clone(found);
        }
        let text: Rc<str> = text.into();
        if known.len() < limits::KNOWN_TEXTS {
            known.push(Rc::clone(&text));
        }
        text
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
            Self::Unsupported => return Err(unseen("unsupported attribute value")),
        })
    }
}
