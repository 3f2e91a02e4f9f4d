//! Unsent responses: what is held for clients until they read it, bounded in bytes and in time.
//!
//! ```text
//! UnsentBudget   one per listener: bytes of encoded responses and of small frames (the greediest connection is closed, or the
//!                response refused), and of pieces that are encoded while the response is sent (they wait)
//! Unsent         one per connection: its share of all, and the deadlines of its responses
//! ```
//!
//! A client that reads too slowly, or not at all while it keeps the connection alive, loses the connection: at
//! [`limits::SEND_TIME`] after the response has begun, or where one of its frames is not taken within [`limits::FRAME_TIME`],
//! whatever its other streams do. Start at [`Unsent::hold`], [`Unsent::watch`] and [`Unsent::overdue`].

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, PollSemaphore};

use super::accounts::{Account, Entry, Ledger};
use super::beginnings::{Beginning, Beginnings};
use super::budget::{Budget, BudgetMetrics, Taker};
use super::places::Activity;
use crate::{BoxError, Error, limits};

/// Budget of the bytes that one listener holds for its clients; clones share it.
#[derive(Debug, Clone)]
pub struct UnsentBudget {
    encoded: Ledger,
    /// Frames of at most [`limits::SMALL_FRAME`] bytes that are not encoded before.
    small: Ledger,
    /// All other frames that are not encoded before.
    pieces: Ledger,
}

/// Bytes of the budgets of one listener.
struct Sizes {
    encoded: usize,
    /// The part of `encoded` that large responses leave to small ones.
    reserve: usize,
    /// The most of `encoded` that one connection has.
    share: usize,
    small: usize,
    pieces: usize,
}

/// Bytes per permit of pieces: a semaphore counts up to 2^32 permits.
const UNIT: usize = 1024;

impl UnsentBudget {
    /// Budgets of one listener, of which the metrics tell the encoded responses.
    pub fn new(metrics: BudgetMetrics) -> Self {
        let sizes = Sizes {
            encoded: limits::UNSENT_BYTES,
            reserve: limits::UNSENT_RESERVE_BYTES,
            share: limits::CONNECTION_UNSENT_BYTES,
            small: limits::UNSENT_SMALL_BYTES,
            pieces: limits::UNSENT_PIECES_BYTES,
        };
        Self::of(&sizes, metrics)
    }

    /// Budgets of the explorer's listener.
    pub fn of_explorer(metrics: BudgetMetrics) -> Self {
        let sizes = Sizes {
            encoded: limits::EXPLORER_UNSENT_BYTES,
            reserve: limits::EXPLORER_UNSENT_RESERVE_BYTES,
            share: limits::EXPLORER_CONNECTION_BYTES,
            small: limits::EXPLORER_SMALL_BYTES,
            pieces: limits::EXPLORER_PIECES_BYTES,
        };
        Self::of(&sizes, metrics)
    }

    fn of(sizes: &Sizes, metrics: BudgetMetrics) -> Self {
        let encoded = Budget::new(sizes.encoded, sizes.reserve, metrics);
        let encoded = Ledger::new(encoded, sizes.share);
        let small = Budget::new(sizes.small, 0, BudgetMetrics::default());
        let small = Ledger::new(small, limits::CONNECTION_SMALL_BYTES);
        let pieces = Budget::new(sizes.pieces, 0, BudgetMetrics::default());
        let pieces = Ledger::new(pieces, limits::CONNECTION_PIECES_BYTES);
        Self { encoded, small, pieces }
    }
}

/// Bytes that one connection holds for its client; clones share them.
#[derive(Debug, Clone)]
pub struct Unsent(Arc<Connection>);

#[derive(Debug)]
struct Connection {
    /// Encoded responses of this connection.
    encoded: Arc<Account>,
    /// Small frames of this connection.
    small: Arc<Account>,
    /// Pieces of responses of this connection, encoded while the response is sent.
    pieces: Arc<Account>,
    /// Permits for the pieces, in units of [`UNIT`] bytes.
    piece_permits: Arc<Semaphore>,
    /// Frames handed to the connection and not dropped yet.
    frames: Mutex<Beginnings>,
    /// Responses that have begun and have an end.
    responses: Mutex<Beginnings>,
    /// Notified when a response or a frame begins.
    started: Notify,
    /// Notified when room is given back.
    freed: Notify,
}

/// Room for an encoded response, in the budgets of its listener and its connection; given back once it is sent.
#[derive(Debug)]
pub struct Held {
    _room: Entry,
    // Dropped after the room.
    _freed: Freed,
    /// Bytes that are encoded already; the rest of the room is for what the response needs while it is sent.
    encoded: usize,
}

/// A response that keeps its room until it is sent.
pub fn holding<B>(mut response: Response<B>, held: Option<Held>) -> Response<B> {
    if let Some(held) = held {
        response.extensions_mut().insert(Arc::new(held));
    }
    response
}

/// An extension of a response that has no end, such as a stream of events: it has no deadline, only its frames have.
#[derive(Debug, Clone, Copy)]
pub struct Endless;

/// Tells the connection, when dropped, that room was given back.
#[derive(Debug)]
struct Freed(Unsent);

impl Drop for Freed {
    fn drop(&mut self) {
        self.0.0.freed.notify_waiters();
    }
}

impl Unsent {
    /// Of a new connection.
    pub fn new(listener: &UnsentBudget, connection: &Activity) -> Self {
        Self(Arc::new(Connection {
            encoded: listener.encoded.open(connection.clone()),
            small: listener.small.open(connection.clone()),
            pieces: listener.pieces.open(connection.clone()),
            piece_permits: Arc::new(Semaphore::new(limits::CONNECTION_PIECES_BYTES / UNIT)),
            frames: Mutex::default(),
            responses: Mutex::default(),
            started: Notify::new(),
            freed: Notify::new(),
        }))
    }

    /// Takes room of `bytes` for a response of which `encoded` bytes are encoded already.
    ///
    /// # Errors
    ///
    /// [`Error::Unread`], [`Error::Overloaded`].
    pub fn hold(&self, bytes: usize, encoded: usize) -> Result<Held, Error> {
        let taker = if bytes <= limits::STREAM_CHUNK { Taker::Small } else { Taker::Large };
        let room = self.0.encoded.take(bytes.saturating_add(limits::RESPONSE_BYTES), taker)?;
        Ok(Held { _room: room, _freed: Freed(self.clone()), encoded })
    }

    /// Takes room for a response that is made already; the first of a connection is held without room where there is none.
    fn hold_first(&self, bytes: usize) -> Result<Held, Error> {
        self.hold(bytes, 0).or_else(|error| {
            let first = Some(bytes).filter(|bytes| *bytes <= limits::FIRST_BYTES);
            let room = first.and_then(|_| self.0.encoded.take_first()).ok_or(error)?;
            Ok(Held { _room: room, _freed: Freed(self.clone()), encoded: 0 })
        })
    }

    /// Takes room for an event or a question, whose stream ends where there is none: small ones have a budget that large responses
    /// of others do not fill.
    ///
    /// # Errors
    ///
    /// [`Error::Unread`], [`Error::Overloaded`].
    pub fn hold_event(&self, bytes: usize) -> Result<Held, Error> {
        self.hold_first(bytes).or_else(|error| {
            if bytes > limits::SMALL_FRAME {
                return Err(error);
            }
            let room = self.0.small.take(bytes.max(limits::SMALL_FRAME_LEAST), Taker::Small)?;
            Ok(Held { _room: room, _freed: Freed(self.clone()), encoded: 0 })
        })
    }

    /// Gives a stream of responses that has come to its end the time and the room of any other response, until this is dropped.
    pub fn ending(&self) -> Ending {
        let began = self.0.responses.lock().begin();
        self.0.started.notify_one();
        // Without room it still ends in time.
        Ending { connection: Arc::clone(&self.0), began, _held: self.hold(0, 0).ok() }
    }

    /// Waits until the client has read most of the responses that it has, so that a client which does not read waits before its
    /// requests are evaluated.
    pub async fn until_read(&self) {
        let Connection { encoded, freed, .. } = &*self.0;
        let mut notified = std::pin::pin!(freed.notified());
        loop {
            notified.as_mut().enable();
            if encoded.held() <= encoded.share() / 2 {
                return;
            }
            notified.as_mut().await;
            notified.set(freed.notified());
        }
    }

    /// Counts the frames of a response until they are sent. One that has taken no room takes it now: the client may never ask for its
    /// frames. Where there is none, `refuse` makes the head of an error in its place, without a body.
    pub fn watch<B: Body>(
        &self,
        mut response: Response<B>,
        refuse: impl FnOnce(Error, Response<B>) -> Response<B>,
    ) -> Response<CountedBody<B>> {
        let is_endless = response.extensions_mut().remove::<Endless>().is_some();
        let mut held = response.extensions_mut().remove::<Arc<Held>>();
        if held.is_none() && !is_endless && !response.body().is_end_stream() {
            let bytes = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
            match self.hold_first(bytes) {
                Ok(room) => held = Some(Arc::new(room)),
                Err(error) => response = refuse(error, response),
            }
        }
        let covered = held.as_ref().map_or(0, |held| held.encoded);
        let sending = Arc::new(Sending::new(Arc::clone(&self.0), held, is_endless));
        response.map(|body| CountedBody {
            inner: body,
            rest: Bytes::new(),
            covered,
            connection: PollSemaphore::new(Arc::clone(&self.0.piece_permits)),
            permit: None,
            tick: None,
            sending,
        })
    }

    /// Ends once a response or a frame is past its time, which is shorter once `stop` is cancelled.
    pub async fn overdue(&self, stop: &CancellationToken) {
        let Connection { frames, responses, started, .. } = &*self.0;
        loop {
            started.notified().await;
            while !(frames.lock().is_empty() && responses.lock().is_empty()) {
                sleep(limits::SEND_TICK).await;
                let frame_time = if stop.is_cancelled() { limits::DRAIN_FRAME_TIME } else { limits::FRAME_TIME };
                let is_past = |oldest: Option<Duration>, time| oldest.is_some_and(|age| age >= time);
                let (frame, response) = (frames.lock().oldest(), responses.lock().oldest());
                if is_past(frame, frame_time) || is_past(response, limits::SEND_TIME) {
                    return;
                }
            }
        }
    }
}

/// A stream that has come to its end, until its client has read it.
#[derive(Debug)]
pub struct Ending {
    connection: Arc<Connection>,
    began: Beginning,
    _held: Option<Held>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.connection.responses.lock().end(self.began);
    }
}

/// A response from its first frame to the drop of its last one.
#[derive(Debug)]
struct Sending {
    connection: Arc<Connection>,
    _held: Option<Arc<Held>>,
    /// None for one that has no end.
    began: Option<Beginning>,
}

impl Sending {
    fn new(connection: Arc<Connection>, held: Option<Arc<Held>>, is_endless: bool) -> Self {
        let began = (!is_endless).then(|| connection.responses.lock().begin());
        connection.started.notify_one();
        Self { connection, _held: held, began }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(began) = self.began {
            self.connection.responses.lock().end(began);
        }
    }
}

/// A body in frames of at most [`limits::STREAM_CHUNK`] bytes that are counted. Frames that were encoded before the response
/// began are covered by its room; of those that are made while it is sent, large ones wait for room.
#[derive(Debug)]
pub struct CountedBody<B> {
    inner: B,
    /// The part of the last frame that has not been handed over.
    rest: Bytes,
    /// Bytes of frames that the room still covers.
    covered: usize,
    connection: PollSemaphore,
    /// Permit of the connection, while room of the listener is awaited.
    permit: Option<OwnedSemaphorePermit>,
    /// Timer of the next try, while room of the listener is awaited.
    tick: Option<Pin<Box<Sleep>>>,
    sending: Arc<Sending>,
}

/// Bytes that are counted until dropped.
struct CountedFrame {
    bytes: Bytes,
    _room: FrameRoom,
    began: Beginning,
    sending: Arc<Sending>,
}

/// Budget that a frame is counted in.
enum FrameRoom {
    /// The room of its response.
    Response,
    Small {
        _room: Entry,
    },
    Piece {
        _room: Entry,
        _permit: Option<OwnedSemaphorePermit>,
    },
}

impl CountedFrame {
    fn new(bytes: Bytes, room: FrameRoom, sending: Arc<Sending>) -> Self {
        let began = sending.connection.frames.lock().begin();
        sending.connection.started.notify_one();
        Self { bytes, _room: room, began, sending }
    }
}

impl AsRef<[u8]> for CountedFrame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedFrame {
    fn drop(&mut self) {
        self.sending.connection.frames.lock().end(self.began);
    }
}

impl<B> CountedBody<B> {
    /// Room for the next `length` bytes. Small frames do not wait for it: many of them, unread, would keep every other waiting.
    fn poll_room(&mut self, cx: &mut Context<'_>, length: usize) -> Poll<Result<FrameRoom, Error>> {
        if let Some(rest) = self.covered.checked_sub(length) {
            self.covered = rest;
            return Poll::Ready(Ok(FrameRoom::Response));
        }
        if length <= limits::SMALL_FRAME {
            let small = &self.sending.connection.small;
            let room = small.take(length.max(limits::SMALL_FRAME_LEAST), Taker::Small);
            let room = room.or_else(|error| small.take_first().ok_or(error))?;
            return Poll::Ready(Ok(FrameRoom::Small { _room: room }));
        }
        // A frame is far smaller than 2^32 units. The semaphore is never closed.
        let units = u32::try_from(length.div_ceil(UNIT)).unwrap_or(u32::MAX);
        if self.permit.is_none() {
            self.permit = ready!(self.connection.poll_acquire_many(cx, units));
        }
        loop {
            if let Ok(room) = self.sending.connection.pieces.take(length, Taker::Small) {
                self.tick = None;
                return Poll::Ready(Ok(FrameRoom::Piece { _room: room, _permit: self.permit.take() }));
            }
            // Looked for again and again: those who do not read have to give way after a while.
            let tick = self.tick.get_or_insert_with(|| Box::pin(sleep(limits::ROOM_TICK)));
            ready!(tick.as_mut().poll(cx));
            self.tick = None;
        }
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Body for CountedBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(limits::STREAM_CHUNK);
        let room = match ready!(self.poll_room(cx, length)) {
            Ok(room) => room,
            Err(error) => return Poll::Ready(Some(Err(error.into()))),
        };
        let frame = CountedFrame::new(self.rest.split_to(length), room, Arc::clone(&self.sending));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(frame)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests;
