//! Evaluation slots, one per core, and the queue for them.
//!
//! A request that is not expected to get a slot in time is refused at once (backpressure): a core that is refused after a
//! wait has lost the time. Small requests, about a few pods, have one slot more and a queue of their own, so that large ones
//! never keep them waiting. Requests of the explorer have one slot of their own, and take none of the others. Start at
//! [`Slots::acquire`].

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout_at;

use super::deadline::Deadline;
use super::metrics::{Counted, Metrics};
use crate::ListenerClass;
use crate::{Error, limits};

/// The slots and their queues; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    all: Lane,
    small: Lane,
    explorer: Lane,
}

/// Slots with one queue.
#[derive(Debug, Clone)]
struct Lane {
    count: usize,
    free: Arc<Semaphore>,
    /// Places in the queue for a slot, for each class of listeners: those who wait over TCP refuse nobody on the Unix socket.
    unix: Arc<Semaphore>,
    tcp: Arc<Semaphore>,
    time: Arc<MeanTime>,
}

/// Whether a request is small: about a few pods, whatever its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// A request about a few pods, which may take the slot of small ones.
    Small,
    /// Any larger request, which may not take that slot.
    Large,
}

/// A slot, held until dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    _counted: Counted,
    since: Instant,
    time: Arc<MeanTime>,
}

impl Slots {
    /// One slot per core, and one for small requests.
    pub(crate) fn per_core() -> Self {
        Self::new(available_parallelism().map_or(1, NonZero::get))
    }

    fn new(count: usize) -> Self {
        Self { all: Lane::new(count), small: Lane::new(1), explorer: Lane::new(limits::EXPLORER_SLOTS) }
    }

    /// Takes a slot, or waits for one.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`]: at once where [`limits::QUEUE_REQUESTS`] wait already or the expected wait is longer than
    /// [`limits::QUEUE_EXPECTED`], otherwise once no slot has become free within [`limits::QUEUE_TIME`].
    /// [`Error::DeadlineExceeded`] where the deadline passes before that.
    pub(crate) async fn acquire(
        &self,
        size: Size,
        class: ListenerClass,
        deadline: Deadline,
        metrics: &Metrics,
    ) -> Result<Slot, Error> {
        let began = Instant::now();
        let waited = self.wait(size, class, deadline).await;
        metrics.slot_wait.ended(began);
        let (permit, lane) = waited.inspect_err(|_| {
            metrics.refused.inc();
        })?;
        let (counted, time) = (Counted::new(&metrics.evaluations), Arc::clone(&lane.time));
        Ok(Slot { _permit: permit, _counted: counted, since: Instant::now(), time })
    }

    /// Takes a slot that is free, for a cached answer: too short to count as an evaluation or in their mean time.
    pub(crate) fn try_acquire(&self, class: ListenerClass) -> Option<SemaphorePermit<'_>> {
        if class == ListenerClass::Explorer {
            return self.explorer.free.try_acquire().ok();
        }
        self.all.free.try_acquire().or_else(|_| self.small.free.try_acquire()).ok()
    }

    /// Mean time of the last evaluations.
    #[cfg(test)]
    pub(crate) fn mean_time(&self) -> Duration {
        self.all.time.get()
    }

    async fn wait(
        &self,
        size: Size,
        class: ListenerClass,
        deadline: Deadline,
    ) -> Result<(OwnedSemaphorePermit, &Lane), Error> {
        if class == ListenerClass::Explorer {
            if let Ok(permit) = Arc::clone(&self.explorer.free).try_acquire_owned() {
                return Ok((permit, &self.explorer));
            }
            // A person waits for as long as a request may, and no core waits behind.
            let queued = self.explorer.place(class)?;
            return Ok((until(deadline, self.explorer.free(), queued).await?, &self.explorer));
        }
        if let Ok(permit) = Arc::clone(&self.all.free).try_acquire_owned() {
            return Ok((permit, &self.all));
        }
        match size {
            Size::Large => {
                let queued = self.all.queue(class)?;
                Ok((until(deadline, self.all.free(), queued).await?, &self.all))
            }
            Size::Small => {
                // One that is free is given, whatever the last ones have taken: else nobody would learn that others take less.
                if let Ok(permit) = Arc::clone(&self.small.free).try_acquire_owned() {
                    return Ok((permit, &self.small));
                }
                let queued = self.small.queue(class)?;
                // Whichever becomes free first.
                let either = async {
                    tokio::select! {
                        permit = self.all.free() => permit,
                        permit = self.small.free() => permit,
                    }
                };
                Ok((until(deadline, either, queued).await?, &self.small))
            }
        }
    }
}

impl Lane {
    fn new(count: usize) -> Self {
        let permits = |permits: usize| Arc::new(Semaphore::new(permits));
        let [unix, tcp] = [(); 2].map(|()| permits(limits::QUEUE_REQUESTS));
        Self { count, free: permits(count), unix, tcp, time: Arc::default() }
    }

    /// A place in the queue, where a slot is expected in time.
    fn queue(&self, class: ListenerClass) -> Result<SemaphorePermit<'_>, Error> {
        let (queued, queue) = (self.place(class)?, self.places(class));
        let waiting = limits::QUEUE_REQUESTS.saturating_sub(queue.available_permits());
        if self.expected_wait(waiting) > limits::QUEUE_EXPECTED { Err(Error::Overloaded) } else { Ok(queued) }
    }

    /// A place in the queue, however long the wait.
    fn place(&self, class: ListenerClass) -> Result<SemaphorePermit<'_>, Error> {
        self.places(class).try_acquire().map_err(|_| Error::Overloaded)
    }

    fn places(&self, class: ListenerClass) -> &Semaphore {
        match class {
            ListenerClass::Unix => &self.unix,
            // Nobody else is in the queue of the explorer's lane.
            ListenerClass::Tcp | ListenerClass::Explorer => &self.tcp,
        }
    }

    /// The next slot that is free.
    fn free(&self) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + use<> {
        Arc::clone(&self.free).acquire_owned()
    }

    /// The expected wait of the last of `waiting` requests.
    fn expected_wait(&self, waiting: usize) -> Duration {
        let rounds = u32::try_from(waiting.div_ceil(self.count)).unwrap_or(u32::MAX);
        self.time.get().saturating_mul(rounds)
    }
}

/// Waits for a slot, until the deadline or for [`limits::QUEUE_TIME`]; `_queued` is given back then.
async fn until(
    deadline: Deadline,
    free: impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>>,
    _queued: SemaphorePermit<'_>,
) -> Result<OwnedSemaphorePermit, Error> {
    let end = tokio::time::Instant::now() + limits::QUEUE_TIME;
    match timeout_at(end.min(deadline.at()), free).await {
        Ok(Ok(permit)) => Ok(permit),
        // The semaphores are never closed, so this is the timeout.
        Ok(Err(_)) | Err(_) => Err(deadline.check().err().unwrap_or(Error::Overloaded)),
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.time.record(self.since.elapsed());
    }
}

/// Exponential moving average of evaluation times, in nanoseconds. A time that is much longer than the mean counts as some times the mean:
/// one request of half a second says nothing of the next ones, and several in a row are followed as fast.
#[derive(Debug, Default)]
struct MeanTime(AtomicU64);

impl MeanTime {
    /// The last time weighs 1/8: the mean follows a change of the load within some dozens of evaluations.
    const WEIGHT: u64 = 8;
    /// Longest time that is recorded, in means: a load of which one in twenty is long is as one without, one of which half is long
    /// has its mean.
    const MOST: u64 = 8;
    /// Least mean, in nanoseconds, for the limit [`Self::MOST`]: from a smaller one the mean would hardly rise.
    const LEAST: u64 = 100_000;

    fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Concurrent calls may lose one of their times, which does not matter to a mean of many.
    fn record(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.0.load(Ordering::Relaxed);
        let time = time.min(mean.max(Self::LEAST).saturating_mul(Self::MOST));
        self.0.store(mean - mean / Self::WEIGHT + time / Self::WEIGHT, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn deadline() -> Deadline {
        Deadline::after(tokio::time::Instant::now(), 2 * limits::QUEUE_TIME)
    }

    #[tokio::test(start_paused = true)]
    async fn small_requests_do_not_queue_behind_large_ones() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let _held = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        let large = || {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(
                async move { slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.map(drop) },
            )
        };
        let _waiting: Vec<_> = (0..limits::QUEUE_REQUESTS).map(|_| large()).collect();
        tokio::task::yield_now().await;
        let start = tokio::time::Instant::now();
        assert!(matches!(large().await.unwrap(), Err(Error::Overloaded)));
        assert_eq!(start.elapsed(), Duration::ZERO, "the queue is full");
        let small = slots.acquire(Size::Small, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        assert!(slots.try_acquire(ListenerClass::Tcp).is_none());
        drop(small);
        assert!(slots.try_acquire(ListenerClass::Tcp).is_some(), "cached answers take the slot of small requests too");
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_tcp_has_filled_refuses_nobody_on_the_unix_socket() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let held = [Size::Large, Size::Small].map(|size| (slots.clone(), metrics.clone(), size));
        let mut slots_held = Vec::new();
        for (slots, metrics, size) in held {
            slots_held.push(slots.acquire(size, ListenerClass::Tcp, deadline(), &metrics).await.unwrap());
        }
        let wait = |class: ListenerClass, size: Size| {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(async move { slots.acquire(size, class, deadline(), &metrics).await.map(drop) })
        };
        for size in [Size::Large, Size::Small] {
            let _waiting: Vec<_> = (0..limits::QUEUE_REQUESTS).map(|_| wait(ListenerClass::Tcp, size)).collect();
            tokio::task::yield_now().await;
            assert!(matches!(wait(ListenerClass::Tcp, size).await.unwrap(), Err(Error::Overloaded)));
        }
        let core = [Size::Large, Size::Small].map(|size| wait(ListenerClass::Unix, size));
        tokio::task::yield_now().await;
        drop(slots_held);
        for core in core {
            core.await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_for_a_slot_ends_with_the_deadline() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let _held = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        let soon = deadline().shortened(limits::QUEUE_TIME / 4);
        let start = tokio::time::Instant::now();
        let refused = slots.acquire(Size::Large, ListenerClass::Tcp, soon, &metrics).await;
        assert!(matches!(refused, Err(Error::DeadlineExceeded { .. })));
        assert_eq!(start.elapsed(), limits::QUEUE_TIME / 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_would_wait_too_long_is_refused_at_once() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        for _ in 0..100 {
            slots.all.time.record(limits::QUEUE_EXPECTED / 2);
        }
        let held = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        assert_eq!(metrics.evaluations.get(), 1);
        let acquire = || {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(
                async move { slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.map(drop) },
            )
        };
        let waiting = [acquire(), acquire()];
        tokio::task::yield_now().await;
        let start = tokio::time::Instant::now();
        assert!(matches!(acquire().await.unwrap(), Err(Error::Overloaded)), "the third would wait for three");
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(held);
        for waiting in waiting {
            waiting.await.unwrap().unwrap();
        }
        assert_eq!((metrics.evaluations.get(), metrics.refused.get()), (0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_waits_longer_than_the_queue_allows() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let _held = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        let start = tokio::time::Instant::now();
        assert!(matches!(
            slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await,
            Err(Error::Overloaded)
        ));
        assert!(start.elapsed() >= limits::QUEUE_TIME);
    }

    /// Large requests that wait for a slot, as many as the queue has places. None ends before time goes on.
    async fn full_queue(slots: &Slots, metrics: &Metrics) -> Vec<tokio::task::JoinHandle<Result<(), Error>>> {
        let large = || {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(
                async move { slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.map(drop) },
            )
        };
        let waiting: Vec<_> = (0..limits::QUEUE_REQUESTS).map(|_| large()).collect();
        for _ in &waiting {
            tokio::task::yield_now().await;
        }
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "there are as many places");
        waiting
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_finds_the_queue_full_does_not_wait() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let _held = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        let _waiting = full_queue(&slots, &metrics).await;
        let start = tokio::time::Instant::now();
        let refused = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await;
        assert!(matches!(refused, Err(Error::Overloaded)));
        assert_eq!(start.elapsed(), Duration::ZERO, "it had no place in the queue");
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_waited_in_vain_gives_its_place_in_the_queue_back() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let held = slots.acquire(Size::Large, ListenerClass::Tcp, deadline(), &metrics).await.unwrap();
        for waiting in full_queue(&slots, &metrics).await {
            assert!(matches!(waiting.await.unwrap(), Err(Error::Overloaded)));
        }
        let waiting = full_queue(&slots, &metrics).await;
        drop(held);
        for waiting in waiting {
            waiting.await.unwrap().unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_request_that_finds_its_slot_free_has_it_whatever_others_took() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        for _ in 0..100 {
            slots.small.time.record(2 * limits::QUEUE_EXPECTED);
        }
        let small = || slots.acquire(Size::Small, ListenerClass::Tcp, deadline(), &metrics);
        let _held = small().await.unwrap();
        let second = small().await.unwrap();
        let refused = small().await;
        assert!(matches!(refused, Err(Error::Overloaded)), "the next is expected to wait for long");
        drop(second);
        assert!(small().await.is_ok());
    }

    #[test]
    fn a_few_long_times_among_many_leave_the_mean_where_it_is() {
        let short = Duration::from_millis(1);
        for long in [Duration::from_millis(500), Duration::from_secs(10)] {
            let mean = MeanTime::default();
            for number in 0..400 {
                mean.record(if number % 20 < 2 { long } else { short });
                assert!(mean.get() < 8 * short, "{:?} after {number}", mean.get());
            }
            // Where they are many, they are followed.
            for _ in 0..100 {
                mean.record(long);
            }
            assert!(mean.get() > long / 2, "{:?} of {long:?}", mean.get());
        }
    }

    #[test]
    fn the_mean_follows_a_change_of_the_load() {
        let mean = MeanTime::default();
        for time in [Duration::from_millis(80), Duration::from_millis(1)] {
            for _ in 0..60 {
                mean.record(time);
            }
            let off = mean.get().abs_diff(time);
            assert!(off < time / 4, "{:?} for {time:?}", mean.get());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_the_explorer_share_one_slot_and_leave_all_others_free() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let held = slots.acquire(Size::Large, ListenerClass::Explorer, deadline(), &metrics).await.unwrap();
        assert!(slots.try_acquire(ListenerClass::Explorer).is_none());
        let second = {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(async move {
                slots.acquire(Size::Small, ListenerClass::Explorer, deadline(), &metrics).await.map(drop)
            })
        };
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        let start = tokio::time::Instant::now();
        let core = [Size::Large, Size::Small].map(|size| (size, slots.clone(), metrics.clone()));
        let mut of_core = Vec::new();
        for (size, slots, metrics) in core {
            of_core.push(slots.acquire(size, ListenerClass::Unix, deadline(), &metrics).await.unwrap());
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(held);
        assert!(second.await.unwrap().is_ok());
    }
}
