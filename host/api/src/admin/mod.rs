//! Endpoints for operators: dumps, streams and metrics. No call of a core is answered here.
//!
//! ```text
//! state       GET /v1/state: nodes with their pods and devices, pending pods, as one JSON document
//! node_columns GET /v1/nodes: the node table by columns
//! amounts     amounts of a node by resource in it, and `totals`, the same of all nodes
//! pods        pods in it and in events
//! devices     pools of devices in it, each counted
//! yunikorn    nodes and pods in the words of YuniKorn's REST API, and `yunikorn_events`, events in those of its stream
//! events      GET /v1/events: allocations as they change, as JSON lines
//! event_lines one event as JSON
//! pending     GET /v1/pending: pending pods with their causes, in pages and groups, over `pending_groups`
//! why         /v1/why over HTTP: why one pod is pending, for a request in JSON, a manifest, or a pod of the cache
//! object      GET /v1/pods/NAMESPACE/NAME and GET /v1/nodes/NAME/object: objects as predicates see them
//! pod_history GET /v1/pods/NAMESPACE/NAME/history: the causes that a pod had, and which core asked about it
//! etag        answers of which the client has the newest already
//! names       names in paths
//! query       query strings, and `chunks` and `lazy`, documents that are encoded while they are sent
//! parties     GET /v1/negotiations: negotiations with parties that have not ended
//! metrics     GET /metrics, over `exposition`
//! policy      GET /v1/policy: the active policy, and the last one that was refused
//! scorer      scorers in it
//! component   fields of both predicates and scorers
//! policy_history GET /v1/policy/history: the last reloads
//! accounting  the accounting component in it
//! breaker     whether a module is called
//! kubernetes  the version of Kubernetes whose verdicts it gives
//! shadow      GET /v1/policy/shadow: what is evaluated beside it, over `differences`
//! probes      GET /livez and GET /readyz
//! access      GET /v1/access: what the caller may do
//! index       GET /: where the explorer is
//! version     GET /version: version, revision, contract and policy
//! time        moments and durations in documents
//! exposition  the registry of all metrics as OpenMetrics text, with those of the process
//! ```
//!
//! Start with [`state`].

pub(crate) mod access;
mod accounting;
mod amounts;
mod breaker;
mod chunks;
mod component;
mod devices;
pub mod differences;
mod etag;
mod event_lines;
pub(crate) mod events;
pub mod exposition;
pub(crate) mod index;
mod kubernetes;
mod lazy;
pub(crate) mod metrics;
mod names;
pub(crate) mod node_columns;
pub(crate) mod object;
pub(crate) mod parties;
pub(crate) mod pending;
mod pending_groups;
pub(crate) mod pod_history;
mod pods;
pub(crate) mod policy;
pub(crate) mod policy_history;
pub(crate) mod probes;
mod query;
mod scorer;
pub(crate) mod shadow;
pub(crate) mod state;
pub(crate) mod time;
mod totals;
pub mod version;
pub(crate) mod why;
mod yunikorn;
mod yunikorn_events;
