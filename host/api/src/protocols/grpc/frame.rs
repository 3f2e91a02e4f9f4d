//! Frames of gRPC over HTTP/2: requests decoded by tonic, responses sent without a copy of their messages.
//!
//! A message is preceded by [`HEAD_BYTES`] bytes, which whoever encodes it leaves free. Start at [`decode`] and [`reply`].

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use prost::Message;
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstDecoder;

use crate::Error;
use nodesift_edge as edge;
use nodesift_edge::unsent::{self, Endless, Held, Unsent};

/// Bytes before a message: whether it is compressed, and its length.
pub(super) const HEAD_BYTES: usize = 5;

/// The header that names the compression of messages.
const ENCODING: &str = "grpc-encoding";

/// Fills the free bytes before a message.
pub(super) fn finish(mut framed: Vec<u8>) -> Vec<u8> {
    let length = framed.len().saturating_sub(HEAD_BYTES);
    // Messages are far shorter than 4 GiB.
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    if let Some(place) = framed.get_mut(1..HEAD_BYTES) {
        place.copy_from_slice(&length);
    }
    framed
}

/// An encoded message after its head, in the room that it has.
pub(super) fn framed(message: &[u8], held: Option<Held>) -> Bytes {
    let mut framed = Vec::with_capacity(HEAD_BYTES + message.len());
    framed.resize(HEAD_BYTES, 0);
    framed.extend_from_slice(message);
    Bytes::from_owner(HeldMessage { framed: finish(framed), _held: held })
}

/// Refuses requests with compressed messages, by the header `grpc-encoding`.
pub(super) fn check_encoding(request: &Request) -> Result<(), Error> {
    let encoding = request.headers().get(ENCODING);
    if let Some(found) = encoding.filter(|found| found.as_bytes() != b"identity") {
        let found = String::from_utf8_lossy(found.as_bytes()).into_owned();
        return Err(Error::ContentCoding { found });
    }
    Ok(())
}

/// The one message of a request. It is refused by its declared length where that is more than `max` bytes.
///
/// # Errors
///
/// As [`corrected`]; INVALID_ARGUMENT without a message.
pub(super) async fn decode<Q: Message + Default + 'static>(request: Request, max: usize) -> Result<Q, Status> {
    check_encoding(&request)?;
    let mut messages = Streaming::new_request(ProstDecoder::<Q>::default(), request.into_body(), None, Some(max));
    let message = messages.message().await.map_err(|status| corrected(status, max))?;
    // To the end of the body, so that the stream is not reset with bytes left in it.
    messages.trailers().await.map_err(|status| corrected(status, max))?;
    message.ok_or_else(|| Error::invalid("request", "has no message").into())
}

/// Corrects the code of a message that tonic refuses: OUT_OF_RANGE for one that is too long becomes RESOURCE_EXHAUSTED,
/// INTERNAL for one that does not decode becomes INVALID_ARGUMENT, as everywhere in this API.
fn corrected(status: Status, max: usize) -> Status {
    match status.code() {
        Code::OutOfRange => Error::from(edge::Error::BodyTooLarge { limit: max }).into(),
        Code::Internal => Status::invalid_argument(status.message()),
        _ => status,
    }
}

/// A response of one message, whose head is filled, once its connection has room for it.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`].
pub(super) fn reply(framed: Vec<u8>, unsent: Option<&Unsent>) -> Result<Response, Error> {
    let held = unsent.map(|unsent| unsent.hold(framed.len(), framed.len())).transpose()?;
    Ok(reply_in(framed, held))
}

/// Responds with one message, in memory that is reserved already.
pub(super) fn reply_in(framed: Vec<u8>, held: Option<Held>) -> Response {
    let mut response = replies(stream::iter([Ok(Bytes::from(framed))]));
    response.extensions_mut().remove::<Endless>();
    unsent::holding(response, held)
}

/// One message of a stream, which keeps its room until it is sent.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`].
pub(super) fn held(framed: Vec<u8>, unsent: Option<&Unsent>) -> Result<Bytes, Error> {
    let Some(unsent) = unsent else { return Ok(framed.into()) };
    let held = unsent.hold(framed.len(), 0)?;
    Ok(Bytes::from_owner(HeldMessage { framed, _held: Some(held) }))
}

/// A message and its room.
struct HeldMessage {
    framed: Vec<u8>,
    _held: Option<Held>,
}

impl AsRef<[u8]> for HeldMessage {
    fn as_ref(&self) -> &[u8] {
        &self.framed
    }
}

/// A response of many messages without an end, up to the first error.
pub(super) fn replies(messages: impl Stream<Item = Result<Bytes, Status>> + Send + 'static) -> Response {
    let ended = stream::iter([Err(Status::ok(""))]);
    let frames = messages.chain(ended).scan(false, |has_ended, message| {
        let frame = match message {
            _ if *has_ended => None,
            Ok(framed) => Some(Frame::data(framed)),
            Err(status) => {
                *has_ended = true;
                Some(Frame::trailers(trailers(&status)))
            }
        };
        std::future::ready(frame.map(Ok::<_, std::convert::Infallible>))
    });
    let mut response = Response::new(Body::new(StreamBody::new(frames)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response.extensions_mut().insert(Endless);
    response
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    if let Err(error) = status.add_header(&mut trailers) {
        tracing::debug!(%error, "the status of a stream has no form in headers");
    }
    trailers
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http_body_util::BodyExt as _;

    async fn sent(response: Response) -> (Vec<u8>, Option<HeaderMap>) {
        let whole = response.into_body().collect().await.unwrap();
        let trailers = whole.trailers().cloned();
        (whole.to_bytes().to_vec(), trailers)
    }

    #[tokio::test]
    async fn a_message_has_its_length_before_it_and_a_status_after_it() {
        let (bytes, trailers) = sent(reply(finish(vec![0, 0, 0, 0, 0, 7, 8]), None).unwrap()).await;
        assert_eq!(bytes, [0, 0, 0, 0, 2, 7, 8]);
        assert_eq!(trailers.unwrap().get("grpc-status").unwrap(), "0");
    }

    #[tokio::test]
    async fn an_error_ends_a_stream_of_messages() {
        let one = || Bytes::from(finish(vec![0; HEAD_BYTES]));
        let items = [Ok(one()), Err(Status::aborted("enough")), Ok(one())];
        let (bytes, trailers) = sent(replies(stream::iter(items))).await;
        assert_eq!(bytes.len(), HEAD_BYTES);
        let trailers = trailers.unwrap();
        assert_eq!(trailers.get("grpc-status").unwrap(), "10");
        assert_eq!(trailers.get("grpc-message").unwrap(), "enough");
    }
}
