//! What a policy means: typed, with defaults filled in, every reference inside it checked.
//!
//! Nothing outside the document is looked at except the list of built-ins: whether a module exists and keeps to its
//! grants is found out when the policy is loaded. Start at [`Policy`], then [`Policy::read`].

mod annotation_key;
mod check;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::document::{self, Problem};
use crate::limits::POLICY_FILE_BYTES;
use nodesift_engine::{OnError, Phases};

/// The `apiVersion` of policy documents.
pub const API_VERSION: &str = "nodesift.dev/v1alpha1";
/// The `kind` of policy documents.
pub const KIND: &str = "PredicatePolicy";
/// The scheduler whose pods are our own where no policy says otherwise: kube-scheduler's default profile.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A policy: the white-list of predicates, and whose pods are our own.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// `metadata.name`; empty where the document names none.
    pub name: String,
    /// Never empty. Pods of any other scheduler are foreign.
    pub scheduler_names: Vec<String>,
    /// In evaluation order; names are unique. Never empty.
    pub predicates: Vec<PredicateSpec>,
    /// `spec.facts.annotations`: keys of the annotations that predicates may read, sorted by bytes, without duplicates. At
    /// most [`ANNOTATION_KEYS_MAX`](crate::limits::ANNOTATION_KEYS_MAX); empty where the document lists none.
    pub annotation_keys: Vec<String>,
}

/// One predicate of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PredicateSpec {
    /// The name of a built-in, or a name for a module of one's own.
    pub name: String,
    /// When it runs.
    pub phases: Phases,
    /// Always an object; empty where the document gives none.
    pub args: Value,
    /// Where its module is.
    pub module: ModuleSource,
    /// Names of the interfaces that it may import at most; none for all.
    pub allow: Option<BTreeSet<String>>,
    /// What stands in for its verdict when it fails.
    pub on_error: OnError,
    /// What it may use.
    pub limits: SpecLimits,
}

/// Limits of one predicate, as far as the policy sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpecLimits {
    /// Linear memory of one instance, in bytes.
    pub memory_bytes: Option<usize>,
    /// Time of one `filter` call.
    pub time_per_call: Option<Duration>,
}

/// Where the module of a predicate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleSource {
    /// In the host's own bundle, under the predicate's name.
    Builtin,
    /// In a file.
    Path {
        /// Relative paths have been resolved against the folder of the policy.
        path: PathBuf,
        /// SHA-256 that the file must have.
        digest: Option<[u8; 32]>,
    },
}

/// Why a policy cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The policy's file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than any policy.
    #[error("{}: more than {} KiB: this is no policy", .path.display(), POLICY_FILE_BYTES >> 10)]
    TooLarge {
        /// The policy's file.
        path: PathBuf,
    },
    /// The document is wrong: all that is wrong with it, at least one problem, in the order of lines.
    #[error("{}", listed(.name, .problems))]
    Invalid {
        /// The document's file, or another name for it.
        name: String,
        /// What is wrong.
        problems: Vec<Problem>,
    },
}

/// Problems, each on a line that begins with the document's name.
fn listed(name: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        // An editor opens `file:line:column:`.
        let colon = if problem.line > 0 { ":" } else { ": " };
        format!("{name}{colon}{problem}")
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Why predicates cannot be picked out of a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No name was given.
    #[error("no predicate is named; there are {}", .known.join(", "))]
    Nothing {
        /// The names of the policy.
        known: Vec<String>,
    },
    /// The policy has no such predicate.
    #[error("there is no predicate {name:?}; there are {}", .known.join(", "))]
    Unknown {
        /// As given.
        name: String,
        /// The names of the policy.
        known: Vec<String>,
    },
    /// A name was given twice.
    #[error("predicate {name:?} is named twice")]
    Twice {
        /// As given.
        name: String,
    },
}

impl Policy {
    /// Reads a policy's file. `builtins` are the names of the host's own predicates.
    pub fn read_file(path: &Path, builtins: &[&str]) -> Result<Self, PolicyError> {
        let read = |source| PolicyError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(read)?;
        let bytes = std::io::Read::read_to_string(&mut std::io::Read::take(file, POLICY_FILE_BYTES + 1), &mut text);
        match bytes {
            Ok(bytes) if bytes as u64 > POLICY_FILE_BYTES => {
                return Err(PolicyError::TooLarge { path: path.to_owned() });
            }
            Ok(_) => {}
            Err(source) => return Err(read(source)),
        }
        Self::read(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new("")), builtins)
    }

    /// Reads a policy's text. `name` stands for the document in messages; relative paths count from `folder`.
    pub fn read(text: &str, name: &str, folder: &Path, builtins: &[&str]) -> Result<Self, PolicyError> {
        let invalid = |problems| PolicyError::Invalid { name: name.to_owned(), problems };
        let document = document::read(text).map_err(|problem| invalid(vec![problem]))?;
        check::check(document, folder, builtins).map_err(invalid)
    }

    /// The same policy with these predicates alone, in this order.
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

#[cfg(test)]
mod tests;
