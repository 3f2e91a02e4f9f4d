//! Room for bytes that arrive: taken as they come, and taken away from a sender that is silent while others need it.
//!
//! While a body waits, for its peer or for more room, others may take its room. A taker that finds no room takes that of the
//! costliest body that waits for its peer, measured in bytes times the time since its last progress; that body then ends with an
//! error. Bodies that wait for room themselves have it taken only where silent ones had [`limits::ROOM_PATIENCE`] to give way:
//! their peers have done their part.
//! Where none has waited for long the taker waits, for [`limits::ROOM_WAIT`] at most and in turn; so no two bodies wait for
//! each other. Start at [`Arrival`].

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::budget::{Budget, Room, Taker};
use super::holders::Holders;
use crate::{Error, limits};

/// The budget of what arrives, and the bodies that wait; clones share both.
#[derive(Debug, Clone)]
pub struct Arrivals(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    budget: Budget,
    /// Bodies that have had to wait.
    bodies: Holders<Mutex<RoomState>>,
    /// Senders whose room was taken away.
    evicted: Counter,
    /// The one permit to take room that others wait for; its queue is in order.
    turn: Semaphore,
    /// Places to wait for room.
    places: Semaphore,
}

/// Reason why a body waits. Of two bodies, the one with the greater reason loses its memory first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WaitsFor {
    /// More memory for bytes that have arrived.
    Room,
    /// More bytes of its peer.
    Peer,
}

impl Arrivals {
    /// Arrivals within a budget.
    pub fn new(budget: Budget, evicted: Counter) -> Self {
        Self(Arc::new(Shared {
            budget,
            bodies: Holders::default(),
            evicted,
            turn: Semaphore::new(1),
            places: Semaphore::new(limits::ROOM_WAITERS),
        }))
    }

    /// Room for a request whose head has arrived.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where there is none, and no sender is silent.
    pub fn begin(&self) -> Result<Arrival, Error> {
        let room = RequestRoom::from(self.0.budget.empty());
        if !self.grow(&room, limits::REQUEST_BYTES, WaitsFor::Peer) {
            self.0.budget.count_refusal();
            return Err(Error::Overloaded);
        }
        let progress = Instant::now();
        Ok(Arrival { arrivals: self.clone(), room, waiting: None, progress, unmarked: 0 })
    }

    /// Grows room, at the expense of others where there is no other: silent senders, and for [`WaitsFor::Room`] also those that
    /// wait for room.
    fn grow(&self, room: &RequestRoom, bytes: usize, others: WaitsFor) -> bool {
        loop {
            // Not locked while others are looked at, who look at this one.
            let taker = {
                let mut held = room.0.lock();
                let Some(room) = &mut held.room else { return false };
                let taker = taker(room.bytes() + bytes);
                if room.try_grow(bytes, taker) {
                    return true;
                }
                taker
            };
            if !self.evict(bytes.saturating_sub(self.0.budget.free(taker)), others) {
                return false;
            }
        }
    }

    /// Waits for room in turn, for [`limits::ROOM_WAIT`] at most.
    async fn wait(self, room: RequestRoom, bytes: usize, since: Instant) -> Result<(), Error> {
        let _place = self.0.places.try_acquire().map_err(|_| Error::Overloaded)?;
        let taken = async {
            let mut turn = pin!(self.0.turn.acquire());
            // Until it is next it holds nothing that the next one cannot have: else all could wait for each other.
            let _turn = poll_fn(|cx| {
                if let Poll::Ready(turn) = turn.as_mut().poll(cx) {
                    return Poll::Ready(Ok::<_, Error>(turn));
                }
                self.park(&room, WaitsFor::Room, since, cx)?;
                Poll::Pending
            })
            .await?;
            room.unpark()?;
            let begun = Instant::now();
            loop {
                let others = if begun.elapsed() < limits::ROOM_PATIENCE { WaitsFor::Peer } else { WaitsFor::Room };
                if self.grow(&room, bytes, others) {
                    return Ok::<(), Error>(());
                }
                sleep(limits::ROOM_TICK).await;
            }
        };
        timeout(limits::ROOM_WAIT, taken).await.ok().and_then(Result::ok).ok_or(Error::Overloaded)
    }

    /// Leaves the room of a body to others while it waits, which has made no progress `since` then.
    fn park(&self, room: &RequestRoom, on: WaitsFor, since: Instant, cx: &Context<'_>) -> Result<(), Error> {
        let mut state = room.0.lock();
        if state.room.is_none() {
            return Err(Error::BodyGaveWay);
        }
        state.waits = Some(Waits { on, since, waker: cx.waker().clone() });
        let is_known = std::mem::replace(&mut state.is_known, true);
        drop(state);
        if !is_known {
            self.0.bodies.enter(&room.0);
        }
        Ok(())
    }

    /// Takes the room of the first to give way of the bodies that have not gone on for longer than [`limits::SILENCE`]. False where
    /// all of them together have less than `needed`.
    fn evict(&self, needed: usize, others: WaitsFor) -> bool {
        let now = Instant::now();
        let offer = |held: &Mutex<RoomState>| {
            let held = held.lock();
            let (room, waits) = (held.room.as_ref()?, held.waits.as_ref()?);
            let silence = now.saturating_duration_since(waits.since);
            // Memory held in vain: bytes times microseconds since the last progress.
            let cost = room.bytes() as u128 * silence.as_micros();
            (waits.on >= others && silence >= limits::SILENCE).then_some(((waits.on, cost), room.bytes()))
        };
        let Some(first) = self.0.bodies.first_to_give_way(needed, offer) else { return false };
        let mut held = first.lock();
        // It may have gone on meanwhile.
        let gives_way =
            |waits: &mut Waits| waits.on >= others && now.saturating_duration_since(waits.since) >= limits::SILENCE;
        if let Some(waits) = held.waits.take_if(gives_way) {
            held.room = None;
            drop(held);
            self.0.evicted.inc();
            waits.waker.wake();
        }
        true
    }
}

/// The room of one request; clones share it. It is given back with the last clone.
#[derive(Debug, Clone, Default)]
pub struct RequestRoom(Arc<Mutex<RoomState>>);

/// Room of a request, and whether others may take it.
#[derive(Debug, Default)]
struct RoomState {
    /// None where nothing is counted, and once others have taken it.
    room: Option<Room>,
    /// While its body waits.
    waits: Option<Waits>,
    /// Whether it is among the bodies that have had to wait.
    is_known: bool,
}

#[derive(Debug)]
struct Waits {
    on: WaitsFor,
    since: Instant,
    waker: Waker,
}

impl RequestRoom {
    /// Moves the room to another budget.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where that has not as much.
    pub fn move_to(&self, budget: &Budget) -> Result<(), Error> {
        let mut held = self.0.lock();
        let Some(room) = &mut held.room else { return Ok(()) };
        if room.is_of(budget) || room.move_to(budget, taker(room.bytes())) {
            return Ok(());
        }
        budget.count_refusal();
        Err(Error::Overloaded)
    }

    /// Makes the room `bytes` large at least.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where its budget has not as much.
    pub fn cover(&self, bytes: usize) -> Result<(), Error> {
        let mut held = self.0.lock();
        let Some(room) = &mut held.room else { return Ok(()) };
        let more = bytes.saturating_sub(room.bytes());
        if more == 0 || room.try_grow(more, taker(bytes)) { Ok(()) } else { Err(Error::Overloaded) }
    }

    /// Returns the number of bytes that are held.
    pub fn bytes(&self) -> usize {
        self.0.lock().room.as_ref().map_or(0, Room::bytes)
    }

    /// Takes the room back, since its body goes on.
    fn unpark(&self) -> Result<(), Error> {
        let mut state = self.0.lock();
        state.waits = None;
        if state.room.is_some() { Ok(()) } else { Err(Error::BodyGaveWay) }
    }

    /// Gives back all but `bytes`.
    pub fn shrink_to(&self, bytes: usize) {
        if let Some(room) = &mut self.0.lock().room {
            room.shrink_to(bytes);
        }
    }
}

impl From<Room> for RequestRoom {
    fn from(room: Room) -> Self {
        Self(Arc::new(Mutex::new(RoomState { room: Some(room), ..RoomState::default() })))
    }
}

/// Whether as many bytes are small.
pub fn taker(bytes: usize) -> Taker {
    if bytes <= limits::SMALL_BYTES { Taker::Small } else { Taker::Large }
}

/// A wait for room, which ends with it or without.
type Wait = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// The room of bytes that arrive from one peer.
pub struct Arrival {
    arrivals: Arrivals,
    room: RequestRoom,
    /// A wait for room; none while it does not wait for any.
    waiting: Option<Wait>,
    /// When the last [`limits::PROGRESS_BYTES`] had arrived.
    progress: Instant,
    /// Bytes that have arrived since `progress`.
    unmarked: usize,
}

impl Arrival {
    /// The room, which outlives the arrival.
    pub fn room(&self) -> RequestRoom {
        self.room.clone()
    }

    /// Takes room for bytes that have arrived, or waits for it.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where there is none in time, or others took what it had while it waited.
    pub fn poll_take(&mut self, bytes: usize, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.waiting.is_none() {
            // Small requests pass by the large ones that wait.
            let is_small = self.room.bytes() + bytes <= limits::SMALL_BYTES;
            let is_first = is_small || self.arrivals.0.turn.available_permits() > 0;
            if bytes == 0 || (is_first && self.arrivals.grow(&self.room, bytes, WaitsFor::Peer)) {
                self.mark(bytes);
                return Poll::Ready(Ok(()));
            }
        }
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(self.arrivals.clone().wait(self.room.clone(), bytes, self.progress)));
        let outcome = ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        match outcome {
            Ok(()) => self.mark(bytes),
            Err(_) => self.arrivals.0.budget.count_refusal(),
        }
        Poll::Ready(outcome)
    }

    /// Leaves the room to others while it waits for its peer.
    ///
    /// # Errors
    ///
    /// [`Error::BodyGaveWay`] once they have taken it.
    pub fn park(&mut self, cx: &Context<'_>) -> Result<(), Error> {
        self.arrivals.park(&self.room, WaitsFor::Peer, self.progress, cx)
    }

    /// Takes the room back, since it goes on.
    ///
    /// # Errors
    ///
    /// [`Error::BodyGaveWay`] where others have taken it.
    pub fn unpark(&mut self) -> Result<(), Error> {
        self.room.unpark()
    }

    /// Starts to count silence from now on.
    pub fn restart(&mut self) {
        (self.progress, self.unmarked) = (Instant::now(), 0);
    }

    /// Some bytes now and then are no progress.
    fn mark(&mut self, bytes: usize) {
        self.unmarked += bytes;
        if self.unmarked >= limits::PROGRESS_BYTES {
            self.restart();
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let mut held = self.room.0.lock();
        // Its body has not arrived, and never will.
        if held.waits.take().is_some() {
            held.room = None;
        }
    }
}
