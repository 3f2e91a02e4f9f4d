//! The body of a document: one piece at a time, made when the connection has room for it.
//!
//! Start at [`Encoded::new`].

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;

use nodesift_cache::NodeNames;

use super::Document;
use crate::protocols::json::JSON;
use crate::{Error, limits};
use nodesift_edge::unsent::{self, Unsent};

/// A document with its first piece encoded, which is all of it where it is small.
#[derive(Debug)]
pub(crate) struct Encoded {
    first: Vec<u8>,
    rest: Document,
}

impl Encoded {
    /// Encodes the first piece: in the slot of the evaluation, so that an I/O thread has nothing to do for a small response.
    pub(crate) fn new(mut document: Document) -> Self {
        Self { first: document.next_piece().unwrap_or_default(), rest: document }
    }

    /// A document that is text already.
    pub(crate) fn from_text(text: Vec<u8>) -> Self {
        Self { first: text, rest: Document::new(NodeNames::default()) }
    }
}

impl Encoded {
    /// The response, once its connection has room for it.
    ///
    /// # Errors
    ///
    /// [`Error::Edge`], [`Error::Overloaded`].
    pub(crate) fn respond(self, unsent: Option<&Unsent>) -> Result<Response, Error> {
        let encoded = self.first.len();
        let later = if self.rest.is_done() { 0 } else { self.rest.held_bytes() + limits::STREAM_CHUNK };
        let held = unsent.map(|unsent| unsent.hold(encoded + later, encoded)).transpose()?;
        let body = if self.rest.is_done() { Body::from(self.first) } else { Body::new(Pieces(self)) };
        let response = ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], body).into_response();
        Ok(unsent::holding(response, held))
    }
}

/// The body: the first piece, then those that the document still makes.
struct Pieces(Encoded);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Encoded { first, rest } = &mut self.0;
        let piece = if first.is_empty() { rest.next_piece() } else { Some(std::mem::take(first)) };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.first.is_empty() && self.0.rest.is_done()
    }
}
