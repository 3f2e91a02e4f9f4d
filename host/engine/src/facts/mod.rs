//! The facts of one evaluation: one pod, one batch of rows, one snapshot, behind the functions of the contract.
//!
//! ```text
//! interfaces   the functions of the contract, one method each: implements nodesift_sandbox::Facts
//!   pods       facts about other pods           storage   facts about volumes and claims
//!   claims     the pod's claims of devices           devices   what rows see of devices
//!   parties    what external parties say of rows
//!   gathered   which rows see the same devices, and what selectors say of these
//!   lists      lists of numbers, each once
//!   matched    terms of pods on nodes that match the pod, by topology key
//!   ports      host ports of the pod against those in use
//!   rows       row sets from columns
//!   convert    compiled facts ↔ types of the contract
//! scoring_sums terms of pods that count in the pod's scores, added up
//! context      the pod, the batch and the snapshot
//! ```

mod claims;
mod context;
mod convert;
mod devices;
mod gathered;
mod interfaces;
mod lists;
mod matched;
mod parties;
mod pods;
mod ports;
mod rows;
mod scoring_sums;
mod storage;

pub use context::{Batch, Context};
pub(crate) use matched::ByKey;
pub(crate) use parties::untaken::untaken_classes;
pub(crate) use rows::{Tolerated, keeps_away};
