//! What an API server sends into what is kept: pages of lists, lines of watches.
//!
//! The bytes are read once, item by item: never more than one object exists beside what is kept. An object that does not
//! decode is set aside with its place and reason, and the rest goes on. Start at [`page`] and [`frame`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::change::{Compiled, Compiler, Identity};
use nodesift_object::Kind;
use nodesift_object::decode::{decode, without_position};

/// Why a page or a line as a whole cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no UTF-8, which JSON always is.
    #[error("not UTF-8 behind byte {0}")]
    NotUtf8(usize),
    /// A page is no list.
    #[error("not a list of objects: {0}")]
    NotAList(String),
    /// A line is no watch event.
    #[error("not a watch event: {0}")]
    NotAnEvent(String),
}

/// What a list says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `metadata.resourceVersion`: the list shows all objects as they were at this version.
    pub version: Arc<str>,
    /// `metadata.continue`: asks for the next page; none on the last one.
    pub next: Option<String>,
}

/// One page of a list.
#[derive(Debug, Default)]
pub struct Page {
    /// What the list says of itself.
    pub head: Head,
    /// The objects, compiled, in order.
    pub objects: Vec<Compiled>,
    /// The objects that could not be read.
    pub rejected: Vec<Rejected>,
}

/// An object that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Index in the page's items, from 0; 0 in a watch event.
    pub index: usize,
    /// `namespace/name` or the name, as far as it can be read.
    pub key: String,
    /// `metadata.uid`, as far as it can be read.
    pub uid: String,
    /// `metadata.resourceVersion`, as far as it can be read.
    pub version: String,
    /// Path of the field and what is wrong with it.
    pub reason: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "items[{}] ({:?}): {}", self.index, self.key, self.reason)
    }
}

/// One line of a watch.
#[derive(Debug)]
pub enum Frame {
    /// `ADDED` or `MODIFIED`.
    Applied(Box<Compiled>),
    /// `DELETED`; the version is that of the deletion.
    Gone(Identity),
    /// `BOOKMARK`: everything up to this version has been sent.
    Bookmark {
        /// `metadata.resourceVersion`.
        version: Arc<str>,
        /// Whether it ends the events that stand for a list.
        initial_events_end: bool,
    },
    /// `ERROR`: the watch is over.
    Error(Status),
    /// An object that could not be read.
    Rejected(Rejected),
}

/// A meta/v1 Status: what an API server says instead of what it was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The HTTP status, such as 410.
    pub code: u16,
    /// One word, for machines: `Expired`, `Gone`, `Timeout`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// What else is known.
    #[serde(deserialize_with = "null_is_default")]
    pub details: StatusDetails,
}

/// `details` of a [`Status`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatusDetails {
    /// After how many seconds to try again; 0 where it does not say.
    pub retry_after_seconds: u32,
    /// Causes, for machines.
    #[serde(deserialize_with = "null_is_default")]
    pub causes: Vec<StatusCause>,
}

/// One entry of `details.causes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// One word, for machines: `ResourceVersionTooLarge`.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// Reads a [`Status`]; none where the bytes are something else.
pub fn status(bytes: &[u8]) -> Option<Status> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        kind: Cow<'a, str>,
    }
    let envelope: Envelope<'_> = serde_json::from_slice(bytes).ok()?;
    if envelope.kind == "Status" { serde_json::from_slice(bytes).ok() } else { None }
}

/// Reads what a page says of itself, mostly without looking at its items: the next page can be asked for while this one
/// is decoded.
pub fn head(bytes: &[u8]) -> Result<Head, Error> {
    let mut head = None;
    let read = HeadOnly(&mut head).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    // Once the head is known the rest is left unread, which the parser takes for an error.
    match (head, read) {
        (Some(head), _) => Ok(head),
        (None, Ok(())) => Err(Error::NotAList("no metadata".to_owned())),
        (None, Err(error)) => Err(Error::NotAList(error.to_string())),
    }
}

/// Decodes and compiles one page of a list of objects of one kind.
pub fn page(kind: Kind, bytes: &[u8], compiler: &Compiler) -> Result<Page, Error> {
    let text = text(bytes)?;
    let mut page = Page::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let read = List { kind, compiler, page: &mut page }.deserialize(&mut json);
    match read.and_then(|()| json.end()) {
        Ok(()) => Ok(page),
        // Something in it is wrong: once more, one by one.
        Err(_) => page_one_by_one(kind, text, compiler),
    }
}

fn page_one_by_one(kind: Kind, text: &str, compiler: &Compiler) -> Result<Page, Error> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(default)]
        metadata: Option<ListMetadata>,
        #[serde(borrow, deserialize_with = "or_null")]
        items: Option<Vec<&'a RawValue>>,
    }
    // Unlike a plain option, the field must be there.
    fn or_null<'de: 'a, 'a, D: Deserializer<'de>>(json: D) -> Result<Option<Vec<&'a RawValue>>, D::Error> {
        Option::deserialize(json)
    }
    let list: List<'_> = serde_json::from_str(text).map_err(|error| Error::NotAList(error.to_string()))?;
    let mut page = Page { head: list.metadata.unwrap_or_default().into(), ..Page::default() };
    for (index, item) in list.items.unwrap_or_default().into_iter().enumerate() {
        match decode(kind, item.get()) {
            Ok(object) => page.objects.push(compiler.compile(&object)),
            Err(wrong) => page.rejected.push(rejected(index, item.get(), wrong.to_string())),
        }
    }
    Ok(page)
}

/// Decodes and compiles one line of a watch on objects of one kind.
pub fn frame(kind: Kind, line: &[u8], compiler: &Compiler) -> Result<Frame, Error> {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let wrong = |error: serde_json::Error| Error::NotAnEvent(error.to_string());
    let event: Event<'_> = serde_json::from_str(text(line)?).map_err(wrong)?;
    let json = event.object.get();
    Ok(match &*event.kind {
        "ADDED" | "MODIFIED" => match decode(kind, json) {
            Ok(object) => Frame::Applied(Box::new(compiler.compile(&object))),
            Err(wrong) => Frame::Rejected(rejected(0, json, wrong.to_string())),
        },
        // What else is wrong with an object does not matter once it is gone.
        "DELETED" => match serde_json::from_str::<Named>(json) {
            Ok(Named { metadata }) if !metadata.name.is_empty() => Frame::Gone(metadata.identity(kind)),
            Ok(_) => Frame::Rejected(rejected(0, json, "metadata.name: is empty".to_owned())),
            Err(error) => Frame::Rejected(rejected(0, json, without_position(&error))),
        },
        "BOOKMARK" => {
            let Named { metadata } = serde_json::from_str(json).map_err(wrong)?;
            let annotations = metadata.annotations.unwrap_or_default();
            let initial_events_end =
                annotations.get(INITIAL_EVENTS_END).is_some_and(|value| value.as_deref() == Some("true"));
            Frame::Bookmark { version: metadata.resource_version.into(), initial_events_end }
        }
        "ERROR" => Frame::Error(serde_json::from_str(json).map_err(wrong)?),
        other => return Err(Error::NotAnEvent(format!("unknown type {other:?}"))),
    })
}

/// The annotation of the bookmark that ends the events standing for a list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| Error::NotUtf8(error.valid_up_to()))
}

fn rejected(index: usize, json: &str, reason: String) -> Rejected {
    let Named { metadata } = serde_json::from_str(json).unwrap_or_default();
    let (key, uid, version) = (metadata.key(), metadata.uid, metadata.resource_version);
    Rejected { index, key, uid, version, reason }
}

/// The part of any object that tells it from others.
#[derive(Deserialize, Default)]
struct Named {
    #[serde(default, deserialize_with = "null_is_default")]
    metadata: Naming,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Naming {
    #[serde(deserialize_with = "null_is_default")]
    name: String,
    #[serde(deserialize_with = "null_is_default")]
    namespace: String,
    #[serde(deserialize_with = "null_is_default")]
    uid: String,
    #[serde(deserialize_with = "null_is_default")]
    resource_version: String,
    annotations: Option<std::collections::BTreeMap<String, Option<String>>>,
}

impl Naming {
    fn key(&self) -> String {
        if self.namespace.is_empty() { self.name.clone() } else { format!("{}/{}", self.namespace, self.name) }
    }

    fn identity(self, kind: Kind) -> Identity {
        let key: Arc<str> = self.key().into();
        let uid = if self.uid.is_empty() { Arc::clone(&key) } else { self.uid.into() };
        Identity { kind, key, uid, version: self.resource_version.into() }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    #[serde(deserialize_with = "null_is_default")]
    resource_version: String,
    #[serde(deserialize_with = "null_is_default")]
    r#continue: String,
}

impl From<ListMetadata> for Head {
    fn from(metadata: ListMetadata) -> Self {
        let next = Some(metadata.r#continue).filter(|next| !next.is_empty());
        Self { version: metadata.resource_version.into(), next }
    }
}

fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(json: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(json)?.unwrap_or_default())
}

/// The fields of a list.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ListField {
    Metadata,
    Items,
    #[serde(other)]
    Other,
}

/// Reads a list in place.
struct List<'a> {
    kind: Kind,
    compiler: &'a Compiler,
    page: &'a mut Page,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_items = false;
        while let Some(field) = map.next_key()? {
            match field {
                ListField::Metadata => {
                    self.page.head = map.next_value::<Option<ListMetadata>>()?.unwrap_or_default().into();
                }
                ListField::Items => {
                    has_items = true;
                    let objects = &mut self.page.objects;
                    map.next_value_seed(Items { kind: self.kind, compiler: self.compiler, objects })?;
                }
                ListField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if has_items { Ok(()) } else { Err(A::Error::missing_field("items")) }
    }
}

/// Reads the items of a list in place; `null` is an empty list, as Go writes it.
struct Items<'a> {
    kind: Kind,
    compiler: &'a Compiler,
    objects: &'a mut Vec<Compiled>,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(object) = items.next_element_seed(self.kind)? {
            self.objects.push(self.compiler.compile(&object));
        }
        Ok(())
    }
}

/// Reads no further than a list's metadata.
struct HeadOnly<'a>(&'a mut Option<Head>);

impl<'de> DeserializeSeed<'de> for HeadOnly<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeadOnly<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key()? {
            if let ListField::Metadata = field {
                *self.0 = Some(map.next_value::<Option<ListMetadata>>()?.unwrap_or_default().into());
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
