//! A live cluster behind `serve`: which kinds are watched, and what readiness and a new policy wait for. Start at [`follow`], then
//! [`Live::sync`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::exit::Failure;
use crate::limits::POLICY_SYNC_LOOK;
use nodesift_api::Readiness;
use nodesift_cache::SharedWriter;
use nodesift_engine::{ActivePolicy, Engine, Semantics};
use nodesift_object::Kind;
use nodesift_source::audit::{Kinds, List};
use nodesift_source::change::Compiler;
use nodesift_source::feed::Feed;
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::connection::{self, ConnectError, Connection, Origin};
use nodesift_source::kube::kinds::{self, Resource};
use nodesift_source::kube::{Deliver, Following, Health, Lease, Listed, Lister, Metrics};

/// Prepares the connection. It sends no request yet: a sidecar may start before its API server.
///
/// # Errors
///
/// [`Failure::Usage`] without a kubeconfig, [`Failure::Data`] if it is invalid.
pub(super) async fn connect(origin: &Origin) -> Result<Connection, Failure> {
    connection::open(origin).await.map_err(|error| match error {
        ConnectError::Nowhere { .. } => Failure::Usage(format!("{error}; use --kubeconfig FILE or --context NAME")),
        error => Failure::Data(error.into()),
    })
}

/// A cluster that is followed as far as policies read it.
pub(super) struct Live {
    following: Following,
    feed: Feed,
}

/// A followed cluster: its tasks, and the lists that the audit compares with the cache.
pub(super) struct Followed {
    /// None for files, which are not watched.
    pub(super) live: Option<Live>,
    /// Lease on the kinds that the first policy reads; none for files.
    pub(super) first: Option<Lease>,
    /// Kinds that the audit compares: those that are followed, except those of which only named objects are.
    pub(super) kinds: Kinds,
    /// Lists all objects of a kind.
    pub(super) list: List,
}

/// Lists and watches every kind that the policy's predicates read. Readiness waits until each list is complete and applied.
pub(super) fn follow(
    connection: &Connection,
    (engine, writer): (&Engine, &SharedWriter),
    feed: &Feed,
    readiness: &Readiness,
    (freshness, health, metrics): (&Freshness, &Health, &Metrics),
) -> Followed {
    // Before anything is delivered. The feed completes it.
    writer.lock().begin_start();
    let policy = engine.policy();
    let fed = feed.clone();
    let deliver: Deliver = Arc::new(move |changes| fed.deliver(changes));
    let server = Arc::new(connection.server.clone());
    let compiler = Compiler::new(&policy.scheduler_names).accounting_by(writer.lock().accountant());
    let following = Following::new(&server, &compiler, &deliver, (freshness, health), metrics);
    let live = Live { following: following.clone(), feed: feed.clone() };
    for kind in needs(&policy) {
        let latch = readiness.wait_for(&format!("the list of {}", Resource::from(kind).plural));
        feed.hold_until_synced(kind, Box::new(latch));
    }
    let first = live.lease(&policy);
    first.count();
    let compilers = following.clone();
    let list: List = Box::new(move |kind| {
        let lister = Lister::new(Arc::clone(&server), compilers.compiler(kind));
        Box::pin(async move { lister.list_all(kind).await.map_err(Into::into) })
    });
    let kinds: Kinds = Box::new(move || {
        // There is no list of all objects that one may read.
        following.kinds().into_iter().filter(|kind| !kinds::is_by_name(*kind)).collect()
    });
    Followed { live: Some(live), first: Some(first), kinds, list }
}

/// Files are not watched, and there is nothing to list.
pub(super) fn nothing() -> Followed {
    let list: List = Box::new(|_| Box::pin(async { Ok(Listed::default()) }));
    Followed { live: None, first: None, kinds: Box::new(Vec::new), list }
}

/// The kinds that the predicates and scorers of a policy read.
pub(super) fn needs(policy: &ActivePolicy) -> BTreeSet<Kind> {
    needs_without(policy, &[])
}

/// The kinds that the predicates and scorers of a policy read, but for predicates with these names.
pub(crate) fn needs_without(policy: &ActivePolicy, skip: &[String]) -> BTreeSet<Kind> {
    let predicates = policy.predicates.iter().filter(|predicate| !skip.iter().any(|name| **name == *predicate.name));
    let read = predicates.chain(policy.scorers.iter().map(|scorer| &scorer.component));
    let kinds = kinds::needed(read.flat_map(|component| component.module.imports().iter().copied()));
    let settings = &policy.settings;
    of_use(kinds, !settings.config_maps.is_empty(), &settings.kubernetes.semantics)
}

/// The kinds of which a policy reads anything: with ConfigMaps where it names some, and with DeviceTaintRules where they taint devices.
fn of_use(mut kinds: BTreeSet<Kind>, names_config_maps: bool, semantics: &Semantics) -> BTreeSet<Kind> {
    if !names_config_maps {
        // None is read, so none is followed: nothing would ever confirm that they are fresh.
        kinds.remove(&Kind::ConfigMap);
    }
    if !semantics.devices.taint_rules {
        // A role of before they were known does not permit them, and servers of these versions need not serve them. A policy that comes to
        // use them takes a lease on them, and waits for their list.
        kinds.remove(&Kind::DeviceTaintRule);
    }
    kinds
}

/// Why what a policy reads is not there.
pub(super) enum Unsynced {
    /// It was not to be waited for any longer.
    Over,
    /// In time, these kinds were not listed, applied and published; each with the reason, if there is one.
    Missing(Vec<(Kind, Option<String>)>),
}

impl Live {
    /// Follows what a policy reads for as long as the lease lives.
    pub(super) fn lease(&self, policy: &ActivePolicy) -> Lease {
        self.following.lease(needs(policy), &policy.selection())
    }

    /// Waits until everything that a lease has added is listed, applied and published.
    pub(super) fn sync(&self, lease: &Lease, time: Duration, is_over: &dyn Fn() -> bool) -> Result<(), Unsynced> {
        let until = Instant::now() + time;
        let unsynced = Arc::<Pending>::default();
        unsynced.wait_for(&self.feed, lease.new_kinds());
        // They may have been delivered for a policy that was refused, and not be applied yet.
        unsynced.wait_for(&self.feed, lease.selected());
        let mut undelivered = lease.not_recompiled();
        loop {
            // Of a kind that is synced already, only a list that has been delivered can be waited for.
            let still = lease.not_recompiled();
            unsynced.wait_for(&self.feed, undelivered.difference(&still).copied().collect());
            undelivered = still;
            let missing: BTreeSet<Kind> = unsynced.kinds.lock().union(&undelivered).copied().collect();
            if missing.is_empty() {
                return Ok(());
            }
            if is_over() {
                return Err(Unsynced::Over);
            }
            let now = Instant::now();
            if now >= until {
                return Err(Unsynced::Missing(missing.into_iter().map(|kind| (kind, lease.failure(kind))).collect()));
            }
            unsynced.wait(until.min(now + POLICY_SYNC_LOOK));
        }
    }
}

/// Kinds that are waited for.
#[derive(Default)]
struct Pending {
    kinds: Mutex<BTreeSet<Kind>>,
    synced: Condvar,
}

impl Pending {
    /// Adds kinds, until the feed has synced them.
    fn wait_for(self: &Arc<Self>, feed: &Feed, kinds: BTreeSet<Kind>) {
        for kind in kinds {
            self.kinds.lock().insert(kind);
            feed.hold_until_synced(kind, Box::new(Guard { pending: Arc::clone(self), kind }));
        }
    }

    /// Waits until one more is synced, or until this time.
    fn wait(&self, until: Instant) {
        let mut kinds = self.kinds.lock();
        let before = kinds.len();
        while kinds.len() == before && !self.synced.wait_until(&mut kinds, until).timed_out() {}
    }
}

/// The feed drops it once the kind is synced.
struct Guard {
    pending: Arc<Pending>,
    kind: Kind,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pending.kinds.lock().remove(&self.kind);
        self.pending.synced.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodesift_sandbox::Interface;

    #[test]
    fn taint_rules_and_config_maps_are_followed_where_a_policy_uses_them() {
        let needed = || kinds::needed([Interface::NodeDevices, Interface::ConfigMaps]);
        let with = Semantics::from_switches(|name| name == "DRADeviceTaintRules");
        assert_eq!(of_use(needed(), true, &with), needed());
        let rules = |kinds: BTreeSet<Kind>| (kinds.contains(&Kind::DeviceTaintRule), kinds.contains(&Kind::ConfigMap));
        assert_eq!(rules(of_use(needed(), false, &with)), (true, false));
        let without = of_use(needed(), true, &Semantics::default());
        assert_eq!(rules(without.clone()), (false, true));
        assert!(without.contains(&Kind::ResourceSlice));
    }
}
