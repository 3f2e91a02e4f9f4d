//! The task of one reflector: makes the requests that its [`Reflector`] asks for, and gives what they bring to a [`Sink`]. Start
//! at [`ReflectorTask::run`].

use std::cmp::Ordering;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, pending};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::lines::Lines;
use super::state::{Effect, End, Outcome, Reflector, RelistReason, State};
use super::watch_lag::{Said, Shown, WatchLag};
use crate::kube::decode::{self, Head};
use crate::kube::failure::{Failure, plain};
use crate::kube::kinds::Resource;
use crate::kube::list::Paging;
use crate::kube::metrics::Metrics;
use crate::kube::server::Server;
use crate::limits::{PROBE_AFTER, PROBE_TIME, RETRY_FIRST, RETRY_MOST, WATCH_LEAST, WATCH_SECONDS, WATCH_SILENCE};
use nodesift_object::version::{is_newer, is_number};

/// Request of a sink to its reflector, beside what the server's answers decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kube) enum Turn {
    /// A list from its beginning; with the reason where none is in progress.
    ListAnew(Option<RelistReason>),
    /// The watch from where it was, in place of the list in progress.
    WatchOn,
}

/// Decodes what a reflector reads, and delivers it.
pub(in crate::kube) trait Sink: Send {
    /// Waits until [`Self::turn`] may want something; for ever where that cannot happen.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// Returns the sink's request to its reflector, if it has one. `is_listing`: whether a list is in progress, or waits for its next
    /// attempt.
    fn turn(&mut self, is_listing: bool) -> Option<Turn>;

    /// Prepares for a list, before its first page.
    fn begin(&mut self);

    /// Adds a page to the list in progress.
    ///
    /// # Errors
    ///
    /// [`Failure::Malformed`] where this page, or one before it, is not a list.
    fn page(&mut self, body: Bytes) -> impl Future<Output = Result<Head, Failure>> + Send;

    /// Delivers the list in progress, which is whole, at its resourceVersion. Where that is `restored`, the cluster was restored
    /// from a backup: the list replaces all that was delivered before, at whatever version.
    ///
    /// # Errors
    ///
    /// [`Failure::Malformed`] where a page is not a list.
    fn whole(&mut self, version: Arc<str>, restored: Restored) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Drops the list in progress.
    fn clear(&mut self);

    /// The server does not serve the kind.
    fn absent(&mut self);

    /// Delivers the events of whole lines of a watch, up to the first that fails the watch. Returns what they say of the server's
    /// resourceVersion, and that failure.
    fn lines(&mut self, lines: Vec<u8>) -> impl Future<Output = (Vec<Said>, Option<Failure>)> + Send;

    /// At this time the server has shown its newest state, and all of it was delivered.
    fn confirm(&self, at: Instant);

    /// All that the server had at this time was delivered, and what came since is late: the failure of before lasts.
    fn confirm_past(&self, at: Instant);

    /// The cluster was restored from a backup: a list at this version has replaced everything up to the versions `seen`.
    fn restored(&self, version: &str, seen: &str);

    /// A request has failed in a way that matters.
    fn failed(&self, failure: &Failure);
}

/// Whether a list is that of a cluster that was restored from a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kube) enum Restored {
    /// It is not older than what was seen before.
    No,
    /// Its versions are older, and the right ones.
    Yes,
}

/// The answer to a probe.
struct Probed {
    /// The newest resourceVersion seen when it was sent.
    asked: Arc<str>,
    /// That of its list.
    version: Arc<str>,
    /// When everything up to `asked` had been delivered, if that is known: the end of a watch that the server has ended in order.
    /// Beside one that broke or brings nothing a probe shows only whether the server lags.
    proves: Option<Instant>,
}

/// A probe on its way.
type Probe = BoxFuture<'static, Result<Probed, Failure>>;

/// The answer to a probe; never where there is none.
async fn answer(probe: &mut Option<Probe>) -> Result<Probed, Failure> {
    match probe {
        Some(sent) => {
            let answer = sent.await;
            *probe = None;
            answer
        }
        None => pending().await,
    }
}

/// Lists and watches one kind, or one object of it.
pub(in crate::kube) struct ReflectorTask<S, K> {
    resource: Resource,
    reflector: Reflector,
    server: Arc<S>,
    sink: K,
    metrics: Metrics,
    random: fastrand::Rng,
    /// The pages of the list in progress.
    paging: Paging,
    /// When the watch in progress has last shown that the server knows the newest resourceVersion seen.
    shown: Option<Instant>,
    lag: WatchLag,
    /// Whether the server could not be reached since it last answered a watch: it may have come back with another history.
    was_away: bool,
    /// Beside whatever watch is in progress, so that no event waits for it.
    probe: Option<Probe>,
    /// When the sink was told last that the state is the newest.
    confirmed: Option<Instant>,
}

impl<S: Server, K: Sink> ReflectorTask<S, K> {
    /// A task that has requested nothing yet.
    pub(in crate::kube) fn new(resource: Resource, server: Arc<S>, sink: K, metrics: Metrics) -> Self {
        let mut random = fastrand::Rng::new();
        let reflector = Reflector::new(resource, random.fork());
        let paging = Paging::default();
        let (lag, was_away) = (WatchLag::default(), false);
        let (shown, probe, confirmed) = (None, None, None);
        Self { resource, reflector, server, sink, metrics, random, paging, shown, lag, was_away, probe, confirmed }
    }

    /// Reads only the object with this name.
    #[must_use]
    pub(in crate::kube) fn with_name(self, name: &Arc<str>) -> Self {
        Self { reflector: self.reflector.with_name(name), ..self }
    }

    /// Lists and watches until it is dropped.
    pub(in crate::kube) async fn run(mut self) {
        loop {
            match self.sink.turn(self.reflector.is_listing()) {
                None => {}
                Some(Turn::WatchOn) => self.reflector.watch_on(),
                Some(Turn::ListAnew(reason)) => {
                    self.reflector.list_anew();
                    reason.into_iter().for_each(|reason| self.note_relist(reason));
                }
            }
            match self.reflector.state().clone() {
                State::Waiting { until, .. } => tokio::select! {
                    () = sleep_until(until) => {
                        self.reflector.step(Outcome::Waited, Instant::now());
                    }
                    answer = answer(&mut self.probe) => {
                        self.probed(answer);
                    }
                    () = self.sink.changed() => {}
                },
                State::Listing { next } => self.list_page(next.as_deref()).await,
                State::Watching => self.watch().await,
            }
        }
    }

    /// Requests one page of a list.
    async fn list_page(&mut self, next: Option<&str>) {
        // It would say less than the list.
        self.probe = None;
        if next.is_none() {
            self.sink.begin();
        }
        let uri = self.reflector.list_uri(next);
        let page = tokio::select! {
            page = self.server.list_page(&uri) => page,
            () = self.sink.changed() => return,
        };
        let page = match page {
            Ok(body) => self.sink.page(body).await,
            Err(failure) => Err(failure),
        };
        let page = page.and_then(|head| comparable(head, self.reflector.newest()));
        let page = page.and_then(|head| self.paging.read(next, head));
        let mut lagging = None;
        let outcome = match page {
            Ok(head) => {
                lagging = self.lagging(&head.version);
                Outcome::Page { version: head.version, next: head.next.map(Arc::from) }
            }
            Err(failure) => {
                self.failed("list", &failure);
                Outcome::NoPage(failure)
            }
        };
        match self.reflector.step(outcome, Instant::now()) {
            Effect::None | Effect::Keep | Effect::Confirmed => {}
            Effect::Whole { version, void } => self.deliver_list(version, void).await,
            Effect::Relist(reason) => {
                self.sink.clear();
                self.note_relist(reason);
                if let Some(failure) = lagging.filter(|_| reason == RelistReason::Lagging) {
                    self.behind(&failure);
                }
            }
            Effect::Absent => {
                self.sink.clear();
                tracing::info!(kind = %self.resource.kind, "kind not served; treated as empty");
                self.sink.absent();
            }
        }
    }

    /// Delivers a list of which all pages have been read.
    async fn deliver_list(&mut self, version: Arc<str>, void: Option<Arc<str>>) {
        let restored = if void.is_some() { Restored::Yes } else { Restored::No };
        match self.sink.whole(Arc::clone(&version), restored).await {
            Ok(()) => {
                self.metrics.list(self.resource);
                if let Some(seen) = void {
                    self.sink.restored(&version, &seen);
                }
                self.lag.listed(Instant::now());
                self.confirm(Instant::now());
            }
            Err(failure) => {
                // The versions up to that of the list count as seen, so that no watch could go on from before.
                self.sink.clear();
                self.failed("list", &failure);
                let end = End::Failed(failure);
                if let Some(seen) = void {
                    self.reflector.not_restored(seen, Instant::now());
                }
                self.reflector.step(Outcome::WatchEnded { end, lasted: Duration::ZERO }, Instant::now());
            }
        }
    }

    /// Watches until the watch ends.
    async fn watch(&mut self) {
        let began = Instant::now();
        self.shown = None;
        self.lag.begin();
        let seconds = self.random.u64(WATCH_SECONDS);
        // The server ends the watch by itself before this; a connection that is still open then is dead.
        let deadline = began + Duration::from_secs(seconds) + WATCH_SILENCE;
        let changed = self.sink.changed();
        let end = tokio::select! {
            end = self.watch_until(seconds, deadline) => end,
            // What has been read and not delivered is sent again, or listed.
            () = changed => return,
        };
        self.metrics.watch(self.resource, &end);
        let kind = self.resource.kind;
        match &end {
            End::Orderly | End::Lagging => {}
            End::Cut(reason) => {
                // A connection that breaks as soon as it is open is as good as none.
                if began.elapsed() < WATCH_LEAST {
                    self.sink.failed(&Failure::Transport(reason.clone()));
                }
                tracing::debug!(%kind, reason, "watch connection broken");
            }
            End::Silent => {
                self.sink.failed(&Failure::Silent(began.elapsed()));
                tracing::debug!(%kind, "watch timed out: connection dead");
            }
            End::Failed(failure) => {
                self.was_away |= matches!(failure, Failure::Transport(_) | Failure::Slow(_));
                self.failed("watch", failure);
            }
        }
        if end == End::Lagging {
            return;
        }
        // A server keeps a watch open from a version that it does not know, and ends it in order, which says nothing; or it refuses
        // such a watch. A refusal for another reason would meet a probe as well.
        let says_enough = match &end {
            End::Orderly => self.shown.is_some_and(|at| at.elapsed() < PROBE_AFTER),
            End::Failed(failure) => !failure.is_behind(),
            End::Cut(_) | End::Silent | End::Lagging => false,
        };
        match &end {
            End::Orderly => self.lag.ended(),
            _ => self.lag.cut(),
        }
        let proves = (end == End::Orderly && began.elapsed() >= WATCH_LEAST).then(Instant::now);
        let effect = self.reflector.step(Outcome::WatchEnded { end, lasted: began.elapsed() }, Instant::now());
        if let Effect::Relist(reason) = effect {
            self.note_relist(reason);
        }
        if !says_enough && !self.reflector.is_listing() && self.probe.is_none() {
            self.send_probe(proves);
        }
    }

    /// Asks for the server's resourceVersion, beside the watch that is in progress or comes next.
    fn send_probe(&mut self, proves: Option<Instant>) {
        self.lag.asked(Instant::now());
        let ((uri, asked), server, resource) = (self.reflector.probe(), Arc::clone(&self.server), self.resource);
        let probe = async move {
            let ask = || async {
                let body = timeout(PROBE_TIME, server.list_page(&uri)).await;
                body.unwrap_or(Err(Failure::Silent(PROBE_TIME)))
            };
            let body = match ask().await {
                Ok(body) => body,
                // Lists may be throttled where watches are not.
                Err(failure) => {
                    sleep(failure.retry_after().map_or(RETRY_FIRST, |asked| asked.clamp(RETRY_FIRST, PROBE_TIME)))
                        .await;
                    ask().await?
                }
            };
            let head = decode::head(resource, &body).map_err(|error| Failure::Malformed(plain(&error.to_string())))?;
            let head = comparable(head, &asked)?;
            Ok(Probed { asked, version: head.version, proves })
        };
        self.probe = Some(probe.boxed());
    }

    /// Takes the answer to a probe. True where the server lags, and lists come next.
    fn probed(&mut self, answer: Result<Probed, Failure>) -> bool {
        let Probed { asked, version, proves } = match answer {
            Ok(probed) => probed,
            Err(failure) => {
                self.failed("probe", &failure);
                return false;
            }
        };
        let lagging = self.lagging(&version);
        match self.reflector.step(Outcome::Probed { asked, version: Arc::clone(&version) }, Instant::now()) {
            Effect::Confirmed => {
                // While a watch waits for its backoff nothing arrives.
                if *self.reflector.state() == State::Watching {
                    self.lag.probed(&version, self.reflector.newest(), Instant::now());
                }
                proves.filter(|_| self.lag.is_in_time()).into_iter().for_each(|at| self.confirm(at));
            }
            Effect::Relist(reason) => {
                self.note_relist(reason);
                lagging.iter().for_each(|failure| self.behind(failure));
                return true;
            }
            _ => {}
        }
        false
    }

    /// The failure of a list at a resourceVersion, if that is older than what was seen.
    fn lagging(&self, version: &str) -> Option<Failure> {
        let newest = self.reflector.newest();
        is_newer(newest, version).then(|| Failure::Lagging { version: version.to_owned(), newest: newest.to_owned() })
    }

    /// The server lags: another connection may lead to another server.
    fn behind(&self, failure: &Failure) {
        self.failed("list", failure);
        self.server.reconnect();
    }

    /// Opens a watch, and reads it to its end.
    async fn watch_until(&mut self, seconds: u64, deadline: Instant) -> End {
        let (uri, server) = (self.reflector.watch_uri(seconds), Arc::clone(&self.server));
        let mut opened = pin!(timeout_at(deadline, server.watch(&uri)));
        loop {
            tokio::select! {
                biased;
                opened = &mut opened => return match opened {
                    Ok(Ok(chunks)) => {
                        // A server that was restored keeps this watch open and brings nothing: its end is not waited for.
                        if std::mem::take(&mut self.was_away) {
                            self.send_probe(None);
                        }
                        self.read_watch(chunks, deadline).await
                    }
                    Ok(Err(failure)) => End::Failed(failure),
                    Err(_) => End::Silent,
                },
                answer = answer(&mut self.probe) => if self.probed(answer) {
                    return End::Lagging;
                },
            }
        }
    }

    /// Reads a watch to its end.
    async fn read_watch(&mut self, mut chunks: S::Chunks, deadline: Instant) -> End {
        let mut lines = Lines::default();
        loop {
            let next = tokio::select! {
                biased;
                next = timeout_at(deadline, chunks.next()) => next,
                answer = answer(&mut self.probe) => match self.probed(answer) {
                    true => return End::Lagging,
                    false => continue,
                },
            };
            let chunk = match next {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(Some(Err(failure))) => return End::Cut(failure.to_string()),
                Ok(None) => return End::Orderly,
                Err(_) => return End::Silent,
            };
            let whole = match lines.push(&chunk) {
                Ok(whole) => whole,
                Err(failure) => return End::Failed(failure),
            };
            // First the changes, then the versions: if this task ends between the two, the events are sent again.
            let (all, failure) = self.sink.lines(whole).await;
            for said in all {
                self.reach(&said);
            }
            if self.probe.is_none() && self.lag.is_probe_due(Instant::now()) {
                self.send_probe(None);
            }
            if let Some(failure) = failure {
                self.metrics.event(self.resource, "error");
                return End::Failed(failure);
            }
        }
    }

    /// Notes the resourceVersion that the watch has reached.
    fn reach(&mut self, said: &Said) {
        match self.reflector.reached(said.version()) {
            // A server that lags does not confirm that the cache is current.
            Some(Ordering::Less) => {
                self.metrics.unordered(self.resource, "back");
                return;
            }
            Some(_) => {}
            // It does not say what the server knows: a probe asks.
            None => {
                self.metrics.unordered(self.resource, "incomparable");
                return;
            }
        }
        self.shown = Some(Instant::now());
        match self.lag.reached(said, Instant::now()) {
            Shown::Current(at) => self.confirm(at),
            Shown::Past(at) => self.confirm_past(at),
            Shown::Nothing => {}
            Shown::Late { newest, begins } => {
                let version = said.version().to_string();
                self.failed("watch", &Failure::Lagging { version, newest: newest.to_string() });
                // Once: a server that lags because of its load is not helped by ever new connections.
                if begins {
                    self.server.reconnect();
                }
            }
        }
    }

    /// Tells the sink, unless it knows of a later time.
    fn confirm(&mut self, at: Instant) {
        if self.is_news(at) {
            self.sink.confirm(at);
        }
    }

    /// Tells the sink of a time that a watch which lags has reached, unless it knows of a later one.
    fn confirm_past(&mut self, at: Instant) {
        if self.is_news(at) {
            self.sink.confirm_past(at);
        }
    }

    /// Notes a time at which the state was the newest. True where it is later than all before.
    fn is_news(&mut self, at: Instant) -> bool {
        let is_news = self.confirmed.is_none_or(|confirmed| confirmed < at);
        if is_news {
            self.confirmed = Some(at);
        }
        is_news
    }

    fn note_relist(&self, reason: RelistReason) {
        let kind = self.resource.kind;
        self.metrics.relist(self.resource, reason);
        tracing::info!(%kind, reason = reason.name(), "relisting");
    }

    /// Counts and notes a failure. [`Health`](crate::kube::Health) logs those that last.
    fn failed(&self, verb: &'static str, failure: &Failure) {
        self.metrics.failure(self.resource, failure);
        // A kind that is optional may never have been served.
        if !matches!(failure, Failure::NotServed { .. }) || !self.resource.is_optional() {
            self.sink.failed(failure);
        }
        tracing::debug!(kind = %self.resource.kind, verb, %failure, "request failed");
    }
}

/// Refuses the head of a list whose resourceVersion is no number where others were: whether it is older could not be told.
fn comparable(head: Head, newest: &str) -> Result<Head, Failure> {
    if is_number(newest) && !is_number(&head.version) {
        let version = plain(&head.version);
        return Err(Failure::Malformed(format!("resourceVersion {version:?} cannot be compared with {newest}")));
    }
    Ok(head)
}

/// Runs a reflector. A panic is a defect of this program, but a kind that is never watched again would be a worse one.
pub(in crate::kube) async fn forever<S: Server, K: Sink + 'static>(
    resource: Resource,
    task: impl Fn() -> ReflectorTask<S, K>,
) {
    loop {
        let mut running = JoinSet::new();
        running.spawn(task().run());
        running.join_next().await;
        tracing::error!(kind = %resource.kind, "reflector panicked: restarting; please report this");
        sleep(RETRY_MOST).await;
    }
}

#[cfg(test)]
mod tests;
