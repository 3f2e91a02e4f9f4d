//! The calls of `nodesift.v1`, whatever the protocol: messages in, messages out.
//!
//! ```text
//! driver             runs any `Call`: consistency, cached answers, slots, retries; the one way to an answer
//! filter · explain   which nodes fit, and why the others do not
//! why                why one pod is pending
//!   why_message      the engine's explanation → its message
//!   manifest         a manifest in YAML → the pod that it asks for
//! yunikorn           YuniKorn's three predicate calls, with its error texts
//! reprieve           which victims preemptions on many nodes need
//! headroom           how much more a pod may take of its node
//!   request          fields of requests → pods and nodes of the engine; errors name the field
//!   overlay          hypothetical overlays → snapshots
//!   response         the engine's answers → messages
//! decision           calls that are carried out once: Assume, Forget, Release
//! local              the same for a caller in this process, without a service
//! capabilities       which calls, phases, contracts and limits there are, and what the policy evaluates
//! assume             Assume, Forget: decisions of a core → the cache's writer
//!   plan             the request, checked; what it would do
//!   check            what an Assume evaluates first: whether the pod fits, which devices its claims get
//!   locked_time      how long all of that may keep the cache's lock
//!   changes          the same inside a Filter request, before its pods are evaluated
//! node_index         which node is in which row, as the difference from what a core knows
//! node_index_stream  NodeIndex: that difference as a stream
//! ```
//!
//! Bytes are the business of [`protocols`](crate::protocols). Start with [`driver`].

pub mod assume;
pub(crate) mod capabilities;
pub(crate) mod changes;
mod check;
pub(crate) mod decision;
pub(crate) mod driver;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod headroom;
pub mod local;
pub(crate) mod locked_time;
mod manifest;
mod node_index;
pub(crate) mod node_index_stream;
mod overlay;
mod plan;
pub(crate) mod reprieve;
pub(crate) mod request;
pub mod response;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod why;
mod why_message;
pub(crate) mod yunikorn;
