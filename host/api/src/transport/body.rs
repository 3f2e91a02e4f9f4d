//! Limits of request bodies: bytes and time of each one, and the memory budget of all of them together.
//!
//! The limits apply while the handler reads; nothing is buffered here. Small bodies need no part of the budget. A large one
//! reserves all that may still arrive before it is read on. Start at [`Bodies::bound`].

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

use crate::{Error, limits};

/// Bytes of one permit of the budget: permits are few enough for any limit that can be configured.
const UNIT: usize = 1024;

/// Bytes that one request body may have.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// The limit of one body and the budget of all; clones share the budget.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    limit: usize,
    budget: Arc<Semaphore>,
    /// Permits to queue for the budget without a declared length. Such bodies reserve the limit: more of them in the queue than
    /// fit the budget would keep declared ones from it.
    undeclared: Arc<Semaphore>,
}

/// The part of the budget that a body has reserved, until dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyPermit(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Bodies {
    /// Bodies of at most `limit` bytes each.
    pub(crate) fn new(limit: usize) -> Self {
        // One body of the largest size always fits.
        let bytes = limits::BODIES_BYTES.max(limit);
        let undeclared = (bytes / limit.max(1)).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            limit,
            budget: Arc::new(Semaphore::new(bytes.div_ceil(UNIT))),
            undeclared: Arc::new(Semaphore::new(undeclared)),
        }
    }

    /// Bytes that one body may have.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Limits a body. Its part of the budget is released when both body and permit are dropped: the caller keeps the permit
    /// until the bytes are needed no longer.
    pub(crate) fn bound(&self, body: Body, grpc: bool) -> (Body, BodyPermit) {
        let permit = BodyPermit::default();
        (Body::new(BoundedBody::new(body, self, permit.clone(), limits::BODY_TIME, grpc)), permit)
    }
}

/// A request body that ends with an error once it is too large or too slow, or the budget is used up.
struct BoundedBody {
    inner: Body,
    limit: usize,
    /// Bytes that have arrived.
    taken: usize,
    /// For the whole body, and when it is over.
    time: Duration,
    due: Instant,
    /// Set up only when the body has to be waited for: small bodies arrive with their head.
    timer: Option<Pin<Box<Sleep>>>,
    budget: PollSemaphore,
    undeclared: PollSemaphore,
    /// Held until a body without declared length has arrived.
    undeclared_permit: Option<OwnedSemaphorePermit>,
    permit: BodyPermit,
    reservation: Reservation,
    grpc: bool,
    /// Bytes of a gRPC message and its head, by its head. HTTP/2 declares no length.
    grpc_length: Option<usize>,
}

/// The part of the budget that a body has.
enum Reservation {
    /// None needed so far.
    None,
    /// In the queue, until the timer ends.
    Queued(Pin<Box<Sleep>>),
    /// This many bytes.
    Granted(usize),
}

impl BoundedBody {
    fn new(inner: Body, bodies: &Bodies, permit: BodyPermit, time: Duration, grpc: bool) -> Self {
        Self {
            inner,
            limit: bodies.limit,
            taken: 0,
            time,
            due: Instant::now() + time,
            timer: None,
            budget: PollSemaphore::new(Arc::clone(&bodies.budget)),
            undeclared: PollSemaphore::new(Arc::clone(&bodies.undeclared)),
            undeclared_permit: None,
            permit,
            reservation: Reservation::None,
            grpc,
            grpc_length: None,
        }
    }

    /// tonic finds a status in an error's chain of sources; the other handlers look for [`Error`].
    fn refusal(&self, error: Error) -> Box<dyn StdError + Send + Sync> {
        if self.grpc { tonic::Status::from(error).into() } else { error.into() }
    }

    /// The declared length in bytes.
    fn declared(&self) -> Option<usize> {
        let exact = self.inner.size_hint().exact();
        let exact = exact.map(|left| usize::try_from(left).unwrap_or(usize::MAX).saturating_add(self.taken));
        exact.or_else(|| self.grpc_length.filter(|length| self.taken <= *length))
    }

    /// Bytes to reserve before more is read: all that may arrive at once, so that no two bodies wait for each other half read.
    fn needed(&self) -> usize {
        match self.declared() {
            _ if matches!(self.reservation, Reservation::Granted(_)) => 0,
            Some(declared) if declared > limits::BODY_BYTES_FREE => declared.min(self.limit),
            None if self.taken > limits::BODY_BYTES_FREE_UNDECLARED => self.limit,
            Some(_) | None => 0,
        }
    }

    /// Asks for a part of the budget; without a declared length, for the permit to do so first.
    fn poll_permits(&mut self, needed: usize, cx: &mut Context<'_>) -> Poll<Option<OwnedSemaphorePermit>> {
        if self.declared().is_none() && self.undeclared_permit.is_none() {
            self.undeclared_permit = ready!(self.undeclared.poll_acquire(cx));
        }
        let units = u32::try_from(needed.div_ceil(UNIT)).unwrap_or(u32::MAX);
        self.budget.poll_acquire_many(cx, units)
    }

    /// Waits for the reservation, for [`limits::QUEUE_TIME`] at most.
    fn poll_reservation(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let needed = self.needed();
        if needed == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Poll::Ready(permit) = self.poll_permits(needed, cx) {
            *self.permit.0.lock() = permit;
            self.reservation = Reservation::Granted(needed);
            // The client was not the cause of the wait.
            self.due = Instant::now() + self.time;
            self.timer = None;
            return Poll::Ready(Ok(()));
        }
        if matches!(self.reservation, Reservation::None) {
            self.reservation = Reservation::Queued(Box::pin(sleep_until(Instant::now() + limits::QUEUE_TIME)));
        }
        if let Reservation::Queued(end) = &mut self.reservation {
            ready!(end.as_mut().poll(cx));
        }
        Poll::Ready(Err(Error::Overloaded))
    }

    /// Releases what was reserved and did not arrive.
    fn release_unused(&mut self) {
        self.undeclared_permit = None;
        let mut permit = self.permit.0.lock();
        let Some(permit) = permit.as_mut() else { return };
        let unused = permit.num_permits().saturating_sub(self.taken.div_ceil(UNIT));
        drop(permit.split(unused));
    }
}

impl hyper::body::Body for BoundedBody {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        if let Err(error) = ready!(this.poll_reservation(cx)) {
            return Poll::Ready(Some(Err(this.refusal(error))));
        }
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let due = this.due;
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            ready!(timer.as_mut().poll(cx));
            return Poll::Ready(Some(Err(this.refusal(Error::BodyTooSlow))));
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if this.grpc && this.taken == 0 {
                    this.grpc_length = frame.data_ref().and_then(|first| grpc_length(first));
                }
                this.taken = this.taken.saturating_add(frame.data_ref().map_or(0, Bytes::len));
                if this.taken > this.limit {
                    return Poll::Ready(Some(Err(this.refusal(Error::BodyTooLarge { limit: this.limit }))));
                }
                if let Reservation::Granted(reserved) = this.reservation
                    && this.taken > reserved
                {
                    let reason = "it is longer than its declared length".to_owned();
                    return Poll::Ready(Some(Err(this.refusal(Error::BodyBroken { reason }))));
                }
                if this.inner.is_end_stream() {
                    this.release_unused();
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(Err(error.into())),
            None => {
                this.release_unused();
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    /// No more than the limit, whatever the peer declares.
    fn size_hint(&self) -> SizeHint {
        let mut hint = self.inner.size_hint();
        if hint.upper().is_none() {
            let rest = self.limit.saturating_sub(self.taken) as u64;
            hint.set_upper(rest.max(hint.lower()));
        }
        hint
    }
}

/// Bytes of a gRPC message and its head, by its head: a flag, and four bytes of length.
fn grpc_length(first: &[u8]) -> Option<usize> {
    let (head, _) = first.split_first_chunk::<5>()?;
    let [_, length @ ..] = *head;
    usize::try_from(u32::from_be_bytes(length)).ok()?.checked_add(head.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use std::convert::Infallible;

    use super::*;
    use crate::transport::body_buffer::read;

    const LONG: Duration = Duration::from_secs(3600);

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

    fn bounded(body: Body, bodies: &Bodies, time: Duration, grpc: bool) -> (Body, BodyPermit) {
        let permit = BodyPermit::default();
        (Body::new(BoundedBody::new(body, bodies, permit.clone(), time, grpc)), permit)
    }

    async fn read_dribble(frames: usize, limit: usize, time: Duration) -> Error {
        let (body, _permit) = bounded(Body::new(Dribble(frames)), &Bodies::new(limit), time, false);
        read(body).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_body_of_undeclared_length_is_refused_at_its_limit() {
        // The source never ends: the read returns only because the limit is checked frame by frame.
        assert!(matches!(read_dribble(usize::MAX, 25, LONG).await, Error::BodyTooLarge { limit: 25 }));
        let large = limits::BODIES_BYTES / 2;
        assert!(matches!(read_dribble(usize::MAX, large, LONG).await, Error::BodyTooLarge { .. }));
    }

    #[tokio::test]
    async fn a_body_that_stops_arriving_times_out() {
        assert!(matches!(read_dribble(2, 25, Duration::from_millis(20)).await, Error::BodyTooSlow));
        // The same with a reservation.
        let frames = limits::BODY_BYTES_FREE_UNDECLARED / 10 + 2;
        assert!(matches!(read_dribble(frames, 1 << 20, Duration::from_millis(20)).await, Error::BodyTooSlow));
    }

    #[tokio::test]
    async fn a_body_of_just_the_limit_is_read() {
        let (body, _permit) = bounded(Body::from("0123456789"), &Bodies::new(10), LONG, false);
        assert_eq!(read(body).await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn tonic_finds_the_status_of_a_limit_in_the_chain_of_errors() {
        let (body, _permit) = bounded(Body::from("0123456789"), &Bodies::new(9), LONG, true);
        let error = http_body_util::BodyExt::collect(body).await.unwrap_err();
        assert_eq!(tonic::Status::from_error(error.into()).code(), tonic::Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_share_one_budget_and_release_what_they_do_not_need() {
        let bodies = Bodies::new(limits::BODIES_BYTES);
        let all = bodies.budget.available_permits();
        let large = limits::BODIES_BYTES / 2 + UNIT;
        let send = |bytes: usize| {
            let (body, permit) = bounded(Body::from(vec![b'x'; bytes]), &bodies, LONG, false);
            async move { (read(body).await.map(|body| body.len()), permit) }
        };
        let (first, permit) = send(large).await;
        assert_eq!(first.unwrap(), large);
        // A second one of this size does not fit, and small ones need no reservation.
        assert!(matches!(send(large).await.0, Err(Error::Overloaded)));
        assert_eq!(send(limits::BODY_BYTES_FREE).await.0.unwrap(), limits::BODY_BYTES_FREE);
        drop(permit);
        assert_eq!(bodies.budget.available_permits(), all);
        // Without a declared length it reserves the limit and keeps what has arrived.
        let stream = http_body_util::StreamBody::new(futures_util::stream::iter(
            (0..3).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; limits::BODY_BYTES_FREE])))),
        ));
        let (body, permit) = bounded(Body::new(stream), &bodies, LONG, false);
        assert_eq!(read(body).await.unwrap().len(), 3 * limits::BODY_BYTES_FREE);
        assert_eq!(bodies.budget.available_permits(), all - 3 * limits::BODY_BYTES_FREE / UNIT);
        drop(permit);
        assert_eq!(bodies.budget.available_permits(), all);
    }

    #[tokio::test(start_paused = true)]
    async fn undeclared_bodies_that_stall_keep_no_declared_one_waiting() {
        let bodies = Bodies::new(limits::BODY_BYTES);
        let frames = limits::BODY_BYTES_FREE_UNDECLARED / 10 + 2;
        let stall = || {
            let (body, permit) = bounded(Body::new(Dribble(frames)), &bodies, LONG, false);
            tokio::spawn(async move { (read(body).await, permit) })
        };
        let (first, second) = (stall(), stall());
        while bodies.budget.available_permits() + limits::BODY_BYTES / UNIT > limits::BODIES_BYTES / UNIT {
            tokio::task::yield_now().await;
        }
        let declared = vec![b'x'; 2 * limits::BODY_BYTES_FREE];
        let (body, _permit) = bounded(Body::from(declared.clone()), &bodies, LONG, false);
        assert_eq!(read(body).await.unwrap(), declared);
        // The second one has timed out in the queue by then.
        assert!(matches!(second.await.unwrap().0, Err(Error::Overloaded)));
        first.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_grpc_message_reserves_its_declared_length() {
        let bodies = Bodies::new(limits::BODY_BYTES);
        let all = bodies.budget.available_permits();
        let message = |says: usize, has: usize| {
            let head = [vec![0], u32::try_from(says).unwrap().to_be_bytes().to_vec()].concat();
            let pieces = std::iter::once(head).chain(vec![vec![b'x'; 1000]; has / 1000]);
            let frames = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece))));
            Body::new(http_body_util::StreamBody::new(futures_util::stream::iter(frames)))
        };
        // Small enough to need no reservation; the same length undeclared is too large for that.
        let _others = Arc::clone(&bodies.budget).acquire_many_owned(u32::try_from(all).unwrap()).await.unwrap();
        for (says, grpc, fits) in [(12_000, true, true), (12_000, false, false), (20_000, true, false)] {
            let (body, _permit) = bounded(message(says, says), &bodies, LONG, grpc);
            assert_eq!(http_body_util::BodyExt::collect(body).await.is_ok(), fits, "{says}, {grpc}");
        }
        drop(_others);
        let (body, permit) = bounded(message(20_000, 20_000), &bodies, LONG, true);
        http_body_util::BodyExt::collect(body).await.unwrap();
        assert_eq!(bodies.budget.available_permits(), all - 20);
        drop(permit);
        // One that is longer than declared is refused before it exceeds its reservation.
        let (body, _permit) = bounded(message(20_000, 40_000), &bodies, LONG, true);
        let error = http_body_util::BodyExt::collect(body).await.unwrap_err();
        assert!(tonic::Status::from_error(error.into()).message().contains("longer than its declared length"));
    }
}
