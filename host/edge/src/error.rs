//! Why the edge refuses a request, its body or its answer.

/// A limit of the edge that a request has met, or a body that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The body is larger than configured.
    #[error("the request body is larger than {limit} bytes (see --max-body-bytes)")]
    BodyTooLarge {
        /// Most bytes of a body.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the request body did not arrive before the deadline of the request")]
    BodyTooSlow,
    /// The sender of a body that made no progress lost its memory to other requests.
    #[error(
        "the rest of the request body did not follow, and other requests needed its memory: send it whole, and try again"
    )]
    BodyGaveWay,
    /// The body ended early or its framing is broken.
    #[error("the request body cannot be read: {reason}")]
    BodyBroken {
        /// Error message of the transport.
        reason: String,
    },
    /// The client has not read the responses that it has on this connection.
    #[error("the responses that this connection has not read take too much memory: read them first")]
    Unread,
    /// The process holds as much for its clients as it may.
    #[error("there is no memory for more requests: try again later")]
    Overloaded,
}
