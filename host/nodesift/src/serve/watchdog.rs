//! The watchdog: a thread that looks at the heartbeats of others, and tells [`Readiness`] which have stopped.
//!
//! It counts its own looks at a heartbeat that does not change, not time: where the whole process is stopped or gets no
//! processor, it does not look either. Probes notice if the watchdog itself looks no more. Start at [`Watchdog::start`].

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use nodesift_api::{Readiness, Stopped};
use nodesift_sandbox::Pulse;
use nodesift_source::feed;

use crate::limits;

/// Looks every [`limits::WATCHDOG_LOOK`] until it is dropped.
#[derive(Debug)]
pub(super) struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts to watch the epoch clock, the feed's thread, and publication.
    ///
    /// # Errors
    ///
    /// Where the system starts no thread.
    pub(super) fn start(clock: Arc<Pulse>, feed: Arc<feed::Pulse>, readiness: Readiness) -> std::io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let mut parts = [
            Part::new(Stopped { what: "the epoch clock", refuses: true }, limits::WATCHDOG_CLOCK_LOOKS),
            Part::new(Stopped { what: "the feed", refuses: false }, limits::WATCHDOG_LOOKS),
            Part::new(Stopped { what: "publication", refuses: false }, limits::WATCHDOG_LOOKS),
        ];
        let look = move || {
            while stopped.recv_timeout(limits::WATCHDOG_LOOK) == Err(RecvTimeoutError::Timeout) {
                let beats = [clock.beats(), feed.thread(), feed.publication()];
                for (part, beats) in parts.iter_mut().zip(beats) {
                    part.look(beats);
                }
                let clock_stopped = parts.iter().any(|part| part.what.refuses && part.has_stopped());
                clock.suspend(clock_stopped);
                if clock_stopped {
                    // In the clock's place, for guests that run already.
                    clock.advance(limits::WATCHDOG_LOOK);
                }
                readiness.watched(parts.iter().filter(|part| part.has_stopped()).map(|part| part.what).collect());
            }
        };
        let thread = thread::Builder::new().name("watchdog".to_owned()).spawn(look)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// A part of the process with a heartbeat.
#[derive(Debug)]
struct Part {
    what: Stopped,
    /// Looks without a beat after which it has stopped.
    most: u32,
    beats: u64,
    /// Looks since the last beat.
    looks: u32,
}

impl Part {
    fn new(what: Stopped, most: u32) -> Self {
        Self { what, most, beats: 0, looks: 0 }
    }

    fn look(&mut self, beats: u64) {
        let (what, stopped) = (self.what.what, self.has_stopped());
        if self.beats == beats {
            self.looks = self.looks.saturating_add(1);
        } else {
            self.beats = beats;
            self.looks = 0;
        }
        match (stopped, self.has_stopped()) {
            (false, true) => tracing::error!(what, "no heartbeat: probes fail until there is one again"),
            (true, false) => tracing::warn!(what, "the heartbeat is back"),
            _ => {}
        }
    }

    fn has_stopped(&self) -> bool {
        self.looks >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_stopped_after_so_many_looks_without_a_beat_and_goes_on_with_the_next() {
        let mut part = Part::new(Stopped { what: "the feed", refuses: false }, 3);
        part.look(1);
        for _ in 0..3 {
            assert!(!part.has_stopped());
            part.look(1);
        }
        assert!(part.has_stopped());
        part.look(2);
        assert!(!part.has_stopped());
    }
}
