//! How old what is known may be: for how long the source has been silent, and from when on answers say so.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use crate::limits;

/// Tells how old what is known may be; clones ask the same source.
#[derive(Clone)]
pub struct Staleness {
    /// For how long the source has been silent; none where it cannot grow old.
    silence: Arc<dyn Fn() -> Option<Duration> + Send + Sync>,
    bound: Duration,
    refuses: bool,
}

/// How old an answer may be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Age {
    /// For how long the source has been silent; none where it cannot grow old.
    pub silence: Option<Duration>,
    /// Whether that is longer than it may be.
    pub stale: bool,
}

impl Staleness {
    /// Asks `silence` for how long the source has been silent. Beyond `bound` answers are marked stale, or refused.
    pub fn new(silence: impl Fn() -> Option<Duration> + Send + Sync + 'static, bound: Duration, refuses: bool) -> Self {
        Self { silence: Arc::new(silence), bound, refuses }
    }

    /// How old an answer given now may be.
    pub(super) fn age(&self) -> Age {
        let silence = (self.silence)();
        Age { silence, stale: silence.is_some_and(|silence| silence > self.bound) }
    }

    /// Refuses where what is known is stale and answers are to be refused then.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.refuses {
            return Ok(());
        }
        match self.age() {
            Age { silence: Some(silence), stale: true } => Err(Error::Stale { silence }),
            _ => Ok(()),
        }
    }
}

impl Default for Staleness {
    /// Of a source that does not grow old.
    fn default() -> Self {
        Self::new(|| None, limits::STALE_AFTER, false)
    }
}

impl fmt::Debug for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staleness").field("bound", &self.bound).field("refuses", &self.refuses).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_secs(300);

    #[test]
    fn an_answer_is_stale_past_the_bound_and_not_before() {
        let at = |silence| Staleness::new(move || silence, BOUND, false).age();
        assert!(!at(None).stale);
        assert!(!at(Some(BOUND)).stale);
        assert!(at(Some(BOUND + Duration::from_millis(1))).stale);
    }

    #[test]
    fn only_who_is_told_to_refuses() {
        let at = |silence, refuses| Staleness::new(move || silence, BOUND, refuses).check();
        assert!(at(Some(2 * BOUND), false).is_ok());
        assert!(at(None, true).is_ok());
        assert!(at(Some(BOUND), true).is_ok());
        assert!(matches!(at(Some(2 * BOUND), true), Err(Error::Stale { .. })));
    }
}
