//! One page of a list into compiled objects. Start at [`page`].
//!
//! A page is read item by item into compiled objects, so that at most one decoded object exists at a time. Where that meets
//! something wrong, the page is read again as a list of texts, each decoded by itself.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;
use super::metadata::{Unreadable, null_is_default};
use crate::change::{Compiled, Compiler};
use nodesift_object::Kind;
use nodesift_object::decode::decode;

/// The metadata of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `metadata.resourceVersion`: the list shows all objects as they were at this version.
    pub version: Arc<str>,
    /// `metadata.continue`: the token of the next page; `None` on the last page.
    pub next: Option<String>,
}

/// One page of a list.
#[derive(Debug, Default)]
pub struct Page {
    /// The metadata of the list.
    pub head: Head,
    /// The objects that decode, compiled, in order.
    pub objects: Vec<Compiled>,
    /// The objects that do not decode, in order.
    pub unreadable: Vec<Unreadable>,
}

/// Decodes the metadata of a page. API servers send it before the items, so the items are mostly not looked at, and the next
/// page can be requested before this one is decoded.
///
/// # Errors
///
/// [`Error::NotAList`] where no metadata is found.
pub fn head(bytes: &[u8]) -> Result<Head, Error> {
    let mut head = None;
    let read = HeadOnly(&mut head).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    // The visitor stops at the metadata, which the parser reports as an error.
    match (head, read) {
        (Some(head), _) => Ok(head),
        (None, Ok(())) => Err(Error::NotAList("no metadata".to_owned())),
        (None, Err(error)) => Err(Error::NotAList(error.to_string())),
    }
}

/// Decodes and compiles one page of a list of objects of one kind.
///
/// # Errors
///
/// Where the bytes are not a list. Objects that do not decode are no error: they are in [`Page::unreadable`].
pub fn page(kind: Kind, bytes: &[u8], compiler: &Compiler) -> Result<Page, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::NotUtf8(error.valid_up_to()))?;
    let mut page = Page::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let read = List { kind, compiler, page: &mut page }.deserialize(&mut json);
    match read.and_then(|()| json.end()) {
        Ok(()) => Ok(page),
        // Find out which object is wrong.
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
    // Unlike with a plain `Option`, the field must be there.
    fn or_null<'de: 'a, 'a, D: Deserializer<'de>>(json: D) -> Result<Option<Vec<&'a RawValue>>, D::Error> {
        Option::deserialize(json)
    }
    let list: List<'_> = serde_json::from_str(text).map_err(|error| Error::NotAList(error.to_string()))?;
    let mut page = Page { head: list.metadata.unwrap_or_default().into(), ..Page::default() };
    for (index, item) in list.items.unwrap_or_default().into_iter().enumerate() {
        match decode(kind, item.get()) {
            Ok(object) => page.objects.push(compiler.compile_unaccounted(&object)),
            Err(wrong) => page.unreadable.push(Unreadable::new(index, item.get(), wrong.to_string())),
        }
    }
    Ok(page)
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

/// The fields of a list.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ListField {
    Metadata,
    Items,
    #[serde(other)]
    Other,
}

/// Decodes a list into a page.
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

/// Decodes and compiles the items of a list; `null` is an empty list, as Go writes it.
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
            self.objects.push(self.compiler.compile_unaccounted(&object));
        }
        Ok(())
    }
}

/// Decodes a list's metadata and stops there.
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
