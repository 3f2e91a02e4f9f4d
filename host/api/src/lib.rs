//! What a scheduler core can call: gRPC `nodesift.v1`, the same as JSON over HTTP, kube-scheduler's extender, probes.
//!
//! Every protocol is a thin edge around one [`Service`]: decode, let it answer, encode.
//!
//! ```text
//! server    sockets in, connections with their limits, drain; `tls` over TCP where there are certificates
//! router    paths → handlers; every request bounded and contained by `guard`, its body by `body`, its answer by `answers`
//!   grpc · json · extender · health · metrics   one file per dialect
//!   state · events                       dumps and streams for operators, plain JSON
//! service   readiness, evaluation slots (`slots`): the one place where evaluation runs
//!   request      nodesift.v1 messages → engine::Question
//!   overlay      what a request supposes → the snapshot that would be
//!   consistency  what a request wants to have been seen, and the wait for it
//!   staleness    how old what is known may be
//!   yunikorn     YuniKorn's calls, in its own words
//!   row_table    which node is in which row, for answers as bitmaps; the stream that follows it
//!   assume       what a core has decided → the cache's writer
//!   response     engine::Answer → nodesift.v1 messages
//! error     the one place that maps failures to gRPC and HTTP statuses
//! ```
//!
//! Start with [`service`], then [`server`].

mod answers;
pub mod assume;
mod body;
pub mod consistency;
pub mod error;
mod events;
pub mod exposition;
pub mod extender;
mod gathered;
mod grpc;
pub mod guard;
pub mod health;
pub mod json;
pub mod limits;
pub mod listen;
mod metrics;
mod overlay;
pub mod patience;
pub mod request;
pub mod response;
pub mod router;
mod row_table;
pub mod server;
pub mod service;
mod slots;
mod staleness;
mod state;
pub mod tls;
mod yunikorn;

pub use error::Error;
pub use health::Readiness;
pub use metrics::Metrics;
pub use service::{Service, Settings};
pub use staleness::{Age, Staleness};
