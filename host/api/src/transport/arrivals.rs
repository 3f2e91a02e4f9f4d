//! Room for bytes that arrive: taken as they come, and taken away from a sender that is silent while others need it.
//!
//! While a body waits, for its peer or for more room, its room lies here. A taker that finds no room takes that of the
//! costliest body that waits for its peer, measured in bytes times the time since its last progress; that body then ends with an
//! error. Bodies that wait for room themselves have it taken only where silent ones had [`limits::ROOM_PATIENCE`] to give way:
//! their peers have done their part.
//! Where none has waited for long the taker waits, for [`limits::ROOM_WAIT`] at most and in turn; so no two bodies wait for
//! each other. Start at [`Arrival`].

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::PollSemaphore;

use super::budget::{Budget, Room, Taker};
use crate::{Error, limits};

/// The budget of what arrives, and the bodies that wait; clones share both.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    budget: Budget,
    silent: Mutex<Silent>,
    /// Senders whose room was taken away.
    evicted: Counter,
    /// The one permit to take room that others wait for; its queue is in order.
    turn: Arc<Semaphore>,
    /// Places to wait for room.
    places: Arc<Semaphore>,
}

/// The bodies that wait.
#[derive(Debug, Default)]
struct Silent {
    next: u64,
    bodies: BTreeMap<u64, Parked>,
}

#[derive(Debug)]
struct Parked {
    room: Room,
    waits_for: WaitsFor,
    since: Instant,
    waker: Waker,
}

/// Reason why a body waits. Of two bodies, the one with the greater reason loses its memory first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitsFor {
    /// More memory for bytes that have arrived.
    Room,
    /// More bytes of its peer.
    Peer,
}

impl Parked {
    /// Memory held in vain: bytes times microseconds since the last progress.
    fn cost(&self, now: Instant) -> u128 {
        self.room.bytes() as u128 * now.saturating_duration_since(self.since).as_micros()
    }
}

impl Arrivals {
    /// Arrivals within a budget.
    pub(crate) fn new(budget: Budget, evicted: Counter) -> Self {
        Self(Arc::new(Shared {
            budget,
            silent: Mutex::default(),
            evicted,
            turn: Arc::new(Semaphore::new(1)),
            places: Arc::new(Semaphore::new(limits::ROOM_WAITERS)),
        }))
    }

    /// Room for a request whose head has arrived.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where there is none, and no sender is silent.
    pub(crate) fn begin(&self) -> Result<Arrival, Error> {
        let mut room = self.0.budget.empty();
        if !self.grow(&mut room, limits::REQUEST_BYTES, WaitsFor::Peer) {
            self.0.budget.count_refusal();
            return Err(Error::Overloaded);
        }
        Ok(Arrival {
            arrivals: self.clone(),
            room: RequestRoom(Arc::new(Mutex::new(Some(room)))),
            ticket: None,
            waiting: None,
            progress: Instant::now(),
            unmarked: 0,
        })
    }

    /// Grows room, at the expense of others where there is no other: silent senders, and for [`WaitsFor::Room`] also those that
    /// wait for room.
    fn grow(&self, room: &mut Room, bytes: usize, others: WaitsFor) -> bool {
        let taker = if room.bytes() + bytes <= limits::SMALL_BYTES { Taker::Small } else { Taker::Large };
        let now = Instant::now();
        while !room.try_grow(bytes, taker) {
            let free = self.0.budget.free(taker);
            let Some(Parked { room, waker, .. }) = self.costliest(now, bytes.saturating_sub(free), others) else {
                return false;
            };
            self.0.evicted.inc();
            drop(room);
            waker.wake();
        }
        true
    }

    /// Removes the first to give way of the bodies that have not gone on for longer than [`limits::SILENCE`]; none where all of them
    /// together have less than `needed`, since they would end in vain.
    fn costliest(&self, now: Instant, needed: usize, others: WaitsFor) -> Option<Parked> {
        let mut silent = self.0.silent.lock();
        let is_silent =
            |body: &Parked| body.waits_for >= others && now.saturating_duration_since(body.since) >= limits::SILENCE;
        let bodies = || silent.bodies.iter().filter(|(_, body)| is_silent(body));
        let all: usize = bodies().map(|(_, body)| body.room.bytes()).sum();
        let (&id, _) = bodies().max_by_key(|(_, body)| (body.waits_for, body.cost(now))).filter(|_| all >= needed)?;
        silent.bodies.remove(&id)
    }

    fn park(&self, parked: Parked) -> Ticket {
        let mut silent = self.0.silent.lock();
        silent.next += 1;
        let id = silent.next;
        silent.bodies.insert(id, parked);
        Ticket { id, arrivals: self.clone() }
    }
}

/// The room of one request; clones share it. It is given back with the last clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestRoom(Arc<Mutex<Option<Room>>>);

impl RequestRoom {
    /// Moves the room to another budget.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where that has not as much.
    pub(crate) fn move_to(&self, budget: &Budget) -> Result<(), Error> {
        let mut room = self.0.lock();
        let Some(room) = &mut *room else { return Ok(()) };
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
    pub(crate) fn cover(&self, bytes: usize) -> Result<(), Error> {
        let mut room = self.0.lock();
        let Some(room) = &mut *room else { return Ok(()) };
        let more = bytes.saturating_sub(room.bytes());
        if more == 0 || room.try_grow(more, taker(bytes)) { Ok(()) } else { Err(Error::Overloaded) }
    }

    /// Returns the number of bytes that are held.
    pub(crate) fn bytes(&self) -> usize {
        self.0.lock().as_ref().map_or(0, Room::bytes)
    }

    /// Gives back all but `bytes`.
    pub(crate) fn shrink_to(&self, bytes: usize) {
        if let Some(room) = &mut *self.0.lock() {
            room.shrink_to(bytes);
        }
    }
}

impl From<Room> for RequestRoom {
    fn from(room: Room) -> Self {
        Self(Arc::new(Mutex::new(Some(room))))
    }
}

/// Whether as many bytes are small.
pub(crate) fn taker(bytes: usize) -> Taker {
    if bytes <= limits::SMALL_BYTES { Taker::Small } else { Taker::Large }
}

/// The entry of a body that waits; removed when dropped.
#[derive(Debug)]
struct Ticket {
    id: u64,
    arrivals: Arrivals,
}

impl Ticket {
    /// Takes the room back; none where others have taken it.
    fn redeem(&self) -> Option<Room> {
        self.arrivals.0.silent.lock().bodies.remove(&self.id).map(|parked| parked.room)
    }

    /// Whether the room is still there; the task is woken when it is taken away.
    fn renew(&self, waker: &Waker) -> bool {
        let mut silent = self.arrivals.0.silent.lock();
        let Some(parked) = silent.bodies.get_mut(&self.id) else { return false };
        parked.waker.clone_from(waker);
        true
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // The room is dropped after the lock is released.
        let _parked = self.arrivals.0.silent.lock().bodies.remove(&self.id);
    }
}

/// The room of bytes that arrive from one peer.
#[derive(Debug)]
pub(crate) struct Arrival {
    arrivals: Arrivals,
    room: RequestRoom,
    /// Claim to the memory that others may take while the body waits.
    ticket: Option<Ticket>,
    /// State of a wait for memory; none while it does not wait for any.
    waiting: Option<Box<Waiting>>,
    /// When the last [`limits::PROGRESS_BYTES`] had arrived.
    progress: Instant,
    /// Bytes that have arrived since `progress`.
    unmarked: usize,
}

/// A wait for room.
#[derive(Debug)]
struct Waiting {
    _place: OwnedSemaphorePermit,
    turn: PollSemaphore,
    /// Held while it is next, and since when.
    is_next: Option<(OwnedSemaphorePermit, Instant)>,
    until: Instant,
    tick: Pin<Box<Sleep>>,
}

impl Arrival {
    /// The room, which outlives the arrival.
    pub(crate) fn room(&self) -> RequestRoom {
        self.room.clone()
    }

    /// Takes room for bytes that have arrived, or waits for it.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where there is none in time, or others took what it had while it waited.
    pub(crate) fn poll_take(&mut self, bytes: usize, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None if bytes == 0 => return Poll::Ready(Ok(())),
            None => {
                // Small requests pass by the large ones that wait.
                let is_small = self.room.bytes() + bytes <= limits::SMALL_BYTES;
                if (is_small || self.arrivals.0.turn.available_permits() > 0) && self.try_take(bytes, WaitsFor::Peer) {
                    return Poll::Ready(Ok(()));
                }
                self.arrivals.wait()?
            }
        };
        let outcome = self.poll_wait(&mut waiting, bytes, cx);
        match outcome {
            Poll::Pending => self.waiting = Some(waiting),
            Poll::Ready(Err(_)) => self.arrivals.0.budget.count_refusal(),
            Poll::Ready(Ok(())) => {}
        }
        outcome
    }

    fn poll_wait(&mut self, waiting: &mut Waiting, bytes: usize, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            if waiting.is_next.is_none() {
                match waiting.turn.poll_acquire(cx) {
                    Poll::Ready(permit) => {
                        waiting.is_next = permit.map(|permit| (permit, Instant::now()));
                        self.unpark().map_err(|_| Error::Overloaded)?;
                    }
                    // It holds nothing that the next one cannot have: else all could wait for each other.
                    Poll::Pending => self.park(WaitsFor::Room, cx).map_err(|_| Error::Overloaded)?,
                }
            }
            let now = Instant::now();
            let is_late = now >= waiting.until;
            if let Some((_, since)) = waiting.is_next {
                let is_patient = now.saturating_duration_since(since) < limits::ROOM_PATIENCE;
                if self.try_take(bytes, if is_patient { WaitsFor::Peer } else { WaitsFor::Room }) {
                    return Poll::Ready(Ok(()));
                }
            }
            if is_late {
                return Poll::Ready(Err(Error::Overloaded));
            }
            ready!(waiting.tick.as_mut().poll(cx));
            waiting.tick.as_mut().reset(Instant::now() + limits::ROOM_TICK);
        }
    }

    /// Leaves the room to others while it waits.
    ///
    /// # Errors
    ///
    /// [`Error::BodyGaveWay`] once they have taken it.
    pub(crate) fn park(&mut self, waits_for: WaitsFor, cx: &Context<'_>) -> Result<(), Error> {
        if let Some(ticket) = &self.ticket {
            return if ticket.renew(cx.waker()) { Ok(()) } else { Err(Error::BodyGaveWay) };
        }
        let room = self.room.0.lock().take().ok_or(Error::BodyGaveWay)?;
        let (since, waker) = (self.progress, cx.waker().clone());
        self.ticket = Some(self.arrivals.park(Parked { room, waits_for, since, waker }));
        Ok(())
    }

    /// Takes the room back, since it goes on.
    ///
    /// # Errors
    ///
    /// [`Error::BodyGaveWay`] where others have taken it.
    pub(crate) fn unpark(&mut self) -> Result<(), Error> {
        if let Some(ticket) = self.ticket.take() {
            *self.room.0.lock() = Some(ticket.redeem().ok_or(Error::BodyGaveWay)?);
        }
        Ok(())
    }

    /// Starts to count silence from now on.
    pub(crate) fn restart(&mut self) {
        (self.progress, self.unmarked) = (Instant::now(), 0);
    }

    fn try_take(&mut self, bytes: usize, others: WaitsFor) -> bool {
        let taken = self.arrivals.grow_shared(&self.room, bytes, others);
        if taken {
            self.mark(bytes);
        }
        taken
    }

    /// Some bytes now and then are no progress.
    fn mark(&mut self, bytes: usize) {
        self.unmarked += bytes;
        if self.unmarked >= limits::PROGRESS_BYTES {
            self.restart();
        }
    }
}

impl Arrivals {
    /// A place to wait for room.
    fn wait(&self) -> Result<Box<Waiting>, Error> {
        let Ok(place) = Arc::clone(&self.0.places).try_acquire_owned() else {
            self.0.budget.count_refusal();
            return Err(Error::Overloaded);
        };
        let now = Instant::now();
        Ok(Box::new(Waiting {
            _place: place,
            turn: PollSemaphore::new(Arc::clone(&self.0.turn)),
            is_next: None,
            until: now + limits::ROOM_WAIT,
            tick: Box::pin(sleep_until(now + limits::ROOM_TICK)),
        }))
    }

    fn grow_shared(&self, room: &RequestRoom, bytes: usize, others: WaitsFor) -> bool {
        room.0.lock().as_mut().is_some_and(|room| self.grow(room, bytes, others))
    }
}
