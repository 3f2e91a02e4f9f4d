//! Types of expressions, and whether a value of one may be used as another.

use std::collections::BTreeMap;
use std::fmt;

/// Type of an expression or of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// Type of attributes; like [`Type::Dyn`], known only when the expression runs.
    Any,
    /// One of the types without parameters, by name.
    Plain(&'static str),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    /// A type as a value.
    Meta,
    /// The device; its fields are known.
    Device,
    /// A type still to be found.
    Variable(usize),
}

/// The names of plain types in signatures, and as they are shown.
pub(crate) const PLAIN: [(&str, &str); 13] = [
    ("null", "null"),
    ("bool", "bool"),
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("duration", "google.protobuf.Duration"),
    ("quantity", "kubernetes.Quantity"),
    ("semver", "kubernetes.Semver"),
    ("ip", "net.IP"),
    ("cidr", "net.CIDR"),
    ("url", "kubernetes.URL"),
];

/// The remaining plain type; its values come from functions only.
pub(crate) const FORMAT: &str = "kubernetes.NamedFormat";

pub(crate) const BOOL: Type = Type::Plain("bool");
pub(crate) const INT: Type = Type::Plain("int");
pub(crate) const STRING: Type = Type::Plain("string");

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Variable(_) => f.write_str("dyn"),
            Self::Any => f.write_str("any"),
            Self::Plain(name) => f.write_str(name),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Meta => f.write_str("type"),
            Self::Device => f.write_str("kubernetes.DRADevice"),
        }
    }
}

impl Type {
    pub(crate) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    pub(crate) fn optional(inner: Self) -> Self {
        Self::Optional(Box::new(inner))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    /// Whether this type says no more than the other.
    fn is_no_more_specific(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn | Self::Any | Self::Variable(_), _) => true,
            (_, Self::Dyn | Self::Any | Self::Variable(_)) => false,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.is_no_more_specific(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.is_no_more_specific(c) && b.is_no_more_specific(d),
            _ => self == other,
        }
    }

    /// The one that says less, the first of equals.
    pub(crate) fn most_general(self, other: Self) -> Self {
        if self.is_no_more_specific(&other) { self } else { other }
    }

    /// Equality of literals' elements: types still to be found are equal to all.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Variable(_), _) | (_, Self::Variable(_)) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.is_same(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.is_same(c) && b.is_same(d),
            _ => self == other,
        }
    }
}

/// Types found so far for type variables.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings {
    known: BTreeMap<usize, Type>,
    fresh: usize,
}

impl Bindings {
    pub(crate) fn fresh(&mut self) -> Type {
        self.fresh += 1;
        Type::Variable(self.fresh)
    }

    /// The type with everything known filled in.
    pub(crate) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Variable(number) => self.known.get(number).map_or_else(|| of.clone(), |known| self.resolve(known)),
            Type::List(element) => Type::list(self.resolve(element)),
            Type::Map(key, value) => Type::map(self.resolve(key), self.resolve(value)),
            Type::Optional(inner) => Type::optional(self.resolve(inner)),
            other => other.clone(),
        }
    }

    /// Whether values of each of `from` may be used as the respective `to`; what that needs is then known.
    pub(crate) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let before = self.known.clone();
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.assign(from, to));
        if !fits {
            self.known = before;
        }
        fits
    }

    /// Whether a value of one type may be used as another.
    pub(crate) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Variable(number) = to {
            match self.substitute(from, *number) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        match (from, to) {
            (Type::Variable(number), _) => self.substitute(to, *number).0,
            (from, to) if from.is_dyn() || to.is_dyn() => true,
            (Type::Plain("null"), to) | (to, Type::Plain("null")) => {
                matches!(to, Type::Plain("null" | "google.protobuf.Duration") | Type::Optional(_) | Type::Device)
            }
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.assign(a, b),
            (Type::Map(a, b), Type::Map(c, d)) => self.assign(a, c) && self.assign(b, d),
            _ => from == to,
        }
    }

    /// Whether a type may stand for a variable, and whether something did so before.
    fn substitute(&mut self, other: &Type, number: usize) -> (bool, bool) {
        if *other == Type::Variable(number) {
            return (true, true);
        }
        if let Some(known) = self.known.get(&number).cloned() {
            if *other == known {
                return (true, true);
            }
            if !self.assign(other, &known) {
                return (false, true);
            }
            let general = other.clone().most_general(known);
            if !self.refers(&general, number) {
                self.known.insert(number, general);
            }
            return (true, true);
        }
        if self.refers(other, number) {
            return (false, false);
        }
        self.known.insert(number, other.clone());
        (true, false)
    }

    fn refers(&self, of: &Type, number: usize) -> bool {
        match of {
            Type::Variable(other) => {
                *other == number || self.known.get(other).is_some_and(|known| self.refers(known, number))
            }
            Type::List(inner) | Type::Optional(inner) => self.refers(inner, number),
            Type::Map(key, value) => self.refers(key, number) || self.refers(value, number),
            _ => false,
        }
    }
}
