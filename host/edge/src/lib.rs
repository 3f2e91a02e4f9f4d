//! The edge: connections in, bytes within limits, drain at the end. It knows no call.
//!
//! Four mechanisms bound what a client can make the process hold and wait for:
//!
//! | mechanism | file | who gives way |
//! |---|---|---|
//! | connections of each listener | `places` | those that hold most, of these who are idle longest |
//! | bytes of each class of listeners | `budget`, `arrivals`, `unsent` | silent senders; the connection that leaves most unread |
//! | the deadline of each request | `body`, `unsent` | the request; its connection, where the answer is not read |
//! | stalls of reads and writes | `guarded_io`, `unsent` | the connection |
//!
//! ```text
//! server         accepts, names the layers of a connection, drains
//!   threads        those that serve the Unix socket, each alone with its connections
//!   guarded_io     timeouts of reads and writes, a budget of control frames
//!     frames         HTTP/2 frames in a stream of bytes
//!     control_budget frames that belong to no request
//!     authority      the `:authority` that gRPC clients send over a Unix socket
//!   joined_writes  small writes of a connection joined into one
//! listen         binds a TCP port on loopback and a Unix socket
//! tls            certificates from disk, reloaded when their files change
//! peer           where a request comes from, the one extension of each
//!   identity       the names in a client's certificate
//! places         places of connections and streams, and what their peers do
//! budget         memory that clients make the process hold: limits, and room taken and given back
//!   holders        those who hold bytes of a budget, of whom one gives way
//!   arrivals       room for bytes that arrive: silent senders give way
//!   intake         the budgets of each class of listeners for requests
//!   accounts       what each connection holds of a budget: the greediest that does not read gives way
//!   beginnings     since when it holds that, and since when its responses are sent
//!   unsent         responses that clients have not read, bounded in bytes and time
//! body           limits of one request body in bytes and time
//!   messages       those of a stream, as they arrive
//!   body_buffer    a body read whole
//! limits         every limit with its unit and reason
//! ```
//!
//! Start with [`server`].

mod accounts;
pub mod arrivals;
mod authority;
mod beginnings;
pub mod body;
pub mod body_buffer;
pub mod budget;
mod control_budget;
mod error;
mod frames;
mod guarded_io;
mod holders;
mod identity;
pub mod intake;
mod joined_writes;
pub mod limits;
pub mod listen;
pub mod messages;
mod peer;
pub mod places;
pub mod server;
mod threads;
pub mod tls;
pub mod unsent;

pub use error::Error;
pub use identity::Identity;
pub use peer::{Caller, Peer, SocketPeer};

/// An error of any kind, as bodies report it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
