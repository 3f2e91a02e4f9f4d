//! Reads the contract with the parser of WIT.

use std::collections::HashMap;

use wit_parser::{Docs, InterfaceId, Resolve, Type, TypeDefKind, TypeId as ParserId, WorldItem};

use super::{Body, Case, Contract, ContractError, Function, Interface, Kind, Part, TypeDef, TypeId};
use crate::notes::Notes;

impl Contract {
    /// Reads the text of `predicate.wit`.
    ///
    /// # Errors
    ///
    /// Where it is no WIT, has types that the writers do not know, or notes that no tool reads.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        let mut resolve = Resolve::default();
        let parsed = resolve.push_source("predicate.wit", text);
        let package = parsed.map_err(ContractError::Parse)?;
        let world = resolve.select_world(&[package], Some("guest")).map_err(ContractError::Parse)?;
        let mut reader = Reader { resolve: &resolve, types: Vec::new(), known: HashMap::new() };
        let imports = reader.interfaces(&mut resolve.worlds[world].imports.values(), true)?;
        let exports = reader.interfaces(&mut resolve.worlds[world].exports.values(), false)?;
        let scoring = match resolve.packages[package].worlds.get("scoring") {
            Some(world) => reader.interfaces(&mut resolve.worlds[*world].exports.values(), false)?,
            None => Vec::new(),
        };
        let unnamed = reader.unnamed()?;
        let package = resolve.packages[package].name.to_string();
        let contract = Self { package, imports, exports, scoring, types: reader.types, unnamed };
        let mut moments: Vec<&str> = Vec::new();
        for (interface, function) in contract.functions() {
            let place = format!("{}.{}", interface.name, function.name);
            if contract.flat_params(function) > 16 {
                return Err(ContractError::Parameters(place));
            }
            if !function.is_moment() {
                continue;
            }
            let is_column = function.params.is_empty() && function.result == Some(Kind::List(Box::new(Kind::S64)));
            // SDKs call it by its own name, without that of its interface.
            if !is_column || !interface.name.starts_with("node-") || moments.contains(&function.name.as_str()) {
                return Err(ContractError::Moment(place));
            }
            moments.push(&function.name);
        }
        Ok(contract)
    }
}

struct Reader<'a> {
    resolve: &'a Resolve,
    types: Vec<TypeDef>,
    known: HashMap<ParserId, TypeId>,
}

impl Reader<'_> {
    fn interfaces(
        &mut self,
        items: &mut dyn Iterator<Item = &WorldItem>,
        with_functions: bool,
    ) -> Result<Vec<Interface>, ContractError> {
        let mut interfaces = Vec::new();
        for item in items {
            match item {
                WorldItem::Interface { id, .. } => interfaces.push(self.interface(*id, with_functions)?),
                other => return Err(ContractError::Item(format!("{other:?}"))),
            }
        }
        Ok(interfaces)
    }

    fn interface(&mut self, id: InterfaceId, with_functions: bool) -> Result<Interface, ContractError> {
        let given = &self.resolve.interfaces[id];
        let name = given.name.clone().ok_or_else(|| ContractError::Item("an interface".to_owned()))?;
        let (docs, notes) = split(&name, &given.docs)?;
        let (mut own_types, mut used_types) = (Vec::new(), Vec::new());
        for kind in given.types.values() {
            let is_own = self.resolved(*kind) == *kind;
            let id = self.named(*kind)?;
            if is_own { own_types.push(id) } else { used_types.push(id) }
        }
        let mut functions = Vec::new();
        for function in given.functions.values().filter(|_| with_functions) {
            let place = format!("{name}.{}", function.name);
            let (docs, notes) = split(&place, &function.docs)?;
            let params = function.params.iter().map(|param| {
                Ok(Part { name: param.name.clone(), docs: Vec::new(), kind: self.kind(&param.ty, &place)? })
            });
            let params = params.collect::<Result<Vec<_>, ContractError>>()?;
            let result = function.result.as_ref().map(|kind| self.kind(kind, &place)).transpose()?;
            functions.push(Function { name: function.name.clone(), docs, notes, params, result });
        }
        Ok(Interface { name, docs, notes, own_types, used_types, functions })
    }

    /// The type behind names: a `use` is the type that it names.
    fn resolved(&self, id: ParserId) -> ParserId {
        match self.resolve.types[id].kind {
            TypeDefKind::Type(Type::Id(id)) => self.resolved(id),
            _ => id,
        }
    }

    fn kind(&mut self, kind: &Type, place: &str) -> Result<Kind, ContractError> {
        let unknown = |what| ContractError::Kind(place.to_owned(), what);
        Ok(match kind {
            Type::Bool => Kind::Bool,
            Type::U8 => Kind::U8,
            Type::U16 => Kind::U16,
            Type::U32 => Kind::U32,
            Type::U64 => Kind::U64,
            Type::S32 => Kind::S32,
            Type::S64 => Kind::S64,
            Type::String => Kind::String,
            Type::Id(id) => {
                let id = self.resolved(*id);
                let resolve = self.resolve;
                match &resolve.types[id].kind {
                    TypeDefKind::List(inner) => Kind::List(Box::new(self.kind(inner, place)?)),
                    TypeDefKind::Option(inner) => Kind::Option(Box::new(self.kind(inner, place)?)),
                    TypeDefKind::Tuple(tuple) => {
                        Kind::Tuple(tuple.types.iter().map(|kind| self.kind(kind, place)).collect::<Result<_, _>>()?)
                    }
                    TypeDefKind::Result(result) => {
                        let mut of = |kind: &Option<Type>| {
                            kind.as_ref().map(|kind| self.kind(kind, place).map(Box::new)).transpose()
                        };
                        Kind::Result(of(&result.ok)?, of(&result.err)?)
                    }
                    _ => Kind::Named(self.named(id)?),
                }
            }
            Type::S8 => return Err(unknown("s8")),
            Type::S16 => return Err(unknown("s16")),
            Type::F32 => return Err(unknown("f32")),
            Type::F64 => return Err(unknown("f64")),
            Type::Char => return Err(unknown("char")),
            Type::ErrorContext => return Err(unknown("error-context")),
        })
    }

    /// A record, variant or enum.
    fn named(&mut self, id: ParserId) -> Result<TypeId, ContractError> {
        let id = self.resolved(id);
        if let Some(known) = self.known.get(&id) {
            return Ok(*known);
        }
        let resolve = self.resolve;
        let given = &resolve.types[id];
        let name = given.name.clone().unwrap_or_default();
        let interface = match given.owner {
            wit_parser::TypeOwner::Interface(owner) => resolve.interfaces[owner].name.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let place = format!("{interface}.{name}");
        let body = match &given.kind {
            TypeDefKind::Record(record) => {
                let part = |field: &wit_parser::Field| {
                    let kind = self.kind(&field.ty, &place)?;
                    Ok(Part { name: field.name.clone(), docs: lines(&field.docs), kind })
                };
                Body::Record(record.fields.iter().map(part).collect::<Result<_, ContractError>>()?)
            }
            TypeDefKind::Variant(variant) => {
                let case = |case: &wit_parser::Case| {
                    let kind = case.ty.as_ref().map(|kind| self.kind(kind, &place)).transpose()?;
                    Ok(Case { name: case.name.clone(), docs: lines(&case.docs), kind })
                };
                Body::Variant(variant.cases.iter().map(case).collect::<Result<_, ContractError>>()?)
            }
            TypeDefKind::Enum(cases) => {
                let case =
                    |case: &wit_parser::EnumCase| Case { name: case.name.clone(), docs: lines(&case.docs), kind: None };
                Body::Enum(cases.cases.iter().map(case).collect())
            }
            other => return Err(ContractError::Kind(place, other.as_str())),
        };
        let made = TypeId(self.types.len());
        self.types.push(TypeDef { interface, name, docs: lines(&given.docs), body });
        self.known.insert(id, made);
        Ok(made)
    }

    /// Lists, options and tuples, in the parser's order reversed: a type comes after those whose functions it calls.
    fn unnamed(&mut self) -> Result<Vec<Kind>, ContractError> {
        let resolve = self.resolve;
        let mut unnamed = Vec::new();
        for (id, definition) in resolve.types.iter().collect::<Vec<_>>().into_iter().rev() {
            let is_held =
                matches!(definition.kind, TypeDefKind::List(_) | TypeDefKind::Option(_) | TypeDefKind::Tuple(_));
            if definition.name.is_none() && is_held {
                unnamed.push(self.kind(&Type::Id(id), "a type without a name")?);
            }
        }
        Ok(unnamed)
    }
}

fn split(place: &str, docs: &Docs) -> Result<(Vec<String>, Notes), ContractError> {
    Notes::split(docs.contents.as_deref().unwrap_or_default())
        .map_err(|error| ContractError::Note(place.to_owned(), error))
}

fn lines(docs: &Docs) -> Vec<String> {
    docs.contents.as_deref().unwrap_or_default().trim().lines().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn read(interface: &str) -> Result<Contract, ContractError> {
        Contract::read(&format!(
            "package a:b@0.2.0;\ninterface predicate {{ filter: func(rows: u32); }}\n{interface}\n\
             world guest {{ import node-a; export predicate; }}"
        ))
    }

    #[test]
    fn layouts_are_those_of_the_canonical_abi() {
        let contract = read(
            "interface node-a {\n  enum e { x, y }\n  variant v { none, word(u32), text(string) }\n  \
             record r { flag: bool, long: option<s64>, e: e, v: v, pair: tuple<u8, u16> }\n  \
             f: func(r: r) -> r;\n  g: func() -> option<u32>;\n  h: func() -> e;\n}",
        )
        .unwrap();
        let [interface] = &contract.imports[..] else { unreachable!("one interface is imported") };
        let [f, g, h] = &interface.functions[..] else { unreachable!("it has three functions") };
        let record = f.result.as_ref().unwrap();
        let Kind::Named(id) = record else { unreachable!("a record has a name") };
        let Body::Record(fields) = &contract.definition(*id).body else { unreachable!("it is a record") };
        assert_eq!(contract.offsets(fields.iter().map(|field| &field.kind)), [0, 8, 24, 28, 40]);
        assert_eq!(contract.size(record), 48);
        assert_eq!(contract.flat_params(f), 1 + 2 + 1 + 3 + 2);
        let in_memory = [f, g, h].map(|function| contract.returns_in_memory(function));
        assert_eq!(in_memory, [true, true, false]);
    }

    #[test]
    fn notes_and_types_that_no_writer_knows_are_refused_with_their_place() {
        let function = |text: &str| read(&format!("interface node-a {{\n  {text}\n}}"));
        let since =
            read("/// A. B. Since 0.2.\n///\n/// @pods-on-nodes\ninterface node-a { f: func() -> u8; }").unwrap();
        assert_eq!((since.imports[0].since(), since.imports[0].summary()), (Some("0.2"), "A.".to_owned()));
        assert!(since.imports[0].notes.has("pods-on-nodes"));
        assert!(function("/// A.\n  ///\n  /// @moment\n  f: func() -> list<s64>;").is_ok());
        let refused = [
            ("/// @moment\n  f: func() -> list<u8>;", "node-a.f"),
            ("/// @moment\n  f: func(key: string) -> list<s64>;", "node-a.f"),
            ("/// @moments\n  f: func() -> list<s64>;", "node-a.f"),
            ("f: func() -> f64;", "node-a.f"),
            ("flags x { a }\n  f: func() -> x;", "node-a.x"),
        ];
        for (text, place) in refused {
            let error = function(text).unwrap_err().to_string();
            assert!(error.contains(place), "{text}: {error}");
        }
    }
}
