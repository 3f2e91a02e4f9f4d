//! The connection that a request came over. The [`server`](crate::server) adds it to the extensions of every request.

use std::sync::Arc;

use super::Identity;
use crate::ListenerClass;

/// The connection that a request came over; clones are cheap.
#[derive(Debug, Clone)]
pub enum Caller {
    /// The Unix socket. Whoever may write to its file may make every call.
    Socket,
    /// TCP, with what the client's certificate says; none without one.
    Tcp {
        /// The names in the certificate.
        identity: Option<Arc<Identity>>,
    },
}

impl Caller {
    /// A client over TCP that has shown no certificate.
    pub const ANONYMOUS: Self = Self::Tcp { identity: None };

    /// The class of its listener.
    pub(crate) fn listener(&self) -> ListenerClass {
        match self {
            Self::Socket => ListenerClass::Unix,
            Self::Tcp { .. } => ListenerClass::Tcp,
        }
    }
}
