//! What changes where an accountant says something else of a pod. Start at [`AccountChange`].

use std::sync::Arc;

use crate::columns::Delta;
use crate::metadata::PodRecord;

/// A pod that counts on a row, and of which nothing but the account is another.
#[derive(Debug)]
pub(crate) struct AccountChange {
    /// The pod as it counted.
    pub(crate) earlier: Arc<PodRecord>,
    /// As it counts now.
    pub(crate) pod: Arc<PodRecord>,
}

impl AccountChange {
    /// What is removed, and what is added.
    pub(crate) fn states(&self) -> [(&Arc<PodRecord>, Delta); 2] {
        [(&self.earlier, Delta::Remove), (&self.pod, Delta::Add)]
    }

    /// Whether it uses something else than before, and does not only add something else to sums.
    pub(crate) fn changes_usage(&self) -> bool {
        self.earlier.usage() != self.pod.usage()
    }
}
