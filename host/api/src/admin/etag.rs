//! Answers of which the client has the newest already: `ETag` and `If-None-Match`. Start at [`ETag::known`].

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// The version of a document: two documents at one path and query with the same are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ETag(String);

impl ETag {
    /// The version of what an epoch and some numbers decide. Another process has another epoch.
    pub(super) fn new(epoch: u64, numbers: &[u64]) -> Self {
        let mut text = format!("\"{epoch:x}");
        numbers.iter().for_each(|number| text.push_str(&format!("-{number:x}")));
        text.push('"');
        Self(text)
    }

    /// The answer without a body for a client that has this version; none for any other.
    pub(super) fn known(&self, headers: &HeaderMap) -> Option<Response> {
        self.is_known(headers).then(|| self.on(StatusCode::NOT_MODIFIED.into_response()))
    }

    /// The answer that has this version.
    pub(super) fn on(&self, mut response: Response) -> Response {
        if let Ok(value) = HeaderValue::from_str(&self.0) {
            response.headers_mut().insert(header::ETAG, value);
        }
        response
    }

    /// Whether the client has this version. A weak comparison, as RFC 9110 wants it here.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let listed = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let mut known = listed.flat_map(|list| list.split(',')).map(str::trim);
        known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn status(if_none_match: &[&str]) -> (StatusCode, String) {
        let mut headers = HeaderMap::new();
        for value in if_none_match {
            headers.append(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
        }
        let tag = ETag::new(255, &[1, 16]);
        let response = tag.known(&headers).unwrap_or_else(|| tag.on("new".into_response()));
        (response.status(), response.headers()[header::ETAG].to_str().unwrap().to_owned())
    }

    #[test]
    fn a_client_that_has_the_newest_is_sent_none() {
        let tag = "\"ff-1-10\"";
        for known in [tag, "W/\"ff-1-10\"", "\"x\", \"ff-1-10\"", "*"] {
            assert_eq!(status(&[known]), (StatusCode::NOT_MODIFIED, tag.to_owned()), "{known}");
        }
        assert_eq!(status(&["\"x\"", tag]).0, StatusCode::NOT_MODIFIED);
        for other in [&[][..], &["\"ff-1-11\""], &["ff-1-10"], &["\"FF-1-10\""], &[""]] {
            assert_eq!(status(other), (StatusCode::OK, tag.to_owned()), "{other:?}");
        }
    }
}
