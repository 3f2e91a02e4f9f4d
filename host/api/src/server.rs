//! Listeners that serve the [`router`](crate::router) until they are drained.

pub use nodesift_edge::server::Drained;

/// A server of the API: see [`nodesift_edge::server`].
pub type Server = nodesift_edge::server::Server<axum::Router>;
