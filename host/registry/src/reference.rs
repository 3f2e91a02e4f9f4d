//! Where a module is: a registry, a repository, and a tag or digest. Start at [`Address::parse`].

use std::fmt;
use std::net::IpAddr;

use oci_spec::distribution::Reference;
use reqwest::Url;

use crate::hosts::Hosts;
use crate::network::{Network, host_of};

/// Prefix of references on the command line.
pub const SCHEME: &str = "oci://";

/// Why a text is no address of a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no reference of an OCI artifact: {reason}; expected REGISTRY/REPOSITORY:TAG, such as registry.example.com/team/isolation:1.2"
)]
pub struct AddressError {
    text: String,
    reason: String,
}

/// Where a module is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    reference: Reference,
    base: Url,
    /// The only hosts that are connected to; none where that is not limited.
    hosts: Option<Hosts>,
}

impl Address {
    /// Reads an address, with or without `oci://`. Connections are made with TLS, except to this machine itself, or with `plain_http`.
    ///
    /// # Errors
    ///
    /// [`AddressError`].
    pub fn parse(text: &str, plain_http: bool) -> Result<Self, AddressError> {
        let failed = |reason: String| AddressError { text: text.to_owned(), reason };
        let short = text.strip_prefix(SCHEME).unwrap_or(text);
        let reference: Reference = short.parse().map_err(|error| failed(format!("{error}")))?;
        let host = reference.resolve_registry();
        let base = |scheme| Url::parse(&format!("{scheme}://{host}/v2/")).map_err(|error| failed(error.to_string()));
        let tls = base("https")?;
        let base = if plain_http || is_loopback(&tls) { base("http")? } else { tls };
        Ok(Self { reference, base, hosts: None })
    }

    /// Returns the address restricted to these hosts: redirects to other hosts are refused. `None` where the registry itself is not one of
    /// them.
    #[must_use]
    pub fn limited_to(self, hosts: &Hosts) -> Option<Self> {
        hosts.have(&self.base).then(|| Self { hosts: Some(hosts.clone()), ..self })
    }

    /// Host and port of the registry.
    pub fn registry(&self) -> &str {
        self.reference.resolve_registry()
    }

    /// Path of the repository in the registry.
    pub fn repository(&self) -> &str {
        self.reference.repository()
    }

    /// Registry and repository as signatures name them.
    pub fn name(&self) -> String {
        format!("{}/{}", self.reference.registry(), self.repository())
    }

    /// The tag; none where only a digest is given.
    pub fn tag(&self) -> Option<&str> {
        self.reference.tag()
    }

    /// The digest, where one is given.
    pub fn digest(&self) -> Option<&str> {
        self.reference.digest()
    }

    /// Whether an address has the registry's own scheme, host and port: credentials are for that alone.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Whether the registry is on this machine itself.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        is_loopback(&self.base)
    }

    /// Whether an address that the registry has named is on a host that may be connected to at all.
    pub(crate) fn lists(&self, url: &Url) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.have(url))
    }

    /// Whether a request may go to an address that the registry has named: a redirect, a server of tokens, an upload. Without TLS only to
    /// this machine itself, or to the registry where it is spoken to so. To an address of this machine or its network only where the
    /// registry has one of the same kind: else it could have this program ask servers that it cannot reach itself.
    ///
    /// # Errors
    ///
    /// Why it may not.
    pub(crate) fn admits(&self, url: &Url) -> Result<(), &'static str> {
        if self.is_own(url) {
            return Ok(());
        }
        let network = Network::from_url(url);
        match () {
            () if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(url)) => Err("it has no TLS"),
            () if network != Network::Public && network != Network::from_url(&self.base) => {
                Err("it is an address of this machine or its network, or for special use, and the registry is not")
            }
            () => Ok(()),
        }
    }

    /// The address of something in the repository.
    pub(crate) fn url(&self, kind: &str, name: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{kind}/{name}", self.repository()));
        url
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reference.whole())
    }
}

/// Whether an address is one of this machine itself.
fn is_loopback(url: &Url) -> bool {
    let host = host_of(url);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_without_tls_unless_it_is_wanted() {
        let url = |text, plain| Address::parse(text, plain).unwrap().url("blobs", "sha256:00").to_string();
        assert_eq!(url("oci://localhost:5000/a/b:1", false), "http://localhost:5000/v2/a/b/blobs/sha256:00");
        assert_eq!(url("127.0.0.1:5000/a:1", false), "http://127.0.0.1:5000/v2/a/blobs/sha256:00");
        assert_eq!(url("registry.example.com/a:1", false), "https://registry.example.com/v2/a/blobs/sha256:00");
        assert_eq!(url("localhost.example.com/a:1", false), "https://localhost.example.com/v2/a/blobs/sha256:00");
        assert_eq!(url("registry.example.com:80/a:1", true), "http://registry.example.com/v2/a/blobs/sha256:00");
        assert_eq!(url("busybox", false), "https://index.docker.io/v2/library/busybox/blobs/sha256:00");
    }

    #[test]
    fn a_registry_sends_nobody_to_plain_http_or_into_another_network() {
        let admits = |registry: &str, plain: bool, to: &str| {
            Address::parse(&format!("{registry}/a:1"), plain).unwrap().admits(&Url::parse(to).unwrap()).is_ok()
        };
        for (registry, plain, to, expected) in [
            ("r.example.com", false, "https://cdn.example.com/x", true),
            ("r.example.com", false, "http://cdn.example.com/x", false),
            ("r.example.com", false, "http://r.example.com/x", false),
            ("r.example.com:80", true, "http://r.example.com/x", true),
            ("r.example.com:80", true, "http://cdn.example.com/x", false),
            ("r.example.com", false, "https://127.0.0.1/x", false),
            ("r.example.com", false, "http://127.0.0.1:10270/x", false),
            ("r.example.com", false, "https://localhost/x", false),
            ("r.example.com", false, "https://0.0.0.0/x", false),
            ("r.example.com", false, "https://[::1]/x", false),
            ("r.example.com", false, "https://[::ffff:127.0.0.1]/x", false),
            ("r.example.com", false, "http://169.254.169.254/x", false),
            ("r.example.com", false, "https://169.254.169.254/x", false),
            ("r.example.com", false, "https://10.0.0.1/x", false),
            ("r.example.com", false, "https://[fd00::1]/x", false),
            ("r.example.com", false, "https://localhost.:10270/x", false),
            ("r.example.com", false, "http://localhost.:10270/x", false),
            ("localhost:5000", false, "http://localhost.:5001/x", true),
            ("100.64.0.1", false, "https://100.64.0.2/x", true),
            ("100.64.0.1", false, "https://10.0.0.1/x", false),
            ("10.0.0.2", false, "https://10.0.0.1/x", true),
            ("10.0.0.2", false, "https://127.0.0.1/x", false),
            ("127.0.0.1:5000", false, "http://127.0.0.2:5001/x", true),
            ("127.0.0.1:5000", false, "http://192.0.2.2/x", false),
            ("127.0.0.1:5000", false, "http://10.0.0.1/x", false),
            ("127.0.0.1:5000", false, "ftp://127.0.0.1/x", false),
        ] {
            assert_eq!(admits(registry, plain, to), expected, "{registry} to {to}");
        }
    }

    #[test]
    fn what_is_no_reference_is_refused_with_an_example() {
        for text in [
            "",
            "oci://",
            "Upper.example.com/A:1",
            "a/b:1@2",
            "http://a/b:1",
            "a.b/../c:1",
            "a.b/c d:1",
            "user@a.b/c:1",
        ] {
            let error = Address::parse(text, false).unwrap_err().to_string();
            assert!(error.contains("REGISTRY/REPOSITORY:TAG"), "{text}: {error}");
        }
        let address = Address::parse(&format!("a.b/c@sha256:{}", "0".repeat(64)), false).unwrap();
        assert_eq!((address.tag(), address.digest().map(str::len)), (None, Some(71)));
    }
}
