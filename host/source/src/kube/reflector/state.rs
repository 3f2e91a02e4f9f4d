//! The state machine of a reflector: which request comes next, and what to do with the outcome of the last. It has no I/O and
//! no clock.
//!
//! [`Reflector::step`] takes an outcome and returns its effect; [`Reflector::state`] is what to do next.
//!
//! - A list counts only when all its pages have been read. A page that fails is requested again.
//! - A list at a resourceVersion older than one that was seen is refused and requested again: the server lags. One whose lists
//!   stay older for [`RESTORED_AFTER`] has been restored from a backup, and what was seen before is void.
//! - A watch that brings nothing says nothing: a server that was restored keeps one open from a version that it does not know.
//!   A list of one object, a probe, shows by its resourceVersion whether the server knows the versions that were seen.
//! - A watch resumes at the newest resourceVersion seen, bookmarks included. Only "410 Gone", a malformed event, a version of
//!   the API that is not served any more, or a row of refused watches over minutes lead to a relist; and the task, where a policy
//!   reads other annotations.
//! - A failed request waits: by [`Backoff`], or as long as the server asks for by `Retry-After` (flow control).

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::backoff::Backoff;
use crate::kube::failure::Failure;
use crate::kube::kinds::{Resource, narrow};
use crate::limits::{
    LAG_GAP, LAGGING_RETRY_MOST, RESTORED_AFTER, RESTORED_LISTS, UNSERVED_KIND_PERIOD, UNSERVED_NAME_PERIOD,
    WATCH_LEAST, WATCH_REFUSALS,
};
use nodesift_object::version;

/// Next request or wait of a reflector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Read a page of a list.
    Listing {
        /// The token from the page before; `None` for the first page.
        next: Option<Arc<str>>,
    },
    /// Watch from the newest resourceVersion seen.
    Watching,
    /// Wait for a backoff.
    Waiting {
        /// When the wait ends.
        until: Instant,
        /// State after the wait; never another wait.
        then: Box<State>,
    },
}

/// The outcome of what a reflector did.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A page has been read.
    Page {
        /// `metadata.resourceVersion` of the list.
        version: Arc<str>,
        /// `metadata.continue`; `None` on the last page.
        next: Option<Arc<str>>,
    },
    /// A page could not be read.
    NoPage(Failure),
    /// A watch has ended.
    WatchEnded {
        /// The way in which it ended.
        end: End,
        /// The time since it was requested.
        lasted: Duration,
    },
    /// The wait is over.
    Waited,
    /// A probe has been answered.
    Probed {
        /// The newest resourceVersion seen when it was sent.
        asked: Arc<str>,
        /// `metadata.resourceVersion` of its list.
        version: Arc<str>,
    },
}

/// How a watch ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kube) enum End {
    /// The server ended it between two events.
    Orderly,
    /// The connection broke, with the reason.
    Cut(String),
    /// It was still open when it should long have ended, so the connection is dead.
    Silent,
    /// The server refused it, or ended it with an error.
    Failed(Failure),
    /// A probe has shown that the server lags.
    Lagging,
}

/// Effect of an outcome, to be carried out before the next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// There is nothing to do.
    None,
    /// Keep the page: more follow.
    Keep,
    /// The page was the last one: the list is complete.
    Whole {
        /// `metadata.resourceVersion` of the list.
        version: Arc<str>,
        /// The newest resourceVersion seen before, where the cluster was restored from a backup and does not know it.
        void: Option<Arc<str>>,
    },
    /// The server knows every resourceVersion that was seen.
    Confirmed,
    /// Drop all pages: relist.
    Relist(RelistReason),
    /// Drop all pages: the kind is not served and is treated as empty.
    Absent,
}

/// Why a reflector relists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::kube) enum RelistReason {
    /// 410 Gone: the server has compacted the resourceVersion of the watch, or the token of the list has expired.
    Expired,
    /// The list, or that of a probe, was older than what had been seen.
    Lagging,
    /// The server sent something malformed.
    Malformed,
    /// This version of the API is not served, or not any more.
    NotServed,
    /// The server refused [`WATCH_REFUSALS`] watches in a row.
    Refused,
    /// A policy reads annotations with which the objects have not been compiled.
    Annotations,
}

impl RelistReason {
    /// The value of the metric's label.
    pub(in crate::kube) fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Lagging => "lagging",
            Self::Malformed => "malformed",
            Self::NotServed => "not_served",
            Self::Refused => "refused",
            Self::Annotations => "annotations",
        }
    }
}

/// Lists older than what was seen.
#[derive(Debug, Clone, Copy)]
struct Lag {
    since: Instant,
    last: Instant,
    lists: u32,
}

/// The state of listing and watching one kind.
#[derive(Debug)]
pub(super) struct Reflector {
    state: State,
    resource: Resource,
    /// The only object that is read; all where there is none.
    name: Option<Arc<str>>,
    /// For how long a kind that is not served is not requested.
    unserved: Duration,
    /// Index into [`Resource::versions`] of the API version that is requested.
    api_version: usize,
    /// The newest resourceVersion seen, by list, event or bookmark.
    newest: Arc<str>,
    /// Lists that were older than that, without one between them, or an event, that was not.
    lagging: Option<Lag>,
    /// Newest resourceVersion seen before, which the list in progress makes void; see [`Effect::Whole`].
    void: Option<Arc<str>>,
    /// The resourceVersion of the list in progress: that of its first page, so that a watch from there misses nothing.
    list_version: Arc<str>,
    /// Whether the watch in progress has brought a newer version.
    progressed: bool,
    /// Whether anything has succeeded since the last relist; only then the next relist does not wait.
    settled: bool,
    /// Whether a list has ever been completed.
    served: bool,
    /// Whether [`Effect::Absent`] has been returned.
    absent: bool,
    /// Watches refused in a row, without a success between them.
    refusals: u32,
    backoff: Backoff,
}

impl Reflector {
    /// A reflector that begins with a list. `random` gives the jitter of its backoff.
    pub(super) fn new(resource: Resource, random: fastrand::Rng) -> Self {
        Self {
            state: State::Listing { next: None },
            resource,
            name: None,
            unserved: UNSERVED_KIND_PERIOD,
            api_version: 0,
            newest: Arc::default(),
            lagging: None,
            void: None,
            list_version: Arc::default(),
            progressed: false,
            settled: true,
            served: false,
            absent: false,
            refusals: 0,
            backoff: Backoff::new(random),
        }
    }

    /// Reads only the object with this name.
    #[must_use]
    pub(super) fn with_name(self, name: &Arc<str>) -> Self {
        // Somebody waits for it, and its kind is made for it.
        Self { name: Some(Arc::clone(name)), unserved: UNSERVED_NAME_PERIOD, ..self }
    }

    /// Returns the next request or wait.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Whether a list is in progress, or waits for its next attempt.
    pub(super) fn is_listing(&self) -> bool {
        let is_list = |state: &State| matches!(state, State::Listing { .. });
        is_list(&self.state) || matches!(&self.state, State::Waiting { then, .. } if is_list(then))
    }

    /// Lists from the first page: objects have to be compiled again. A list that waits goes on waiting. The resourceVersions that
    /// were seen still count.
    pub(super) fn list_anew(&mut self) {
        let list = State::Listing { next: None };
        match &mut self.state {
            State::Waiting { then, .. } if matches!(**then, State::Listing { .. }) => **then = list,
            state => *state = list,
        }
    }

    /// Gives up [`Self::list_anew`] of a kind that was watched before, and watches on from the newest resourceVersion seen.
    pub(super) fn watch_on(&mut self) {
        self.begin_watch();
    }

    /// Path and query of the next page.
    pub(super) fn list_uri(&self, next: Option<&str>) -> String {
        self.named(self.resource.list_uri(self.api_version, next))
    }

    /// Path and query of the next watch.
    pub(super) fn watch_uri(&self, seconds: u64) -> String {
        self.named(self.resource.watch_uri(self.api_version, &self.newest, seconds))
    }

    /// The newest resourceVersion seen.
    pub(super) fn newest(&self) -> &str {
        &self.newest
    }

    /// Path and query of a probe, and the newest resourceVersion seen, which its answer is compared with.
    pub(super) fn probe(&self) -> (String, Arc<str>) {
        (self.named(self.resource.probe_uri(self.api_version)), Arc::clone(&self.newest))
    }

    fn named(&self, mut uri: String) -> String {
        if let Some(name) = &self.name {
            narrow(&mut uri, &self.resource, name);
        }
        uri
    }

    /// An event or bookmark has arrived at a resourceVersion. Returns how that compares with the newest before; `None` where
    /// the two cannot be compared. The order of arrival decides then, unless only the new one is no number: it says nothing, and the
    /// watch could not go on from it.
    pub(super) fn reached(&mut self, seen: &Arc<str>) -> Option<Ordering> {
        let order = version::compare(seen, &self.newest);
        if order.is_none() && version::is_number(&self.newest) {
            return None;
        }
        if order != Some(Ordering::Less) {
            self.lagging = None;
        }
        if seen != &self.newest && order != Some(Ordering::Less) && !seen.is_empty() {
            version::advance(&mut self.newest, seen);
            self.progressed = true;
            self.settled = true;
            self.refusals = 0;
        }
        order
    }

    /// Advances by an outcome.
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
            (Outcome::Probed { asked, version }, _) => self.probed(&asked, &version, now),
            // Cannot happen: outcomes are those of what `state` asked for.
            (_, _) => Effect::None,
        }
    }

    fn page(&mut self, version: Arc<str>, next: Option<Arc<str>>, is_first: bool, now: Instant) -> Effect {
        if is_first {
            self.void = None;
            if version::compare(&version, &self.newest) == Some(Ordering::Less) {
                let lag = self.lag(now);
                lag.lists += 1;
                let Lag { since, lists, .. } = *lag;
                if now.duration_since(since) < RESTORED_AFTER || lists < RESTORED_LISTS {
                    self.wait_for_server(since, now);
                    return Effect::Relist(RelistReason::Lagging);
                }
                self.void = Some(Arc::clone(&self.newest));
            } else {
                self.lagging = None;
            }
            self.list_version = version;
        }
        if next.is_some() {
            self.state = State::Listing { next };
            return Effect::Keep;
        }
        self.newest = Arc::clone(&self.list_version);
        self.served = true;
        self.lagging = None;
        self.begin_watch();
        Effect::Whole { version: Arc::clone(&self.newest), void: self.void.take() }
    }

    /// Compares what a probe has shown. Where a watch has brought something newer meanwhile, it is only out of date.
    fn probed(&mut self, asked: &Arc<str>, version: &str, now: Instant) -> Effect {
        if self.is_listing() {
            return Effect::None;
        }
        if version::compare(version, asked) != Some(Ordering::Less) {
            self.lagging = None;
            self.settled = true;
            return Effect::Confirmed;
        }
        if self.newest != *asked {
            return Effect::None;
        }
        let since = self.lag(now).since;
        self.wait_for_server(since, now);
        Effect::Relist(RelistReason::Lagging)
    }

    /// The lag that goes on now. One of long ago says nothing of now.
    fn lag(&mut self, now: Instant) -> &mut Lag {
        self.lagging = self.lagging.filter(|lag| now.duration_since(lag.last) <= LAG_GAP);
        let lag = self.lagging.get_or_insert(Lag { since: now, last: now, lists: 0 });
        lag.last = now;
        lag
    }

    /// A list that makes versions up to `seen` void could not be delivered: the next one counts as it.
    pub(super) fn not_restored(&mut self, seen: Arc<str>, now: Instant) {
        self.newest = seen;
        let since = now.checked_sub(RESTORED_AFTER).unwrap_or(now);
        self.lagging = Some(Lag { since, last: now, lists: RESTORED_LISTS });
    }

    /// Waits before the next list of a server that lags: not beyond the time at which it counts as restored.
    fn wait_for_server(&mut self, since: Instant, now: Instant) {
        let left = (since + RESTORED_AFTER).saturating_duration_since(now);
        let most = if left.is_zero() { LAGGING_RETRY_MOST } else { left.min(LAGGING_RETRY_MOST) };
        let wait = self.backoff.after_failure("lagging", now).min(most);
        // A server that asks to wait is not asked sooner.
        let until = match self.state {
            State::Waiting { until, .. } => until.max(now + wait),
            _ => now + wait,
        };
        self.state = State::Waiting { until, then: Box::new(State::Listing { next: None }) };
    }

    fn watch_ended(&mut self, end: End, lasted: Duration, now: Instant) -> Effect {
        let worthwhile = self.progressed || lasted >= WATCH_LEAST;
        if self.progressed || (worthwhile && end == End::Orderly) {
            self.backoff.succeeded();
        }
        match end {
            End::Orderly if worthwhile => {
                self.settled = true;
                self.refusals = 0;
                self.begin_watch();
            }
            End::Cut(_) if worthwhile => self.begin_watch(),
            End::Silent => self.begin_watch(),
            End::Orderly | End::Cut(_) => self.wait(State::Watching, "ended", None, now),
            End::Failed(failure) => return self.failed(failure, State::Watching, now),
            // The probe has led on.
            End::Lagging => {}
        }
        Effect::None
    }

    /// The effect of a failure; `again` is the request that failed.
    fn failed(&mut self, failure: Failure, again: State, now: Instant) -> Effect {
        let cause = failure.class();
        match failure {
            Failure::Expired { .. } => self.relist(RelistReason::Expired, now),
            Failure::Malformed(_) => {
                self.wait(State::Listing { next: None }, cause, None, now);
                Effect::Relist(RelistReason::Malformed)
            }
            Failure::NotServed { .. } => self.not_served(&again, now),
            // The server cannot serve a watch from this version.
            Failure::Refused { .. } if again == State::Watching && self.refusals + 1 >= WATCH_REFUSALS => {
                self.refusals = 0;
                self.wait(State::Listing { next: None }, cause, failure.retry_after(), now);
                Effect::Relist(RelistReason::Refused)
            }
            // A denial too: an API server that has just started denies everything until it has loaded its RBAC rules.
            failure @ (Failure::NotNow { .. }
            | Failure::Denied { .. }
            | Failure::Refused { .. }
            | Failure::Transport(_)
            | Failure::Slow(_)
            | Failure::Silent(_)
            | Failure::Lagging { .. }) => {
                let is_refusal = matches!(failure, Failure::Refused { .. });
                self.refusals += u32::from(is_refusal && again == State::Watching);
                self.wait(again, cause, failure.retry_after(), now);
                Effect::None
            }
        }
    }

    /// Tries the versions of the API from the best to the last. A kind that was served before keeps its objects: an error
    /// between here and the API server is more likely than an API server that has stopped serving the kind.
    fn not_served(&mut self, again: &State, now: Instant) -> Effect {
        let list = State::Listing { next: None };
        let was_listing = matches!(again, State::Listing { .. });
        if !was_listing {
            self.api_version = 0;
            return self.relist(RelistReason::NotServed, now);
        }
        if self.api_version + 1 < self.resource.versions.len() {
            self.api_version += 1;
            self.state = list;
            return Effect::Relist(RelistReason::NotServed);
        }
        self.api_version = 0;
        if self.served || !self.resource.is_optional() {
            let until = now + self.backoff.longest(now);
            self.state = State::Waiting { until, then: Box::new(list) };
            return Effect::Relist(RelistReason::NotServed);
        }
        self.state = State::Waiting { until: now + self.unserved, then: Box::new(list) };
        if std::mem::replace(&mut self.absent, true) { Effect::Relist(RelistReason::NotServed) } else { Effect::Absent }
    }

    fn begin_watch(&mut self) {
        self.progressed = false;
        self.state = State::Watching;
    }

    fn relist(&mut self, reason: RelistReason, now: Instant) -> Effect {
        let list = State::Listing { next: None };
        if std::mem::take(&mut self.settled) {
            self.state = list;
        } else {
            self.wait(list, reason.name(), None, now);
        }
        Effect::Relist(reason)
    }

    /// Waits for the backoff, and at least as long as the server asks for by `Retry-After`.
    fn wait(&mut self, then: State, cause: &'static str, at_least: Option<Duration>, now: Instant) {
        let mut wait = self.backoff.after_failure(cause, now);
        if let Some(asked) = at_least.filter(|asked| *asked > wait) {
            wait = asked;
            self.backoff.prolong(now, wait);
        }
        self.state = State::Waiting { until: now + wait, then: Box::new(then) };
    }
}

#[cfg(test)]
mod tests;
