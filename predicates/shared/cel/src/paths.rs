//! Paths of a device that an expression can depend on.
//!
//! The tree is evaluated over what is known without a device ([`Seen`]): which part of the device a subexpression is, or that it is
//! made of constants and of what has been read. Every read is noted. Where a part of the device goes to something that could read
//! more of it than one name, there is no answer: an iteration, a computed name, a comparison of maps, a list of them, most functions.
//!
//! Nothing is assumed about values: a subexpression that is not evaluated for some device counts as read.

use std::collections::BTreeSet;

use crate::ast::{Expr, GLOBAL_DEVICE, Macro, MacroKind};
use crate::value::Value;

/// Something of a device that an expression reads.
///
/// Names are looked up as expressions see them: one without a domain is in the domain of the device's driver, and of several
/// values of one domain and name the first counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Name of the driver, `device.driver`.
    Driver,
    /// Whether several claims may share the device.
    AllowMultipleAllocations,
    /// An attribute, or that there is none.
    Attribute {
        /// Domain of the attribute's name.
        domain: String,
        /// Its name without the domain.
        name: String,
    },
    /// Whether there are attributes of a domain.
    AttributeDomain {
        /// Domain that attributes may have.
        domain: String,
    },
    /// A capacity, or that there is none.
    Capacity {
        /// Domain of the capacity's name.
        domain: String,
        /// Its name without the domain.
        name: String,
    },
    /// Whether there are capacities of a domain.
    CapacityDomain {
        /// Domain that capacities may have.
        domain: String,
    },
}

/// All that an expression reads, sorted; `None` where it may read anything.
pub(crate) fn paths(expr: &Expr) -> Option<Vec<Path>> {
    let mut reader =
        Reader { variables: vec![(GLOBAL_DEVICE, Seen::Device), ("device", Seen::Device)], paths: BTreeSet::new() };
    reader.plain(expr)?;
    Some(reader.paths.into_iter().collect())
}

/// The values of a subexpression, if it has one: an error depends on nothing but what has been noted either.
#[derive(Debug, Clone, PartialEq)]
enum Seen<'a> {
    /// Made of constants and of what has been noted.
    Plain,
    /// A constant text, such as the name of an attribute.
    Text(&'a str),
    Device,
    /// Attributes or capacities by domain.
    Domains(Kind),
    /// Attributes or capacities of one domain.
    Names(Kind, &'a str),
    /// An optional that has a value, which is a part of the device.
    Optional(Box<Seen<'a>>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Attributes,
    Capacity,
}

impl Seen<'_> {
    fn is_plain(&self) -> bool {
        matches!(self, Self::Plain | Self::Text(_))
    }

    /// An optional with this value.
    fn some(self) -> Self {
        if self.is_plain() { Self::Plain } else { Self::Optional(Box::new(self)) }
    }
}

struct Reader<'a> {
    /// The device, and the variables of macros, innermost last.
    variables: Vec<(&'a str, Seen<'a>)>,
    paths: BTreeSet<Path>,
}

impl<'a> Reader<'a> {
    fn see(&mut self, expr: &'a Expr) -> Option<Seen<'a>> {
        match expr {
            Expr::Literal(Value::String(text)) => Some(Seen::Text(text)),
            Expr::Literal(_) => Some(Seen::Plain),
            Expr::Ident(name) => {
                let bound = self.variables.iter().rev().find(|(known, _)| known == name);
                Some(bound.map_or(Seen::Plain, |(_, seen)| seen.clone()))
            }
            Expr::Select { operand, field, optional, test } => {
                let of = self.see(operand)?;
                let found = self.member(of, field, *optional);
                Some(if *test { Seen::Plain } else { found })
            }
            Expr::Index { operand, index, optional } => match (self.see(operand)?, self.see(index)?) {
                (of, Seen::Text(key)) => Some(self.member(of, key, *optional)),
                (of, key) => (of.is_plain() && key.is_plain()).then_some(Seen::Plain),
            },
            Expr::Call { name, target, args } => {
                let mut seen = Vec::with_capacity(args.len() + 1);
                for arg in target.as_deref().into_iter().chain(args) {
                    seen.push(self.see(arg)?);
                }
                self.call(name, &seen)
            }
            Expr::And(operands) | Expr::Or(operands) => self.all_plain(operands.iter()),
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.plain(condition)?;
                let (then, otherwise) = (self.see(then)?, self.see(otherwise)?);
                if then == otherwise {
                    return Some(then);
                }
                (then.is_plain() && otherwise.is_plain()).then_some(Seen::Plain)
            }
            Expr::List(elements) => self.all_plain(elements.iter().map(|(element, _)| element)),
            Expr::Map(entries) => self.all_plain(entries.iter().flat_map(|(key, value, _)| [key, value])),
            Expr::Message(_, fields) => self.all_plain(fields.iter().map(|(_, value, _)| value)),
            Expr::Macro(parts) => self.expand(parts),
        }
    }

    fn plain(&mut self, expr: &'a Expr) -> Option<Seen<'a>> {
        self.see(expr)?.is_plain().then_some(Seen::Plain)
    }

    fn all_plain(&mut self, exprs: impl Iterator<Item = &'a Expr>) -> Option<Seen<'a>> {
        for expr in exprs {
            self.plain(expr)?;
        }
        Some(Seen::Plain)
    }

    /// A field or element by name, which is read if it is no map.
    fn member(&mut self, of: Seen<'a>, name: &'a str, optional: bool) -> Seen<'a> {
        let found = match of {
            Seen::Plain | Seen::Text(_) => Seen::Plain,
            Seen::Device => self.field(name),
            // There always is one: an unknown domain is an empty map.
            Seen::Domains(kind) => Seen::Names(kind, name),
            Seen::Names(kind, domain) => self.read(value_path(kind, domain, name)),
            // Members of an optional are optionals already.
            Seen::Optional(inner) => return self.member(*inner, name, true),
        };
        if optional { found.some() } else { found }
    }

    fn field(&mut self, name: &str) -> Seen<'a> {
        match name {
            "driver" => self.read(Path::Driver),
            "allowMultipleAllocations" => self.read(Path::AllowMultipleAllocations),
            "attributes" => Seen::Domains(Kind::Attributes),
            "capacity" => Seen::Domains(Kind::Capacity),
            // Missing in every device.
            _ => Seen::Plain,
        }
    }

    fn read(&mut self, path: Path) -> Seen<'a> {
        self.paths.insert(path);
        Seen::Plain
    }

    /// A function, given its arguments.
    fn call(&mut self, name: &str, args: &[Seen<'a>]) -> Option<Seen<'a>> {
        if args.iter().all(Seen::is_plain) {
            return Some(Seen::Plain);
        }
        // The few that take a part of the device and read no more of it than a name.
        match (name, args) {
            ("@in", [Seen::Text(name), Seen::Domains(kind)]) => Some(self.read(domain_path(*kind, name))),
            ("@in", [Seen::Text(name), Seen::Names(kind, domain)]) => Some(self.read(value_path(*kind, domain, name))),
            ("dyn", [value]) => Some(value.clone()),
            ("optional.of", [value]) => Some(value.clone().some()),
            ("type", [_]) | ("hasValue", [Seen::Optional(_)]) => Some(Seen::Plain),
            ("value", [Seen::Optional(value)]) | ("orValue", [Seen::Optional(value), _]) => Some((**value).clone()),
            ("or", [value @ Seen::Optional(_), _]) => Some(value.clone()),
            _ => None,
        }
    }

    fn expand(&mut self, parts: &'a Macro) -> Option<Seen<'a>> {
        let range = self.see(&parts.range)?;
        let before = self.variables.len();
        let found = match (parts.kind, range) {
            (MacroKind::Bind, value) => self.bound(parts, &value),
            (MacroKind::OptMap, Seen::Optional(value)) => self.bound(parts, &value).map(Seen::some),
            (MacroKind::OptFlatMap, Seen::Optional(value)) => self.bound(parts, &value),
            // Of a range that is no part of the device, neither are the elements. What the last argument is, the result is not: it
            // may be a list of that, or nothing.
            (_, range) if range.is_plain() => {
                self.bound(parts, &Seen::Plain).filter(Seen::is_plain).map(|_| Seen::Plain)
            }
            _ => None,
        };
        self.variables.truncate(before);
        found
    }

    /// The last argument of a macro with all variables bound to a value; those before it are filters.
    fn bound(&mut self, parts: &'a Macro, value: &Seen<'a>) -> Option<Seen<'a>> {
        self.variables.extend(parts.variables.iter().map(|name| (name.as_str(), value.clone())));
        let (last, filters) = parts.args.split_last()?;
        self.all_plain(filters.iter())?;
        self.see(last)
    }
}

fn domain_path(kind: Kind, domain: &str) -> Path {
    let domain = domain.to_owned();
    match kind {
        Kind::Attributes => Path::AttributeDomain { domain },
        Kind::Capacity => Path::CapacityDomain { domain },
    }
}

fn value_path(kind: Kind, domain: &str, name: &str) -> Path {
    let (domain, name) = (domain.to_owned(), name.to_owned());
    match kind {
        Kind::Attributes => Path::Attribute { domain, name },
        Kind::Capacity => Path::Capacity { domain, name },
    }
}
