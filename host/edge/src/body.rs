//! Limits of one request body, or of each message of a stream: bytes, time, and room for what has arrived.
//!
//! The limits apply while the handler reads; nothing is buffered here but a frame that waits for room. Start at [`bound`] and
//! [`bound_messages`].

use std::fmt::Display;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::arrivals::Arrival;
use super::messages::{Framing, Messages};
use super::places::Activity;
use crate::{BoxError, Error};

/// Makes the error that the reader of a body finds of a limit that was met.
pub type Refuse = fn(Error) -> BoxError;

/// Limits a body to `limit` bytes that arrive by `due`, and takes room for them.
pub fn bound<B>(
    body: B,
    limit: usize,
    due: Instant,
    arrival: Arrival,
    peer: Activity,
    refuse: Refuse,
) -> BoundedBody<B> {
    let extent = Extent::Whole { taken: 0, due };
    BoundedBody { inner: body, limit, extent, timer: None, refuse, arrival, arrived: None, peer }
}

/// Limits each gRPC message of a stream to `limit` bytes that arrive within `time`, and takes room for them.
pub fn bound_messages<B>(
    body: B,
    limit: usize,
    time: Duration,
    arrival: Arrival,
    peer: Activity,
    refuse: Refuse,
) -> (BoundedBody<B>, Messages) {
    let messages = Messages::new(arrival.room());
    let extent = Extent::Messages { messages: messages.clone(), framing: Framing::default(), time };
    let body = BoundedBody { inner: body, limit, extent, timer: None, refuse, arrival, arrived: None, peer };
    (body, messages)
}

/// A request body that ends with an error once it is too large or too late, or finds no room.
pub struct BoundedBody<B> {
    inner: B,
    limit: usize,
    extent: Extent,
    /// Set up only when the peer has to be waited for: small bodies arrive with their head.
    timer: Option<(Instant, Pin<Box<Sleep>>)>,
    refuse: Refuse,
    arrival: Arrival,
    /// Frame that has arrived and waits for memory.
    arrived: Option<Frame<Bytes>>,
    peer: Activity,
}

/// The unit that the limits of a body apply to.
enum Extent {
    /// The whole body, of which `taken` bytes have arrived.
    Whole { taken: usize, due: Instant },
    /// Each message of a stream that has no end to wait for.
    Messages { messages: Messages, framing: Framing, time: Duration },
}

impl Extent {
    /// When what has begun must have arrived; none between the messages of a stream.
    fn due(&self) -> Option<Instant> {
        match self {
            Self::Whole { due, .. } => Some(*due),
            Self::Messages { framing, time, .. } => framing.began().map(|began| began + *time),
        }
    }
}

impl<B> BoundedBody<B> {
    /// Waits for the peer: between messages for ever, else until the deadline or until others need the room.
    fn poll_peer(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let Some(due) = self.extent.due() else { return Poll::Pending };
        if let Err(error) = self.arrival.park(cx) {
            return Poll::Ready(error);
        }
        let timer = self.timer.take().filter(|(at, _)| *at == due);
        let (_, timer) = self.timer.insert(timer.unwrap_or_else(|| (due, Box::pin(sleep_until(due)))));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Error::BodyTooSlow)
    }
}

impl<B: Body<Data = Bytes, Error: Display> + Unpin> BoundedBody<B> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.arrived.is_none() {
            let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
                return self.poll_peer(cx).map(|error| Some(Err(error)));
            };
            self.peer.touch();
            self.arrival.unpark()?;
            let frame = match frame {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(Error::BodyBroken { reason: error.to_string() }))),
                None => return Poll::Ready(None),
            };
            if let Extent::Whole { taken, .. } = &mut self.extent {
                *taken = taken.saturating_add(frame.data_ref().map_or(0, Bytes::len));
                if *taken > self.limit {
                    return Poll::Ready(Some(Err(Error::BodyTooLarge { limit: self.limit })));
                }
            }
            self.arrived = Some(frame);
        }
        let data = self.arrived.as_ref().and_then(Frame::data_ref);
        ready!(self.arrival.poll_take(data.map_or(0, Bytes::len), cx))?;
        if let (Some(data), Extent::Messages { messages, framing, .. }) = (data, &mut self.extent) {
            let was_between = framing.began().is_none();
            framing.advance(data, self.limit, |began, bytes| messages.push(began, bytes))?;
            if was_between {
                self.arrival.restart();
            }
        }
        Poll::Ready(self.arrived.take().map(Ok))
    }
}

impl<B> Drop for BoundedBody<B> {
    fn drop(&mut self) {
        self.peer.end_body();
    }
}

impl<B: Body<Data = Bytes, Error: Display> + Unpin> Body for BoundedBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let refuse = self.refuse;
        self.poll(cx).map(|frame| frame.map(|frame| frame.map_err(refuse)))
    }

    fn is_end_stream(&self) -> bool {
        self.arrived.is_none() && self.inner.is_end_stream()
    }

    /// No more than the limit, whatever the peer declares.
    fn size_hint(&self) -> SizeHint {
        let Extent::Whole { taken, .. } = &self.extent else { return SizeHint::default() };
        let waits = self.arrived.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len) as u64;
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(waits));
        }
        hint.set_lower(inner.lower().saturating_add(waits));
        if hint.upper().is_none() {
            let rest = self.limit.saturating_sub(*taken) as u64 + waits;
            hint.set_upper(rest.max(hint.lower()));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use std::convert::Infallible;

    use http_body_util::Full;

    use super::*;
    use crate::arrivals::{Arrivals, RequestRoom};
    use crate::body_buffer::read;
    use crate::budget::{Budget, BudgetMetrics, Taker};
    use crate::limits;

    const LONG: Duration = Duration::from_secs(3600);

    /// A body of unknown length: frames of ten bytes, then silence for ever.
    struct Dribble(usize);

    impl Body for Dribble {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(left) = self.0.checked_sub(1) else { return Poll::Pending };
            self.0 = left;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"0123456789")))))
        }
    }

    fn budget(bytes: usize) -> (Budget, Arrivals) {
        let budget = Budget::new(bytes, 0, BudgetMetrics::default());
        (budget.clone(), Arrivals::new(budget, prometheus_client::metrics::counter::Counter::default()))
    }

    fn bounded<B>(body: B, limit: usize, time: Duration, arrivals: &Arrivals) -> (BoundedBody<B>, RequestRoom) {
        let arrival = arrivals.begin().unwrap();
        let room = arrival.room();
        (bound(body, limit, Instant::now() + time, arrival, Activity::default(), |error| error.into()), room)
    }

    /// A body that arrives in one frame.
    fn whole(bytes: impl Into<Bytes>) -> Full<Bytes> {
        Full::new(bytes.into())
    }

    async fn read_dribble(frames: usize, limit: usize, time: Duration) -> Error {
        let (_, arrivals) = budget(limits::ARRIVING_BYTES);
        let (body, _room) = bounded(Dribble(frames), limit, time, &arrivals);
        read(body).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_body_of_undeclared_length_is_refused_at_its_limit() {
        // The source never ends: the read returns only because the limit is checked frame by frame.
        assert!(matches!(read_dribble(usize::MAX, 25, LONG).await, Error::BodyTooLarge { limit: 25 }));
        let large = limits::ARRIVING_BYTES / 2;
        assert!(matches!(read_dribble(usize::MAX, large, LONG).await, Error::BodyTooLarge { .. }));
    }

    #[tokio::test]
    async fn a_body_that_stops_arriving_times_out() {
        assert!(matches!(read_dribble(2, 25, Duration::from_millis(20)).await, Error::BodyTooSlow));
        assert!(matches!(read_dribble(10_000, 1 << 20, Duration::from_millis(20)).await, Error::BodyTooSlow));
    }

    #[tokio::test]
    async fn a_body_of_just_the_limit_is_read() {
        let (_, arrivals) = budget(limits::ARRIVING_BYTES);
        let (body, _room) = bounded(whole("0123456789"), 10, LONG, &arrivals);
        assert_eq!(read(body).await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn a_limit_is_told_in_the_words_of_the_reader() {
        let (_, arrivals) = budget(limits::ARRIVING_BYTES);
        let arrival = arrivals.begin().unwrap();
        let refuse: Refuse = |error| format!("told: {error}").into();
        let body = bound(whole("0123456789"), 9, Instant::now() + LONG, arrival, Activity::default(), refuse);
        let error = http_body_util::BodyExt::collect(body).await.unwrap_err();
        assert_eq!(error.to_string(), format!("told: {}", Error::BodyTooLarge { limit: 9 }));
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_taken_as_bytes_arrive_and_given_back_with_the_request() {
        let (budget, arrivals) = budget(1 << 20);
        let (body, room) = bounded(whole(vec![b'x'; 500_000]), 1 << 20, LONG, &arrivals);
        assert_eq!(budget.held(), limits::REQUEST_BYTES, "a declared length takes no room");
        let bytes = read(body).await.unwrap();
        assert_eq!(budget.held(), limits::REQUEST_BYTES + 500_000);
        drop((bytes, room));
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_sender_gives_way_to_one_that_sends() {
        let (budget, arrivals) = budget(1 << 20);
        let stall = |bytes: usize| {
            let (body, room) = bounded(Dribble(bytes / 10), 1 << 20, LONG, &arrivals);
            tokio::spawn(async move {
                let _room = room;
                read(body).await
            })
        };
        let (costly, cheap) = (stall(600_000), stall(200_000));
        while budget.held() < 800_000 {
            tokio::task::yield_now().await;
        }
        let (body, _room) = bounded(whole(vec![b'x'; 500_000]), 1 << 20, LONG, &arrivals);
        assert_eq!(read(body).await.unwrap().len(), 500_000);
        assert!(matches!(costly.await.unwrap(), Err(Error::BodyGaveWay)));
        assert!(!cheap.is_finished(), "it has cost less, and its room was not needed");
        cheap.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_silent_sender_room_is_waited_for_in_turn_and_for_a_bounded_time() {
        let (budget, arrivals) = budget(1 << 20);
        let held = budget.try_take(1 << 19, Taker::Large).unwrap();
        let send = |bytes: usize| {
            let (body, room) = bounded(whole(vec![b'x'; bytes]), 1 << 20, LONG, &arrivals);
            tokio::spawn(async move {
                let _room = room;
                read(body).await.map(|body| body.len())
            })
        };
        let start = Instant::now();
        assert!(matches!(send(600_000).await.unwrap(), Err(Error::Overloaded)));
        let waited = start.elapsed();
        assert!(waited >= limits::ROOM_WAIT && waited < 2 * limits::ROOM_WAIT, "{waited:?}");

        let (first, second) = (send(600_000), send(100_000));
        tokio::task::yield_now().await;
        // Small ones pass by.
        assert_eq!(send(1000).await.unwrap().unwrap(), 1000);
        assert!(!second.is_finished(), "it is behind the first");
        drop(held);
        assert_eq!((first.await.unwrap().unwrap(), second.await.unwrap().unwrap()), (600_000, 100_000));
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_bodies_wait_for_room_than_there_are_places() {
        let (budget, arrivals) = budget(1 << 20);
        let _held = budget.try_take(1 << 19, Taker::Large).unwrap();
        let send = || {
            let (body, room) = bounded(whole(vec![b'x'; 600_000]), 1 << 20, LONG, &arrivals);
            tokio::spawn(async move {
                let _room = room;
                read(body).await.map(|body| body.len())
            })
        };
        let waiting: Vec<_> = (0..limits::ROOM_WAITERS).map(|_| send()).collect();
        for _ in &waiting {
            tokio::task::yield_now().await;
        }
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "there are as many places");
        let start = Instant::now();
        assert!(matches!(send().await.unwrap(), Err(Error::Overloaded)));
        assert_eq!(start.elapsed(), Duration::ZERO, "it had no place to wait");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_sender_does_not_give_way_in_vain() {
        let (budget, arrivals) = budget(1 << 20);
        let _held = budget.try_take(900_000, Taker::Large).unwrap();
        let (body, room) = bounded(Dribble(1000), 1 << 20, LONG, &arrivals);
        let silent = tokio::spawn(async move {
            let _room = room;
            read(body).await
        });
        tokio::time::sleep(limits::SILENCE * 2).await;
        let (body, _room) = bounded(whole(vec![b'x'; 500_000]), 1 << 20, LONG, &arrivals);
        assert!(matches!(read(body).await, Err(Error::Overloaded)));
        assert!(!silent.is_finished());
        silent.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_wait_for_room_do_not_wait_for_each_other() {
        let (budget, arrivals) = budget(1 << 20);
        // Each sends 900 kB in pieces, so that together they fill the room before any of them is whole.
        let send = || {
            let pieces = (0..9).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; 100_000]))));
            let pieces = futures_util::stream::iter(pieces);
            let slowly = futures_util::StreamExt::then(pieces, |piece| async move {
                tokio::task::yield_now().await;
                piece
            });
            let stream = http_body_util::StreamBody::new(Box::pin(slowly));
            let (body, room) = bounded(stream, 1 << 20, LONG, &arrivals);
            tokio::spawn(async move {
                let _room = room;
                read(body).await.map(|body| body.len())
            })
        };
        let start = Instant::now();
        let all = futures_util::future::join_all([send(), send(), send(), send()]).await;
        let whole = all.iter().filter(|read| matches!(read, Ok(Ok(900_000)))).count();
        assert!(whole >= 1, "{all:?}");
        assert!(start.elapsed() < limits::ROOM_WAIT, "{:?}", start.elapsed());
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_of_some_bytes_now_and_then_counts_as_silent() {
        struct Trickle(Pin<Box<Sleep>>, usize);
        impl Body for Trickle {
            type Data = Bytes;
            type Error = Infallible;

            fn poll_frame(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
                if let Some(left) = self.1.checked_sub(1000) {
                    self.1 = left;
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1000])))));
                }
                ready!(self.0.as_mut().poll(cx));
                self.0.as_mut().reset(Instant::now() + limits::SILENCE / 4);
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
            }
        }
        let (_, arrivals) = budget(1 << 20);
        let trickle = Trickle(Box::pin(sleep_until(Instant::now() + limits::SILENCE / 4)), 900_000);
        let (body, room) = bounded(trickle, 1 << 20, LONG, &arrivals);
        let slow = tokio::spawn(async move {
            let _room = room;
            read(body).await
        });
        tokio::time::sleep(limits::SILENCE * 2).await;
        let (body, _room) = bounded(whole(vec![b'x'; 500_000]), 1 << 20, LONG, &arrivals);
        assert_eq!(read(body).await.unwrap().len(), 500_000);
        assert!(matches!(slow.await.unwrap(), Err(Error::BodyGaveWay)));
    }
}
