//! The text of one file into objects, as a stream: a sequence of JSON values, or YAML documents. No more than one object is
//! held at a time. The items of lists are objects of the file. Start at [`Parser`].
//!
//! Both formats take one path: [`Document`] visits a document field by field and `items` item by item. What it reads whole is
//! the text of one object, which is then decoded.

use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use serde_saphyr::UserMessageFormatter;

use super::envelope::{Envelope, LIST, ListHeader, Metadata, Origin};
use super::yaml::Documents;
use crate::limits::{CLUSTER_FILE_BYTES, NESTED_LISTS, YAML_NODES};
use nodesift_object::decode::{self, Undecodable, without_position};
use nodesift_object::defaults::{self, Defaulted};
use nodesift_object::{Kind, Object};

/// Something found in a file.
pub(super) enum Found<'a> {
    /// An object of a kind that the cache keeps.
    Item(Box<Item<'a>>),
    /// An object of another kind, by what messages call its kind.
    Skipped(String),
    /// A list without items.
    EmptyList,
    /// A list has ended. It may be one of the pages in which a server gives it.
    Page {
        /// Its kind, as it is written.
        kind: String,
        /// Whether it says that another page follows.
        goes_on: bool,
    },
    /// An item that is given later: its list has yet to say what it is.
    Waiting,
}

/// An object with its place in the file and its JSON text.
pub(super) struct Item<'a> {
    pub(super) object: Object,
    pub(super) place: Place,
    pub(super) json: &'a str,
    /// Fields that an API server would have filled in.
    pub(super) lacks: Vec<Defaulted>,
    /// Whether that has been filled in, in the object and its text.
    pub(super) is_filled: bool,
    /// Whether neither it nor its list has an `apiVersion`, so that its kind alone says what it is.
    pub(super) is_unversioned: bool,
}

/// Where in a file an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the JSON value or YAML document, from 1.
    pub(super) document: u32,
    /// Index in the list's `items`, from 0; `None` outside a list.
    pub(super) index: Option<u32>,
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

/// Error in the content of a file, with its place.
#[derive(Debug, thiserror::Error)]
pub enum ItemError {
    /// The text is not JSON.
    #[error("line {line}, column {column}: not JSON: {reason}")]
    Json {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
        /// Error message of the JSON parser.
        reason: String,
    },
    /// The text is not YAML.
    #[error("{position}not YAML: {reason}")]
    Yaml {
        /// Line and column as text that ends with `: `; empty where unknown.
        position: String,
        /// Error message of the YAML parser.
        reason: String,
    },
    /// A value is not a Kubernetes object.
    #[error("{place}: {reason}")]
    NotAnObject {
        /// Place of the value in the file.
        place: Place,
        /// Reason why the value is no Kubernetes object.
        reason: String,
    },
    /// A field of an object has an invalid value.
    #[error("{place} ({kind} {name:?}): {field}: {reason}")]
    Field {
        /// Place of the object in the file.
        place: Place,
        /// Kind of the object, as written.
        kind: String,
        /// The object's name, as far as it can be read.
        name: String,
        /// Path of the field.
        field: String,
        /// Reason why the value is invalid.
        reason: String,
    },
}

/// Why a file was not read to its end.
pub(super) enum Stopped {
    /// Something in it is wrong.
    Wrong(Box<ItemError>),
    /// `found` has stopped it, or the file cannot be read further.
    Elsewhere,
}

/// Finds the objects of a file and gives each to `found`, which may stop it.
pub(super) struct Parser<'p> {
    found: &'p mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    /// Number of the current document, from 1.
    document: u32,
    /// Why the visitor of the current document has stopped.
    stopped: Option<Stopped>,
}

impl<'p> Parser<'p> {
    /// A parser at the start of a file.
    pub(super) fn new(found: &'p mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> Self {
        Self { found, document: 0, stopped: None }
    }

    /// Reads JSON values to the end of the text.
    ///
    /// # Errors
    ///
    /// The first problem, with its place.
    pub(super) fn json(mut self, text: impl BufRead) -> Result<(), Stopped> {
        let mut values = serde_json::Deserializer::from_reader(text);
        while values.end().is_err() {
            self.document += 1;
            let document = Document::<Box<RawValue>> { parser: &mut self, text: PhantomData };
            if let Err(error) = document.deserialize(&mut values) {
                return Err(self.stopped.take().unwrap_or_else(|| self.json_error(&error)));
            }
        }
        Ok(())
    }

    fn json_error(&self, error: &serde_json::Error) -> Stopped {
        let reason = without_position(error);
        Stopped::Wrong(Box::new(match error.classify() {
            serde_json::error::Category::Io => return Stopped::Elsewhere,
            serde_json::error::Category::Data => {
                ItemError::NotAnObject { place: Place { document: self.document, index: None }, reason }
            }
            _ => ItemError::Json { line: error.line(), column: error.column(), reason },
        }))
    }

    /// Reads YAML documents to the end of the text.
    ///
    /// # Errors
    ///
    /// The first problem, with its place.
    pub(super) fn yaml(mut self, text: impl BufRead) -> Result<(), Stopped> {
        let mut documents = Documents::new(text);
        while documents.begin_next().map_err(|_| Stopped::Elsewhere)? {
            self.document += 1;
            let options = serde_saphyr::options! {
                with_snippet: false,
                budget: serde_saphyr::budget! {
                    max_reader_input_bytes: None,
                    max_nodes: YAML_NODES,
                    max_events: YAML_NODES * 2,
                    max_total_scalar_bytes: usize::try_from(CLUSTER_FILE_BYTES).unwrap_or(usize::MAX),
                },
            };
            let read =
                serde_saphyr::with_deserializer_from_reader_with_options(&mut documents, options, |deserializer| {
                    Document::<Value> { parser: &mut self, text: PhantomData }.deserialize(deserializer)
                });
            if let Err(error) = read {
                return Err(self.stopped.take().unwrap_or_else(|| self.yaml_error(&error, documents.lines_before())));
            }
        }
        Ok(())
    }

    fn yaml_error(&self, error: &serde_saphyr::Error, lines_before: u64) -> Stopped {
        let reason = error.render_with_formatter(&UserMessageFormatter);
        let at = error.location().filter(|at| at.line() > 0);
        // The location counts from the start of the document.
        let reason = match reason.rsplit_once(" at line ") {
            Some((words, _)) if at.is_some() => words.to_owned(),
            _ => reason,
        };
        let position =
            at.map_or(String::new(), |at| format!("line {}, column {}: ", lines_before + at.line(), at.column()));
        Stopped::Wrong(Box::new(ItemError::Yaml { position, reason }))
    }

    fn place(&self, index: Option<u32>) -> Place {
        Place { document: self.document, index }
    }

    fn give(&mut self, found: Found<'_>) -> Result<(), Stopped> {
        match (self.found)(found) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped::Elsewhere),
        }
    }

    /// Gives one object to `found`. Items of a typed list, such as a PodList, may omit kind and version.
    fn object(&mut self, json: &str, index: Option<u32>, list: &ListHeader) -> Result<(), Stopped> {
        self.object_within(json, index, list, 0)
    }

    /// Gives one object to `found` as [`Self::object`] does, within `depth` lists inside lists.
    fn object_within(
        &mut self,
        json: &str,
        index: Option<u32>,
        list: &ListHeader,
        depth: usize,
    ) -> Result<(), Stopped> {
        let place = self.place(index);
        let not_an_object = |reason: String| Stopped::Wrong(Box::new(ItemError::NotAnObject { place, reason }));
        let envelope = Envelope::parse(json).map_err(not_an_object)?;
        let list_item = list.item_kind().filter(|kind| !kind.is_empty());
        let list_version = list_item.and(list.api_version.as_deref());
        let api_version = envelope.api_version.as_deref().or(list_version).unwrap_or_default();
        let kind = envelope.kind.as_deref().or(list_item).unwrap_or_default();
        if kind.is_empty() {
            return Err(not_an_object("no `kind`: this is not a Kubernetes object".to_owned()));
        }
        if envelope.items.is_some() && kind.ends_with(LIST) {
            if depth >= NESTED_LISTS {
                return Err(not_an_object(format!("lists inside lists, more than {NESTED_LISTS} deep")));
            }
            // As `jq -s` makes them of several outputs of kubectl.
            let header = ListHeader { api_version: Some(api_version.to_owned()), kind: Some(kind.to_owned()) };
            let inner: Inner<'_> =
                serde_json::from_str(json).map_err(|error| not_an_object(without_position(&error)))?;
            let goes_on = envelope.metadata.as_ref().is_some_and(Metadata::goes_on);
            self.give(Found::Page { kind: kind.to_owned(), goes_on })?;
            let items = inner.items.unwrap_or_default();
            if items.is_empty() {
                return self.give(Found::EmptyList);
            }
            return items.into_iter().try_for_each(|item| self.object_within(item.get(), index, &header, depth + 1));
        }
        if kind == "Status" && matches!(api_version, "v1" | "meta.k8s.io/v1" | "") {
            let message = envelope.message.as_deref().unwrap_or("without a message");
            return Err(not_an_object(format!("a Status and no object: what wrote it has failed: {message}")));
        }
        // Every kind that the cache keeps has a name of its own among those of Kubernetes.
        let is_unversioned = api_version.is_empty();
        let named = Kind::ALL.into_iter().find(|known| known.name() == kind);
        let known = if is_unversioned { named } else { Kind::from_type_meta(api_version, kind) };
        let Some(known) = known else {
            // Something else has the name of a kind that is kept: only the version tells the two apart.
            let kind = if named.is_some() { format!("{kind} of {api_version}") } else { kind.to_owned() };
            return self.give(Found::Skipped(kind));
        };
        let name = || envelope.metadata.as_ref().and_then(|metadata| metadata.name.clone()).unwrap_or_default();
        let origin = Origin::from_metadata(envelope.metadata.as_ref());
        let lacking = if origin == Origin::Server { None } else { defaults::fill(known, json) };
        // What a node has left is its kubelet's to say, which is no author of manifests.
        let is_filled = origin == Origin::Manifest && known != Kind::Node;
        let (json, lacks) = match &lacking {
            Some((full, lacks)) if is_filled => (full.as_str(), lacks.clone()),
            Some((_, lacks)) => (json, lacks.clone()),
            None => (json, Vec::new()),
        };
        let object = decode::decode(known, json).map_err(|wrong| {
            let (kind, name) = (kind.to_owned(), name());
            let Undecodable { field, reason } = wrong;
            Stopped::Wrong(Box::new(ItemError::Field { place, kind, name, field, reason }))
        })?;
        self.give(Found::Item(Box::new(Item { object, place, json, lacks, is_filled, is_unversioned })))
    }
}

/// The items of a list inside a list.
#[derive(Deserialize)]
struct Inner<'a> {
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// A value that was read whole, as JSON text.
trait Text: DeserializeOwned {
    fn json(&self) -> Cow<'_, str>;
}

impl Text for Box<RawValue> {
    fn json(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.get())
    }
}

impl Text for Value {
    fn json(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

/// Visits one document: an object, a list of objects as Kubernetes writes it, or an array of objects. Values are read as `T`.
struct Document<'a, 'p, T> {
    parser: &'a mut Parser<'p>,
    text: PhantomData<T>,
}

impl<'de, T: Text> DeserializeSeed<'de> for Document<'_, '_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T> Document<'_, '_, T> {
    /// The error that ends the visit; the parser has the reason.
    fn stop<E: de::Error>(self, stopped: Stopped) -> E {
        self.parser.stopped = Some(stopped);
        E::custom("stopped")
    }

    /// Ends the visit as [`Self::stop`] does, since the document is not an object.
    fn refuse<E: de::Error>(self, reason: String) -> E {
        let place = self.parser.place(None);
        self.stop(Stopped::Wrong(Box::new(ItemError::NotAnObject { place, reason })))
    }

    fn scalar<E: de::Error>(self, value: Unexpected<'_>) -> Result<(), E> {
        Err(self.refuse(format!("invalid type: {value}, expected a Kubernetes object")))
    }
}

impl<'de, T: Text> Visitor<'de> for Document<'_, '_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    /// Accepts an empty document, such as `null`.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.scalar(Unexpected::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.scalar(Unexpected::Signed(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.scalar(Unexpected::Unsigned(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.scalar(Unexpected::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.scalar(Unexpected::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        let mut waiting = Vec::new();
        // Nothing that follows could say more about the items of an array.
        let list = ListHeader { api_version: Some(String::new()), kind: Some(String::new()) };
        let parser = &mut *self.parser;
        let given = Items::<T> { parser, list: &list, waiting: &mut waiting, text: PhantomData }.visit_seq(items)?;
        let outcome = if given == 0 { self.parser.give(Found::EmptyList) } else { Ok(()) };
        outcome.map_err(|stopped| self.stop(stopped))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut fields: Vec<(String, T)> = Vec::new();
        let mut list = ListHeader::default();
        // Items that the list has to say more about, and how many were given.
        let (mut waiting, mut given) = (Vec::new(), None);
        while let Some(key) = map.next_key::<String>()? {
            let may_be_list = list.kind.is_none() || list.item_kind().is_some();
            if key == "items" && given.is_some() {
                let reason = "`items` is there twice".to_owned();
                return Err(self.refuse(reason));
            }
            if key == "items" && may_be_list {
                let parser = &mut *self.parser;
                let items = Items::<T> { parser, list: &list, waiting: &mut waiting, text: PhantomData };
                given = Some(map.next_value_seed(items)?);
                continue;
            }
            let value: T = map.next_value()?;
            let text = || serde_json::from_str(&value.json()).ok();
            match key.as_str() {
                "apiVersion" => list.api_version = text(),
                "kind" => list.kind = text(),
                _ => {}
            }
            fields.push((key, value));
        }
        let outcome = match given {
            Some(given) if list.item_kind().is_some() || given > 0 => {
                let metadata = fields.iter().find(|(key, _)| key == "metadata");
                let goes_on = metadata.is_some_and(|(_, metadata)| {
                    serde_json::from_str::<Metadata>(&metadata.json()).is_ok_and(|metadata| metadata.goes_on())
                });
                let kind = list.kind.clone().unwrap_or_default();
                let page = self.parser.give(Found::Page { kind, goes_on });
                page.and_then(|()| self.end_of_list(&list, waiting, given))
            }
            _ => {
                drop(waiting);
                let json = joined(&fields);
                drop(fields);
                self.parser.object(&json, None, &ListHeader::default())
            }
        };
        outcome.map_err(|stopped| self.stop(stopped))
    }
}

impl<T> Document<'_, '_, T> {
    /// Gives the items that had to wait, now that the list's own fields are known.
    fn end_of_list(&mut self, list: &ListHeader, waiting: Vec<(u32, String)>, given: u32) -> Result<(), Stopped> {
        if list.item_kind().is_none() {
            let place = self.parser.place(None);
            let reason = match list.kind.as_deref() {
                None | Some("") => "no `kind`: this is not a Kubernetes object".to_owned(),
                Some(kind) => format!("`items` in a {kind}: only a list has items"),
            };
            return Err(Stopped::Wrong(Box::new(ItemError::NotAnObject { place, reason })));
        }
        if given == 0 && waiting.is_empty() {
            return self.parser.give(Found::EmptyList);
        }
        waiting.into_iter().try_for_each(|(index, json)| self.parser.object(&json, Some(index), list))
    }
}

/// The text of an object with these fields.
fn joined<T: Text>(fields: &[(String, T)]) -> String {
    let mut json = String::from("{");
    for (at, (key, value)) in fields.iter().enumerate() {
        json.push_str(if at == 0 { "" } else { "," });
        json.push_str(&Value::from(key.as_str()).to_string());
        json.push(':');
        json.push_str(&value.json());
    }
    json.push('}');
    json
}

/// Visits the items of a list. The number of those that were given to `found` is the result.
struct Items<'a, 'p, T> {
    parser: &'a mut Parser<'p>,
    list: &'a ListHeader,
    /// Items with their index whose kind or version the list may still say: its own fields may follow its items.
    waiting: &'a mut Vec<(u32, String)>,
    text: PhantomData<T>,
}

impl<'de, T: Text> DeserializeSeed<'de> for Items<'_, '_, T> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Text> Visitor<'de> for Items<'_, '_, T> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of items")
    }

    /// Go writes a list without items as `null`.
    fn visit_unit<E>(self) -> Result<u32, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u32, A::Error> {
        let (mut given, mut index) = (0, 0);
        while let Some(item) = items.next_element::<T>()? {
            let json = item.json();
            let must_wait = !self.list.is_complete() && !Envelope::parse(&json).is_ok_and(|item| item.is_complete());
            let outcome = if must_wait {
                self.waiting.push((index, json.into_owned()));
                self.parser.give(Found::Waiting)
            } else {
                given += 1;
                self.parser.object(&json, Some(index), self.list)
            };
            if let Err(stopped) = outcome {
                self.parser.stopped = Some(stopped);
                return Err(de::Error::custom("stopped"));
            }
            index += 1;
        }
        Ok(given)
    }
}
