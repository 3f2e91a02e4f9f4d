//! Why a policy cannot become active. Start at [`ActivateErrors`].

use std::error::Error;
use std::fmt;

use super::oci::OciError;
use crate::file::FileError;
use crate::pulled::PullError;
use crate::spec::{ACCOUNTING, NamedModule, Place, Policy, Role};
use nodesift_registry::RegistryError;
use nodesift_sandbox::LoadError;
use nodesift_sandbox::accounting::AccountingError;

/// Why a policy cannot become active: the error of every predicate and scorer that has one, at least one, in policy order.
#[derive(Debug)]
pub struct ActivateErrors {
    pub(super) first: Box<Located>,
    pub(super) others: Vec<Located>,
}

impl ActivateErrors {
    /// The error of one predicate or scorer, or of the accounting component.
    pub(crate) fn new(policy: &Policy, spec: NamedModule<'_>, error: ActivateError) -> Self {
        let first = Located { document: policy.document.clone(), place: Some(spec.place.clone()), error };
        Self { first: Box::new(first), others: Vec::new() }
    }

    /// Iterates over all errors, in policy order.
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
pub(super) struct Located {
    pub(super) document: String,
    /// `None` where it is no predicate's error.
    pub(super) place: Option<Place>,
    pub(super) error: ActivateError,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, column, field }) = &self.place {
            let document = file.as_deref().unwrap_or(&self.document);
            match line {
                0 => write!(f, "{document}: {field}: ")?,
                _ => write!(f, "{document}:{line}:{column}: {field}: ")?,
            }
        }
        write!(f, "{}", self.error)
    }
}

/// Why a predicate cannot become active.
#[derive(Debug, thiserror::Error)]
pub enum ActivateError {
    /// The policy names a built-in that does not exist.
    #[error("{}: there is no built-in of this name; there are {}. Give `module.path` for one of your own", whose(.name, *.role), .known.join(", "))]
    UnknownBuiltin {
        /// The name in the policy.
        name: String,
        /// Whose module it is.
        role: Role,
        /// The names of the built-ins.
        known: Vec<&'static str>,
    },
    /// The module's file cannot be read.
    #[error("{}: module {path}: {source}", whose(.name, *.role))]
    Read {
        /// Name of the predicate or scorer, or `accounting`.
        name: String,
        /// Whose module it is.
        role: Role,
        /// Path of the module's file.
        path: String,
        /// Error of reading the file.
        source: FileError,
    },
    /// The file's SHA-256 is not the one in the policy. The file's own is not told: the policy may name any file that this
    /// process can read.
    #[error(
        "{}: module {path} does not have the digest in the policy, {expected}: compare it with `sha256sum`", whose(.name, *.role)
    )]
    Digest {
        /// Name of the predicate or scorer, or `accounting`.
        name: String,
        /// Whose module it is.
        role: Role,
        /// Path of the module's file.
        path: String,
        /// The digest in the policy.
        expected: String,
    },
    /// The file has other content than when its digest was taken.
    #[error("{}: module {path} has changed while the policy was loaded", whose(.name, *.role))]
    Changed {
        /// Name of the predicate or scorer, or `accounting`.
        name: String,
        /// Whose module it is.
        role: Role,
        /// Path or reference of the module.
        path: String,
    },
    /// The OCI artifact gives no component with the digest in the policy.
    #[error("{}: module {module}: {source}", whose(.name, *.role))]
    Oci {
        /// Name of the predicate or scorer, or `accounting`.
        name: String,
        /// Whose module it is.
        role: Role,
        /// The reference and the layout's folder.
        module: String,
        /// Error of reading or verifying the artifact in the layout.
        source: Box<OciError>,
    },
    /// A registry does not give the module, or it is not signed as the policy wants it.
    #[error("{}: module {module}: {source}", whose(.name, *.role))]
    Pull {
        /// Name of the predicate or scorer, or `accounting`.
        name: String,
        /// Whose module it is.
        role: Role,
        /// Reference of the artifact in the registry.
        module: String,
        /// Error of pulling, verifying or keeping the module.
        source: Box<PullError>,
    },
    /// A thread that loads modules panicked: a defect of this program.
    #[error("loading the policy panicked; please report this")]
    Panicked,
    /// The sandbox refuses the component that evaluates the selectors of devices: a defect of this program.
    #[error("the selectors of devices cannot be evaluated; please report this: {0}")]
    Selectors(LoadError),
    /// The policy lists gauges or watermarks of sums that the accounting component does not make.
    #[error("{ACCOUNTING}: `{field}` lists {}, which the component does not add up; it adds up {}", .unknown.join(", "), .known.join(", "))]
    Sums {
        /// The field that lists them.
        field: &'static str,
        /// Names of sums that the component does not make.
        unknown: Vec<String>,
        /// Names of the sums that the component makes.
        known: Vec<String>,
    },
    /// The sandbox refuses the accounting component.
    #[error("{ACCOUNTING}: {0}")]
    Accounting(Box<AccountingError>),
    /// The module of a scorer gives no scores.
    #[error("scorer {name}: the component does not export `scorer`: it can be a predicate, and gives no scores")]
    NoScorer {
        /// Name of the scorer.
        name: String,
    },
    /// The sandbox refuses the module.
    #[error("{}: {source}", whose(.name, *.role))]
    Load {
        /// Name of the predicate or scorer.
        name: String,
        /// Whose module it is.
        role: Role,
        /// Error of the sandbox.
        source: LoadError,
    },
}

impl ActivateError {
    /// Name of the predicate or scorer that it is about, or `accounting`; none where it is about the policy as a whole.
    pub fn predicate(&self) -> Option<&str> {
        match self {
            Self::UnknownBuiltin { name, .. }
            | Self::Read { name, .. }
            | Self::Digest { name, .. }
            | Self::Changed { name, .. }
            | Self::Oci { name, .. }
            | Self::Pull { name, .. }
            | Self::NoScorer { name }
            | Self::Load { name, .. } => Some(name),
            Self::Accounting(_) | Self::Sums { .. } => Some(ACCOUNTING),
            Self::Panicked | Self::Selectors(_) => None,
        }
    }

    /// Whether the module is in a registry and has not been pulled.
    pub(crate) fn is_not_here(&self) -> bool {
        matches!(self, Self::Pull { source, .. } if matches!(**source, PullError::NotHere))
    }

    /// Whether the module is in a registry, where it may be as wanted later, or for which there may be room later.
    pub(crate) fn may_be_pulled_later(&self) -> bool {
        let may_pass = |source: &PullError| {
            matches!(source, PullError::Registry(_) | PullError::Signature(_) | PullError::Write { .. })
        };
        matches!(self, Self::Pull { source, .. } if may_pass(source))
    }

    /// Whether nobody waits for the module any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Pull { source, .. } if matches!(**source, PullError::Registry(RegistryError::Over)))
    }

    /// The step that failed, as [`StepFailure`](nodesift_engine::StepFailure) names it.
    pub fn step(&self) -> &'static str {
        match self {
            Self::UnknownBuiltin { .. } | Self::Sums { .. } => "document",
            Self::Read { .. } | Self::Changed { .. } => "read",
            Self::Digest { .. } => "verify",
            Self::Oci { source, .. } => match **source {
                OciError::Digest(_) | OciError::Corrupt(_) | OciError::Signature(_) => "verify",
                _ => "read",
            },
            Self::Pull { source, .. } => match **source {
                PullError::Signature(_)
                | PullError::Registry(RegistryError::Digest { .. } | RegistryError::Content { .. }) => "verify",
                PullError::Keys(_) => "read",
                _ => "pull",
            },
            Self::Panicked | Self::Selectors(_) => "internal",
            Self::NoScorer { .. } => "link",
            Self::Load { source, .. } => load_step(source),
            Self::Accounting(error) => match &**error {
                AccountingError::Load(source) => load_step(source),
                AccountingError::ContractVersion { .. }
                | AccountingError::UnknownImports(_)
                | AccountingError::ForbiddenImports(_)
                | AccountingError::Contract(_) => "link",
                AccountingError::Refused(_) | AccountingError::NotGranted(_) | AccountingError::SlowStart(_) => {
                    "configure"
                }
            },
        }
    }
}

/// The step at which the sandbox refuses a component.
fn load_step(error: &LoadError) -> &'static str {
    match error {
        LoadError::Size { .. }
        | LoadError::Declarations { .. }
        | LoadError::NotAComponent(_)
        | LoadError::Compile(_)
        | LoadError::CompileTime(_)
        | LoadError::CompileWait(_)
        | LoadError::CompileMemory { .. } => "compile",
        LoadError::ContractVersion { .. }
        | LoadError::UnknownImports(_)
        | LoadError::ForbiddenImports(_)
        | LoadError::Contract(_) => "link",
        LoadError::Step { step, .. } | LoadError::SlowStart { step, .. } => step,
    }
}

/// Names the component of a policy whose module it is.
fn whose(name: &str, role: Role) -> String {
    match role {
        Role::Predicate => format!("predicate {name}"),
        Role::Scorer => format!("scorer {name}"),
        Role::Accounting => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_disk_without_room_is_tried_again_and_a_folder_that_is_not_there_is_not() {
        let error = |source: PullError| ActivateError::Pull {
            name: "p".to_owned(),
            role: Role::Predicate,
            module: "registry.example/p:1".to_owned(),
            source: Box::new(source),
        };
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(error(PullError::Write { path: PathBuf::from("m.wasm"), source: full }).may_be_pulled_later());
        assert!(!error(PullError::NoFolder).may_be_pulled_later());
        assert!(!error(PullError::NotHere).may_be_pulled_later());
    }
}
