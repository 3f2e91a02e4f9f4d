//! The task of one kind: makes the requests that its [`Reflector`] asks for, and delivers what they bring. Start at
//! [`ReflectorTask::run`].

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::events::events;
use super::keys::{Keys, changed, covers};
use super::lines::Lines;
use super::outlet::Outlet;
use super::state::{Effect, End, Outcome, Reflector, RelistReason, State};
use super::unreadable::UnreadableLog;
use crate::change::{Change, Compiler, ObjectChange};
use crate::kube::decode::{Unreadable, WatchEvent};
use crate::kube::failure::{Failure, plain};
use crate::kube::kinds::Resource;
use crate::kube::list::Pages;
use crate::kube::metrics::Metrics;
use crate::kube::server::Server;
use crate::limits::{WATCH_DECODE_INLINE_BYTES, WATCH_LEAST, WATCH_SECONDS, WATCH_SILENCE};
use crate::yield_budget::YieldBudget;
use nodesift_object::Kind;

/// Lists and watches one kind.
pub(in crate::kube) struct ReflectorTask<S> {
    kind: Kind,
    server: Arc<S>,
    /// That of the newest list that was delivered.
    compiler: Compiler,
    keys: Arc<Keys>,
    /// Tells of other annotation keys.
    wanted: Option<watch::Receiver<Arc<[String]>>>,
    /// Whether the list in progress is there only because of other annotation keys.
    is_recompiling: bool,
    outlet: Arc<Outlet>,
    metrics: Metrics,
    random: fastrand::Rng,
    unreadable: UnreadableLog,
    budget: YieldBudget,
}

impl<S: Server> ReflectorTask<S> {
    /// A task for one kind that has requested nothing yet.
    pub(in crate::kube) fn new(
        kind: Kind,
        keys: Arc<Keys>,
        server: Arc<S>,
        outlet: Arc<Outlet>,
        metrics: Metrics,
    ) -> Self {
        let (compiler, wanted) = (keys.compiler(), keys.changes());
        let random = fastrand::Rng::new();
        let unreadable = UnreadableLog::default();
        let budget = YieldBudget::default();
        let is_recompiling = false;
        Self { kind, server, compiler, keys, wanted, is_recompiling, outlet, metrics, random, unreadable, budget }
    }

    /// Lists and watches until it is dropped.
    pub(in crate::kube) async fn run(mut self) {
        let mut reflector = Reflector::new(Resource::of(self.kind), self.random.fork());
        let mut pages = Pages::new(self.kind, self.keys.wanted());
        loop {
            self.heed_keys(&mut reflector, &mut pages);
            match reflector.state().clone() {
                State::Waiting { until, .. } => tokio::select! {
                    () = sleep_until(until) => {
                        reflector.step(Outcome::Waited, Instant::now());
                    }
                    () = changed(self.wanted.clone()) => {}
                },
                State::Listing { next } => self.list_page(&mut reflector, &mut pages, next.as_deref()).await,
                State::Watching => self.watch(&mut reflector).await,
            }
        }
    }

    /// Lists the kind again where annotations are wanted with which it has not been compiled. Where that is over before the list
    /// is complete, the watch goes on instead: a policy was refused, and a server that watches may refuse to list.
    fn heed_keys(&mut self, reflector: &mut Reflector, pages: &mut Pages) {
        let Some(wanted) = &mut self.wanted else { return };
        let wanted = Arc::clone(&wanted.borrow_and_update());
        let is_covered = covers(&self.compiler, &wanted);
        match reflector.is_listing() {
            true if self.is_recompiling && is_covered => {
                self.is_recompiling = false;
                pages.clear();
                reflector.watch_on();
            }
            true if !covers(pages.compiler(), &wanted) => reflector.list_anew(),
            false if !is_covered => {
                self.is_recompiling = true;
                reflector.list_anew();
                self.note_relist(RelistReason::Annotations);
            }
            true | false => {}
        }
    }

    /// Requests one page of a list.
    async fn list_page(&mut self, reflector: &mut Reflector, pages: &mut Pages, next: Option<&str>) {
        if next.is_none() {
            *pages = Pages::new(self.kind, self.keys.wanted());
        }
        let uri = reflector.list_uri(next);
        let page = tokio::select! {
            page = self.server.list_page(&uri) => page,
            () = changed(self.wanted.clone()) => return,
        };
        let page = match page {
            Ok(body) => pages.add(body).await,
            Err(failure) => Err(failure),
        };
        let outcome = match page {
            Ok(head) => Outcome::Page { version: head.version, next: head.next.map(Arc::from) },
            Err(failure) => {
                self.failed("list", &failure);
                Outcome::NoPage(failure)
            }
        };
        match reflector.step(outcome, Instant::now()) {
            Effect::None | Effect::Keep => {}
            Effect::Whole(version) => self.deliver_list(reflector, pages, version).await,
            Effect::Relist(reason) => {
                pages.clear();
                self.note_relist(reason);
            }
            Effect::Absent => {
                pages.clear();
                tracing::info!(kind = %self.kind, "kind not served; treated as empty");
                let version = Arc::default();
                self.outlet.deliver(vec![Change::Replaced { kind: self.kind, objects: Vec::new(), version }]);
            }
        }
    }

    /// Delivers a list of which all pages have been read.
    async fn deliver_list(&mut self, reflector: &mut Reflector, pages: &mut Pages, version: Arc<str>) {
        match pages.finish().await {
            Ok((objects, unreadable)) => {
                tracing::info!(kind = %self.kind, objects = objects.len(), version = &*version, "listed");
                unreadable.iter().for_each(|unreadable| self.note_unreadable(unreadable));
                self.metrics.list(self.kind);
                self.outlet.confirm();
                let is_recompiled = pages.compiler().annotation_keys() != self.compiler.annotation_keys();
                self.compiler = pages.compiler().clone();
                self.is_recompiling = false;
                self.outlet.deliver(vec![match is_recompiled {
                    true => Change::Recompiled { kind: self.kind, objects, version },
                    false => Change::Replaced { kind: self.kind, objects, version },
                }]);
                self.keys.delivered(&self.compiler);
            }
            Err(failure) => {
                pages.clear();
                // The versions up to that of the list count as seen, so that no watch could go on from before.
                self.is_recompiling = false;
                self.failed("list", &failure);
                let end = End::Failed(failure);
                reflector.step(Outcome::WatchEnded { end, lasted: Duration::ZERO }, Instant::now());
            }
        }
    }

    /// Watches until the watch ends.
    async fn watch(&mut self, reflector: &mut Reflector) {
        let began = Instant::now();
        let seconds = self.random.u64(WATCH_SECONDS);
        // The server ends the watch by itself before this; a connection that is still open then is dead.
        let deadline = began + Duration::from_secs(seconds) + WATCH_SILENCE;
        let wanted = self.wanted.clone();
        let end = tokio::select! {
            end = self.watch_until(reflector, seconds, deadline) => end,
            // What has been read and not delivered is sent again, or listed.
            () = changed(wanted) => return,
        };
        self.metrics.watch(self.kind, &end);
        match &end {
            // It was open for a while and had sent everything.
            End::Orderly if began.elapsed() >= WATCH_LEAST => self.outlet.confirm(),
            End::Orderly => {}
            End::Cut(reason) => {
                // A connection that breaks as soon as it is open is as good as none.
                if began.elapsed() < WATCH_LEAST {
                    self.outlet.failed(&Failure::Transport(reason.clone()));
                }
                tracing::debug!(kind = %self.kind, reason, "watch connection broken");
            }
            End::Silent => {
                self.outlet.failed(&Failure::Silent(began.elapsed()));
                tracing::debug!(kind = %self.kind, "watch timed out: connection dead");
            }
            End::Failed(failure) => self.failed("watch", failure),
        }
        let effect = reflector.step(Outcome::WatchEnded { end, lasted: began.elapsed() }, Instant::now());
        if let Effect::Relist(reason) = effect {
            self.note_relist(reason);
        }
    }

    /// Opens a watch, and reads it to its end.
    async fn watch_until(&mut self, reflector: &mut Reflector, seconds: u64, deadline: Instant) -> End {
        match timeout_at(deadline, self.server.watch(&reflector.watch_uri(seconds))).await {
            Ok(Ok(chunks)) => self.read_watch(reflector, chunks, deadline).await,
            Ok(Err(failure)) => End::Failed(failure),
            Err(_) => End::Silent,
        }
    }

    /// Reads a watch to its end.
    async fn read_watch(&mut self, reflector: &mut Reflector, mut chunks: S::Chunks, deadline: Instant) -> End {
        let mut lines = Lines::default();
        loop {
            let chunk = match timeout_at(deadline, chunks.next()).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(Some(Err(failure))) => return End::Cut(failure.to_string()),
                Ok(None) => return End::Orderly,
                Err(_) => return End::Silent,
            };
            let whole = match lines.push(&chunk) {
                Ok(whole) => whole,
                Err(failure) => return End::Failed(failure),
            };
            let (events, failure) = self.decode(whole).await;
            self.deliver_events(reflector, events);
            if let Some(failure) = failure {
                self.metrics.event(self.kind, "error");
                return End::Failed(failure);
            }
        }
    }

    /// Decodes lines: a few here, many on a thread for blocking work.
    async fn decode(&mut self, lines: Vec<u8>) -> (Vec<WatchEvent>, Option<Failure>) {
        if lines.len() <= WATCH_DECODE_INLINE_BYTES {
            return events(self.kind, &lines, &self.compiler, || ());
        }
        let (kind, compiler) = (self.kind, self.compiler.clone());
        let mut budget = std::mem::take(&mut self.budget);
        let decoded = spawn_blocking(move || {
            budget.begin();
            let decoded = events(kind, &lines, &compiler, || budget.tick());
            (decoded, budget)
        });
        let Ok((decoded, budget)) = decoded.await else {
            return (Vec::new(), Some(Failure::Malformed("decoding panicked; please report this".to_owned())));
        };
        self.budget = budget;
        decoded
    }

    /// Delivers the changes of events that arrived together, all at once: they are one turn of the feed.
    fn deliver_events(&mut self, reflector: &mut Reflector, events: Vec<WatchEvent>) {
        let mut changes = Vec::with_capacity(events.len());
        let mut versions = Vec::with_capacity(events.len());
        let kind = self.kind;
        for event in events {
            let (label, version, change) = match event {
                WatchEvent::Applied(object) => {
                    ("applied", Arc::clone(&object.identity.version), ObjectChange::Applied(object).into())
                }
                WatchEvent::Deleted(identity) => {
                    ("gone", Arc::clone(&identity.version), ObjectChange::Deleted(identity).into())
                }
                WatchEvent::Bookmark(version) => ("bookmark", Arc::clone(&version), Change::Bookmark { kind, version }),
                // What is held of the object stays, but its version has been seen.
                WatchEvent::Unreadable(object) => {
                    self.note_unreadable(&object);
                    let version: Arc<str> = Arc::from(object.version.as_str());
                    ("unreadable", Arc::clone(&version), Change::Bookmark { kind, version })
                }
            };
            self.metrics.event(kind, label);
            changes.push(change);
            versions.push(version);
        }
        // First the changes, then the versions: if this task ends between the two, the events are sent again.
        if !changes.is_empty() {
            self.outlet.deliver(changes);
        }
        for version in versions {
            self.reach(reflector, &version);
        }
    }

    /// Notes the resourceVersion that the watch has reached.
    fn reach(&self, reflector: &mut Reflector, version: &Arc<str>) {
        match reflector.reached(version) {
            // A server that lags does not confirm that the cache is current.
            Some(Ordering::Less) => {
                self.metrics.unordered(self.kind, "back");
                return;
            }
            Some(_) => {}
            None => self.metrics.unordered(self.kind, "incomparable"),
        }
        self.outlet.confirm();
    }

    fn note_relist(&self, reason: RelistReason) {
        self.metrics.relist(self.kind, reason);
        tracing::info!(kind = %self.kind, reason = reason.name(), "relisting");
        if reason == RelistReason::Lagging {
            tracing::warn!(
                kind = %self.kind,
                "list older than the resourceVersion seen before: refused and requested again; \
                 if the cluster was restored from a backup, restart this sidecar"
            );
        }
    }

    /// Counts and notes a failure. [`Health`](crate::kube::Health) logs those that last.
    fn failed(&self, verb: &'static str, failure: &Failure) {
        self.metrics.failure(self.kind, failure);
        // A kind that is optional may never have been served.
        if !matches!(failure, Failure::NotServed { .. }) || !Resource::of(self.kind).is_optional() {
            self.outlet.failed(failure);
        }
        tracing::debug!(kind = %self.kind, verb, %failure, "request failed");
    }

    fn note_unreadable(&mut self, object: &Unreadable) {
        self.metrics.unreadable(self.kind);
        if let Some(unlogged) = self.unreadable.note(Instant::now()) {
            let key = plain(&object.key);
            let reason = plain(&object.reason);
            tracing::warn!(kind = %self.kind, object = key, reason, unlogged, "object does not decode; cached state kept");
        }
    }
}

#[cfg(test)]
mod tests;
