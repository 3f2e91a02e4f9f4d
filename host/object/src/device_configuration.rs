//! Configuration of devices, in claims and classes. Start at [`DeviceConfiguration`].

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::field::null_is_default;

/// Configuration that a claim or a class passes to the driver of its devices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct DeviceConfiguration {
    /// The requests and alternatives (`request/alternative`) that it is about; empty for all, as always in a class.
    #[serde(default, deserialize_with = "null_is_default")]
    pub requests: Vec<String>,
    /// `opaque`: the driver and its parameters, as written.
    #[serde(default)]
    pub opaque: Option<JsonText>,
}

/// A JSON value as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(pub String);

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::from(Box::<str>::from(Box::<RawValue>::deserialize(deserializer)?))))
    }
}
