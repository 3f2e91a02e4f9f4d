//! The facts of one evaluation: one pod, one batch of rows, one snapshot, behind the functions of the contract.
//!
//! `context` implements [`Facts`](nodesift_sandbox::Facts): start with [`Context`]. `pods` has the facts about other pods,
//! `storage` those about volumes and claims.

mod context;
mod pods;
mod storage;

pub use context::{Batch, Context};
