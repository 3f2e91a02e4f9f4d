//! From an API server's bytes to compiled objects: pages of lists, events of watches. Pure, and for any thread.
//!
//! Nothing is decoded into a tree of values: a page or an event is cut into the texts of its objects, and each text is
//! decoded into what is kept of it. Start at [`Page::open`] and [`events`].

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failure::{Failure, plain};
use super::kinds::Resource;
use crate::object::Kind;
use crate::object::pod::DEFAULT_NAMESPACE;
use crate::source::change::{self, Compiled, Identity, Record};
use crate::source::items;

/// What objects are decoded and compiled for.
#[derive(Debug, Clone)]
pub(super) struct Compiler {
    /// The kind of all of them.
    pub kind: Kind,
    /// The schedulers of the policy: the pods of any other are foreign.
    pub own_schedulers: Arc<[String]>,
}

/// An object that cannot be read. It is kept out: what was known of it stays until it can be read again or is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// Which object, if at least that can be read.
    pub identity: Option<Identity>,
    /// The field and what is wrong with it.
    pub reason: String,
}

impl Compiler {
    /// Decodes and compiles one object.
    fn compile(&self, json: &str) -> Result<Compiled, Unreadable> {
        match items::object(self.kind, json) {
            Ok(object) => Ok(change::compile(&object, &self.own_schedulers)),
            Err(error) => Err(Unreadable { identity: self.identity(json), reason: plain(&error.to_string()) }),
        }
    }

    /// Which object a text is, whatever the rest of it looks like.
    fn identity(&self, json: &str) -> Option<Identity> {
        let Outline { metadata } = serde_json::from_str(json).ok()?;
        let name = metadata.name.filter(|name| !name.is_empty())?;
        let key: Arc<str> = if Resource::of(self.kind).namespaced {
            let namespace = metadata.namespace.filter(|namespace| !namespace.is_empty());
            format!("{}/{name}", namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)).into()
        } else {
            name.into()
        };
        let uid = metadata.uid.filter(|uid| !uid.is_empty()).map_or_else(|| Arc::clone(&key), |uid| Arc::from(&*uid));
        let version = Arc::from(metadata.resource_version.as_deref().unwrap_or_default());
        Some(Identity { kind: self.kind, key, uid, version })
    }
}

/// What every object has, and all that is read of a bookmark and of an object that is gone.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    metadata: OutlineMetadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutlineMetadata<'a> {
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    uid: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    resource_version: Option<Cow<'a, str>>,
}

/// A page of a list, opened but not decoded.
#[derive(Debug)]
pub(super) struct Page {
    /// `metadata.resourceVersion` of the list.
    pub version: Arc<str>,
    /// `metadata.continue`; none on the last page.
    pub next: Option<Arc<str>>,
    text: String,
    items: Vec<Range<usize>>,
}

/// The objects of a page.
#[derive(Debug, Default)]
pub(super) struct PageObjects {
    /// Those that can be read, in order.
    pub compiled: Vec<Compiled>,
    /// The others.
    pub unreadable: Vec<Unreadable>,
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: ListMetadata,
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

impl Page {
    /// Finds the objects of a page, and what comes after it.
    pub(super) fn open(body: Bytes) -> Result<Self, Failure> {
        let text = String::from_utf8(body.into())
            .map_err(|error| Failure::Malformed(format!("a list that is no UTF-8: {error}")))?;
        let list: List<'_> = serde_json::from_str(&text)
            .map_err(|error| Failure::Malformed(format!("no list: {}", plain(&error.to_string()))))?;
        let start = text.as_ptr() as usize;
        let range = |item: &RawValue| {
            let from = item.get().as_ptr() as usize - start;
            from..from + item.get().len()
        };
        let items = list.items.unwrap_or_default().into_iter().map(range).collect();
        let ListMetadata { resource_version, next } = list.metadata;
        let next = next.filter(|next| !next.is_empty()).map(Arc::from);
        Ok(Self { version: Arc::from(resource_version.unwrap_or_default()), next, items, text })
    }

    /// Decodes and compiles the objects; those that cannot be read are told apart.
    pub(super) fn decode(&self, compiler: &Compiler) -> PageObjects {
        let mut objects = PageObjects::default();
        for item in self.items.iter().filter_map(|range| self.text.get(range.clone())) {
            match compiler.compile(item) {
                Ok(compiled) => objects.compiled.push(compiled),
                Err(unreadable) => {
                    // It is there, so it must not be taken for gone.
                    let present = unreadable.identity.clone();
                    objects.compiled.extend(present.map(|identity| Compiled { identity, record: Record::Unreadable }));
                    objects.unreadable.push(unreadable);
                }
            }
        }
        objects
    }
}

/// An event of a watch.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// An object appeared or changed.
    Applied(Compiled),
    /// An object appeared or changed and cannot be read.
    Unreadable(Unreadable),
    /// An object is gone.
    Gone(Identity),
    /// Nothing more has happened up to a version.
    Bookmark(Arc<str>),
    /// The watch has failed; nothing comes after this.
    Failed(Failure),
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Decodes whole lines, each an event. After the first one that cannot be understood nothing is read: what it would have
/// told is not known, so that what comes after must not count as seen.
pub(super) fn events(lines: &[u8], compiler: &Compiler) -> Vec<Event> {
    let mut events = Vec::new();
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match event(line, compiler) {
            Ok(event) => events.push(event),
            Err(failure) => {
                events.push(Event::Failed(failure));
                break;
            }
        }
    }
    events
}

fn event(line: &[u8], compiler: &Compiler) -> Result<Event, Failure> {
    let malformed = |what: &str| Failure::Malformed(format!("an event {what}"));
    let text = std::str::from_utf8(line).map_err(|_| malformed("that is no UTF-8"))?;
    let frame: Frame<'_> = serde_json::from_str(text)
        .map_err(|error| malformed(&format!("that is none: {}", plain(&error.to_string()))))?;
    let object = frame.object.get();
    match &*frame.kind {
        "ADDED" | "MODIFIED" => Ok(match compiler.compile(object) {
            Ok(compiled) => Event::Applied(compiled),
            Err(unreadable) => Event::Unreadable(unreadable),
        }),
        "DELETED" => compiler
            .identity(object)
            .map(Event::Gone)
            .ok_or_else(|| malformed("about the end of an object without name")),
        "BOOKMARK" => {
            let outline: Outline<'_> =
                serde_json::from_str(object).map_err(|_| malformed("that is a bookmark without metadata"))?;
            Ok(Event::Bookmark(Arc::from(outline.metadata.resource_version.as_deref().unwrap_or_default())))
        }
        "ERROR" => Err(Failure::of_event(object)),
        other => Err(malformed(&format!("of the unknown type {:?}", plain(other)))),
    }
}

#[cfg(test)]
mod tests;
