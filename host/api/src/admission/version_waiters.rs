//! Requests that wait for a version: sorted by what they wait for, so that a publication wakes those that it satisfies, and no
//! other.
//!
//! Each waiter is sorted by one version that it lacks; once that is there, by the next one. One task looks at each
//! publication, as long as anybody waits. Start at [`VersionWaiters::wait`].

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::consistency::{MinimumVersions, Missing, Number};
use super::scope::RequestScope;
use crate::Error;
use crate::transport::arrivals::RequestRoom;
use crate::transport::budget::ListenerClass;
use nodesift_cache::{Reader, Snapshot};

/// The requests that wait for versions; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct VersionWaiters {
    reader: Reader,
    registry: Arc<Mutex<Registry>>,
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
    /// Nobody waits yet.
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, registry: Arc::default() }
    }

    /// Waits until a published snapshot shows the versions; false where none does by `until`.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] where it gives way to one that needs its room.
    pub(crate) async fn wait(
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
    pub(crate) fn end_longest(&self, class: ListenerClass) -> bool {
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
            tokio::spawn(watch(self.reader.clone(), Arc::clone(&self.registry)));
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use nodesift_proto::v1::Consistency;

    use super::*;
    use crate::limits;
    use nodesift_cache::{self as cache, Writer, metadata};
    use nodesift_object::Kind;

    fn publish(writer: &mut Writer, version: &str) {
        let json = format!(r#"{{"metadata":{{"name":"n-{version}","resourceVersion":"{version}"}}}}"#);
        writer.apply_node(&metadata::node(&serde_json::from_str(&json).unwrap()));
        writer.observe_version(Kind::Node, &Arc::from(version));
        writer.publish();
    }

    fn minimum(generation: Option<u64>, nodes: &str) -> MinimumVersions {
        let consistency = Consistency {
            min_generation: generation,
            min_nodes_resource_version: nodes.into(),
            ..Consistency::default()
        };
        MinimumVersions::parse(Some(&consistency)).unwrap().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_publication_wakes_those_whose_version_is_there_and_no_other() {
        let (mut writer, reader) = cache::new();
        let waiters = VersionWaiters::new(reader);
        let until = Instant::now() + Duration::from_secs(3600);
        let wait = |minimum: MinimumVersions| {
            let waiters = waiters.clone();
            tokio::spawn(async move { waiters.wait(&RequestScope::detached(), &minimum, until).await.unwrap() })
        };
        let (tenth, hundredth) = (wait(minimum(None, "10")), wait(minimum(None, "100")));
        let both = wait(minimum(Some(1), "9"));
        while waiters.registry.lock().waiters.len() < 3 {
            tokio::task::yield_now().await;
        }
        let entered = waiters.registry.lock().next;
        publish(&mut writer, "9");
        assert!(both.await.unwrap());
        publish(&mut writer, "11");
        assert!(tenth.await.unwrap());
        assert!(!hundredth.is_finished(), "11 is before 100");
        assert_eq!(waiters.registry.lock().waiters.len(), 1);
        assert_eq!(waiters.registry.lock().next, entered);
        publish(&mut writer, "100");
        assert!(hundredth.await.unwrap());
        tokio::task::yield_now().await;
        assert!(!waiters.registry.lock().is_watched, "nobody waits");
        let scope = RequestScope::detached();
        assert!(waiters.wait(&scope, &minimum(None, "99"), until).await.unwrap(), "shown already");
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waits_longest_gives_its_room_to_a_newcomer() {
        let (mut writer, reader) = cache::new();
        let waiters = VersionWaiters::new(reader);
        let until = Instant::now() + Duration::from_secs(30);
        let wait = |scope: &RequestScope, wanted: &'static str| {
            let (waiters, scope) = (waiters.clone(), scope.clone());
            tokio::spawn(async move { waiters.wait(&scope, &minimum(None, wanted), until).await })
        };
        let scope = RequestScope::detached();
        let most = limits::WAITING_BYTES / limits::VERSION_WAITER_BYTES;
        let hopeless: Vec<_> = std::iter::from_fn(|| {
            let scope = scope.another();
            scope.room.move_to(&scope.budgets.waiting).ok()?;
            scope.room.cover(limits::VERSION_WAITER_BYTES).ok()?;
            Some(wait(&scope, "1000000"))
        })
        .take(2 * most)
        .collect();
        assert!(hopeless.len() <= most, "{} requests wait", hopeless.len());
        while waiters.registry.lock().waiters.len() < hopeless.len() {
            tokio::task::yield_now().await;
        }
        let honest = scope.another();
        honest.wait(&waiters).unwrap();
        let honest = wait(&honest, "7");
        let mut hopeless = hopeless.into_iter();
        assert!(matches!(hopeless.next().unwrap().await.unwrap(), Err(Error::Overloaded)), "the first one gives way");
        publish(&mut writer, "7");
        assert!(honest.await.unwrap().unwrap());
        assert!(hopeless.all(|waiting| !waiting.is_finished()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_in_time_and_leaves_nothing_behind() {
        let (mut writer, reader) = cache::new();
        let waiters = VersionWaiters::new(reader);
        let until = Instant::now() + Duration::from_secs(1);
        assert!(!waiters.wait(&RequestScope::detached(), &minimum(Some(1_000), ""), until).await.unwrap());
        assert_eq!(Instant::now(), until);
        assert!(waiters.registry.lock().waiters.is_empty());
        publish(&mut writer, "1");
        // The task has ended with the publication, and another one starts.
        let until = until + Duration::from_secs(1);
        let waiting = tokio::spawn({
            let waiters = waiters.clone();
            async move { waiters.wait(&RequestScope::detached(), &minimum(None, "2"), until).await.unwrap() }
        });
        tokio::task::yield_now().await;
        publish(&mut writer, "2");
        assert!(waiting.await.unwrap());
    }
}
