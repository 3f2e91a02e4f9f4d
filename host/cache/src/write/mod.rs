//! The one writer: events in, columns changed, snapshots published.
//!
//! | file | holds |
//! |---|---|
//! | `writer` | the writer, publication, and the one path on which pods change columns: start here |
//! | `nodes` | nodes that come, change and go |
//! | `placement` | which pods are on which node, and how a pod gets there |
//! | `record` | objects of every kind: applied, removed, compared with a source |
//! | `namespaces` | namespaces that come, change and go |
//! | `devices` | devices that claims hold |
//! | `claims` | ResourceClaims, DeviceClasses, allocations in flight |
//! | `assumed` | pods that a core has placed before a watch event shows them bound |
//! | `gone` | UIDs of pods that were deleted or have ended |
//! | `start` | the state at the start, of which there are no events |
//! | `events` | changes of pods on nodes, as they are kept and sent |
//! | `event_log`, `history` | the last events of all nodes, and those of each node |
//! | `allocations` | events recorded and published |
//! | `ownership` | which pods are foreign, under another policy |
//! | `accounts` | what pods and nodes take, by the accountant of a policy |
//! | `recount` | accounts by the accountant of another policy |
//! | `parties` | what external parties say of nodes |
//! | `sums` | which named sums there are |
//! | `watermarks` | which nodes are above watermarks of named sums |
//! | `repair` | nodes recounted after drift or an interrupted change |
//! | `held` | nodes and pods in the cache, compared with a source |
//! | `metrics` | counters of assumptions |
//! | `failpoint`, `defect` | where a test can interrupt a change or break a cell |

mod accounts;
mod allocations;
mod assumed;
mod claims;
#[cfg(debug_assertions)]
mod defect;
mod devices;
mod event_log;
mod events;
pub(crate) mod failpoint;
mod gone;
mod held;
mod history;
mod metrics;
mod namespaces;
mod nodes;
mod ownership;
mod parties;
mod placement;
mod record;
mod recount;
mod repair;
mod start;
mod sums;
mod watermarks;
mod writer;

#[cfg(test)]
pub(crate) mod model;

pub use accounts::{CurrentAccountant, UnknownAccounts};
pub use allocations::Following;
pub use assumed::{AssumeError, Assumption, Overdue, Placed, Plan};
pub use event_log::{EventReader, LostEvents};
pub use events::{AllocationChange, AllocationEvent, Event, EventPod, FreeChange, WatermarkEvent, WeighingPod};
pub use metrics::Metrics;
pub use record::{Identity, Record};
pub use writer::{SharedWriter, Writer, new};
