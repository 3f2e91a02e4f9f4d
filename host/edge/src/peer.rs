//! Where a request comes from. The [`server`](crate::server) adds it to the extensions of every request, as the only one.

use std::sync::Arc;

use tokio::time::Instant;

use crate::Identity;
use crate::budget::ListenerClass;
use crate::places::Activity;
use crate::unsent::Unsent;

/// The connection that a request came over, and when the request began.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The client, as far as it is known.
    pub caller: Caller,
    /// Activity of the connection.
    pub activity: Activity,
    /// Responses that the connection has not read; none where no server has made the request, as in tests.
    pub unsent: Option<Unsent>,
    /// When the first byte of the request arrived, where that is known.
    pub began: Option<Instant>,
    /// Whether it came over the listener of the explorer.
    pub is_explorer: bool,
}

impl Peer {
    /// The class of the listener that it has connected to.
    pub fn listener(&self) -> ListenerClass {
        match &self.caller {
            Caller::Socket { .. } => ListenerClass::Unix,
            Caller::Tcp { .. } if self.is_explorer => ListenerClass::Explorer,
            Caller::Tcp { .. } => ListenerClass::Tcp,
        }
    }
}

impl Default for Peer {
    fn default() -> Self {
        let caller = Caller::ANONYMOUS;
        Self { caller, activity: Activity::default(), unsent: None, began: None, is_explorer: false }
    }
}

/// The process at the other end of a Unix socket, as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketPeer {
    /// User ID of the process.
    pub uid: u32,
    /// ID of the process; none where it is in a namespace that cannot be seen from here.
    pub pid: Option<u32>,
}

/// The client at the other end of a connection; clones are cheap.
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

    /// Returns who it is, for what is kept beyond a request: over the socket the user, over TCP the names of the certificate; empty where
    /// that is not known.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Socket { peer } => peer.map(|peer| format!("uid:{}", peer.uid)),
            Self::Tcp { identity } => identity.as_ref().map(ToString::to_string),
        };
        name.unwrap_or_default()
    }

    /// Whether a stream of another connection is surely of the same peer: of the same process, or of the same certificate.
    pub fn is_same_peer(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Socket { peer: Some(own) }, Self::Socket { peer: Some(other) }) => own.pid.is_some() && own == other,
            (Self::Tcp { identity: Some(own) }, Self::Tcp { identity: Some(other) }) => own == other,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_the_same_only_where_that_is_known() {
        let process = |uid, pid| Caller::Socket { peer: Some(SocketPeer { uid, pid }) };
        let named = |name: &str| Caller::Tcp { identity: Some(Arc::new(Identity::named(&[name]))) };
        assert!(process(1, Some(2)).is_same_peer(&process(1, Some(2))) && named("a").is_same_peer(&named("a")));
        for (one, other) in [
            (process(1, Some(2)), process(1, Some(3))),
            (process(1, Some(2)), process(2, Some(2))),
            (process(1, None), process(1, None)),
            (Caller::Socket { peer: None }, Caller::Socket { peer: None }),
            (Caller::ANONYMOUS, Caller::ANONYMOUS),
            (named("a"), named("b")),
            (named("a"), process(1, Some(2))),
        ] {
            assert!(!one.is_same_peer(&other), "{one:?} {other:?}");
        }
    }
}
