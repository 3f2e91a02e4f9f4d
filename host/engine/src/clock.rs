//! The clock that predicates read, and the time that operators are told. Start at [`Clock`].

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time in seconds since 1970-01-01T00:00:00Z. It is read once for each evaluation of a pod.
///
/// A clock that is set back makes moments come again: a cached verdict is used only at times at which the moments that it was
/// told to have passed have passed.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// A clock of one's own, for tests and simulations.
    pub fn new(now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the current time in seconds since 1970-01-01T00:00:00Z.
    pub fn now(&self) -> i64 {
        (self.0)()
    }
}

impl Default for Clock {
    /// The clock of the machine.
    fn default() -> Self {
        Self::new(wall_clock)
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "moments are those of the calendar, and a clock that is set back is no error"
)]
fn wall_clock() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(_) => 0,
    }
}

/// The time that operators are told.
#[allow(clippy::disallowed_methods, reason = "shown to people and never compared")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").finish()
    }
}
