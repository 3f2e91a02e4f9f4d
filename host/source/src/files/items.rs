//! The text of one file into objects: a sequence of JSON values, or YAML documents. The items of lists are objects of the
//! file. Start at [`parse`].

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{YAML_DOCUMENTS, YAML_NODES, YAML_SCALAR_BYTES};
use nodesift_object::decode::{self, without_position};
use nodesift_object::{Kind, Object};

/// Something found in a file.
pub(super) enum Found<'a> {
    /// An object of a kind that the cache keeps.
    Item(Box<Item<'a>>),
    /// An object of another kind, by name.
    Skipped(String),
    /// A list without items.
    EmptyList,
}

/// An object with its place in the file and its JSON text.
pub(super) struct Item<'a> {
    pub(super) object: Object,
    pub(super) place: Place,
    pub(super) json: &'a str,
}

/// Where in a file an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Number of the JSON value or YAML document, from 1.
    document: usize,
    /// Index in the list's `items`, from 0; `None` outside a list.
    index: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.document, self.index) {
            (1, Some(index)) => write!(f, "items[{index}]"),
            (document, Some(index)) => write!(f, "document {document}, items[{index}]"),
            (document, None) => write!(f, "document {document}"),
        }
    }
}

/// What is wrong in a file.
#[derive(Debug, thiserror::Error)]
pub enum ItemError {
    /// The text is not JSON.
    #[error("line {line}, column {column}: not JSON: {reason}")]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser reports.
        reason: String,
    },
    /// The text is not YAML.
    #[error("{position}not YAML: {reason}")]
    Yaml {
        /// Line and column as text that ends with `: `; empty where unknown.
        position: String,
        /// What the parser reports.
        reason: String,
    },
    /// A value is not a Kubernetes object.
    #[error("{place}: {reason}")]
    NotAnObject {
        /// Its place.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// A field of an object has an invalid value.
    #[error("{place} ({kind} {name:?}): {field}: {reason}")]
    Field {
        /// Its place.
        place: Place,
        /// The object's kind.
        kind: String,
        /// The object's name, as far as it can be read.
        name: String,
        /// Path of the field.
        field: String,
        /// What is wrong.
        reason: String,
    },
}

/// Finds the objects of a file and gives each to `found`.
///
/// # Errors
///
/// The first problem, with its place.
pub(super) fn parse(bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) -> Result<(), ItemError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = position(bytes.get(..error.valid_up_to()).unwrap_or_default());
        ItemError::Json { line, column, reason: "the text is not UTF-8".to_owned() }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().chars().next() {
        None => Ok(()),
        Some('{' | '[') => parse_json(text, found),
        Some(_) => parse_yaml(text, found),
    }
}

fn parse_json(text: &str, found: &mut dyn FnMut(Found<'_>)) -> Result<(), ItemError> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    for (index, value) in values.enumerate() {
        let value = value.map_err(|error| ItemError::Json {
            line: error.line(),
            column: error.column(),
            reason: without_position(&error),
        })?;
        open(value.get(), Place { document: index + 1, index: None }, None, found)?;
    }
    Ok(())
}

fn parse_yaml(text: &str, found: &mut dyn FnMut(Found<'_>)) -> Result<(), ItemError> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_documents: YAML_DOCUMENTS,
            max_nodes: YAML_NODES,
            max_events: YAML_NODES * 2,
            max_total_scalar_bytes: YAML_SCALAR_BYTES,
        },
    };
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_str_multiple_with_options(text, options).map_err(|error| {
            let position = error.location().filter(|at| at.line() > 0);
            ItemError::Yaml {
                position: position.map_or(String::new(), |at| format!("line {}, column {}: ", at.line(), at.column())),
                reason: error.to_string(),
            }
        })?;
    for (index, document) in documents.into_iter().enumerate() {
        if !document.is_null() {
            open(&document.to_string(), Place { document: index + 1, index: None }, None, found)?;
        }
    }
    Ok(())
}

/// The fields that every object and list has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(default, borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    items: Option<&'a RawValue>,
    #[serde(default)]
    metadata: Option<Name>,
}

#[derive(Deserialize, Default)]
struct Name {
    #[serde(default)]
    name: Option<String>,
}

/// Gives one value to `found`, or each item of a list. Items of a typed list, such as a PodList, may omit their kind.
fn open(
    json: &str,
    place: Place,
    list_kind: Option<(&str, &str)>,
    found: &mut dyn FnMut(Found<'_>),
) -> Result<(), ItemError> {
    if json.trim_start().starts_with('[') {
        return each(json, &place, list_kind, found);
    }
    let envelope: Envelope<'_> = serde_json::from_str(json)
        .map_err(|error| ItemError::NotAnObject { place: place.clone(), reason: without_position(&error) })?;
    let (list_version, list_item) = list_kind.unwrap_or(("", ""));
    let api_version = envelope.api_version.as_deref().unwrap_or(list_version);
    let kind = envelope.kind.as_deref().unwrap_or(list_item);
    if kind.is_empty() {
        let reason = "no `kind`: this is not a Kubernetes object".to_owned();
        return Err(ItemError::NotAnObject { place, reason });
    }
    if let (Some(items), Some(item_kind)) = (envelope.items, kind.strip_suffix("List")) {
        return each(items.get(), &place, Some((api_version, item_kind)), found);
    }
    let Some(known) = Kind::of(api_version, kind) else {
        found(Found::Skipped(kind.to_owned()));
        return Ok(());
    };
    let name = || envelope.metadata.as_ref().and_then(|metadata| metadata.name.clone()).unwrap_or_default();
    let object = decode::decode(known, json).map_err(|wrong| ItemError::Field {
        place: place.clone(),
        kind: kind.to_owned(),
        name: name(),
        field: wrong.field,
        reason: wrong.reason,
    })?;
    found(Found::Item(Box::new(Item { object, place, json })));
    Ok(())
}

fn each(
    items: &str,
    place: &Place,
    list_kind: Option<(&str, &str)>,
    found: &mut dyn FnMut(Found<'_>),
) -> Result<(), ItemError> {
    if place.index.is_some() {
        let reason = "a list inside a list".to_owned();
        return Err(ItemError::NotAnObject { place: place.clone(), reason });
    }
    let items: Option<Vec<&RawValue>> = serde_json::from_str(items)
        .map_err(|error| ItemError::NotAnObject { place: place.clone(), reason: format!("items: {error}") })?;
    let items = items.unwrap_or_default();
    if items.is_empty() {
        found(Found::EmptyList);
    }
    for (index, item) in items.into_iter().enumerate() {
        open(item.get(), Place { index: Some(index), ..place.clone() }, list_kind, found)?;
    }
    Ok(())
}

/// Line and column after some bytes, both from 1.
fn position(before: &[u8]) -> (usize, usize) {
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    (line, column)
}
