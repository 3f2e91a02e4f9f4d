//! A `google.protobuf.Struct` on the wire, decoded to JSON text as it is read: the tree of its values takes up to thirty times
//! the bytes of the wire. Start at [`EntryText`].
//!
//! Each type here is the message of its name, writes its text at the end of the object's, and is only ever decoded. Where a
//! field comes twice the last one counts, as protobuf has it.

use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, bool, double, int32, message, skip_field, string};

use super::json::JsonWriter;

/// An entry of `Struct.fields`: a key and its value.
#[derive(Debug)]
pub(super) struct EntryText<'a> {
    text: &'a mut JsonWriter,
    start: usize,
    /// Where the value begins; none before the key is there.
    value: Option<usize>,
}

impl<'a> EntryText<'a> {
    /// An entry at the end of a text.
    pub(super) fn new(text: &'a mut JsonWriter) -> Self {
        Self { start: text.0.len(), text, value: None }
    }

    /// Adds what the message has left out.
    pub(super) fn finish(mut self) {
        let value = self.value();
        if self.text.0.len() == value {
            self.text.0.push_str("null");
        }
    }

    /// Where the value begins, behind an empty key if there is none yet.
    fn value(&mut self) -> usize {
        let Self { text, value, .. } = self;
        *value.get_or_insert_with(|| {
            text.0.push_str("\"\":");
            text.0.len()
        })
    }

    fn set_key(&mut self, key: &str) {
        let value = self.value.map(|value| self.text.0.split_off(value)).unwrap_or_default();
        self.text.0.truncate(self.start);
        self.text.string(key);
        self.text.0.push(':');
        self.value = Some(self.text.0.len());
        self.text.0.push_str(&value);
    }
}

/// A `google.protobuf.Value`, whose JSON text begins at `start`.
#[derive(Debug)]
struct ValueText<'a> {
    text: &'a mut JsonWriter,
    start: usize,
}

impl<'a> ValueText<'a> {
    /// A value at the end of a text: null, until another is read.
    fn new(text: &'a mut JsonWriter) -> Self {
        let start = text.0.len();
        text.0.push_str("null");
        Self { text, start }
    }
}

/// A `ListValue` or a `Struct` inside a value, whose bracket is open.
#[derive(Debug)]
struct ItemsText<'a> {
    text: &'a mut JsonWriter,
    of: Items,
}

#[derive(Debug, Clone, Copy)]
enum Items {
    Values,
    Entries,
}

/// Methods of [`prost::Message`] that decoding does not call; they do nothing.
macro_rules! decoded_only {
    () => {
        fn encode_raw(&self, _: &mut impl BufMut) {}

        fn encoded_len(&self) -> usize {
            0
        }

        fn clear(&mut self) {}
    };
}

impl prost::Message for EntryText<'_> {
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => {
                let mut key = String::new();
                string::merge(wire_type, &mut key, buf, context)?;
                self.set_key(&key);
                Ok(())
            }
            2 => {
                let value = self.value();
                self.text.0.truncate(value);
                message::merge(wire_type, &mut ValueText::new(self.text), buf, context)
            }
            _ => skip_field(wire_type, tag, buf, context),
        }
    }

    decoded_only!();
}

impl prost::Message for ValueText<'_> {
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        if !(1..=6).contains(&tag) {
            return skip_field(wire_type, tag, buf, context);
        }
        self.text.0.truncate(self.start);
        match tag {
            1 => {
                int32::merge(wire_type, &mut 0, buf, context)?;
                self.text.0.push_str("null");
            }
            2 => {
                let mut number = 0.0;
                double::merge(wire_type, &mut number, buf, context)?;
                self.text.number(number);
            }
            3 => {
                let mut text = String::new();
                string::merge(wire_type, &mut text, buf, context)?;
                self.text.string(&text);
            }
            4 => {
                let mut flag = false;
                bool::merge(wire_type, &mut flag, buf, context)?;
                self.text.0.push_str(if flag { "true" } else { "false" });
            }
            _ => {
                let (of, open, close) = if tag == 5 { (Items::Entries, '{', '}') } else { (Items::Values, '[', ']') };
                self.text.0.push(open);
                message::merge(wire_type, &mut ItemsText { text: self.text, of }, buf, context)?;
                self.text.close(close);
            }
        }
        Ok(())
    }

    decoded_only!();
}

impl prost::Message for ItemsText<'_> {
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match (tag, self.of) {
            (1, Items::Values) => message::merge(wire_type, &mut ValueText::new(self.text), buf, context)?,
            (1, Items::Entries) => {
                let mut entry = EntryText::new(self.text);
                message::merge(wire_type, &mut entry, buf, context)?;
                entry.finish();
            }
            _ => return skip_field(wire_type, tag, buf, context),
        }
        self.text.0.push(',');
        Ok(())
    }

    decoded_only!();
}
