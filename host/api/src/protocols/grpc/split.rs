//! A stream of requests split into its messages. tonic's own decoder keeps the buffer of the largest message for as long as the
//! stream is open; here the memory of a message goes with it.
//!
//! Start at [`messages`].

use std::future::Future;
use std::marker::PhantomData;
use std::pin::pin;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Buf as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use prost::Message;
use tonic::Status;

use super::frame::{HEAD_BYTES, check_encoding};
use crate::{Error, limits};
use nodesift_edge as edge;

/// The messages of a request.
///
/// # Errors
///
/// UNIMPLEMENTED where they are compressed.
pub(super) fn messages<Q: Message + Default>(request: Request, max: usize) -> Result<Messages<Q>, Status> {
    check_encoding(&request)?;
    Ok(Messages::new(request.into_body(), max))
}

/// The messages of a body, up to the first error. One that declares more than `max` bytes is refused by its head.
#[derive(Debug)]
pub(super) struct Messages<Q> {
    body: Body,
    /// Bytes of the body that have been read, and are no message yet or have not been asked for.
    buffer: BytesMut,
    end: Option<End>,
    max: usize,
    message: PhantomData<fn() -> Q>,
}

/// How a body has ended.
#[derive(Debug)]
enum End {
    Whole,
    Failed(Status),
    /// The failure has been told.
    Told,
}

impl<Q: Message + Default> Messages<Q> {
    fn new(body: Body, max: usize) -> Self {
        Self { body, buffer: BytesMut::new(), end: None, max, message: PhantomData }
    }

    /// The next message; none after the last, or after an error. Dropped before it is ready, it loses nothing.
    pub(super) async fn next(&mut self) -> Option<Result<Q, Status>> {
        loop {
            let message = match next(&mut self.buffer, self.max) {
                _ if matches!(self.end, Some(End::Told)) => return None,
                Ok(message) => message,
                Err(error) => return Some(Err(self.tell(error))),
            };
            if let Some(message) = message {
                let message = Q::decode(message).map_err(|error| Status::invalid_argument(error.to_string()));
                return Some(message.map_err(|error| self.tell(error)));
            }
            match &self.end {
                None => self.frame().await,
                Some(End::Failed(error)) => return Some(Err(self.tell(error.clone()))),
                Some(End::Whole) if self.buffer.is_empty() => return None,
                Some(End::Whole | End::Told) => {
                    return Some(Err(self.tell(Status::invalid_argument("the stream ends within a message"))));
                }
            }
        }
    }

    /// Waits for something else, and reads on meanwhile, up to [`limits::READ_AHEAD`]: HTTP/2 ends a connection of which some hundred small
    /// frames have not been read, as clients send them that write many requests at once.
    pub(super) async fn while_waiting<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        while self.end.is_none() && self.buffer.len() < limits::READ_AHEAD {
            tokio::select! {
                biased;
                done = &mut other => return done,
                () = self.frame() => {}
            }
        }
        other.await
    }

    fn tell(&mut self, error: Status) -> Status {
        self.end = Some(End::Told);
        error
    }

    /// Reads the next frame of the body.
    async fn frame(&mut self) {
        match self.body.frame().await {
            // Trailers of a request mean nothing.
            Some(Ok(frame)) => self.buffer.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Some(Err(error)) => self.end = Some(End::Failed(Status::from_error(error.into()))),
            None => self.end = Some(End::Whole),
        }
    }
}

/// Takes the next message where it has arrived whole.
fn next(buffer: &mut BytesMut, max: usize) -> Result<Option<Bytes>, Status> {
    let Some((&[compressed, ref length @ ..], _)) = buffer.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
    if compressed != 0 {
        return Err(Status::invalid_argument("a message is compressed, and no compression was agreed upon"));
    }
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > max {
        return Err(Error::from(edge::Error::BodyTooLarge { limit: max }).into());
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

    use futures_util::stream;
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
        let (mut messages, mut read) = (Messages::new(body, max), Vec::new());
        while let Some(message) = messages.next().await {
            read.push(message);
            // As if each had to be waited for.
            messages.while_waiting(tokio::task::yield_now()).await;
        }
        read
    }

    #[tokio::test]
    async fn a_wait_reads_on_up_to_a_limit_and_loses_nothing() {
        let sent: Vec<FilterStreamRequest> = (0..100_000).map(|id| FilterStreamRequest { id, filter: None }).collect();
        let bytes: Vec<u8> = sent.iter().flat_map(framed).collect();
        let mut messages: Messages<FilterStreamRequest> = Messages::new(body(&bytes, 9), 1 << 20);
        messages.while_waiting(std::future::ready(())).await;
        assert_eq!(messages.buffer.len(), 0, "what is there already waits for nothing");
        let mut ticks = 0;
        messages
            .while_waiting(std::future::poll_fn(|context| {
                ticks += 1;
                context.waker().wake_by_ref();
                if ticks > 200_000 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            }))
            .await;
        assert!(
            (limits::READ_AHEAD..limits::READ_AHEAD + 9).contains(&messages.buffer.len()),
            "{}",
            messages.buffer.len()
        );
        for expected in sent {
            assert_eq!(messages.next().await.unwrap().unwrap(), expected);
        }
        assert!(messages.next().await.is_none());
    }

    #[tokio::test]
    async fn messages_come_whole_wherever_the_stream_is_cut() {
        let seed = nodesift_seed::seed();
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
