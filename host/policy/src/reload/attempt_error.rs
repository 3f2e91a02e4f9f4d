//! Why a reload ends without its policy becoming active.

use crate::activate::{ActivateError, ActivateErrors};
use crate::spec::PolicyError;
use nodesift_engine::TrialFault;

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
    pub(super) fn may_be_pulled_later(&self) -> bool {
        match self {
            Self::Modules(errors) | Self::Document(_, Some(errors)) => {
                errors.all().any(ActivateError::may_be_pulled_later)
            }
            _ => false,
        }
    }
}
