//! The epoch clock of all deadlines: a dedicated OS thread that increments the epochs of the engines, and the [`Pulse`] by
//! which a watchdog sees that it does.
//!
//! It is a thread and not an async task, so that busy worker threads cannot delay it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::Engine;

use super::fault::{Fault, FaultKind};
use crate::limits::{EPOCH_TICK, IDLE_AFTER, IDLE_TICK};

/// Increments the epochs every [`EPOCH_TICK`] until it is dropped, and by as much every [`IDLE_TICK`] where no guest has been called for a
/// while.
#[derive(Debug)]
pub(super) struct Clock {
    pulse: Arc<Pulse>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    pub(super) fn start(engines: Vec<Engine>) -> std::io::Result<Self> {
        let pulse = Arc::new(Pulse::new(engines));
        let (stop, stopped) = channel::<()>();
        let tick = {
            let pulse = Arc::clone(&pulse);
            move || {
                pulse.thread.get_or_init(|| rustix::thread::gettid().as_raw_nonzero().get());
                let mut pace = Pace::default();
                loop {
                    let period = pace.next(pulse.called.swap(false, Ordering::Relaxed));
                    if stopped.recv_timeout(period) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                    #[cfg(debug_assertions)]
                    if pulse.stalled.load(Ordering::Relaxed) {
                        continue;
                    }
                    pulse.advance(period);
                    pulse.beats.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let thread = thread::Builder::new().name("epoch-clock".to_owned()).spawn(tick)?;
        Ok(Self { pulse, stop: Some(stop), thread: Some(thread) })
    }

    pub(super) fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread runs nothing that can panic.
            let _ = thread.join();
        }
    }
}

/// The period of the clock. A thread that wakes up a thousand times a second takes two hundredths of a processor, of a sidecar that does
/// nothing.
#[derive(Debug, Default)]
struct Pace {
    /// Ticks in a row during which no call began.
    quiet: u32,
}

impl Pace {
    /// The time until the next tick; `called` says whether a call has begun since the last.
    fn next(&mut self, called: bool) -> Duration {
        self.quiet = if called { 0 } else { self.quiet.saturating_add(1) };
        if self.quiet > IDLE_AFTER { IDLE_TICK } else { EPOCH_TICK }
    }
}

/// The heartbeat of the epoch clock. Without the clock no guest can be interrupted, so whoever watches it suspends the calls of
/// guests while it stands still, and advances the epochs in its place for those that run.
pub struct Pulse {
    engines: Vec<Engine>,
    beats: AtomicU64,
    /// The identifier of the clock's thread in the system, once it runs.
    thread: OnceLock<i32>,
    suspended: AtomicBool,
    /// Whether a call has begun since the last tick.
    called: AtomicBool,
    #[cfg(debug_assertions)]
    stalled: AtomicBool,
}

impl Pulse {
    fn new(engines: Vec<Engine>) -> Self {
        Self {
            engines,
            beats: AtomicU64::new(0),
            thread: OnceLock::new(),
            suspended: AtomicBool::new(false),
            called: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            stalled: AtomicBool::new(false),
        }
    }

    /// Ticks of the clock since its start.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// The identifier of the clock's thread in the system; `None` until it runs.
    pub fn thread(&self) -> Option<i32> {
        self.thread.get().copied()
    }

    /// Suspends the calls of guests, or allows them again.
    pub fn suspend(&self, suspended: bool) {
        self.suspended.store(suspended, Ordering::Relaxed);
    }

    /// Advances the epochs by this time, so that guests which run past their deadline are interrupted.
    pub fn advance(&self, time: Duration) {
        for _ in 0..time.as_nanos() / EPOCH_TICK.as_nanos() {
            self.engines.iter().for_each(Engine::increment_epoch);
        }
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.suspended.load(Ordering::Relaxed)
    }

    /// Admits a call of a guest, for which the clock ticks at its full rate. The first call after a while without any may be interrupted one
    /// [`IDLE_TICK`] late.
    ///
    /// # Errors
    ///
    /// While calls are suspended: nothing could interrupt this one.
    pub(super) fn admit(&self) -> Result<(), Fault> {
        if self.is_suspended() {
            let detail = "the clock that limits the time of guests has stopped".to_owned();
            return Err(Fault { kind: FaultKind::ClockStopped, detail });
        }
        // Looked at first: threads that call at once would pass the line of this variable between their processors at every call.
        if !self.called.load(Ordering::Relaxed) {
            self.called.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Stops the clock as a defect could, or lets it go on. Not part of release builds.
    #[cfg(debug_assertions)]
    pub fn stall(&self, stalled: bool) {
        self.stalled.store(stalled, Ordering::Relaxed);
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pulse")
            .field("beats", &self.beats())
            .field("suspended", &self.is_suspended())
            .finish_non_exhaustive()
    }
}

/// The number of ticks after which at least `time` has passed. One more than the quotient, since the current tick may be almost
/// over.
pub(super) fn ticks(time: Duration) -> u64 {
    let ticks = time.as_nanos().div_ceil(EPOCH_TICK.as_nanos());
    u64::try_from(ticks).unwrap_or(u64::MAX / 2) + 1
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_slows_down_without_calls_and_is_at_its_full_rate_with_the_next() {
        let mut pace = Pace::default();
        let periods: Vec<Duration> = (0..=IDLE_AFTER).map(|_| pace.next(false)).collect();
        assert!(periods[..IDLE_AFTER as usize].iter().all(|period| *period == EPOCH_TICK), "{periods:?}");
        assert_eq!(periods.last(), Some(&IDLE_TICK));
        assert_eq!(pace.next(true), EPOCH_TICK);
        assert_eq!(pace.next(false), EPOCH_TICK);
    }

    #[test]
    fn a_call_that_is_admitted_is_seen_by_the_clock_and_none_is_admitted_while_calls_are_suspended() {
        let pulse = Pulse::new(Vec::new());
        pulse.suspend(true);
        assert_eq!(pulse.admit().unwrap_err().kind, FaultKind::ClockStopped);
        assert!(!pulse.called.load(Ordering::Relaxed));
        pulse.suspend(false);
        pulse.admit().unwrap();
        assert!(pulse.called.load(Ordering::Relaxed));
    }
}
