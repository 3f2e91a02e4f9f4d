//! Values, their equality and order, and the names of their types. Lookups in maps are in `map`.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

use crate::kubernetes::{Semver, Url};
use crate::quantity::Quantity;
use crate::steps::{BYTES_OF_A_STEP, Steps, fits};
use crate::time::Timestamp;
use crate::types::{DURATION, EMPTY, TIMESTAMP};

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
    Timestamp(Timestamp),
    List(Rc<Vec<Value>>),
    Map(Rc<Map>),
    Optional(Option<Rc<Value>>),
    /// A type, by name.
    Type(&'static str),
    Quantity(Rc<Quantity>),
    /// A quantity that was computed. Kubernetes gives it another form, so that nothing is equal to it, while it is to others.
    Computed(Rc<Quantity>),
    Semver(Rc<Semver>),
    Ip(IpAddr),
    /// An address and the length of its prefix in bits.
    Cidr(IpAddr, u8),
    Url(Rc<Url>),
    /// A named format of text.
    Format(&'static str),
    /// A message without fields.
    Empty,
    /// Content of an optional whose value cel-go could not unwrap: reading it fails.
    Fault,
}

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
    pub(crate) fn new(entries: Vec<(Value, Value)>) -> Self {
        Self { entries, default: None, is_of_device: false }
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
        Self::Map(Rc::new(Map::new(entries)))
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
            Self::Duration(_) => DURATION,
            Self::Timestamp(_) => TIMESTAMP,
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) | Self::Computed(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Empty => EMPTY,
            Self::Fault => "error",
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

    /// Whether it is equal to another value; false where that is no question, see [`Value::equality`].
    ///
    /// # Errors
    /// There are no steps left.
    pub(crate) fn equals(&self, other: &Self, steps: &Steps) -> Result<bool, String> {
        Ok(self.equality(other, steps)? == Some(true))
    }

    /// Equality: numbers by value whatever their types, all else only within one type. A value of Kubernetes' own types has none
    /// with a value of another type behind it, except null: then it is `None`. It takes steps for long texts and for what is inside
    /// of a value: lists that share their elements are compared as if each had its own.
    ///
    /// # Errors
    /// There are no steps left.
    pub(crate) fn equality(&self, other: &Self, steps: &Steps) -> Result<Option<bool>, String> {
        Ok(Some(match (self, other) {
            (Self::Null, Self::Null) | (Self::Empty, Self::Empty) => true,
            (Self::Null, _) | (_, Self::Null) => false,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::String(_), Self::String(b)) => self.is_text(b, steps)?,
            (Self::Bytes(a), Self::Bytes(b)) => {
                a.len() == b.len() && {
                    steps.read(a.len())?;
                    a == b
                }
            }
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a.key() == b.key(),
            (Self::Type(a), Self::Type(b)) | (Self::Format(a), Self::Format(b)) => a == b,
            (Self::Quantity(a) | Self::Computed(a), Self::Quantity(b)) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a.compare(b).is_eq(),
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a, bits), Self::Cidr(b, other_bits)) => a == b && bits == other_bits,
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    steps.take(1)?;
                    return a.equality(b, steps);
                }
                _ => false,
            },
            (Self::List(a), Self::List(b)) => a.len() == b.len() && equal_lists(a, b, steps)?,
            (Self::Map(a), Self::Map(b)) => a.is_equal(b, steps)?,
            (Self::Fault, _) => return Ok(None),
            (a, _) if a.is_of_kubernetes() => return Ok(None),
            _ => compare_numbers(self, other) == Some(Ordering::Equal),
        }))
    }

    /// Whether it is a text and equal to another one, as [`Value::equals`] has it.
    ///
    /// # Errors
    /// There are no steps left.
    pub(crate) fn is_text(&self, text: &str, steps: &Steps) -> Result<bool, String> {
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
            if self.equals(element, steps)? {
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
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.key().cmp(&b.key())),
            _ => compare_numbers(self, other),
        }
    }

    /// Whether it is of one of Kubernetes' own types.
    pub(crate) fn is_of_kubernetes(&self) -> bool {
        matches!(
            self,
            Self::Quantity(_)
                | Self::Computed(_)
                | Self::Semver(_)
                | Self::Ip(_)
                | Self::Cidr(..)
                | Self::Url(_)
                | Self::Format(_)
        )
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_) | Self::Double(_))
    }
}

/// Compares lists of one length. Elements whose equality is no question count as equal.
fn equal_lists(a: &[Value], b: &[Value], steps: &Steps) -> Result<bool, String> {
    steps.take(a.len())?;
    for (a, b) in a.iter().zip(b) {
        if a.equality(b, steps)? == Some(false) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares numbers by value; `None` for anything else and for NaN. A whole number is made a double for a comparison with one.
#[allow(clippy::cast_precision_loss, reason = "as Go does")]
fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), b) => {
            let (least, most, nearest) = match b {
                Value::Int(b) => (i64::MIN as f64, i64::MAX as f64, *b as f64),
                Value::Uint(b) => (0.0, u64::MAX as f64, *b as f64),
                _ => return None,
            };
            match *a {
                a if a < least => Some(Ordering::Less),
                a if a > most => Some(Ordering::Greater),
                a => a.partial_cmp(&nearest),
            }
        }
        (a, Value::Double(_)) => compare_numbers(b, a).map(Ordering::reverse),
        _ => None,
    }
}
