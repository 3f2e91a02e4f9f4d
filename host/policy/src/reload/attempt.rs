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
use super::steps::Steps;
use crate::kubernetes::{Auto, Table};
use crate::limits::RELOAD_RETRY;
use crate::spec::{ModuleSource, Policy, PolicyText};
use nodesift_engine::{ActivePolicy, KubernetesVersion, ReloadOutcome, Trial, TrialFault, VersionOrigin};

impl<H: Host> Follower<H> {
    /// Reads the files once a change of them is whole, and takes what they hold through the pipeline.
    pub(super) fn reload(&mut self) {
        let (started, mut steps) = (Instant::now(), Steps::default());
        let read = || Reading::new(&self.files, &self.builtins, &self.follow.pulled);
        let Some(reading) = steps.timed("read", read) else {
            self.settle.torn(Instant::now());
            return;
        };
        if reading.is_unended() && !self.settle.unended() {
            return;
        }
        self.files = reading.files.clone();
        self.watches.follow(&self.files);
        let attempted = self.settle.attempted(reading.stamp.clone());
        self.object.clone_from(&reading.object);
        let (engine, source) = (Arc::clone(&self.follow.engine), reading.source.clone());
        let before = engine.policy();
        let is_version_alone = attempted.is_some_and(|attempted| attempted.is_same_but_for_version(&reading.stamp));
        if is_version_alone && self.refused.is_empty() && reading.is(&before) {
            // It names its version, or all that could differ is the same.
            tracing::debug!(policy = source, "the version of the API server changes nothing of the policy");
            return;
        }
        let holds_active = reading.holds(&before);
        let (files, stamp, notice) = (reading.files.clone(), reading.stamp.clone(), Arc::clone(&self.notice));
        let before_is_wanted =
            || self.predecessor.as_ref().is_some_and(|known| known.rollback(&engine.policy()).is_some());
        let is_over = || notice.is_over() || files.stamp() != stamp || before_is_wanted();
        let Follow { pulled, host, .. } = &self.follow;
        let attempt = || reading.attempt(&engine, pulled, host, &is_over, &mut steps);
        match catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(Err(AttemptError::Panicked)) {
            Ok(active) => self.tell_active(&source, &before, active, (started, steps)),
            Err(AttemptError::Over) => {
                tracing::info!(
                    policy = source,
                    "policy not made active: it changes again, or the one before is rolled back"
                );
                // Once more, even if the files are back in the same state by then.
                self.settle.retry(Instant::now());
            }
            Err(error) => {
                // Its own document was refused under this version right now.
                let followed = if holds_active { None } else { self.follow_version() };
                let active = followed.unwrap_or(before);
                self.tell_refused(source, &active, &error, (started, steps));
            }
        }
    }

    /// Notes and tells that a policy is active, and keeps the one before for as long as it may be needed.
    fn tell_active(
        &mut self,
        source: &str,
        before: &Arc<ActivePolicy>,
        Active { policy, retired, made, trial, held }: Active<H::Held>,
        (started, steps): (Instant, Steps),
    ) {
        let active = self.follow.engine.policy();
        self.refused.clear();
        self.not_followed = None;
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
        self.follow.engine.note_reload(ReloadOutcome::Active, took, steps.into_list(), swap, Some(trial));
        self.retired.push((retired, held));
        if let Some(folder) = &mut self.follow.state_folder {
            folder.remember(&policy, &active, is_before);
        }
    }

    /// Notes and tells why a policy is refused, and when it is to be tried again.
    fn tell_refused(
        &mut self,
        source: String,
        active: &ActivePolicy,
        error: &AttemptError,
        (started, steps): (Instant, Steps),
    ) {
        let refusal = refusal(active.generation, source, error);
        let is_known = std::mem::replace(&mut self.refused, refusal.failures.clone()) == refusal.failures;
        self.repeats = if is_known { self.repeats.saturating_add(1) } else { 0 };
        if error.may_be_pulled_later() {
            self.settle.retry(Instant::now() + pull_pause(self.repeats));
        } else if refusal.failures.iter().any(|failure| failure.step == "read") {
            self.settle.retry(Instant::now() + RELOAD_RETRY);
        }
        self.refuse(refusal, is_known);
        let engine = &self.follow.engine;
        engine.note_reload(ReloadOutcome::Refused, started.elapsed(), steps.into_list(), None, None);
    }

    /// Has the active policy follow the version of the server where its source does not hold it: its file is broken, or its object is not
    /// there. Returns it where it is active under another version now.
    pub(super) fn follow_version(&mut self) -> Option<Arc<ActivePolicy>> {
        let engine = Arc::clone(&self.follow.engine);
        let (active, auto) = (engine.policy(), self.follow.server.auto());
        if !is_left_behind(&active.settings.kubernetes, &auto) || self.not_followed.as_ref() == Some(&auto) {
            return None;
        }
        let policy = self.read_active(&active, &auto)?;
        let reading = Reading::from_active(&active, policy, (&self.files, &self.follow.pulled));
        let (files, stamp, notice) = (self.files.clone(), reading.stamp.clone(), Arc::clone(&self.notice));
        let is_over = || notice.is_over() || files.stamp() != stamp;
        let Follow { pulled, host, .. } = &self.follow;
        let mut steps = Steps::default();
        let attempt = || reading.attempt(&engine, pulled, host, &is_over, &mut steps);
        match catch_unwind(AssertUnwindSafe(attempt)).unwrap_or(Err(AttemptError::Panicked)) {
            Ok(Active { retired, held, .. }) => {
                let held = std::mem::replace(&mut self.held, Arc::new(held));
                self.predecessor = None;
                self.retired.push((retired, held));
                let followed = engine.policy();
                let (policy_generation, kubernetes) = (followed.generation, followed.settings.kubernetes.describe());
                tracing::info!(
                    policy_generation,
                    kubernetes,
                    "the active policy follows the version of the API server"
                );
                Some(followed)
            }
            // What has changed is read next.
            Err(AttemptError::Over) => None,
            Err(error) => {
                let kubernetes = active.settings.kubernetes.describe();
                tracing::warn!(%error, kubernetes, "the active policy does not follow the version of the API server");
                self.not_followed = Some(auto);
                None
            }
        }
    }

    /// The active policy under this version: as it is remembered, or where all of its modules are in this program. Where the files of others
    /// are, only its source could say.
    fn read_active(&self, active: &ActivePolicy, auto: &Auto) -> Option<Policy> {
        let remembered = self.follow.state_folder.as_ref().map(|folder| folder.recall(&self.builtins, auto));
        if let Some(Ok(Some(remembered))) = remembered
            && *remembered.document == *active.origin.document
            && !is_left_behind(&remembered.policy.settings.kubernetes, auto)
        {
            return Some(remembered.policy);
        }
        let text = PolicyText::built_in(&active.origin.source, &active.origin.document).under(auto.clone());
        // Where it is invalid under this version, the refusal of its source or the warning about its version says so.
        let policy = text.policy(&self.builtins).ok()?;
        let is_built_in = policy.modules().all(|named| *named.module == ModuleSource::Builtin);
        is_built_in.then_some(policy)
    }
}

/// Whether a policy follows the server, and is of another version than that has told.
fn is_left_behind(kubernetes: &KubernetesVersion, auto: &Auto) -> bool {
    let follows = match &kubernetes.origin {
        VersionOrigin::ServerUnknown | VersionOrigin::Server { .. } | VersionOrigin::NearestToServer { .. } => true,
        VersionOrigin::Newest | VersionOrigin::Policy | VersionOrigin::Argument => false,
    };
    let (version, origin) = auto.version(Table::built_in());
    follows && (*kubernetes.version != *version.to_string() || kubernetes.origin != origin)
}

/// Logs what the predicates of a policy will miss.
fn warn(policy: &ActivePolicy) {
    for warning in policy.warnings() {
        tracing::warn!(policy_generation = policy.generation, "{warning}");
    }
}

/// Logs the pods that the trial names, a few at most: their names are in one line, as their faults are.
fn remark(trial: &Trial) {
    for remark in &trial.remarks {
        let TrialFault { predicate, pod, fault, .. } = remark;
        tracing::warn!(
            predicate = &**predicate,
            role = remark.role(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::Release;

    #[test]
    fn a_policy_is_left_behind_where_it_follows_a_server_that_is_another_release_now() {
        let server = |minor| {
            let git_version = format!("v1.{minor}.0").into();
            Auto::Server(Release { minor: crate::kubernetes::MinorVersion { major: 1, minor }, git_version })
        };
        let under = |auto: &Auto| {
            let (version, origin) = auto.version(Table::built_in());
            KubernetesVersion { version: version.to_string().into(), origin, ..KubernetesVersion::default() }
        };
        for before in [Auto::ServerUnknown, server(36), server(99)] {
            assert!(is_left_behind(&under(&before), &server(35)), "{before:?}");
            assert!(!is_left_behind(&under(&before), &before), "{before:?}");
        }
        // The newest version, which was guessed, is that of the server.
        assert!(is_left_behind(&under(&Auto::ServerUnknown), &server(37)));
        for named in [VersionOrigin::Policy, VersionOrigin::Argument, VersionOrigin::Newest] {
            assert!(!is_left_behind(&KubernetesVersion { origin: named, ..under(&server(36)) }, &server(35)));
        }
    }
}
