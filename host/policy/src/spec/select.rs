//! A policy reduced to some of its predicates, as `--predicates` asks for.

use super::policy::Policy;
use super::predicate::PredicateSpec;

/// Why predicates cannot be selected from a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No name was given.
    #[error("no predicate is named; there are {}", .known.join(", "))]
    Nothing {
        /// The names of the policy's predicates.
        known: Vec<String>,
    },
    /// The policy has no predicate of this name.
    #[error("there is no predicate {name:?}; there are {}", .known.join(", "))]
    Unknown {
        /// The name as given.
        name: String,
        /// The names of the policy's predicates.
        known: Vec<String>,
    },
    /// A name was given twice.
    #[error("predicate {name:?} is named twice")]
    Twice {
        /// The name as given.
        name: String,
    },
}

impl Policy {
    /// Returns the policy with these predicates only, in this order.
    ///
    /// # Errors
    ///
    /// Where `names` is empty, has a name twice, or has one that the policy does not have.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Self, SelectError> {
        let known = || self.predicates.iter().map(|predicate| predicate.name.clone()).collect();
        if names.is_empty() {
            return Err(SelectError::Nothing { known: known() });
        }
        let mut predicates: Vec<PredicateSpec> = Vec::with_capacity(names.len());
        for name in names.iter().map(AsRef::as_ref) {
            if predicates.iter().any(|taken| taken.name == name) {
                return Err(SelectError::Twice { name: name.to_owned() });
            }
            let found = self.predicates.iter().find(|predicate| predicate.name == name);
            let unknown = || SelectError::Unknown { name: name.to_owned(), known: known() };
            predicates.push(found.ok_or_else(unknown)?.clone());
        }
        Ok(Self { predicates, ..self.clone() })
    }
}
