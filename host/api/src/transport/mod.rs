//! Connections and bodies: sockets in, bytes within limits, drain at the end. Nothing here knows a call.
//!
//! ```text
//! listen       binds a TCP port on loopback and a Unix socket
//! authority    the `:authority` that gRPC clients send over a Unix socket
//! tls          certificates from disk, reloaded when their files change
//! server       accepts, serves HTTP/1.1 and HTTP/2, drains
//!   io_timeout   timeouts of reads and writes that hyper does not have
//! budget       memory that clients make the process hold: limits, and room taken and given back
//!   unsent       responses that clients have not read, bounded in bytes and time
//! body         limits of one request body in bytes and time, and the memory budget of all bodies
//! body_buffer  a body read whole
//! ```
//!
//! Start with [`server`].

mod authority;
pub(crate) mod body;
pub(crate) mod body_buffer;
#[allow(dead_code, reason = "its users follow")]
pub(crate) mod budget;
mod io_timeout;
pub mod listen;
pub mod server;
pub mod tls;
pub(crate) mod unsent;
