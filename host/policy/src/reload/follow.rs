//! The thread that follows the files of a policy, or its object. Start at [`start`].

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime};

use super::attempt::{self, Active, AttemptError, Prepare, Prepared, Reading, Recount, milliseconds};
use super::failure::refusal;
use super::metrics::Metrics;
use super::notice::Notice;
use super::object::{AttemptOutcome, ObjectId};
use super::rollback::Predecessor;
use super::settle::{Next, Settle, pull_pause};
use super::source::Source;
use super::stamp::{Files, Stamp};
use super::told::Told;
use super::watches::Watches;
use crate::limits::{QUARANTINE_LOOK, RELOAD_DRAIN_LOOK, RELOAD_LOOK, RELOAD_RETRY, ROLLBACK_LOOK};
use crate::pulled::PulledFolder;
use crate::remembered::StateFolder;
use nodesift_engine::{Engine, Refusal, ReloadOutcome, Retired, StepFailure};

/// Configuration of the thread that follows a policy.
pub struct Follow {
    /// Engine in which new policies become active.
    pub engine: Arc<Engine>,
    /// The policy's file, folder or object.
    pub source: Source,
    /// Makes this process ready for the next policy.
    pub prepare: Box<dyn Prepare>,
    /// Resources of this process for the active policy.
    pub prepared: Arc<dyn Prepared>,
    /// Counts pods anew, where another policy names other schedulers or accounts otherwise.
    pub recount: Box<Recount>,
    /// Where reloads are counted.
    pub metrics: Metrics,
    /// Where modules of registries are.
    pub pulled: PulledFolder,
    /// Where the last good policy is remembered.
    pub state_folder: Option<StateFolder>,
}

impl fmt::Debug for Follow {
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

/// Follows a policy on a thread of its own. Changes are noticed from when this returns.
///
/// # Errors
///
/// Where the system starts no thread.
pub fn start(follow: Follow) -> std::io::Result<Following> {
    let notice = follow.source.notice();
    // Not on the thread: that a file is open for writing is noticed from its first write on, or never.
    let follower = Follower::new(follow, Arc::clone(&notice));
    thread::Builder::new().name("policy".to_owned()).spawn(move || follower.run())?;
    Ok(Following { notice })
}

/// The state of the thread.
struct Follower {
    follow: Follow,
    notice: Arc<Notice>,
    watches: Watches,
    files: Files,
    settle: Settle<Stamp>,
    builtins: Vec<&'static str>,
    /// The policy before, where the active one may be rolled back to it.
    predecessor: Option<Predecessor>,
    /// Failures of the last attempt, if it was refused.
    refused: Vec<StepFailure>,
    /// How many attempts before were refused for the same reason.
    repeats: u32,
    /// The state of the object that was attempted last.
    object: Option<ObjectId>,
    /// Reports about the object's states that were made so far.
    told: Told,
    /// Replaced policies that requests may still use, and what was ready for them. They are freed here, which delays no request.
    retired: Vec<(Retired, Arc<dyn Prepared>)>,
}

impl Follower {
    fn new(mut follow: Follow, notice: Arc<Notice>) -> Self {
        let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
        let mut watches = Watches::new(&notice);
        let mut files = Files::new(&follow.source);
        watches.follow(&files);
        // The start has read the files before. What has changed since then is a change like any other.
        let reading = Reading::of(&files, &builtins, &follow.pulled);
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
            notice,
            watches,
            files,
            settle,
            builtins,
            predecessor,
            refused,
            repeats,
            object,
            told,
            retired,
        };
        let since = follower.follow.engine.policy().origin.since;
        follower.tell(AttemptOutcome::Active, since);
        follower
    }

    /// Tells what became of the object that was attempted last.
    fn tell(&mut self, outcome: AttemptOutcome, at: SystemTime) {
        let object = (&self.follow.source, self.object.as_ref());
        self.told.tell(object, &self.follow.engine.policy(), outcome, at);
    }

    fn run(mut self) {
        let mut look = Instant::now() + RELOAD_LOOK;
        loop {
            let now = Instant::now();
            if now >= look {
                // A folder that was removed and is there again needs a new watch.
                self.watches.follow(&self.files);
                look = now + RELOAD_LOOK;
            }
            let wake = match self.settle.look(now, self.files.stamp(), self.notice.is_open()) {
                Next::Rest => look,
                Next::Look(at) => at.min(look),
                Next::Read => {
                    self.read();
                    now
                }
            };
            self.roll_back();
            self.told.look(&self.follow.source, &self.follow.engine.policy(), now);
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

    /// Reads the files, and loads what they hold.
    fn read(&mut self) {
        let started = Instant::now();
        let Some(reading) = Reading::of(&self.files, &self.builtins, &self.follow.pulled) else {
            self.settle.torn(Instant::now());
            return;
        };
        if reading.is_unended() && !self.settle.unended() {
            return;
        }
        self.files = reading.files.clone();
        self.watches.follow(&self.files);
        self.settle.attempted(reading.stamp.clone());
        self.object.clone_from(&reading.object);
        let (engine, source) = (Arc::clone(&self.follow.engine), reading.source.clone());
        let before = engine.policy();
        let (files, stamp, notice) = (reading.files.clone(), reading.stamp.clone(), Arc::clone(&self.notice));
        let before_is_wanted =
            || self.predecessor.as_ref().is_some_and(|known| known.rollback(&engine.policy()).is_some());
        let is_over = || notice.is_over() || files.stamp() != stamp || before_is_wanted();
        let Follow { pulled, prepare, recount, .. } = &self.follow;
        let attempt = || reading.activate(&engine, pulled, &**prepare, &**recount, &is_over);
        match catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(Err(AttemptError::Panicked)) {
            Ok(Active { policy, retired, made, trial, prepared }) => {
                let active = engine.policy();
                self.refused.clear();
                let known = self.predecessor.take();
                let prepared = std::mem::replace(&mut self.follow.prepared, prepared);
                self.predecessor = Predecessor::of(known, (Arc::clone(&before), Arc::clone(&prepared)), &active);
                let is_before = self.predecessor.as_ref().is_some_and(|predecessor| predecessor.is(&before));
                self.follow.metrics.active(made, active.origin.since);
                self.tell(AttemptOutcome::Active, active.origin.since);
                attempt::remark(&trial);
                attempt::warn(&active);
                tracing::info!(
                    policy_generation = active.generation,
                    policy = source,
                    kept = made.kept,
                    relinked = made.relinked,
                    compiled = made.compiled,
                    tried_pods = trial.pods,
                    tried_nodes = trial.nodes,
                    cut = trial.is_cut.then_some(true),
                    ms = milliseconds(started.elapsed()),
                    swap_us = u64::try_from(retired.swap().as_micros()).unwrap_or(u64::MAX),
                    "policy reloaded"
                );
                let (took, swap) = (started.elapsed(), Some(retired.swap()));
                engine.note_reload(ReloadOutcome::Active, took, swap, Some(trial));
                self.retired.push((retired, prepared));
                if let Some(folder) = &mut self.follow.state_folder {
                    folder.remember(&policy, &active, is_before);
                }
            }
            Err(AttemptError::Over) => {
                tracing::info!(
                    policy = source,
                    "policy not made active: it changes again, or the one before is rolled back"
                );
                // Once more, even if the files are back in the same state by then.
                self.settle.retry(Instant::now());
            }
            Err(error) => {
                let refusal = refusal(before.generation, source, &error);
                let is_known = std::mem::replace(&mut self.refused, refusal.failures.clone()) == refusal.failures;
                self.repeats = if is_known { self.repeats.saturating_add(1) } else { 0 };
                if error.may_be_pulled_later() {
                    self.settle.retry(Instant::now() + pull_pause(self.repeats));
                } else if refusal.failures.iter().any(|failure| failure.step == "read") {
                    self.settle.retry(Instant::now() + RELOAD_RETRY);
                }
                self.refuse(refusal, is_known);
                engine.note_reload(ReloadOutcome::Refused, started.elapsed(), None, None);
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
        let (engine, started) = (&self.follow.engine, Instant::now());
        let retired = attempt::replace(engine, rollback.policy, &*self.follow.recount);
        let prepared = std::mem::replace(&mut self.follow.prepared, rollback.prepared);
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
        engine.note_reload(ReloadOutcome::RolledBack, started.elapsed(), Some(retired.swap()), None);
        self.follow.metrics.rolled_back(at);
        self.tell(AttemptOutcome::Refused(refusal), at);
        self.retired.push((retired, prepared));
        if let Some(folder) = &mut self.follow.state_folder {
            folder.roll_back();
        }
    }

    /// Notes a refusal. One that is known from the attempt before is not logged again.
    fn refuse(&mut self, refusal: Refusal, is_known: bool) {
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
