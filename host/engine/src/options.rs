//! Options of an answer: the snapshot, the policy, and pods and nodes that are not in the cache.

use std::sync::Arc;

use nodesift_cache::Snapshot;

use crate::query::Unknown;
use crate::shadow::Alternative;

/// How [`Engine::answer`](crate::Engine::answer) answers. By default from the newest snapshot, by the active policy, and with an error
/// where a pod or node is not in the cache.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    pub(crate) snapshot: Option<&'a Arc<Snapshot>>,
    pub(crate) alternative: Option<&'a Alternative>,
    pub(crate) unknown: Unknown,
}

impl<'a> Options<'a> {
    /// Answers from this snapshot, so that the caller can look up rows in the same one, or from one with an overlay.
    pub fn on(snapshot: &'a Arc<Snapshot>) -> Self {
        Self { snapshot: Some(snapshot), ..Self::default() }
    }

    /// Answers by an alternative in place of the active policy.
    #[must_use]
    pub fn with_alternative(self, alternative: &'a Alternative) -> Self {
        Self { alternative: Some(alternative), ..self }
    }

    /// Names pods and nodes that are not in the cache in the answer, as [`PodAnswer::error`](crate::PodAnswer::error) and
    /// [`Answer::unknown_nodes`](crate::Answer::unknown_nodes): they fail the query only where none of its nodes is in the cache, or
    /// beyond [`UNKNOWN_NODES`](crate::limits::UNKNOWN_NODES) of them. No pod of several takes more than its share of the time, and one
    /// that does has an error too.
    #[must_use]
    pub fn with_unknown_named(self) -> Self {
        Self { unknown: Unknown::AreNamed, ..self }
    }
}
