//! Places: a limited number of connections or streams, of which one leaves when another needs its place: of the connections
//! that hold most, the one that is idle longest.
//!
//! So a peer that holds a place and does nothing locks nobody out. Start at [`Places::enter`].

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::limits;

/// Activity of a peer: when it last sent or took something, and whether the sidecar works for it. Clones share it.
#[derive(Debug, Clone)]
pub struct Activity(Arc<State>);

#[derive(Debug)]
struct State {
    since: Instant,
    /// Milliseconds after `since` of the last sign of life.
    last: AtomicU64,
    /// Requests that the sidecar works on: it, and not the peer, is waited for.
    busy: AtomicUsize,
    /// Streams that have no end.
    endless: AtomicUsize,
    /// Milliseconds after `since`, plus one, at which the head of the next request began; 0 where it has not.
    head: AtomicU64,
    /// Whether what arrives belongs to a body.
    in_body: AtomicBool,
    closing: CancellationToken,
    ended: CancellationToken,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(State {
            since: Instant::now(),
            last: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            endless: AtomicUsize::new(0),
            head: AtomicU64::new(0),
            in_body: AtomicBool::new(false),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
        }))
    }
}

// Each value stands alone, so no order between them matters.
impl Activity {
    fn now(&self) -> u64 {
        u64::try_from(self.0.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes a sign of life.
    pub fn touch(&self) {
        self.0.last.store(self.now(), Ordering::Relaxed);
    }

    /// Time since the last sign of life; none while the sidecar works for the peer.
    pub fn idle(&self) -> Option<Duration> {
        let is_idle = self.0.busy.load(Ordering::Relaxed) == 0;
        is_idle.then(|| Duration::from_millis(self.now().saturating_sub(self.0.last.load(Ordering::Relaxed))))
    }

    /// Time since the beginning.
    pub fn age(&self) -> Duration {
        self.0.since.elapsed()
    }

    /// Whether a stream is open that has no end.
    pub fn has_endless(&self) -> bool {
        self.0.endless.load(Ordering::Relaxed) > 0
    }

    /// Counts work for the peer, until dropped.
    pub fn work(&self) -> Work {
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        Work(self.clone())
    }

    /// Counts a stream that has no end, until dropped.
    pub fn endless(&self) -> Endless {
        self.0.endless.fetch_add(1, Ordering::Relaxed);
        Endless(self.clone())
    }

    /// Notes that bytes have arrived: those of a head, unless a body is being read.
    pub fn arrived(&self) {
        if !self.0.in_body.load(Ordering::Relaxed) && self.0.head.load(Ordering::Relaxed) == 0 {
            self.0.head.store(self.now().saturating_add(1), Ordering::Relaxed);
        }
    }

    /// When the head of the request began that has arrived; its body follows.
    pub fn take_head(&self) -> Option<Instant> {
        self.0.in_body.store(true, Ordering::Relaxed);
        let began = self.0.head.swap(0, Ordering::Relaxed).checked_sub(1)?;
        Some(self.0.since + Duration::from_millis(began))
    }

    /// Notes that what arrives next is a head.
    pub fn end_body(&self) {
        self.0.in_body.store(false, Ordering::Relaxed);
    }

    /// Asks endless streams to end, since the connection is about to be closed.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// Closes the connection at once, since others need what it holds.
    pub fn end(&self) {
        self.0.ended.cancel();
    }

    /// Ends when the connection has to be closed at once.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.ended.clone().cancelled_owned()
    }

    /// Whether the connection has to be closed at once.
    #[cfg(test)]
    pub fn is_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Address of the shared state, equal for clones only.
    fn id(&self) -> *const State {
        Arc::as_ptr(&self.0)
    }

    /// Whether both are of the same peer.
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Ends when the connection is about to be closed.
    pub fn closing(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.closing.clone().cancelled_owned()
    }
}

/// Work for a peer.
#[derive(Debug)]
pub struct Work(Activity);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that has no end.
#[derive(Debug)]
pub struct Endless(Activity);

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.0.endless.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A limited number of places; clones share them.
#[derive(Debug, Clone)]
pub struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Arc<Semaphore>,
    taken: Mutex<Taken>,
    pace: Pace,
}

/// How many are asked to leave at once.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// So many at each tick, up to half of all.
    Batches(usize),
    /// One for each that waits.
    One,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    places: HashMap<u64, Seat>,
    /// The connections of those who wait.
    waiting: Vec<Activity>,
}

/// A place that is taken.
#[derive(Debug)]
struct Seat {
    /// Activity of the holder.
    activity: Activity,
    /// Activity of the holder's connection.
    connection: Activity,
    leave: CancellationToken,
    /// When it was asked to leave.
    dismissed: Option<Instant>,
}

/// A place, held until dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    id: u64,
    activity: Activity,
    leave: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// Places of connections, which leave in batches when one is needed.
    pub fn for_connections(count: usize) -> Self {
        Self::new(count, Pace::Batches(limits::DISMISSALS))
    }

    /// Places of streams, of which one leaves for each newcomer.
    pub fn for_streams(count: usize) -> Self {
        Self::new(count, Pace::One)
    }

    fn new(count: usize, pace: Pace) -> Self {
        Self(Arc::new(Shared { free: Arc::new(Semaphore::new(count)), taken: Mutex::default(), pace }))
    }

    /// Takes a place, or waits for one; meanwhile others are asked to leave. None where too many wait already, of all or of the
    /// same connection.
    pub async fn enter(&self, activity: Activity, connection: &Activity) -> Option<Place> {
        if let Ok(permit) = Arc::clone(&self.0.free).try_acquire_owned() {
            return Some(self.take(permit, activity, connection));
        }
        let _waiting = self.wait(connection)?;
        let begun = Instant::now();
        loop {
            self.dismiss(connection, begun.elapsed());
            let free = Arc::clone(&self.0.free).acquire_owned();
            if let Ok(Ok(permit)) = timeout(limits::PLACE_TICK, free).await {
                return Some(self.take(permit, activity, connection));
            }
        }
    }

    fn take(&self, permit: OwnedSemaphorePermit, activity: Activity, connection: &Activity) -> Place {
        let leave = CancellationToken::new();
        let seat =
            Seat { activity: activity.clone(), connection: connection.clone(), leave: leave.clone(), dismissed: None };
        let mut taken = self.0.taken.lock();
        taken.next += 1;
        let id = taken.next;
        taken.places.insert(id, seat);
        Place { places: self.clone(), id, activity, leave, _permit: permit }
    }

    fn wait(&self, connection: &Activity) -> Option<Waiting<'_>> {
        let mut taken = self.0.taken.lock();
        let same = taken.waiting.iter().filter(|other| other.is(connection)).count();
        if taken.waiting.len() >= limits::PLACE_WAITERS || same >= limits::CONNECTION_PLACE_WAITERS {
            return None;
        }
        taken.waiting.push(connection.clone());
        Some(Waiting { places: self, connection: connection.clone() })
    }

    /// Ends once every place is free.
    pub async fn all_free(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _all = self.0.free.acquire_many(count).await;
    }

    /// Asks some to leave, and ends the connections of those who do not: first those of the connections that hold most, and of
    /// these who are idle longest, if for longer than [`limits::PLACE_IDLE`] and if their connection holds no fewer than the
    /// newcomer's. Once the newcomer has waited for [`limits::PLACE_WAIT`], also those who were active just now.
    fn dismiss(&self, newcomer: &Activity, waited: Duration) {
        let mut taken = self.0.taken.lock();
        let now = Instant::now();
        let mut leaving = 0;
        for seat in taken.places.values() {
            let Some(since) = seat.dismissed else { continue };
            leaving += 1;
            // A client that does not read keeps its stream from ending.
            if now.saturating_duration_since(since) >= limits::LEAVE_TIME && seat.activity.idle().is_some() {
                seat.connection.end();
            }
        }
        let (batch, most_leaving) = match self.0.pace {
            // Those that do not leave must not cost the others, who are more active, their places.
            Pace::Batches(batch) => (batch, taken.places.len() / 2 + 1),
            Pace::One => (1, taken.waiting.len()),
        };
        if leaving >= most_leaving {
            return;
        }
        let mut held: HashMap<*const State, usize> = HashMap::new();
        for seat in taken.places.values().filter(|seat| seat.dismissed.is_none()) {
            *held.entry(seat.connection.id()).or_default() += 1;
        }
        let count = |connection: &Activity| held.get(&connection.id()).copied().unwrap_or_default();
        let own = count(newcomer);
        // Connections hold one place each. A stream that is active gives way to one of a connection that has fewer even then.
        let spared = match self.0.pace {
            Pace::Batches(_) => 0,
            Pace::One => own + 1,
        };
        let mut idle: Vec<(usize, Duration, Reverse<u64>)> = Vec::new();
        for (id, seat) in taken.places.iter().filter(|(_, seat)| seat.dismissed.is_none()) {
            let (Some(time), held) = (seat.activity.idle(), count(&seat.connection)) else { continue };
            let is_idle = time >= limits::PLACE_IDLE && held >= own;
            if is_idle || (waited >= limits::PLACE_WAIT && held > spared) {
                idle.push((held, time, Reverse(*id)));
            }
        }
        idle.sort_unstable_by_key(|order| Reverse(*order));
        for (_, _, Reverse(id)) in idle.into_iter().take(batch) {
            if let Some(seat) = taken.places.get_mut(&id) {
                seat.dismissed = Some(now);
                seat.leave.cancel();
            }
        }
    }
}

/// One who waits for a place, until dropped.
struct Waiting<'a> {
    places: &'a Places,
    connection: Activity,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waiting = &mut self.places.0.taken.lock().waiting;
        if let Some(at) = waiting.iter().position(|other| other.is(&self.connection)) {
            waiting.swap_remove(at);
        }
    }
}

impl Place {
    /// Returns the activity of the holder.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Ends when another needs the place.
    pub fn dismissed(&self) -> impl Future<Output = ()> + Send + use<> {
        self.leave.clone().cancelled_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.0.taken.lock().places.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
