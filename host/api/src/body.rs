//! A request's body: bounded in bytes and time, and all bodies together in the memory that they take.
//!
//! The bounds count while the handler reads; nothing is buffered here. Start at [`Bodies::bound`].

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::PollSemaphore;

use super::Error;
use crate::limits;

/// What room for bodies is counted in: permits are few enough for any limit that can be configured.
const ROOM_UNIT: usize = 1024;

/// What bodies may take, one by one and together; clones share the room.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    limit: usize,
    room: Arc<Semaphore>,
    /// Bodies of unknown length that may ask for room. They ask for much: where more than have room waited for it, they would
    /// take it from those that ask for little.
    undeclared: Arc<Semaphore>,
}

/// The room that a body takes, for as long as this is held.
#[derive(Debug, Clone, Default)]
pub(super) struct Held(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Bodies {
    /// Bodies of at most `limit` bytes each.
    pub(super) fn new(limit: usize) -> Self {
        // One body of the largest size always finds room in the end.
        let bytes = limits::BODIES_BYTES.max(limit);
        let undeclared = (bytes / limit.max(1)).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            limit,
            room: Arc::new(Semaphore::new(bytes.div_ceil(ROOM_UNIT))),
            undeclared: Arc::new(Semaphore::new(undeclared)),
        }
    }

    /// Bytes that one body may have.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Bounds a body. What it holds of the room is given back when the last of body and [`Held`] is dropped: whoever
    /// answers keeps it until what was read is needed no longer.
    pub(super) fn bound(&self, body: Body, grpc: bool) -> (Body, Held) {
        let held = Held::default();
        (Body::new(Bounded::new(body, self, held.clone(), limits::BODY_TIME, grpc)), held)
    }
}

/// A request body that ends with an error once it is too large or too slow, or finds no room.
struct Bounded {
    inner: Body,
    limit: usize,
    taken: usize,
    time: Duration,
    due: Instant,
    /// Set up only when the body has to be waited for: small bodies arrive with their head.
    clock: Option<Pin<Box<Sleep>>>,
    room: PollSemaphore,
    undeclared: PollSemaphore,
    /// Held until the body is there: one of the few of unknown length.
    is_one_of_few: Option<OwnedSemaphorePermit>,
    held: Held,
    place: Place,
    grpc: bool,
    /// Bytes that a gRPC message says it has, with what it says so in; HTTP/2 knows no lengths.
    announced: Option<usize>,
}

/// Whether a body has room.
enum Place {
    /// It needs none so far.
    Free,
    /// It waits for some, until then.
    Awaited(Pin<Box<Sleep>>),
    /// It has what it needs: so many bytes.
    Taken(usize),
}

impl Bounded {
    fn new(inner: Body, bodies: &Bodies, held: Held, time: Duration, grpc: bool) -> Self {
        Self {
            inner,
            limit: bodies.limit,
            taken: 0,
            time,
            due: Instant::now() + time,
            clock: None,
            room: PollSemaphore::new(Arc::clone(&bodies.room)),
            undeclared: PollSemaphore::new(Arc::clone(&bodies.undeclared)),
            is_one_of_few: None,
            held,
            place: Place::Free,
            grpc,
            announced: None,
        }
    }

    /// tonic finds a status in an error's chain of sources; the other handlers look for our own error.
    fn refusal(&self, error: Error) -> Box<dyn StdError + Send + Sync> {
        if self.grpc { tonic::Status::from(error).into() } else { error.into() }
    }

    /// How long it says that it is.
    fn declared(&self) -> Option<usize> {
        let exact = self.inner.size_hint().exact();
        let exact = exact.map(|left| usize::try_from(left).unwrap_or(usize::MAX).saturating_add(self.taken));
        exact.or_else(|| self.announced.filter(|announced| self.taken <= *announced))
    }

    /// The room that must be had before more is read: all that may still come, at once, so that no two bodies wait for
    /// each other half read.
    fn needed(&self) -> usize {
        match self.declared() {
            _ if matches!(self.place, Place::Taken(_)) => 0,
            Some(declared) if declared > limits::BODY_BYTES_FREE => declared.min(self.limit),
            None if self.taken > limits::BODY_BYTES_FREE_UNDECLARED => self.limit,
            Some(_) | None => 0,
        }
    }

    /// Asks for room, as one of few where the length is unknown.
    fn poll_permits(&mut self, needed: usize, cx: &mut Context<'_>) -> Poll<Option<OwnedSemaphorePermit>> {
        if self.declared().is_none() && self.is_one_of_few.is_none() {
            self.is_one_of_few = ready!(self.undeclared.poll_acquire(cx));
        }
        let units = u32::try_from(needed.div_ceil(ROOM_UNIT)).unwrap_or(u32::MAX);
        self.room.poll_acquire_many(cx, units)
    }

    /// Waits for room, for [`limits::QUEUE_TIME`] at most.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let needed = self.needed();
        if needed == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(permit) = self.poll_permits(needed, cx) {
            *self.held.0.lock() = permit;
            self.place = Place::Taken(needed);
            // The wait was ours, not the client's.
            self.due = Instant::now() + self.time;
            self.clock = None;
            return Poll::Ready(Ok(()));
        }
        if matches!(self.place, Place::Free) {
            self.place = Place::Awaited(Box::pin(sleep_until(Instant::now() + limits::QUEUE_TIME)));
        }
        if let Place::Awaited(end) = &mut self.place {
            ready!(end.as_mut().poll(cx));
        }
        Poll::Ready(Err(Error::Overloaded))
    }

    /// Gives back what was asked for and did not come.
    fn settle(&mut self) {
        self.is_one_of_few = None;
        let mut held = self.held.0.lock();
        let Some(permit) = held.as_mut() else { return };
        let unused = permit.num_permits().saturating_sub(self.taken.div_ceil(ROOM_UNIT));
        drop(permit.split(unused));
    }
}

impl hyper::body::Body for Bounded {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        if let Err(error) = ready!(this.poll_room(cx)) {
            return Poll::Ready(Some(Err(this.refusal(error))));
        }
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let due = this.due;
            let clock = this.clock.get_or_insert_with(|| Box::pin(sleep_until(due)));
            ready!(clock.as_mut().poll(cx));
            return Poll::Ready(Some(Err(this.refusal(Error::BodyTooSlow))));
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if this.grpc && this.taken == 0 {
                    this.announced = frame.data_ref().and_then(|first| announced(first));
                }
                this.taken = this.taken.saturating_add(frame.data_ref().map_or(0, Bytes::len));
                if this.taken > this.limit {
                    return Poll::Ready(Some(Err(this.refusal(Error::BodyTooLarge { limit: this.limit }))));
                }
                if let Place::Taken(room) = this.place
                    && this.taken > room
                {
                    let reason = "it is longer than it said".to_owned();
                    return Poll::Ready(Some(Err(this.refusal(Error::BodyBroken { reason }))));
                }
                if this.inner.is_end_stream() {
                    this.settle();
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(Err(error.into())),
            None => {
                this.settle();
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    /// No more than the limit, whatever the peer says.
    fn size_hint(&self) -> SizeHint {
        let mut hint = self.inner.size_hint();
        if hint.upper().is_none() {
            let rest = self.limit.saturating_sub(self.taken) as u64;
            hint.set_upper(rest.max(hint.lower()));
        }
        hint
    }
}

/// Bytes of a gRPC message and of its head, by its head: a flag, and four bytes of length.
fn announced(first: &[u8]) -> Option<usize> {
    let (head, _) = first.split_first_chunk::<5>()?;
    let [_, length @ ..] = *head;
    usize::try_from(u32::from_be_bytes(length)).ok()?.checked_add(head.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use std::convert::Infallible;

    use super::*;
    use crate::json;

    const PATIENT: Duration = Duration::from_secs(3600);

    /// A body of unknown length: frames of ten bytes, then silence for ever.
    struct Dribble(usize);

    impl hyper::body::Body for Dribble {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(left) = self.0.checked_sub(1) else { return Poll::Pending };
            self.0 = left;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"0123456789")))))
        }
    }

    fn bounded(body: Body, bodies: &Bodies, time: Duration, grpc: bool) -> (Body, Held) {
        let held = Held::default();
        (Body::new(Bounded::new(body, bodies, held.clone(), time, grpc)), held)
    }

    async fn read_dribble(frames: usize, limit: usize, time: Duration) -> Error {
        let (body, _held) = bounded(Body::new(Dribble(frames)), &Bodies::new(limit), time, false);
        json::read(body).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_cut_at_its_limit() {
        // The source never ends: reading returns only because the limit is checked frame by frame.
        assert!(matches!(read_dribble(usize::MAX, 25, PATIENT).await, Error::BodyTooLarge { limit: 25 }));
        let large = limits::BODIES_BYTES / 2;
        assert!(matches!(read_dribble(usize::MAX, large, PATIENT).await, Error::BodyTooLarge { .. }));
    }

    #[tokio::test]
    async fn a_body_that_stops_coming_is_given_up() {
        assert!(matches!(read_dribble(2, 25, Duration::from_millis(20)).await, Error::BodyTooSlow));
        // The same where it has taken room before.
        let frames = limits::BODY_BYTES_FREE_UNDECLARED / 10 + 2;
        assert!(matches!(read_dribble(frames, 1 << 20, Duration::from_millis(20)).await, Error::BodyTooSlow));
    }

    #[tokio::test]
    async fn a_body_of_just_the_limit_is_read() {
        let (body, _held) = bounded(Body::from("0123456789"), &Bodies::new(10), PATIENT, false);
        assert_eq!(json::read(body).await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn grpc_finds_the_status_of_a_bound_in_the_chain() {
        let (body, _held) = bounded(Body::from("0123456789"), &Bodies::new(9), PATIENT, true);
        let error = http_body_util::BodyExt::collect(body).await.unwrap_err();
        assert_eq!(tonic::Status::from_error(error.into()).code(), tonic::Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_share_one_room_and_give_back_what_they_do_not_need() {
        let bodies = Bodies::new(limits::BODIES_BYTES);
        let all = bodies.room.available_permits();
        let large = limits::BODIES_BYTES / 2 + ROOM_UNIT;
        let read = |bytes: usize| {
            let (body, held) = bounded(Body::from(vec![b'x'; bytes]), &bodies, PATIENT, false);
            async move { (json::read(body).await.map(|body| body.len()), held) }
        };
        let (first, held) = read(large).await;
        assert_eq!(first.unwrap(), large);
        // A second one of this size finds no room, and small ones need none.
        assert!(matches!(read(large).await.0, Err(Error::Overloaded)));
        assert_eq!(read(limits::BODY_BYTES_FREE).await.0.unwrap(), limits::BODY_BYTES_FREE);
        drop(held);
        assert_eq!(bodies.room.available_permits(), all);
        // Of unknown length it asks for the limit and keeps what came.
        let stream = http_body_util::StreamBody::new(futures_util::stream::iter(
            (0..3).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; limits::BODY_BYTES_FREE])))),
        ));
        let (body, held) = bounded(Body::new(stream), &bodies, PATIENT, false);
        assert_eq!(json::read(body).await.unwrap().len(), 3 * limits::BODY_BYTES_FREE);
        assert_eq!(bodies.room.available_permits(), all - 3 * limits::BODY_BYTES_FREE / ROOM_UNIT);
        drop(held);
        assert_eq!(bodies.room.available_permits(), all);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_of_unknown_length_that_stall_keep_none_of_known_length_waiting() {
        let bodies = Bodies::new(limits::BODY_BYTES);
        let frames = limits::BODY_BYTES_FREE_UNDECLARED / 10 + 2;
        let stall = || {
            let (body, held) = bounded(Body::new(Dribble(frames)), &bodies, PATIENT, false);
            tokio::spawn(async move { (json::read(body).await, held) })
        };
        let (first, second) = (stall(), stall());
        while bodies.room.available_permits() + limits::BODY_BYTES / ROOM_UNIT > limits::BODIES_BYTES / ROOM_UNIT {
            tokio::task::yield_now().await;
        }
        let declared = vec![b'x'; 2 * limits::BODY_BYTES_FREE];
        let (body, _held) = bounded(Body::from(declared.clone()), &bodies, PATIENT, false);
        assert_eq!(json::read(body).await.unwrap(), declared);
        // The second one has waited in vain by then; the first one is given up when it is dropped.
        assert!(matches!(second.await.unwrap().0, Err(Error::Overloaded)));
        first.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_of_grpc_asks_for_the_room_that_it_says_it_needs() {
        let bodies = Bodies::new(limits::BODY_BYTES);
        let all = bodies.room.available_permits();
        let message = |says: usize, has: usize| {
            let head = [vec![0], u32::try_from(says).unwrap().to_be_bytes().to_vec()].concat();
            let pieces = std::iter::once(head).chain(vec![vec![b'x'; 1000]; has / 1000]);
            let frames = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece))));
            Body::new(http_body_util::StreamBody::new(futures_util::stream::iter(frames)))
        };
        // As large as is free, without any room; the same length unsaid asks for more than the limit of what is free.
        let _others = Arc::clone(&bodies.room).acquire_many_owned(u32::try_from(all).unwrap()).await.unwrap();
        for (says, grpc, fits) in [(12_000, true, true), (12_000, false, false), (20_000, true, false)] {
            let (body, _held) = bounded(message(says, says), &bodies, PATIENT, grpc);
            assert_eq!(http_body_util::BodyExt::collect(body).await.is_ok(), fits, "{says}, {grpc}");
        }
        drop(_others);
        let (body, held) = bounded(message(20_000, 20_000), &bodies, PATIENT, true);
        http_body_util::BodyExt::collect(body).await.unwrap();
        assert_eq!(bodies.room.available_permits(), all - 20);
        drop(held);
        // One that is longer than it says is cut off before it has more than it asked for.
        let (body, _held) = bounded(message(20_000, 40_000), &bodies, PATIENT, true);
        let error = http_body_util::BodyExt::collect(body).await.unwrap_err();
        assert!(tonic::Status::from_error(error.into()).message().contains("longer than it said"));
    }
}
