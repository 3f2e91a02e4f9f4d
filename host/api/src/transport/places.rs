//! Places: a limited number of connections or streams, of which the one idle longest leaves when another needs its place.
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

use super::budget::ListenerClass;
use crate::limits;

/// What a peer does: when it last sent or took something, and whether the sidecar works for it. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<State>);

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
        }))
    }
}

/// Where a request comes from; the server puts it into the extensions of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peer {
    pub(crate) class: ListenerClass,
    pub(crate) activity: Activity,
    /// When the first byte of the request arrived, where that is known.
    pub(crate) began: Option<Instant>,
}

// Each value stands alone, so no order between them matters.
impl Activity {
    fn now(&self) -> u64 {
        u64::try_from(self.0.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes a sign of life.
    pub(crate) fn touch(&self) {
        self.0.last.store(self.now(), Ordering::Relaxed);
    }

    /// Time since the last sign of life; none while the sidecar works for the peer.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let is_idle = self.0.busy.load(Ordering::Relaxed) == 0;
        is_idle.then(|| Duration::from_millis(self.now().saturating_sub(self.0.last.load(Ordering::Relaxed))))
    }

    /// Time since the beginning.
    pub(super) fn age(&self) -> Duration {
        self.0.since.elapsed()
    }

    /// Whether a stream is open that has no end.
    pub(super) fn has_endless(&self) -> bool {
        self.0.endless.load(Ordering::Relaxed) > 0
    }

    /// Counts work for the peer, until dropped.
    pub(crate) fn work(&self) -> Work {
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        Work(self.clone())
    }

    /// Counts a stream that has no end, until dropped.
    pub(crate) fn endless(&self) -> Endless {
        self.0.endless.fetch_add(1, Ordering::Relaxed);
        Endless(self.clone())
    }

    /// Notes that bytes have arrived: those of a head, unless a body is being read.
    pub(super) fn arrived(&self) {
        if !self.0.in_body.load(Ordering::Relaxed) && self.0.head.load(Ordering::Relaxed) == 0 {
            self.0.head.store(self.now().saturating_add(1), Ordering::Relaxed);
        }
    }

    /// When the head of the request began that has arrived; its body follows.
    pub(super) fn take_head(&self) -> Option<Instant> {
        self.0.in_body.store(true, Ordering::Relaxed);
        let began = self.0.head.swap(0, Ordering::Relaxed).checked_sub(1)?;
        Some(self.0.since + Duration::from_millis(began))
    }

    /// Notes that what arrives next is a head.
    pub(crate) fn end_body(&self) {
        self.0.in_body.store(false, Ordering::Relaxed);
    }

    /// Asks endless streams to end, since the connection is about to be closed.
    pub(super) fn close(&self) {
        self.0.closing.cancel();
    }

    /// Ends when the connection is about to be closed.
    pub(crate) fn closing(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.closing.clone().cancelled_owned()
    }
}

/// Work for a peer.
#[derive(Debug)]
pub(crate) struct Work(Activity);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that has no end.
#[derive(Debug)]
pub(crate) struct Endless(Activity);

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.0.endless.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A limited number of places; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Arc<Semaphore>,
    taken: Mutex<Taken>,
    /// How many are asked to leave at once.
    batch: usize,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    places: HashMap<u64, (Activity, CancellationToken)>,
}

/// A place, held until dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    id: u64,
    activity: Activity,
    leave: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// As many places; where one is needed, `batch` are asked to leave at once.
    pub(crate) fn new(count: usize, batch: usize) -> Self {
        Self(Arc::new(Shared { free: Arc::new(Semaphore::new(count)), taken: Mutex::default(), batch }))
    }

    /// Takes a place, or waits for one; meanwhile those that are idle longest are asked to leave.
    pub(crate) async fn enter(&self, activity: Activity) -> Place {
        loop {
            let free = Arc::clone(&self.0.free).try_acquire_owned().ok();
            let permit = match free {
                Some(permit) => Some(permit),
                None => {
                    self.dismiss_idlest();
                    timeout(limits::PLACE_TICK, Arc::clone(&self.0.free).acquire_owned())
                        .await
                        .ok()
                        .and_then(Result::ok)
                }
            };
            let Some(permit) = permit else { continue };
            let leave = CancellationToken::new();
            let mut taken = self.0.taken.lock();
            taken.next += 1;
            let id = taken.next;
            taken.places.insert(id, (activity.clone(), leave.clone()));
            drop(taken);
            return Place { places: self.clone(), id, activity, leave, _permit: permit };
        }
    }

    /// Ends once every place is free.
    pub(super) async fn all_free(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _all = self.0.free.acquire_many(count).await;
    }

    /// Asks those that are idle longest to leave, if for longer than [`limits::PLACE_IDLE`].
    fn dismiss_idlest(&self) {
        let taken = self.0.taken.lock();
        let leaving = taken.places.values().filter(|(_, leave)| leave.is_cancelled()).count();
        // Those that do not leave must not cost the others, who are more active, their places.
        if leaving > taken.places.len() / 2 {
            return;
        }
        let present = taken.places.values().filter(|(_, leave)| !leave.is_cancelled());
        let idle = present.filter_map(|(activity, leave)| Some((activity.idle()?, leave)));
        let mut idle: Vec<_> = idle.filter(|(idle, _)| *idle >= limits::PLACE_IDLE).collect();
        idle.sort_unstable_by_key(|(idle, _)| Reverse(*idle));
        for (_, leave) in idle.iter().take(self.0.batch) {
            leave.cancel();
        }
    }
}

impl Place {
    /// What the holder does.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Ends when another needs the place.
    pub(crate) fn dismissed(&self) -> impl Future<Output = ()> + Send + use<> {
        self.leave.clone().cancelled_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.0.taken.lock().places.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_one_that_is_idle_longest_leaves_for_a_newcomer() {
        let places = Places::new(3, 1);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(places.enter(Activity::default()).await);
            sleep(limits::PLACE_IDLE).await;
        }
        // The first works, the second is idle longest then.
        let _work = held[0].activity().work();
        let newcomer = tokio::spawn({
            let places = places.clone();
            async move { places.enter(Activity::default()).await }
        });
        held[1].dismissed().await;
        assert!(!newcomer.is_finished(), "the place is not free yet");
        held.remove(1);
        let _newcomer = newcomer.await.unwrap();
        assert!(timeout(Duration::from_secs(1), held[1].dismissed()).await.is_err(), "one was enough");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_leaves_who_was_active_just_now() {
        let places = Places::new(1, 1);
        let place = places.enter(Activity::default()).await;
        let activity = place.activity().clone();
        let touch = async {
            for _ in 0..20 {
                activity.touch();
                sleep(limits::PLACE_IDLE / 2).await;
            }
        };
        tokio::select! {
            () = touch => {}
            () = place.dismissed() => unreachable!("it was never idle for long"),
            _ = places.enter(Activity::default()) => unreachable!("there is one place"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_begins_with_its_first_byte_and_not_with_those_of_a_body() {
        let activity = Activity::default();
        let start = Instant::now();
        sleep(Duration::from_millis(7)).await;
        activity.arrived();
        sleep(Duration::from_millis(30)).await;
        activity.arrived();
        assert_eq!(activity.take_head().map(|began| began - start), Some(Duration::from_millis(7)));
        activity.arrived();
        activity.end_body();
        sleep(Duration::from_millis(10)).await;
        activity.arrived();
        assert_eq!(activity.take_head().map(|began| began - start), Some(Duration::from_millis(47)));
        assert_eq!(activity.take_head(), None);
    }
}
