//! One reload: the files are read and verified, their predicates loaded and tried, and the policy made active.
//!
//! Files are read first, and their state is compared before and after: what is compiled is what was there at one moment. Start
//! at [`Reading::of`], then [`Reading::activate`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::object::ObjectId;
use super::stamp::{Files, Stamp};
use crate::activate::{ActivateError, ActivateErrors, Activated, Activation, Digest, Made, Module, sound_part};
use crate::pulled::PulledFolder;
use crate::spec::{ModuleSource, Policy, PolicyError, PolicyText};
use nodesift_engine::{ActivePolicy, Engine, Retired, Trial, TrialFault};

/// Makes this process ready for a policy: what is read of the cluster follows from the policy.
pub trait Prepare: Send {
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
    ) -> Result<Arc<dyn Prepared>, Unprepared>;
}

/// Resources of this process for one policy. Held for as long as a request can use the policy, or it can be gone back to; dropping it
/// undoes what no other policy needs.
pub trait Prepared: fmt::Debug + Send + Sync {
    /// The policy is active.
    fn commit(&self);
}

/// Why this process is not ready for a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unprepared {
    /// It cannot serve the policy.
    Unacceptable(Unacceptable),
    /// The attempt is over: the files have changed again, the active policy is to be rolled back, or the process ends.
    Over,
}

/// Counts pods as the second policy says, where the first one was active: which are foreign, and what they take. All of it is published at
/// once.
pub type Recount = dyn Fn(&ActivePolicy, &ActivePolicy) + Send;

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
    Trial(TrialFault),
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
pub(super) struct Active {
    /// Checked policy, as read from the document.
    pub(super) policy: Policy,
    pub(super) retired: Retired,
    pub(super) made: Made,
    pub(super) trial: Trial,
    pub(super) prepared: Arc<dyn Prepared>,
}

impl AttemptError {
    /// Whether the same document may be taken later, because modules could not be pulled.
    pub(super) fn may_be_pulled_later(&self) -> bool {
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
    pub(super) fn of(files: &Files, builtins: &[&str], pulled: &PulledFolder) -> Option<Self> {
        let before = Files::new(&files.root).stamp();
        let (text, object) = files.root.text();
        let policy = text.as_ref().ok().map(|text| text.policy(builtins));
        let files = match &policy {
            Some(Ok(policy)) => files.of(policy),
            Some(Err(PolicyError::Invalid { rest, .. })) => files.of(rest),
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

    /// Loads the policy, makes this process ready for it, tries it, and makes it active. The attempt ends early once it `is_over`.
    pub(super) fn activate(
        self,
        engine: &Engine,
        pulled: &PulledFolder,
        prepare: &dyn Prepare,
        recount: &Recount,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Active, AttemptError> {
        let active = engine.policy();
        let activation = Activation { active: Some(&active), is_over, ..Activation::new(engine.runtime(), pulled) };
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
        let Activated { policy: mut next, made } = activation.activate(&policy).map_err(|errors| {
            let is_over = errors.all().any(ActivateError::is_over);
            if is_over { AttemptError::Over } else { AttemptError::Modules(errors) }
        })?;
        next.origin.document = Arc::from(text.text);
        let prepared = prepare.prepare(&active, &next, is_over).map_err(|why| match why {
            Unprepared::Unacceptable(error) => AttemptError::Follow(error),
            Unprepared::Over => AttemptError::Over,
        })?;
        let trial = engine.try_policy(&next).map_err(AttemptError::Trial)?;
        let retired = replace(engine, next, recount);
        prepared.commit();
        Ok(Active { policy, retired, made, trial, prepared })
    }
}

/// Makes a policy active. Where it names other schedulers than the active one, pods change sides with it; where it accounts otherwise,
/// they take something else.
pub(super) fn replace(engine: &Engine, next: ActivePolicy, recount: &Recount) -> Retired {
    let sorted = |policy: &ActivePolicy| policy.scheduler_names.iter().cloned().collect::<BTreeSet<_>>();
    let before = engine.policy();
    if sorted(&before) == sorted(&next) && before.accounts_as(&next) {
        return engine.replace_policy(next);
    }
    let counting = next.clone();
    engine.replace_policy_and_recount(next, &mut || recount(&before, &counting))
}

/// Logs what the predicates of a policy will miss.
pub(super) fn warn(policy: &ActivePolicy) {
    for warning in policy.warnings() {
        tracing::warn!(policy_generation = policy.generation, "{warning}");
    }
}

/// Logs the pods that the trial names, a few at most: their names are in one line, as their faults are.
pub(super) fn remark(trial: &Trial) {
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
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
