//! From a checked policy to an [`ActivePolicy`]: every module loaded, linked and configured.
//!
//! ```text
//! digest   what pins a module
//! module   the bytes of a predicate's module, with the digest that the policy asks for
//! oci      the module of an OCI artifact, in a folder with an OCI image layout
//! error    why a predicate cannot become active
//! ```
//!
//! Start at [`activate`]; a reload uses [`Activation`], which keeps what the active policy has loaded already.

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
use crate::spec::{AccountingSpec, ModuleSource, NamedModule, Place, Policy, PolicyError, PredicateSpec};
pub(crate) use digest::Digest;
use error::Located;
pub use error::{ActivateError, ActivateErrors};
pub(crate) use module::Module;
pub use module::ModuleFile;
use nodesift_engine::selectors::Selectors;
use nodesift_engine::{AccountingSettings, ActiveAccounting, ActivePolicy, ActivePredicate, Origin};
use nodesift_sandbox::accounting::AccountingGrants;
use nodesift_sandbox::device_selector::Dialect;
use nodesift_sandbox::limits::{BUILTIN_FAILURE_REASONS, FAILURE_REASONS, GUEST_MEMORY_BYTES, LOG_LINES, OUTPUT_BYTES};
use nodesift_sandbox::{Grants, LoadError, Runtime};
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

/// How predicates were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Made {
    /// Predicates of the active policy, kept with everything that they have cached.
    pub(crate) kept: usize,
    /// Predicates linked anew with other grants, from compiled code of the active policy.
    pub(crate) relinked: usize,
    /// Predicates compiled from the bytes of their modules.
    pub(crate) compiled: usize,
}

/// How one predicate was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Kept,
    Relinked,
    Compiled,
}

impl<'a> Activation<'a> {
    /// By one thread, with nothing known before.
    pub(crate) fn new(runtime: &'a Runtime, pulled: &'a PulledFolder) -> Self {
        let (loaded, is_over) = (&|| {}, &|| false);
        Self { runtime, active: None, pulled, digests: &[], workers: 1, loaded, is_over }
    }

    /// Loads every predicate.
    ///
    /// # Errors
    ///
    /// As [`activate`].
    pub(crate) fn activate(&self, policy: &Policy) -> Result<Activated, ActivateErrors> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(spec) = policy.predicates.get(at) else { return done };
                done.push((at, self.load(spec, self.digests.get(at).and_then(Option::as_ref))));
                (self.loaded)();
            }
        };
        let mut results = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.workers.max(1)).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
        })
        .map_err(|_| {
            let first = Located { document: policy.document.clone(), place: None, error: ActivateError::Panicked };
            ActivateErrors { first: Box::new(first), others: Vec::new() }
        })?
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
        results.sort_by_key(|(at, _)| *at);
        let (mut predicates, mut made, mut errors) = (Vec::with_capacity(results.len()), Made::default(), Vec::new());
        for ((_, result), spec) in results.into_iter().zip(&policy.predicates) {
            match result {
                Ok((predicate, from)) => {
                    predicates.push(predicate);
                    let count = match from {
                        From::Kept => &mut made.kept,
                        From::Relinked => &mut made.relinked,
                        From::Compiled => &mut made.compiled,
                    };
                    *count += 1;
                }
                Err(error) => {
                    let (document, place) = (policy.document.clone(), Some(spec.place.clone()));
                    errors.push(Located { document, place, error });
                }
            }
        }
        let accounting = policy.accounting.as_ref().and_then(|spec| {
            let loaded = self.accounting(spec, self.digests.get(policy.predicates.len()).and_then(Option::as_ref));
            let located = |error| Located { document: policy.document.clone(), place: Some(spec.place.clone()), error };
            loaded.map_err(|error| errors.push(located(error))).ok()
        });
        let mut errors = errors.into_iter();
        if let Some(first) = errors.next() {
            return Err(ActivateErrors { first: Box::new(first), others: errors.collect() });
        }
        let selectors = self.selectors(policy, &predicates).map_err(|error| {
            let error = ActivateError::Selectors(error);
            let first = Located { document: policy.document.clone(), place: None, error };
            ActivateErrors { first: Box::new(first), others: Vec::new() }
        })?;
        Ok(Activated { policy: ActivePolicy { selectors, accounting, ..active(policy, predicates) }, made })
    }

    /// Returns the evaluator of device selectors, where a predicate reads devices: that of the active policy with all that it has cached,
    /// if it has one of the same dialect.
    fn selectors(&self, policy: &Policy, predicates: &[ActivePredicate]) -> Result<Option<Arc<Selectors>>, LoadError> {
        let reads_devices = |predicate: &ActivePredicate| {
            predicate.module.imports().iter().any(|interface| interface.name() == NODE_DEVICES)
        };
        if !predicates.iter().any(reads_devices) {
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
            return Err(ActivateError::Changed { name: spec.name.to_owned(), path: spec.module.to_string() });
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

    fn load(&self, spec: &PredicateSpec, expected: Option<&Digest>) -> Result<(ActivePredicate, From), ActivateError> {
        let module = self.module(spec.named_module(), expected)?;
        let grants = grants(spec);
        let digest = module.digest;
        let known = self.active.iter().flat_map(|active| &active.predicates).filter(|known| known.digest == digest);
        let predicate = |module| new_predicate(spec, digest, Arc::new(module));
        let mut same = known.clone().filter(|known| *known.name == *spec.name && *known.module.grants() == grants);
        if let Some(same) = same.next() {
            let (counts, breaker) = (Arc::clone(&same.counts), Arc::clone(&same.breaker));
            let kept = new_predicate(spec, digest, Arc::clone(&same.module));
            return Ok((ActivePredicate { counts, breaker, ..kept }, From::Kept));
        }
        let refused = |source| ActivateError::Load { name: spec.name.clone(), source };
        for known in known {
            if let Some(module) = self.runtime.load_again(&known.module, grants.clone()).map_err(refused)? {
                return Ok((predicate(module), From::Relinked));
            }
        }
        let module = self.runtime.load(&module.bytes, grants).map_err(refused)?;
        Ok((predicate(module), From::Compiled))
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

/// A predicate with its module, that has not been called.
fn new_predicate(spec: &PredicateSpec, digest: Digest, module: Arc<nodesift_sandbox::Module>) -> ActivePredicate {
    ActivePredicate {
        name: Arc::from(spec.name.as_str()),
        phases: spec.phases,
        on_error: spec.on_error,
        mode: spec.mode,
        digest,
        module,
        counts: Arc::default(),
        breaker: Arc::default(),
        is_beside: false,
    }
}

/// A policy whose only predicate has this module, which is loaded already: for those who call it without an engine. Its digest is not
/// that of the module.
pub fn with_module(policy: &Policy, module: &Arc<nodesift_sandbox::Module>) -> ActivePolicy {
    let first = policy.predicates.first();
    active(policy, first.map(|spec| new_predicate(spec, Digest::default(), Arc::clone(module))).into_iter().collect())
}

/// Returns the interfaces, arguments and limits that a policy grants a module.
pub fn grants(spec: &PredicateSpec) -> Grants {
    Grants {
        allow: spec.allow.as_ref().map(|allow| allow.iter().copied().collect()),
        args: spec.args.to_string(),
        memory_bytes: spec.limits.memory_bytes.unwrap_or(GUEST_MEMORY_BYTES),
        output_bytes: spec.limits.output_bytes.unwrap_or(OUTPUT_BYTES),
        log_lines: spec.limits.log_lines.unwrap_or(LOG_LINES),
        time_per_call: spec.limits.time_per_call,
        lifetime: module::lifetime(spec),
        reasons: match spec.module {
            ModuleSource::Builtin => BUILTIN_FAILURE_REASONS,
            ModuleSource::Path { .. } | ModuleSource::Oci { .. } | ModuleSource::Registry(_) => FAILURE_REASONS,
        },
    }
}
