//! From a checked policy to an [`ActivePolicy`]: every module loaded, linked and configured. Start at [`activate`].

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

use sha2::{Digest, Sha256};

use crate::spec::{ModuleSource, Policy, PredicateSpec};
use nodesift_engine::predicate_metrics::PredicateCounts;
use nodesift_engine::{ActivePolicy, ActivePredicate};
use nodesift_sandbox::limits::GUEST_MEMORY_BYTES;
use nodesift_sandbox::{Grants, Interface, Lifetime, LoadError, PACKAGE, Runtime, VERSION};

/// Why a policy cannot become active.
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
        /// What the system reports.
        source: std::io::Error,
    },
    /// The file's SHA-256 is not the one in the policy.
    #[error("predicate {name}: module {path} has the digest {found}, the policy says {expected}")]
    Digest {
        /// The predicate.
        name: String,
        /// The module's path.
        path: String,
        /// The digest of the file.
        found: String,
        /// The digest in the policy.
        expected: String,
    },
    /// `allow` names an interface that does not exist.
    #[error("predicate {name}: allow: {interface:?} is no interface of {PACKAGE} {VERSION}; there are {}", Interface::ALL.map(Interface::name).join(", "))]
    UnknownInterface {
        /// The predicate.
        name: String,
        /// The name in the policy.
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
/// The error of the first predicate, in policy order, whose module cannot be read, has another digest than the policy
/// says, is allowed an interface that does not exist, or is refused by the sandbox.
pub fn activate(policy: &Policy, generation: u64, runtime: &Runtime) -> Result<ActivePolicy, ActivateError> {
    let load = |spec: &PredicateSpec| {
        let name = || spec.name.clone();
        let (bytes, lifetime) = module(spec)?;
        let allow = spec.allow.as_ref().map(|names| {
            let known = |interface: &String| {
                let unknown = || ActivateError::UnknownInterface { name: name(), interface: interface.clone() };
                Interface::from_name(interface).ok_or_else(unknown)
            };
            names.iter().map(known).collect::<Result<Vec<_>, _>>()
        });
        let grants = Grants {
            allow: allow.transpose()?,
            args: spec.args.to_string(),
            memory_bytes: spec.limits.memory_bytes.unwrap_or(GUEST_MEMORY_BYTES),
            time_per_call: spec.limits.time_per_call,
            lifetime,
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
        let mut loaded = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(spec) = policy.predicates.get(at) else { return loaded };
            loaded.push((at, load(spec)));
        }
    };
    let mut loaded = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
    })
    .map_err(|_| ActivateError::Panicked)?
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    loaded.sort_by_key(|(at, _)| *at);
    Ok(ActivePolicy {
        generation,
        scheduler_names: policy.scheduler_names.clone(),
        predicates: loaded.into_iter().map(|(_, predicate)| predicate).collect::<Result<_, _>>()?,
        annotation_keys: policy.annotation_keys.clone(),
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
    let bytes = std::fs::read(path).map_err(read)?;
    let found: [u8; 32] = Sha256::digest(&bytes).into();
    match digest {
        Some(expected) if *expected != found => Err(ActivateError::Digest {
            name: spec.name.clone(),
            path: path.display().to_string(),
            found: hex(&found),
            expected: hex(expected),
        }),
        _ => Ok((Cow::Owned(bytes), Lifetime::PerCall)),
    }
}

fn hex(digest: &[u8; 32]) -> String {
    let bytes: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{bytes}")
}
