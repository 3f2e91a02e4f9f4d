//! Fields by which an object or a list describes itself, read before it is decoded as one of its kind. Start at [`Envelope::parse`].

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::Value;

use nodesift_object::decode::without_position;

/// The end of the kind of every list.
pub(super) const LIST: &str = "List";

/// The fields that every object and list has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a> {
    #[serde(default, borrow)]
    pub(super) api_version: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) items: Option<IgnoredAny>,
    /// That of a Status.
    #[serde(default, deserialize_with = "text_or_none")]
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) metadata: Option<Metadata>,
}

/// A text; of any other value none.
fn text_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

impl<'a> Envelope<'a> {
    pub(super) fn parse(json: &'a str) -> Result<Self, String> {
        if json.trim_start().starts_with('[') {
            return Err("a list inside a list".to_owned());
        }
        serde_json::from_str(json).map_err(|error| without_position(&error))
    }

    /// Whether it says of itself what it is.
    pub(super) fn is_complete(&self) -> bool {
        self.api_version.is_some() && self.kind.is_some()
    }
}

/// Where an object comes from, as its metadata shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// An API server has given it: it is as that has made it.
    Server,
    /// It has a UID, which only API servers give, and no version: what has made it is not known, and it is taken as it is written.
    Unknown,
    /// Somebody has written it.
    Manifest,
}

impl Origin {
    pub(super) fn from_metadata(metadata: Option<&Metadata>) -> Self {
        match metadata {
            Some(Metadata { resource_version: Some(_), .. }) => Self::Server,
            Some(Metadata { uid: Some(_), .. }) => Self::Unknown,
            _ => Self::Manifest,
        }
    }
}

/// Fields of the metadata of an object or list that are read before it is decoded.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) uid: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) resource_version: Option<IgnoredAny>,
    /// That of a list.
    #[serde(default, deserialize_with = "text_or_none")]
    pub(super) r#continue: Option<String>,
}

impl Metadata {
    /// Whether it is that of a list of which another page follows.
    pub(super) fn goes_on(&self) -> bool {
        self.r#continue.as_deref().is_some_and(|token| !token.is_empty())
    }
}

/// `apiVersion` and `kind` of a list, as far as they have been read.
#[derive(Default)]
pub(super) struct ListHeader {
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
}

impl ListHeader {
    /// The kind of its items; empty for a List of any kinds. `None` where it is not a list.
    pub(super) fn item_kind(&self) -> Option<&str> {
        self.kind.as_deref()?.strip_suffix(LIST)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.api_version.is_some() && self.kind.is_some()
    }
}
