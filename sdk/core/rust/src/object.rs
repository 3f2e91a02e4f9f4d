//! A whole Kubernetes object inside a message: a `google.protobuf.Struct` on the wire, JSON text for the reader. Start
//! at [`Object`].
//!
//! An object that arrives is text from then on, and takes as much memory as the text. As a tree of messages, a list of small
//! numbers takes thirty times as much.

mod json;
mod wire;

use std::fmt;

use pbjson_types::value::Kind;
use pbjson_types::{ListValue, Struct, Value};
use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, message, skip_field};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use json::JsonWriter;
use wire::EntryText;

/// A JSON object. Two objects are equal where their messages are equal.
#[derive(Debug, Clone)]
pub struct Object(Repr);

/// The form in which the object arrived.
#[derive(Debug, Clone)]
enum Repr {
    /// Valid JSON text of an object.
    Text(String),
    Message(Struct),
}

impl Object {
    /// Parses an object from JSON text.
    ///
    /// # Errors
    ///
    /// Where the text is not a valid JSON object.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The object as JSON text. Numbers of a message are doubles: integers up to 2^53 are written as integers, NaN and
    /// infinities as null.
    #[must_use]
    pub fn into_json(self) -> String {
        match self.0 {
            Repr::Text(text) => text,
            Repr::Message(object) => {
                let mut text = JsonWriter(String::new());
                text.object(&object);
                text.0
            }
        }
    }

    /// The object as a message.
    fn message(&self) -> Struct {
        match &self.0 {
            Repr::Message(object) => object.clone(),
            Repr::Text(text) => {
                // The text is valid, so parsing does not fail.
                let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
                Struct { fields: object.into_iter().map(|(key, value)| (key, message_value(value))).collect() }
            }
        }
    }
}

impl Default for Object {
    fn default() -> Self {
        Self(Repr::Message(Struct::default()))
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.message() == other.message()
    }
}

impl From<Struct> for Object {
    fn from(object: Struct) -> Self {
        Self(Repr::Message(object))
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.message().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = JsonWriter(String::new());
        deserializer.deserialize_map(ObjectVisitor(&mut text))?;
        Ok(Self(Repr::Text(text.0)))
    }
}

impl prost::Message for Object {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        self.message().encode_raw(buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != 1 {
            return skip_field(wire_type, tag, buf, context);
        }
        let mut text = JsonWriter(std::mem::take(self).into_json());
        text.reopen('}');
        let mut entry = EntryText::new(&mut text);
        message::merge(wire_type, &mut entry, buf, context)?;
        entry.finish();
        text.close('}');
        self.0 = Repr::Text(text.0);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.message().encoded_len()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Converts a JSON value to a value of a message. All numbers become doubles.
fn message_value(value: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    let kind = match value {
        Json::Null => Kind::NullValue(0),
        Json::Bool(flag) => Kind::BoolValue(flag),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Kind::StringValue(text),
        Json::Array(values) => Kind::ListValue(ListValue { values: values.into_iter().map(message_value).collect() }),
        Json::Object(object) => Kind::StructValue(Struct {
            fields: object.into_iter().map(|(key, value)| (key, message_value(value))).collect(),
        }),
    };
    Value { kind: Some(kind) }
}

/// Copies a deserialized object to a writer.
struct ObjectVisitor<'a>(&'a mut JsonWriter);

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(text) = self;
        text.0.push('{');
        while map.next_key_seed(ValueVisitor(text))?.is_some() {
            text.0.push(':');
            map.next_value_seed(ValueVisitor(text))?;
            text.0.push(',');
        }
        text.close('}');
        Ok(())
    }
}

/// Copies any deserialized value to a writer.
struct ValueVisitor<'a>(&'a mut JsonWriter);

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        self.0.0.push_str(if flag { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.0.0.push_str(&serde_json::Value::from(number).to_string());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.0.0.push_str(&serde_json::Value::from(number).to_string());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.number(number);
        Ok(())
    }

    fn visit_str<E>(self, string: &str) -> Result<(), E> {
        self.0.string(string);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.0.push_str("null");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self(text) = self;
        text.0.push('[');
        while list.next_element_seed(ValueVisitor(text))?.is_some() {
            text.0.push(',');
        }
        text.close(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        ObjectVisitor(self.0).visit_map(map)
    }
}

#[cfg(test)]
mod tests;
