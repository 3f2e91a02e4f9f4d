//! Evaluation slots, one per core, and the queue for them.
//!
//! A request that is not expected to get a slot in time is refused at once (backpressure): a core that is refused after a
//! wait has lost the time. Start at [`Slots::acquire`].

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::metrics::{Counted, Metrics};
use crate::Error;
use crate::limits;

/// The slots and their queue; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    count: usize,
    free: Arc<Semaphore>,
    /// Places in the queue for a slot.
    queue: Arc<Semaphore>,
    time: Arc<MeanTime>,
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
    /// One slot per core.
    pub(crate) fn per_core() -> Self {
        Self::new(available_parallelism().map_or(1, NonZero::get))
    }

    fn new(count: usize) -> Self {
        let permits = |permits: usize| Arc::new(Semaphore::new(permits));
        Self { count, free: permits(count), queue: permits(limits::QUEUE_REQUESTS), time: Arc::default() }
    }

    /// Takes a slot, or waits for one.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`]: at once where [`limits::QUEUE_REQUESTS`] wait already or the expected wait is longer than
    /// [`limits::QUEUE_EXPECTED`], otherwise once no slot has become free within [`limits::QUEUE_TIME`].
    pub(crate) async fn acquire(&self, metrics: &Metrics) -> Result<Slot, Error> {
        let permit = self.wait().await.inspect_err(|_| {
            metrics.refused.inc();
        })?;
        let (counted, time) = (Counted::new(&metrics.evaluations), Arc::clone(&self.time));
        Ok(Slot { _permit: permit, _counted: counted, since: Instant::now(), time })
    }

    /// Takes a slot that is free, for a cached answer: too short to count as an evaluation or in their mean time.
    pub(crate) fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.free.try_acquire().ok()
    }

    /// Mean time of the last evaluations.
    #[cfg(test)]
    pub(crate) fn mean_time(&self) -> Duration {
        self.time.get()
    }

    async fn wait(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(permit);
        }
        let _queued = self.queue.try_acquire().map_err(|_| Error::Overloaded)?;
        let waiting = limits::QUEUE_REQUESTS.saturating_sub(self.queue.available_permits());
        if self.expected_wait(waiting) > limits::QUEUE_EXPECTED {
            return Err(Error::Overloaded);
        }
        match timeout(limits::QUEUE_TIME, Arc::clone(&self.free).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed, so this is the timeout.
            Ok(Err(_)) | Err(_) => Err(Error::Overloaded),
        }
    }

    /// The expected wait of the last of `waiting` requests.
    fn expected_wait(&self, waiting: usize) -> Duration {
        let rounds = u32::try_from(waiting.div_ceil(self.count)).unwrap_or(u32::MAX);
        self.time.get().saturating_mul(rounds)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.time.record(self.since.elapsed());
    }
}

/// Exponential moving average of evaluation times, in nanoseconds.
#[derive(Debug, Default)]
struct MeanTime(AtomicU64);

impl MeanTime {
    /// The last time weighs 1/8: the mean follows a change of the load within some dozens of evaluations.
    const WEIGHT: u64 = 8;

    fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Concurrent calls may lose one of their times, which does not matter to a mean of many.
    fn record(&self, time: Duration) {
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
    async fn a_request_that_would_wait_too_long_is_refused_at_once() {
        let (slots, metrics) = (Slots::new(1), Metrics::default());
        for _ in 0..100 {
            slots.time.record(limits::QUEUE_EXPECTED / 2);
        }
        let held = slots.acquire(&metrics).await.unwrap();
        assert_eq!(metrics.evaluations.get(), 1);
        let acquire = || {
            let (slots, metrics) = (slots.clone(), metrics.clone());
            tokio::spawn(async move { slots.acquire(&metrics).await.map(drop) })
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
        let _held = slots.acquire(&metrics).await.unwrap();
        let start = tokio::time::Instant::now();
        assert!(matches!(slots.acquire(&metrics).await, Err(Error::Overloaded)));
        assert!(start.elapsed() >= limits::QUEUE_TIME);
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
}
