//! Limits how often objects that do not decode are logged: a broken controller would fill the log.

use tokio::time::Instant;

use crate::limits::UNREADABLE_LOG_PERIOD;

/// Lets one log line pass per [`UNREADABLE_LOG_PERIOD`], and counts those between.
#[derive(Debug, Default)]
pub(super) struct UnreadableLog {
    logged: Option<Instant>,
    unlogged: u64,
}

impl UnreadableLog {
    /// Notes another object. Returns how many were not logged since the last log line; `None` where this one is not to be
    /// logged either.
    pub(super) fn note(&mut self, now: Instant) -> Option<u64> {
        if self.logged.is_some_and(|at| now.saturating_duration_since(at) < UNREADABLE_LOG_PERIOD) {
            self.unlogged += 1;
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}
