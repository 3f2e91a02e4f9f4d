//! Requests that wait for a version: sorted by what they wait for, so that a publication wakes those that it satisfies, and no
//! other.
//!
//! Each waiter is sorted by one version that it lacks; once that is there, by the next one. One task looks at each
//! publication, as long as anybody waits. Start at [`VersionWaiters::wait`].

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::consistency::{MinimumVersions, Missing, Number};
use super::deadline::Deadline;
use super::scope::RequestScope;
use crate::Error;
use crate::ListenerClass;
use nodesift_cache::{Reader, Snapshot};
use nodesift_edge::arrivals::RequestRoom;

/// The requests that wait for versions; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct VersionWaiters {
    reader: Reader,
    registry: Arc<Mutex<Registry>>,
    /// The runtime in which the registry was made: waiters of all connections are woken there, whatever connection came first.
    background: Option<Handle>,
}

#[derive(Debug, Default)]
struct Registry {
    next: u64,
    /// Whether a task looks at publications.
    is_watched: bool,
    /// By what is missing: which version, its number, and the waiter.
    waiters: BTreeMap<(usize, Number, u64), Waiter>,
}

#[derive(Debug)]
struct Waiter {
    minimum: MinimumVersions,
    met: oneshot::Sender<()>,
    class: ListenerClass,
    room: RequestRoom,
}

impl VersionWaiters {
    /// Creates a registry without waiting requests.
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, registry: Arc::default(), background: Handle::try_current().ok() }
    }

    /// Waits until a published snapshot shows the versions of a request; later ones do so too. Returns the deadline of what
    /// follows: a wait that the client has asked for does not count. Where too many wait, who waits longest gives way.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeen`] once the time for it has passed, [`Error::Overloaded`] where there is no room, or where it gives way.
    pub(crate) async fn wait(&self, scope: &RequestScope, minimum: &MinimumVersions) -> Result<Deadline, Error> {
        self.make_room(scope)?;
        let start = Instant::now();
        let (until, is_asked_for) = minimum.wait_ends(start, scope.deadline);
        if !self.is_shown_by(scope, minimum, until).await? {
            let waited = until.saturating_duration_since(start);
            return Err(minimum.not_seen(&self.reader.snapshot(), waited));
        }
        Ok(if is_asked_for { scope.deadline.extended(start.elapsed()) } else { scope.deadline })
    }

    /// Moves the room of a request to where waiting ones are counted.
    fn make_room(&self, scope: &RequestScope) -> Result<(), Error> {
        loop {
            match scope.wait() {
                Err(_) if self.end_longest(scope.class) => {}
                outcome => return outcome,
            }
        }
    }

    /// Waits until a published snapshot shows the versions; false where none does by `until`.
    async fn is_shown_by(
        &self,
        scope: &RequestScope,
        minimum: &MinimumVersions,
        until: Instant,
    ) -> Result<bool, Error> {
        let Some(missing) = minimum.missing(&self.reader.snapshot()) else { return Ok(true) };
        let (met, woken) = oneshot::channel();
        let (class, room) = (scope.class, scope.room.clone());
        let entry = self.enter(missing, Waiter { minimum: minimum.clone(), met, class, room });
        let woken = timeout_at(until, woken).await;
        drop(entry);
        match woken {
            Ok(Ok(())) => Ok(true),
            Ok(Err(_)) => Err(Error::Overloaded),
            Err(_) => Ok(false),
        }
    }

    /// Takes the room of the request of a class that waits longest, and ends its wait: versions that are on their way come within
    /// milliseconds. False where none waits.
    fn end_longest(&self, class: ListenerClass) -> bool {
        let mut registry = self.registry.lock();
        let of_class = registry.waiters.iter().filter(|(_, waiter)| waiter.class == class);
        let Some(key) = of_class.map(|(key, _)| key).min_by_key(|(.., id)| *id).cloned() else { return false };
        // Dropping it wakes the request.
        registry.waiters.remove(&key).is_some_and(|waiter| {
            waiter.room.shrink_to(0);
            true
        })
    }

    /// Enters a waiter, and sees to it that a task looks at publications.
    fn enter(&self, missing: Missing, waiter: Waiter) -> Entry<'_> {
        let mut registry = self.registry.lock();
        registry.next += 1;
        let id = registry.next;
        registry.insert(missing, id, waiter);
        if !registry.is_watched {
            registry.is_watched = true;
            let runtime = self.background.clone().unwrap_or_else(Handle::current);
            drop(runtime.spawn(watch(self.reader.clone(), Arc::clone(&self.registry))));
        }
        Entry { registry: &self.registry, id }
    }
}

/// Wakes waiters at each publication, beginning with the newest, until nobody waits.
async fn watch(reader: Reader, registry: Arc<Mutex<Registry>>) {
    let nobody_waits = |snapshot: &Snapshot| {
        let mut registry = registry.lock();
        registry.wake(snapshot);
        // Set under the lock: whoever comes next starts another task.
        registry.is_watched = !registry.waiters.is_empty();
        !registry.is_watched
    };
    reader.snapshot_when(nobody_waits).await;
}

impl Registry {
    fn insert(&mut self, missing: Missing, id: u64, waiter: Waiter) {
        self.waiters.insert((missing.which, missing.number, id), waiter);
    }

    /// Wakes the waiters that the snapshot satisfies, and sorts anew those that lack another version.
    fn wake(&mut self, snapshot: &Snapshot) {
        for (which, shown) in MinimumVersions::shown_by(snapshot).into_iter().enumerate() {
            let Some(shown) = shown else { continue };
            let reached = (which, Number::default(), 0)..=(which, shown, u64::MAX);
            let reached: Vec<_> = self.waiters.range(reached).map(|(key, _)| key.clone()).collect();
            for key in reached {
                let Some(waiter) = self.waiters.remove(&key) else { continue };
                match waiter.minimum.missing(snapshot) {
                    // Fails where it has just given up.
                    None => drop(waiter.met.send(())),
                    Some(missing) => self.insert(missing, key.2, waiter),
                }
            }
        }
    }
}

/// A waiter's entry, removed when dropped.
struct Entry<'a> {
    registry: &'a Mutex<Registry>,
    id: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.registry.lock().waiters.retain(|(_, _, id), _| *id != self.id);
    }
}

#[cfg(test)]
mod tests;
