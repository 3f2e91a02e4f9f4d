//! Types of expressions, and whether a value of one may be used as another.

use std::collections::BTreeMap;
use std::fmt;

use crate::dialect::Dialect;
use crate::limits::TYPE_NODES;

/// Type of an expression or of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// Type of attributes where these are no lists; like [`Type::Dyn`], known only when the expression runs.
    Any,
    /// One of the types without parameters, by name.
    Plain(&'static str),
    /// A primitive type or null, by the name of the primitive type: the messages that wrap one value.
    Wrapper(&'static str),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    /// A type as a value: the type of this one.
    Meta(Box<Type>),
    /// The device; its fields are known.
    Device,
    /// A type still to be found.
    Variable(usize),
}

/// The names of plain types in signatures, and as they are shown.
pub(crate) const PLAIN: [(&str, &str); 19] = [
    ("null", "null"),
    ("bool", "bool"),
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("duration", DURATION),
    ("timestamp", TIMESTAMP),
    ("quantity", "kubernetes.Quantity"),
    ("semver", "kubernetes.Semver"),
    ("ip", "net.IP"),
    ("cidr", "net.CIDR"),
    ("url", "kubernetes.URL"),
    ("authorizer", "kubernetes.authorization.Authorizer"),
    ("path-check", "kubernetes.authorization.PathCheck"),
    ("group-check", "kubernetes.authorization.GroupCheck"),
    ("resource-check", "kubernetes.authorization.ResourceCheck"),
    ("decision", "kubernetes.authorization.Decision"),
];

/// Names of the types of time, as values of an expression too.
pub(crate) const DURATION: &str = "google.protobuf.Duration";
pub(crate) const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// The messages of one field, `value`, with its type.
pub(crate) const WRAPPERS: [(&str, &str); 9] = [
    ("google.protobuf.BoolValue", "bool"),
    ("google.protobuf.BytesValue", "bytes"),
    ("google.protobuf.DoubleValue", "double"),
    ("google.protobuf.FloatValue", "double"),
    ("google.protobuf.Int32Value", "int"),
    ("google.protobuf.Int64Value", "int"),
    ("google.protobuf.StringValue", "string"),
    ("google.protobuf.UInt32Value", "uint"),
    ("google.protobuf.UInt64Value", "uint"),
];

/// The message without fields; the only one that is no other value.
pub(crate) const EMPTY: &str = "google.protobuf.Empty";

/// Types that null is not a value of.
const PRIMITIVE: [&str; 6] = ["bool", "int", "uint", "double", "string", "bytes"];

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
            Self::Wrapper(name) => write!(f, "wrapper({name})"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Meta(of) => write!(f, "type({of})"),
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

    pub(crate) fn meta(of: Self) -> Self {
        Self::Meta(Box::new(of))
    }

    /// The type of an attribute.
    pub(crate) fn attribute(dialect: Dialect) -> Self {
        if dialect.lists { Self::Dyn } else { Self::Any }
    }

    /// The type of a field of the device.
    pub(crate) fn device_field(dialect: Dialect, field: &str) -> Option<Self> {
        let by_domain = |of| Self::map(STRING, Self::map(STRING, of));
        Some(match field {
            "driver" => STRING,
            "allowMultipleAllocations" => BOOL,
            "attributes" => by_domain(Self::attribute(dialect)),
            "capacity" => by_domain(Self::Plain("kubernetes.Quantity")),
            _ => return None,
        })
    }

    /// The type of values that a name of types in an expression stands for.
    pub(crate) fn named(name: &'static str) -> Self {
        match name {
            "list" => Self::list(Self::Dyn),
            "map" => Self::map(Self::Dyn, Self::Dyn),
            "type" => Self::meta(Self::Dyn),
            "optional_type" => Self::optional(Self::Dyn),
            "null_type" => Self::Plain("null"),
            name => Self::Plain(name),
        }
    }

    /// A type of a signature with its variables replaced.
    pub(crate) fn instance(&self, variables: &[Self]) -> Self {
        match self {
            Self::Variable(number) => variables.get(*number).cloned().unwrap_or(Self::Dyn),
            Self::List(inner) => Self::list(inner.instance(variables)),
            Self::Optional(inner) => Self::optional(inner.instance(variables)),
            Self::Meta(inner) => Self::meta(inner.instance(variables)),
            Self::Map(key, value) => Self::map(key.instance(variables), value.instance(variables)),
            other => other.clone(),
        }
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
            (Self::Meta(_), Self::Meta(_)) => true,
            _ => self.is_equivalent(other),
        }
    }

    /// The one that says less, the first of equals.
    pub(crate) fn most_general(self, other: Self) -> Self {
        if self.is_no_more_specific(&other) { self } else { other }
    }

    /// Whether two types are the same but for null.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(a) | Self::Wrapper(a), Self::Plain(b) | Self::Wrapper(b)) => a == b,
            (Self::List(a), Self::List(b))
            | (Self::Optional(a), Self::Optional(b))
            | (Self::Meta(a), Self::Meta(b)) => a.is_equivalent(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.is_equivalent(c) && b.is_equivalent(d),
            _ => self == other,
        }
    }

    /// Whether null is a value of the type.
    fn is_nullable(&self) -> bool {
        match self {
            Self::Plain(name) => !PRIMITIVE.contains(name),
            other => matches!(other, Self::Wrapper(_) | Self::Optional(_) | Self::Device),
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
            Type::Meta(inner) => Type::meta(self.resolve(inner)),
            other => other.clone(),
        }
    }

    /// Whether a type, with everything known filled in, has at most [`TYPE_NODES`]. It looks at no more of them.
    pub(crate) fn is_small(&self, of: &Type) -> bool {
        let mut rest = vec![of];
        let mut nodes = 0;
        while let Some(of) = rest.pop() {
            nodes += 1;
            if nodes > TYPE_NODES {
                return false;
            }
            match of {
                Type::Variable(number) => rest.extend(self.known.get(number)),
                Type::List(inner) | Type::Optional(inner) | Type::Meta(inner) => rest.push(inner),
                Type::Map(key, value) => rest.extend([&**key, &**value]),
                _ => {}
            }
        }
        true
    }

    /// The type at the end: what has not been found by then may be anything.
    pub(crate) fn settle(&self, of: &Type) -> Type {
        match self.resolve(of) {
            Type::Variable(_) => Type::Dyn,
            Type::List(element) => Type::list(self.settle(&element)),
            Type::Map(key, value) => Type::map(self.settle(&key), self.settle(&value)),
            Type::Optional(inner) => Type::optional(self.settle(&inner)),
            Type::Meta(inner) => Type::meta(self.settle(&inner)),
            other => other,
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
            (Type::Plain("null"), to) | (to, Type::Plain("null")) => to.is_nullable(),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.assign(a, b),
            (Type::Map(a, b), Type::Map(c, d)) => self.assign(a, c) && self.assign(b, d),
            (Type::Meta(_), Type::Meta(_)) => true,
            _ => from.is_equivalent(to),
        }
    }

    /// Whether a type may stand for a variable, and whether something did so before.
    fn substitute(&mut self, other: &Type, number: usize) -> (bool, bool) {
        if *other == Type::Variable(number) {
            return (true, true);
        }
        if let Some(known) = self.known.get(&number).cloned() {
            if other.is_equivalent(&known) {
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
            Type::List(inner) | Type::Optional(inner) | Type::Meta(inner) => self.refers(inner, number),
            Type::Map(key, value) => self.refers(key, number) || self.refers(value, number),
            _ => false,
        }
    }
}
