//! A stream of requests split into its messages. tonic's own decoder keeps the buffer of the largest message for as long as the
//! stream is open; here the memory of a message goes with it.
//!
//! Start at [`messages`].

use axum::body::Body;
use axum::extract::Request;
use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::{Stream, stream};
use http_body_util::BodyExt as _;
use prost::Message;
use tonic::Status;

use super::frame::{HEAD_BYTES, check_encoding};
use crate::{Error, limits};

/// The messages of a request.
///
/// # Errors
///
/// UNIMPLEMENTED where they are compressed.
pub(super) fn messages<Q: Message + Default + 'static>(
    request: Request,
    max: usize,
) -> Result<impl Stream<Item = Result<Q, Status>> + Send, Status> {
    check_encoding(&request)?;
    Ok(split(request.into_body(), max))
}

/// The messages of a body, up to the first error. One that declares more than `max` bytes is refused by its head.
fn split<Q: Message + Default>(body: Body, max: usize) -> impl Stream<Item = Result<Q, Status>> + Send {
    stream::try_unfold((body, BytesMut::new()), move |(mut body, mut buffer)| async move {
        loop {
            if let Some(message) = next(&mut buffer, max)? {
                let message = Q::decode(message).map_err(|error| Status::invalid_argument(error.to_string()))?;
                return Ok(Some((message, (body, buffer))));
            }
            match body.frame().await {
                // Trailers of a request mean nothing.
                Some(Ok(frame)) => buffer.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Err(Status::from_error(error.into())),
                None if buffer.is_empty() => return Ok(None),
                None => return Err(Status::invalid_argument("the stream ends within a message")),
            }
        }
    })
}

/// Takes the next message where it has arrived whole.
fn next(buffer: &mut BytesMut, max: usize) -> Result<Option<Bytes>, Status> {
    let Some((&[compressed, ref length @ ..], _)) = buffer.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
    if compressed != 0 {
        return Err(Status::invalid_argument("a message is compressed, and no compression was agreed upon"));
    }
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > max {
        return Err(Error::BodyTooLarge { limit: max }.into());
    }
    if buffer.len() < HEAD_BYTES + length {
        return Ok(None);
    }
    let mut message = buffer.split_to(HEAD_BYTES + length);
    message.advance(HEAD_BYTES);
    if length > limits::SMALL_BYTES {
        // What follows, a frame at most, must not keep the memory of a large message.
        *buffer = BytesMut::from(buffer.as_ref());
    }
    Ok(Some(message.freeze()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;

    use futures_util::StreamExt as _;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use nodesift_proto::v1::{FilterRequest, FilterStreamRequest};

    use super::*;

    fn framed(message: &FilterStreamRequest) -> Vec<u8> {
        let bytes = message.encode_to_vec();
        [&[0][..], &u32::try_from(bytes.len()).unwrap().to_be_bytes(), &bytes].concat()
    }

    fn body(bytes: &[u8], pieces: usize) -> Body {
        let pieces: Vec<Bytes> = bytes.chunks(pieces).map(Bytes::copy_from_slice).collect();
        let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        Body::new(StreamBody::new(stream::iter(frames)))
    }

    async fn messages(body: Body, max: usize) -> Vec<Result<FilterStreamRequest, Status>> {
        split(body, max).collect().await
    }

    #[tokio::test]
    async fn messages_come_whole_wherever_the_stream_is_cut() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..100 {
            let sent: Vec<FilterStreamRequest> = (0..random.u64(1..9))
                .map(|id| {
                    let uid = "x".repeat([0, 10, 40_000][random.usize(..3)]);
                    let pod = nodesift_proto::v1::Pod::from(nodesift_proto::v1::pod::Pod::Uid(uid));
                    let filter = random.bool().then(|| FilterRequest { pods: vec![pod], ..FilterRequest::default() });
                    FilterStreamRequest { id, filter }
                })
                .collect();
            let bytes: Vec<u8> = sent.iter().flat_map(framed).collect();
            let received = messages(body(&bytes, random.usize(1..20_000)), 1 << 20).await;
            assert_eq!(received.into_iter().map(Result::unwrap).collect::<Vec<_>>(), sent);
        }
    }

    #[tokio::test]
    async fn what_is_no_message_ends_the_stream_with_its_code() {
        let code = async |bytes: &[u8], max: usize| {
            let received = messages(body(bytes, 3), max).await;
            assert_eq!(received.len(), 1, "{received:?}");
            received.into_iter().next().unwrap().unwrap_err().code()
        };
        let whole = framed(&FilterStreamRequest { id: 1, filter: None });
        assert_eq!(code(&whole[..whole.len() - 1], 100).await, tonic::Code::InvalidArgument);
        assert_eq!(code(&[1, 0, 0, 0, 0], 100).await, tonic::Code::InvalidArgument);
        assert_eq!(code(&[0, 0, 0, 0, 1, 0xff], 100).await, tonic::Code::InvalidArgument);
        assert_eq!(code(&[0, 0, 0, 0, 101], 100).await, tonic::Code::ResourceExhausted);
    }

    #[test]
    fn the_memory_of_a_large_message_goes_with_it() {
        let mut buffer = BytesMut::from(&[&[0, 0, 16, 0, 0][..], &vec![7; 1 << 20], b"rest"].concat()[..]);
        assert_eq!(next(&mut buffer, 1 << 22).unwrap().unwrap().len(), 1 << 20);
        assert_eq!(&buffer[..], b"rest");
        assert!(buffer.capacity() < 1 << 16, "{}", buffer.capacity());
    }
}
