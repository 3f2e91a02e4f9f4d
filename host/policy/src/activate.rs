//! From a checked policy to an [`ActivePolicy`]: every module loaded, linked and configured. Start at [`activate`].

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use sha2::{Digest, Sha256};

use crate::file::{self, FileError};
use crate::problem::Problem;
use crate::spec::{ModuleSource, Place, Policy, PolicyError, PredicateSpec};
use nodesift_engine::predicate_metrics::PredicateCounts;
use nodesift_engine::{ActivePolicy, ActivePredicate};
use nodesift_sandbox::limits::{BUILTIN_FAILURE_REASONS, COMPONENT_BYTES, FAILURE_REASONS, GUEST_MEMORY_BYTES};
use nodesift_sandbox::{Grants, Interface, Lifetime, LoadError, PACKAGE, Runtime, VERSION};

/// Why a policy cannot become active: the error of every predicate that has one, at least one, in policy order.
#[derive(Debug)]
pub struct ActivateErrors {
    first: Box<Located>,
    others: Vec<Located>,
}

impl ActivateErrors {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &ActivateError> {
        std::iter::once(&*self.first).chain(&self.others).map(|located| &located.error)
    }
}

impl fmt::Display for ActivateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))
    }
}

impl Error for ActivateErrors {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.first.error.source()
    }
}

/// An error, and where the entry of its predicate is.
#[derive(Debug)]
struct Located {
    document: String,
    /// `None` where it is no predicate's error.
    place: Option<Place>,
    error: ActivateError,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column, field }) = &self.place {
            write!(f, "{}:{line}:{column}: {field}: ", self.document)?;
        }
        write!(f, "{}", self.error)
    }
}

/// Why a predicate cannot become active.
#[derive(Debug, thiserror::Error)]
pub enum ActivateError {
    /// The policy names a built-in that does not exist.
    #[error("predicate {name}: there is no built-in of this name; there are {}. Give `module.path` for one of your own", .known.join(", "))]
    UnknownBuiltin {
        /// The name in the policy.
        name: String,
        /// The names of the built-ins.
        known: Vec<&'static str>,
    },
    /// The module's file cannot be read.
    #[error("predicate {name}: module {path}: {source}")]
    Read {
        /// The predicate.
        name: String,
        /// The module's path.
        path: String,
        /// Why not.
        source: FileError,
    },
    /// The file's SHA-256 is not the one in the policy. The file's own is not told: the policy may name any file that this
    /// process can read.
    #[error(
        "predicate {name}: module {path} does not have the digest in the policy, {expected}: compare it with `sha256sum`"
    )]
    Digest {
        /// The predicate.
        name: String,
        /// The module's path.
        path: String,
        /// The digest in the policy.
        expected: String,
    },
    /// `allow` names an interface that does not exist.
    #[error("predicate {name}: allow: {interface:?} is no interface of {PACKAGE} {VERSION}; there are {}", Interface::ALL.map(Interface::name).join(", "))]
    UnknownInterface {
        /// The predicate.
        name: String,
        /// The name in the policy, or several.
        interface: String,
    },
    /// A thread that loads modules panicked: a defect of this program.
    #[error("loading the policy panicked; please report this")]
    Panicked,
    /// The sandbox refuses the module.
    #[error("predicate {name}: {source}")]
    Load {
        /// The predicate.
        name: String,
        /// What the sandbox reports.
        source: LoadError,
    },
}

/// Loads every predicate of a policy, on as many threads as there are cores. `generation` numbers the result.
///
/// # Errors
///
/// The error of every predicate whose module cannot be read, has another digest than the policy says, is allowed an interface
/// that does not exist, or is refused by the sandbox.
pub fn activate(policy: &Policy, generation: u64, runtime: &Runtime) -> Result<ActivePolicy, ActivateErrors> {
    activate_with(policy, generation, runtime, &|| {})
}

/// Adds the errors of modules to those of an invalid document, so that all of them are reported at once. Modules of predicates
/// whose entries are invalid are not looked at.
pub fn with_module_errors(error: PolicyError, runtime: &Runtime) -> PolicyError {
    let PolicyError::Invalid { name, mut problems, mut rest } = error else { return error };
    let is_sound = |spec: &PredicateSpec| {
        let inside = |field: &str| {
            field.strip_prefix(&spec.place.field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !problems.iter().any(|problem| inside(&problem.field))
    };
    rest.predicates.retain(is_sound);
    if let Err(ActivateErrors { first, others }) = activate(&rest, 0, runtime) {
        for Located { place, error, .. } in std::iter::once(*first).chain(others) {
            let Place { line, column, field } = place.unwrap_or_default();
            problems.push(Problem { line, column, field, reason: error.to_string() });
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
    }
    PolicyError::Invalid { name, problems, rest }
}

/// As [`activate`], and calls `loaded` after each predicate, on any thread: to compile them all can take seconds.
///
/// # Errors
///
/// As [`activate`].
pub fn activate_with(
    policy: &Policy,
    generation: u64,
    runtime: &Runtime,
    loaded: &(dyn Fn() + Sync),
) -> Result<ActivePolicy, ActivateErrors> {
    let load = |spec: &PredicateSpec| {
        let name = || spec.name.clone();
        let (bytes, lifetime) = module(spec)?;
        let allow = spec.allow.as_ref().map(|names| {
            let unknown: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| Interface::from_name(name).is_none()).collect();
            if !unknown.is_empty() {
                return Err(ActivateError::UnknownInterface { name: name(), interface: unknown.join(", ") });
            }
            Ok(names.iter().filter_map(|name| Interface::from_name(name)).collect())
        });
        let grants = Grants {
            allow: allow.transpose()?,
            args: spec.args.to_string(),
            memory_bytes: spec.limits.memory_bytes.unwrap_or(GUEST_MEMORY_BYTES),
            time_per_call: spec.limits.time_per_call,
            lifetime,
            reasons: match spec.module {
                ModuleSource::Builtin => BUILTIN_FAILURE_REASONS,
                ModuleSource::Path { .. } => FAILURE_REASONS,
            },
        };
        let module = runtime.load(&bytes, grants).map_err(|source| ActivateError::Load { name: name(), source })?;
        Ok(ActivePredicate {
            name: Arc::from(spec.name.as_str()),
            phases: spec.phases,
            on_error: spec.on_error,
            module,
            counts: PredicateCounts::default(),
        })
    };
    // Most of the work is compiling, which has a time limit per module: more threads than cores would make each module
    // take longer.
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(spec) = policy.predicates.get(at) else { return done };
            done.push((at, load(spec)));
            loaded();
        }
    };
    let mut results = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
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
    let (mut predicates, mut errors) = (Vec::with_capacity(results.len()), Vec::new());
    for ((_, result), spec) in results.into_iter().zip(&policy.predicates) {
        match result {
            Ok(predicate) => predicates.push(predicate),
            Err(error) => {
                let (document, place) = (policy.document.clone(), Some(spec.place.clone()));
                errors.push(Located { document, place, error });
            }
        }
    }
    let mut errors = errors.into_iter();
    if let Some(first) = errors.next() {
        return Err(ActivateErrors { first: Box::new(first), others: errors.collect() });
    }
    Ok(ActivePolicy {
        generation,
        scheduler_names: policy.scheduler_names.clone(),
        predicates,
        annotation_keys: policy.annotation_keys.clone(),
        on_unsupported: policy.on_unsupported,
    })
}

/// The bytes of a predicate's module, and for how long an instance lives. Instances of built-ins serve many calls. A custom
/// module gets a new instance for every call, so that no state of one pod can reach the next.
fn module(spec: &PredicateSpec) -> Result<(Cow<'static, [u8]>, Lifetime), ActivateError> {
    let ModuleSource::Path { path, digest } = &spec.module else {
        let builtin = nodesift_bundle::BUILTINS.iter().find(|builtin| builtin.name == spec.name);
        let unknown = || ActivateError::UnknownBuiltin {
            name: spec.name.clone(),
            known: nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect(),
        };
        return Ok((Cow::Borrowed(builtin.ok_or_else(unknown)?.bytes), Lifetime::Reused));
    };
    let read = |source| ActivateError::Read { name: spec.name.clone(), path: path.display().to_string(), source };
    let bytes = file::read(path, COMPONENT_BYTES as u64).map_err(read)?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    match digest {
        Some(expected) if *expected != found => Err(ActivateError::Digest {
            name: spec.name.clone(),
            path: path.display().to_string(),
            expected: hex(expected),
        }),
        _ => Ok((Cow::Owned(bytes), Lifetime::PerCall)),
    }
}

fn hex(digest: &[u8; 32]) -> String {
    let bytes: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{bytes}")
}
