//! `Host` and `Origin` over TCP, so that no web page reaches the sidecar through the browser of somebody on its machine.
//!
//! A page can resolve a name of its own to 127.0.0.1 and then read answers as its own (DNS rebinding): so the name by which
//! the sidecar is called must be one of its own. A page of another site can send requests whose answers it cannot read: so
//! requests that a browser marks as another site's are refused. Start at [`Hosts::check`].

use std::net::IpAddr;
use std::str::FromStr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, header};

use crate::Error;

/// The names by which the sidecar may be called over TCP: `localhost`, addresses, and those that are configured.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    names: Vec<HostName>,
    any_address: bool,
    any: bool,
}

/// A name or an address without scheme and port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

impl FromStr for HostName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected a host name or an address, without scheme and port";
        // An IPv6 address may be given with or without its brackets.
        let bracketed = match text.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => text.to_owned(),
        };
        let authority = Authority::from_str(&bracketed).map_err(|_| WRONG)?;
        let name = host(&authority).ok_or(WRONG)?;
        if authority.port().is_some() || authority.as_str() != bracketed || name.is_empty() || bracketed.contains('*') {
            return Err(WRONG);
        }
        Ok(Self(name))
    }
}

/// Header of browsers: how the page that sends a request relates to where it sends it.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Header of browsers: whether a request opens a page, or is one of a page.
const SEC_FETCH_MODE: &str = "sec-fetch-mode";

/// Header of browsers: where the answer is shown; `document` is a window of its own, and no frame.
const SEC_FETCH_DEST: &str = "sec-fetch-dest";

impl Hosts {
    /// `localhost`, loopback addresses and these names. With `any_address`, for a listener that other machines reach, every
    /// address: a page cannot choose the address that a browser connects to and names.
    pub fn new(names: Vec<HostName>, any_address: bool) -> Self {
        Self { names, any_address, any: false }
    }

    /// Every name and every page, for what tells nothing.
    pub(super) fn any() -> Self {
        Self { any: true, ..Self::default() }
    }

    /// Refuses a request that calls the sidecar by a foreign name, or that a browser has sent for a page of another site. Where a link
    /// of another site may lead to it, a person's click on one is admitted.
    ///
    /// # Errors
    ///
    /// [`Error::NoHost`], [`Error::ForeignHost`], [`Error::ForeignOrigin`].
    pub(super) fn check(&self, request: &Request, may_be_linked: bool) -> Result<(), Error> {
        if self.any {
            return Ok(());
        }
        // HTTP/2 and absolute URIs name the host in the URI, HTTP/1 in the header. All that are there must be right.
        let from_headers = request.headers().get_all(header::HOST).iter().map(HeaderValue::as_bytes);
        let from_uri = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        let mut called = None;
        for text in from_uri.into_iter().chain(from_headers) {
            match Authority::try_from(text) {
                Ok(authority) if self.is_own(&authority) => called = Some(authority),
                _ => return Err(Error::ForeignHost { found: shown(text) }),
            }
        }
        let Some(called) = called else { return Err(Error::NoHost) };
        check_origin(request.headers(), &called)?;
        if may_be_linked && is_navigation(request) { Ok(()) } else { check_site(request.headers()) }
    }

    fn is_own(&self, authority: &Authority) -> bool {
        let Some(host) = host(authority) else { return false };
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) if self.any_address || address.to_canonical().is_loopback() => true,
            Ok(_) | Err(_) => host == "localhost" || self.names.iter().any(|name| name.0 == host),
        }
    }
}

/// The host of an authority in lower case, without the dot that may end a full name; none where it has a user.
fn host(authority: &Authority) -> Option<String> {
    if authority.as_str().contains('@') {
        return None;
    }
    let host = authority.host().to_ascii_lowercase();
    Some(host.strip_suffix('.').unwrap_or(&host).to_owned())
}

/// Refuses the requests of pages, except one of the sidecar's own origin. Clients that are no browsers send neither header.
fn check_origin(headers: &HeaderMap, called: &Authority) -> Result<(), Error> {
    for origin in headers.get_all(header::ORIGIN) {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://")).is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && rest.eq_ignore_ascii_case(called.as_str())
        });
        if !own {
            return Err(Error::ForeignOrigin { found: shown(origin.as_bytes()) });
        }
    }
    Ok(())
}

/// Whether a browser opens what is asked for as a page in a window of its own: it shows it to a person, and no other page can read it.
fn is_navigation(request: &Request) -> bool {
    let is = |name: &str, expected: &[u8]| {
        let mut values = request.headers().get_all(name).iter();
        values.next().is_some_and(|value| value.as_bytes() == expected) && values.next().is_none()
    };
    *request.method() == Method::GET && is(SEC_FETCH_MODE, b"navigate") && is(SEC_FETCH_DEST, b"document")
}

/// Refuses what a browser has sent for a page of another site.
fn check_site(headers: &HeaderMap) -> Result<(), Error> {
    for site in headers.get_all(SEC_FETCH_SITE) {
        // `none`: a person has typed the address.
        if !matches!(site.as_bytes(), b"same-origin" | b"none") {
            return Err(Error::ForeignOrigin { found: shown(site.as_bytes()) });
        }
    }
    Ok(())
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Body;

    use super::*;

    fn hosts(names: &[&str], any_address: bool) -> Hosts {
        Hosts::new(names.iter().map(|name| name.parse().unwrap()).collect(), any_address)
    }

    /// The outcome for a request with this URI and these headers.
    fn check(hosts: &Hosts, uri: &str, headers: &[(&str, &str)]) -> Result<(), Error> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        hosts.check(&request.body(Body::empty()).unwrap(), false)
    }

    #[test]
    fn loopback_by_name_or_address_is_its_own_and_nothing_else() {
        let own = hosts(&[], false);
        for host in [
            "localhost",
            "localhost:10270",
            "LocalHost:1",
            "localhost.:10270",
            "127.0.0.1",
            "127.0.0.1:10270",
            "127.9.9.9",
            "[::1]:10270",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(check(&own, "/", &[("host", host)]).is_ok(), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:10270",
            "localhost.evil.example",
            "evil-localhost",
            "127.0.0.1.evil.example",
            "evil@localhost",
            "localhost@evil.example",
            "localhost:10270@evil.example",
            "0.0.0.0:10270",
            "10.0.0.1",
            "[::]:10270",
            "[fe80::1]",
            "localhost, evil.example",
            "http://localhost",
            "localhost/",
            "2130706433",
        ] {
            assert!(matches!(check(&own, "/", &[("host", host)]), Err(Error::ForeignHost { .. })), "{host}");
        }
        assert!(matches!(check(&own, "/", &[]), Err(Error::NoHost)));
    }

    #[test]
    fn every_place_that_names_a_host_counts() {
        let own = hosts(&[], false);
        // HTTP/2 has `:authority` in the URI.
        assert!(check(&own, "http://localhost/v1/state", &[]).is_ok());
        assert!(check(&own, "http://evil.example/v1/state", &[]).is_err());
        assert!(check(&own, "http://evil.example/v1/state", &[("host", "localhost")]).is_err());
        assert!(check(&own, "http://localhost/v1/state", &[("host", "evil.example")]).is_err());
        assert!(check(&own, "/v1/state", &[("host", "localhost"), ("host", "evil.example")]).is_err());
    }

    #[test]
    fn configured_names_are_its_own_too() {
        let own = hosts(&["nodesift.kube-system.svc", "10.0.0.1", "::2"], false);
        for host in ["nodesift.kube-system.svc:10270", "NODESIFT.kube-system.svc", "10.0.0.1:1", "[::2]:1", "localhost"]
        {
            assert!(check(&own, "/", &[("host", host)]).is_ok(), "{host}");
        }
        for host in ["nodesift.kube-system", "x.nodesift.kube-system.svc", "10.0.0.2"] {
            assert!(check(&own, "/", &[("host", host)]).is_err(), "{host}");
        }
        for wrong in ["", "a:1", "http://a", "a/b", "*.a", "*", "u@a", "a b"] {
            assert!(wrong.parse::<HostName>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn where_other_machines_reach_it_it_goes_by_any_address_but_by_no_other_name() {
        let own = hosts(&[], true);
        assert!(check(&own, "/", &[("host", "10.0.0.1:10270")]).is_ok());
        assert!(check(&own, "/", &[("host", "[fd00::1]:10270")]).is_ok());
        assert!(check(&own, "/", &[("host", "evil.example")]).is_err());
    }

    #[test]
    fn a_link_of_another_site_leads_to_a_page_and_nothing_else_of_that_site_does() {
        let own = hosts(&[], false);
        let check = |method: &str, may_be_linked, headers: &[(&str, &str)]| {
            let mut request = Request::builder().method(method).uri("/").header("host", "localhost:10272");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            own.check(&request.body(Body::empty()).unwrap(), may_be_linked).is_ok()
        };
        let clicked =
            [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        assert!(check("GET", true, &clicked));
        assert!(!check("GET", false, &clicked), "answers with data");
        assert!(!check("POST", true, &clicked) && !check("HEAD", true, &clicked));
        for (at, other) in [(1, "cors"), (1, "no-cors"), (2, "iframe"), (2, "object"), (2, "empty"), (2, "")] {
            let mut headers = clicked;
            headers[at].1 = other;
            assert!(!check("GET", true, &headers), "{headers:?}");
        }
        assert!(!check("GET", true, &clicked[..2]) && !check("GET", true, &[clicked[0], clicked[2]]));
        assert!(!check("GET", true, &[&clicked[..], &[("sec-fetch-dest", "iframe")]].concat()));
        assert!(!check("GET", true, &[&clicked[..], &[("origin", "http://evil.example")]].concat()));
    }

    #[test]
    fn a_page_of_another_origin_is_refused_by_either_header() {
        let own = hosts(&[], false);
        let with = |name, value| check(&own, "/", &[("host", "localhost:10270"), (name, value)]);
        for origin in ["http://localhost:10270", "https://LOCALHOST:10270"] {
            assert!(with("origin", origin).is_ok(), "{origin}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "",
            "http://localhost",
            "http://localhost:3000",
            "http://localhost:10270.evil.example",
            "file://localhost:10270",
            "localhost:10270",
        ] {
            assert!(matches!(with("origin", origin), Err(Error::ForeignOrigin { .. })), "{origin:?}");
        }
        for site in ["same-origin", "none"] {
            assert!(with("sec-fetch-site", site).is_ok(), "{site}");
        }
        for site in ["cross-site", "same-site", ""] {
            assert!(with("sec-fetch-site", site).is_err(), "{site}");
        }
    }
}
