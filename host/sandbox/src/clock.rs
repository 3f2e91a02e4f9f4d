//! The epoch clock of all deadlines: a dedicated OS thread that increments the epochs of the engines.
//!
//! It is a thread and not an async task, so that busy worker threads cannot delay it.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::Engine;

use crate::limits::EPOCH_TICK;

/// Increments the epochs every [`EPOCH_TICK`] until it is dropped.
#[derive(Debug)]
pub(super) struct Clock {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    pub(super) fn start(engines: Vec<Engine>) -> std::io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let tick = move || {
            while stopped.recv_timeout(EPOCH_TICK) == Err(RecvTimeoutError::Timeout) {
                engines.iter().for_each(Engine::increment_epoch);
            }
        };
        let thread = thread::Builder::new().name("epoch-clock".to_owned()).spawn(tick)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
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

/// The number of ticks after which at least `time` has passed. One more than the quotient, since the current tick may be almost
/// over.
pub(super) fn ticks(time: Duration) -> u64 {
    let ticks = time.as_nanos().div_ceil(EPOCH_TICK.as_nanos());
    u64::try_from(ticks).unwrap_or(u64::MAX / 2) + 1
}
