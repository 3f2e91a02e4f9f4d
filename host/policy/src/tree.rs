//! A YAML or JSON document as a tree of values that know their place, and readers of its fields that report what is wrong
//! with each and go on. Start at [`parse`], then [`Reader`].

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, MessageFormatter, Spanned, UserMessageFormatter};

use crate::problem::Problem;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value itself, without its position.
    pub value: T,
    /// The file, where the document is in several.
    pub file: Option<Arc<str>>,
    /// Line in the file, from 1; 0 where the place is unknown.
    pub line: u64,
    /// Column in the line, from 1; 0 where the place is unknown.
    pub column: u64,
}

impl<T> At<T> {
    /// Another value at the same place.
    #[must_use]
    pub fn with<U>(&self, value: U) -> At<U> {
        At { value, file: self.file.clone(), line: self.line, column: self.column }
    }
}

impl<T> At<T> {
    /// For a message about what is there twice, where this is the first.
    pub fn first_place(&self) -> String {
        match &self.file {
            Some(file) => format!(", first at {file}:{}:{}", self.line, self.column),
            None if self.line > 0 => format!(", first on line {}", self.line),
            None => String::new(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<T>::deserialize(deserializer)?;
        let (line, column) = (spanned.referenced.line(), spanned.referenced.column());
        Ok(Self { value: spanned.value, file: None, line, column })
    }
}

/// A value of the document.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// No value: `null`, or nothing behind the key.
    Null,
    /// Boolean: true or false.
    Bool(bool),
    /// Number, an integer or a float.
    Number(Number),
    /// String, quoted or plain.
    Text(String),
    /// Items of a list, in order.
    List(Vec<At<Tree>>),
    /// Fields of a map as written: a key may be there twice.
    Map(Vec<(At<String>, At<Tree>)>),
}

impl At<Tree> {
    /// Nothing in it has a place any more.
    pub fn forget_places(&mut self) {
        (self.line, self.column) = (0, 0);
        match &mut self.value {
            Tree::List(items) => items.iter_mut().for_each(Self::forget_places),
            Tree::Map(fields) => fields.iter_mut().for_each(|(key, value)| {
                (key.line, key.column) = (0, 0);
                value.forget_places();
            }),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {}
        }
    }
}

impl At<Tree> {
    /// All of it is in this file.
    pub fn set_file(&mut self, file: &Arc<str>) {
        self.file = Some(Arc::clone(file));
        match &mut self.value {
            Tree::List(items) => items.iter_mut().for_each(|item| item.set_file(file)),
            Tree::Map(fields) => fields.iter_mut().for_each(|(key, value)| {
                key.file = Some(Arc::clone(file));
                value.set_file(file);
            }),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {}
        }
    }
}

impl Tree {
    /// Name of the value's type in messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(field) = fields.next_entry()? {
            map.push(field);
        }
        Ok(Tree::Map(map))
    }
}

/// Parses a document.
///
/// # Errors
///
/// What keeps the text from being one.
pub fn parse(text: &str) -> Result<At<Tree>, Problem> {
    // The parser gives repeated keys as they are, so that all of them can be reported.
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location();
        let reason = UserMessageFormatter.format_message(&error).into_owned();
        let (line, column) = at.map_or((0, 0), |at| (at.line(), at.column()));
        Problem { file: None, line, column, field: String::new(), reason }
    })
}

/// The fields of a map, by name.
#[derive(Debug)]
pub struct Fields<'t> {
    fields: &'t [(At<String>, At<Tree>)],
    path: String,
}

impl<'t> Fields<'t> {
    /// A field and its path. A field without a value is one that is not there.
    pub fn get(&self, name: &str) -> (Option<&'t At<Tree>>, String) {
        let found = self.fields.iter().find(|(key, _)| key.value == name).map(|(_, value)| value);
        (found.filter(|found| found.value != Tree::Null), below(&self.path, name))
    }
}

/// The path of a field of a map.
pub fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A key of a map, and its value with its path.
pub type Entry<'t> = (&'t At<String>, (Option<&'t At<Tree>>, String));

/// A value and its path.
pub type Item<'t> = (&'t At<Tree>, String);

/// Reads values and collects what is wrong with them.
#[derive(Debug, Default)]
pub struct Reader {
    /// In the order in which they were found.
    pub problems: Vec<Problem>,
}

impl Reader {
    /// Adds a problem of the field with this path, which stands there.
    pub fn refuse<T>(&mut self, at: &At<T>, field: &str, reason: impl Into<String>) {
        let (file, field, reason) = (at.file.clone(), field.to_owned(), reason.into());
        let problem = Problem { file, line: at.line, column: at.column, field, reason };
        self.problems.push(problem);
    }

    fn expected<T>(&mut self, what: &str, found: &At<Tree>, path: &str) -> Option<T> {
        let hint = match found.value {
            Tree::Bool(_) | Tree::Number(_) if what == "a text" => ": quote it",
            _ => "",
        };
        self.refuse(found, path, format!("expected {what}, found {}{hint}", found.value.kind()));
        None
    }

    /// The fields of a map. Any that is not known and any that is there twice is a problem.
    pub fn fields<'t>(&mut self, map: &'t At<Tree>, path: &str, known: &[&str]) -> Option<Fields<'t>> {
        let Tree::Map(fields) = &map.value else { return self.expected("a map", map, path) };
        self.refuse_repeats(fields, path);
        for (key, _) in fields.iter().filter(|(key, _)| !known.contains(&key.value.as_str())) {
            let reason = format!("unknown field; expected one of {}", known.join(", "));
            self.refuse(key, &below(path, &key.value), reason);
        }
        Some(Fields { fields, path: path.to_owned() })
    }

    /// The entries of a map with any keys, in the order in which they are written. A key that is there twice is a problem.
    pub fn entries<'t>(&mut self, (value, path): (Option<&'t At<Tree>>, String)) -> Option<At<Vec<Entry<'t>>>> {
        let value = value?;
        let Tree::Map(fields) = &value.value else { return self.expected("a map", value, &path) };
        self.refuse_repeats(fields, &path);
        Some(value.with(fields.iter().map(|(key, value)| (key, (Some(value), below(&path, &key.value)))).collect()))
    }

    fn refuse_repeats(&mut self, fields: &[(At<String>, At<Tree>)], path: &str) {
        for (at, (key, _)) in fields.iter().enumerate() {
            let before = fields.iter().take(at).find(|(earlier, _)| earlier.value == key.value);
            if let Some((first, _)) = before {
                self.refuse(key, &below(path, &key.value), format!("is there twice{}", first.first_place()));
            }
        }
    }

    /// Reads a field as a string; any other type is a problem.
    pub fn text(&mut self, (value, path): (Option<&At<Tree>>, String)) -> Option<At<String>> {
        let value = value?;
        match &value.value {
            Tree::Text(text) => Some(value.with(text.clone())),
            _ => self.expected("a text", value, &path),
        }
    }

    /// Reads a field as a boolean; any other type is a problem.
    pub fn flag(&mut self, (value, path): (Option<&At<Tree>>, String)) -> Option<At<bool>> {
        let value = value?;
        match value.value {
            Tree::Bool(flag) => Some(value.with(flag)),
            _ => self.expected("true or false", value, &path),
        }
    }

    /// The items of a list, each with its path.
    pub fn list<'t>(&mut self, (value, path): (Option<&'t At<Tree>>, String)) -> Option<At<Vec<Item<'t>>>> {
        let value = value?;
        let Tree::List(items) = &value.value else { return self.expected("a list", value, &path) };
        let item = |(index, item)| (item, format!("{path}[{index}]"));
        Some(value.with(items.iter().enumerate().map(item).collect()))
    }

    /// A list of texts. One that is none leaves its place empty, so that the others keep theirs.
    pub fn texts(&mut self, field: (Option<&At<Tree>>, String)) -> Option<At<Vec<Option<At<String>>>>> {
        let list = self.list(field)?;
        let texts = list.value.iter().map(|(item, path)| self.text((Some(item), path.clone()))).collect();
        Some(list.with(texts))
    }

    /// Any value, as JSON.
    pub fn value(&mut self, (value, path): (Option<&At<Tree>>, String)) -> Option<At<Value>> {
        let value = value?;
        Some(value.with(self.json(&value.value, &path)))
    }

    fn json(&mut self, tree: &Tree, path: &str) -> Value {
        match tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number(number) => Value::Number(number.clone()),
            Tree::Text(text) => Value::String(text.clone()),
            Tree::List(items) => {
                let item = |(index, item): (usize, &At<Tree>)| self.json(&item.value, &format!("{path}[{index}]"));
                Value::Array(items.iter().enumerate().map(item).collect())
            }
            Tree::Map(fields) => {
                self.refuse_repeats(fields, path);
                let field = |(key, value): &(At<String>, At<Tree>)| {
                    (key.value.clone(), self.json(&value.value, &below(path, &key.value)))
                };
                Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
            }
        }
    }
}
