//! The address of an API server, as a kubeconfig has it in `server`, and what every address has: a host and maybe a port.
//!
//! As in client-go, a scheme may be missing: it is `https` where anything about TLS is configured, and `http` otherwise. What cannot
//! be asked is refused here, because the HTTP library panics over some addresses, takes another port for others, and waits for ever
//! for the rest. Start at [`parse`].

use http::Uri;
use http::uri::{Authority, InvalidUri};

/// Why an address cannot be used. The texts leave it out, as it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The address is empty.
    #[error("it is empty")]
    Empty,
    /// It is no URL.
    #[error("it is no URL: {0}")]
    Url(#[from] InvalidUri),
    /// Its scheme is none of an API server.
    #[error("its scheme is {0:?}, and not http or https")]
    Scheme(String),
    /// It names no host.
    #[error("it names no host")]
    Nowhere,
    /// The text behind the host is no port from 1 to 65535.
    #[error("what follows its host is no port from 1 to 65535")]
    Port,
    /// It has a path, but no scheme.
    #[error("it has a path and no scheme: write https:// before it")]
    Schemeless,
    /// It has a name or password, which would be shown wherever the address is.
    #[error("it holds a name or password: these are fields of the user")]
    User,
}

/// Reads the address of an API server. `has_tls` says whether certificates are configured, or that none are to be checked.
pub(super) fn parse(text: &str, has_tls: bool) -> Result<Uri, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty);
    }
    let is_whole = text.contains("://");
    let whole = match (is_whole, has_tls) {
        (true, _) => text.to_owned(),
        (false, true) => format!("https://{text}"),
        (false, false) => format!("http://{text}"),
    };
    let uri: Uri = whole.parse()?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        other => return Err(AddressError::Scheme(other.unwrap_or_default().to_owned())),
    }
    let authority = uri.authority().ok_or(AddressError::Nowhere)?;
    if authority.as_str().contains('@') {
        return Err(AddressError::User);
    }
    port(authority)?;
    if !is_whole && uri.path() != "/" {
        return Err(AddressError::Schemeless);
    }
    Ok(uri)
}

/// The port of an address that has a host; `None` where it names no port. The library takes one that it cannot read for none.
pub(super) fn port(authority: &Authority) -> Result<Option<u16>, AddressError> {
    let host = authority.host();
    if host.is_empty() || host == "[]" {
        return Err(AddressError::Nowhere);
    }
    let behind_user = authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, rest)| rest);
    match behind_user.strip_prefix(host) {
        Some("" | ":") => Ok(None),
        Some(rest) => {
            let digits = rest.strip_prefix(':').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            let port = digits.and_then(|digits| digits.parse().ok()).filter(|port| *port != 0);
            port.map(Some).ok_or(AddressError::Port)
        }
        None => Err(AddressError::Nowhere),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str, has_tls: bool) -> Result<String, String> {
        parse(text, has_tls).map(|uri| uri.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_without_a_scheme_is_read_as_kubectl_reads_it() {
        for (text, plain, secure) in [
            ("127.0.0.1:26100", "http://127.0.0.1:26100/", "https://127.0.0.1:26100/"),
            ("api.example", "http://api.example/", "https://api.example/"),
            ("localhost:", "http://localhost:/", "https://localhost:/"),
            ("[::1]:6443", "http://[::1]:6443/", "https://[::1]:6443/"),
            ("https://api.example:6443/a/b", "https://api.example:6443/a/b", "https://api.example:6443/a/b"),
            ("HTTP://api.example", "http://api.example/", "http://api.example/"),
        ] {
            assert_eq!(read(text, false).as_deref(), Ok(plain), "{text}");
            assert_eq!(read(text, true).as_deref(), Ok(secure), "{text}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_asked_is_refused_without_being_shown() {
        for (text, why) in [
            ("", "is empty"),
            ("ftp://api.example", "its scheme"),
            ("unix:///run/api", "no URL"),
            ("https://", "no URL"),
            ("https://:6443", "no host"),
            ("https://api.example:99999", "no port"),
            ("https://api.example:0", "no port"),
            ("api.example:port", "no port"),
            ("api.example:+80", "no port"),
            ("api.example/path", "no scheme"),
            ("/run/api", "no URL"),
            ("a b", "no URL"),
            ("http://user:SECRET@api.example", "name or password"),
            ("user:SECRET@api.example:80", "name or password"),
            ("https://user:SECRET#x@api.example", "no port"),
            ("https://user:SECRET/x@api.example", "no port"),
        ] {
            let error = read(text, false).unwrap_err();
            assert!(error.contains(why) && !error.contains("SECRET"), "{text}: {error}");
        }
    }
}
