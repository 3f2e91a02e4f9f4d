//! Health: which kinds cannot be listed or watched at present, and why. Log and readiness say it from here, so that they say the
//! same.
//!
//! An outage is logged in one line when a kind has failed [`OUTAGE_FAILURES`] times in a row, and in one line when it is over.
//! A cause that concerns the server as a whole is one outage, whatever number of kinds meets it; a missing permission is one
//! per kind, since each has to be granted. That a version or a page has expired is part of normal operation, unless it happens again and
//! again. Start at [`Health::failed`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::failure::Failure;
use super::kinds::{self, Resource};
use crate::limits::{AWAY_LEAST, HEALTH_KINDS_NAMED, OUTAGE_FAILURES, RESTORED_AFTER, RESTORED_LOG_PERIOD};

/// The health of all kinds; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    failing: BTreeMap<Resource, Failing>,
    /// How often something has expired since the server last showed its newest state.
    expired: BTreeMap<Resource, u32>,
    /// Outages that are logged and not over, with their beginning.
    outages: BTreeMap<Outage, Instant>,
    /// When it was last logged that the cluster was restored.
    restored: Option<Instant>,
    /// Notified at the end of outages; each has one waiter.
    over: Vec<Arc<Notify>>,
    /// Whether the server was away since it was last followed as a whole: it may come back with another history.
    was_away: bool,
}

/// A kind whose last request failed.
#[derive(Debug)]
struct Failing {
    cause: Cause,
    /// Failures of this cause in a row.
    failures: u32,
    since: Instant,
    /// Text of the last failure.
    text: String,
}

/// Why requests fail, as far as an operator has to tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Unreachable,
    Unauthorized,
    Forbidden,
    Throttled,
    NotServed,
    Lagging,
    Errors,
}

/// One cause, of one kind where that matters.
type Outage = (Cause, Option<Resource>);

impl Cause {
    fn outage(self, resource: Resource) -> Outage {
        (self, self.concerns_one_kind().then_some(resource))
    }

    fn concerns_one_kind(self) -> bool {
        matches!(self, Self::Forbidden | Self::NotServed)
    }

    /// Whether the server may have another history after it. One that is only overloaded is not asked for more.
    fn is_away(self) -> bool {
        matches!(self, Self::Unreachable | Self::Unauthorized | Self::Lagging)
    }
}

impl From<&Failure> for Cause {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::NotNow { .. } => Self::Throttled,
            Failure::Denied { status: 401, .. } => Self::Unauthorized,
            Failure::Denied { .. } => Self::Forbidden,
            Failure::NotServed { .. } => Self::NotServed,
            Failure::Lagging { .. } => Self::Lagging,
            Failure::Transport(_) | Failure::Slow(_) | Failure::Silent(_) => Self::Unreachable,
            Failure::Expired { .. } | Failure::Refused { .. } | Failure::Malformed(_) => Self::Errors,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "API server unreachable",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Throttled => "API server asks to wait",
            Self::NotServed => "not served",
            Self::Lagging => "API server knows only older versions",
            Self::Errors => "API server answers with errors",
        })
    }
}

impl Health {
    /// Notified when the server was away, and is followed as a whole again: it may have come back with another history, or as another
    /// release. Each call makes one for one waiter.
    pub fn over(&self) -> Arc<Notify> {
        let over = Arc::<Notify>::default();
        self.locked().over.push(Arc::clone(&over));
        over
    }

    /// A request about a kind has failed.
    pub(super) fn failed(&self, resource: impl Into<Resource>, failure: &Failure) {
        let resource = resource.into();
        let (cause, now, text) = (Cause::from(failure), Instant::now(), failure.to_string());
        let mut state = self.locked();
        let mut failures = 1;
        if matches!(failure, Failure::Expired { .. }) {
            let expired = state.expired.entry(resource).or_default();
            *expired = expired.saturating_add(1);
            failures = *expired;
            if failures < OUTAGE_FAILURES {
                return;
            }
        }
        let outage = cause.outage(resource);
        let failing = match state.failing.get_mut(&resource) {
            Some(failing) if failing.cause == cause => {
                failing.failures = failing.failures.saturating_add(1);
                failing.text.clone_from(&text);
                failing
            }
            _ => {
                let ended = state.failing.insert(resource, Failing { cause, failures, since: now, text: text.clone() });
                if let Some(ended) = ended {
                    state.end_unless_met(ended.cause.outage(resource), now);
                }
                let Some(failing) = state.failing.get_mut(&resource) else { return };
                failing
            }
        };
        // A timeout took so long that it needs no second.
        let is_timeout = matches!(failure, Failure::Slow(_) | Failure::Silent(_));
        let is_outage = failing.failures >= OUTAGE_FAILURES || is_timeout;
        let since = failing.since;
        if is_outage && !state.outages.contains_key(&outage) {
            state.outages.insert(outage, since);
            drop(state);
            log_begin(cause, resource, &text);
        }
    }

    /// The server has shown its newest state of a kind.
    pub(super) fn recovered(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let mut state = self.locked();
        state.expired.remove(&resource);
        if let Some(ended) = state.failing.remove(&resource) {
            state.end_unless_met(ended.cause.outage(resource), Instant::now());
        }
        let is_followed = state.failing.values().all(|failing| failing.cause.concerns_one_kind());
        if is_followed && std::mem::take(&mut state.was_away) {
            state.over.iter().for_each(|over| over.notify_one());
        }
    }

    /// The cluster was restored from a backup: the list of a kind, at `version`, replaces everything up to the versions seen. Each
    /// kind finds that out by itself, and it is logged once.
    pub(super) fn restored(&self, resource: impl Into<Resource>, version: &str, seen: &str) {
        let (now, kind) = (Instant::now(), resource.into().kind);
        let last = self.locked().restored.replace(now);
        if last.is_none_or(|last| now.duration_since(last) >= RESTORED_LOG_PERIOD) {
            tracing::warn!(
                %kind, version, seen,
                "the API server has known only older versions for {} s: the cluster was restored from a backup; its lists, of all \
                 kinds, replace what was cached", RESTORED_AFTER.as_secs()
            );
        } else {
            tracing::debug!(%kind, version, seen, "restored");
        }
    }

    /// The kind is not followed any more.
    pub(super) fn forget(&self, resource: impl Into<Resource>) {
        let resource = resource.into();
        let mut state = self.locked();
        state.expired.remove(&resource);
        if let Some(ended) = state.failing.remove(&resource) {
            let outage = ended.cause.outage(resource);
            // Nothing was recovered, so nothing is logged.
            if !state.failing.iter().any(|(kind, failing)| failing.cause.outage(*kind) == outage) {
                state.outages.remove(&outage);
            }
        }
    }

    /// Describes which kinds fail at present and why, for operators; `None` while none does.
    pub fn report(&self) -> Option<String> {
        self.described(true)
    }

    /// Describes which kinds fail as [`Self::report`] does, without the texts of the API server, which may name objects.
    pub fn counts(&self) -> Option<String> {
        self.described(false)
    }

    fn described(&self, with_texts: bool) -> Option<String> {
        let state = self.locked();
        let mut by_cause: BTreeMap<Cause, Vec<(Resource, &Failing)>> = BTreeMap::new();
        for (resource, failing) in &state.failing {
            by_cause.entry(failing.cause).or_default().push((*resource, failing));
        }
        let causes: Vec<String> =
            by_cause.iter().map(|(cause, failing)| described(*cause, failing, with_texts)).collect();
        (!causes.is_empty()).then(|| causes.join("; "))
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends and logs an outage that no kind meets any more.
    fn end_unless_met(&mut self, outage: Outage, now: Instant) {
        if self.failing.iter().any(|(resource, failing)| failing.cause.outage(*resource) == outage) {
            return;
        }
        if let Some(since) = self.outages.remove(&outage) {
            let (cause, resource) = outage;
            let lasted = now.saturating_duration_since(since);
            self.was_away |= cause.is_away() && lasted >= AWAY_LEAST;
            let lasted_s = lasted.as_secs();
            match resource {
                Some(Resource { kind, .. }) => {
                    tracing::info!(%kind, %cause, lasted_s, "outage over: listed and watched again")
                }
                None => tracing::info!(%cause, lasted_s, "outage over: the API server is followed again"),
            }
        }
    }
}

/// `forbidden for 12 s: nodes, pods (403: …)`.
fn described(cause: Cause, failing: &[(Resource, &Failing)], with_texts: bool) -> String {
    let longest = failing.iter().map(|(_, failing)| failing.since.elapsed()).max().unwrap_or_default();
    let names = failing.iter().map(|(resource, _)| resource.plural);
    let mut kinds = names.take(HEALTH_KINDS_NAMED).collect::<Vec<_>>().join(", ");
    if let Some(more) = failing.len().checked_sub(HEALTH_KINDS_NAMED).filter(|more| *more > 0) {
        kinds.push_str(&format!(" and {more} more kinds"));
    }
    let text = failing.first().map(|(_, failing)| failing.text.as_str()).unwrap_or_default();
    let text = if with_texts { format!(" ({text})") } else { String::new() };
    format!("{cause} for {} s: {kinds}{text}", longest.as_secs())
}

fn log_begin(cause: Cause, resource: Resource, failure: &str) {
    let Resource { kind, plural, .. } = resource;
    match cause {
        Cause::Unreachable => tracing::warn!(
            %kind, failure,
            "outage: API server unreachable: the cache stays as it is, answers grow stale, assumptions do not expire; retrying"
        ),
        Cause::Unauthorized => tracing::error!(
            %kind, failure,
            "outage: unauthorized: the cache keeps its {plural} and all else as it is until the credentials are renewed"
        ),
        Cause::Forbidden => tracing::error!(
            %kind, failure, grant = kinds::permission(resource),
            "outage: forbidden: the cache keeps its {plural} as they are until this is granted"
        ),
        Cause::Throttled => tracing::warn!(%kind, failure, "outage: the API server asks to wait; retrying as it says"),
        Cause::NotServed => {
            tracing::warn!(%kind, failure, "outage: {plural} are not served; the cache keeps those it has");
        }
        Cause::Lagging => tracing::warn!(
            %kind, failure,
            "outage: the API server knows only older versions than those seen: it lags, or the cluster was restored from a \
             backup; if its lists stay so for {} s, it counts as restored, and they replace everything", RESTORED_AFTER.as_secs()
        ),
        Cause::Errors => tracing::warn!(
            %kind, failure,
            "outage: the API server answers with errors: the cache stays as it is, answers grow stale; retrying"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;
    use nodesift_object::Kind;
    use tokio::time::advance;

    use super::*;

    fn failure(status: u16) -> Failure {
        Failure::from_status(status, None, b"no")
    }

    /// The outages that are logged.
    fn outages(health: &Health) -> Vec<Outage> {
        health.locked().outages.keys().copied().collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_is_an_outage_at_once_and_other_failures_when_they_repeat() {
        for failure in [Failure::Slow("late".to_owned()), Failure::Silent(Duration::from_secs(20))] {
            let health = Health::default();
            health.failed(Kind::Pod, &failure);
            assert_eq!(outages(&health), [(Cause::Unreachable, None)], "{failure}");
        }
        let health = Health::default();
        let down = Failure::Transport("connection refused".to_owned());
        (1..OUTAGE_FAILURES).for_each(|_| health.failed(Kind::Pod, &down));
        assert_eq!(outages(&health), []);
        health.failed(Kind::Pod, &down);
        assert_eq!(outages(&health), [(Cause::Unreachable, None)]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_report_tells_forbidden_unauthorized_and_unreachable_apart_and_ends_with_them() {
        let health = Health::default();
        assert_eq!(health.report(), None);
        health.failed(Kind::Node, &failure(401));
        health.failed(Kind::Pod, &failure(403));
        health.failed(Kind::Namespace, &Failure::Transport("connection refused".to_owned()));
        advance(Duration::from_secs(12)).await;
        assert_eq!(
            health.report().as_deref(),
            Some(
                "API server unreachable for 12 s: namespaces (connection refused); unauthorized for 12 s: nodes (401: no); \
                 forbidden for 12 s: pods (403: no)"
            )
        );
        health.recovered(Kind::Node);
        health.recovered(Kind::Namespace);
        assert_eq!(health.report().as_deref(), Some("forbidden for 12 s: pods (403: no)"));
        health.failed(Kind::Pod, &failure(500));
        assert_eq!(health.report().as_deref(), Some("API server answers with errors for 0 s: pods (500: no)"));
        health.recovered(Kind::Pod);
        assert_eq!(health.report(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_begins_with_the_third_failure_in_a_row_and_is_one_for_all_kinds() {
        let health = Health::default();
        let down = Failure::Transport("connection refused".to_owned());
        for kind in [Kind::Node, Kind::Pod] {
            (1..OUTAGE_FAILURES).for_each(|_| health.failed(kind, &down));
            assert_eq!(outages(&health), []);
        }
        health.failed(Kind::Node, &down);
        health.failed(Kind::Pod, &down);
        assert_eq!(outages(&health), [(Cause::Unreachable, None)]);
        health.recovered(Kind::Node);
        assert_eq!(outages(&health), [(Cause::Unreachable, None)], "pods are not followed yet");
        let over = health.over();
        advance(AWAY_LEAST).await;
        assert!(over.notified().now_or_never().is_none());
        health.recovered(Kind::Pod);
        assert_eq!(outages(&health), []);
        assert!(over.notified().now_or_never().is_some());
        // A watch that was silent and goes on at once was no restart of the server.
        health.failed(Kind::Pod, &Failure::Silent(Duration::from_secs(20)));
        assert_eq!(outages(&health), [(Cause::Unreachable, None)]);
        health.recovered(Kind::Pod);
        assert!(over.notified().now_or_never().is_none());
        // What concerns one kind says nothing about the server, and one that is overloaded is asked for no more.
        for status in [403, 429, 500, 410] {
            (0..OUTAGE_FAILURES).for_each(|_| health.failed(Kind::Pod, &failure(status)));
            advance(AWAY_LEAST).await;
            health.recovered(Kind::Pod);
            assert!(over.notified().now_or_never().is_none(), "{status}");
        }
        // It comes back overloaded: it is followed once it answers.
        (0..OUTAGE_FAILURES).for_each(|_| health.failed(Kind::Pod, &down));
        advance(AWAY_LEAST).await;
        health.failed(Kind::Pod, &failure(429));
        assert!(over.notified().now_or_never().is_none());
        health.recovered(Kind::Pod);
        assert!(over.notified().now_or_never().is_some());
    }

    #[tokio::test]
    async fn one_denial_is_no_outage_and_a_lasting_one_is_one_per_kind() {
        let health = Health::default();
        health.failed(Kind::Pod, &failure(403));
        health.recovered(Kind::Pod);
        for kind in [Kind::Node, Kind::Pod] {
            (0..OUTAGE_FAILURES).for_each(|_| health.failed(kind, &failure(403)));
        }
        assert_eq!(
            outages(&health),
            [(Cause::Forbidden, Some(Kind::Node.into())), (Cause::Forbidden, Some(Kind::Pod.into()))]
        );
        // The server goes down, and is another cause from then on.
        health.failed(Kind::Pod, &Failure::Silent(Duration::from_secs(20)));
        assert_eq!(outages(&health), [(Cause::Unreachable, None), (Cause::Forbidden, Some(Kind::Node.into()))]);
    }

    #[tokio::test]
    async fn expiry_is_no_failure_of_the_server_unless_nothing_else_happens() {
        let health = Health::default();
        for _ in 0..3 {
            (1..OUTAGE_FAILURES).for_each(|_| health.failed(Kind::Pod, &failure(410)));
            assert_eq!(health.report(), None);
            health.recovered(Kind::Pod);
        }
        (0..OUTAGE_FAILURES).for_each(|_| health.failed(Kind::Pod, &failure(410)));
        let report = "API server answers with errors for 0 s: pods (410: resourceVersion or page token expired: no)";
        assert_eq!(health.report().as_deref(), Some(report));
        assert_eq!(outages(&health), [(Cause::Errors, None)]);
        health.recovered(Kind::Pod);
        assert_eq!((health.report(), outages(&health)), (None, Vec::new()));
    }

    #[tokio::test]
    async fn many_kinds_are_counted() {
        let health = Health::default();
        let kinds = [Kind::Node, Kind::Pod, Kind::Namespace, Kind::Service, Kind::ReplicaSet, Kind::StatefulSet];
        kinds.iter().for_each(|kind| health.failed(*kind, &failure(401)));
        let report = health.report().unwrap_or_default();
        assert!(report.contains(" and 2 more kinds (401: no)"), "{report}");
    }
}
