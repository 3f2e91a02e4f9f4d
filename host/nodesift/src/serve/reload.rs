//! The policy's files, or its object, are followed while serving; what a new policy waits for, what changes with it, and which ones a
//! running process cannot change to. Start at [`follow`], then [`ServeHost`].

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::live::{Live, Unsynced, needs};
use crate::cluster::{self, ClusterFiles};
use crate::limits::{FILES_BATCH, POLICY_SYNC};
use nodesift_api::Readiness;
use nodesift_cache::metadata::Selection;
use nodesift_cache::{Record, SharedWriter};
use nodesift_engine::{ActivePolicy, Engine};
use nodesift_object::{Kind, Object};
use nodesift_policy::Reach;
use nodesift_policy::kubernetes::ServerVersion;
use nodesift_policy::reload::{self, Follow, Following, Host, Metrics, Source, Unacceptable, Unprepared};
use nodesift_policy::remembered::StateFolder;
use nodesift_policy::shadow::{self, Beside, ShadowError};
use nodesift_source::change::{Compiled, Compiler};
use nodesift_source::kube::Lease;
use nodesift_source::kube::kinds::{self, Resource};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;

/// Paths and sources named on the command line.
pub(super) struct Files<'a> {
    /// The policy's file, folder or object.
    pub(super) policy: Option<Source>,
    /// The source of the version of Kubernetes of a policy that names none.
    pub(super) version: &'a ServerVersion,
    /// The folder that remembers the last good one.
    pub(super) state: Option<&'a Path>,
    /// The files of the cluster; `None` where it is followed.
    pub(super) cluster: Option<ClusterFiles>,
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
    let server = files.version.clone();
    let of_files = Mutex::new(engine.policy().selection());
    let readiness = readiness.clone();
    let host = ServeHost { live, writer: Arc::clone(writer), files: files.cluster, of_files, readiness };
    let pulled = cluster::pulled_folder(files.state);
    let state_folder = files.state.map(|path| StateFolder::new(path, &pulled));
    let engine = Arc::clone(engine);
    let policy = reload::start(Follow { engine, source, server, host, metrics, pulled, state_folder }, first)?;
    Ok(Reloading { _policy: Some(policy), _first: None })
}

/// Evaluates shadow predicates, and a second policy if there is one, beside the active policy.
///
/// # Errors
///
/// If the second policy is invalid, or cannot be evaluated on what is read of the cluster.
pub(super) fn shadow(
    (second, reach, state): (Option<&Path>, Reach, Option<&Path>),
    server: &ServerVersion,
    engine: &Arc<Engine>,
    is_live: bool,
) -> Result<(), ShadowError> {
    let accept = Box::new(move |active: &ActivePolicy, next: &ActivePolicy| accept_beside(is_live, active, next));
    let (engine, second) = (Arc::clone(engine), second.map(Path::to_owned));
    let (server, pulled) = (server.clone(), cluster::pulled_folder(state));
    shadow::start(Beside { engine, second, reach, server, pulled, accept })
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
    let (watched, wanted) = (needs(active), needs(next));
    for predicate in next.components() {
        let mut needed = kinds::needed(predicate.module.imports().iter().copied());
        needed.retain(|kind| wanted.contains(kind));
        let missing: Vec<&str> = needed.difference(&watched).map(|kind| Resource::from(*kind).plural).collect();
        if !missing.is_empty() {
            let (name, missing) = (&predicate.name, missing.join(", "));
            let reason =
                format!("{name} reads {missing}, which are not watched: nothing of the active policy reads them");
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
    /// The files that the cluster comes from.
    files: Option<ClusterFiles>,
    /// Selection with which the objects in them are compiled: other facts are not in the cache.
    of_files: Mutex<Selection>,
    readiness: Readiness,
}

impl Host for ServeHost {
    /// Lease on the kinds that a policy reads; none for files.
    type Held = Option<Lease>;

    fn sees_cluster(&self) -> bool {
        self.readiness.check().is_ok()
    }

    fn prepare(
        &self,
        active: &ActivePolicy,
        next: &ActivePolicy,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Lease>, Unprepared> {
        let lease = match &self.live {
            None => {
                self.select_of_files(active, next, is_over)?;
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
        let recounted = writer.recount_semantics(next.settings.kubernetes.semantics);
        let accounted = match before.accounts_as(next) {
            true => 0,
            false => writer.recount_accounts(next.accountant()),
        };
        let foreign = writer.recount_ownership(&next.scheduler_names);
        writer.publish();
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            changed_sides = foreign,
            other_accounts = accounted,
            other_resizes = recounted,
            ms,
            "pods count as another policy says"
        );
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

    /// Reads the cluster's files once more where a policy reads facts of nodes or pods that were dropped before. They hold all kinds, and of
    /// ConfigMaps all are there. Facts that nothing reads yet change no answer, so it does no harm where the policy is refused after that.
    fn select_of_files(
        &self,
        active: &ActivePolicy,
        next: &ActivePolicy,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Unprepared> {
        let mut of_files = self.of_files.lock();
        let selection = next.selection();
        if of_files.covers(&selection.for_nodes()) && of_files.covers(&selection.for_pods()) {
            return Ok(());
        }
        let Some(files) = &self.files else {
            return Err(refused(dropped(&of_files, &selection, "there are no files")));
        };
        let (started, wider) = (Instant::now(), of_files.with(&selection));
        // Pods take what they take by the policy that is active, until they are counted by the next one.
        let compiler = Compiler::new(&active.scheduler_names).selecting(&wider);
        let compiler = compiler.accounting_by(self.writer.lock().accountant());
        let (mut batch, mut compiled, mut is_cut) = (Vec::with_capacity(FILES_BATCH), Vec::new(), false);
        let read = files.read(&mut |object| {
            if is_cut || !matches!(object, Object::Node(_) | Object::Pod(_)) {
                return;
            }
            batch.push(object);
            if batch.len() >= FILES_BATCH {
                compiled.extend(compiler.compile_all(&batch));
                batch.clear();
                is_cut = is_over();
            }
        });
        if is_cut {
            return Err(Unprepared::Over);
        }
        read.map_err(|error| refused(dropped(&of_files, &selection, &error.to_string())))?;
        compiled.extend(compiler.compile_all(&batch));
        // Not before: only the end of the read tells that the files are what they were.
        let mut compiled = compiled.into_iter();
        while compiled.len() > 0 {
            self.apply(compiled.by_ref().take(FILES_BATCH));
        }
        self.writer.lock().publish();
        *of_files = wider;
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(ms, "cluster files read again, for facts that no policy has read before");
        Ok(())
    }

    /// Applies some objects, without pods that a core has ended since the files were read first. The writer is free between two calls:
    /// others wait for no longer than that takes.
    fn apply(&self, objects: impl Iterator<Item = Compiled>) {
        let mut writer = self.writer.lock();
        for Compiled { record, .. } in objects {
            let is_held = match &record {
                Record::Pod(pod) => writer.pods().by_uid(&pod.uid).is_some(),
                _ => true,
            };
            if is_held {
                writer.apply(record);
            }
        }
    }
}

/// Why a policy is refused that reads facts which the cache does not have.
fn dropped(kept: &Selection, wanted: &Selection, reason: &str) -> String {
    let is_dropped = |key: &&String| !kept.annotation_keys.contains(key);
    let keys: Vec<&str> = wanted.annotation_keys.iter().filter(is_dropped).map(String::as_str).collect();
    let lacks = |wanted: &&str| !kept.interfaces().any(|kept| kept == *wanted);
    let facts = match keys.is_empty() {
        true => wanted.interfaces().filter(lacks).collect::<Vec<_>>().join(", "),
        false => format!("the annotations [{}]", keys.join(", ")),
    };
    format!("the policy reads {facts}, which was dropped when the cluster's files were read, and {reason}: {RESTART}")
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
    for predicate in next.components() {
        let read = kinds::needed(predicate.module.imports().iter().copied());
        let unread: BTreeSet<Kind> = read.intersection(&new).copied().filter(|kind| missing.contains(kind)).collect();
        if !unread.is_empty() {
            let (name, unread) = (&predicate.name, names(&unread));
            let reason = format!("{name} reads {unread}, which were not listed within {seconds} s: {reasons}");
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
