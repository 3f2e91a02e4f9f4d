//! JSON text of an object, written at its end. Start at [`JsonWriter`].

use pbjson_types::value::Kind;
use pbjson_types::{Struct, Value};

/// JSON text of an object, built by appending.
#[derive(Debug)]
pub(super) struct JsonWriter(pub(super) String);

impl JsonWriter {
    pub(super) fn string(&mut self, string: &str) {
        // Writing to memory does not fail.
        self.0.push_str(&serde_json::to_string(string).unwrap_or_default());
    }

    pub(super) fn number(&mut self, number: f64) {
        const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
        let text = if number.fract() == 0.0 && number.abs() <= EXACT {
            #[allow(clippy::cast_possible_truncation)] // Whole and within 2^53: the cast is exact.
            serde_json::Value::from(number as i64).to_string()
        } else {
            serde_json::Number::from_f64(number).map_or_else(|| "null".to_owned(), |number| number.to_string())
        };
        self.0.push_str(&text);
    }

    pub(super) fn value(&mut self, value: &Value) {
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

    pub(super) fn object(&mut self, object: &Struct) {
        self.0.push('{');
        for (key, value) in &object.fields {
            self.string(key);
            self.0.push(':');
            self.value(value);
            self.0.push(',');
        }
        self.close('}');
    }

    /// Makes place for more entries before the end of a list or an object.
    pub(super) fn reopen(&mut self, end: char) {
        if self.0.ends_with(end) {
            self.0.pop();
        }
        if !self.0.ends_with(['{', '[']) {
            self.0.push(',');
        }
    }

    /// Ends a list or an object. Removes the comma after its last entry.
    pub(super) fn close(&mut self, end: char) {
        if self.0.ends_with(',') {
            self.0.pop();
        }
        self.0.push(end);
    }
}
