//! Messages of a gRPC stream as they arrive: when each began, and what it holds.
//!
//! tonic splits the stream again and decodes; this only follows the framing, for the limits that [`body`](super::body) applies to each
//! message. Start at [`Messages::next`].

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::arrivals::RequestRoom;
use crate::Error;

/// Bytes of a message's head: a flag, and four bytes of length.
const HEAD: usize = 5;

/// The messages of a stream that have arrived; clones share them.
#[derive(Debug, Clone)]
pub struct Messages(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// When each message began, and its bytes.
    whole: Mutex<VecDeque<(Instant, usize)>>,
    /// Of everything that has arrived and is not taken by [`Messages::next`].
    room: RequestRoom,
}

impl Messages {
    /// Messages of a stream that holds this room.
    pub fn new(room: RequestRoom) -> Self {
        Self(Arc::new(Shared { whole: Mutex::default(), room }))
    }

    /// Notes a message that has arrived whole.
    pub fn push(&self, began: Instant, bytes: usize) {
        self.0.whole.lock().push_back((began, bytes));
    }

    /// When the next message began, and its bytes; the stream holds them no longer.
    pub fn next(&self) -> Option<(Instant, usize)> {
        let (began, bytes) = self.0.whole.lock().pop_front()?;
        self.0.room.shrink_to(self.0.room.bytes().saturating_sub(bytes));
        Some((began, bytes))
    }

    /// Gives back what is held of the head of the stream, whose number is bounded otherwise.
    pub fn leave_room(&self) {
        self.0.room.shrink_to(0);
    }
}

/// Where in the stream of messages the bytes end that have arrived.
#[derive(Debug, Default)]
pub struct Framing {
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
    /// When the first byte arrived of the message that has not arrived whole; none between messages.
    pub fn began(&self) -> Option<Instant> {
        self.began
    }

    /// Follows bytes that have arrived; notes every message that is whole.
    ///
    /// # Errors
    ///
    /// [`Error::BodyTooLarge`] for a message that declares more than `limit` bytes.
    pub fn advance(
        &mut self,
        mut data: &[u8],
        limit: usize,
        mut whole: impl FnMut(Instant, usize),
    ) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn message(bytes: usize) -> Vec<u8> {
        [&[0][..], &u32::try_from(bytes).unwrap().to_be_bytes(), &vec![7; bytes]].concat()
    }

    #[test]
    fn messages_are_found_wherever_the_stream_is_cut() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..300 {
            let sizes: Vec<usize> =
                (0..random.usize(1..9)).map(|_| [0, 1, random.usize(..5000)][random.usize(..3)]).collect();
            let stream: Vec<u8> = sizes.iter().flat_map(|bytes| message(*bytes)).collect();
            let mut framing = Framing::default();
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
        let mut framing = Framing::default();
        assert!(framing.advance(&message(100)[..4], 99, |_, _| {}).is_ok());
        let refused = framing.advance(&message(100)[4..5], 99, |_, _| {});
        assert!(matches!(refused, Err(Error::BodyTooLarge { limit: 99 })));
    }
}
