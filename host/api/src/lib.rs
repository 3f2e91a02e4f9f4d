//! The API of the sidecar: what a scheduler core, kube-scheduler, a probe or an operator can call.
//!
//! ```text
//! router      the routes of the table, behind `middleware`: access, body limits, send stalls, containment of panics
//! contained_body  bodies of responses that panic while they are sent
//! routes      the table of calls: name, class, paths and handlers of each
//! protocols   bytes ↔ messages: gRPC nodesift.v1, the same as JSON over HTTP, kube-scheduler's extender
//! calls       messages → answers: Filter, Explain, YuniKorn's calls, Assume, NodeIndex; `driver` runs them all
//! parties     the seam to whoever negotiates with external parties: a trait, and what a `Service` does for it
//! explorer    the page for browsers, and the calls that it makes, on a listener of its own
//! admin       dumps, event streams, metrics
//! service     engine, cache and admission behind all of these; the ways off the I/O threads
//! access      who may call: Host and Origin, names in client certificates, rights by class of call
//! admission   readiness, staleness, consistency, evaluation slots and their queue
//! server      connections, TLS, bodies within limits, drain: those of `nodesift-edge`, which serve the router
//! paths       where calls are and of which class, for the rooms below the table
//! request_log one log line per refused or slow request
//! error       the one place that maps failures to gRPC codes and HTTP statuses
//! limits      every limit with its unit and reason
//! ```
//!
//! A room uses those below it. The crate holds no scheduling logic (`nodesift-engine`) and no
//! cluster state (`nodesift-cache`). Start with [`calls::driver`](calls), then [`server`].

pub mod access;
mod admin;
mod admission;
mod calls;
mod contained_body;
mod error;
pub mod explorer;
#[cfg(debug_assertions)]
pub mod failpoint;
pub mod limits;
mod middleware;
pub mod parties;
mod paths;
mod protocols;
mod request_log;
pub mod router;
mod routes;
pub mod server;
mod service;

pub use admin::time::rfc3339;
pub use admin::{differences, exposition, version};
pub use admission::metrics::Metrics;
pub use admission::readiness::{Latch, Readiness, Stopped};
pub use admission::scope::RequestScope;
pub use admission::staleness::{Age, Staleness};
pub use calls::{assume, local, response};
pub use error::Error;
pub use middleware::BodyLimit;
pub use nodesift_edge::budget::ListenerClass;
pub use nodesift_edge::{listen, tls};
pub use service::{Service, Settings};
