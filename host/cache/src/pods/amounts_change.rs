//! Change of what a pod takes while it counts on a row. Start at [`AmountsChange`].

use std::sync::Arc;

use crate::columns::Delta;
use crate::metadata::PodRecord;

/// A pod that counts on a row, before and after a change of nothing but what it takes.
#[derive(Debug)]
pub(crate) struct AmountsChange {
    /// The pod as it counted.
    pub(crate) earlier: Arc<PodRecord>,
    /// The pod with what it takes now.
    pub(crate) pod: Arc<PodRecord>,
}

impl AmountsChange {
    /// Returns the earlier state, which is removed, and the new one, which is added.
    pub(crate) fn states(&self) -> [(&Arc<PodRecord>, Delta); 2] {
        [(&self.earlier, Delta::Remove), (&self.pod, Delta::Add)]
    }

    /// Whether the usage differs, and not only the amounts added to sums.
    pub(crate) fn changes_usage(&self) -> bool {
        self.earlier.usage() != self.pod.usage()
    }
}
