//! From a checked policy to an [`ActivePolicy`]: every module of predicates and scorers loaded, linked and configured.
//!
//! ```text
//! digest    what pins a module
//! module    the bytes of a module, with the digest that the policy asks for
//! oci       the module of an OCI artifact, in a folder with an OCI image layout
//! component one predicate or scorer: its module loaded, kept or shared, within what it is granted
//! error     why a component cannot become active
//! ```
//!
//! Start at [`activate`]; a reload uses [`Activation`], which keeps what the active policy has loaded already.

mod component;
mod digest;
mod error;
mod module;
mod oci;

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use crate::problem::Problem;
use crate::pulled::PulledFolder;
use crate::spec::{AccountingSpec, NamedModule, Place, Policy, PolicyError};
use component::new_predicate;
pub use component::{grants, scorer_grants};
pub(crate) use digest::Digest;
use error::Located;
pub use error::{ActivateError, ActivateErrors};
pub(crate) use module::Module;
pub use module::ModuleFile;
use nodesift_engine::selectors::Selectors;
use nodesift_engine::{AccountingSettings, ActiveAccounting, ActivePolicy, ActivePredicate, ActiveScorer, Origin};
use nodesift_sandbox::accounting::AccountingGrants;
use nodesift_sandbox::device_selector::Dialect;
use nodesift_sandbox::{LoadError, Runtime};
pub use oci::OciError;

/// The interface by which predicates read devices and what selectors say of them.
const NODE_DEVICES: &str = "node-devices";

/// Loads every predicate of a policy, on as many threads as there are cores. `generation` numbers the result. Modules of registries are
/// refused: there is no folder for them.
///
/// # Errors
///
/// The error of every predicate whose module cannot be read, has another digest than the policy says, or is refused by the
/// sandbox.
pub fn activate(policy: &Policy, generation: u64, runtime: &Runtime) -> Result<ActivePolicy, ActivateErrors> {
    activate_with(policy, generation, runtime, &PulledFolder::none(), &|| {})
}

/// Loads every predicate as [`activate`] does, and pulls modules of registries into this folder. Calls `loaded` after each predicate, on
/// any thread: to compile them all can take seconds.
///
/// # Errors
///
/// The errors of [`activate`].
pub fn activate_with(
    policy: &Policy,
    generation: u64,
    runtime: &Runtime,
    pulled: &PulledFolder,
    loaded: &(dyn Fn() + Sync),
) -> Result<ActivePolicy, ActivateErrors> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let activation = Activation { workers, loaded, ..Activation::new(runtime, pulled) };
    let activated = activation.activate(policy)?;
    Ok(ActivePolicy { generation, ..activated.policy })
}

/// Loads a policy as [`activate_with`] does, but reuses the modules of `active` where they are the same.
///
/// # Errors
///
/// The errors of [`activate`].
pub fn activate_beside(
    policy: &Policy,
    active: &ActivePolicy,
    runtime: &Runtime,
    pulled: &PulledFolder,
    loaded: &(dyn Fn() + Sync),
) -> Result<ActivePolicy, ActivateErrors> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let activation = Activation { active: Some(active), workers, loaded, ..Activation::new(runtime, pulled) };
    activation.activate(policy).map(|activated| activated.policy)
}

/// Adds the errors of modules to those of an invalid document, so that all of them are reported at once. Modules of predicates
/// whose entries are invalid are not looked at.
pub fn with_module_errors(error: PolicyError, runtime: &Runtime, pulled: &PulledFolder) -> PolicyError {
    let PolicyError::Invalid { name, mut problems, rest } = error else { return error };
    let activated = activate_with(&sound_part(&problems, &rest), 0, runtime, pulled, &|| {});
    if let Err(ActivateErrors { first, others }) = activated {
        for Located { place, error, .. } in std::iter::once(*first).chain(others) {
            let Place { file, line, column, field } = place.unwrap_or_default();
            problems.push(Problem { file, line, column, field, reason: error.to_string() });
        }
        problems.sort_by(Problem::compare);
    }
    PolicyError::Invalid { name, problems, rest }
}

/// Returns the part of an invalid document whose modules can be loaded: the entries without a problem.
pub(crate) fn sound_part(problems: &[Problem], rest: &Policy) -> Policy {
    let is_sound = |place: &Place| !problems.iter().any(|problem| is_inside(&problem.field, place));
    Policy {
        predicates: rest.predicates.iter().filter(|spec| is_sound(&spec.place)).cloned().collect(),
        scores: rest.scores.iter().filter(|spec| is_sound(&spec.place)).cloned().collect(),
        accounting: rest.accounting.clone().filter(|spec| is_sound(&spec.place)),
        ..rest.clone()
    }
}

/// Whether a field is that of a predicate's entry, or in it.
pub(crate) fn is_inside(field: &str, place: &Place) -> bool {
    field.strip_prefix(&place.field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// How the predicates of a policy are loaded.
pub(crate) struct Activation<'a> {
    pub(crate) runtime: &'a Runtime,
    /// The active policy, whose modules are used again where they are the same.
    pub(crate) active: Option<&'a ActivePolicy>,
    /// The folder of modules of registries. What is not there is pulled.
    pub(crate) pulled: &'a PulledFolder,
    /// The digest that each module has to have beside what the policy says; none where that is not known.
    pub(crate) digests: &'a [Option<Digest>],
    /// Threads. Most of the work is compiling, which has a time limit per module: more threads than cores would make each
    /// module take longer.
    pub(crate) workers: usize,
    /// Called after each predicate, on any thread.
    pub(crate) loaded: &'a (dyn Fn() + Sync),
    /// Whether nobody waits for it any more. Then no registry is waited for.
    pub(crate) is_over: &'a (dyn Fn() -> bool + Sync),
}

/// A loaded policy, and how many of its predicates are new.
#[derive(Debug)]
pub(crate) struct Activated {
    pub(crate) policy: ActivePolicy,
    pub(crate) made: Made,
}

/// How predicates were loaded; scorers do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Made {
    /// Predicates of the active policy, kept with everything that they have cached.
    pub(crate) kept: usize,
    /// Predicates linked anew with other grants, from compiled code of the active policy.
    pub(crate) relinked: usize,
    /// Predicates compiled from the bytes of their modules.
    pub(crate) compiled: usize,
}

/// How one component was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Kept,
    Relinked,
    Compiled,
}

impl Made {
    fn add(&mut self, from: From) {
        let count = match from {
            From::Kept => &mut self.kept,
            From::Relinked => &mut self.relinked,
            From::Compiled => &mut self.compiled,
        };
        *count += 1;
    }
}

impl<'a> Activation<'a> {
    /// By one thread, with nothing known before.
    pub(crate) fn new(runtime: &'a Runtime, pulled: &'a PulledFolder) -> Self {
        let (loaded, is_over) = (&|| {}, &|| false);
        Self { runtime, active: None, pulled, digests: &[], workers: 1, loaded, is_over }
    }

    /// Loads every predicate, the accounting component and every scorer.
    ///
    /// # Errors
    ///
    /// As [`activate`].
    pub(crate) fn activate(&self, policy: &Policy) -> Result<Activated, ActivateErrors> {
        let located = |place, error| Located { document: policy.document.clone(), place, error };
        let alone = |error| ActivateErrors { first: Box::new(located(None, error)), others: Vec::new() };
        let (mut made, mut errors) = (Made::default(), Vec::new());
        let loaded = self.load_all(&policy.predicates, |at, spec| self.predicate(spec, self.digest(at)));
        let loaded = loaded.ok_or_else(|| alone(ActivateError::Panicked))?;
        let predicates = loaded.into_iter().zip(&policy.predicates).filter_map(|(result, spec)| match result {
            Ok((predicate, from)) => {
                made.add(from);
                Some(predicate)
            }
            Err(error) => {
                errors.push(located(Some(spec.place.clone()), error));
                None
            }
        });
        let predicates: Vec<ActivePredicate> = predicates.collect();
        let accounting = policy.accounting.as_ref().and_then(|spec| {
            let loaded = self.accounting(spec, self.digest(policy.predicates.len()));
            loaded.map_err(|error| errors.push(located(Some(spec.place.clone()), error))).ok()
        });
        let first = policy.predicates.len() + usize::from(policy.accounting.is_some());
        // After the predicates, whose modules they share.
        let loaded = self.load_all(&policy.scores, |at, spec| self.scorer(spec, &predicates, self.digest(first + at)));
        let loaded = loaded.ok_or_else(|| alone(ActivateError::Panicked))?;
        let scorers = loaded.into_iter().zip(&policy.scores).filter_map(|(result, spec)| match result {
            Ok(scorer) => Some(scorer),
            Err(error) => {
                errors.push(located(Some(spec.place.clone()), error));
                None
            }
        });
        let scorers: Vec<ActiveScorer> = scorers.collect();
        let mut errors = errors.into_iter();
        if let Some(first) = errors.next() {
            return Err(ActivateErrors { first: Box::new(first), others: errors.collect() });
        }
        let components = predicates.iter().chain(scorers.iter().map(|scorer| &scorer.component));
        let selectors = self.selectors(policy, components).map_err(|error| alone(ActivateError::Selectors(error)))?;
        Ok(Activated { policy: ActivePolicy { selectors, accounting, scorers, ..active(policy, predicates) }, made })
    }

    /// The digest that the module at this place of [`Policy::modules`] has to have.
    fn digest(&self, at: usize) -> Option<&Digest> {
        self.digests.get(at).and_then(Option::as_ref)
    }

    /// Loads a component for each entry, on all workers; the results are in the order of the entries. `None` where a thread panicked.
    fn load_all<S: Sync, T: Send>(&self, specs: &[S], load: impl Fn(usize, &S) -> T + Sync) -> Option<Vec<T>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(spec) = specs.get(at) else { return done };
                done.push((at, load(at, spec)));
                (self.loaded)();
            }
        };
        let results = thread::scope(|scope| {
            let workers = self.workers.clamp(1, specs.len().max(1));
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
        });
        let mut results = results.ok()?.into_iter().flatten().collect::<Vec<_>>();
        results.sort_by_key(|(at, _)| *at);
        Some(results.into_iter().map(|(_, result)| result).collect())
    }

    /// Returns the evaluator of device selectors, where a component reads devices: that of the active policy with all that it has cached,
    /// if it has one of the same dialect.
    fn selectors<'c>(
        &self,
        policy: &Policy,
        mut components: impl Iterator<Item = &'c ActivePredicate>,
    ) -> Result<Option<Arc<Selectors>>, LoadError> {
        let reads_devices = |component: &ActivePredicate| {
            component.module.imports().iter().any(|interface| interface.name() == NODE_DEVICES)
        };
        if !components.any(reads_devices) {
            return Ok(None);
        }
        let rules = policy.settings.kubernetes.semantics.selectors;
        let has_rules = |active: &&ActivePolicy| active.settings.kubernetes.semantics.selectors == rules;
        if let Some(known) = self.active.filter(has_rules).and_then(|active| active.selectors.as_ref()) {
            return Ok(Some(Arc::clone(known)));
        }
        let dialect = Dialect { lists: rules.lists, includes: rules.includes };
        let device_selector = self.runtime.load_device_selector(nodesift_bundle::CEL.bytes, dialect)?;
        Ok(Some(Arc::new(Selectors::new(device_selector))))
    }

    /// The bytes of a module, which has to have this digest too if it is given.
    fn module(&self, spec: NamedModule<'_>, expected: Option<&Digest>) -> Result<Module, ActivateError> {
        let module = match Module::read(spec, self.pulled) {
            Err(error) if error.is_not_here() => Module::pull(spec, self.pulled, self.is_over)?,
            outcome => outcome?,
        };
        if expected.is_some_and(|expected| *expected != module.digest) {
            let (name, path) = (spec.name.to_owned(), spec.module.to_string());
            return Err(ActivateError::Changed { name, role: spec.role, path });
        }
        Ok(module)
    }

    /// The accounting component: that of the active policy with all that it knows, where it is the same.
    fn accounting(
        &self,
        spec: &AccountingSpec,
        expected: Option<&Digest>,
    ) -> Result<Arc<ActiveAccounting>, ActivateError> {
        let module = self.module(spec.named_module(), expected)?;
        let grants = AccountingGrants {
            allow: spec.allow.clone(),
            annotations: spec.annotation_keys.clone(),
            args: spec.args.to_string(),
            ..AccountingGrants::default()
        };
        let settings = AccountingSettings {
            digest: module.digest,
            on_error: spec.on_error,
            ignored_namespaces: spec.ignored_namespaces.clone(),
            gauges: spec.gauges.clone(),
            watermarks: spec.watermarks.clone(),
        };
        let known = self.active.and_then(|active| active.accounting.as_ref());
        let is_same =
            |known: &&Arc<ActiveAccounting>| *known.settings() == settings && *known.component().grants() == grants;
        if let Some(known) = known.filter(is_same) {
            return Ok(Arc::clone(known));
        }
        let component = self.runtime.load_accounting(&module.bytes, grants);
        let component = component.map_err(|error| ActivateError::Accounting(Box::new(error)))?;
        let known: Vec<String> = component.needs().sums.iter().map(ToString::to_string).collect();
        let marked: Vec<String> = spec.watermarks.iter().map(|mark| mark.sum.to_string()).collect();
        for (field, names) in [("gauges", &spec.gauges), ("watermarks", &marked)] {
            let unknown: Vec<String> = names.iter().filter(|name| !known.contains(name)).cloned().collect();
            if !unknown.is_empty() {
                return Err(ActivateError::Sums { field, unknown, known });
            }
        }
        Ok(Arc::new(ActiveAccounting::new(component, settings)))
    }
}

/// A policy with its predicates.
fn active(policy: &Policy, predicates: Vec<ActivePredicate>) -> ActivePolicy {
    ActivePolicy {
        generation: 0,
        scheduler_names: policy.scheduler_names.clone(),
        predicates,
        scorers: Vec::new(),
        settings: Arc::new(policy.settings.clone()),
        selectors: None,
        accounting: None,
        throttle: Arc::default(),
        origin: Origin { source: policy.document.clone(), name: policy.name.clone(), ..Origin::default() },
    }
}

/// A policy whose only predicate has this module, which is loaded already: for those who call it without an engine. Its digest is not
/// that of the module.
pub fn with_module(policy: &Policy, module: &Arc<nodesift_sandbox::Module>) -> ActivePolicy {
    let first = policy.predicates.first();
    active(policy, first.map(|spec| new_predicate(spec, Digest::default(), Arc::clone(module))).into_iter().collect())
}
