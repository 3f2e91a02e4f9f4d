//! The hosts that may be connected to, where an operator lists them. Start at [`Hosts`].
//!
//! Names are compared as connections use them: as the URL standard writes a host, in lower case, and IP addresses in one form. A name with
//! a dot at its end is another one, which is not listed.

use std::str::FromStr;
use std::sync::Arc;

use reqwest::Url;

/// Hosts, each with a port or with the usual one. Clones are the same ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(Arc<[Host]>);

impl Hosts {
    /// These hosts and no others.
    pub fn new(hosts: &[Host]) -> Self {
        Self(hosts.into())
    }

    /// Whether a request may go to this address.
    pub(crate) fn have(&self, url: &Url) -> bool {
        self.0.iter().any(|host| host.is_of(url))
    }
}

/// A host that may be connected to, `HOST` or `HOST:PORT`. Without a port it is the usual one: 443, or 80 where there is no TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    name: String,
    port: Option<u16>,
}

/// Why a text is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no host: expected HOST or HOST:PORT, such as registry.example.com")]
pub struct HostError(String);

impl Host {
    fn is_of(&self, url: &Url) -> bool {
        let is_port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            // A URL has no port where it is the usual one of its scheme.
            None => url.port().is_none(),
        };
        is_port && url.host_str() == Some(&self.name)
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let refused = || HostError(text.to_owned());
        // Whatever else an address may have, and what a URL would leave out or take for something else.
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "/\\?#@%*,".contains(c);
        if text.contains(is_odd) || text.ends_with(':') {
            return Err(refused());
        }
        let url = Url::parse(&format!("https://{text}/")).map_err(|_| refused())?;
        let name = url.host_str().filter(|name| !name.is_empty() && !name.ends_with('.')).ok_or_else(refused)?;
        // A URL leaves out the usual port, which does not make it any usual one.
        let port = if text.ends_with(":443") { Some(443) } else { url.port() };
        Ok(Self { name: name.to_owned(), port })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_listed_in_every_way_of_writing_it_and_no_other_is() {
        let listed = ["registry.example.com", "cache.example.com:5000", "10.0.0.7", "[fd00::1]:5000", "127.0.0.1:5000"];
        let hosts = Hosts::new(&listed.map(|host| host.parse().unwrap()));
        for (url, expected) in [
            ("https://registry.example.com/v2/", true),
            ("https://REGISTRY.example.COM/v2/", true),
            ("https://registry.example.com:443/v2/", true),
            ("https://registry%2Eexample.com/v2/", true),
            ("https://registry.example.com:5000/v2/", false),
            ("https://registry.example.com./v2/", false),
            ("https://sub.registry.example.com/v2/", false),
            ("https://registry.example.com.evil.example/v2/", false),
            ("https://registry.example.com@evil.example/v2/", false),
            ("https://evil.example/registry.example.com", false),
            ("https://evil.example\\@registry.example.com/", false),
            ("https://cache.example.com:5000/v2/", true),
            ("https://cache.example.com/v2/", false),
            ("https://cache.example.com:5001/v2/", false),
            ("https://10.0.0.7/v2/", true),
            ("https://0xa.0.0.7/v2/", true),
            ("https://167772167/v2/", true),
            ("https://10.0.0.8/v2/", false),
            ("https://[fd00::1]:5000/v2/", true),
            ("https://[fd00:0:0::1]:5000/v2/", true),
            ("https://[fd00::1]/v2/", false),
            ("https://[::ffff:10.0.0.7]/v2/", false),
            ("http://127.0.0.1:5000/v2/", true),
            ("http://localhost:5000/v2/", false),
            ("http://127.1:5000/v2/", true),
        ] {
            assert_eq!(hosts.have(&Url::parse(url).unwrap()), expected, "{url}");
        }
        for text in [
            "",
            ":",
            ":5000",
            "a:",
            "a:70000",
            "a:b",
            "https://a",
            "a/b",
            "a@b",
            "a b",
            "a.",
            "*",
            "*.example.com",
            "a,b",
            "a%2eb",
            "a?b",
            "a#b",
            "a\\b",
            "[::1",
            "a\n",
        ] {
            assert!(text.parse::<Host>().is_err(), "{text:?}: {:?}", text.parse::<Host>());
        }
    }

    #[test]
    fn the_port_of_tls_that_is_written_out_is_that_port_alone() {
        let hosts = Hosts::new(&["a.example:443".parse().unwrap()]);
        assert!(hosts.have(&Url::parse("https://a.example/").unwrap()));
        assert!(!hosts.have(&Url::parse("http://a.example/").unwrap()));
    }
}
