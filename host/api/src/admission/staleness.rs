//! Staleness: for how long the source has been silent, and from when on responses are marked stale or refused.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::limits;

/// The staleness of the cache; clones share the source.
#[derive(Clone)]
pub struct Staleness {
    /// Time since the source's last sign of life; none for a source of files.
    silence: Arc<dyn Fn() -> Option<Duration> + Send + Sync>,
    /// Time since its last sign of life about pods.
    of_pods: Arc<dyn Fn() -> Option<Duration> + Send + Sync>,
    bound: Duration,
    refuses: bool,
}

/// The age of a response.
#[derive(Debug, Clone, Copy, Default)]
pub struct Age {
    /// Time since the source's last sign of life; none for a source of files.
    pub silence: Option<Duration>,
    /// Whether that is longer than the bound.
    pub stale: bool,
}

impl Staleness {
    /// `silence` returns the time since the source's last sign of life. Beyond `bound`, responses are marked stale, or refused
    /// where `refuses` is set.
    pub fn new(silence: impl Fn() -> Option<Duration> + Send + Sync + 'static, bound: Duration, refuses: bool) -> Self {
        let silence: Arc<dyn Fn() -> Option<Duration> + Send + Sync> = Arc::new(silence);
        Self { of_pods: Arc::clone(&silence), silence, bound, refuses }
    }

    /// Has pods be silent for another time than the kind of objects that is silent for longest, which the source may not be allowed to read.
    #[must_use]
    pub fn with_pods(self, silence: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self { of_pods: Arc::new(silence), ..self }
    }

    /// Time for which nothing has been heard of pods: what others have bound meanwhile is not seen. None for a source of files.
    pub fn silence_of_pods(&self) -> Option<Duration> {
        (self.of_pods)()
    }

    /// The age of a response made now.
    pub fn age(&self) -> Age {
        let silence = (self.silence)();
        Age { silence, stale: silence.is_some_and(|silence| silence > self.bound) }
    }

    /// Remark of `/readyz` about a stale cache; none while it is not stale.
    pub(crate) fn remark(&self) -> Option<String> {
        match self.age() {
            Age { silence: Some(silence), stale: true } => {
                Some(format!("stale: nothing confirmed for {} s", silence.as_secs()))
            }
            _ => None,
        }
    }

    /// Refuses a stale cache where it is configured so.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`].
    pub(crate) fn check(&self) -> Result<(), Error> {
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
    /// Of a source that never grows stale.
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
    fn a_response_is_stale_past_the_bound_and_not_before() {
        let at = |silence| Staleness::new(move || silence, BOUND, false).age();
        assert!(!at(None).stale);
        assert!(!at(Some(BOUND)).stale);
        assert!(at(Some(BOUND + Duration::from_millis(1))).stale);
    }

    #[test]
    fn pods_are_silent_for_a_time_of_their_own() {
        let staleness = Staleness::new(|| Some(BOUND), BOUND, false);
        assert_eq!(staleness.silence_of_pods(), Some(BOUND));
        let staleness = staleness.with_pods(|| None);
        assert_eq!((staleness.silence_of_pods(), staleness.age().silence), (None, Some(BOUND)));
    }

    #[test]
    fn stale_answers_are_refused_only_where_configured() {
        let at = |silence, refuses| Staleness::new(move || silence, BOUND, refuses).check();
        assert!(at(Some(2 * BOUND), false).is_ok());
        assert!(at(None, true).is_ok());
        assert!(at(Some(BOUND), true).is_ok());
        assert!(matches!(at(Some(2 * BOUND), true), Err(Error::Stale { .. })));
    }
}
