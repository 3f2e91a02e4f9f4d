//! The clock of all deadlines: an OS thread of its own that ticks the engines' epochs, and what it shows.
//!
//! A thread and not a task: a worker that is busy evaluating must not be able to hold the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wasmtime::Engine;

use crate::limits::EPOCH_TICK;

/// Ticks until it is dropped.
#[derive(Debug)]
pub(super) struct Clock {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    face: Face,
}

/// What the clock showed at its last tick. To look at it costs nothing beside what a guest's call costs; to ask the system
/// for the time would, several times in each.
#[derive(Debug, Clone, Default)]
pub(super) struct Face(Arc<AtomicU64>);

impl Face {
    /// Time since the clock started, as it was at most a tick ago where the machine is not too busy for the clock.
    pub(super) fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn show(&self, time: Duration) {
        self.0.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Clock {
    pub(super) fn start(engines: Vec<Engine>) -> std::io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let face = Face::default();
        let shown = face.clone();
        let started = Instant::now();
        let tick = move || {
            while stopped.recv_timeout(EPOCH_TICK) == Err(RecvTimeoutError::Timeout) {
                // The face first: whoever is told of a tick finds it there.
                shown.show(started.elapsed());
                engines.iter().for_each(Engine::increment_epoch);
            }
        };
        let thread = thread::Builder::new().name("epoch-clock".to_owned()).spawn(tick)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), face })
    }

    /// What it shows.
    pub(super) fn face(&self) -> &Face {
        &self.face
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread runs nothing that can panic; if it did, there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// The number of ticks after which at least `time` has passed: the running tick may end at once.
pub(super) fn ticks(time: Duration) -> u64 {
    let ticks = time.as_nanos().div_ceil(EPOCH_TICK.as_nanos());
    u64::try_from(ticks).unwrap_or(u64::MAX / 2) + 1
}
