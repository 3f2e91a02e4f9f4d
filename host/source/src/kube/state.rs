//! Where the following of one kind stands, and what comes next: a state machine without any I/O or clock of its own.
//!
//! [`Course::step`] takes what has happened and says what to do with it; [`Course::state`] is what to do next.
//!
//! - The first list of a kind, and every later one, counts only when it is whole; a page that fails is asked for again.
//! - A list is never accepted at a version older than one that has been seen: a server that lags is asked again, for as
//!   long as it lags. A cluster that was restored from a backup looks the same, and needs a restart of the sidecar.
//! - A watch goes on from the newest version seen, bookmarks included. Only "410 Gone", what cannot be understood, or
//!   nothing but refusals for minutes leads to a new list.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::backoff::Backoff;
use super::failure::Failure;
use super::kinds::Resource;
use crate::limits::{UNSERVED_KIND_PERIOD, WATCH_LEAST, WATCH_REFUSALS};
use nodesift_object::version;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Read a page of a list: the one behind this token, the first one without.
    Listing {
        /// The token that the page before has given.
        next: Option<Arc<str>>,
    },
    /// Watch what comes after the newest version seen.
    Watching,
    /// Wait, and then do something else.
    Waiting {
        /// Until when.
        until: Instant,
        /// What comes then; never another wait.
        then: Box<State>,
    },
}

/// What has happened.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A page has been read.
    Page {
        /// `metadata.resourceVersion` of the list.
        version: Arc<str>,
        /// `metadata.continue`; none on the last page.
        next: Option<Arc<str>>,
    },
    /// A page could not be read.
    NoPage(Failure),
    /// A watch has ended.
    WatchEnded {
        /// How.
        end: End,
        /// For how long it had been asked for.
        lasted: Duration,
    },
    /// The wait is over.
    Waited,
}

/// How a watch ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The server has ended it, between two events.
    Orderly,
    /// The connection has broken.
    Cut(String),
    /// Nothing has come for so long that the connection is dead, whatever TCP believes.
    Silent,
    /// The server has refused it, or ended it with an error.
    Failed(Failure),
}

/// What to do with what has happened, before going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// Keep the page: more will follow.
    Keep,
    /// The page was the last one: the list is whole, at this version.
    Whole(Arc<str>),
    /// Drop the pages read so far; the list begins anew.
    Relist(Reason),
    /// Drop the pages read so far: the server does not serve this kind, and there are no objects of it.
    Absent,
}

/// Why a list begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// The version watched from, or the rest of the list, is no longer known to the server.
    Expired,
    /// The list was older than what had been seen.
    Lagging,
    /// What came could not be understood.
    Malformed,
    /// The version of the API is not served, or no longer.
    NotServed,
    /// The server goes on refusing to watch from the version that was reached.
    Refused,
}

impl Reason {
    /// The name under which it is counted.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Lagging => "lagging",
            Self::Malformed => "malformed",
            Self::NotServed => "not_served",
            Self::Refused => "refused",
        }
    }
}

/// The following of one kind.
#[derive(Debug)]
pub(super) struct Course {
    state: State,
    resource: Resource,
    /// Which of the resource's API versions is asked for.
    api_version: usize,
    /// The newest version seen, by list, event or bookmark.
    newest: Arc<str>,
    /// The version of the list in progress: its first page's, so that a watch from there misses nothing of any page.
    list_version: Arc<str>,
    /// Whether the watch in progress has told anything new.
    progressed: bool,
    /// Whether anything has gone well since a list was last begun anew; only then is the next one begun without waiting.
    settled: bool,
    /// Whether a list has ever been whole.
    served: bool,
    /// Whether it has been said that the kind is not served.
    absent: bool,
    /// How many watches in a row were refused, without anything having gone well between.
    refusals: u32,
    backoff: Backoff,
}

impl Course {
    /// Begins with a list.
    pub(super) fn new(resource: Resource, random: fastrand::Rng) -> Self {
        Self {
            state: State::Listing { next: None },
            resource,
            api_version: 0,
            newest: Arc::default(),
            list_version: Arc::default(),
            progressed: false,
            settled: true,
            served: false,
            absent: false,
            refusals: 0,
            backoff: Backoff::new(random),
        }
    }

    /// What to do next.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Path and query of the next page.
    pub(super) fn list_uri(&self, next: Option<&str>) -> String {
        self.resource.list_uri(self.api_version, next)
    }

    /// Path and query of the next watch.
    pub(super) fn watch_uri(&self, seconds: u64) -> String {
        self.resource.watch_uri(self.api_version, &self.newest, seconds)
    }

    /// A watch has told of an object, or of nothing, at a version. Says how it stands to the newest one before; none
    /// where the two cannot be compared and the order of arrival has to do.
    pub(super) fn reached(&mut self, seen: &Arc<str>) -> Option<Ordering> {
        let order = version::compare(seen, &self.newest);
        if seen != &self.newest && order != Some(Ordering::Less) && !seen.is_empty() {
            version::advance(&mut self.newest, seen);
            self.progressed = true;
            self.settled = true;
            self.refusals = 0;
        }
        order
    }

    /// Goes on from what has happened.
    pub(super) fn step(&mut self, outcome: Outcome, now: Instant) -> Effect {
        match (outcome, self.state.clone()) {
            (Outcome::Waited, State::Waiting { then, .. }) => {
                self.state = *then;
                self.progressed = false;
                Effect::None
            }
            (Outcome::Page { version, next }, State::Listing { next: asked }) => {
                self.page(version, next, asked.is_none(), now)
            }
            (Outcome::NoPage(failure), State::Listing { next }) => self.failed(failure, State::Listing { next }, now),
            (Outcome::WatchEnded { end, lasted }, State::Watching) => self.watch_ended(end, lasted, now),
            // Whoever drives this reports on what `state` asked for.
            (_, _) => Effect::None,
        }
    }

    fn page(&mut self, version: Arc<str>, next: Option<Arc<str>>, is_first: bool, now: Instant) -> Effect {
        if is_first {
            if version::compare(&version, &self.newest) == Some(Ordering::Less) {
                self.wait(State::Listing { next: None }, None, now);
                return Effect::Relist(Reason::Lagging);
            }
            self.list_version = version;
        }
        if next.is_some() {
            self.state = State::Listing { next };
            return Effect::Keep;
        }
        self.newest = Arc::clone(&self.list_version);
        self.served = true;
        self.begin_watch();
        Effect::Whole(Arc::clone(&self.newest))
    }

    fn watch_ended(&mut self, end: End, lasted: Duration, now: Instant) -> Effect {
        let worthwhile = self.progressed || lasted >= WATCH_LEAST;
        match end {
            End::Orderly if worthwhile => {
                self.settled = true;
                self.refusals = 0;
                self.begin_watch();
            }
            End::Cut(_) if worthwhile => self.begin_watch(),
            End::Silent => self.begin_watch(),
            End::Orderly | End::Cut(_) => self.wait(State::Watching, None, now),
            End::Failed(failure) => return self.failed(failure, State::Watching, now),
        }
        Effect::None
    }

    /// What a failure leads to; `again` is what failed.
    fn failed(&mut self, failure: Failure, again: State, now: Instant) -> Effect {
        match failure {
            Failure::Expired { .. } => self.begin_anew(Reason::Expired, now),
            Failure::Malformed(_) => {
                self.wait(State::Listing { next: None }, None, now);
                Effect::Relist(Reason::Malformed)
            }
            Failure::NotServed { .. } => self.not_served(&again, now),
            // From this version on the server cannot, or does not want to, and never will.
            Failure::Refused { .. } if again == State::Watching && self.refusals + 1 >= WATCH_REFUSALS => {
                self.refusals = 0;
                self.wait(State::Listing { next: None }, failure.retry_after(), now);
                Effect::Relist(Reason::Refused)
            }
            // A denial too: an API server that has just started denies everything until it knows who may do what.
            failure @ (Failure::NotNow { .. }
            | Failure::Denied { .. }
            | Failure::Refused { .. }
            | Failure::Transport(_)
            | Failure::Silent(_)) => {
                let is_refusal = matches!(failure, Failure::Refused { .. });
                self.refusals += u32::from(is_refusal && again == State::Watching);
                self.wait(again, failure.retry_after(), now);
                Effect::None
            }
        }
    }

    /// Tries the versions of the API from the best to the last. A kind that has once been served and is not any more keeps
    /// its objects: that an API server has forgotten one is less likely than that something in between is wrong.
    fn not_served(&mut self, again: &State, now: Instant) -> Effect {
        let list = State::Listing { next: None };
        let was_listing = matches!(again, State::Listing { .. });
        if !was_listing {
            self.api_version = 0;
            return self.begin_anew(Reason::NotServed, now);
        }
        if self.api_version + 1 < self.resource.versions.len() {
            self.api_version += 1;
            self.state = list;
            return Effect::Relist(Reason::NotServed);
        }
        self.api_version = 0;
        if self.served || !self.resource.is_optional() {
            let until = now + self.backoff.longest(now);
            self.state = State::Waiting { until, then: Box::new(list) };
            return Effect::Relist(Reason::NotServed);
        }
        self.state = State::Waiting { until: now + UNSERVED_KIND_PERIOD, then: Box::new(list) };
        if std::mem::replace(&mut self.absent, true) { Effect::Relist(Reason::NotServed) } else { Effect::Absent }
    }

    fn begin_watch(&mut self) {
        self.progressed = false;
        self.state = State::Watching;
    }

    fn begin_anew(&mut self, reason: Reason, now: Instant) -> Effect {
        let list = State::Listing { next: None };
        if std::mem::take(&mut self.settled) {
            self.state = list;
        } else {
            self.wait(list, None, now);
        }
        Effect::Relist(reason)
    }

    /// Waits as long as failures so far suggest, and at least as long as the server asks for.
    fn wait(&mut self, then: State, at_least: Option<Duration>, now: Instant) {
        let mut wait = self.backoff.after_failure(now);
        if let Some(asked) = at_least.filter(|asked| *asked > wait) {
            wait = asked;
            self.backoff.prolong(now, wait);
        }
        self.state = State::Waiting { until: now + wait, then: Box::new(then) };
    }
}

#[cfg(test)]
mod tests;
