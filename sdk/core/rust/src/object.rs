//! A whole Kubernetes object inside a message: a `google.protobuf.Struct` on the wire, JSON text for the reader. Start
//! at [`Object`].
//!
//! An object that arrives over HTTP stays text and takes as much memory as the text. As a tree, which it is over gRPC,
//! a list of small numbers takes thirty times as much.

use std::fmt;

use pbjson_types::value::Kind;
use pbjson_types::{ListValue, Struct, Value};
use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
        if let Repr::Text(_) = self.0 {
            self.0 = Repr::Message(self.message());
        }
        match &mut self.0 {
            Repr::Message(object) => object.merge_field(tag, wire_type, buf, context),
            Repr::Text(_) => Ok(()),
        }
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

/// Writes JSON text.
struct JsonWriter(String);

impl JsonWriter {
    fn string(&mut self, string: &str) {
        // Writing to memory does not fail.
        self.0.push_str(&serde_json::to_string(string).unwrap_or_default());
    }

    fn number(&mut self, number: f64) {
        const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
        let text = if number.fract() == 0.0 && number.abs() <= EXACT {
            #[allow(clippy::cast_possible_truncation)] // Whole and within 2^53: the cast is exact.
            serde_json::Value::from(number as i64).to_string()
        } else {
            serde_json::Number::from_f64(number).map_or_else(|| "null".to_owned(), |number| number.to_string())
        };
        self.0.push_str(&text);
    }

    fn value(&mut self, value: &Value) {
        match &value.kind {
            None | Some(Kind::NullValue(_)) => self.0.push_str("null"),
            Some(Kind::BoolValue(flag)) => self.0.push_str(if *flag { "true" } else { "false" }),
            Some(Kind::StringValue(string)) => self.string(string),
            Some(Kind::NumberValue(number)) => self.number(*number),
            Some(Kind::ListValue(list)) => {
                self.0.push('[');
                for value in &list.values {
                    self.value(value);
                    self.0.push(',');
                }
                self.close(']');
            }
            Some(Kind::StructValue(object)) => self.object(object),
        }
    }

    fn object(&mut self, object: &Struct) {
        self.0.push('{');
        for (key, value) in &object.fields {
            self.string(key);
            self.0.push(':');
            self.value(value);
            self.0.push(',');
        }
        self.close('}');
    }

    /// Ends a list or an object. Removes the comma after its last entry.
    fn close(&mut self, end: char) {
        if self.0.ends_with(',') {
            self.0.pop();
        }
        self.0.push(end);
    }
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
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use prost::Message as _;
    use serde_json::{Value as Json, json};

    use super::*;

    /// A random JSON value whose numbers are exact as doubles.
    fn random_json(random: &mut fastrand::Rng, depth: u32) -> Json {
        let texts = ["", "a", "\"quoted\\\"", ",", "é\n\u{1}", "key"];
        match random.u32(..if depth == 0 { 5 } else { 7 }) {
            0 => Json::Null,
            1 => random.bool().into(),
            2 => random.i64(-9_007_199_254_740_992..=9_007_199_254_740_992).into(),
            3 => (f64::from(random.i32(..)) + 0.5).into(),
            4 => texts[random.usize(..texts.len())].into(),
            5 => (0..random.usize(..4)).map(|_| random_json(random, depth - 1)).collect::<Vec<_>>().into(),
            _ => random_object(random, depth - 1),
        }
    }

    fn random_object(random: &mut fastrand::Rng, depth: u32) -> Json {
        let entry = |random: &mut fastrand::Rng| (format!("k{}\"", random.u8(..9)), random_json(random, depth));
        (0..random.usize(..4)).map(|_| entry(random)).collect::<serde_json::Map<_, _>>().into()
    }

    #[test]
    fn text_and_message_are_equal() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let json = random_object(&mut random, 4);
            let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap();
            let object = Object::from_json(&json.to_string()).unwrap();
            assert_eq!(parse(&object.clone().into_json()), json);
            // Encoded and decoded, and compared with the generic message type.
            let sent = object.encode_to_vec();
            assert_eq!(sent.len(), object.encoded_len());
            assert_eq!(Object::decode(&*sent).unwrap(), object);
            assert_eq!(parse(&Object::decode(&*sent).unwrap().into_json()), json);
            let message: Struct = serde_json::from_value(json.clone()).unwrap();
            // Compared as JSON, because a message has two representations of null.
            let written = serde_json::to_value(&message).unwrap();
            assert_eq!(serde_json::to_value(Struct::decode(&*sent).unwrap()).unwrap(), written);
            assert_eq!(serde_json::to_value(&object).unwrap(), written);
            assert_eq!(parse(&Object::from(message).into_json()), json);
        }
    }

    #[test]
    fn whole_numbers_are_written_as_integers() {
        for (written, read) in [
            ("3.0", "3"),
            ("-9007199254740992.0", "-9007199254740992"),
            ("0.1", "0.1"),
            ("1e300", "1e+300"),
            ("18446744073709551615", "18446744073709551615"),
        ] {
            let object = Object::from_json(&format!(r#"{{"n":{written}}}"#)).unwrap();
            assert_eq!(object.into_json(), format!(r#"{{"n":{read}}}"#));
        }
        let number =
            |number| Struct { fields: [("n".to_owned(), Value { kind: Some(Kind::NumberValue(number)) })].into() };
        assert_eq!(Object::from(number(f64::NAN)).into_json(), r#"{"n":null}"#);
        assert_eq!(Object::from(number(3.0)).into_json(), r#"{"n":3}"#);
    }

    #[test]
    fn integers_beyond_2_53_are_rounded_in_messages_and_other_fields_are_kept() {
        for number in [
            "9007199254740992",
            "9007199254740993",
            "-9007199254740993",
            "-9223372036854775808",
            "18446744073709551615",
        ] {
            let object = Object::from_json(&format!(r#"{{"n":{number},"other":"a"}}"#)).unwrap();
            let double: f64 = number.parse().unwrap();
            let sent = Struct::decode(&*object.encode_to_vec()).unwrap();
            assert_eq!(sent.fields["n"].kind, Some(Kind::NumberValue(double)), "{number}");
            assert_eq!(sent.fields["other"].kind, Some(Kind::StringValue("a".to_owned())));
            assert_eq!(serde_json::to_value(&object).unwrap()["n"].as_f64(), Some(double));
            let mut merged = object.clone();
            merged.merge(&*Object::from_json(r#"{"other":"b"}"#).unwrap().encode_to_vec()).unwrap();
            assert_eq!(merged.message().fields["n"].kind, Some(Kind::NumberValue(double)));
        }
    }

    #[test]
    fn text_that_is_not_an_object_is_refused() {
        for text in ["[]", "1", "null", "\"a\"", "{", r#"{"a":1e400}"#] {
            assert!(Object::from_json(text).is_err(), "{text}");
        }
        assert_eq!(Object::from_json("{}").unwrap().into_json(), "{}");
        assert_eq!(serde_json::to_value(Object::default()).unwrap(), json!({}));
    }
}
