//! Objects as Go's `encoding/json` decodes structs without tags: field names in any case, unknown names skipped, and the
//! last of equal names counts.
//!
//! Start at [`GoObject`].

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// An object as Go's `encoding/json` decodes a struct without tags.
pub(super) trait GoObject<'de>: Default {
    /// Name of the Go type, for error messages.
    const NAME: &'static str;
    /// Decodes the value of a known field; false where the name is unknown.
    fn take<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error>;
}

/// Wraps a [`GoObject`] for serde.
#[derive(Debug)]
pub(super) struct Go<T>(pub(super) T);

impl<'de, T: GoObject<'de>> Deserialize<'de> for Go<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: GoObject<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object, {}", T::NAME)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
                let mut object = T::default();
                while let Some(key) = map.next_key::<String>()? {
                    if !object.take(&key, &mut map)? {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(object)
            }
        }

        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}
