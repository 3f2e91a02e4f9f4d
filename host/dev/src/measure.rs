//! Measurements, shared by `nodesift-dev bench` and the benchmarks of the workspace.
//!
//! ```text
//! testbed  a cluster in a cache, with pods to evaluate and changes between evaluations
//! rounds   one piece of work, timed many times: medians and quantiles
//! pods     one pod over all nodes: cold, warm, and after one pod was bound
//! events   a preemption dry run, and a pod event in the cache
//! claims   a cluster with devices, pods with claims over all nodes, and expressions that are new
//! ```
//!
//! Everything runs on the calling thread. What `nodesift-dev bench` prints, and the socket, are in `bench`. Start at
//! [`Testbed`].

pub mod claims;
pub mod events;
pub mod pods;
mod rounds;
mod testbed;

pub use pods::NativeTimes;
pub use rounds::{Times, timed};
pub use testbed::{REPLICAS, Template, Testbed, TestbedError};
