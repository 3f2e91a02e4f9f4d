//! The thread that follows the files of a policy, or its object. Start at [`start`].

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime};

use super::metrics::Metrics;
use super::notice::Notice;
use super::object::{AttemptOutcome, ObjectId};
use super::pipeline::{self, Host, Reading};
use super::rollback::Predecessor;
use super::settle::{Next, Settle};
use super::source::Source;
use super::stamp::{Files, Stamp};
use super::told::Told;
use super::watches::Watches;
use crate::kubernetes::{Auto, ServerVersion};
use crate::limits::{QUARANTINE_LOOK, RELOAD_DRAIN_LOOK, RELOAD_LOOK, ROLLBACK_LOOK};
use crate::pulled::PulledFolder;
use crate::remembered::StateFolder;
use nodesift_engine::{Engine, Refusal, ReloadOutcome, Retired, StepFailure};

/// Configuration of the thread that follows a policy.
pub struct Follow<H> {
    /// Engine in which new policies become active.
    pub engine: Arc<Engine>,
    /// The policy's file, folder or object.
    pub source: Source,
    /// The source of the version of Kubernetes where the policy follows the cluster.
    pub server: ServerVersion,
    /// Work of this process for the policies that become active.
    pub host: H,
    /// Where reloads are counted.
    pub metrics: Metrics,
    /// Where modules of registries are.
    pub pulled: PulledFolder,
    /// Where the last good policy is remembered.
    pub state_folder: Option<StateFolder>,
}

impl<H> fmt::Debug for Follow<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("source", &self.source).finish_non_exhaustive()
    }
}

/// A policy that is followed until this is dropped. A reload that runs then is not waited for.
#[derive(Debug)]
#[must_use = "dropping it ends all reloads"]
pub struct Following {
    notice: Arc<Notice>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.notice.end();
    }
}

/// Follows a policy on a thread of its own. Changes are noticed from when this returns. `held` is what the active policy has of this
/// process.
///
/// # Errors
///
/// Where the system starts no thread.
pub fn start<H: Host>(follow: Follow<H>, held: H::Held) -> std::io::Result<Following> {
    let notice = follow.source.notice();
    // Not on the thread: that a file is open for writing is noticed from its first write on, or never.
    let follower = Follower::new(follow, held, Arc::clone(&notice));
    thread::Builder::new().name("policy".to_owned()).spawn(move || follower.run())?;
    Ok(Following { notice })
}

/// The state of the thread.
pub(super) struct Follower<H: Host> {
    pub(super) follow: Follow<H>,
    /// Resources of this process for the active policy.
    pub(super) held: Arc<H::Held>,
    pub(super) notice: Arc<Notice>,
    /// Wakes the thread where the version of the server has changed.
    _wake: Arc<dyn Fn() + Send + Sync>,
    pub(super) watches: Watches,
    pub(super) files: Files,
    pub(super) settle: Settle<Stamp>,
    pub(super) builtins: Vec<&'static str>,
    /// The policy before, where the active one may be rolled back to it.
    pub(super) predecessor: Option<Predecessor<H::Held>>,
    /// Failures of the last attempt, if it was refused.
    pub(super) refused: Vec<StepFailure>,
    /// How many attempts before were refused for the same reason.
    pub(super) repeats: u32,
    /// The version under which the active policy could not be read again, where its source does not hold it.
    pub(super) not_followed: Option<Auto>,
    /// The state of the object that was attempted last.
    pub(super) object: Option<ObjectId>,
    /// Reports about the object's states that were made so far.
    told: Told,
    /// Warnings about the cluster that were logged last.
    of_cluster: Vec<String>,
    /// Replaced policies that requests may still use, and what is held for them. They are freed here, which delays no request.
    pub(super) retired: Vec<(Retired, Arc<H::Held>)>,
}

impl<H: Host> Follower<H> {
    fn new(mut follow: Follow<H>, held: H::Held, notice: Arc<Notice>) -> Self {
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let woken = Arc::clone(&notice);
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || woken.wake());
        follow.server.wake(&wake);
        let mut watches = Watches::new(&notice);
        let mut files = Files::new(&follow.source, &follow.server);
        watches.follow(&files);
        // The start has read the files before. What has changed since then is a change like any other.
        let reading = Reading::new(&files, &builtins, &follow.pulled);
        let current = reading.filter(|reading| reading.is(&follow.engine.policy()));
        let object = current.as_ref().and_then(|reading| reading.object.clone());
        let settle = Settle::new(current.map(|reading| {
            if let (Some(folder), Some(policy)) = (&mut follow.state_folder, reading.policy()) {
                folder.remember(policy, &follow.engine.policy(), false);
            }
            files = reading.files;
            reading.stamp
        }));
        watches.follow(&files);
        let (predecessor, refused, repeats, retired) = (None, Vec::new(), 0, Vec::new());
        let told = Told::default();
        let mut follower = Self {
            follow,
            held: Arc::new(held),
            notice,
            _wake: wake,
            watches,
            files,
            settle,
            builtins,
            predecessor,
            refused,
            repeats,
            not_followed: None,
            object,
            told,
            of_cluster: Vec::new(),
            retired,
        };
        let since = follower.follow.engine.policy().origin.since;
        follower.tell(AttemptOutcome::Active, since);
        follower
    }

    /// Tells what became of the object that was attempted last.
    pub(super) fn tell(&mut self, outcome: AttemptOutcome, at: SystemTime) {
        let object = (&self.follow.source, self.object.as_ref());
        let policy = self.follow.engine.policy();
        self.told.tell(object, (&*policy, &*self.of_cluster), outcome, at);
    }

    /// Looks what of the cluster the parties of the policy miss, and logs what is new.
    fn look_at_cluster(&mut self) {
        let policy = self.follow.engine.policy();
        let found = policy.cluster_warnings(&self.follow.engine.snapshot());
        for warning in found.iter().filter(|found| !self.of_cluster.contains(found)) {
            tracing::warn!(policy_generation = policy.generation, "{warning}");
        }
        self.follow.engine.note_cluster_warnings(&policy, found.clone());
        self.of_cluster = found;
    }

    fn run(mut self) {
        let mut look = Instant::now() + RELOAD_LOOK;
        loop {
            let now = Instant::now();
            if now >= look {
                // A folder that was removed and is there again needs a new watch.
                self.watches.follow(&self.files);
                if self.follow.host.sees_cluster() {
                    self.look_at_cluster();
                }
                look = now + RELOAD_LOOK;
            }
            let wake = match self.settle.look(now, self.files.stamp(), self.notice.is_open()) {
                Next::Rest => look,
                Next::Look(at) => at.min(look),
                Next::Read => {
                    self.reload();
                    now
                }
            };
            self.roll_back();
            self.told.look(&self.follow.source, &self.follow.engine.policy(), &self.of_cluster, now);
            self.retired.retain(|(retired, _)| {
                let is_drained = retired.is_drained();
                if is_drained {
                    tracing::debug!(policy_generation = retired.generation(), "the replaced policy is drained");
                }
                !is_drained
            });
            let wake = if self.retired.is_empty() { wake } else { wake.min(now + RELOAD_DRAIN_LOOK) };
            let wake = if self.predecessor.is_none() { wake } else { wake.min(now + ROLLBACK_LOOK) };
            let wake = if self.told.is_any() { wake.min(now + QUARANTINE_LOOK) } else { wake };
            if !self.notice.wait(wake) {
                return;
            }
        }
    }

    /// Goes back to the policy before, if the active one has brought a predicate that is in quarantine now.
    fn roll_back(&mut self) {
        let Some(rollback) = self.predecessor.as_ref().and_then(|before| before.rollback(&self.follow.engine.policy()))
        else {
            return;
        };
        self.predecessor = None;
        let (engine, started) = (Arc::clone(&self.follow.engine), Instant::now());
        let retired = pipeline::replace(&engine, rollback.policy, &self.follow.host);
        let held = std::mem::replace(&mut self.held, rollback.held);
        let generation = engine.policy().generation;
        tracing::warn!(
            policy_generation = generation,
            from_generation = retired.generation(),
            predicate = rollback.refusal.failures.first().and_then(|failure| failure.predicate.as_deref()),
            reason = %rollback.refusal,
            "policy rolled back: the one before is active again"
        );
        let refusal = Refusal { generation, ..rollback.refusal };
        let at = engine.note_refusal(refusal.clone());
        engine.note_reload(ReloadOutcome::RolledBack, started.elapsed(), Vec::new(), Some(retired.swap()), None);
        self.follow.metrics.rolled_back(at);
        self.tell(AttemptOutcome::Refused(refusal), at);
        self.retired.push((retired, held));
        if let Some(folder) = &mut self.follow.state_folder {
            folder.roll_back();
        }
        // The server may have told another version since it was active.
        self.not_followed = None;
        let _followed = self.follow_version();
    }

    /// Notes a refusal. One that is known from the attempt before is not logged again.
    pub(super) fn refuse(&mut self, refusal: Refusal, is_known: bool) {
        if is_known {
            tracing::debug!(reason = %refusal, "policy refused for the same reason as before");
            let at = self.follow.engine.note_refusal(refusal.clone());
            self.follow.metrics.refused(at);
            // Files that cannot be read are tried again and again.
            if !self.told.is_about(self.object.as_ref()) {
                self.tell(AttemptOutcome::Refused(refusal), at);
            }
            return;
        }
        let first = refusal.failures.first();
        tracing::warn!(
            policy_generation = refusal.generation,
            policy = refusal.source,
            step = first.map_or("", |failure| failure.step),
            predicate = first.and_then(|failure| failure.predicate.as_deref()),
            reason = %refusal,
            "policy refused: the one before stays active"
        );
        let at = self.follow.engine.note_refusal(refusal.clone());
        self.follow.metrics.refused(at);
        self.tell(AttemptOutcome::Refused(refusal), at);
    }
}
