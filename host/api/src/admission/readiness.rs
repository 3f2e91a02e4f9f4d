//! Readiness and drain: values that are held, not flags that are set.
//!
//! Each step that must end before the first response holds a [`Latch`]; the process is ready once the last one is dropped.
//! A drain ends readiness for good, while requests that still arrive are answered. Start at [`Readiness::wait_for`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::staleness::Staleness;
use crate::access::MayName;
use crate::{Error, limits};

/// Whether responses may be given, and whether the process drains. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    state: Arc<Mutex<State>>,
    drain: CancellationToken,
    /// Notified whenever a latch is dropped.
    dropped: Arc<Notify>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Arc<str>>,
    draining: bool,
    remarks: Vec<Remark>,
    watched: Option<Watched>,
}

/// Last report of the watchdog.
#[derive(Debug, Clone)]
struct Watched {
    at: Instant,
    stopped: Vec<Stopped>,
}

/// A part of the process that has stopped: dead or stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// For operators, such as `the feed`.
    pub what: &'static str,
    /// Whether requests are refused meanwhile, because they could not be answered within their limits.
    pub refuses: bool,
}

/// A condition that `/readyz` mentions, ready or not, without ending readiness; none while all is well.
type Said = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A condition that `/readyz` mentions, with and without names.
#[derive(Clone)]
struct Remark {
    /// For those who may read about pods and nodes.
    full: Said,
    /// For everybody: without their names.
    counts: Said,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("waiting", &self.waiting)
            .field("draining", &self.draining)
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}

/// A step that must end before the first response; ended by dropping this.
#[derive(Debug)]
#[must_use = "readiness waits until this is dropped"]
pub struct Latch {
    what: Arc<str>,
    readiness: Readiness,
}

impl Readiness {
    /// Makes readiness wait until the latch is dropped. `what` names the step in `/readyz`, for example `the list of nodes`.
    pub fn wait_for(&self, what: &str) -> Latch {
        let what: Arc<str> = what.into();
        self.locked(|state| state.waiting.push(Arc::clone(&what)));
        Latch { what, readiness: self.clone() }
    }

    /// Adds a remark that names no pod and no node, such as `serving the last good policy`, to the `ok` of `/readyz`.
    pub fn remark(&self, remark: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let full: Said = Arc::new(remark);
        self.locked(|state| state.remarks.push(Remark { counts: Arc::clone(&full), full }));
    }

    /// Adds one that may, such as `1 object is retried: Pod web/nginx-0`, and what it is for everybody: `1 object is retried`.
    pub fn remark_naming(
        &self,
        full: impl Fn() -> Option<String> + Send + Sync + 'static,
        counts: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) {
        self.locked(|state| state.remarks.push(Remark { full: Arc::new(full), counts: Arc::new(counts) }));
    }

    /// Takes what the watchdog sees, which from then on must be told at least every [`limits::WATCHDOG_AGE`]: `/livez` and
    /// `/readyz` fail while anything has stopped, the watchdog included.
    pub fn watched(&self, stopped: Vec<Stopped>) {
        self.locked(|state| state.watched = Some(Watched { at: Instant::now(), stopped }));
    }

    /// Names of the parts that have stopped; none while all is well.
    fn stopped(&self) -> Option<String> {
        let watched = self.locked(|state| state.watched.clone())?;
        if watched.at.elapsed() > limits::WATCHDOG_AGE {
            return Some("the watchdog".to_owned());
        }
        let names: Vec<&str> = watched.stopped.iter().map(|stopped| stopped.what).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Names of the parts that have stopped, after a second look where it is the watchdog: while the whole process was stopped,
    /// nothing could look.
    async fn stopped_for_good(&self) -> Option<String> {
        let silent =
            self.locked(|state| state.watched.as_ref().is_some_and(|seen| seen.at.elapsed() > limits::WATCHDOG_AGE));
        if silent {
            sleep(limits::WATCHDOG_RECHECK).await;
        }
        self.stopped()
    }

    /// Ends readiness: the process is about to end.
    pub fn drain(&self) {
        self.locked(|state| state.draining = true);
        self.drain.cancel();
    }

    /// Ends with the start of a drain: for streams that would otherwise go on for ever.
    pub fn drained(&self) -> impl Future<Output = ()> + Send + use<> {
        self.drain.clone().cancelled_owned()
    }

    /// Refuses before readiness. A drain does not refuse: requests that still arrive are answered.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`].
    pub fn check(&self) -> Result<(), Error> {
        self.locked(|state| {
            if let Some(stopped) = state.watched.iter().flat_map(|seen| &seen.stopped).find(|stopped| stopped.refuses) {
                return Err(Error::NotReady { waiting: format!("{}, which has stopped", stopped.what) });
            }
            match state.waiting.as_slice() {
                [] => Ok(()),
                waiting => Err(Error::NotReady { waiting: waiting.join(", ") }),
            }
        })
    }

    /// Ends once no latch is held: what rests on the initial lists may begin.
    pub async fn complete(&self) {
        loop {
            // Before the look: it is told of every drop from here on.
            let dropped = self.dropped.notified();
            if self.locked(|state| state.waiting.is_empty()) {
                return;
            }
            dropped.await;
        }
    }

    /// Whether nothing has stopped.
    pub(crate) fn is_live(&self) -> bool {
        self.stopped().is_none()
    }

    /// Status and text of `/livez`.
    pub(crate) async fn liveness(&self) -> (StatusCode, String) {
        match self.stopped_for_good().await {
            Some(stopped) => (StatusCode::SERVICE_UNAVAILABLE, format!("has stopped: {stopped}\n")),
            None => (StatusCode::OK, "ok\n".to_owned()),
        }
    }

    /// Status and text of `/readyz`. Ready means that requests are answered: not where `staleness` refuses them.
    pub(crate) async fn readiness(&self, staleness: &Staleness, may_name: MayName) -> (StatusCode, String) {
        let _looked_twice = self.stopped_for_good().await;
        self.report(staleness, may_name)
    }

    /// Status and text of `/readyz`, without a second look at the watchdog.
    pub(crate) fn report(&self, staleness: &Staleness, MayName(may_name): MayName) -> (StatusCode, String) {
        if let Some(stopped) = self.stopped() {
            return (StatusCode::SERVICE_UNAVAILABLE, format!("has stopped: {stopped}\n"));
        }
        let (waits_for, remarks) = self.locked(|state| {
            let waits_for = match (state.draining, state.waiting.as_slice()) {
                (true, _) => Some("shutting down".to_owned()),
                (false, []) => None,
                (false, waiting) => Some(format!("waiting for {}", waiting.join(", "))),
            };
            (waits_for, state.remarks.clone())
        });
        let stale = staleness.remark();
        let (status, word) = match (waits_for, &stale) {
            (Some(waits_for), _) => (StatusCode::SERVICE_UNAVAILABLE, waits_for),
            (None, Some(_)) if staleness.check().is_err() => {
                (StatusCode::SERVICE_UNAVAILABLE, "refusing stale answers".to_owned())
            }
            (None, _) => (StatusCode::OK, "ok".to_owned()),
        };
        let remarks = remarks.iter().filter_map(|remark| if may_name { (remark.full)() } else { (remark.counts)() });
        let words: Vec<String> = [word].into_iter().chain(stale).chain(remarks).collect();
        (status, format!("{}\n", words.join(", ")))
    }

    fn locked<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        // A panic while the lock is held leaves plain values behind, which are still valid.
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Latch {
    /// Ends once readiness waits for nothing but this latch: what it stands for needs all other steps. Of latches of one process only one
    /// may wait so.
    pub async fn until_last(&self) {
        loop {
            // Before the look: it is told of every drop from here on.
            let dropped = self.readiness.dropped.notified();
            let is_own = |what: &Arc<str>| Arc::ptr_eq(what, &self.what);
            if self.readiness.locked(|state| state.waiting.iter().all(is_own)) {
                return;
            }
            dropped.await;
        }
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        self.readiness.locked(|state| {
            if let Some(at) = state.waiting.iter().position(|what| Arc::ptr_eq(what, &self.what)) {
                state.waiting.remove(at);
            }
        });
        self.readiness.dropped.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn report(readiness: &Readiness) -> (StatusCode, String) {
        readiness.report(&Staleness::default(), MayName(true))
    }

    #[test]
    fn a_cache_that_is_too_stale_to_answer_is_not_ready_and_one_that_answers_is() {
        let bound = Duration::from_secs(30);
        let at = |silence: u64, refuses| Staleness::new(move || Some(Duration::from_secs(silence)), bound, refuses);
        let readiness = Readiness::default();
        readiness.remark(|| Some("API server unreachable".to_owned()));
        let ok = StatusCode::OK;
        assert_eq!(readiness.report(&at(30, true), MayName(true)), (ok, "ok, API server unreachable\n".into()));
        let text = "stale: nothing confirmed for 31 s, API server unreachable\n";
        assert_eq!(readiness.report(&at(31, false), MayName(true)), (ok, format!("ok, {text}")));
        let refusing = format!("refusing stale answers, {text}");
        assert_eq!(readiness.report(&at(31, true), MayName(true)), (StatusCode::SERVICE_UNAVAILABLE, refusing));
    }

    #[test]
    fn readiness_comes_with_the_last_latch_and_names_what_it_waits_for() {
        let readiness = Readiness::default();
        let nodes = readiness.wait_for("the list of nodes");
        let pods = readiness.wait_for("the list of pods");
        assert_eq!(report(&readiness).1, "waiting for the list of nodes, the list of pods\n");
        drop(nodes);
        assert_eq!(readiness.check().unwrap_err().text(), "not ready, waiting for the list of pods: try again");
        drop(pods);
        assert_eq!(report(&readiness), (StatusCode::OK, "ok\n".into()));
    }

    #[tokio::test]
    async fn a_latch_that_waits_to_be_the_last_waits_for_all_others_and_for_none_that_come_and_go_before() {
        let readiness = Readiness::default();
        let last = readiness.wait_for("the first evaluation");
        last.until_last().await;
        let others = ["the list of nodes", "the list of pods"].map(|what| readiness.wait_for(what));
        let told = tokio::spawn(async move {
            last.until_last().await;
            last
        });
        for (other, left) in others.into_iter().zip(["waiting for the first evaluation, the list of pods\n", ""]) {
            tokio::task::yield_now().await;
            assert!(!told.is_finished());
            drop(other);
            assert!(report(&readiness).1.starts_with(left));
        }
        let last = told.await.unwrap();
        assert_eq!(report(&readiness).1, "waiting for the first evaluation\n");
        drop(last);
        assert_eq!(report(&readiness), (StatusCode::OK, "ok\n".into()));
    }

    #[test]
    fn remarks_are_shown_and_do_not_end_readiness() {
        let readiness = Readiness::default();
        let latch = readiness.wait_for("the list of pods");
        readiness.remark(|| Some("1 object is retried: Pod a/b".to_owned()));
        readiness.remark(|| None);
        let waiting = "waiting for the list of pods, 1 object is retried: Pod a/b\n";
        assert_eq!(report(&readiness), (StatusCode::SERVICE_UNAVAILABLE, waiting.into()));
        drop(latch);
        assert_eq!(report(&readiness), (StatusCode::OK, "ok, 1 object is retried: Pod a/b\n".into()));
    }

    #[test]
    fn everybody_is_told_how_many_and_who_may_read_is_told_which() {
        let readiness = Readiness::default();
        readiness.remark_naming(
            || Some("1 object is retried: Pod a/b".to_owned()),
            || Some("1 object is retried".to_owned()),
        );
        let report = |may_name| readiness.report(&Staleness::default(), MayName(may_name)).1;
        assert_eq!(report(true), "ok, 1 object is retried: Pod a/b\n");
        assert_eq!(report(false), "ok, 1 object is retried\n");
    }

    #[tokio::test]
    async fn what_has_stopped_ends_liveness_and_readiness_until_it_goes_on() {
        let readiness = Readiness::default();
        let feed = Stopped { what: "the feed", refuses: false };
        let clock = Stopped { what: "the epoch clock", refuses: true };
        readiness.watched(vec![feed]);
        assert_eq!(readiness.liveness().await, (StatusCode::SERVICE_UNAVAILABLE, "has stopped: the feed\n".into()));
        assert_eq!(readiness.readiness(&Staleness::default(), MayName(true)).await.0, StatusCode::SERVICE_UNAVAILABLE);
        assert!(readiness.check().is_ok(), "answers come from published snapshots");
        readiness.watched(vec![feed, clock]);
        assert!(readiness.check().unwrap_err().text().contains("the epoch clock"));
        readiness.watched(Vec::new());
        assert_eq!(readiness.liveness().await, (StatusCode::OK, "ok\n".into()));
        assert_eq!(readiness.readiness(&Staleness::default(), MayName(true)).await.0, StatusCode::OK);
        assert!(readiness.check().is_ok());
    }

    #[tokio::test]
    async fn a_watchdog_that_looks_no_more_is_noticed_and_one_that_only_slept_is_not() {
        let readiness = Readiness::default();
        let long_ago = |readiness: &Readiness| {
            let at = Instant::now().checked_sub(2 * limits::WATCHDOG_AGE).unwrap();
            readiness.locked(|state| state.watched = Some(Watched { at, stopped: Vec::new() }));
        };
        long_ago(&readiness);
        assert_eq!(readiness.liveness().await.1, "has stopped: the watchdog\n");
        long_ago(&readiness);
        let (report, ()) = tokio::join!(readiness.liveness(), async { readiness.watched(Vec::new()) });
        assert_eq!(report.0, StatusCode::OK);
    }

    #[test]
    fn a_drain_ends_readiness_but_refuses_no_request() {
        let readiness = Readiness::default();
        readiness.drain();
        assert_eq!(report(&readiness).0, StatusCode::SERVICE_UNAVAILABLE);
        assert!(readiness.check().is_ok());
    }
}
