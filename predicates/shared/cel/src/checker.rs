//! Finds the type of an expression, or why it has none, and joins qualified names.

use crate::ast::{Expr, GLOBAL_DEVICE, Macro, MacroKind};
use crate::dialect::Dialect;
use crate::formatting::{self, Shape};
use crate::functions;
use crate::limits::TYPE_NODES;
use crate::lists;
use crate::messages;
use crate::operators::IN_LIST;
use crate::signatures::{Overload, overloads};
use crate::types::{BOOL, Bindings, INT, Type};
use crate::value::Value;

/// Checks an expression and returns the type of its result.
pub(crate) fn check(dialect: Dialect, expr: &mut Expr) -> Result<Type, String> {
    let mut checker = Checker { dialect, ..Checker::default() };
    let found = checker.check(expr)?;
    checker.check_literals()?;
    checker.check_variables()?;
    for (format, shapes) in &checker.formats {
        formatting::check(format, shapes, &|of: &Type| checker.bindings.settle(of))?;
    }
    Ok(checker.bindings.settle(&found))
}

#[derive(Default)]
struct Checker {
    dialect: Dialect,
    bindings: Bindings,
    /// The variables of macros, innermost last.
    variables: Vec<(String, Type)>,
    /// Calls of `format` that surround the expression: lists inside them may mix types.
    in_formats: usize,
    /// Variables that are read, which must not be types: cel-go takes them for names of types, which they are not.
    read: Vec<(Type, String)>,
    /// Types that must be the same at the end: those of the elements of each literal, of its keys, or of its values.
    literals: Vec<Vec<Type>>,
    /// Inside of a call of `format`: what has been checked beside each other.
    shapes: Vec<Shape>,
    /// Constant formats with their arguments.
    formats: Vec<(String, Vec<Shape>)>,
}

impl Checker {
    fn check(&mut self, expr: &mut Expr) -> Result<Type, String> {
        let before = self.shapes.len();
        let found = self.find(expr)?;
        if !self.bindings.is_small(&found) {
            return Err(format!("an expression whose type has more than {TYPE_NODES} nodes"));
        }
        if self.in_formats > 0 {
            let is_literal = matches!(expr, Expr::List(_) | Expr::Map(_));
            let parts = self.shapes.split_off(before);
            self.shapes.push(Shape { of: found.clone(), parts: if is_literal { parts } else { Vec::new() } });
        }
        Ok(found)
    }

    fn find(&mut self, expr: &mut Expr) -> Result<Type, String> {
        if let Some(name) = qualified_name(expr)
            && !self.is_of_variable(&name)
            && let Some(value) = functions::constant(name.strip_prefix('.').unwrap_or(&name))
        {
            if let Value::Type(_) = value
                && name.strip_prefix('.').is_some_and(|name| self.dialect.cel_go29 && self.is_of_variable(name))
            {
                return Err(format!("reference to undefined type: {name}"));
            }
            let found = if let Value::Type(name) = value { Type::meta(Type::named(name)) } else { INT };
            *expr = Expr::Literal(value);
            return Ok(found);
        }
        match expr {
            Expr::Literal(value) => Ok(literal(value)),
            Expr::Ident(name) => {
                if let Some(of_all) = name.strip_prefix('.').map(str::to_owned) {
                    let is_hidden = self.dialect.cel_go29 && self.is_variable(&of_all);
                    *name = if is_hidden { format!(".{of_all}") } else { of_all };
                }
                let found = self.ident(name).ok_or_else(|| format!("undeclared reference to '{name}'"))?;
                self.read.push((found.clone(), name.clone()));
                Ok(found)
            }
            Expr::Select { operand, field, optional, test } => {
                let of = self.check(operand)?;
                let found = self.field(&of, field, *optional)?;
                Ok(if *test { BOOL } else { found })
            }
            Expr::Index { operand, index, optional } => {
                let types = [self.check(operand)?, self.check(index)?];
                self.resolve(if *optional { "_[?_]" } else { "_[_]" }, false, &types).map(|(found, _)| found)
            }
            Expr::Call { .. } => self.call(expr),
            Expr::And(operands) | Expr::Or(operands) => {
                for operand in operands {
                    let found = self.check(operand)?;
                    self.expect(&found, &BOOL)?;
                }
                Ok(BOOL)
            }
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = &mut **parts;
                let condition = self.check(condition)?;
                self.expect(&condition, &BOOL)?;
                let (then, otherwise) = (self.check(then)?, self.check(otherwise)?);
                self.either("_?_:_", then, otherwise)
            }
            Expr::List(elements) => {
                let mut types = Vec::new();
                for (element, optional) in elements {
                    let found = self.check(element)?;
                    types.push(self.element(found, *optional)?);
                }
                Ok(Type::list(self.common(types)))
            }
            Expr::Map(entries) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for (key, value, optional) in entries {
                    keys.push(self.check(key)?);
                    let found = self.check(value)?;
                    values.push(self.element(found, *optional)?);
                }
                Ok(Type::map(self.common(keys), self.common(values)))
            }
            Expr::Message(name, fields) => {
                let found = messages::type_of(name).ok_or_else(|| format!("'{name}' is not a message type"))?;
                for (field, value, optional) in fields {
                    let value = self.check(value)?;
                    let value = self.element(value, *optional)?;
                    let of = messages::field(name, field).ok_or_else(|| format!("undefined field '{field}'"))?;
                    self.expect(&of, &value)?;
                }
                Ok(found)
            }
            Expr::Macro(parts) => self.comprehension(parts),
        }
    }

    fn ident(&self, name: &str) -> Option<Type> {
        let bound = self.variables.iter().rev().find(|(known, _)| known == name);
        match bound {
            Some((_, found)) => Some(found.clone()),
            None => (name == "device" || name == GLOBAL_DEVICE).then_some(Type::Device),
        }
    }

    fn is_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|(known, _)| known == name)
    }

    /// Whether a name of names with dots is that of a variable of a macro: up to 0.26 the whole name, then what it begins with. A dot
    /// before it leads to the root of all names then, past variables.
    fn is_of_variable(&self, name: &str) -> bool {
        if self.dialect.cel_go29 {
            return name.split('.').next().is_some_and(|first| self.is_variable(first));
        }
        self.is_variable(name.strip_prefix('.').unwrap_or(name))
    }

    fn field(&mut self, of: &Type, field: &str, optional: bool) -> Result<Type, String> {
        let of = self.bindings.resolve(of);
        let (target, chained) = match &of {
            Type::Optional(inner) => (&**inner, true),
            of => (of, false),
        };
        let found = match target {
            Type::Map(_, value) => (**value).clone(),
            Type::Device => {
                Type::device_field(self.dialect, field).ok_or_else(|| format!("undefined field '{field}'"))?
            }
            Type::Variable(_) => {
                self.bindings.assign(&Type::Dyn, target);
                Type::Dyn
            }
            target if target.is_dyn() => Type::Dyn,
            target => return Err(format!("type '{target}' does not support field selection")),
        };
        Ok(if chained || optional { Type::optional(found) } else { found })
    }

    fn call(&mut self, expr: &mut Expr) -> Result<Type, String> {
        let Expr::Call { name, target, args } = expr else { return Err("no call".to_owned()) };
        let qualified = target
            .as_deref()
            .and_then(qualified_name)
            .map(|prefix| format!("{}.{name}", prefix.strip_prefix('.').unwrap_or(&prefix)));
        if let Some(qualified) = qualified.filter(|name| self.overloads(name).is_some()) {
            *name = qualified;
            *target = None;
        }
        let is_format = name == "format";
        self.in_formats += usize::from(is_format);
        let mut types = Vec::new();
        for arg in target.as_deref_mut().into_iter().chain(args.iter_mut()) {
            types.push(self.check(arg)?);
        }
        if is_format
            && let (Some(Expr::Literal(Value::String(format))), [Expr::List(_)]) = (target.as_deref(), args.as_slice())
            && let Some(arguments) = self.shapes.last()
        {
            self.formats.push((format.to_string(), arguments.parts.clone()));
        }
        self.in_formats -= usize::from(is_format);
        if self.in_formats == 0 {
            self.shapes.clear();
        }
        let (found, matches) = self.resolve(name, target.is_some(), &types)?;
        // Where one overload is left it decides what another function of the name would not.
        if let Some(of) = types.last().filter(|_| matches == 1) {
            match self.bindings.resolve(of) {
                Type::List(of) if lists::BY_TYPE.contains(&name.as_str()) => {
                    if let Type::Plain(of) | Type::Wrapper(of) = *of {
                        *name = format!("{name} {of}");
                    }
                }
                of if name == "@in" && !matches!(of, Type::Map(..)) => *name = IN_LIST.to_owned(),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The overloads of a function that the dialect has.
    fn overloads(&self, name: &str) -> Option<&'static [Overload]> {
        overloads(name).filter(|_| name != "includes" || self.dialect.includes)
    }

    /// The type of a function's result, and how many of its overloads fit.
    fn resolve(&mut self, name: &str, member: bool, types: &[Type]) -> Result<(Type, usize), String> {
        let Some(overloads) = self.overloads(name) else { return Err(format!("undeclared reference to '{name}'")) };
        let mut result: Option<Type> = None;
        let mut matches = 0;
        // cel-go 0.29 has no duration of a number.
        let has_duration_of_int = !self.dialect.cel_go29 || name != "duration";
        let is_there =
            |overload: &&Overload| overload.member == member && (has_duration_of_int || overload.args != [INT]);
        for overload in overloads.iter().filter(is_there) {
            let fresh: Vec<Type> = (0..overload.variables).map(|_| self.bindings.fresh()).collect();
            let expected: Vec<Type> = overload.args.iter().map(|arg| arg.instance(&fresh)).collect();
            if !self.bindings.assign_all(types, &expected) {
                continue;
            }
            matches += 1;
            let found = self.bindings.resolve(&overload.result.instance(&fresh));
            result = Some(match result {
                None => found,
                Some(known) if known.is_dyn() || known == found => known,
                Some(_) => Type::Dyn,
            });
        }
        Ok((result.ok_or_else(|| self.no_overload(name, types))?, matches))
    }

    /// The type of one of two expressions, which must have one.
    fn either(&mut self, name: &str, then: Type, otherwise: Type) -> Result<Type, String> {
        let both = self.bindings.fresh();
        if !self.bindings.assign_all(&[then.clone(), otherwise.clone()], &[both.clone(), both.clone()]) {
            return Err(self.no_overload(name, &[BOOL, then, otherwise]));
        }
        Ok(self.bindings.resolve(&both))
    }

    fn comprehension(&mut self, parts: &mut Macro) -> Result<Type, String> {
        let range = self.check(&mut parts.range)?;
        let range = self.bindings.resolve(&range);
        let bound = match (parts.kind, &range) {
            (MacroKind::Bind, _) => vec![range.clone()],
            (MacroKind::OptMap | MacroKind::OptFlatMap, range) => {
                let inner = self.bindings.fresh();
                self.expect(range, &Type::optional(inner.clone()))?;
                vec![self.bindings.resolve(&inner)]
            }
            (_, Type::List(element)) if parts.variables.len() == 1 => vec![(**element).clone()],
            (_, Type::List(element)) => vec![INT, (**element).clone()],
            (_, Type::Map(key, value)) if parts.kind != MacroKind::SortBy => vec![(**key).clone(), (**value).clone()],
            (_, Type::Dyn | Type::Variable(_)) => {
                self.bindings.assign(&Type::Dyn, &range);
                vec![Type::Dyn, Type::Dyn]
            }
            (_, range) => {
                return Err(format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                ));
            }
        };
        // These read their variable in any case, or the first.
        if let MacroKind::Bind | MacroKind::OptMap | MacroKind::OptFlatMap | MacroKind::Filter | MacroKind::TransformMap =
            parts.kind
            && let (Some(of), Some(name)) = (bound.first(), parts.variables.first())
        {
            self.read.push((of.clone(), name.clone()));
        }
        let before = self.variables.len();
        self.variables.extend(parts.variables.iter().cloned().zip(bound));
        let mut types = Vec::new();
        for arg in &mut parts.args {
            types.push(self.check(arg)?);
        }
        self.variables.truncate(before);

        let Some(last) = types.pop() else { return Err("a macro without arguments".to_owned()) };
        for filter in types {
            self.expect(&filter, &BOOL)?;
        }
        Ok(match parts.kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => {
                self.expect(&last, &BOOL)?;
                BOOL
            }
            MacroKind::Filter => {
                self.expect(&last, &BOOL)?;
                match range {
                    Type::Map(key, _) => Type::list(*key),
                    Type::List(element) => Type::List(element),
                    _ => Type::list(Type::Dyn),
                }
            }
            MacroKind::SortBy => {
                if let Type::Variable(_) = self.bindings.resolve(&last) {
                    self.expect(&last, &INT)?;
                }
                let key = self.bindings.resolve(&last);
                if !(key.is_dyn() || lists::is_sortable(&key)) {
                    return Err(self.no_overload("sortBy", &[range, key]));
                }
                match self.bindings.resolve(&range) {
                    list @ Type::List(_) => list,
                    // A key of a known type leaves one overload, whose result is a list; else there are many.
                    _ if !key.is_dyn() => Type::list(self.bindings.fresh()),
                    _ => Type::Dyn,
                }
            }
            MacroKind::Map | MacroKind::TransformList => Type::list(last),
            MacroKind::TransformMap => match range {
                Type::Map(key, _) => Type::Map(key, Box::new(last)),
                Type::List(_) => Type::map(INT, last),
                _ => Type::map(Type::Dyn, last),
            },
            MacroKind::TransformMapEntry => {
                let entry = Type::map(self.bindings.fresh(), self.bindings.fresh());
                self.expect(&last, &entry)?;
                self.bindings.resolve(&entry)
            }
            MacroKind::OptFlatMap => {
                let none = Type::optional(self.bindings.fresh());
                self.either("optFlatMap", last, none)?
            }
            MacroKind::Bind => last,
            MacroKind::OptMap => Type::optional(last),
        })
    }

    /// The type of an element of a literal; an optional one gives its inner type.
    fn element(&mut self, found: Type, optional: bool) -> Result<Type, String> {
        match self.bindings.resolve(&found) {
            _ if !optional => Ok(found),
            Type::Optional(inner) => Ok(*inner),
            found if found.is_dyn() => Ok(found),
            found => Err(format!("expected type 'optional_type({found})' but found '{found}'")),
        }
    }

    /// The type of all elements of a literal, or of all keys or values.
    fn common(&mut self, types: Vec<Type>) -> Type {
        let mut common: Option<Type> = None;
        for found in &types {
            common = Some(match common {
                None => found.clone(),
                Some(known) if self.bindings.assign_all(std::slice::from_ref(&known), std::slice::from_ref(found)) => {
                    known.most_general(found.clone())
                }
                Some(_) => Type::Dyn,
            });
        }
        if self.in_formats == 0 {
            self.literals.push(types);
        }
        common.unwrap_or_else(|| self.bindings.fresh())
    }

    /// Refuses literals that mix types.
    fn check_literals(&self) -> Result<(), String> {
        for types in &self.literals {
            let types: Vec<Type> = types.iter().map(|of| self.bindings.settle(of)).collect();
            if let [first, rest @ ..] = &types[..]
                && let Some(other) = rest.iter().find(|other| !first.is_equivalent(other))
            {
                return Err(format!("expected type '{first}' but found '{other}'"));
            }
        }
        Ok(())
    }

    fn check_variables(&self) -> Result<(), String> {
        let is_type = |of: &Type| matches!(self.bindings.resolve(of), Type::Meta(_));
        match self.read.iter().find(|(of, _)| is_type(of)) {
            Some((_, name)) => Err(format!("reference to undefined type: {name}")),
            None => Ok(()),
        }
    }

    fn expect(&mut self, found: &Type, expected: &Type) -> Result<(), String> {
        if self.bindings.assign(found, expected) {
            return Ok(());
        }
        Err(format!("expected type '{expected}' but found '{}'", self.bindings.resolve(found)))
    }

    fn no_overload(&self, name: &str, types: &[Type]) -> String {
        let types: Vec<String> = types.iter().map(|of| self.bindings.resolve(of).to_string()).collect();
        format!("found no matching overload for '{name}' applied to '({})'", types.join(", "))
    }
}

/// The name that fields of fields of a name make.
fn qualified_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select { operand, field, optional: false, test: false } => {
            qualified_name(operand).map(|prefix| format!("{prefix}.{field}"))
        }
        _ => None,
    }
}

fn literal(value: &Value) -> Type {
    Type::Plain(match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Uint(_) => "uint",
        Value::Double(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        _ => "int",
    })
}
