//! Whether a request is answered now, later or not at all.
//!
//! ```text
//! readiness    before the initial lists are complete, and during a drain: refuse, or report it at /readyz
//! staleness    how long the source has been silent; whether responses are marked or refused for it
//! consistency  the minimum versions of a request, and the wait for the snapshot that shows them
//!   version_waiters  who waits for which version
//! deadline     the time for a request
//! scope        what travels with a request: deadline, room, peer
//! askers       who asks about pods, as the number that the engine notes
//! slots        one evaluation slot per core, the queue for them, and its backpressure
//! requests     requests that have ended, counted and timed by call and code
//! metrics      what all of this counts
//! ```
//!
//! Nothing here decodes a call, and no wait here holds a thread. Start with [`slots`].

pub(crate) mod askers;
pub(crate) mod consistency;
pub(crate) mod deadline;
pub(crate) mod metrics;
pub(crate) mod readiness;
pub(crate) mod requests;
pub(crate) mod scope;
pub(crate) mod slots;
pub(crate) mod staleness;
pub(crate) mod version_waiters;
