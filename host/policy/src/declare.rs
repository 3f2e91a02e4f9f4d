//! Maps of policy documents, each declared once.
//!
//! `declare_map!` takes the fields of a map in the order in which messages name them: for each its key, the type as which it is read,
//! and its part of the JSON schema. It makes the struct that holds the fields as written, and its [`DocumentMap`]: the reader, which
//! reports what is unknown, missing or of another type, and the schema, from which the CustomResourceDefinition follows. What a field
//! means is checked where its map is declared, in [`spec`](crate::spec). Start at [`DocumentMap`].

use serde_json::{Map, Value, json};

use crate::tree::{At, Fields, Item, Reader, Tree};

/// Reason of the problem of a required field that is absent.
pub(crate) const MISSING: &str = "missing";

/// A list of texts. An item that is no text is `None`, so that the others keep their index.
pub(crate) type Texts = At<Vec<Option<At<String>>>>;

/// A list of maps. An item that is no map is `None`, so that the others keep their index.
pub(crate) type Maps<T> = At<Vec<Option<At<T>>>>;

/// A map whose keys are names, in the order in which they are written. A value that cannot be read is `None`.
pub(crate) type Named<T> = At<Vec<(At<String>, Option<T>)>>;

/// A field that is known, and that nobody reads by itself.
#[derive(Debug)]
pub(crate) enum Unread {}

/// Whether a map must have a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It may be left out.
    Optional,
    /// The reader refuses the map without it.
    Required,
    /// The checks refuse the map without it, with more to say than the reader.
    Checked,
}

/// A map of a document, made by `declare_map!`.
pub(crate) trait DocumentMap: Sized {
    /// The keys of its fields, in the order in which messages name them.
    const FIELDS: &'static [&'static str];
    /// Whether the map must have each of [`Self::FIELDS`].
    const PRESENCE: &'static [Presence];

    /// Reads each field. One that cannot be read is `None`, and a problem.
    fn read_fields(reader: &mut Reader, fields: &Fields<'_>) -> Self;

    /// The schema of each field, by its key.
    fn properties() -> Map<String, Value>;

    /// The rest of the map's schema: its description, and rules about several fields.
    fn whole() -> Value;

    /// Reads a map with this path. What is unknown, there twice, missing or of another type is a problem.
    fn read(reader: &mut Reader, map: &At<Tree>, path: &str) -> Option<Self> {
        let fields = reader.fields(map, path, Self::FIELDS)?;
        for (name, presence) in Self::FIELDS.iter().zip(Self::PRESENCE) {
            if let (Presence::Required, (None, path)) = (presence, fields.get(name)) {
                reader.refuse(map, &path, MISSING);
            }
        }
        Some(Self::read_fields(reader, &fields))
    }

    /// The JSON schema of the map.
    fn schema() -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("additionalProperties".to_owned(), json!(false));
        schema.insert("properties".to_owned(), Self::properties().into());
        let presence = Self::FIELDS.iter().zip(Self::PRESENCE);
        let required: Vec<_> =
            presence.filter(|(_, presence)| **presence != Presence::Optional).map(|(name, _)| name).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if let Value::Object(whole) = Self::whole() {
            schema.extend(whole);
        }
        schema.into()
    }
}

/// A type as which a field can be read.
pub(crate) trait FieldType: Sized {
    /// Reads a field. One of another type is a problem.
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self>;
}

impl FieldType for At<String> {
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self> {
        reader.text(field)
    }
}

impl FieldType for At<bool> {
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self> {
        reader.flag(field)
    }
}

impl FieldType for At<Value> {
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self> {
        reader.value(field)
    }
}

impl FieldType for Texts {
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self> {
        reader.texts(field)
    }
}

impl FieldType for Unread {
    fn read(_: &mut Reader, _: (Option<&At<Tree>>, String)) -> Option<Self> {
        None
    }
}

impl<T: FieldType> FieldType for Named<T> {
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self> {
        let map = reader.entries(field)?;
        let read = map.value.into_iter().map(|(key, value)| (key.clone(), T::read(reader, value))).collect();
        Some(At { value: read, file: map.file, line: map.line, column: map.column })
    }
}

impl<T: DocumentMap> FieldType for At<T> {
    fn read(reader: &mut Reader, (map, path): (Option<&At<Tree>>, String)) -> Option<Self> {
        let map = map?;
        Some(map.with(T::read(reader, map, &path)?))
    }
}

impl<T: DocumentMap> FieldType for Maps<T> {
    fn read(reader: &mut Reader, field: (Option<&At<Tree>>, String)) -> Option<Self> {
        let list = reader.list(field)?;
        let read = list.value.iter().map(|(map, path): &Item<'_>| Some(map.with(T::read(reader, map, path)?)));
        Some(list.with(read.collect()))
    }
}

/// Declares a map of documents: see the head of this file.
///
/// ```text
/// declare_map! {
///     /// Docs of the struct.
///     pub(crate) struct NAME: SCHEMA OF THE WHOLE;
///     /// Docs of the field.
///     FIELD: TYPE = "KEY" (PRESENCE, where it is not Optional), SCHEMA OF THE FIELD;
/// }
/// ```
macro_rules! declare_map {
    (@presence) => { $crate::declare::Presence::Optional };
    (@presence $presence:ident) => { $crate::declare::Presence::$presence };
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident: $whole:expr;
        $($(#[$of_field:meta])* $field:ident: $type:ty = $key:literal $(($presence:ident))?, $schema:expr;)+
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        $visible struct $name {
            $($(#[$of_field])* $visible $field: Option<$type>,)+
        }

        impl $crate::declare::DocumentMap for $name {
            const FIELDS: &'static [&'static str] = &[$($key),+];
            const PRESENCE: &'static [$crate::declare::Presence] =
                &[$($crate::declare::declare_map!(@presence $($presence)?)),+];

            fn read_fields(reader: &mut $crate::tree::Reader, fields: &$crate::tree::Fields<'_>) -> Self {
                Self { $($field: $crate::declare::FieldType::read(reader, fields.get($key)),)+ }
            }

            fn properties() -> serde_json::Map<String, serde_json::Value> {
                [$(($key.to_owned(), $schema)),+].into_iter().collect()
            }

            fn whole() -> serde_json::Value {
                $whole
            }
        }
    };
}
pub(crate) use declare_map;
