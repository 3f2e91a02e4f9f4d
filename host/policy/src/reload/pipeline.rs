//! One reload, as a pipeline: read → activate → prepare → trial → recount → commit → told. The host does three of these steps, as a
//! [`Host`]; a step that fails ends the reload, and leaves the active policy in its place.
//!
//! Files are read first, and their state is compared before and after: what is compiled is what was there at one moment. Start
//! at [`Follower::reload`].

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::failure::refusal;
use super::follow::{Follow, Follower};
use super::object::{AttemptOutcome, ObjectId};
use super::rollback::Predecessor;
use super::settle::pull_pause;
use super::stamp::{Files, Stamp};
use crate::activate::{ActivateError, ActivateErrors, Activated, Activation, Digest, Made, Module, sound_part};
use crate::limits::RELOAD_RETRY;
use crate::pulled::PulledFolder;
use crate::spec::{ModuleSource, Policy, PolicyError, PolicyText};
use nodesift_engine::{ActivePolicy, Engine, ReloadOutcome, Retired, Trial, TrialFault};

/// Work of this process for the policies that become active: what is read of the cluster follows from the policy, and so does how pods
/// count.
pub trait Host: Send + 'static {
    /// Resources of this process for one policy. They are held for as long as a request can use the policy, or it can be gone back to;
    /// dropping them undoes what no other policy needs.
    type Held: fmt::Debug + Send + Sync;

    /// Makes ready for `next` while `active` serves. May wait; ends soon once the attempt `is_over`.
    ///
    /// # Errors
    ///
    /// [`Unprepared`]. Then everything is as it was.
    fn prepare(
        &self,
        active: &ActivePolicy,
        next: &ActivePolicy,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self::Held, Unprepared>;

    /// Counts pods as `next` says, where `before` was active: which are foreign, and what they take. All of it is published at once. It
    /// is called where the two differ in that.
    fn recount(&self, before: &ActivePolicy, next: &ActivePolicy);

    /// A reload has made the policy active that these resources are held for.
    fn commit(&self, held: &Self::Held);
}

/// Why this process is not ready for a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unprepared {
    /// It cannot serve the policy.
    Unacceptable(Unacceptable),
    /// The attempt is over: the files have changed again, the active policy is to be rolled back, or the process ends.
    Over,
}

/// Why this process cannot serve a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unacceptable {
    /// The predicate; none where it is the policy as a whole.
    pub predicate: Option<String>,
    /// Human-readable reason, such as kinds that are not watched.
    pub reason: String,
}

/// Why a reload has not made its policy active.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttemptError {
    /// The document cannot be read, or is invalid; with the errors of the modules of its other predicates.
    #[error("{0}")]
    Document(PolicyError, Option<ActivateErrors>),
    /// Modules cannot be read or loaded.
    #[error("{0}")]
    Modules(ActivateErrors),
    /// This process cannot serve the policy.
    #[error(transparent)]
    Follow(Unacceptable),
    /// It was not to be waited for any longer.
    #[error("the attempt was given up for something newer")]
    Over,
    /// A predicate faults on the cluster.
    #[error(transparent)]
    Trial(#[from] TrialFault),
    /// A defect of this program.
    #[error("the reload panicked; please report this")]
    Panicked,
}

/// Document of a policy as read at one moment, with the digests of its modules.
pub(super) struct Reading {
    /// The document and the modules that it names.
    pub(super) files: Files,
    /// State of these files when they were read.
    pub(super) stamp: Stamp,
    /// The document's file or folder, or what messages call its object.
    pub(super) source: String,
    /// Which state of an object the document is.
    pub(super) object: Option<ObjectId>,
    text: Result<PolicyText, PolicyError>,
    policy: Option<Result<Policy, PolicyError>>,
    /// None for a module that is not here yet.
    digests: Option<Result<Vec<Option<Digest>>, ActivateErrors>>,
}

/// A policy that has become active.
struct Active<T> {
    /// Checked policy, as read from the document.
    policy: Policy,
    retired: Retired,
    made: Made,
    trial: Trial,
    held: T,
}

impl From<Unprepared> for AttemptError {
    fn from(why: Unprepared) -> Self {
        match why {
            Unprepared::Unacceptable(error) => Self::Follow(error),
            Unprepared::Over => Self::Over,
        }
    }
}

impl AttemptError {
    /// Whether the same document may be taken later, because modules could not be pulled.
    fn may_be_pulled_later(&self) -> bool {
        match self {
            Self::Modules(errors) | Self::Document(_, Some(errors)) => {
                errors.all().any(ActivateError::may_be_pulled_later)
            }
            _ => false,
        }
    }
}

impl Reading {
    /// Reads the document, and the digests of the modules that it names. `None` where files change meanwhile.
    pub(super) fn new(files: &Files, builtins: &[&str], pulled: &PulledFolder) -> Option<Self> {
        let before = Files::new(&files.root).stamp();
        let (text, object) = files.root.text();
        let policy = text.as_ref().ok().map(|text| text.policy(builtins));
        let files = match &policy {
            Some(Ok(policy)) => files.with_policy(policy),
            Some(Err(PolicyError::Invalid { rest, .. })) => files.with_policy(rest),
            // What the document before named is followed further.
            _ => files.clone(),
        };
        let stamp = files.stamp();
        let digests = match &policy {
            Some(Ok(policy)) => Some(digests(policy, pulled)),
            _ => None,
        };
        if Files::new(&files.root).stamp() != before || files.stamp() != stamp {
            return None;
        }
        let source = text.as_ref().map_or_else(|_| files.root.to_string(), |text| text.path.display().to_string());
        Some(Self { files, stamp, source, object, text, policy, digests })
    }

    /// Whether the document ends in the middle of a line, and means something all the same.
    pub(super) fn is_unended(&self) -> bool {
        matches!(self.policy, Some(Ok(_))) && self.text.as_ref().is_ok_and(PolicyText::is_unended)
    }

    /// Whether this is the active policy.
    pub(super) fn is(&self, active: &ActivePolicy) -> bool {
        let is_same_text = self.text.as_ref().is_ok_and(|text| *text.text == *active.origin.document);
        let accounting = active.accounting.iter().map(|accounting| Some(accounting.settings().digest));
        let loaded = active.predicates.iter().map(|predicate| Some(predicate.digest)).chain(accounting);
        is_same_text && matches!(&self.digests, Some(Ok(digests)) if digests.iter().copied().eq(loaded))
    }

    /// Whether a registry decides too what the policy is.
    pub(super) fn names_registries(&self) -> bool {
        let is_remote = |policy: &Policy| policy.modules().any(|spec| matches!(spec.module, ModuleSource::Registry(_)));
        self.policy().is_some_and(is_remote)
    }

    /// The policy, where the document is valid.
    pub(super) fn policy(&self) -> Option<&Policy> {
        self.policy.as_ref()?.as_ref().ok()
    }

    /// Activates the policy: its modules are loaded, and nothing uses them yet.
    fn activate(
        self,
        active: &ActivePolicy,
        engine: &Engine,
        pulled: &PulledFolder,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Policy, Activated), AttemptError> {
        let activation = Activation { active: Some(active), is_over, ..Activation::new(engine.runtime(), pulled) };
        let text = self.text.map_err(|error| AttemptError::Document(error, None))?;
        let policy = match self.policy {
            Some(Ok(policy)) => policy,
            Some(Err(error)) => {
                let PolicyError::Invalid { problems, rest, .. } = &error else {
                    return Err(AttemptError::Document(error, None));
                };
                let modules = activation.activate(&sound_part(problems, rest)).err();
                return Err(AttemptError::Document(error, modules));
            }
            None => return Err(AttemptError::Panicked),
        };
        // Errors of reading are reported with those of loading, of all predicates at once.
        let digests = self.digests.and_then(Result::ok).unwrap_or_default();
        let activation = Activation { digests: &digests, ..activation };
        let mut activated = activation.activate(&policy).map_err(|errors| {
            let is_over = errors.all().any(ActivateError::is_over);
            if is_over { AttemptError::Over } else { AttemptError::Modules(errors) }
        })?;
        activated.policy.origin.document = Arc::from(text.text);
        Ok((policy, activated))
    }

    /// Takes the document through all steps that can refuse it, and makes its policy active. The attempt ends early once it `is_over`.
    fn attempt<H: Host>(
        self,
        engine: &Engine,
        pulled: &PulledFolder,
        host: &H,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Active<H::Held>, AttemptError> {
        let active = engine.policy();
        let (policy, Activated { policy: next, made }) = self.activate(&active, engine, pulled, is_over)?;
        let held = host.prepare(&active, &next, is_over)?;
        let trial = engine.try_policy(&next)?;
        let retired = replace(engine, next, host);
        host.commit(&held);
        Ok(Active { policy, retired, made, trial, held })
    }
}

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

/// Makes a policy active. Where it names other schedulers than the active one, pods change sides with it; where it accounts otherwise,
/// they take something else.
pub(super) fn replace(engine: &Engine, next: ActivePolicy, host: &impl Host) -> Retired {
    let sorted = |policy: &ActivePolicy| policy.scheduler_names.iter().cloned().collect::<BTreeSet<_>>();
    let before = engine.policy();
    if sorted(&before) == sorted(&next) && before.accounts_as(&next) {
        return engine.replace_policy(next);
    }
    let counting = next.clone();
    engine.replace_policy_and_recount(next, &mut || host.recount(&before, &counting))
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

/// The digests of all modules; each is read, and no two are in memory at once.
fn digests(policy: &Policy, pulled: &PulledFolder) -> Result<Vec<Option<Digest>>, ActivateErrors> {
    let digest = |spec| match Module::read(spec, pulled) {
        Err(error) if error.is_not_here() => Ok(None),
        module => Ok(Some(module?.digest)),
    };
    policy.modules().map(|spec| digest(spec).map_err(|error| ActivateErrors::new(policy, spec, error))).collect()
}

/// Converts a time to milliseconds, for log lines.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
