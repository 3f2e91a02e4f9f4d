//! When a change of files is whole: a state machine that is told what is seen and says what to do next.
//!
//! Nobody says when he has written everything. So files are read once they have been quiet for [`RELOAD_QUIET`], and none of
//! them is open for writing. Start at [`Settle::look`].

use std::time::{Duration, Instant};

use crate::limits::{
    PULL_RETRY_DOUBLINGS, RELOAD_QUIET, RELOAD_QUIET_LEAST, RELOAD_QUIET_MOST, RELOAD_QUIET_UNENDED, RELOAD_RETRY,
    RELOAD_WRITER_MOST,
};

/// The time until modules are pulled again that could not be; `repeats` is how many attempts in a row before the last one failed
/// as it did.
pub(super) fn pull_pause(repeats: u32) -> Duration {
    RELOAD_RETRY * (1 << repeats.min(PULL_RETRY_DOUBLINGS))
}

/// Next step of the follower after it has looked at the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The files are as they were at the last attempt.
    Rest,
    /// They change: to be looked at again at this time.
    Look(Instant),
    /// The change is whole: to be read.
    Read,
}

/// The change that is waited for. `S` is the state of the files.
#[derive(Debug)]
pub(super) struct Settle<S> {
    /// The state at the last attempt.
    attempted: Option<S>,
    /// When to read them again in the same state.
    retry: Option<Instant>,
    pending: Option<Pending<S>>,
}

#[derive(Debug)]
struct Pending<S> {
    state: S,
    /// When the first change was seen.
    since: Instant,
    /// When the last change was seen.
    last: Instant,
    /// For how long nothing may change.
    quiet: Duration,
}

impl<S: PartialEq> Settle<S> {
    /// Nothing is pending; files in the state of `attempted` need not be read.
    pub(super) fn new(attempted: Option<S>) -> Self {
        Self { attempted, retry: None, pending: None }
    }

    /// Tells what was seen: the state of the files, and whether one of them is open for writing.
    pub(super) fn look(&mut self, now: Instant, state: S, is_open: bool) -> Next {
        if self.attempted.as_ref() == Some(&state) {
            self.pending = None;
            return match self.retry {
                None => Next::Rest,
                Some(at) if now < at => Next::Look(at),
                Some(_) => Next::Read,
            };
        }
        let pending = match self.pending.take() {
            Some(pending) if pending.state == state => pending,
            Some(pending) => Pending { state, since: pending.since, last: now, quiet: RELOAD_QUIET },
            None => Pending { state, since: now, last: now, quiet: RELOAD_QUIET },
        };
        let quiet = now.saturating_duration_since(pending.last);
        let overdue = pending.since + RELOAD_QUIET_MOST;
        let due = match (is_open, pending.quiet > RELOAD_QUIET) {
            (true, _) => pending.last + RELOAD_WRITER_MOST,
            (false, true) => pending.last + pending.quiet,
            (false, false) => (pending.last + pending.quiet).min(overdue.max(pending.last + RELOAD_QUIET_LEAST)),
        };
        debug_assert!(quiet <= now.saturating_duration_since(pending.since), "the first change is not after the last");
        let next = if now >= due { Next::Read } else { Next::Look(due) };
        self.pending = Some(pending);
        next
    }

    /// The files were read in this state, whatever became of it. Returns the state at the attempt before.
    pub(super) fn attempted(&mut self, state: S) -> Option<S> {
        self.retry = None;
        self.pending = None;
        self.attempted.replace(state)
    }

    /// The files could not be read: at this time they are read again, even in the same state.
    pub(super) fn retry(&mut self, at: Instant) {
        self.retry = Some(at);
    }

    /// The files changed while they were read.
    pub(super) fn torn(&mut self, now: Instant) {
        if let Some(pending) = &mut self.pending {
            pending.last = now;
        }
        self.retry = self.retry.map(|at| at.max(now + RELOAD_QUIET));
    }

    /// The document ends in the middle of a line: more of it may follow. Returns whether that was waited for already.
    pub(super) fn unended(&mut self) -> bool {
        let Some(pending) = &mut self.pending else { return true };
        let waited = pending.quiet >= RELOAD_QUIET_UNENDED;
        pending.quiet = RELOAD_QUIET_UNENDED;
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = RELOAD_QUIET;

    #[test]
    fn a_change_is_read_once_it_has_been_quiet() {
        let start = Instant::now();
        let mut settle = Settle::new(Some(1));
        assert_eq!(settle.look(start, 1, false), Next::Rest);
        assert_eq!(settle.look(start, 2, false), Next::Look(start + QUIET));
        let later = start + QUIET / 2;
        assert_eq!(settle.look(later, 3, false), Next::Look(later + QUIET));
        assert_eq!(settle.look(start + QUIET, 3, false), Next::Look(later + QUIET));
        assert_eq!(settle.look(later + QUIET, 3, false), Next::Read);
        settle.attempted(3);
        assert_eq!(settle.look(later + QUIET * 2, 3, false), Next::Rest);
    }

    #[test]
    fn modules_are_pulled_again_after_twice_the_time_up_to_a_limit() {
        let seconds: Vec<u64> = (0..7).map(|repeats| pull_pause(repeats).as_secs()).collect();
        assert_eq!(seconds, [10, 20, 40, 80, 160, 160, 160]);
        assert_eq!(pull_pause(u32::MAX).as_secs(), 160);
    }

    #[test]
    fn files_that_could_not_be_read_are_read_again_later_and_only_once() {
        let start = Instant::now();
        let mut settle = Settle::new(Some(1));
        let at = start + QUIET * 50;
        settle.retry(at);
        assert_eq!(settle.look(start, 1, false), Next::Look(at));
        assert_eq!(settle.look(at, 1, false), Next::Read);
        settle.torn(at);
        assert_eq!(settle.look(at, 1, false), Next::Look(at + QUIET));
        // A change is read before that.
        assert_eq!(settle.look(start, 2, false), Next::Look(start + QUIET));
        assert_eq!(settle.look(start + QUIET, 2, false), Next::Read);
        settle.attempted(2);
        assert_eq!(settle.look(at + QUIET * 2, 2, false), Next::Rest);
    }

    #[test]
    fn what_goes_back_to_what_it_was_is_not_read() {
        let start = Instant::now();
        let mut settle = Settle::new(Some(1));
        settle.look(start, 2, false);
        assert_eq!(settle.look(start + QUIET, 1, false), Next::Rest);
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_waited_for() {
        let start = Instant::now();
        let mut settle = Settle::new(Some(1));
        settle.look(start, 2, true);
        assert_eq!(settle.look(start + QUIET * 20, 2, true), Next::Look(start + RELOAD_WRITER_MOST));
        assert_eq!(settle.look(start + QUIET * 20, 2, false), Next::Read);
        assert_eq!(settle.look(start + RELOAD_WRITER_MOST, 2, true), Next::Read);
    }

    #[test]
    fn what_never_rests_is_read_all_the_same() {
        let start = Instant::now();
        let mut settle = Settle::new(Some(0));
        let mut now = start;
        for state in 1.. {
            if settle.look(now, state, false) == Next::Read || now > start + RELOAD_QUIET_MOST * 2 {
                break;
            }
            // A writer that changes it every 100 ms leaves some time in between.
            if settle.look(now + RELOAD_QUIET_LEAST, state, false) == Next::Read {
                break;
            }
            now += Duration::from_millis(100);
        }
        assert!(now >= start + RELOAD_QUIET_MOST && now < start + RELOAD_QUIET_MOST * 2, "{:?}", now - start);
    }

    #[test]
    fn a_document_without_an_end_is_waited_for_longer_and_then_taken() {
        let start = Instant::now();
        let mut settle = Settle::new(Some(1));
        settle.look(start, 2, false);
        assert_eq!(settle.look(start + QUIET, 2, false), Next::Read);
        assert!(!settle.unended());
        assert_eq!(settle.look(start + QUIET, 2, false), Next::Look(start + RELOAD_QUIET_UNENDED));
        assert_eq!(settle.look(start + RELOAD_QUIET_UNENDED, 2, false), Next::Read);
        assert!(settle.unended());
        // More of it begins anew.
        assert_eq!(
            settle.look(start + RELOAD_QUIET_UNENDED, 3, false),
            Next::Look(start + RELOAD_QUIET_UNENDED + RELOAD_QUIET_LEAST)
        );
    }
}
