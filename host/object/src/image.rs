//! Images that are present on a node. A kubelet lists 50 with two or three names each, in every heartbeat; so the names are read
//! into one text, without an allocation for each. Start at [`ImageNames`].

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// All names of all entries of `status.images`, in order, each with the size of its image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageNames {
    /// The names one after the other.
    text: String,
    /// End of each name in `text`, in bytes.
    ends: Vec<u32>,
    /// `sizeBytes` of the image of each name.
    sizes: Vec<i64>,
}

impl ImageNames {
    /// Iterates over the image names in the order of `status.images`.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.text.get(start as usize..*end as usize))
    }

    /// Iterates over the image names like [`Self::iter`], each with the size of its image in bytes; 0 where the kubelet does not say.
    pub fn with_sizes(&self) -> impl Iterator<Item = (&str, i64)> {
        self.iter().zip(self.sizes.iter().copied())
    }

    fn push<E: Error>(&mut self, name: &str) -> Result<(), E> {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).map_err(|_| E::custom("has more than 4 GiB of names"))?);
        Ok(())
    }
}

impl<'de> Deserialize<'de> for ImageNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut names = Self::default();
        deserializer.deserialize_seq(Images(&mut names))?;
        Ok(names)
    }
}

/// Visitor of the list of images.
struct Images<'a>(&'a mut ImageNames);

impl<'de> Visitor<'de> for Images<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of images")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut images: A) -> Result<(), A::Error> {
        while images.next_element_seed(Nullable(Image(self.0)))?.is_some() {}
        Ok(())
    }
}

/// Visitor of one image; skips all its fields but `names` and `sizeBytes`.
struct Image<'a>(&'a mut ImageNames);

impl<'de> Visitor<'de> for Image<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an image")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut image: A) -> Result<(), A::Error> {
        let mut size = None;
        while let Some(field) = image.next_key_seed(FieldName)? {
            match field {
                Field::Names => image.next_value_seed(Nullable(Names(self.0)))?,
                Field::Size => size = image.next_value::<Option<i64>>()?,
                Field::Other => drop(image.next_value::<IgnoredAny>()?),
            }
        }
        self.0.sizes.resize(self.0.ends.len(), size.unwrap_or(0));
        Ok(())
    }
}

/// Visitor of the list of names of one image.
struct Names<'a>(&'a mut ImageNames);

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<(), A::Error> {
        while names.next_element_seed(Nullable(Name(self.0)))?.is_some() {}
        Ok(())
    }
}

/// Visitor that appends one image name.
struct Name<'a>(&'a mut ImageNames);

impl Visitor<'_> for Name<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<(), E> {
        self.0.push(name)
    }
}

/// Seed that reads a value with the visitor `V`; `null` adds nothing.
struct Nullable<V>(V);

impl<'de, V: Visitor<'de, Value = ()>> DeserializeSeed<'de> for Nullable<V> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(OrNull(self.0))
    }
}

/// A visitor that takes `null` too.
struct OrNull<V>(V);

impl<'de, V: Visitor<'de, Value = ()>> Visitor<'de> for OrNull<V> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.visit_str(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.0.visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.visit_map(map)
    }
}

/// Field of an image, as far as it is read.
enum Field {
    Names,
    Size,
    Other,
}

/// Seed that reads the name of a field.
struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldName {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Field, E> {
        Ok(match key {
            "names" => Field::Names,
            "sizeBytes" => Field::Size,
            _ => Field::Other,
        })
    }
}
