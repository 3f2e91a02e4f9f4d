//! Who may call: checks of the head of a request, before anything of its body is read.
//!
//! ```text
//! hosts     Host and Origin over TCP: no web page reaches the sidecar through a browser
//! rights    which names may make which class of call
//! ```
//!
//! The right to use the Unix socket is the mode of its file, so nothing is checked there but the media type of bodies. Start
//! at [`Access::check`].

mod hosts;
mod rights;

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::Method;
use nodesift_edge::Peer;

use crate::Error;
use crate::paths::{self, Class};
use crate::protocols::json::media_type;
pub use hosts::{HostName, Hosts};
pub(crate) use nodesift_edge::Identity;
pub use nodesift_edge::{Caller, SocketPeer};
pub use rights::Rights;

/// The configuration of all checks. The default is that of a listener on loopback without certificates.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The names by which the sidecar may be called.
    pub hosts: Hosts,
    /// The clients that may make each class of call.
    pub rights: Rights,
    /// Whether anybody may come: then nothing is said that names a pod or a node.
    pub open: bool,
}

/// Whether a probe or a scraper may be told the names of pods and nodes, or their number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MayName(pub(crate) bool);

impl Access {
    /// No check over TCP, for a listener that has nothing to protect.
    pub(crate) fn open() -> Self {
        Self { hosts: Hosts::any(), rights: Rights::default(), open: true }
    }

    /// Who may read about pods and nodes may be told their names by probes and metrics, too, which need no right.
    pub(crate) fn may_name(&self, caller: &Caller) -> MayName {
        MayName(match caller {
            _ if self.open => false,
            Caller::Socket { .. } => true,
            Caller::Tcp { identity } => self.rights.check(Class::Read, identity.as_deref()).is_ok(),
        })
    }

    /// Admits a request for a call of a class, or says what is missing.
    ///
    /// # Errors
    ///
    /// [`Error::MediaType`], [`Error::NoHost`], [`Error::ForeignHost`], [`Error::ForeignOrigin`], [`Error::Denied`].
    pub(crate) fn check(&self, request: &Request, class: Class) -> Result<(), Error> {
        let path = request.uri().path();
        // A request that no listener has marked has come over nothing that is trusted.
        let caller = request.extensions().get::<Peer>().map_or(&Caller::ANONYMOUS, |peer| &peer.caller);
        if let Caller::Tcp { identity } = caller {
            self.hosts.check(request, class == Class::Page)?;
            self.rights.check(class, identity.as_deref())?;
        }
        // A browser sends a body of no type across sites without asking first.
        if request.method() == Method::POST && !paths::is_grpc(path) && !request.body().is_end_stream() {
            // Nor does it send a manifest.
            if path != paths::MANIFESTS || !media_type::is_yaml(request.headers()) {
                media_type::check_body(request.headers())?;
            }
        }
        Ok(())
    }
}

/// Who makes a request: for rights that depend on what it asks for, and not on its path alone.
#[derive(Debug, Clone)]
pub struct CallerRights {
    access: Arc<Access>,
    caller: Caller,
}

impl CallerRights {
    pub(crate) fn new(access: Arc<Access>, caller: Caller) -> Self {
        Self { access, caller }
    }

    /// Returns the caller, to compare it with others.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Refuses a caller that may not make calls of a class.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`].
    pub(crate) fn check(&self, class: Class) -> Result<(), Error> {
        match &self.caller {
            Caller::Socket { .. } => Ok(()),
            Caller::Tcp { identity } => self.access.rights.check(class, identity.as_deref()),
        }
    }

    /// Refuses a caller that may not attend as a party.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`].
    pub fn check_party(&self, party: &str) -> Result<(), Error> {
        match &self.caller {
            Caller::Socket { peer } => self.access.rights.check_user(party, peer.map(|peer| peer.uid)),
            Caller::Tcp { identity } => self.access.rights.check_party(Some(party), identity.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Body;

    use super::*;

    #[test]
    fn names_are_for_those_who_may_read_about_pods_and_nodes() {
        let listed = Rights::new(&["core".to_owned()], &[], &[]);
        let (socket, named) = (Caller::Socket { peer: None }, |name: &str| Caller::Tcp {
            identity: Some(Arc::new(Identity::named(&[name]))),
        });
        let of = |rights: &Rights, open| Access { rights: rights.clone(), open, ..Access::default() };
        for (access, caller, may) in [
            (of(&Rights::default(), false), Caller::ANONYMOUS, true),
            (of(&listed, false), Caller::ANONYMOUS, false),
            (of(&listed, false), named("other"), false),
            (of(&listed, false), named("core"), true),
            (of(&listed, false), socket.clone(), true),
            (Access::open(), Caller::ANONYMOUS, false),
            (Access::open(), socket, false),
        ] {
            assert_eq!(access.may_name(&caller), MayName(may), "{access:?} {caller:?}");
        }
    }

    #[test]
    fn a_request_that_no_listener_has_marked_is_treated_as_one_over_tcp() {
        let access = Access::default();
        let request = |host| Request::builder().uri("/v1/state").header("host", host).body(Body::empty()).unwrap();
        assert!(access.check(&request("localhost"), Class::Read).is_ok());
        assert!(matches!(access.check(&request("evil.example"), Class::Read), Err(Error::ForeignHost { .. })));
        let mut over_socket = request("evil.example");
        over_socket.extensions_mut().insert(Peer { caller: Caller::Socket { peer: None }, ..Peer::default() });
        assert!(access.check(&over_socket, Class::Read).is_ok());
    }
}
