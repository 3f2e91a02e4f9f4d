//! The protocols: bytes ↔ messages, and nothing of how they are answered.
//!
//! ```text
//! answers      responses, each described once for all encodings
//! grpc         nodesift.v1 over gRPC; tonic's own refusals with the codes of this API
//! health       grpc.health.v1.Health, for probes
//! reflection   the proto, for clients that read it from the server
//! json         the same calls as POST /v1/<call>, in the protobuf JSON mapping
//!   codec      decoding and encoding of documents
//!   media_type Content-Type and Accept
//!   message    responses → documents
//! document     JSON responses that are encoded while they are sent
//! extender     kube-scheduler's extender: POST /extender/filter, POST /extender/preempt
//!   go_object  objects as Go's encoding/json reads them
//! ```
//!
//! Every call that is answered from a snapshot ends in [`driver::run`](crate::calls::driver::run). Start with [`json`].

pub(crate) mod answers;
pub(crate) mod document;
pub(crate) mod extender;
pub(crate) mod grpc;
pub(crate) mod health;
pub(crate) mod json;
pub(crate) mod reflection;

#[cfg(test)]
mod tests;
