//! Objects in, compiled facts out: what is kept of a node, what a pod asks for.
//!
//! Pure functions of Kubernetes objects; nothing here knows the cache, the sandbox or a predicate. Start with `facts`
//! for what comes out, `compile` for how, [`requests`] for what a pod takes and a node gives, [`storage`] and
//! [`volumes`] for claims, volumes and what pods use of them.

mod compile;
mod facts;
mod pool;
pub mod requests;
mod selector;
mod storage;
mod template;
pub mod volumes;

pub use compile::{is_terminated, labels, node, pod, pod_record, served_resources};
pub(crate) use facts::value_of;
pub use facts::{Amounts, HostPort, Labels, NodeFacts, Ownership, PodFacts, PodRecord};
pub use pool::Pool;
pub use selector::{AntiAffinityTerm, LabelRequirement, PodSelector};
pub use storage::{
    Attachment, BindingMode, Capacity, Claim, Class, CsiDriver, CsiNode, StorageRecord, Volume, VolumeSource, storage,
};
