//! Files of the page: bytes in the program, sent compressed to clients that take them so, and not at all to those that have them.
//! Start at [`Asset::answer`].

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// Path of the file that is the page.
pub const INDEX: &str = "/index.html";

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Path of the file in URLs, with a slash at its beginning.
    pub path: &'static str,
    /// Media type of the file.
    pub media_type: &'static str,
    /// The bytes of the file.
    pub plain: &'static [u8],
    /// The bytes compressed by gzip; empty where that is no smaller.
    pub gzipped: &'static [u8],
    /// Version of the file, in quotes.
    pub etag: &'static str,
    /// Whether the path names the version, so that another version has another path.
    pub is_hashed: bool,
}

/// For files whose path names their version.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// For files that have to be asked for again: a newer program has others.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

impl Asset {
    /// Answers a GET for the file.
    pub(super) fn answer(&'static self, headers: &HeaderMap) -> Response {
        let is_gzipped = !self.gzipped.is_empty() && takes_gzip(headers);
        let mut response = match (is_known(self.etag, headers), is_gzipped) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, true) => Body::from(self.gzipped).into_response(),
            (false, false) => Body::from(self.plain).into_response(),
        };
        let is_sent = response.status() == StatusCode::OK;
        let added = response.headers_mut();
        added.insert(header::ETAG, HeaderValue::from_static(self.etag));
        added.insert(header::CACHE_CONTROL, if self.is_hashed { FOR_EVER } else { ASK_AGAIN });
        added.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if is_sent {
            added.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        }
        if is_sent && is_gzipped {
            added.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

/// The page of a program that was built without one.
pub(super) fn missing() -> Response {
    const TEXT: &str = include_str!("missing.html");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CACHE_CONTROL, ASK_AGAIN),
    ];
    (headers, TEXT).into_response()
}

/// Whether a client takes gzip, by its first mention; a weight of 0 rules it out.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let listed = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = listed.flat_map(|list| list.split(','));
    codings.any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = parameters.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// Whether the client has this version, by the weak comparison of RFC 9110.
fn is_known(etag: &str, headers: &HeaderMap) -> bool {
    let listed = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = listed.flat_map(|list| list.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    static ASSET: Asset = Asset {
        path: "/main-0.js",
        media_type: "text/javascript",
        plain: b"plain",
        gzipped: b"gzipped",
        etag: "\"1\"",
        is_hashed: true,
    };

    async fn answer(asset: &'static Asset, headers: &[(header::HeaderName, &str)]) -> (StatusCode, HeaderMap, String) {
        let mut asked = HeaderMap::new();
        for (name, value) in headers {
            asked.append(name.clone(), value.parse().unwrap());
        }
        let (parts, body) = asset.answer(&asked).into_parts();
        let body = axum::body::to_bytes(body, 100).await.unwrap();
        (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_file_is_sent_compressed_to_those_who_take_it_so() {
        for (accepted, expected) in [
            ("gzip, deflate, br", "gzipped"),
            ("br;q=1.0, GZIP;q=0.5", "gzipped"),
            ("gzip;q=0", "plain"),
            ("br", "plain"),
            ("gzipped", "plain"),
            ("", "plain"),
        ] {
            let (status, headers, body) = answer(&ASSET, &[(header::ACCEPT_ENCODING, accepted)]).await;
            assert_eq!((status, body.as_str()), (StatusCode::OK, expected), "{accepted}");
            assert_eq!(headers.contains_key(header::CONTENT_ENCODING), expected == "gzipped", "{accepted}");
            assert_eq!(headers[header::CONTENT_TYPE], "text/javascript");
            assert_eq!(headers[header::VARY], "accept-encoding");
        }
    }

    #[tokio::test]
    async fn a_client_that_has_the_version_is_sent_none() {
        for known in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "*"] {
            let (status, headers, body) = answer(&ASSET, &[(header::IF_NONE_MATCH, known)]).await;
            assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""), "{known}");
            assert_eq!(headers[header::ETAG], "\"1\"");
        }
        assert_eq!(answer(&ASSET, &[(header::IF_NONE_MATCH, "\"2\"")]).await.0, StatusCode::OK);
    }

    #[tokio::test]
    async fn only_a_path_that_names_its_version_is_kept_for_ever() {
        static PAGE: Asset = Asset { path: INDEX, is_hashed: false, ..ASSET };
        assert!(answer(&ASSET, &[]).await.1[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        assert_eq!(answer(&PAGE, &[]).await.1[header::CACHE_CONTROL], "no-cache");
    }
}
