//! The following of one kind: does what its [`Course`] says, and tells what comes of it.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::events::{Event, events};
use super::failure::{Failure, plain};
use super::kinds::{self, Resource};
use super::lines::Lines;
use super::list::Pages;
use super::metrics::Metrics;
use super::server::Server;
use super::state::{Course, Effect, End, Outcome, Reason, State};
use crate::change::{Change, Compiler};
use crate::decode::Rejected;
use crate::freshness::Freshness;
use crate::limits::{UNREADABLE_LOG_PERIOD, WATCH_DECODE_INLINE_BYTES, WATCH_LEAST, WATCH_SECONDS, WATCH_SILENCE};
use crate::stretch::Stretch;
use nodesift_object::Kind;

/// Where changes go, those that are known together at once. It must not block.
pub type Deliver = Arc<dyn Fn(Vec<Change>) + Send + Sync>;

/// Lists a kind, watches it, and lists it again when it must.
pub(super) struct Follower<S> {
    kind: Kind,
    server: Arc<S>,
    compiler: Compiler,
    deliver: Deliver,
    freshness: Freshness,
    metrics: Metrics,
    random: fastrand::Rng,
    unreadable: UnreadableLog,
    stretch: Stretch,
}

impl<S: Server> Follower<S> {
    /// Follows one kind.
    pub(super) fn new(
        kind: Kind,
        compiler: Compiler,
        server: Arc<S>,
        deliver: Deliver,
        freshness: Freshness,
        metrics: Metrics,
    ) -> Self {
        let random = fastrand::Rng::new();
        let unreadable = UnreadableLog::default();
        let stretch = Stretch::default();
        Self { kind, server, compiler, deliver, freshness, metrics, random, unreadable, stretch }
    }

    /// Follows until it is dropped.
    pub(super) async fn run(mut self) {
        let mut course = Course::new(Resource::of(self.kind), self.random.fork());
        let mut pages = Pages::new(self.kind, self.compiler.clone());
        loop {
            match course.state().clone() {
                State::Waiting { until, .. } => {
                    sleep_until(until).await;
                    course.step(Outcome::Waited, Instant::now());
                }
                State::Listing { next } => self.list_page(&mut course, &mut pages, next.as_deref()).await,
                State::Watching => self.watch(&mut course).await,
            }
        }
    }

    async fn list_page(&mut self, course: &mut Course, pages: &mut Pages, next: Option<&str>) {
        let page = match self.server.list_page(&course.list_uri(next)).await {
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
        match course.step(outcome, Instant::now()) {
            Effect::None | Effect::Keep => {}
            Effect::Whole(version) => self.deliver_list(course, pages, version).await,
            Effect::Relist(reason) => {
                pages.clear();
                self.begin_anew(reason);
            }
            Effect::Absent => {
                pages.clear();
                tracing::info!(kind = %self.kind, "the server does not serve this kind: taken for having no objects");
                let version = Arc::default();
                (self.deliver)(vec![Change::Replaced { kind: self.kind, objects: Vec::new(), version }]);
            }
        }
    }

    async fn deliver_list(&mut self, course: &mut Course, pages: &mut Pages, version: Arc<str>) {
        match pages.finish().await {
            Ok((objects, unreadable)) => {
                tracing::info!(kind = %self.kind, objects = objects.len(), version = &*version, "listed");
                unreadable.iter().for_each(|unreadable| self.note_unreadable(unreadable));
                self.metrics.list(self.kind);
                self.freshness.heard(self.kind);
                (self.deliver)(vec![Change::Replaced { kind: self.kind, objects, version }]);
            }
            Err(failure) => {
                pages.clear();
                self.failed("list", &failure);
                let end = End::Failed(failure);
                course.step(Outcome::WatchEnded { end, lasted: Duration::ZERO }, Instant::now());
            }
        }
    }

    async fn watch(&mut self, course: &mut Course) {
        let began = Instant::now();
        let seconds = self.random.u64(WATCH_SECONDS);
        // The server is to end the watch in time. What is not ended then is dead, however open TCP says that it is.
        let deadline = began + Duration::from_secs(seconds) + WATCH_SILENCE;
        let end = match timeout_at(deadline, self.server.watch(&course.watch_uri(seconds))).await {
            Ok(Ok(chunks)) => self.read_watch(course, chunks, deadline).await,
            Ok(Err(failure)) => End::Failed(failure),
            Err(_) => End::Silent,
        };
        self.metrics.watch(self.kind, &end);
        match &end {
            // One that was open for a while and had nothing more to say.
            End::Orderly if began.elapsed() >= WATCH_LEAST => self.freshness.heard(self.kind),
            End::Orderly => {}
            End::Cut(reason) => tracing::info!(kind = %self.kind, reason, "watch cut"),
            End::Silent => tracing::warn!(kind = %self.kind, "watch silent: taken for dead"),
            End::Failed(failure) => self.failed("watch", failure),
        }
        let effect = course.step(Outcome::WatchEnded { end, lasted: began.elapsed() }, Instant::now());
        if let Effect::Relist(reason) = effect {
            self.begin_anew(reason);
        }
    }

    async fn read_watch(&mut self, course: &mut Course, mut chunks: S::Chunks, deadline: Instant) -> End {
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
            let events = self.decode(whole).await;
            if let Err(failure) = self.take(course, events) {
                return End::Failed(failure);
            }
        }
    }

    /// Decodes lines, here where they are few.
    async fn decode(&mut self, lines: Vec<u8>) -> Vec<Event> {
        if lines.len() <= WATCH_DECODE_INLINE_BYTES {
            return events(self.kind, &lines, &self.compiler, || ());
        }
        let (kind, compiler) = (self.kind, self.compiler.clone());
        let mut stretch = std::mem::take(&mut self.stretch);
        let decoded = spawn_blocking(move || {
            stretch.begin();
            let events = events(kind, &lines, &compiler, || stretch.goes_on());
            (events, stretch)
        });
        let Ok((events, stretch)) = decoded.await else {
            let failure = Failure::Malformed("decoding ended abnormally; please report this".to_owned());
            return vec![Event::Failed(failure)];
        };
        self.stretch = stretch;
        events
    }

    /// Hands events on, all that came together at once: they are one step of what follows, and wake it once.
    fn take(&mut self, course: &mut Course, events: Vec<Event>) -> Result<(), Failure> {
        let mut changes = Vec::with_capacity(events.len());
        let mut versions = Vec::with_capacity(events.len());
        let mut failure = None;
        let kind = self.kind;
        let seen = |version| Change::Seen { kind, version };
        for event in events {
            let (name, version) = match &event {
                Event::Applied(object) => ("applied", Some(Arc::clone(&object.identity.version))),
                Event::Unreadable(object) => ("unreadable", Some(Arc::from(object.version.as_str()))),
                Event::Gone(identity) => ("gone", Some(Arc::clone(&identity.version))),
                Event::Bookmark(version) => ("bookmark", Some(Arc::clone(version))),
                Event::Failed(_) => ("error", None),
            };
            self.metrics.event(kind, name);
            match event {
                Event::Applied(object) => changes.push(Change::Applied(object)),
                Event::Gone(identity) => changes.push(Change::Gone(identity)),
                Event::Bookmark(version) => changes.push(seen(version)),
                Event::Unreadable(object) => {
                    self.note_unreadable(&object);
                    // Kept out, and seen all the same.
                    changes.extend(version.clone().map(seen));
                }
                Event::Failed(reason) => failure = Some(reason),
            }
            versions.extend(version);
        }
        // First the changes, then the versions: should this task end between the two, the events come again.
        if !changes.is_empty() {
            (self.deliver)(changes);
        }
        for version in versions {
            self.reach(course, &version);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Takes note of how far the watch is.
    fn reach(&self, course: &mut Course, version: &Arc<str>) {
        match course.reached(version) {
            // A server that lags says nothing of how things are now.
            Some(Ordering::Less) => {
                self.metrics.unordered(self.kind, "back");
                return;
            }
            Some(_) => {}
            None => self.metrics.unordered(self.kind, "incomparable"),
        }
        self.freshness.heard(self.kind);
    }

    fn begin_anew(&self, reason: Reason) {
        self.metrics.relist(self.kind, reason);
        tracing::info!(kind = %self.kind, reason = reason.name(), "listing anew");
        if reason == Reason::Lagging {
            tracing::warn!(
                kind = %self.kind,
                "the server's list is older than what it has shown before: refused and asked again; \
                 if the cluster was restored from a backup, restart this sidecar"
            );
        }
    }

    /// Counts a failure and says it in the log: loudly where people have to mend it.
    fn failed(&self, verb: &'static str, failure: &Failure) {
        self.metrics.failure(self.kind, failure);
        let kind = self.kind;
        match failure {
            Failure::Denied { status: 401, .. } => tracing::error!(
                %kind, verb, %failure, "unauthorized: what is known of {} stays as it is until credentials are renewed",
                Resource::of(kind).plural
            ),
            Failure::Denied { .. } => tracing::error!(
                %kind, verb, %failure, grant = kinds::permission(kind),
                "forbidden: what is known stays as it is until this is granted"
            ),
            Failure::Expired { .. } | Failure::NotServed { .. } => tracing::info!(%kind, verb, %failure, "not there"),
            failure => tracing::warn!(%kind, verb, %failure, "failed: will be tried again"),
        }
    }

    fn note_unreadable(&mut self, object: &Rejected) {
        self.metrics.unreadable(self.kind);
        if let Some(unlogged) = self.unreadable.note(Instant::now()) {
            let key = plain(&object.key);
            let reason = plain(&object.reason);
            tracing::warn!(kind = %self.kind, object = key, reason, unlogged, "unreadable object: kept out");
        }
    }
}

/// Keeps a broken controller from filling the log.
#[derive(Debug, Default)]
struct UnreadableLog {
    logged: Option<Instant>,
    unlogged: u64,
}

impl UnreadableLog {
    /// How many were not logged since the last one that was; none where this one is not to be logged either.
    fn note(&mut self, now: Instant) -> Option<u64> {
        if self.logged.is_some_and(|at| now.saturating_duration_since(at) < UNREADABLE_LOG_PERIOD) {
            self.unlogged += 1;
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests;
