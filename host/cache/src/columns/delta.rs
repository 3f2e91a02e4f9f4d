//! The direction of a change: a pod, a term or a port is added to what a column counts, or removed from it.

/// Whether something is added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delta {
    /// Addition: it counts from now on.
    Add,
    /// Removal: it no longer counts.
    Remove,
}

impl Delta {
    /// 1 or -1: by how much a count of it changes.
    pub(crate) fn sign(self) -> i64 {
        match self {
            Self::Add => 1,
            Self::Remove => -1,
        }
    }

    /// Changes a count by one; removing from 0 leaves 0.
    pub(crate) fn apply_to(self, count: &mut u32) {
        *count = match self {
            Self::Add => count.saturating_add(1),
            Self::Remove => count.saturating_sub(1),
        };
    }
}
