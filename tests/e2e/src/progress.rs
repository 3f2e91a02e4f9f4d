//! Progress messages: one line per step, with the time since the start.

use std::io::Write as _;
use std::time::{Duration, Instant};

/// The start time of a run, for its progress messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    start: Instant,
}

impl Progress {
    /// Starts the clock of the messages.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Prints one line. Errors of stdout are ignored.
    pub(crate) fn say(&self, text: impl AsRef<str>) {
        let _unread = writeln!(std::io::stdout(), "[{:6.1} s] {}", self.start.elapsed().as_secs_f64(), text.as_ref());
    }
}

/// A duration as text.
pub(crate) fn seconds(duration: Duration) -> String {
    match duration.as_millis() {
        millis @ 0..=999 => format!("{millis} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}
