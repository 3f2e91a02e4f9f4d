//! One reload, as a pipeline: read → activate → prepare → trial → recount → commit → told. The host does three of these steps, as a
//! [`Host`]; a step that fails ends the reload, and leaves the active policy in its place.
//!
//! Files are read first, and their state is compared before and after: what is compiled is what was there at one moment. Start
//! at [`Reading::new`], then [`Reading::attempt`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::attempt_error::{AttemptError, Unprepared};
use super::object::ObjectId;
use super::stamp::{Files, Stamp};
use super::steps::Steps;
use crate::activate::{ActivateError, ActivateErrors, Activated, Activation, Digest, Made, Module, sound_part};
use crate::pulled::PulledFolder;
use crate::spec::{ModuleSource, Policy, PolicyError, PolicyText};
use nodesift_engine::{ActivePolicy, Engine, Retired, Trial};

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

    /// Whether all of the cluster is read that the active policy needs: what is missing before may only not be listed yet.
    fn sees_cluster(&self) -> bool;

    /// A reload has made the policy active that these resources are held for.
    fn commit(&self, held: &Self::Held);
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
    /// The active policy was remembered, and this is it under another version.
    is_remembered: bool,
}

/// A policy that has become active.
pub(super) struct Active<T> {
    /// Checked policy, as read from the document.
    pub(super) policy: Policy,
    pub(super) retired: Retired,
    pub(super) made: Made,
    pub(super) trial: Trial,
    pub(super) held: T,
}

impl Reading {
    /// Reads the document, and the digests of the modules that it names. `None` where files change meanwhile.
    pub(super) fn new(files: &Files, builtins: &[&str], pulled: &PulledFolder) -> Option<Self> {
        let root = Files::new(&files.root, &files.server);
        let before = root.stamp();
        let (text, object) = files.root.text();
        let text = text.map(|text| text.under(files.server.auto()));
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
        if root.stamp() != before || files.stamp() != stamp {
            return None;
        }
        let source = text.as_ref().map_or_else(|_| files.root.to_string(), |text| text.path.display().to_string());
        Some(Self { files, stamp, source, object, text, policy, digests, is_remembered: false })
    }

    /// The document of the active policy, read as `policy` under what decides the version now; `files` are those of its source.
    pub(super) fn from_active(active: &ActivePolicy, policy: Policy, (files, pulled): (&Files, &PulledFolder)) -> Self {
        let source = active.origin.source.clone();
        let text = PolicyText::built_in(&source, &active.origin.document);
        let digests = Some(digests(&policy, pulled));
        let (stamp, files, is_remembered) = (files.stamp(), files.clone(), active.origin.is_remembered);
        Self { files, stamp, source, object: None, text: Ok(text), policy: Some(Ok(policy)), digests, is_remembered }
    }

    /// Whether the document ends in the middle of a line, and means something all the same.
    pub(super) fn is_unended(&self) -> bool {
        matches!(self.policy, Some(Ok(_))) && self.text.as_ref().is_ok_and(PolicyText::is_unended)
    }

    /// Whether this is the document of the active policy.
    pub(super) fn holds(&self, active: &ActivePolicy) -> bool {
        self.text.as_ref().is_ok_and(|text| *text.text == *active.origin.document)
    }

    /// Whether this is the active policy.
    pub(super) fn is(&self, active: &ActivePolicy) -> bool {
        let is_same_text = self.holds(active);
        let accounting = active.accounting.iter().map(|accounting| Some(accounting.settings().digest));
        let predicates = active.predicates.iter().map(|predicate| Some(predicate.digest));
        let scorers = active.scorers.iter().map(|scorer| Some(scorer.component.digest));
        let loaded = predicates.chain(accounting).chain(scorers);
        let is_same_version = |policy: &Policy| policy.settings.kubernetes == active.settings.kubernetes;
        is_same_text
            && self.policy().is_some_and(is_same_version)
            && matches!(&self.digests, Some(Ok(digests)) if digests.iter().copied().eq(loaded))
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
        activated.policy.origin.is_remembered = self.is_remembered;
        Ok((policy, activated))
    }

    /// Takes the document through all steps that can refuse it, and makes its policy active; `steps` notes their times. The attempt ends
    /// early once it `is_over`.
    pub(super) fn attempt<H: Host>(
        self,
        engine: &Engine,
        pulled: &PulledFolder,
        host: &H,
        is_over: &(dyn Fn() -> bool + Sync),
        steps: &mut Steps,
    ) -> Result<Active<H::Held>, AttemptError> {
        let active = engine.policy();
        let (policy, Activated { policy: next, made }) =
            steps.timed("load", || self.activate(&active, engine, pulled, is_over))?;
        let held = steps.timed("follow", || host.prepare(&active, &next, is_over))?;
        let trial = steps.timed("trial", || engine.try_policy(&next))?;
        let retired = steps.timed("switch", || {
            let retired = replace(engine, next, host);
            host.commit(&held);
            retired
        });
        Ok(Active { policy, retired, made, trial, held })
    }
}

/// Makes a policy active. Where it names other schedulers than the active one, pods change sides with it; where it accounts otherwise,
/// they take something else.
pub(super) fn replace(engine: &Engine, next: ActivePolicy, host: &impl Host) -> Retired {
    let sorted = |policy: &ActivePolicy| policy.scheduler_names.iter().cloned().collect::<BTreeSet<_>>();
    let before = engine.policy();
    if sorted(&before) == sorted(&next) && before.counts_as(&next) {
        return engine.replace_policy(next);
    }
    let counting = next.clone();
    engine.replace_policy_and_recount(next, &mut || host.recount(&before, &counting))
}

/// The digests of all modules; each is read, and no two are in memory at once.
fn digests(policy: &Policy, pulled: &PulledFolder) -> Result<Vec<Option<Digest>>, ActivateErrors> {
    let digest = |spec| match Module::read(spec, pulled) {
        Err(error) if error.is_not_here() => Ok(None),
        module => Ok(Some(module?.digest)),
    };
    policy.modules().map(|spec| digest(spec).map_err(|error| ActivateErrors::new(policy, spec, error))).collect()
}
