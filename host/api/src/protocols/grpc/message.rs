//! Responses as protobuf messages, without a string per node.
//!
//! Each begins with the head of its frame. prost encodes each message without its large fields; these follow, since protobuf takes the
//! fields of a message in any order. Start at [`encode`].

use std::sync::Arc;

use nodesift_proto::v1::{self, filter_stream_response::Outcome};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

use super::frame::{HEAD_BYTES, finish};
use crate::protocols::answers::{Encode, Encoding, Field};
use crate::{Error, limits};
use nodesift_cache::{EncodedNames, NodeNames};
use nodesift_engine::{RowSet, RowsByName};

/// Numbers of the fields of `FilterStreamResponse`.
mod field {
    pub(super) const STREAM_ID: u32 = 1;
    pub(super) const STREAM_ANSWER: u32 = 2;
}

/// The message of a response, after the head of its frame.
///
/// # Errors
///
/// [`Error::AnswerTooLarge`].
pub(crate) fn encode<R: Encode>(response: &R) -> Result<Vec<u8>, Error> {
    let mut writer = Writer { names: response.names(), out: vec![0; HEAD_BYTES] };
    response.write_to(&mut writer)?;
    Ok(finish(writer.out))
}

/// `FilterStreamResponse` around an encoded `FilterResponse`, or the error of one request.
pub(crate) fn filter_stream(id: u64, answer: Result<Vec<u8>, Error>) -> Vec<u8> {
    let mut out = vec![0; HEAD_BYTES];
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let outcome = Some(Outcome::Error(error.into()));
            v1::FilterStreamResponse { id, outcome }.encode_raw(&mut out);
            return finish(out);
        }
    };
    let answer = answer.get(HEAD_BYTES..).unwrap_or_default();
    out.reserve(answer.len() + 32);
    encode_key(field::STREAM_ID, WireType::Varint, &mut out);
    encode_varint(id, &mut out);
    encode_key(field::STREAM_ANSWER, WireType::LengthDelimited, &mut out);
    encode_varint(answer.len() as u64, &mut out);
    out.extend_from_slice(answer);
    finish(out)
}

/// A message that grows at its end.
struct Writer {
    names: NodeNames,
    out: Vec<u8>,
}

impl Encoding for Writer {
    fn message<M: Message>(
        &mut self,
        rest: &M,
        large: &[Field],
        mut write: impl FnMut(&mut Self, Field) -> Result<(), Error>,
    ) -> Result<(), Error> {
        check(self.out.len() + rest.encoded_len())?;
        // A vector always has room.
        rest.encode_raw(&mut self.out);
        large.iter().try_for_each(|field| write(self, *field))
    }

    fn nested(&mut self, field: Field, write: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.prefixed(field, 0, write)
    }

    fn repeated<T>(
        &mut self,
        field: Field,
        items: impl IntoIterator<Item = T>,
        nodes: impl Fn(&T) -> usize,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        items.into_iter().try_for_each(|item| {
            let guess = match nodes(&item) {
                0 => 0,
                nodes => self.names.protobuf().mean_bytes(nodes),
            };
            self.prefixed(field, guess, |writer| write(writer, item))
        })
    }

    fn placeholder<M: Default>() -> Option<M> {
        None
    }

    fn node_names(&mut self, field: Field, rows: &Arc<RowSet>) -> Result<(), Error> {
        let Self { names, out } = self;
        let encoded = names.protobuf();
        out.reserve(encoded.mean_bytes(rows.len()).min(limits::MESSAGE_BYTES));
        let mut rows = RowsByName::new(rows, names);
        loop {
            let mut run = rows.run();
            if run.is_empty() {
                return Ok(());
            }
            if field.number == u32::from(EncodedNames::PROTOBUF_FIELD) {
                out.extend_from_slice(encoded.get(run.clone()));
            } else {
                run.end = run.start + 1;
                encode_key(field.number, WireType::LengthDelimited, out);
                out.extend_from_slice(encoded.get(run.clone()).get(1..).unwrap_or_default());
            }
            rows.take_ranks(run.len());
            check(out.len())?;
        }
    }
}

impl Writer {
    /// A nested message of about `guess` bytes. Its length comes before it and is known after it: where the length takes
    /// another number of bytes than that of the guess, the message moves.
    fn prefixed(
        &mut self,
        field: Field,
        guess: usize,
        write: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        encode_key(field.number, WireType::LengthDelimited, &mut self.out);
        let place = self.out.len();
        encode_varint(guess as u64, &mut self.out);
        let start = self.out.len();
        write(self)?;
        let mut length = Vec::with_capacity(5);
        encode_varint((self.out.len() - start) as u64, &mut length);
        self.out.splice(place..start, length);
        Ok(())
    }
}

/// Refuses a message that has become too large.
fn check(bytes: usize) -> Result<(), Error> {
    let limit = limits::MESSAGE_BYTES;
    if bytes > limit { Err(Error::AnswerTooLarge { limit }) } else { Ok(()) }
}
