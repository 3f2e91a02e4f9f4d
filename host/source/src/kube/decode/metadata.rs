//! The metadata of any object, read leniently: it identifies objects that were deleted or do not decode.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::Deserializer;

use crate::change::Identity;
use nodesift_object::Kind;

/// An object that does not decode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Index in the page's items, from 0; 0 in a watch event.
    pub index: usize,
    /// `namespace/name` of a namespaced object, else the name; empty where it cannot be read.
    pub key: String,
    /// `metadata.uid`; empty where it cannot be read.
    pub uid: String,
    /// `metadata.resourceVersion`; empty where it cannot be read.
    pub version: String,
    /// The path of the field and what is wrong with it.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "items[{}] ({:?}): {}", self.index, self.key, self.reason)
    }
}

impl Unreadable {
    /// An object that does not decode for a `reason`. `index` is its place in the items of a page, 0 in a watch event.
    pub(super) fn new(index: usize, json: &str, reason: String) -> Self {
        let Envelope { metadata } = serde_json::from_str(json).unwrap_or_default();
        let (key, uid, version) = (metadata.key(), metadata.uid, metadata.resource_version);
        Self { index, key, uid, version, reason }
    }

    /// Its identity; the key stands for a UID that cannot be read.
    pub(crate) fn identity(&self, kind: Kind) -> Identity {
        let key: Arc<str> = Arc::from(self.key.as_str());
        let uid = if self.uid.is_empty() { Arc::clone(&key) } else { Arc::from(self.uid.as_str()) };
        Identity { kind, key, uid, version: Arc::from(self.version.as_str()) }
    }
}

/// An object of which only the metadata is read.
#[derive(Deserialize, Default)]
pub(super) struct Envelope {
    #[serde(default, deserialize_with = "null_is_default")]
    pub(super) metadata: Metadata,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "null_is_default")]
    namespace: String,
    #[serde(deserialize_with = "null_is_default")]
    uid: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) resource_version: String,
}

impl Metadata {
    fn key(&self) -> String {
        if self.namespace.is_empty() { self.name.clone() } else { format!("{}/{}", self.namespace, self.name) }
    }

    /// The identity that it gives an object of a kind.
    pub(super) fn identity(self, kind: Kind) -> Identity {
        let key: Arc<str> = self.key().into();
        let uid = if self.uid.is_empty() { Arc::clone(&key) } else { self.uid.into() };
        Identity { kind, key, uid, version: self.resource_version.into() }
    }
}

/// For fields in which Go writes `null` for an empty value.
pub(super) fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    json: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(json)?.unwrap_or_default())
}
