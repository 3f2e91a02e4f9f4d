//! ConfigMaps: texts by key, which predicates read where the policy lists the object.

use serde::Deserialize;

use crate::Labels;
use crate::field::null_is_default;
use crate::pod::Metadata;

/// A v1 ConfigMap. `binaryData` is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ConfigMap {
    /// Namespace, name and the other metadata of the ConfigMap.
    pub metadata: Metadata,
    /// Texts by key, sorted by key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub data: Labels,
}

impl ConfigMap {
    /// Returns `namespace/name`, unique among ConfigMaps.
    pub fn key(&self) -> String {
        [&self.metadata.namespace, "/", &self.metadata.name].concat()
    }
}
