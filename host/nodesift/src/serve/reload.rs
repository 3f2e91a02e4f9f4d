//! The policy's files are followed while serving: what a reload does beyond the engine, and which policies a running process
//! cannot change to. Start at [`follow`].

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use nodesift_api::Readiness;
use nodesift_cache::SharedWriter;
use nodesift_engine::{ActivePolicy, Engine};
use nodesift_object::Kind;
use nodesift_policy::reload::{self, Follow, Following, Metrics, Unacceptable};
use nodesift_policy::remembered::StateFolder;
use nodesift_policy::shadow::{self, Beside, ShadowError};
use nodesift_source::kube::kinds::{self, Resource};
use prometheus_client::registry::Registry;

/// What is named on the command line.
pub(super) struct Files<'a> {
    /// The policy's file or folder.
    pub(super) policy: Option<&'a Path>,
    /// The folder that remembers the last good one.
    pub(super) state: Option<&'a Path>,
}

/// Follows the policy's file or folder, if there is one. `watched` are the kinds that are watched; none where the cluster does
/// not come from a watch, and all kinds are there.
///
/// # Errors
///
/// Where the system starts no thread.
pub(super) fn follow(
    files: &Files<'_>,
    (engine, writer): (&Arc<Engine>, &SharedWriter),
    watched: Option<BTreeSet<Kind>>,
    readiness: &Readiness,
    registry: &mut Registry,
) -> std::io::Result<Option<Following>> {
    let metrics = Metrics::register(engine, registry);
    let Some(path) = files.policy else { return Ok(None) };
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
    let accept = Box::new(move |active: &ActivePolicy, next: &ActivePolicy| accept(watched.as_ref(), active, next));
    let state_folder = files.state.map(StateFolder::new);
    let writer = Arc::clone(writer);
    let recount = Box::new(move |own_schedulers: &[String]| {
        let mut writer = writer.lock();
        let changed = writer.recount_ownership(own_schedulers);
        writer.publish();
        tracing::info!(pods = changed, "pods of other schedulers are foreign now");
    });
    let engine = Arc::clone(engine);
    let follow = Follow { engine, path: path.to_owned(), accept, recount, metrics, state_folder };
    reload::start(follow).map(Some)
}

/// Evaluates shadow predicates, and a second policy if there is one, beside the active policy.
///
/// # Errors
///
/// If the second policy is invalid, or cannot be evaluated on what is read of the cluster.
pub(super) fn shadow(
    second: Option<&Path>,
    engine: &Arc<Engine>,
    watched: Option<BTreeSet<Kind>>,
) -> Result<(), ShadowError> {
    let accept = Box::new(move |active: &ActivePolicy, next: &ActivePolicy| {
        accept_beside(active, next)?;
        accept(watched.as_ref(), active, next)
    });
    shadow::start(Beside { engine: Arc::clone(engine), second: second.map(Path::to_owned), accept })
}

/// Pods are foreign by the active policy, on whose snapshots the second one is evaluated.
fn accept_beside(active: &ActivePolicy, next: &ActivePolicy) -> Result<(), Unacceptable> {
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    if sorted(&active.scheduler_names) == sorted(&next.scheduler_names) {
        return Ok(());
    }
    let (before, after) = (active.scheduler_names.join(", "), next.scheduler_names.join(", "));
    let reason = format!(
        "spec.schedulerNames are [{after}], and [{before}] in the active policy: other pods would be foreign, which cannot be \
         compared on one snapshot"
    );
    Err(Unacceptable { predicate: None, reason })
}

/// Objects are compiled when they are read, by the annotation keys of the policy of that time, and only kinds that its predicates import are read.
fn accept(watched: Option<&BTreeSet<Kind>>, active: &ActivePolicy, next: &ActivePolicy) -> Result<(), Unacceptable> {
    const RESTART: &str = "this takes a restart";
    let whole = |reason: String| Unacceptable { predicate: None, reason };
    if active.annotation_keys != next.annotation_keys {
        let (before, after) = (active.annotation_keys.join(", "), next.annotation_keys.join(", "));
        let reason = "and other annotations have been dropped";
        return Err(whole(format!("spec.facts.annotations changes from [{before}] to [{after}], {reason}: {RESTART}")));
    }
    let Some(watched) = watched else { return Ok(()) };
    for predicate in &next.predicates {
        let needed = kinds::needed(predicate.module.imports().iter().copied());
        let missing: Vec<&str> = needed.difference(watched).map(|kind| Resource::of(*kind).plural).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let reason = format!("predicate {} reads {missing}, which are not watched: {RESTART}", predicate.name);
            return Err(Unacceptable { predicate: Some(predicate.name.to_string()), reason });
        }
    }
    Ok(())
}
