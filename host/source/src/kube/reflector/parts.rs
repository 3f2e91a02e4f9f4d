//! A kind of which only some objects are followed, each by its name and with a watch of its own: nothing needs a permission to
//! read the others. Start at [`Parts`].
//!
//! Freshness and health speak of what active policies list: an object that only a candidate lists, and that cannot be read, makes
//! nothing stale.
//!
//! To the feed they are one kind. Its first list is complete once every object has been listed, and so is the one after more
//! objects are wanted. An object that is not wanted any more stays as it was: no policy shows it, and its next list brings what has
//! changed meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use nodesift_object::version::is_newer;
use nodesift_object::{Kind, version};
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::objects::Objects;
use super::outlet::Outlet;
use super::task::{Restored, Sink, Turn};
use super::watch_lag::Said;
use crate::change::{Change, Compiled, Identity, ObjectChange};
use crate::kube::decode::Head;
use crate::kube::failure::Failure;

/// Starts the task of one object, which is named `namespace/name`.
pub(in crate::kube) type StartPart = Arc<dyn Fn(&Arc<str>, &Arc<Parts>) -> AbortHandle + Send + Sync>;

/// The followed objects of a kind.
pub(in crate::kube) struct Parts {
    kind: Kind,
    outlet: Arc<Outlet>,
    start: StartPart,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<Arc<str>, Followed>,
    /// Whether a list of all has been delivered.
    is_delivered: bool,
    /// Whether every object that is wanted is in the newest list that has been delivered.
    is_complete: bool,
    /// Whether an active policy reads the kind: freshness and health speak of what it lists, and of nothing else.
    is_counted: bool,
}

/// State of one object that is followed, or was.
#[derive(Default)]
struct Followed {
    /// None where it is not wanted any more.
    task: Option<AbortHandle>,
    /// Whether it has been listed since it is wanted.
    is_listed: bool,
    /// The object as it was last read; `None` where it does not exist.
    object: Option<Compiled>,
    version: Arc<str>,
    /// The resourceVersion of what was said last: of the object, of its deletion, or of a list without it.
    said: Arc<str>,
    /// When the server last showed its newest state.
    confirmed: Option<Instant>,
    /// Why the last request failed; none where none has failed since the server last showed its newest state.
    failure: Option<String>,
    /// Whether a policy that lists it has become active since it is wanted.
    is_counted: bool,
}

impl Followed {
    /// Notes the result of a list: the object, or that it does not exist.
    fn list(&mut self, object: Option<Compiled>, version: &Arc<str>) {
        self.said = Arc::clone(object.as_ref().map_or(version, |object| &object.identity.version));
        (self.object, self.version, self.is_listed) = (object, Arc::clone(version), true);
    }
}

impl State {
    fn wanted(&self) -> impl Iterator<Item = &Followed> {
        self.objects.values().filter(|followed| followed.task.is_some())
    }

    /// Iterates over the wanted objects that freshness and health depend on: all, as long as no active policy reads the kind.
    fn heeded(&self) -> impl Iterator<Item = &Followed> {
        let is_counted = self.is_counted;
        self.wanted().filter(move |followed| followed.is_counted || !is_counted)
    }
}

impl Parts {
    /// Of a kind of which nothing is followed yet.
    pub(in crate::kube) fn new(kind: Kind, outlet: Arc<Outlet>, start: StartPart) -> Arc<Self> {
        Arc::new(Self { kind, outlet, start, state: Mutex::default() })
    }

    /// Follows the objects with these names, and no others.
    pub(in crate::kube) fn want(self: &Arc<Self>, names: &BTreeSet<&str>) {
        let mut state = self.state.lock();
        for (name, followed) in &mut state.objects {
            if !names.contains(&**name)
                && let Some(task) = followed.task.take()
            {
                task.abort();
            }
        }
        for name in names {
            let name: Arc<str> = Arc::from(*name);
            let followed = state.objects.entry(Arc::clone(&name)).or_default();
            if followed.task.is_none() {
                followed.task = Some((self.start)(&name, self));
                (followed.is_listed, followed.is_counted) = (false, false);
                (followed.confirmed, followed.failure) = (None, None);
                state.is_complete = false;
            }
        }
        self.complete(&mut state);
        // What is not wanted any more may have been what was shown longest ago.
        self.weigh(&state);
    }

    /// A policy that lists these objects is active: from now on freshness and health speak of them.
    pub(in crate::kube) fn count(&self, names: &[String]) {
        let mut state = self.state.lock();
        state.is_counted = true;
        for name in names {
            if let Some(followed) = state.objects.get_mut(name.as_str()) {
                followed.is_counted = true;
            }
        }
        self.weigh(&state);
    }

    /// Why the last request about one of these objects failed; `None` where that is so of none of them.
    pub(in crate::kube) fn failure(&self, names: &[String]) -> Option<String> {
        let state = self.state.lock();
        names.iter().find_map(|name| state.objects.get(name.as_str())?.failure.clone())
    }

    /// Ends the tasks of all objects.
    pub(in crate::kube) fn abort(&self) {
        self.state
            .lock()
            .objects
            .values_mut()
            .filter_map(|followed| followed.task.take())
            .for_each(|task| task.abort());
    }

    /// Whether a list with these objects has been delivered.
    pub(in crate::kube) fn cover(&self, names: &[String]) -> bool {
        let state = self.state.lock();
        let is_listed = |name: &String| state.objects.get(&**name).is_some_and(|followed| followed.is_listed);
        state.is_complete && names.iter().all(is_listed)
    }

    /// Delivers a list of all objects, where all that are wanted have been listed since the last one.
    fn complete(&self, state: &mut State) {
        if state.is_complete || !state.wanted().all(|followed| followed.is_listed) {
            return;
        }
        let (kind, mut version) = (self.kind, Arc::default());
        state.wanted().for_each(|followed| version::advance(&mut version, &followed.version));
        let objects = state.objects.values().filter_map(|followed| followed.object.clone()).collect();
        self.outlet.deliver(vec![match state.is_delivered {
            true => Change::Recompiled { kind, objects, version },
            false => Change::Replaced { kind, objects, version },
        }]);
        (state.is_delivered, state.is_complete) = (true, true);
    }

    /// Handles the changes that were read of one object.
    fn take(&self, name: &Arc<str>, changes: Vec<Change>) {
        let mut state = self.state.lock();
        let (is_delivered, kind, mut restored) = (state.is_delivered, self.kind, None);
        let Some(followed) = state.objects.get_mut(name) else { return };
        let mut tell = Vec::new();
        for change in changes {
            match change {
                // Each object finds out by itself that the cluster was restored; the list of all is delivered with the versions of
                // the first that has, and again with those of each other.
                Change::Restored { objects, version, .. } => {
                    let object = objects.into_iter().find(|object| object.identity.key == *name);
                    followed.list(object, &version);
                    restored = Some(version);
                }
                Change::Replaced { objects, version, .. } | Change::Recompiled { objects, version, .. } => {
                    // A server that does not know the selector sends others too.
                    let object = objects.into_iter().find(|object| object.identity.key == *name);
                    let is_older = |object: &Compiled| is_newer(&followed.said, &object.identity.version);
                    match (&followed.object, &object) {
                        // It will be in the list of all.
                        _ if !followed.is_listed => {}
                        // The list is not older, and shows an object as it was before: the cluster was restored from a backup.
                        (_, Some(object)) if is_older(object) => restored = Some(Arc::clone(&version)),
                        (_, Some(object)) => tell.push(ObjectChange::Applied(object.clone())),
                        (Some(gone), None) => {
                            let identity = Identity { version: Arc::clone(&version), ..gone.identity.clone() };
                            tell.push(ObjectChange::Deleted(identity));
                        }
                        (None, None) => {}
                    }
                    followed.list(object, &version);
                }
                Change::Object(ObjectChange::Applied(object)) if object.identity.key == *name => {
                    followed.said = Arc::clone(&object.identity.version);
                    followed.object = Some(object.clone());
                    tell.push(ObjectChange::Applied(object));
                }
                Change::Object(ObjectChange::Deleted(gone)) if gone.key == *name => {
                    (followed.object, followed.said) = (None, Arc::clone(&gone.version));
                    tell.push(ObjectChange::Deleted(gone));
                }
                // What is said of the kind as a whole is said of one object alone here.
                Change::Object(_) | Change::Bookmark { .. } | Change::Dropped { .. } => {}
            }
        }
        if let Some(version) = restored.filter(|_| is_delivered) {
            // What is not followed is of a history that is no more.
            state
                .objects
                .values_mut()
                .filter(|followed| followed.task.is_none())
                .for_each(|followed| followed.object = None);
            let objects = state.objects.values().filter_map(|followed| followed.object.clone()).collect();
            self.outlet.deliver(vec![Change::Restored { kind, objects, version }]);
        } else if is_delivered && !tell.is_empty() {
            self.outlet.deliver(tell.into_iter().map(Change::Object).collect());
        }
        self.complete(&mut state);
    }

    /// At this time the server has shown its newest state of an object.
    fn confirm(&self, name: &str, at: Instant) {
        let mut state = self.state.lock();
        if let Some(followed) = state.objects.get_mut(name) {
            (followed.confirmed, followed.failure) = (Some(at), None);
        }
        self.weigh(&state);
    }

    /// All that the server had of an object at this time was delivered, and its watch lags.
    fn confirm_past(&self, name: &str, at: Instant) {
        let mut state = self.state.lock();
        if let Some(followed) = state.objects.get_mut(name) {
            followed.confirmed = Some(at);
        }
        self.weigh(&state);
    }

    /// Says how fresh the kind is: as fresh as the object that was shown longest ago, of those that are heeded.
    fn weigh(&self, state: &State) {
        let fails = state.heeded().any(|followed| followed.failure.is_some());
        let confirmed: Option<Vec<Instant>> = state.heeded().map(|followed| followed.confirmed).collect();
        if let Some(oldest) = confirmed.and_then(|all| all.into_iter().min()) {
            if fails { self.outlet.confirm_past(oldest) } else { self.outlet.confirm_at(oldest) }
        }
    }

    fn failed(&self, name: &str, failure: &Failure) {
        let mut state = self.state.lock();
        let speaks_of_all = !state.is_counted;
        let Some(followed) = state.objects.get_mut(name) else { return };
        followed.failure = Some(failure.to_string());
        if speaks_of_all || followed.is_counted {
            self.outlet.failed(failure);
        }
    }
}

/// The sink of one object.
pub(in crate::kube) struct Part {
    name: Arc<str>,
    parts: Arc<Parts>,
    objects: Objects,
}

impl Part {
    /// `objects` delivers to what [`Self::deliver`] has made.
    pub(in crate::kube) fn new(name: &Arc<str>, parts: &Arc<Parts>, objects: Objects) -> Self {
        Self { name: Arc::clone(name), parts: Arc::clone(parts), objects }
    }

    /// Takes what is read of the object with this name.
    pub(in crate::kube) fn deliver(name: &Arc<str>, parts: &Arc<Parts>) -> super::outlet::Deliver {
        let (name, parts) = (Arc::clone(name), Arc::clone(parts));
        Arc::new(move |changes| parts.take(&name, changes))
    }
}

impl Sink for Part {
    fn changed(&self) -> BoxFuture<'static, ()> {
        self.objects.changed()
    }

    fn turn(&mut self, is_listing: bool) -> Option<Turn> {
        self.objects.turn(is_listing)
    }

    fn begin(&mut self) {
        self.objects.begin();
    }

    async fn page(&mut self, body: Bytes) -> Result<Head, Failure> {
        self.objects.page(body).await
    }

    async fn whole(&mut self, version: Arc<str>, restored: Restored) -> Result<(), Failure> {
        self.objects.whole(version, restored).await
    }

    fn clear(&mut self) {
        self.objects.clear();
    }

    fn absent(&mut self) {
        self.objects.absent();
    }

    async fn lines(&mut self, lines: Vec<u8>) -> (Vec<Said>, Option<Failure>) {
        self.objects.lines(lines).await
    }

    fn confirm(&self, at: Instant) {
        self.parts.confirm(&self.name, at);
    }

    fn confirm_past(&self, at: Instant) {
        self.parts.confirm_past(&self.name, at);
    }

    fn restored(&self, version: &str, seen: &str) {
        self.parts.outlet.restored(version, seen);
    }

    fn failed(&self, failure: &Failure) {
        self.parts.failed(&self.name, failure);
    }
}
