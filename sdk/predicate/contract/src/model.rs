//! The contract as its writers need it: interfaces, functions and types, without the parser. Start at [`Contract::read`].

use crate::notes::{NoteError, Notes};

mod layout;
mod read;

/// Why the contract cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// It is no WIT, or has no world `guest`.
    #[error("the contract cannot be parsed: {0:#}")]
    Parse(anyhow::Error),
    /// The world has something else than interfaces.
    #[error("the world `guest` has {0}, which is no interface with a name")]
    Item(String),
    /// A type that no writer knows.
    #[error("{0} is of a kind that the writers do not know: {1}")]
    Kind(String, &'static str),
    /// A function with more parameters than are passed as values.
    #[error("{0} has too many parameters: more than 16 core values")]
    Parameters(String),
    /// A column of moments that is none.
    #[error("{0} has the note `@moment`, and is no column of s64 about nodes, or has the name of another")]
    Moment(String),
    /// A note that cannot be read.
    #[error("{0}: {1}")]
    Note(String, #[source] NoteError),
}

/// The contract of predicates, parsed: what a predicate imports and exports, and the types that these use.
#[derive(Debug)]
pub struct Contract {
    /// The package with its version, for example `nodesift:predicate@0.2.0`.
    pub package: String,
    /// Interfaces that a predicate can import, in the order of the world `guest`.
    pub imports: Vec<Interface>,
    /// Interfaces that a predicate exports, with their types but without their functions.
    pub exports: Vec<Interface>,
    /// Interfaces that a scorer exports beside these, as of the world `scoring`, in the same form.
    pub scoring: Vec<Interface>,
    /// Every type with a name.
    pub types: Vec<TypeDef>,
    /// Lists, options and tuples, each after those that it holds.
    pub unnamed: Vec<Kind>,
}

/// An interface of the contract, with its documentation, types and functions.
#[derive(Debug)]
pub struct Interface {
    /// The interface's name without its package, for example `node-labels`.
    pub name: String,
    /// Its documentation, by line.
    pub docs: Vec<String>,
    /// Notes for tools from the interface's documentation, for example `@kinds`.
    pub notes: Notes,
    /// The types that it defines, in order.
    pub own_types: Vec<TypeId>,
    /// The types that it uses of other interfaces.
    pub used_types: Vec<TypeId>,
    /// Its functions, in order.
    pub functions: Vec<Function>,
}

/// A function of an interface, with its documentation and signature.
#[derive(Debug)]
pub struct Function {
    /// The function's name as written in WIT, for example `rows-in`.
    pub name: String,
    /// Its documentation, by line.
    pub docs: Vec<String>,
    /// Notes for tools from the function's documentation, for example `@moment`.
    pub notes: Notes,
    /// The function's parameters, in the order of the contract.
    pub params: Vec<Part>,
    /// The type that the function returns; none where it returns nothing.
    pub result: Option<Kind>,
}

/// A type with a name.
#[derive(Debug)]
pub struct TypeDef {
    /// The interface that defines it.
    pub interface: String,
    /// The type's name in its interface, as written in WIT.
    pub name: String,
    /// Its documentation, by line.
    pub docs: Vec<String>,
    /// The definition behind the name: fields of a record, or alternatives of a variant or enum.
    pub body: Body,
}

/// The definition of a named type: a record, a variant or an enum.
#[derive(Debug)]
pub enum Body {
    /// A record with its fields, in order.
    Record(Vec<Part>),
    /// Alternatives, some of them with a value.
    Variant(Vec<Case>),
    /// An enum: alternatives, none of which has a value.
    Enum(Vec<Case>),
}

/// A field of a record, or a parameter.
#[derive(Debug)]
pub struct Part {
    /// The name of the field or parameter, as written in WIT.
    pub name: String,
    /// Its documentation, by line.
    pub docs: Vec<String>,
    /// The type of the field or parameter.
    pub kind: Kind,
}

/// An alternative of a variant or enum.
#[derive(Debug)]
pub struct Case {
    /// The name of the alternative, as written in WIT.
    pub name: String,
    /// Its documentation, by line.
    pub docs: Vec<String>,
    /// The type of its value.
    pub kind: Option<Kind>,
}

/// An index in [`Contract::types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeId(usize);

/// A type as WIT spells it: a primitive, a list or other compound, or a reference to a named type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in WIT")]
pub enum Kind {
    Bool,
    U8,
    U16,
    U32,
    U64,
    S32,
    S64,
    String,
    List(Box<Kind>),
    Option(Box<Kind>),
    Tuple(Vec<Kind>),
    Result(Option<Box<Kind>>, Option<Box<Kind>>),
    Named(TypeId),
}

impl Contract {
    /// A type with a name.
    #[must_use]
    pub fn definition(&self, id: TypeId) -> &TypeDef {
        // Ids are made by `read` alone, for types that it has put there.
        &self.types[id.0]
    }

    /// Whether a type is an enum.
    #[must_use]
    pub fn is_enum(&self, kind: &Kind) -> bool {
        matches!(kind, Kind::Named(id) if matches!(self.definition(*id).body, Body::Enum(_)))
    }

    /// The version of the contract.
    #[must_use]
    pub fn version(&self) -> &str {
        self.package.split_once('@').map_or("", |(_, version)| version)
    }

    /// Returns the name of an interface with package and version, for example `nodesift:predicate/node-labels@0.2.0`.
    #[must_use]
    pub fn full_name(&self, interface: &Interface) -> String {
        let (package, version) = self.package.split_once('@').unwrap_or((&self.package, ""));
        format!("{package}/{}@{version}", interface.name)
    }

    /// Every function that can be imported, with its interface.
    pub fn functions(&self) -> impl Iterator<Item = (&Interface, &Function)> {
        self.imports.iter().flat_map(|interface| interface.functions.iter().map(move |function| (interface, function)))
    }

    /// The functions that give facts, with their interfaces.
    pub fn facts(&self) -> impl Iterator<Item = (&Interface, &Function)> {
        self.functions().filter(|(interface, _)| interface.is_fact())
    }
}

impl Interface {
    /// Whether it gives facts.
    #[must_use]
    pub fn is_fact(&self) -> bool {
        !["row-sets", "log"].contains(&self.name.as_str())
    }

    /// The first sentence of its documentation.
    #[must_use]
    pub fn summary(&self) -> String {
        let text = self.docs.join(" ");
        text.split_once(". ").map_or(text.clone(), |(first, _)| format!("{first}."))
    }

    /// The minor version that has brought it, for example `0.2`; none for the first.
    #[must_use]
    pub fn since(&self) -> Option<&str> {
        let line = self.docs.iter().find(|line| line.contains("Since "))?;
        line.split_once("Since ").map(|(_, version)| version.trim_end_matches('.'))
    }

    /// The note `@node-fields` of the interface and of its functions.
    #[must_use]
    pub fn node_fields(&self) -> Vec<&str> {
        let mut fields: Vec<&str> = Vec::new();
        for notes in std::iter::once(&self.notes).chain(self.functions.iter().map(|function| &function.notes)) {
            let new: Vec<&str> = notes.values("node-fields").iter().map(String::as_str).collect();
            fields.extend(new.into_iter().filter(|field| !fields.contains(field)).collect::<Vec<_>>());
        }
        fields
    }
}

impl Function {
    /// Whether it makes a set of rows, for which a guest gets a handle.
    #[must_use]
    pub fn makes_rows(&self, interface: &Interface) -> bool {
        interface.name.starts_with("node-") && self.name.starts_with("rows-") && self.result == Some(Kind::U32)
    }

    /// Whether each entry of its column is a moment, or none.
    #[must_use]
    pub fn is_moment(&self) -> bool {
        self.notes.has("moment")
    }
}
