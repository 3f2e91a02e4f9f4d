//! One reload of what a thread follows: read, taken through the pipeline, noted and told. Start at [`Follower::reload`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attempt_error::AttemptError;
use super::failure::refusal;
use super::follow::{Follow, Follower};
use super::object::AttemptOutcome;
use super::pipeline::{Active, Host, Reading};
use super::rollback::Predecessor;
use super::settle::pull_pause;
use crate::limits::RELOAD_RETRY;
use nodesift_engine::{ActivePolicy, ReloadOutcome, Trial, TrialFault};

impl<H: Host> Follower<H> {
    /// Reads the files once a change of them is whole, and takes what they hold through the pipeline.
    pub(super) fn reload(&mut self) {
        let started = Instant::now();
        let Some(reading) = Reading::new(&self.files, &self.builtins, &self.follow.pulled) else {
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
        let Follow { pulled, host, .. } = &self.follow;
        let attempt = || reading.attempt(&engine, pulled, host, &is_over);
        match catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(Err(AttemptError::Panicked)) {
            Ok(active) => self.tell_active(&source, &before, active, started),
            Err(AttemptError::Over) => {
                tracing::info!(
                    policy = source,
                    "policy not made active: it changes again, or the one before is rolled back"
                );
                // Once more, even if the files are back in the same state by then.
                self.settle.retry(Instant::now());
            }
            Err(error) => self.tell_refused(source, &before, &error, started),
        }
    }

    /// Notes and tells that a policy is active, and keeps the one before for as long as it may be needed.
    fn tell_active(
        &mut self,
        source: &str,
        before: &Arc<ActivePolicy>,
        Active { policy, retired, made, trial, held }: Active<H::Held>,
        started: Instant,
    ) {
        let active = self.follow.engine.policy();
        self.refused.clear();
        let known = self.predecessor.take();
        let held = std::mem::replace(&mut self.held, Arc::new(held));
        self.predecessor = Predecessor::new(known, (Arc::clone(before), Arc::clone(&held)), &active);
        let is_before = self.predecessor.as_ref().is_some_and(|predecessor| predecessor.is(before));
        self.follow.metrics.active(made, active.origin.since);
        self.tell(AttemptOutcome::Active, active.origin.since);
        remark(&trial);
        warn(&active);
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
        self.follow.engine.note_reload(ReloadOutcome::Active, took, swap, Some(trial));
        self.retired.push((retired, held));
        if let Some(folder) = &mut self.follow.state_folder {
            folder.remember(&policy, &active, is_before);
        }
    }

    /// Notes and tells why a policy is refused, and when it is to be tried again.
    fn tell_refused(&mut self, source: String, before: &ActivePolicy, error: &AttemptError, started: Instant) {
        let refusal = refusal(before.generation, source, error);
        let is_known = std::mem::replace(&mut self.refused, refusal.failures.clone()) == refusal.failures;
        self.repeats = if is_known { self.repeats.saturating_add(1) } else { 0 };
        if error.may_be_pulled_later() {
            self.settle.retry(Instant::now() + pull_pause(self.repeats));
        } else if refusal.failures.iter().any(|failure| failure.step == "read") {
            self.settle.retry(Instant::now() + RELOAD_RETRY);
        }
        self.refuse(refusal, is_known);
        self.follow.engine.note_reload(ReloadOutcome::Refused, started.elapsed(), None, None);
    }
}

/// Logs what the predicates of a policy will miss.
fn warn(policy: &ActivePolicy) {
    for warning in policy.warnings() {
        tracing::warn!(policy_generation = policy.generation, "{warning}");
    }
}

/// Logs the pods that the trial names, a few at most: their names are in one line, as their faults are.
fn remark(trial: &Trial) {
    for TrialFault { predicate, pod, fault } in &trial.remarks {
        tracing::warn!(
            predicate = &**predicate,
            %pod,
            %fault,
            "this pod fails in the new policy's trial and is set aside alone"
        );
    }
}

/// Converts a time to milliseconds, for log lines.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
