//! The watchdog: a thread that looks at the heartbeats of others, and tells [`Readiness`] which have stopped.
//!
//! It counts its own looks at a heartbeat that does not change, not time: where the whole process is stopped or gets no
//! processor, it does not look either. A clock that only waits for a processor has not stopped, so these looks do not count.
//! Probes notice if the watchdog itself looks no more. Start at [`Watchdog::start`].

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use nodesift_api::{Readiness, Stopped};
use nodesift_sandbox::Pulse;
use nodesift_source::feed;

use super::starvation::Starvation;
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
        let mut starvation = Starvation::default();
        let look = move || {
            while stopped.recv_timeout(limits::WATCHDOG_LOOK) == Err(RecvTimeoutError::Timeout) {
                let [of_clock, of_feed, of_publication] = &mut parts;
                if !of_clock.has_beaten(clock.beats()) {
                    // In the clock's place, for guests that run already.
                    clock.advance(limits::WATCHDOG_LOOK);
                    if !clock.thread().is_some_and(|thread| starvation.look(thread)) {
                        of_clock.miss();
                    }
                }
                for (part, beats) in [(of_feed, feed.thread()), (of_publication, feed.publication())] {
                    if !part.has_beaten(beats) {
                        part.miss();
                    }
                }
                clock.suspend(parts.iter().any(|part| part.what.refuses && part.has_stopped()));
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

    /// Whether there was a beat since the last call.
    fn has_beaten(&mut self, beats: u64) -> bool {
        if self.beats == beats {
            return false;
        }
        if self.has_stopped() {
            tracing::warn!(what = self.what.what, "the heartbeat is back");
        }
        self.beats = beats;
        self.looks = 0;
        true
    }

    /// Counts a look without a beat.
    fn miss(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks == self.most {
            tracing::error!(what = self.what.what, "no heartbeat: probes fail until there is one again");
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
        assert!(part.has_beaten(1));
        for _ in 0..3 {
            assert!(!part.has_stopped());
            assert!(!part.has_beaten(1));
            part.miss();
        }
        assert!(part.has_stopped());
        assert!(part.has_beaten(2));
        assert!(!part.has_stopped());
    }
}
