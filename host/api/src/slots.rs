//! Evaluation slots, one per core, and the queue before them: who may wait, and for how long.
//!
//! Whoever can expect not to be served in time is refused at once: a core that is told so can do something else, while one
//! that waits and is refused then has lost the time. Start at [`Slots::enter`].

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::Error;
use super::metrics::{Counted, Metrics};
use crate::limits;

/// The slots and their queue; clones share them.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    count: usize,
    free: Arc<Semaphore>,
    /// Places in the queue for a slot.
    queue: Arc<Semaphore>,
    pace: Arc<Pace>,
}

/// A slot, taken until dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    _counted: Counted,
    since: Instant,
    pace: Arc<Pace>,
}

impl Slots {
    /// One slot per core.
    pub(super) fn per_core() -> Self {
        Self::new(available_parallelism().map_or(1, NonZero::get))
    }

    fn new(count: usize) -> Self {
        let places = |places: usize| Arc::new(Semaphore::new(places));
        Self { count, free: places(count), queue: places(limits::QUEUE_REQUESTS), pace: Arc::default() }
    }

    /// Takes a slot, or waits for one. Refuses at once where [`limits::QUEUE_REQUESTS`] wait already or the wait can be
    /// expected to be longer than [`limits::QUEUE_EXPECTED`], and otherwise when no slot becomes free within
    /// [`limits::QUEUE_TIME`].
    pub(super) async fn enter(&self, metrics: &Metrics) -> Result<Slot, Error> {
        let entered = self.wait().await;
        let permit = entered.inspect_err(|_| {
            metrics.refused.inc();
        })?;
        let pace = Arc::clone(&self.pace);
        Ok(Slot { _permit: permit, _counted: Counted::new(&metrics.evaluations), since: Instant::now(), pace })
    }

    /// Takes a slot for a moment that is too short to tell anything about the pace; none where all are taken.
    pub(super) fn try_enter(&self) -> Option<SemaphorePermit<'_>> {
        self.free.try_acquire().ok()
    }

    async fn wait(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = self.queue.try_acquire().map_err(|_| Error::Overloaded)?;
        let waiting = limits::QUEUE_REQUESTS.saturating_sub(self.queue.available_permits());
        if self.expected(waiting) > limits::QUEUE_EXPECTED {
            return Err(Error::Overloaded);
        }
        match timeout(limits::QUEUE_TIME, Arc::clone(&self.free).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed, so only the time can have run out.
            Ok(Err(_)) | Err(_) => Err(Error::Overloaded),
        }
    }

    /// How long the last of so many can expect to wait.
    fn expected(&self, waiting: usize) -> Duration {
        let rounds = u32::try_from(waiting.div_ceil(self.count)).unwrap_or(u32::MAX);
        self.pace.mean().saturating_mul(rounds)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pace.note(self.since.elapsed());
    }
}

/// How long evaluations take at the moment: a mean in which the last ones weigh most.
#[derive(Debug, Default)]
struct Pace(AtomicU64);

impl Pace {
    /// The last one weighs one part in so many: some dozens of evaluations after a change of the load the mean follows it.
    const WEIGHT: u64 = 8;

    fn mean(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Two at the same time may forget one of them: the mean of many does not feel it.
    fn note(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.0.load(Ordering::Relaxed);
        self.0.store(mean - mean / Self::WEIGHT + time / Self::WEIGHT, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_would_wait_too_long_is_refused_at_once() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        for _ in 0..100 {
            slots.pace.note(limits::QUEUE_EXPECTED / 2);
        }
        let held = slots.enter(&metrics).await.unwrap();
        assert_eq!(metrics.evaluations.get(), 1);
        let enter = || {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(async move { slots.enter(&metrics).await.map(drop) })
        };
        let waiting = [enter(), enter()];
        tokio::task::yield_now().await;
        let start = tokio::time::Instant::now();
        assert!(matches!(enter().await.unwrap(), Err(Error::Overloaded)), "the third would wait for three");
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(held);
        for waiting in waiting {
            waiting.await.unwrap().unwrap();
        }
        assert_eq!((metrics.evaluations.get(), metrics.refused.get()), (0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_the_queue_allows() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        let _held = slots.enter(&metrics).await.unwrap();
        let start = tokio::time::Instant::now();
        assert!(matches!(slots.enter(&metrics).await, Err(Error::Overloaded)));
        assert!(start.elapsed() >= limits::QUEUE_TIME);
    }

    #[test]
    fn the_mean_follows_a_change_of_the_load() {
        let pace = Pace::default();
        for time in [Duration::from_millis(80), Duration::from_millis(1)] {
            for _ in 0..60 {
                pace.note(time);
            }
            let off = pace.mean().abs_diff(time);
            assert!(off < time / 4, "{:?} for {time:?}", pace.mean());
        }
    }
}
