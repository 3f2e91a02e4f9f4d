//! Sink for the objects of a kind that a reflector reads: they are decoded, compiled, and delivered as [`Change`]s. Start at [`Objects`].

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::events::events;
use super::keys::{Keys, changed, covers};
use super::outlet::Outlet;
use super::state::RelistReason;
use super::task::{Restored, Sink, Turn};
use super::unreadable::UnreadableLog;
use super::watch_lag::Said;
use crate::change::{Change, Compiler, ObjectChange};
use crate::kube::decode::{Head, Unreadable, WatchEvent};
use crate::kube::failure::{Failure, plain};
use crate::kube::list::Pages;
use crate::kube::metrics::Metrics;
use crate::limits::WATCH_DECODE_INLINE_BYTES;
use crate::yield_budget::YieldBudget;
use nodesift_cache::metadata::Selection;
use nodesift_object::Kind;

/// All objects of a kind.
pub(in crate::kube) struct Objects {
    kind: Kind,
    /// That of the newest list that was delivered.
    compiler: Compiler,
    keys: Arc<Keys>,
    /// Tells of other annotation keys.
    wanted: Option<watch::Receiver<Arc<Selection>>>,
    /// Whether the list in progress is there only because of other annotation keys.
    is_recompiling: bool,
    pages: Pages,
    outlet: Arc<Outlet>,
    metrics: Metrics,
    unreadable: UnreadableLog,
    budget: YieldBudget,
}

impl Objects {
    /// Nothing has been read.
    pub(in crate::kube) fn new(kind: Kind, keys: Arc<Keys>, outlet: Arc<Outlet>, metrics: Metrics) -> Self {
        let (compiler, wanted) = (keys.compiler(), keys.changes());
        let pages = Pages::new(kind, keys.wanted());
        let (unreadable, budget, is_recompiling) = (UnreadableLog::default(), YieldBudget::default(), false);
        Self { kind, compiler, keys, wanted, is_recompiling, pages, outlet, metrics, unreadable, budget }
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
    fn deliver_events(&mut self, events: Vec<WatchEvent>) -> Vec<Said> {
        let mut changes = Vec::with_capacity(events.len());
        let mut said = Vec::with_capacity(events.len());
        let kind = self.kind;
        for event in events {
            let (label, what, change) = match event {
                WatchEvent::Applied(object) => {
                    let said = Said::Event(Arc::clone(&object.identity.version));
                    ("applied", said, ObjectChange::Applied(object).into())
                }
                WatchEvent::Deleted(identity) => {
                    let said = Said::Event(Arc::clone(&identity.version));
                    ("gone", said, ObjectChange::Deleted(identity).into())
                }
                WatchEvent::Bookmark(version) => {
                    ("bookmark", Said::Bookmark(Arc::clone(&version)), Change::Bookmark { kind, version })
                }
                // What is held of the object stays, but its version has been seen.
                WatchEvent::Unreadable(object) => {
                    self.note_unreadable(&object);
                    let version: Arc<str> = Arc::from(object.version.as_str());
                    ("unreadable", Said::Event(Arc::clone(&version)), Change::Bookmark { kind, version })
                }
            };
            self.metrics.event(kind, label);
            changes.push(change);
            said.push(what);
        }
        if !changes.is_empty() {
            self.outlet.deliver(changes);
        }
        said
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

impl Sink for Objects {
    fn changed(&self) -> BoxFuture<'static, ()> {
        changed(self.wanted.clone()).boxed()
    }

    /// Lists the kind again where annotations are wanted with which it has not been compiled. Where that is over before the list
    /// is complete, the watch goes on instead: a policy was refused, and a server that watches may refuse to list.
    fn turn(&mut self, is_listing: bool) -> Option<Turn> {
        let wanted = Arc::clone(&self.wanted.as_mut()?.borrow_and_update());
        let is_covered = covers(&self.compiler, self.kind, &wanted);
        match is_listing {
            true if self.is_recompiling && is_covered => {
                self.is_recompiling = false;
                self.pages.clear();
                Some(Turn::WatchOn)
            }
            true if !covers(self.pages.compiler(), self.kind, &wanted) => Some(Turn::ListAnew(None)),
            false if !is_covered => {
                self.is_recompiling = true;
                Some(Turn::ListAnew(Some(RelistReason::Annotations)))
            }
            true | false => None,
        }
    }

    fn begin(&mut self) {
        self.pages = Pages::new(self.kind, self.keys.wanted());
    }

    async fn page(&mut self, body: Bytes) -> Result<Head, Failure> {
        self.pages.add(body).await
    }

    async fn whole(&mut self, version: Arc<str>, restored: Restored) -> Result<(), Failure> {
        self.is_recompiling = false;
        let (objects, unreadable) = self.pages.finish().await?;
        let kind = self.kind;
        tracing::info!(%kind, objects = objects.len(), version = &*version, "listed");
        unreadable.iter().for_each(|unreadable| self.note_unreadable(unreadable));
        let is_recompiled = self.pages.compiler().selection() != self.compiler.selection();
        self.compiler = self.pages.compiler().clone();
        self.outlet.deliver(vec![match (restored, is_recompiled) {
            (Restored::Yes, _) => Change::Restored { kind, objects, version },
            (Restored::No, true) => Change::Recompiled { kind, objects, version },
            (Restored::No, false) => Change::Replaced { kind, objects, version },
        }]);
        self.keys.delivered(&self.compiler);
        Ok(())
    }

    fn clear(&mut self) {
        self.pages.clear();
    }

    fn absent(&mut self) {
        let version = Arc::default();
        self.outlet.deliver(vec![Change::Replaced { kind: self.kind, objects: Vec::new(), version }]);
    }

    async fn lines(&mut self, lines: Vec<u8>) -> (Vec<Said>, Option<Failure>) {
        let (events, failure) = self.decode(lines).await;
        (self.deliver_events(events), failure)
    }

    fn confirm(&self, at: Instant) {
        self.outlet.confirm_at(at);
    }

    fn confirm_past(&self, at: Instant) {
        self.outlet.confirm_past(at);
    }

    fn restored(&self, version: &str, seen: &str) {
        self.outlet.restored(version, seen);
    }

    fn failed(&self, failure: &Failure) {
        self.outlet.failed(failure);
    }
}
