//! Which proxy leads to an API server: `proxy-url` of the kubeconfig, or else what the environment says, as kubectl has it.
//!
//! The rules for the environment are those of Go's `golang.org/x/net/http/httpproxy`, by which all of Kubernetes' own programs go:
//! `HTTPS_PROXY` for servers with TLS and `HTTP_PROXY` for those without, each also in lower case; none for `localhost` and
//! loopback addresses; none for what `NO_PROXY` lists. kube's own reading of them is not used: it compares `NO_PROXY` with the
//! address of the proxy, and refuses lists that others accept. Start at [`Environment::proxy`].

use std::env;
use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::{Authority, InvalidUri, PathAndQuery, Scheme};
use ipnet::IpNet;
use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use super::address::{self, AddressError};

/// Why the address of a proxy cannot be used. The texts leave the address out, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// It is no URL.
    #[error("it is no URL: {0}")]
    Url(#[from] InvalidUri),
    /// It names no host.
    #[error("it names no host")]
    Nowhere,
    /// Its port is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The name or password contains `/`, `#` or `?` unescaped, which ends it.
    #[error("a / , # or ? in its name or password has to be written as %2F, %23 or %3F")]
    Unescaped,
    /// Its scheme is none of a proxy.
    #[error("its scheme is {0:?}, and not http, https or socks5")]
    Scheme(String),
}

/// How a proxy is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// HTTP over TCP, with `CONNECT` to the server.
    Http,
    /// HTTP over TLS, with `CONNECT` to the server.
    Https,
    /// SOCKS 5, which resolves the names of servers.
    Socks5,
}

/// Proxy that leads to the API server.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    pub(super) protocol: Protocol,
    /// With scheme, host and port, and no more.
    pub(super) address: Uri,
    /// Name and password for it.
    pub(super) user: Option<(String, SecretString)>,
}

impl Proxy {
    /// Reads what a kubeconfig has as `proxy-url`.
    pub(super) fn parse(text: &str) -> Result<Self, ProxyError> {
        let url: Uri = text.trim().parse()?;
        let (protocol, scheme, port) = match url.scheme_str() {
            Some("http") => (Protocol::Http, Scheme::HTTP, 80),
            Some("https") => (Protocol::Https, Scheme::HTTPS, 443),
            Some("socks5" | "socks5h") => (Protocol::Socks5, "socks5".parse()?, 1080),
            other => return Err(ProxyError::Scheme(other.unwrap_or_default().to_owned())),
        };
        let authority = url.authority().ok_or(ProxyError::Nowhere)?;
        if text.rsplit_once('@').is_some_and(|(user, _)| user.matches(['/', '#', '?']).count() > "//".len()) {
            return Err(ProxyError::Unescaped);
        }
        let port = address::port(authority)?.unwrap_or(port);
        let plain = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (plain(name), SecretString::from(plain(password)))
        });
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(scheme);
        parts.authority = Some(Authority::try_from(format!("{}:{port}", authority.host()))?);
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        let address = Uri::from_parts(parts).map_err(|_| ProxyError::Nowhere)?;
        Ok(Self { protocol, address, user })
    }

    /// Reads what a variable of the environment has, where the scheme may be missing.
    fn parse_variable(text: &str) -> Result<Self, ProxyError> {
        let has_scheme = text.contains("://");
        if has_scheme { Self::parse(text) } else { Self::parse(&format!("http://{}", text.trim())) }
    }
}

/// Without name and password.
impl fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.address, formatter)
    }
}

/// Proxy variables of the environment: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`. As in Go, they are read once.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Environment {
    /// For servers without TLS; empty where there is none.
    pub(super) http: String,
    /// For servers with TLS; empty where there is none.
    pub(super) https: String,
    /// Servers that are reached directly.
    pub(super) no_proxy: String,
}

/// The addresses may hold passwords.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Environment").field("no_proxy", &self.no_proxy).finish_non_exhaustive()
    }
}

impl Environment {
    /// That of this process.
    pub(super) fn from_process() -> Self {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let either = |upper: &str, lower: &str| variable(upper).or_else(|| variable(lower)).unwrap_or_default();
        Self {
            http: either("HTTP_PROXY", "http_proxy"),
            https: either("HTTPS_PROXY", "https_proxy"),
            no_proxy: either("NO_PROXY", "no_proxy"),
        }
    }

    /// The proxy for a server. An address that is none of a proxy is as good as none, as in kubectl, and logged.
    pub(super) fn proxy(&self, server: &Uri) -> Option<Proxy> {
        let (name, value, port) = match server.scheme_str() {
            Some("https") => ("HTTPS_PROXY", &self.https, 443),
            Some("http") => ("HTTP_PROXY", &self.http, 80),
            _ => return None,
        };
        let port = server.port_u16().unwrap_or(port);
        if value.is_empty() || is_reached_directly(&self.no_proxy, server.host()?, port) {
            return None;
        }
        match Proxy::parse_variable(value) {
            Ok(proxy) => Some(proxy),
            Err(error) => {
                tracing::warn!(%error, "{name} is no address of a proxy: the API server is asked without one");
                None
            }
        }
    }
}

/// Whether no proxy of the environment is used for a host.
fn is_reached_directly(no_proxy: &str, host: &str, port: u16) -> bool {
    let host = host.to_ascii_lowercase();
    let address: Option<IpAddr> = without_brackets(&host).parse().ok().map(|address: IpAddr| address.to_canonical());
    host == "localhost"
        || address.is_some_and(|address| address.is_loopback())
        || no_proxy.split(',').any(|entry| lists(&entry.trim().to_ascii_lowercase(), &host, address, port))
}

/// Whether an entry of `NO_PROXY` means a host: a name with all below it, `.name` or `*.name` for those below alone, an address,
/// each maybe with a port; a range of addresses; or `*`. An entry that is none of them means nothing.
fn lists(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(range) = entry.parse::<IpNet>() {
        return address.is_some_and(|address| range.contains(&address));
    }
    let (name, of_port) = with_port(entry);
    if !of_port.is_none_or(|of_port| of_port.is_empty() || of_port == port.to_string()) {
        return false;
    }
    let name = if of_port.is_some() { without_brackets(name) } else { name };
    if let Ok(listed) = name.parse::<IpAddr>() {
        return address == Some(listed.to_canonical());
    }
    if address.is_some() || name.is_empty() {
        return false;
    }
    let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match host.strip_suffix(name) {
        Some("") => !name.starts_with('.'),
        Some(before) => name.starts_with('.') || before.ends_with('.'),
        None => false,
    }
}

/// An entry without its port, and the port. What has more colons is an address of IPv6 without one.
fn with_port(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || (name.starts_with('[') && name.ends_with(']')) => {
            (name, Some(port))
        }
        _ => (entry, None),
    }
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn used(no_proxy: &str, server: &str) -> bool {
        let environment =
            Environment { http: "plain:1".into(), https: "secure:2".into(), no_proxy: no_proxy.to_owned() };
        environment.proxy(&server.parse().unwrap()).is_some()
    }

    /// The cases of Go's own test of `httpproxy` that hold for servers with an address.
    #[test]
    fn no_proxy_is_read_as_go_reads_it() {
        let list = "foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30,
            2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3], 2002:db8:a::45/64, EXAMPLE.org:6443, :80, , no/host, [";
        let direct = [
            "localhost",
            "127.0.0.1",
            "127.0.0.2:6443",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "192.168.1.1",
            "192.168.1.3:80",
            "192.168.1.2:81",
            "10.0.0.2",
            "[2001:db8::52:0:1]",
            "[2001:db8::52:0:2]",
            "[2002:db8:a::123]",
            "www.barbaz.net",
            "foobar.com",
            "FooBar.com:6443",
            "www.foobar.com",
            "a.wildcard.io",
            "example.org:6443",
            "api.example.org:6443",
            "[::ffff:192.168.1.1]",
        ];
        let through = [
            "192.168.1.2",
            "192.168.1.4",
            "10.0.0.4",
            "[2001:db8::52:1:1]",
            "[2001:db8::52:0:2]:80",
            "[2001:db8::52:0:3]",
            "[fe80::424b:c8be:1643:a1b6]",
            "barbaz.net",
            "wildcard.io",
            "foofoobar.com",
            "baz.com",
            "foobar.com.net",
            "localhost.net",
            "local.localhost",
            "example.org",
            "example.org:443",
            "barbarbaz.net",
            "[::]",
        ];
        for host in direct {
            assert!(!used(list, &format!("https://{host}/")), "{host}");
        }
        for host in through {
            assert!(used(list, &format!("https://{host}/")), "{host}");
            assert!(used(list, &format!("http://{host}/")) || host.contains(":80"), "{host}");
            assert!(!used(&format!("{list},*"), &format!("https://{host}/")), "{host}");
        }
    }

    #[test]
    fn addresses_of_proxies_have_a_port_or_are_refused_and_hide_the_password() {
        let proxy = |text: &str| Proxy::parse(text).map(|proxy| (proxy.protocol, proxy.address.to_string()));
        assert_eq!(proxy("http://p.example").unwrap(), (Protocol::Http, "http://p.example:80/".into()));
        assert_eq!(proxy("https://p.example/x?y").unwrap(), (Protocol::Https, "https://p.example:443/".into()));
        assert_eq!(proxy("socks5://[::1]").unwrap(), (Protocol::Socks5, "socks5://[::1]:1080/".into()));
        assert_eq!(proxy("socks5h://p:1\n").unwrap(), (Protocol::Socks5, "socks5://p:1/".into()));
        assert!(matches!(proxy("ftp://p"), Err(ProxyError::Scheme(_))));
        assert!(matches!(proxy("p.example:3128"), Err(ProxyError::Scheme(_))));
        assert!(matches!(proxy("http://a b"), Err(ProxyError::Url(_))));
        for port in ["99999", "0", "x", "-1"] {
            let refused = proxy(&format!("http://u:p@p.example:{port}"));
            assert!(
                matches!(refused, Err(ProxyError::Address(AddressError::Port) | ProxyError::Url(_))),
                "{refused:?}"
            );
        }
        for password in ["p#w", "p/w", "p?w", "80/w", "80#w", "80?w"] {
            let error = proxy(&format!("http://u:{password}@p.example:3128")).unwrap_err();
            assert!(matches!(error, ProxyError::Unescaped), "{password}: {error:?}");
        }
        assert_eq!(proxy("http://u:p%23w@p.example:").unwrap(), (Protocol::Http, "http://p.example:80/".into()));
        let proxy = Proxy::parse_variable("us%40er:pa%3Ass@p.example:3128").unwrap();
        let (name, password) = proxy.user.as_ref().unwrap();
        assert_eq!((name.as_str(), password.expose_secret()), ("us@er", "pa:ss"));
        assert_eq!(format!("{proxy}"), "http://p.example:3128/");
        assert!(!format!("{proxy:?}").contains("pa:ss"));
    }

    #[test]
    fn a_variable_that_is_no_address_of_a_proxy_is_as_good_as_none() {
        let environment = Environment { https: "ftp://p".into(), ..Environment::default() };
        assert!(environment.proxy(&Uri::from_static("https://api.example")).is_none());
        assert!(environment.proxy(&Uri::from_static("http://api.example")).is_none());
    }
}
