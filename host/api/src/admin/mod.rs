//! Endpoints for operators: dumps, streams and metrics. No call of a core is answered here.
//!
//! ```text
//! state       GET /v1/state: nodes with their allocations and devices, pending pods, as one JSON document
//! partition   the totals in it
//! devices     pools of devices in it, each counted
//! events      GET /v1/events: allocations as they change, as JSON lines
//! parties       GET /v1/negotiations: negotiations with parties that have not ended
//! metrics     GET /metrics, over `exposition`
//! policy      GET /v1/policy: the active policy, and the last one that was refused
//! accounting  the accounting component in it
//! breaker     whether a module is called
//! shadow      GET /v1/policy/shadow: what is evaluated beside it, over `differences`
//! probes      GET /livez and GET /readyz
//! version     GET /version: version, revision, contract and policy
//! time        moments and durations in documents
//! exposition  the registry of all metrics as OpenMetrics text, with those of the process
//! ```
//!
//! Start with [`state`].

mod accounting;
mod breaker;
mod devices;
pub mod differences;
pub(crate) mod events;
pub mod exposition;
pub(crate) mod metrics;
pub(crate) mod parties;
mod partition;
pub(crate) mod policy;
pub(crate) mod probes;
pub(crate) mod shadow;
pub(crate) mod state;
pub(crate) mod time;
pub mod version;
