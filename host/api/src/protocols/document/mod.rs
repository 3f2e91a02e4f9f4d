//! Documents: responses in JSON that are encoded while they are sent.
//!
//! Sets of nodes stay sets of rows until the client reads that far, so a response of hundreds of megabytes holds some hundred
//! kilobytes. Everything else is text from the start. A document that fits into one piece is a plain body with a length.
//!
//! ```text
//! document    texts and sets of nodes, and the next piece of bytes from them; this file
//!   body      the HTTP body that takes piece after piece
//! ```
//!
//! Start at [`Document::new`].

mod body;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use crate::{Error, limits};
use nodesift_cache::NodeNames;
use nodesift_engine::{RowSet, RowsByName};

pub(crate) use body::Encoded;

/// A JSON document whose sets of nodes are expanded piece by piece.
#[derive(Debug)]
pub(crate) struct Document {
    names: NodeNames,
    parts: VecDeque<Part>,
    /// The text after the last part.
    tail: Vec<u8>,
}

/// A set of nodes, and the text before it.
#[derive(Debug)]
struct Part {
    text: Vec<u8>,
    nodes: NodeList,
}

/// Names of nodes, separated by commas.
#[derive(Debug)]
struct NodeList {
    set: Arc<RowSet>,
    /// None until the first piece with this list.
    rows: Option<RowsByName>,
    /// Follows each name, where the list is the inside of an object: a colon and the value.
    value: Option<Arc<[u8]>>,
    is_first: bool,
}

impl Document {
    /// An empty document over the nodes of one snapshot.
    pub(crate) fn new(names: NodeNames) -> Self {
        Self { names, parts: VecDeque::new(), tail: Vec::new() }
    }

    /// Appends text as it is.
    pub(crate) fn text(&mut self, text: &str) {
        self.tail.extend_from_slice(text.as_bytes());
    }

    /// Appends a value as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] where the value has no form in JSON.
    pub(crate) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        serde_json::to_writer(&mut self.tail, value).map_err(|error| {
            tracing::error!(%error, "a response cannot be encoded");
            Error::Internal
        })
    }

    /// Appends a field of an object: `name` is its text with quotes, colon, and the comma before it where there is one.
    ///
    /// # Errors
    ///
    /// As [`Self::value`].
    pub(crate) fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        self.text(name);
        self.value(value)
    }

    /// Appends the names of a set of nodes, sorted, as an array.
    pub(crate) fn nodes(&mut self, set: &Arc<RowSet>) {
        self.text("[");
        self.list(set, None);
        self.text("]");
    }

    /// Appends an entry of an object for each of a set of nodes, all with the same value. Returns whether there is any.
    ///
    /// # Errors
    ///
    /// As [`Self::value`].
    pub(crate) fn entries<T: Serialize + ?Sized>(&mut self, set: &Arc<RowSet>, value: &T) -> Result<bool, Error> {
        let mut text = vec![b':'];
        serde_json::to_writer(&mut text, value).map_err(|_| Error::Internal)?;
        self.list(set, Some(text.into()));
        Ok(!set.is_empty())
    }

    fn list(&mut self, set: &Arc<RowSet>, value: Option<Arc<[u8]>>) {
        if !set.is_empty() {
            let nodes = NodeList { set: Arc::clone(set), rows: None, value, is_first: true };
            self.parts.push_back(Part { text: std::mem::take(&mut self.tail), nodes });
        }
    }

    /// Heap bytes that the document holds until it is sent; shared sets of rows count in full.
    pub(crate) fn held_bytes(&self) -> usize {
        let part = |Part { text, nodes }: &Part| {
            text.capacity() + nodes.set.bytes() + nodes.value.as_ref().map_or(0, |value| value.len())
        };
        self.tail.capacity() + self.parts.capacity() * size_of::<Part>() + self.parts.iter().map(part).sum::<usize>()
    }

    /// The next bytes, about [`limits::STREAM_CHUNK`] of them; none at the end.
    pub(crate) fn next_piece(&mut self) -> Option<Vec<u8>> {
        let mut piece = Vec::new();
        while piece.len() < limits::STREAM_CHUNK {
            let Some(Part { text, nodes }) = self.parts.front_mut() else {
                append(&mut piece, std::mem::take(&mut self.tail));
                break;
            };
            append(&mut piece, std::mem::take(text));
            if !nodes.write(&self.names, &mut piece) {
                self.parts.pop_front();
            }
        }
        (!piece.is_empty()).then_some(piece)
    }

    /// Whether every part has been written.
    pub(crate) fn is_done(&self) -> bool {
        self.parts.is_empty() && self.tail.is_empty()
    }
}

/// Appends a text; an empty piece becomes it without a copy.
fn append(piece: &mut Vec<u8>, text: Vec<u8>) {
    if piece.is_empty() {
        *piece = text;
    } else {
        piece.extend_from_slice(&text);
    }
}

impl NodeList {
    /// Writes names until the piece is full; returns whether some are left.
    fn write(&mut self, names: &NodeNames, piece: &mut Vec<u8>) -> bool {
        let rows = self.rows.get_or_insert_with(|| RowsByName::new(&self.set, names));
        let (encoded, value) = (names.json(), self.value.as_deref());
        let left = encoded.mean_bytes(self.set.len()) + self.set.len() * value.map_or(0, <[u8]>::len);
        piece.reserve(left.min(limits::STREAM_CHUNK.saturating_sub(piece.len())) + NAME_BYTES);
        while piece.len() < limits::STREAM_CHUNK {
            let run = rows.run();
            if run.is_empty() {
                return false;
            }
            // A value follows each name.
            let room = if value.is_some() { 1 } else { limits::STREAM_CHUNK - piece.len() };
            let run = encoded.filling(run, room);
            let comma = usize::from(std::mem::take(&mut self.is_first));
            rows.take_ranks(run.len());
            piece.extend_from_slice(encoded.get(run).get(comma..).unwrap_or_default());
            piece.extend_from_slice(value.unwrap_or_default());
        }
        true
    }
}

/// The longest name of a Kubernetes object, with quotes and comma.
const NAME_BYTES: usize = 253 + 3;

#[cfg(test)]
mod tests;
