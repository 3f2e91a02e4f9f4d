//! Values, their equality and order, and the names of their types.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use crate::kubernetes::{Semver, Url};
use crate::quantity::Quantity;
use crate::steps::{BYTES_OF_A_STEP, Steps, fits};

/// A value of the expression language.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Rc<str>),
    Bytes(Rc<[u8]>),
    /// A duration, in nanoseconds.
    Duration(i64),
    List(Rc<Vec<Value>>),
    Map(Rc<Map>),
    Optional(Option<Rc<Value>>),
    /// A type, by name.
    Type(&'static str),
    Quantity(Quantity),
    Semver(Rc<Semver>),
    Ip(IpAddr),
    /// An address and the length of its prefix in bits.
    Cidr(IpAddr, u8),
    Url(Rc<Url>),
    /// A named format of text.
    Format(&'static str),
}

/// Entries of a map that a lookup compares in one step.
const ENTRIES_OF_A_STEP: usize = 10;

/// A map: its entries in the order of their making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map {
    pub(crate) entries: Vec<(Value, Value)>,
    /// Result of looking up an unknown key; such keys are still not *in* the map.
    pub(crate) default: Option<Value>,
    /// Whether it holds values of the device: their number, which is limited, takes no steps. Otherwise the steps, and with them the
    /// outcome, would depend on values that an expression does not read.
    pub(crate) is_of_device: bool,
}

impl Map {
    /// Looks a key up.
    ///
    /// # Errors
    /// As [`Value::equals`].
    pub(crate) fn find(&self, key: &Value, steps: &Steps) -> Result<Option<&Value>, String> {
        Ok(self.entry(key, steps)?.or(self.default.as_ref()))
    }

    /// Looks a text up.
    ///
    /// # Errors
    /// As [`Value::equals`].
    pub(crate) fn find_text(&self, key: &str, steps: &Steps) -> Result<Option<&Value>, String> {
        if self.is_of_device {
            return Ok(self.entry_of_device(key, steps)?.or(self.default.as_ref()));
        }
        self.entry_by(|known| known.is_text(key, steps), steps).map(|found| found.or(self.default.as_ref()))
    }

    /// Looks a key up among the entries.
    ///
    /// # Errors
    /// As [`Value::equals`].
    pub(crate) fn entry(&self, key: &Value, steps: &Steps) -> Result<Option<&Value>, String> {
        if self.is_of_device {
            // All keys are texts.
            let Value::String(key) = key else { return Ok(None) };
            return self.entry_of_device(key, steps);
        }
        self.entry_by(|known| known.equals(key, steps), steps)
    }

    fn entry_by(
        &self,
        is_it: impl Fn(&Value) -> Result<bool, String>,
        steps: &Steps,
    ) -> Result<Option<&Value>, String> {
        // Cheap where it is small: Kubernetes counts a lookup as one step.
        steps.take(self.entries.len() / ENTRIES_OF_A_STEP)?;
        for (known, value) in &self.entries {
            if is_it(known)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn entry_of_device(&self, key: &str, steps: &Steps) -> Result<Option<&Value>, String> {
        steps.read(key.len())?;
        let is_it = |(known, _): &&(Value, Value)| matches!(known, Value::String(known) if **known == *key);
        Ok(self.entries.iter().find(is_it).map(|(_, value)| value))
    }
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Self::String(text.into())
    }

    pub(crate) fn list(elements: Vec<Self>) -> Self {
        Self::List(Rc::new(elements))
    }

    pub(crate) fn map(entries: Vec<(Self, Self)>) -> Self {
        Self::Map(Rc::new(Map { entries, default: None, is_of_device: false }))
    }

    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// An int from a count.
    pub(crate) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The name of the value's type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// The steps of reading it. What is inside of an element is not read by most functions; those that do count it.
    pub(crate) fn weight(&self) -> usize {
        let of_text = |value: &Self| value.text_bytes() / BYTES_OF_A_STEP;
        match self {
            Self::List(list) => list.iter().fold(list.len(), |sum, element| sum.saturating_add(of_text(element))),
            // See `Map::is_of_device`.
            Self::Map(map) if map.is_of_device => 0,
            Self::Map(map) => map.entries.len(),
            value => of_text(value),
        }
    }

    /// Whether a value that has been made may be kept.
    ///
    /// # Errors
    /// As [`fits`].
    pub(crate) fn check_size(&self) -> Result<(), String> {
        fits(self.text_bytes())
    }

    /// The bytes of a text or of bytes; 0 for all else.
    fn text_bytes(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Equality: numbers by value whatever their types, all else only within one type. It takes steps for long texts and for what
    /// is inside of a value: lists that share their elements are compared as if each had its own.
    ///
    /// # Errors
    /// There are no steps left.
    pub(crate) fn equals(&self, other: &Self, steps: &Steps) -> Result<bool, String> {
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (a, Self::String(b)) => a.is_text(b, steps)?,
            (Self::Bytes(a), Self::Bytes(b)) => {
                a.len() == b.len() && {
                    steps.read(a.len())?;
                    a == b
                }
            }
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Type(a), Self::Type(b)) | (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a.compare(b).is_eq(),
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a, bits), Self::Cidr(b, other_bits)) => a == b && bits == other_bits,
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    steps.take(1)?;
                    a.equals(b, steps)?
                }
                _ => false,
            },
            (Self::List(a), Self::List(b)) => a.len() == b.len() && equal_lists(a, b, steps)?,
            (Self::Map(a), Self::Map(b)) => a.entries.len() == b.entries.len() && equal_maps(a, b, steps)?,
            _ => compare_numbers(self, other) == Some(Ordering::Equal),
        })
    }

    /// Whether it is a text and equal to another one, as [`Value::equals`] has it.
    ///
    /// # Errors
    /// There are no steps left.
    fn is_text(&self, text: &str, steps: &Steps) -> Result<bool, String> {
        let Self::String(known) = self else { return Ok(false) };
        if known.len() != text.len() {
            return Ok(false);
        }
        steps.read(text.len())?;
        Ok(**known == *text)
    }

    /// The first element that is equal to this value.
    ///
    /// # Errors
    /// As [`Value::equals`].
    pub(crate) fn position<'v>(
        &self,
        elements: impl Iterator<Item = &'v Self>,
        steps: &Steps,
    ) -> Result<Option<usize>, String> {
        for (at, element) in elements.enumerate() {
            if element.equals(self, steps)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The order of two values, `None` where their types have none.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            _ => compare_numbers(self, other),
        }
    }

    /// Whether it is of one of Kubernetes' own types.
    pub(crate) fn is_of_kubernetes(&self) -> bool {
        matches!(
            self,
            Self::Quantity(_) | Self::Semver(_) | Self::Ip(_) | Self::Cidr(..) | Self::Url(_) | Self::Format(_)
        )
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_) | Self::Double(_))
    }
}

/// Compares lists of one length.
fn equal_lists(a: &[Value], b: &[Value], steps: &Steps) -> Result<bool, String> {
    steps.take(a.len())?;
    for (a, b) in a.iter().zip(b) {
        if !a.equals(b, steps)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares maps of one length.
fn equal_maps(a: &Map, b: &Map, steps: &Steps) -> Result<bool, String> {
    steps.take(a.entries.len())?;
    for (key, value) in &a.entries {
        match b.entry(key, steps)? {
            Some(other) if value.equals(other, steps)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Compares numbers by value; `None` for anything else and for NaN.
fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    let whole = |value: &Value| match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Uint(value) => Some(i128::from(*value)),
        _ => None,
    };
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), b) => compare_double(*a, whole(b)?),
        (a, Value::Double(b)) => compare_double(*b, whole(a)?).map(Ordering::reverse),
        (a, b) => Some(whole(a)?.cmp(&whole(b)?)),
    }
}

/// Compares exactly: a whole number of 64 bits may have no equal double.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "bounded before the cast")]
fn compare_double(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // Larger than every 64-bit number, and exact in both types.
    let bound = 2_f64.powi(65);
    if double.abs() >= bound {
        return Some(if double > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let floor = double.floor();
    Some((floor as i128).cmp(&whole).then(if double > floor { Ordering::Greater } else { Ordering::Equal }))
}
