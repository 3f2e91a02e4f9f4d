//! How often a party may speak: so often for each call, and so often by itself. Start at [`Pace::speak`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::time::Instant;

use crate::limits::{PARTY_MESSAGES, PARTY_MESSAGES_PER_CALL, PARTY_MESSAGES_PER_SECOND};

/// Messages by which a party may answer the calls that it was sent; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Called(Arc<AtomicU32>);

/// What a party may still say.
#[derive(Debug)]
pub(super) struct Pace {
    called: Called,
    /// Messages that no call asked for.
    left: u32,
    /// When these were last increased.
    since: Instant,
}

impl Called {
    /// The party is sent a call.
    pub(super) fn note(&self) {
        let more = |left: u32| Some(left.saturating_add(PARTY_MESSAGES_PER_CALL));
        // Only the number matters: nothing is published with it.
        let _changed = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

impl Pace {
    pub(super) fn new(called: Called) -> Self {
        Self { called, left: PARTY_MESSAGES, since: Instant::now() }
    }

    /// Where calls are counted.
    pub(super) fn called(&self) -> Called {
        self.called.clone()
    }

    /// Counts a message; `answers` says that it is about a call. False where the party floods.
    pub(super) fn speak(&mut self, answers: bool) -> bool {
        let less = |left: u32| left.checked_sub(1);
        if answers && self.called.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return true;
        }
        if self.left == 0 {
            let seconds = self.since.elapsed().as_secs_f64();
            // No more than what may be sent at once.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the limit")]
            let more = (seconds * f64::from(PARTY_MESSAGES_PER_SECOND)).min(f64::from(PARTY_MESSAGES)) as u32;
            if more == 0 {
                return false;
            }
            (self.left, self.since) = (more, Instant::now());
        }
        self.left -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_no_call_asked_for_is_limited_at_once_and_by_the_second() {
        let mut pace = Pace::new(Called::default());
        let all = |pace: &mut Pace| (0..).take_while(|_| pace.speak(false)).count();
        assert_eq!(all(&mut pace), PARTY_MESSAGES as usize);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(all(&mut pace), PARTY_MESSAGES_PER_SECOND as usize);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(all(&mut pace), PARTY_MESSAGES as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn each_call_may_be_answered_in_parts() {
        let called = Called::default();
        let mut pace = Pace::new(called.clone());
        while pace.speak(false) {}
        called.note();
        assert!(!pace.speak(false), "what a call allows is for its answers");
        assert_eq!((0..).take_while(|_| pace.speak(true)).count(), PARTY_MESSAGES_PER_CALL as usize);
    }
}
