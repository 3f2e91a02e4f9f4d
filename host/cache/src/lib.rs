//! The cache: what is known of the cluster, as columns over dense node rows.
//!
//! One [`Writer`] applies compiled nodes and pods and publishes; any number of [`Reader`]s take [`Snapshot`]s, which
//! never change and never block the writer. Nothing here decides anything about placement. Start with `writer` for
//! what an event does, `residents` for how a pod comes to count, `assumed` for what a core has
//! decided and no event has shown yet, `table` for which columns there are, `labels` for the columns that exist only on demand.

mod allocations;
mod assumed;
mod audit;
mod changes;
mod column;
mod counts;
mod failpoint;
mod holdings;
mod labels;
pub mod limits;
pub mod metadata;
mod metrics;
mod nominated;
mod overlay;
mod pods;
mod ports;
mod residents;
mod row_table;
mod sets;
mod snapshot;
mod state;
mod storage;
mod table;
mod terms;
mod unlisted;
mod workloads;
mod writer;

#[cfg(test)]
mod twin;

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use failpoint::panic_after;

pub use allocations::{AllocationChange, AllocationEvent};
pub use assumed::{AssumeError, Assumption, Placed};
pub use audit::Difference;
pub use changes::NodeInterface;
pub use column::Column;
pub use counts::{CountKey, Namespaces, PodClass};
pub use holdings::Holdings;
pub use labels::{Dictionary, LabelColumn, NOT_AN_INTEGER};
pub use metrics::Metrics;
pub use overlay::{Hypothesis, Overlay, OverlayError};
pub use pods::{PodIndex, Reader};
pub use ports::PortUse;
pub use row_table::Epoch;
pub use snapshot::Snapshot;
pub use state::State;
pub use storage::StorageTable;
pub use storage::attachments::{Attachments, CsiVolume, Obstacle, Owner, Placement, Uncounted, resolve};
pub use storage::usage::{VolumePods, VolumeUse};
pub use table::Resource;
pub use terms::MatchedTerm;
pub use workloads::Workloads;
pub use writer::{SharedWriter, Writer, new};

/// Dense index of a node in the node table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u32);

impl Row {
    /// The row as an index into columns.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Counts effective changes of the cache; only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);
