//! Connections and bodies: sockets in, bytes within limits, drain at the end. Nothing here knows a call.
//!
//! ```text
//! listen       binds a TCP port on loopback and a Unix socket
//! authority    the `:authority` that gRPC clients send over a Unix socket
//! tls          certificates from disk, reloaded when their files change
//! server       accepts, serves HTTP/1.1 and HTTP/2, drains
//!   threads      those that serve the Unix socket, each alone with its connections
//!   io_timeout   timeouts of reads and writes that hyper does not have
//!   control_frames  a budget of HTTP/2 frames that belong to no request
//!   joined_writes  small writes of a connection joined into one
//! places       the connections of a listener, and what their peers do: idle ones leave when others come
//! budget       memory that clients make the process hold: limits, and room taken and given back
//!   arrivals     room for bytes that arrive: silent senders give way
//!   intake       the budgets of each class of listeners for requests
//!   accounts     what each connection holds of a budget: the greediest that does not read gives way
//!   beginnings   since when it holds that, and since when its responses are sent
//!   unsent       responses that clients have not read, bounded in bytes and time
//! body         limits of one request body in bytes and time
//!   messages     those of a stream, as they arrive
//! body_buffer  a body read whole
//! spawned      a task that ends with whoever waits for it
//! ```
//!
//! Start with [`server`].

use axum::http::{HeaderMap, header};

mod accounts;
pub(crate) mod arrivals;
mod authority;
mod beginnings;
pub(crate) mod body;
pub(crate) mod body_buffer;
pub(crate) mod budget;
mod control_frames;
pub(crate) mod intake;
mod io_timeout;
mod joined_writes;
pub mod listen;
pub(crate) mod messages;
pub(crate) mod places;
pub mod server;
pub(crate) mod spawned;
mod threads;
pub mod tls;
pub(crate) mod unsent;

/// Whether the headers of a request or a response say that it is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|found| found.as_bytes().starts_with(b"application/grpc"))
}
