//! The policy that runs: every predicate loaded, linked and configured, in evaluation order.
//!
//! Documents, and what makes one of these of them, are the crate above. Start at [`ActivePolicy`].

use std::sync::Arc;

use nodesift_sandbox::Module;

/// A loaded policy.
#[derive(Debug)]
pub struct ActivePolicy {
    /// Counts policies of this process; only ever rises.
    pub generation: u64,
    /// Pods of any other scheduler are foreign.
    pub scheduler_names: Vec<String>,
    /// In evaluation order.
    pub predicates: Vec<ActivePredicate>,
    /// Keys of the annotations that predicates may read, sorted by bytes, without duplicates.
    pub annotation_keys: Vec<String>,
}

/// A loaded predicate.
#[derive(Debug)]
pub struct ActivePredicate {
    /// The name in the policy.
    pub name: Arc<str>,
    /// When it runs.
    pub phases: Phases,
    /// What stands in for its verdict when it fails.
    pub on_error: OnError,
    /// The module itself.
    pub module: Module,
}

/// What stands in for the verdict of a predicate that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// No node fits: fail closed.
    #[default]
    Reject,
    /// The predicate has no say.
    Ignore,
}

/// Which part of a policy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// All predicates that may place a pod.
    Allocate,
    /// The subset that matters when a core only reserves a node.
    Reserve,
}

/// The phases in which a predicate runs; at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// [`Phase::Allocate`].
    pub allocate: bool,
    /// [`Phase::Reserve`].
    pub reserve: bool,
}

impl Phases {
    /// Both.
    pub const ALL: Self = Self { allocate: true, reserve: true };

    /// Whether a phase is among them.
    pub fn contains(self, phase: Phase) -> bool {
        match phase {
            Phase::Allocate => self.allocate,
            Phase::Reserve => self.reserve,
        }
    }
}
