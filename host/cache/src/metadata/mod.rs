//! Compiled facts: what the cache keeps of Kubernetes objects. Pure functions; nothing here knows the columns, the writer
//! or a predicate.
//!
//! | file | holds |
//! |---|---|
//! | `facts` | what is kept of a node and of a pod: start here |
//! | `account` | what a pod takes where a policy has an accounting component |
//! | `accountant` | what says that |
//! | `compile` | from a node or a pod to that |
//! | `devices` | ResourceSlices, and what allocated claims hold |
//! | `device_claims` | ResourceClaims and DeviceClasses |
//! | `label_test` | requirements on labels, prepared for many sets of labels |
//! | `labels` | labels and amounts as sorted lists |
//! | `moments` | the times that a node names |
//! | `node_selector` | node selectors over labels and names of nodes |
//! | `selection` | what is compiled for some policies alone |
//! | `selector` | label selectors over pods, anti-affinity terms |
//! | [`requests`] | what a pod requests and a node offers, in whole numbers |
//! | `storage` | storage objects |
//! | [`volumes`] | volumes of pods |
//! | `pod_claims` | claims on devices that a pod names, and extended resources that it asks for |
//! | `pool` | equal texts, labels and facts kept once |
//! | `template` | what decides the facts of a pod, as bytes |

mod account;
mod accountant;
mod compile;
mod device_claims;
pub(crate) mod devices;
mod facts;
mod label_test;
mod labels;
mod moments;
mod node_selector;
mod pod_claims;
mod pool;
pub mod requests;
mod selection;
mod selector;
mod storage;
mod template;
pub mod volumes;

pub use account::{Account, AccountFault, Sums};
pub use accountant::{Accountant, Accounted, AccountedNode, Watermark};
pub use compile::{is_terminated, node, node_selecting, pod, pod_record, pod_record_selecting, pod_selecting};
pub use device_claims::{
    AllocationRecord, ClaimRecord, ClassRecord, Configurations, DeviceBinding, device_class, resource_claim,
};
pub use devices::{
    Amount, AmountRange, BindingConditions, DeviceCapacity, DeviceId, DeviceTraits, Hold, NanoAmounts, PoolName,
    SetConsumption, SliceRecord, TaintRuleRecord,
};
pub use facts::{
    Conditions, HostPort, ImageFacts, NodeFacts, NonZeroUsage, ObjectFacts, ObjectText, OwnerFacts, Ownership,
    PendingFacts, PodFacts, PodPreferences, PodRecord, SpecFacts,
};
pub(crate) use label_test::LabelTest;
pub use labels::{Amounts, Labels, config_entries, labels};
pub(crate) use labels::{amount_of, value_of};
pub use moments::{Moment, Moments, NO_TIME};
pub use node_selector::NodeSelectorTest;
pub(crate) use node_selector::quoted;
pub use pod_claims::{ClaimReference, ContainerResource, ContainerResources, PodClaim, PodClaims};
pub use pool::Pool;
pub(crate) use pool::Shared;
pub use selection::Selection;
pub(crate) use selector::Clue;
#[cfg(test)]
pub(crate) use selector::STEPS;
pub use selector::{AntiAffinityTerm, LabelRequirement, PodSelector, ScoringTerm};
pub use storage::{
    Attachment, BindingMode, Capacity, Claim, Class, CsiDriver, CsiNode, Exact, StorageRecord, Volume, VolumeSource,
    storage,
};
