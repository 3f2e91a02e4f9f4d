//! Responses as JSON documents, in the protobuf JSON mapping, without a string per node.
//!
//! Each message is written by its own mapping, field by field; a large field is written in its place. Start at [`document`].

use std::fmt;
use std::sync::Arc;

use prost::Message;
use serde::ser::{Impossible, Serialize, SerializeStruct, Serializer};

use crate::Error;
use crate::protocols::answers::{Encode, Encoding, Field};
use crate::protocols::document::Document;
use nodesift_engine::RowSet;

/// The document of a response.
///
/// # Errors
///
/// [`Error::Internal`] where a value has no form in JSON.
pub(crate) fn document<R: Encode>(response: &R) -> Result<Document, Error> {
    let mut document = Document::new(response.names());
    response.write_to(&mut document)?;
    Ok(document)
}

impl Encoding for Document {
    fn message<M: Message + Serialize>(
        &mut self,
        rest: &M,
        large: &[Field],
        write: impl FnMut(&mut Self, Field) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if large.is_empty() {
            return self.value(rest);
        }
        self.text("{");
        rest.serialize(Fields { document: self, large, write, is_first: true }).map_err(|Failed(error)| error)
    }

    fn nested(&mut self, _: Field, write: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        write(self)
    }

    fn repeated<T>(
        &mut self,
        _: Field,
        items: impl IntoIterator<Item = T>,
        _: impl Fn(&T) -> usize,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.text("[");
        for (at, item) in items.into_iter().enumerate() {
            self.text(if at == 0 { "" } else { "," });
            write(self, item)?;
        }
        self.text("]");
        Ok(())
    }

    fn node_names(&mut self, _: Field, rows: &Arc<RowSet>) -> Result<(), Error> {
        self.nodes(rows);
        Ok(())
    }

    fn placeholder<M: Default>() -> Option<M> {
        Some(M::default())
    }
}

/// The fields of one message, which its mapping hands over one by one.
struct Fields<'a, W> {
    document: &'a mut Document,
    large: &'a [Field],
    write: W,
    is_first: bool,
}

impl<W: FnMut(&mut Document, Field) -> Result<(), Error>> SerializeStruct for Fields<'_, W> {
    type Ok = ();
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Failed> {
        self.document.text(if std::mem::take(&mut self.is_first) { "\"" } else { ",\"" });
        self.document.text(name);
        self.document.text("\":");
        let written = match self.large.iter().find(|field| field.name == name) {
            Some(field) => (self.write)(self.document, *field),
            None => self.document.value(value),
        };
        written.map_err(Failed)
    }

    fn end(self) -> Result<(), Failed> {
        self.document.text("}");
        Ok(())
    }
}

/// The error of a field, in the form that serde asks for.
#[derive(Debug)]
struct Failed(Error);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failed {}

impl serde::ser::Error for Failed {
    fn custom<T: fmt::Display>(error: T) -> Self {
        tracing::error!(%error, "a response cannot be encoded");
        Self(Error::Internal)
    }
}

/// Methods that refuse a value which is no message.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$ok, Failed> {
            Err(no_message())
        }
    )*};
}

/// Every message is a struct to serde.
fn no_message() -> Failed {
    serde::ser::Error::custom("it is no message")
}

impl<W: FnMut(&mut Document, Field) -> Result<(), Error>> Serializer for Fields<'_, W> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Impossible<(), Failed>;
    type SerializeTuple = Impossible<(), Failed>;
    type SerializeTupleStruct = Impossible<(), Failed>;
    type SerializeTupleVariant = Impossible<(), Failed>;
    type SerializeMap = Impossible<(), Failed>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Failed>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Failed> {
        Ok(self)
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Failed> {
        Err(no_message())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, _: &T) -> Result<(), Failed> {
        Err(no_message())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Failed> {
        Err(no_message())
    }
}
