//! Whether the events of a watch arrive late. Pure: the clock is an argument.
//!
//! A server that lags may send events all the time, each newer than the one before, so events alone do not show that the cache is
//! current. A probe shows a resourceVersion that exists already: an event that is older than that, and arrives long after, was late.
//! A bookmark says less: that of a kind of which nothing changes may be old on a server that does not lag. Start at
//! [`WatchLag::reached`].

use std::sync::Arc;

use tokio::time::Instant;

use crate::limits::{PROBE_BUSY, WATCH_LATE};
use nodesift_object::version::is_newer;

/// A line of a watch, by what it says of the server's resourceVersion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kube) enum Said {
    /// A change of an object, whose resourceVersion this is.
    Event(Arc<str>),
    /// The server has sent all changes up to this resourceVersion.
    Bookmark(Arc<str>),
}

impl Said {
    /// The resourceVersion that the watch has reached with it.
    pub(super) fn version(&self) -> &Arc<str> {
        let (Self::Event(version) | Self::Bookmark(version)) = self;
        version
    }
}

/// Evidence of an event or a bookmark about the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown {
    /// It is as the cluster was at this time, or later, and the watch is in time.
    Current(Instant),
    /// It is as the cluster was at this time, or later, and the watch lags on.
    Past(Instant),
    /// Nothing: the watch is known to lag.
    Nothing,
    /// The watch lags: this resourceVersion existed long ago. It is said once for each.
    Late {
        /// The resourceVersion that existed.
        newest: Arc<str>,
        /// Whether the watch was in time before.
        begins: bool,
    },
}

/// A resourceVersion that a probe has shown.
#[derive(Debug)]
struct Ahead {
    version: Arc<str>,
    at: Instant,
    /// Whether an older event has arrived late.
    is_late: bool,
}

/// How far the watch of one kind is behind the server's newest state.
#[derive(Debug, Default)]
pub(super) struct WatchLag {
    /// The version that the watch has to reach. No later one takes its place before that, or a steady lag would never show.
    ahead: Option<Ahead>,
    /// Whether events have been late, and have not been in time since.
    lags: bool,
    /// Whether the watch in progress has brought an event.
    is_busy: bool,
    /// When a probe was sent, or a list was taken, for the last time.
    asked: Option<Instant>,
}

impl WatchLag {
    /// A list has been taken, which is current.
    pub(super) fn listed(&mut self, now: Instant) {
        *self = Self { asked: Some(now), ..Self::default() };
    }

    /// Notes that a watch begins: it has brought nothing yet.
    pub(super) fn begin(&mut self) {
        self.is_busy = false;
    }

    /// Whether a probe has to show how far the watch in progress is: it brings events, which confirm the cache by themselves.
    pub(super) fn is_probe_due(&self, now: Instant) -> bool {
        let is_known = self.asked.is_some_and(|at| now.saturating_duration_since(at) < PROBE_BUSY);
        self.is_busy && self.ahead.is_none() && !is_known
    }

    /// A probe is sent.
    pub(super) fn asked(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// A probe has shown a version, and `newest` is the newest that was seen.
    pub(super) fn probed(&mut self, version: &Arc<str>, newest: &str, now: Instant) {
        if self.ahead.is_none() && is_newer(version, newest) {
            self.ahead = Some(Ahead { version: Arc::clone(version), at: now, is_late: false });
        }
    }

    /// The watch has said something that is not older than all before.
    pub(super) fn reached(&mut self, said: &Said, now: Instant) -> Shown {
        let is_event = matches!(said, Said::Event(_));
        self.is_busy |= is_event;
        if let Some(ahead) = &mut self.ahead {
            let is_late = now.saturating_duration_since(ahead.at) > WATCH_LATE;
            if !is_newer(&ahead.version, said.version()) {
                let at = ahead.at;
                self.ahead = None;
                self.lags &= is_late;
                return if self.lags { Shown::Past(at) } else { Shown::Current(now) };
            }
            if is_event && is_late {
                let begins = !self.lags;
                self.lags = true;
                let is_known = std::mem::replace(&mut ahead.is_late, true);
                let newest = Arc::clone(&ahead.version);
                return if is_known { Shown::Nothing } else { Shown::Late { newest, begins } };
            }
        }
        if self.lags { Shown::Nothing } else { Shown::Current(now) }
    }

    /// A watch has ended otherwise than in order: what it did not bring waits for the next, and is not late by that.
    pub(super) fn cut(&mut self) {
        self.ahead = None;
    }

    /// A watch has ended in order. One that has brought no event has brought no late one either.
    pub(super) fn ended(&mut self) {
        self.lags &= self.is_busy;
    }

    /// Whether a watch that ended in order, and a probe after it, show that the cache is current.
    pub(super) fn is_in_time(&self) -> bool {
        !self.lags
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn event(version: u32) -> Said {
        Said::Event(Arc::from(version.to_string()))
    }

    fn bookmark(version: u32) -> Said {
        Said::Bookmark(Arc::from(version.to_string()))
    }

    /// A watch whose list was taken a while ago, and of which a probe has now shown version 20.
    fn probed() -> (WatchLag, Instant) {
        let now = Instant::now();
        let mut lag = WatchLag::default();
        lag.listed(now);
        lag.begin();
        lag.probed(&Arc::from("20"), "10", now);
        (lag, now)
    }

    #[test]
    fn an_event_that_is_older_than_was_shown_long_before_is_late_and_confirms_nothing() {
        let (mut lag, began) = probed();
        let soon = began + WATCH_LATE;
        assert_eq!(lag.reached(&event(11), soon), Shown::Current(soon), "on its way when the probe was answered");
        let later = soon + Duration::from_millis(1);
        assert_eq!(lag.reached(&bookmark(12), later), Shown::Current(later), "nothing may have changed");
        assert_eq!(lag.reached(&event(13), later), Shown::Late { newest: Arc::from("20"), begins: true });
        for said in [event(14), bookmark(15)] {
            assert_eq!(lag.reached(&said, later), Shown::Nothing, "{said:?}");
        }
        assert!(!lag.is_in_time());
        // A later probe does not begin the time anew.
        lag.probed(&Arc::from("90"), "15", later);
        assert_eq!(lag.reached(&event(21), later), Shown::Past(began), "as it was then");
        assert_eq!(lag.reached(&event(22), later), Shown::Nothing, "it lags on");
        lag.probed(&Arc::from("30"), "22", began);
        assert_eq!(lag.reached(&event(22), later), Shown::Late { newest: Arc::from("30"), begins: false });
        lag.cut();
        lag.probed(&Arc::from("23"), "22", later);
        assert_eq!(lag.reached(&event(24), later), Shown::Current(later), "in time again");
        assert!(lag.is_in_time());
    }

    #[test]
    fn events_that_waited_for_the_next_watch_are_not_late() {
        let (mut lag, began) = probed();
        lag.cut();
        lag.begin();
        let later = began + 2 * WATCH_LATE;
        assert_eq!(lag.reached(&event(11), later), Shown::Current(later));
    }

    #[test]
    fn an_event_after_a_quiet_time_is_not_late() {
        let (mut lag, began) = probed();
        let later = began + 100 * WATCH_LATE;
        assert_eq!(lag.reached(&event(20), later), Shown::Current(later));
        assert_eq!(lag.reached(&event(21), later), Shown::Current(later));
    }

    #[test]
    fn a_watch_without_events_and_a_list_end_the_time_of_one_that_lags() {
        let late = || {
            let (mut lag, began) = probed();
            let later = began + 2 * WATCH_LATE;
            lag.reached(&event(11), later);
            lag.ended();
            assert!(!lag.is_in_time());
            (lag, later)
        };
        let (mut lag, _) = late();
        lag.begin();
        lag.ended();
        assert!(lag.is_in_time());
        let (mut lag, now) = late();
        lag.listed(now);
        assert!(lag.is_in_time());
        assert_eq!(lag.reached(&event(15), now + 2 * WATCH_LATE), Shown::Current(now + 2 * WATCH_LATE));
    }

    #[test]
    fn a_probe_is_due_beside_a_busy_watch_alone_and_so_often() {
        let now = Instant::now();
        let mut lag = WatchLag::default();
        lag.listed(now);
        lag.begin();
        let due = now + PROBE_BUSY;
        assert!(!lag.is_probe_due(due), "nothing has come");
        lag.reached(&event(11), now);
        assert!(!lag.is_probe_due(due - Duration::from_millis(1)) && lag.is_probe_due(due));
        lag.asked(due);
        assert!(!lag.is_probe_due(due) && lag.is_probe_due(due + PROBE_BUSY));
        lag.probed(&Arc::from("20"), "11", due);
        assert!(!lag.is_probe_due(due + PROBE_BUSY), "that one is to be reached first");
    }
}
