//! One page of a list into compiled objects. Start at [`page`].
//!
//! A page is read item by item into compiled objects, so that at most one decoded object exists at a time. Where that meets
//! something wrong, the page is read again as a list of texts, each decoded by itself.
//!
//! What a list does not name is taken for deleted. So an answer that says that it is something else, such as what a gateway sends in
//! the server's place, or that does not say at which resourceVersion it is, is none.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Error;
use super::metadata::{Unreadable, null_is_default};
use crate::change::{Compiled, Compiler};
use crate::kube::failure::plain;
use crate::kube::kinds::Resource;
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

/// Decodes the metadata of a page. API servers send it and the kind before the items, so the items are mostly not looked at, and the
/// next page can be requested before this one is decoded.
///
/// # Errors
///
/// Where no metadata is found, or as far as is read, the page is not one of a list of the resource.
pub fn head(resource: impl Into<Resource>, bytes: &[u8]) -> Result<Head, Error> {
    let mut seen = Seen::default();
    let read = HeadOnly(&mut seen).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    // The visitor stops at the metadata, which the parser reports as an error.
    match (seen.head.is_some(), read) {
        (true, _) => seen.checked(&resource.into()),
        (false, Ok(())) => Err(Error::NotAList("no metadata".to_owned())),
        (false, Err(error)) => Err(Error::NotAList(error.to_string())),
    }
}

/// Decodes and compiles one page of a list of objects of one kind.
///
/// # Errors
///
/// Where the bytes are not a list of them. Objects that do not decode are no error: they are in [`Page::unreadable`].
pub fn page(kind: Kind, bytes: &[u8], compiler: &Compiler) -> Result<Page, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| Error::NotUtf8(error.valid_up_to()))?;
    let (mut objects, mut seen) = (Vec::new(), Seen::default());
    let mut json = serde_json::Deserializer::from_str(text);
    let read = List { kind, compiler, objects: &mut objects, seen: &mut seen }.deserialize(&mut json);
    match read.and_then(|()| json.end()) {
        Ok(()) => Ok(Page { head: seen.checked(&kind.into())?, objects, unreadable: Vec::new() }),
        // Find out which object is wrong.
        Err(_) => page_one_by_one(kind, text, compiler),
    }
}

fn page_one_by_one(kind: Kind, text: &str, compiler: &Compiler) -> Result<Page, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct List<'a> {
        #[serde(default)]
        kind: Option<String>,
        #[serde(default)]
        api_version: Option<String>,
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
    let seen = Seen { kind: list.kind, api_version: list.api_version, head: list.metadata.map(Head::from) };
    let mut page = Page { head: seen.checked(&kind.into())?, ..Page::default() };
    for (index, item) in list.items.unwrap_or_default().into_iter().enumerate() {
        match decode(kind, item.get()) {
            Ok(object) => page.objects.push(compiler.compile_unaccounted(&object)),
            Err(wrong) => page.unreadable.push(Unreadable::new(index, item.get(), wrong.to_string())),
        }
    }
    Ok(page)
}

/// Kind, version and metadata of a list, as far as they have been read.
#[derive(Debug, Default)]
struct Seen {
    kind: Option<String>,
    api_version: Option<String>,
    head: Option<Head>,
}

impl Seen {
    /// The metadata of a list of a resource.
    fn checked(self, resource: &Resource) -> Result<Head, Error> {
        check_kind(resource, self.kind.as_deref(), self.api_version.as_deref())?;
        self.head.filter(|head| !head.version.is_empty()).ok_or(Error::NoVersion)
    }
}

/// Whether what calls itself so is a list of a resource, in whichever version of its group.
pub(in crate::kube) fn check_kind(
    resource: &Resource,
    kind: Option<&str>,
    api_version: Option<&str>,
) -> Result<(), Error> {
    let (kind, api_version) = (kind.filter(|kind| !kind.is_empty()), api_version.filter(|version| !version.is_empty()));
    let is_kind = kind.is_none_or(|kind| kind.strip_suffix("List") == Some(resource.kind));
    let group = api_version.map(|version| version.rsplit_once('/').map_or("", |(group, _)| group));
    if is_kind && group.is_none_or(|group| group == resource.group) {
        return Ok(());
    }
    let group = if resource.group.is_empty() { String::new() } else { format!("{}/", resource.group) };
    let found = [api_version, kind].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Err(Error::OtherKind { expected: format!("{group}{}", resource.kind), found: plain(&found) })
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
    Kind,
    ApiVersion,
    Metadata,
    Items,
    #[serde(other)]
    Other,
}

/// Deserializes a list, and compiles its items.
struct List<'a> {
    kind: Kind,
    compiler: &'a Compiler,
    objects: &'a mut Vec<Compiled>,
    seen: &'a mut Seen,
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
                ListField::Kind => self.seen.kind = map.next_value()?,
                ListField::ApiVersion => self.seen.api_version = map.next_value()?,
                ListField::Metadata => {
                    self.seen.head = map.next_value::<Option<ListMetadata>>()?.map(Head::from);
                }
                ListField::Items => {
                    has_items = true;
                    let (kind, compiler, objects) = (self.kind, self.compiler, &mut *self.objects);
                    map.next_value_seed(Items { kind, compiler, objects })?;
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

/// Decodes what a list says of itself, and stops once its metadata and kind are known.
struct HeadOnly<'a>(&'a mut Seen);

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
            match field {
                ListField::Kind => self.0.kind = map.next_value()?,
                ListField::ApiVersion => self.0.api_version = map.next_value()?,
                ListField::Metadata => {
                    self.0.head = Some(map.next_value::<Option<ListMetadata>>()?.unwrap_or_default().into());
                }
                ListField::Items | ListField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if self.0.head.is_some() && self.0.kind.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }
}
