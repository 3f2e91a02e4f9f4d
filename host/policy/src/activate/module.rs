//! The modules of a policy: their bytes and digests. Start at [`Module::read`].

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

use super::digest::Digest;
use super::error::ActivateError;
use super::oci;
use crate::file::{self, FileError};
use crate::proof::Proof;
use crate::pulled::{PullError, PulledFolder};
use crate::spec::{InstanceLife, ModuleSource, NamedModule, Role};
use nodesift_registry::digest_text;
use nodesift_sandbox::Lifetime;
use nodesift_sandbox::limits::COMPONENT_BYTES;

/// Digests of the built-in predicates, in the order of the bundle.
static PREDICATES: LazyLock<Vec<Digest>> = LazyLock::new(|| digests(nodesift_bundle::BUILTINS));

/// Digests of the built-in scorers, in the order of the bundle.
static SCORERS: LazyLock<Vec<Digest>> = LazyLock::new(|| digests(nodesift_bundle::SCORERS));

/// The file of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFile {
    /// Bytes of the component file.
    pub bytes: Vec<u8>,
}

impl ModuleFile {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Why it cannot be read; one that is larger than any component is not.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        file::read(path, COMPONENT_BYTES as u64).map(|bytes| Self { bytes })
    }

    /// Its SHA-256, as a policy writes it.
    pub fn digest(&self) -> String {
        digest_text(&Sha256::digest(&self.bytes).into())
    }
}

/// A component, not compiled.
pub(crate) struct Module {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) digest: Digest,
    /// Manifest and signatures that prove it to be the artifact of the policy; `None` for built-ins and component files.
    pub(crate) proof: Option<Proof>,
}

impl Module {
    /// Reads a module, and compares its digest with the one in the policy. One of a registry has to be in the folder.
    pub(crate) fn read(spec: NamedModule<'_>, pulled: &PulledFolder) -> Result<Self, ActivateError> {
        let (path, expected) = match spec.module {
            ModuleSource::Builtin => return builtin(spec),
            ModuleSource::Registry(module) => return Self::read_registry(spec, || pulled.component(module)),
            ModuleSource::Oci { layout, reference, digest, keys } => {
                let failed = |source| {
                    let (name, module) = (spec.name.to_owned(), spec.module.to_string());
                    ActivateError::Oci { name, role: spec.role, module, source: Box::new(source) }
                };
                return Ok(Self::proven(oci::component(layout, reference, digest, keys).map_err(failed)?));
            }
            ModuleSource::Path { path, digest } => (path, digest),
        };
        let shown = || path.to_string();
        let (name, role) = (spec.name.to_owned(), spec.role);
        let read = |source| ActivateError::Read { name: spec.name.to_owned(), role, path: shown(), source };
        let bytes = path.read(COMPONENT_BYTES as u64).map_err(read)?;
        let digest: Digest = Sha256::digest(&bytes).into();
        match expected {
            Some(expected) if *expected != digest => {
                let expected = digest_text(expected);
                Err(ActivateError::Digest { name, role, path: shown(), expected })
            }
            _ => Ok(Self { bytes: Cow::Owned(bytes), digest, proof: None }),
        }
    }

    /// Reads a module as [`Self::read`] does, but pulls that of a registry.
    pub(crate) fn pull(
        spec: NamedModule<'_>,
        pulled: &PulledFolder,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, ActivateError> {
        match spec.module {
            ModuleSource::Registry(module) => Self::read_registry(spec, || pulled.pull(module, is_over)),
            _ => Self::read(spec, pulled),
        }
    }

    fn read_registry(
        spec: NamedModule<'_>,
        get: impl FnOnce() -> Result<(Vec<u8>, Proof), PullError>,
    ) -> Result<Self, ActivateError> {
        let failed = |source| ActivateError::Pull {
            name: spec.name.to_owned(),
            role: spec.role,
            module: spec.module.to_string(),
            source: Box::new(source),
        };
        Ok(Self::proven(get().map_err(failed)?))
    }

    fn proven((bytes, proof): (Vec<u8>, Proof)) -> Self {
        Self { digest: Sha256::digest(&bytes).into(), bytes: Cow::Owned(bytes), proof: Some(proof) }
    }
}

fn digests(modules: &[nodesift_bundle::Module]) -> Vec<Digest> {
    modules.iter().map(|module| Sha256::digest(module.bytes).into()).collect()
}

fn builtin(spec: NamedModule<'_>) -> Result<Module, ActivateError> {
    let digests: &[Digest] = match spec.role {
        Role::Predicate => &PREDICATES,
        Role::Scorer => &SCORERS,
        Role::Accounting => &[],
    };
    let builtins = spec.role.builtins();
    let mut all = builtins.iter().zip(digests);
    let (builtin, digest) =
        all.find(|(builtin, _)| builtin.name == spec.name).ok_or_else(|| ActivateError::UnknownBuiltin {
            name: spec.name.to_owned(),
            role: spec.role,
            known: builtins.iter().map(|builtin| builtin.name).collect(),
        })?;
    Ok(Module { bytes: Cow::Borrowed(builtin.bytes), digest: *digest, proof: None })
}

/// For how long an instance lives. Instances of built-ins serve many calls. A custom module gets a new instance for every call,
/// so that no state of one pod can reach the next, unless the policy trusts it.
pub(crate) fn lifetime(module: &ModuleSource, instance: InstanceLife) -> Lifetime {
    match module {
        ModuleSource::Builtin => Lifetime::Reused,
        ModuleSource::Path { .. } | ModuleSource::Oci { .. } | ModuleSource::Registry(_) => match instance {
            InstanceLife::Fresh => Lifetime::PerCall,
            InstanceLife::Reuse => Lifetime::Recycled,
        },
    }
}
