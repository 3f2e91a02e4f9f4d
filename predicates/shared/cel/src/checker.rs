//! Finds the type of an expression, or why it has none, and joins qualified function names.

use crate::ast::{Expr, Macro, MacroKind};
use crate::functions;
use crate::patterns;
use crate::signatures::overloads;
use crate::strings;
use crate::types::{BOOL, Bindings, INT, STRING, Type};
use crate::value::Value;

/// Checks an expression and returns the type of its result.
pub(crate) fn check(expr: &mut Expr) -> Result<Type, String> {
    let mut checker =
        Checker { bindings: Bindings::default(), variables: Vec::new(), mixed_lists: 0, attributes: Vec::new() };
    let found = checker.check(expr)?;
    Ok(checker.bindings.resolve(&found))
}

struct Checker {
    bindings: Bindings,
    /// The variables of macros, innermost last.
    variables: Vec<(String, Type)>,
    /// Arguments of `format` that surround the expression: lists inside them may mix types.
    mixed_lists: usize,
    /// Which elements of the list that was checked last are attributes as they are.
    attributes: Vec<bool>,
}

impl Checker {
    fn check(&mut self, expr: &mut Expr) -> Result<Type, String> {
        match expr {
            Expr::Literal(value) => Ok(literal(value)),
            Expr::Ident(name) => self.ident(name).ok_or_else(|| format!("undeclared reference to '{name}'")),
            Expr::Select { operand, field, optional, test } => {
                let of = self.check(operand)?;
                let found = self.field(&of, field, *optional)?;
                Ok(if *test { BOOL } else { found })
            }
            Expr::Index { operand, index, optional } => self.index(operand, index, *optional),
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
                let both = self.bindings.fresh();
                if !self.bindings.assign_all(&[then.clone(), otherwise.clone()], &[both.clone(), both.clone()]) {
                    return Err(self.no_overload("_?_:_", &[BOOL, then, otherwise]));
                }
                Ok(self.bindings.resolve(&both))
            }
            Expr::List(elements) => {
                let mut types = Vec::new();
                for (element, optional) in elements {
                    let found = self.check(element)?;
                    types.push(self.element(&found, *optional)?);
                }
                self.attributes = types.iter().map(|found| *found == Type::Any).collect();
                self.common(&types).map(Type::list)
            }
            Expr::Map(entries) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for (key, value, optional) in entries {
                    keys.push(self.check(key)?);
                    let found = self.check(value)?;
                    values.push(self.element(&found, *optional)?);
                }
                Ok(Type::map(self.common(&keys)?, self.common(&values)?))
            }
            Expr::Macro(parts) => self.comprehension(parts),
        }
    }

    fn ident(&self, name: &str) -> Option<Type> {
        let bound = self.variables.iter().rev().find(|(known, _)| known == name);
        match bound {
            Some((_, found)) => Some(found.clone()),
            None if name == "device" => Some(Type::Device),
            None => functions::type_named(name).map(|_| Type::Meta),
        }
    }

    fn field(&mut self, of: &Type, field: &str, optional: bool) -> Result<Type, String> {
        let of = self.bindings.resolve(of);
        let (target, chained) = match &of {
            Type::Optional(inner) => (&**inner, true),
            of => (of, false),
        };
        let found = match target {
            Type::Map(_, value) => (**value).clone(),
            Type::Device => device_field(field).ok_or_else(|| format!("undefined field '{field}'"))?,
            Type::Variable(_) => {
                self.bindings.assign(&Type::Dyn, target);
                Type::Dyn
            }
            target if target.is_dyn() => Type::Dyn,
            target => return Err(format!("type '{target}' does not support field selection")),
        };
        Ok(if chained || optional { Type::optional(found) } else { found })
    }

    fn index(&mut self, operand: &mut Expr, index: &mut Expr, optional: bool) -> Result<Type, String> {
        let (of, index) = (self.check(operand)?, self.check(index)?);
        let of = self.bindings.resolve(&of);
        let (target, chained) = match &of {
            Type::Optional(inner) => (&**inner, true),
            of => (of, false),
        };
        let (expected, found) = match target {
            Type::List(element) => (INT, (**element).clone()),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            target if target.is_dyn() || matches!(target, Type::Variable(_)) => (Type::Dyn, Type::Dyn),
            target => return Err(self.no_overload("_[_]", &[target.clone(), index])),
        };
        if !self.bindings.assign(&index, &expected) {
            return Err(self.no_overload("_[_]", &[target.clone(), index]));
        }
        Ok(if chained || optional { Type::optional(found) } else { found })
    }

    fn call(&mut self, expr: &mut Expr) -> Result<Type, String> {
        let Expr::Call { name, target, args } = expr else { return Err("no call".to_owned()) };
        if let Some(qualified) = target.as_deref().and_then(|target| self.qualified(target, name)) {
            *name = qualified;
            *target = None;
        }
        let mut types = Vec::new();
        if let Some(target) = target {
            types.push(self.check(target)?);
        }
        let mixed = name == "format" && target.is_some();
        self.mixed_lists += usize::from(mixed);
        for arg in args.iter_mut() {
            types.push(self.check(arg)?);
        }
        self.mixed_lists -= usize::from(mixed);
        let Some(overloads) = overloads(name) else { return Err(format!("undeclared reference to '{name}'")) };

        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.member == target.is_some()) {
            let fresh: Vec<Type> = (0..overload.variables).map(|_| self.bindings.fresh()).collect();
            let expected: Vec<Type> = overload.args.iter().map(|arg| instance(arg, &fresh)).collect();
            if !self.bindings.assign_all(&types, &expected) {
                continue;
            }
            let found = self.bindings.resolve(&instance(&overload.result, &fresh));
            result = Some(match result {
                None => found,
                Some(known) if known.is_dyn() || known == found => known,
                Some(_) => Type::Dyn,
            });
        }
        let result = result.ok_or_else(|| self.no_overload(name, &types))?;
        self.validate(name, target.as_deref(), args, &types)?;
        Ok(result)
    }

    /// The name of a function whose name has dots, unless its first part is a variable.
    fn qualified(&self, target: &Expr, name: &str) -> Option<String> {
        let mut path = name.to_owned();
        let mut at = target;
        loop {
            match at {
                Expr::Select { operand, field, optional: false, test: false } => {
                    path = format!("{field}.{path}");
                    at = operand;
                }
                Expr::Ident(first) if !self.variables.iter().any(|(known, _)| known == first) => {
                    path = format!("{first}.{path}");
                    return overloads(&path).is_some().then_some(path);
                }
                _ => return None,
            }
        }
    }

    /// Rejects constants that can only fail, although their types fit: invalid patterns, formats and conversions.
    fn validate(&self, name: &str, target: Option<&Expr>, args: &[Expr], types: &[Type]) -> Result<(), String> {
        match (name, args) {
            ("matches" | "find" | "findAll", [.., Expr::Literal(Value::String(pattern))])
                if name == "matches" || args.len() == 1 =>
            {
                patterns::compile(pattern).map(drop).map_err(|_| format!("invalid {name} argument"))
            }
            ("format", [Expr::List(elements)]) => {
                let (Some(Expr::Literal(Value::String(pattern))), Some(Type::List(_))) = (target, types.get(1)) else {
                    return Ok(());
                };
                // The list is the last argument, so it was the last list to be checked.
                strings::check_format(pattern, elements.len(), &self.attributes)
            }
            (name, [Expr::Literal(value)]) if functions::CONVERSIONS.contains(&name) => {
                let converted = functions::convert(name, value).map(drop);
                converted.map_err(|error| format!("program instantiation failed: {error}"))
            }
            _ => Ok(()),
        }
    }

    fn comprehension(&mut self, parts: &mut Macro) -> Result<Type, String> {
        let range = self.check(&mut parts.range)?;
        let range = self.bindings.resolve(&range);
        let bound = match (parts.kind, &range) {
            (MacroKind::Bind, _) => vec![range.clone()],
            (MacroKind::OptMap | MacroKind::OptFlatMap, Type::Optional(inner)) => vec![(**inner).clone()],
            (MacroKind::SortBy, Type::List(element)) => vec![(**element).clone()],
            (MacroKind::OptMap | MacroKind::OptFlatMap | MacroKind::SortBy, range) if range.is_dyn() => vec![Type::Dyn],
            (MacroKind::OptMap | MacroKind::OptFlatMap | MacroKind::SortBy, range) => {
                return Err(self.no_overload("macro", std::slice::from_ref(range)));
            }
            (_, Type::List(element)) if parts.variables.len() == 1 => vec![(**element).clone()],
            (_, Type::List(element)) => vec![INT, (**element).clone()],
            (_, Type::Map(key, value)) => vec![(**key).clone(), (**value).clone()],
            (_, range) if range.is_dyn() || matches!(range, Type::Variable(_)) => vec![Type::Dyn, Type::Dyn],
            (_, range) => {
                return Err(format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                ));
            }
        };
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
                let key = self.bindings.resolve(&last);
                if !(key.is_dyn() || crate::lists::is_sortable(&key)) {
                    return Err(self.no_overload("sortBy", &[range, key]));
                }
                range
            }
            MacroKind::Map | MacroKind::TransformList => Type::list(last),
            MacroKind::TransformMap => match range {
                Type::Map(key, _) => Type::Map(key, Box::new(last)),
                Type::List(_) => Type::map(INT, last),
                _ => Type::map(Type::Dyn, last),
            },
            MacroKind::TransformMapEntry | MacroKind::OptFlatMap | MacroKind::Bind => last,
            MacroKind::OptMap => Type::optional(last),
        })
    }

    /// The type of an element of a literal; an optional one gives its inner type.
    fn element(&mut self, found: &Type, optional: bool) -> Result<Type, String> {
        if !optional {
            return Ok(found.clone());
        }
        let inner = self.bindings.fresh();
        self.expect(found, &Type::optional(inner.clone()))?;
        Ok(self.bindings.resolve(&inner))
    }

    /// The type of all elements of a literal, which must have one.
    fn common(&mut self, types: &[Type]) -> Result<Type, String> {
        let mut common: Option<Type> = None;
        for found in types {
            let found = self.bindings.resolve(found);
            let Some(known) = common else {
                common = Some(found);
                continue;
            };
            if self.mixed_lists > 0 {
                common = Some(if known.is_same(&found) { known.most_general(found) } else { Type::Dyn });
            } else if known.is_same(&found) && self.bindings.assign(&found, &known) {
                common = Some(self.bindings.resolve(&known).most_general(found));
            } else {
                return Err(format!("expected type '{known}' but found '{found}'"));
            }
        }
        Ok(common.unwrap_or_else(|| self.bindings.fresh()))
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

fn device_field(field: &str) -> Option<Type> {
    let by_domain = |of| Type::map(STRING, Type::map(STRING, of));
    Some(match field {
        "driver" => STRING,
        "allowMultipleAllocations" => BOOL,
        "attributes" => by_domain(Type::Any),
        "capacity" => by_domain(Type::Plain("kubernetes.Quantity")),
        _ => return None,
    })
}

/// A type of a signature with its variables replaced.
fn instance(of: &Type, variables: &[Type]) -> Type {
    match of {
        Type::Variable(number) => variables.get(*number).cloned().unwrap_or(Type::Dyn),
        Type::List(inner) => Type::list(instance(inner, variables)),
        Type::Optional(inner) => Type::optional(instance(inner, variables)),
        Type::Map(key, value) => Type::map(instance(key, variables), instance(value, variables)),
        other => other.clone(),
    }
}
