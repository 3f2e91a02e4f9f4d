//! How single fields are read: `null` as absent, presence as a flag, closed sets of texts, small sorted maps.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A small map from text to `V`, kept sorted in one allocation: most objects carry a handful of labels or resources,
/// for which a tree would take ten times the memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Map<V>(Vec<(String, V)>);

impl<V> Map<V> {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        let found = self.0.binary_search_by(|(held, _)| held.as_str().cmp(key)).ok()?;
        self.0.get(found).map(|(_, value)| value)
    }

    /// Whether there is an entry under a key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Puts under a key what `change` makes of the value held so far, if any.
    pub fn update(&mut self, key: &str, change: impl FnOnce(Option<&V>) -> V) {
        match self.0.binary_search_by(|(held, _)| held.as_str().cmp(key)) {
            Ok(found) => {
                if let Some((_, value)) = self.0.get_mut(found) {
                    *value = change(Some(value));
                }
            }
            Err(place) => self.0.insert(place, (key.to_owned(), change(None))),
        }
    }

    /// Keys and values in the order of keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> + Clone {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> FromIterator<(String, V)> for Map<V> {
    /// Collects entries; of two with one key the later one stays.
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        // The sort is stable and the reversal puts the later entry first, which is the one that dedup keeps.
        entries.reverse();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(a, _), (b, _)| a == b);
        Self(entries)
    }
}

impl<'de, V: Deserialize<'de> + Default> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de> + Default> Visitor<'de> for Entries<V> {
            type Value = Map<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(map.size_hint().unwrap_or(0).min(PREALLOCATE_ENTRIES));
                while let Some((key, value)) = map.next_entry::<String, Option<V>>()? {
                    entries.push((key, value.unwrap_or_default()));
                }
                entries.shrink_to_fit();
                Ok(entries.into_iter().collect())
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Entries for which a map reserves room on the word of its input: more than any sane object has labels.
const PREALLOCATE_ENTRIES: usize = 64;

/// Reads a field of which `null` means the same as absence.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether a field need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes a flag that is set as an object without fields, which [`presence`] reads.
pub(crate) fn empty_object<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(None::<((), ())>)
}

/// Reads any field as whether it is there and not `null`.
pub(crate) fn presence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

/// Reads a `metadata.name`, without which an object cannot be told from others.
pub(crate) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    if name.is_empty() { Err(D::Error::custom("is empty: every object has a name")) } else { Ok(name) }
}

/// An enum that is written as one of a closed set of texts; `null`, absence and every other text have a variant.
macro_rules! text_enum {
    ($(#[$outer:meta])* $name:ident: absent $absent:ident, else $other:ident {
        $($(#[$inner:meta])* $variant:ident $(= $text:literal)?,)*
    }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$inner])* $variant,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$absent
            }
        }

        impl serde::Serialize for $name {
            /// Writes its text; what stands for any other text is written as such a one.
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self {
                    $(Self::$variant => [$($text,)? "Other"].first().copied().unwrap_or("Other"),)*
                })
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok(match text {
                            $($($text => $name::$variant,)?)*
                            _ => $name::$other,
                        })
                    }
                }

                deserializer.deserialize_str(Text)
            }
        }
    };
}

pub(crate) use text_enum;
