//! What the benchmarks measure and how: a cluster with pods to ask about, changes between questions, rounds and medians.
//!
//! `nodesift bench` prints what comes out; the benchmarks of the workspace use the same cluster and the same rounds.
//! Everything here runs on the thread that calls. Start at [`Ground`]; [`pods`] measures questions about one pod, [`events`]
//! what the cache and a preemption question take.

pub mod events;
mod ground;
pub mod pods;
mod rounds;

pub use ground::{Ground, GroundError, PODS_EACH, Template};
pub use pods::NativeTimes;
pub use rounds::{Times, timed};
