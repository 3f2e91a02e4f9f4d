//! The cache: what is known of the cluster, as columns over dense node rows.
//!
//! One [`Writer`] applies compiled nodes and pods and publishes; any number of [`Reader`]s take [`Snapshot`]s, which never
//! change and never block the writer. Nothing here decides about the placement of pods.
//!
//! | folder | holds | start with |
//! |---|---|---|
//! | [`metadata`] | compiled facts of Kubernetes objects | `facts` |
//! | `columns` | columns, label columns, dictionaries, the change log | `column` |
//! | `pods` | the pod index, counts of pods, anti-affinity | `index` |
//! | `objects` | storage objects, workloads, volumes in use | `storage` |
//! | `devices` | pools of devices, and what each row sees of them | `model` |
//! | `claims` | ResourceClaims, DeviceClasses, devices that claims hold | `table` |
//! | `parties` | what external parties have said of nodes | `answers` |
//! | `nodes` | the node table: all columns about nodes | `table` |
//! | `read` | snapshots, overlays, strips, the reader | `snapshot` |
//! | `write` | the writer, placement, assumed pods, repair | `writer` |
//! | `health` | the audit, memory stats | `audit` |
//!
//! A folder uses only those above it; [`limits`] serves all. `semantics` has the rules that differ between versions of Kubernetes.

mod claims;
mod columns;
mod devices;
mod health;
pub mod limits;
pub mod metadata;
mod nodes;
mod objects;
mod parties;
mod pods;
mod read;
mod semantics;
mod write;

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use write::failpoint::panic_after;

pub use claims::{ClaimObstacle, ClaimRules, Claims, ExtendedClaim, InFlightError, PodHolds, Resolved};
pub use columns::change_log::NodeInterface;
pub use columns::column::Column;
pub use columns::drift::Drift;
pub use columns::labels::LabelColumn;
pub use columns::row::{Generation, Row};
pub use columns::{Dictionary, NOT_AN_INTEGER};
pub use devices::{
    Device, DeviceNodes, DeviceRules, Devices, Draws, PoolState, Reaches, SeenCounter, SeenDevice, SeenPool, SeenPools,
    Traits,
};
pub use health::MemoryStats;
pub use metadata::Moment;
pub use nodes::{EncodedNames, Epoch, NodeNames, Own, PortUse, Resource};
pub use objects::{
    Attachments, Binding, CsiVolume, MigratedPlugins, ObjectRecord, Obstacle, Owner, StorageTable, Uncounted,
    VolumePods, VolumeUse, Workloads, resolve,
};
pub use parties::{NodeAnswers, PartyAnswers};
pub use pods::{
    ControlledPods, ControllerRows, CountKey, MatchedScoringTerm, MatchedTerm, Namespaces, PodClass, PodIndex, SumKey,
    TermOwner,
};
pub use read::{Overlay, OverlayBuilder, OverlayError, Reader, Snapshot, State};
pub use semantics::{SelectorRules, Semantics};
pub use write::{
    AllocationChange, AllocationEvent, AssumeError, Assumption, CurrentAccountant, Event, EventPod, EventReader,
    Following, FreeChange, Identity, LostEvents, Metrics, Overdue, Placed, Plan, Record, SharedWriter, UnknownAccounts,
    WatermarkEvent, WeighingPod, Writer, new,
};
