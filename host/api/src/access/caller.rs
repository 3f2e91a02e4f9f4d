//! The connection that a request came over. The [`server`](crate::server) adds it to the extensions of every request.

use std::sync::Arc;

use nodesift_negotiation::{Class, Owner};

use super::Identity;
use crate::ListenerClass;

/// The process at the other end of a Unix socket, as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketPeer {
    /// Its user.
    pub uid: u32,
    /// Itself; none where it is in a namespace that cannot be seen from here.
    pub pid: Option<u32>,
}

/// The connection that a request came over; clones are cheap.
#[derive(Debug, Clone)]
pub enum Caller {
    /// The Unix socket. Whoever may write to its file may make every call.
    Socket {
        /// The process that has connected, where the kernel knows it.
        peer: Option<SocketPeer>,
    },
    /// TCP, with what the client's certificate says; none without one.
    Tcp {
        /// The names in the certificate.
        identity: Option<Arc<Identity>>,
    },
}

impl Caller {
    /// A client over TCP that has shown no certificate.
    pub const ANONYMOUS: Self = Self::Tcp { identity: None };

    /// Who it is, for what is kept beyond a request: over the socket the user, over TCP the names of the certificate.
    pub(crate) fn owner(&self) -> Owner {
        let (class, identity) = match self {
            Self::Socket { peer } => (Class::Local, peer.map(|peer| format!("uid:{}", peer.uid))),
            Self::Tcp { identity } => (Class::Remote, identity.as_ref().map(ToString::to_string)),
        };
        Owner { class, identity: identity.unwrap_or_default().into() }
    }

    /// The class of its listener.
    pub(crate) fn listener(&self) -> ListenerClass {
        match self {
            Self::Socket { .. } => ListenerClass::Unix,
            Self::Tcp { .. } => ListenerClass::Tcp,
        }
    }
}
