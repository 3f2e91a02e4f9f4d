//! Change of a pod's account while the pod counts on a row. Start at [`AccountChange`].

use std::sync::Arc;

use crate::columns::Delta;
use crate::metadata::PodRecord;

/// A pod that counts on a row, before and after a change of its account alone.
#[derive(Debug)]
pub(crate) struct AccountChange {
    /// The pod as it counted.
    pub(crate) earlier: Arc<PodRecord>,
    /// The pod with its new account.
    pub(crate) pod: Arc<PodRecord>,
}

impl AccountChange {
    /// Returns the earlier state, which is removed, and the new one, which is added.
    pub(crate) fn states(&self) -> [(&Arc<PodRecord>, Delta); 2] {
        [(&self.earlier, Delta::Remove), (&self.pod, Delta::Add)]
    }

    /// Whether the usage differs, and not only the amounts added to sums.
    pub(crate) fn changes_usage(&self) -> bool {
        self.earlier.usage() != self.pod.usage()
    }
}
