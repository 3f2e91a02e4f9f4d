//! Limits of a stream of gRPC messages: time and room of each message as of any other request.
//!
//! tonic splits the stream again and decodes; this only follows the framing, so that the handler finds for each message when
//! it began and what it holds. Start at [`bound`] and [`Messages::next`].

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::arrivals::{Arrival, RequestRoom, WaitsFor};
use super::body::refusal;
use super::places::Activity;
use crate::Error;

/// Bytes of a message's head: a flag, and four bytes of length.
const HEAD: usize = 5;

/// The messages of a stream that have arrived; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Messages(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// When each message began, and its bytes.
    whole: Mutex<VecDeque<(Instant, usize)>>,
    /// Of everything that has arrived and is not taken by [`Messages::next`].
    room: RequestRoom,
}

impl Messages {
    /// When the next message began, and its bytes; the stream holds them no longer.
    pub(crate) fn next(&self) -> Option<(Instant, usize)> {
        let (began, bytes) = self.0.whole.lock().pop_front()?;
        self.0.room.shrink_to(self.0.room.bytes().saturating_sub(bytes));
        Some((began, bytes))
    }

    /// Gives back what is held of the head of the stream, whose number is bounded otherwise.
    pub(crate) fn leave_room(&self) {
        self.0.room.shrink_to(0);
    }
}

/// Limits the messages of a stream to `time` each, and takes room for them.
pub(crate) fn bound(body: Body, limit: usize, time: Duration, arrival: Arrival, peer: Activity) -> (Body, Messages) {
    let messages = Messages(Arc::new(Shared { whole: Mutex::default(), room: arrival.room() }));
    let framing = Framing { head: [0; HEAD], seen: 0, left: 0, bytes: 0, began: None };
    let body = MessageBody {
        inner: body,
        limit,
        time,
        arrival,
        messages: messages.clone(),
        framing,
        timer: None,
        arrived: None,
        peer,
    };
    (Body::new(body), messages)
}

struct MessageBody {
    inner: Body,
    limit: usize,
    time: Duration,
    arrival: Arrival,
    messages: Messages,
    framing: Framing,
    /// Of the message that has begun.
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Frame that has arrived and waits for memory.
    arrived: Option<Frame<Bytes>>,
    peer: Activity,
}

/// Where in the stream of messages the bytes end that have arrived.
#[derive(Debug)]
struct Framing {
    head: [u8; HEAD],
    /// Bytes of the head that have arrived.
    seen: usize,
    /// Bytes of the message that have not arrived.
    left: usize,
    /// Bytes of head and message that have arrived.
    bytes: usize,
    /// When the first byte of the message arrived; none between messages.
    began: Option<Instant>,
}

impl Framing {
    /// Follows bytes that have arrived; notes every message that is whole.
    ///
    /// # Errors
    ///
    /// [`Error::BodyTooLarge`] for a message that declares more than `limit` bytes.
    fn advance(&mut self, mut data: &[u8], limit: usize, mut whole: impl FnMut(Instant, usize)) -> Result<(), Error> {
        while !data.is_empty() {
            let began = *self.began.get_or_insert_with(Instant::now);
            if self.seen < HEAD {
                let count = data.len().min(HEAD - self.seen);
                let (part, rest) = data.split_at(count);
                if let Some(place) = self.head.get_mut(self.seen..self.seen + count) {
                    place.copy_from_slice(part);
                }
                (self.seen, self.bytes, data) = (self.seen + count, self.bytes + count, rest);
                if self.seen == HEAD {
                    let [_, length @ ..] = self.head;
                    self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                    if self.left > limit {
                        return Err(Error::BodyTooLarge { limit });
                    }
                }
            } else {
                let count = data.len().min(self.left);
                (self.left, self.bytes) = (self.left - count, self.bytes + count);
                data = data.get(count..).unwrap_or_default();
            }
            if self.seen == HEAD && self.left == 0 {
                whole(began, self.bytes);
                (self.seen, self.bytes, self.began) = (0, 0, None);
            }
        }
        Ok(())
    }
}

impl MessageBody {
    /// Waits for the peer: for ever between messages, for a limited time within one.
    fn poll_peer(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let Some(began) = self.framing.began else { return Poll::Pending };
        if let Err(error) = self.arrival.park(WaitsFor::Peer, cx) {
            return Poll::Ready(error);
        }
        let due = began + self.time;
        if self.timer.as_ref().is_none_or(|(of, _)| *of != began) {
            self.timer = Some((began, Box::pin(sleep_until(due))));
        }
        if let Some((_, timer)) = &mut self.timer {
            ready!(timer.as_mut().poll(cx));
        }
        Poll::Ready(Error::BodyTooSlow)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.arrived.is_none() {
            let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
                return self.poll_peer(cx).map(|error| Some(Err(error)));
            };
            self.peer.touch();
            self.arrival.unpark()?;
            match frame {
                Some(Ok(frame)) => self.arrived = Some(frame),
                Some(Err(error)) => return Poll::Ready(Some(Err(Error::BodyBroken { reason: error.to_string() }))),
                None => return Poll::Ready(None),
            }
        }
        let data = self.arrived.as_ref().and_then(Frame::data_ref);
        ready!(self.arrival.poll_take(data.map_or(0, Bytes::len), cx))?;
        if let Some(data) = data {
            let was_between = self.framing.began.is_none();
            let whole = |began, bytes| self.messages.0.whole.lock().push_back((began, bytes));
            self.framing.advance(data, self.limit, whole)?;
            if was_between {
                self.arrival.restart();
            }
        }
        Poll::Ready(self.arrived.take().map(Ok))
    }
}

impl hyper::body::Body for MessageBody {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.poll(cx).map(|frame| frame.map(|frame| frame.map_err(|error| refusal(error, true))))
    }

    fn is_end_stream(&self) -> bool {
        self.arrived.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn message(bytes: usize) -> Vec<u8> {
        [&[0][..], &u32::try_from(bytes).unwrap().to_be_bytes(), &vec![7; bytes]].concat()
    }

    #[test]
    fn messages_are_found_wherever_the_stream_is_cut() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let sizes: Vec<usize> =
                (0..random.usize(1..9)).map(|_| [0, 1, random.usize(..5000)][random.usize(..3)]).collect();
            let stream: Vec<u8> = sizes.iter().flat_map(|bytes| message(*bytes)).collect();
            let mut framing = Framing { head: [0; HEAD], seen: 0, left: 0, bytes: 0, began: None };
            let (mut found, mut rest) = (Vec::new(), stream.as_slice());
            while !rest.is_empty() {
                let (part, after) = rest.split_at(random.usize(1..=rest.len().min(700)));
                framing.advance(part, 5000, |_, bytes| found.push(bytes - HEAD)).unwrap();
                rest = after;
            }
            assert_eq!(found, sizes);
            assert!(framing.began.is_none());
        }
    }

    #[test]
    fn a_message_that_declares_too_much_is_refused_by_its_head() {
        let mut framing = Framing { head: [0; HEAD], seen: 0, left: 0, bytes: 0, began: None };
        assert!(framing.advance(&message(100)[..4], 99, |_, _| {}).is_ok());
        let refused = framing.advance(&message(100)[4..5], 99, |_, _| {});
        assert!(matches!(refused, Err(Error::BodyTooLarge { limit: 99 })));
    }
}
