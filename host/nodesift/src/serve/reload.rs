//! The policy's files, or its object, are followed while serving; what a new policy waits for, what changes with it, and which ones a
//! running process cannot change to. Start at [`follow`], then [`ServeHost`].

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::live::{Live, Unsynced, needs};
use crate::cluster;
use crate::limits::POLICY_SYNC;
use nodesift_api::Readiness;
use nodesift_cache::SharedWriter;
use nodesift_cache::metadata::Selection;
use nodesift_engine::{ActivePolicy, Engine};
use nodesift_object::Kind;
use nodesift_policy::Reach;
use nodesift_policy::reload::{self, Follow, Following, Host, Metrics, Source, Unacceptable, Unprepared};
use nodesift_policy::remembered::StateFolder;
use nodesift_policy::shadow::{self, Beside, ShadowError};
use nodesift_source::kube::Lease;
use nodesift_source::kube::kinds::{self, Resource};
use prometheus_client::registry::Registry;

/// Paths and sources named on the command line.
pub(super) struct Files<'a> {
    /// The policy's file, folder or object.
    pub(super) policy: Option<Source>,
    /// The folder that remembers the last good one.
    pub(super) state: Option<&'a Path>,
}

/// The policy, and what the cluster is followed for. Dropping it ends both.
pub(super) struct Reloading {
    _policy: Option<Following>,
    /// Lease on the kinds that a policy which is never replaced reads.
    _first: Option<Lease>,
}

/// Follows the policy's file, folder or object, if there is one. `live` is the cluster, unless that comes from files, and `first` what the
/// active policy has followed of it.
///
/// # Errors
///
/// Where the system starts no thread.
pub(super) fn follow(
    files: Files<'_>,
    (engine, writer): (&Arc<Engine>, &SharedWriter),
    (live, first): (Option<Live>, Option<Lease>),
    readiness: &Readiness,
    registry: &mut Registry,
) -> std::io::Result<Reloading> {
    let metrics = Metrics::register(engine, registry);
    let Some(source) = files.policy else { return Ok(Reloading { _policy: None, _first: first }) };
    let remembering = Arc::downgrade(engine);
    readiness.remark(move || {
        let is_remembered = remembering.upgrade()?.policy().origin.is_remembered;
        is_remembered.then(|| "serving the last good policy, which was remembered".to_owned())
    });
    let refusing = Arc::downgrade(engine);
    readiness.remark(move || {
        let engine = refusing.upgrade()?;
        let policy = engine.policy();
        let refusal = engine.refusal(&policy)?;
        let first = refusal.failures.first()?;
        let of = first.predicate.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        let generation = policy.generation;
        Some(match first.step {
            "quarantine" => {
                let predicate = first.predicate.as_deref().unwrap_or_default();
                format!("policy rolled back, because {predicate} was in quarantine: generation {generation} is active")
            }
            step => format!("policy refused at step {step}{of}: generation {generation} stays active"),
        })
    });
    let host = ServeHost { live, writer: Arc::clone(writer), of_files: engine.policy().selection() };
    let pulled = cluster::pulled_folder(files.state);
    let state_folder = files.state.map(|path| StateFolder::new(path, &pulled));
    let engine = Arc::clone(engine);
    let policy = reload::start(Follow { engine, source, host, metrics, pulled, state_folder }, first)?;
    Ok(Reloading { _policy: Some(policy), _first: None })
}

/// Evaluates shadow predicates, and a second policy if there is one, beside the active policy.
///
/// # Errors
///
/// If the second policy is invalid, or cannot be evaluated on what is read of the cluster.
pub(super) fn shadow(
    (second, reach, state): (Option<&Path>, Reach, Option<&Path>),
    engine: &Arc<Engine>,
    is_live: bool,
) -> Result<(), ShadowError> {
    let accept = Box::new(move |active: &ActivePolicy, next: &ActivePolicy| accept_beside(is_live, active, next));
    let (engine, second) = (Arc::clone(engine), second.map(Path::to_owned));
    shadow::start(Beside { engine, second, reach, pulled: cluster::pulled_folder(state), accept })
}

/// Pods are foreign by the active policy, on whose snapshots the second one is evaluated.
fn accept_beside(is_live: bool, active: &ActivePolicy, next: &ActivePolicy) -> Result<(), Unacceptable> {
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    let refused = |predicate, reason| Err(Unacceptable { predicate, reason });
    if sorted(&active.scheduler_names) != sorted(&next.scheduler_names) {
        let (before, after) = (active.scheduler_names.join(", "), next.scheduler_names.join(", "));
        let reason = format!(
            "spec.schedulerNames are [{after}], and [{before}] in the active policy: other pods would be foreign, which cannot be \
             compared on one snapshot"
        );
        return refused(None, reason);
    }
    let is_unread = |key: &&String| !active.settings.annotation_keys.contains(key);
    if let Some(key) = next.settings.annotation_keys.iter().find(is_unread) {
        return refused(None, format!("spec.facts.annotations has {key}, which the active policy does not list"));
    }
    let is_unread = |name: &&String| !active.settings.config_maps.contains(name);
    if let Some(name) = next.settings.config_maps.iter().find(is_unread) {
        return refused(None, format!("spec.facts.configMaps has {name}, which the active policy does not list"));
    }
    if !active.accounts_as(next) {
        let reason = "spec.accounting is not that of the active policy: pods would take something else, which cannot be compared on one \
                      snapshot";
        return refused(None, reason.to_owned());
    }
    let (kept, selection) = (active.selection(), next.selection());
    if !kept.covers(&selection.for_nodes()) || !kept.covers(&selection.for_pods()) {
        let interface = selection.interfaces().find(|wanted| !kept.interfaces().any(|kept| kept == *wanted));
        let interface = interface.unwrap_or_default();
        return refused(None, format!("a predicate reads {interface}, which no predicate of the active policy reads"));
    }
    if !is_live {
        return Ok(());
    }
    let watched = needs(active);
    for predicate in &next.predicates {
        let needed = kinds::needed(predicate.module.imports().iter().copied());
        let missing: Vec<&str> = needed.difference(&watched).map(|kind| Resource::from(*kind).plural).collect();
        if !missing.is_empty() {
            let (name, missing) = (&predicate.name, missing.join(", "));
            let reason = format!(
                "predicate {name} reads {missing}, which are not watched: no predicate of the active policy reads them"
            );
            return refused(Some(name.to_string()), reason);
        }
    }
    Ok(())
}

/// Work of the process for the policies that become active.
struct ServeHost {
    /// None where the cluster comes from files.
    live: Option<Live>,
    writer: SharedWriter,
    /// Selection with which the objects in files were compiled: other facts are not in the cache.
    of_files: Selection,
}

impl Host for ServeHost {
    /// Lease on the kinds that a policy reads; none for files.
    type Held = Option<Lease>;

    fn prepare(
        &self,
        active: &ActivePolicy,
        next: &ActivePolicy,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Lease>, Unprepared> {
        let lease = match &self.live {
            None => {
                self.check_files(next)?;
                None
            }
            Some(live) => {
                let (lease, time) = (live.lease(next), sync_time());
                live.sync(&lease, time, is_over).map_err(|why| match why {
                    Unsynced::Over => Unprepared::Over,
                    Unsynced::Missing(missing) => Unprepared::Unacceptable(unsynced(&lease, next, &missing, time)),
                })?;
                Some(lease)
            }
        };
        self.account(active, next, is_over);
        Ok(lease)
    }

    fn recount(&self, before: &ActivePolicy, next: &ActivePolicy) {
        let started = Instant::now();
        let mut writer = self.writer.lock();
        let accounted = match before.accounts_as(next) {
            true => 0,
            false => writer.recount_accounts(next.accountant()),
        };
        let foreign = writer.recount_ownership(&next.scheduler_names);
        writer.publish();
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(changed_sides = foreign, other_accounts = accounted, ms, "pods count as another policy says");
    }

    fn commit(&self, held: &Option<Lease>) {
        held.iter().for_each(Lease::count);
    }
}

const RESTART: &str = "this takes a restart";

fn refused(reason: String) -> Unprepared {
    Unprepared::Unacceptable(Unacceptable { predicate: None, reason })
}

impl ServeHost {
    /// Has another accounting component account for everything that is held, without the writer's lock: then the writer only has to
    /// count.
    fn account(&self, active: &ActivePolicy, next: &ActivePolicy, is_over: &dyn Fn() -> bool) {
        if let Some(accounting) = next.accounting.as_ref().filter(|_| !active.accounts_as(next)) {
            let (pods, nodes) = {
                let writer = self.writer.lock();
                (writer.pods().all(), writer.accounted_nodes())
            };
            accounting.prepare(&pods, &nodes, is_over);
        }
    }

    /// Files are read once. They hold all kinds, but what no predicate read has been dropped.
    fn check_files(&self, next: &ActivePolicy) -> Result<(), Unprepared> {
        // Of ConfigMaps all are there.
        let (kept, selection) = (&self.of_files, next.selection());
        if kept.covers(&selection.for_nodes()) && kept.covers(&selection.for_pods()) {
            return Ok(());
        }
        let kept = &self.of_files.annotation_keys;
        let dropped: Vec<&str> =
            selection.annotation_keys.iter().filter(|key| !kept.contains(key)).map(String::as_str).collect();
        if dropped.is_empty() {
            let is_dropped = |wanted: &&str| !self.of_files.interfaces().any(|kept| kept == *wanted);
            let interfaces = selection.interfaces().filter(is_dropped).collect::<Vec<_>>().join(", ");
            return Err(refused(format!(
                "a predicate reads {interfaces}, which was dropped when the files were read: {RESTART}"
            )));
        }
        let dropped = dropped.join(", ");
        Err(refused(format!(
            "spec.facts.annotations or spec.accounting adds [{dropped}], which were dropped when the files were read: {RESTART}"
        )))
    }
}

/// Why a policy was not waited for any longer.
fn unsynced(lease: &Lease, next: &ActivePolicy, missing: &[(Kind, Option<String>)], time: Duration) -> Unacceptable {
    let seconds = time.as_secs_f64();
    let names = |kinds: &BTreeSet<Kind>| {
        let names = kinds.iter().map(|kind| Resource::from(*kind).plural);
        names.collect::<Vec<_>>().join(", ")
    };
    let reasons = missing.iter().map(|(kind, reason)| {
        let reason = reason.as_deref().unwrap_or("the list is not complete");
        format!("{}: {reason}", Resource::from(*kind).plural)
    });
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    let missing: BTreeSet<Kind> = missing.iter().map(|(kind, _)| *kind).collect();
    let new = lease.new_kinds();
    for predicate in &next.predicates {
        let read = kinds::needed(predicate.module.imports().iter().copied());
        let unread: BTreeSet<Kind> = read.intersection(&new).copied().filter(|kind| missing.contains(kind)).collect();
        if !unread.is_empty() {
            let (name, unread) = (&predicate.name, names(&unread));
            let reason =
                format!("predicate {name} reads {unread}, which were not listed within {seconds} s: {reasons}");
            return Unacceptable { predicate: Some(name.to_string()), reason };
        }
    }
    let missing = names(&missing);
    let selection = next.selection();
    let selected: Vec<&str> = selection.interfaces().collect();
    let added =
        ["spec.facts.annotations", "spec.facts.configMaps"].into_iter().chain(selected).collect::<Vec<_>>().join(", ");
    let reason =
        format!("{missing} were not listed within {seconds} s with what the policy may add ({added}): {reasons}");
    Unacceptable { predicate: None, reason }
}

/// How long a policy waits for what it reads. Tests shorten it.
fn sync_time() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(time) = super::failpoints::sync_time() {
        return time;
    }
    POLICY_SYNC
}
