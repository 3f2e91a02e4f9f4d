//! Content-Type and Accept of JSON over HTTP. The one media type is `application/json`, and beside it that of manifests, where a call takes
//! them.
//!
//! Bodies are checked for every request by [`access`](crate::access), `Accept` by each handler. Start at [`check_body`].

use axum::http::{HeaderMap, HeaderValue, header};

use crate::Error;

/// The media type of bodies and responses.
pub(crate) const JSON: &str = "application/json";

/// The media type of manifests.
pub(crate) const YAML: &str = "application/yaml";

/// Whether a body says that it is a manifest, and nothing else.
pub(crate) fn is_yaml(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    types.peek().is_some() && types.all(|found| is_of_type(found, YAML))
}

/// Whether a value of Content-Type is a media type, whatever its parameters are.
fn is_of_type(found: &HeaderValue, media_type: &str) -> bool {
    essence(found.to_str().unwrap_or_default()).eq_ignore_ascii_case(media_type)
}

/// Requires a body's type to be JSON. A browser sends forms, plain text and bodies of no type across sites without a
/// preflight, but not JSON.
///
/// # Errors
///
/// [`Error::MediaType`].
pub(crate) fn check_body(headers: &HeaderMap) -> Result<(), Error> {
    let is_json = |found: &HeaderValue| is_of_type(found, JSON);
    let mut types = headers.get_all(header::CONTENT_TYPE).iter().peekable();
    if types.peek().is_none() {
        return Err(Error::MediaType { found: "a body of no type".to_owned() });
    }
    match types.find(|found| !is_json(found)) {
        Some(found) => Err(Error::MediaType { found: format!("{:?}", String::from_utf8_lossy(found.as_bytes())) }),
        None => Ok(()),
    }
}

/// Requires a client that accepts JSON.
///
/// # Errors
///
/// [`Error::NotAcceptable`].
pub(crate) fn check_accept(headers: &HeaderMap) -> Result<(), Error> {
    let accepted: Vec<_> =
        headers.get_all(header::ACCEPT).iter().map(|list| String::from_utf8_lossy(list.as_bytes())).collect();
    if accepted.iter().all(|list| list.trim().is_empty())
        || accepted.iter().flat_map(|list| list.split(',')).any(accepts_json)
    {
        return Ok(());
    }
    Err(Error::NotAcceptable { accept: accepted.join(", ") })
}

/// Whether one media range of an `Accept` header accepts JSON. There is one media type to choose from, so any weight above 0
/// accepts it.
fn accepts_json(range: &str) -> bool {
    let is_refused = |parameter: &str| {
        let weight = parameter.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
        weight.is_some_and(|weight| weight.trim().parse() == Ok(0.0_f32))
    };
    let covers = [JSON, "application/*", "*/*"].iter().any(|known| essence(range).eq_ignore_ascii_case(known));
    covers && !range.split(';').skip(1).any(is_refused)
}

/// A media type or range without its parameters.
fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_and_says_so() {
        let is_taken = |types: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for found in types {
                headers.append(header::CONTENT_TYPE, HeaderValue::from_static(found));
            }
            check_body(&headers).is_ok()
        };
        for fine in [&["application/json"][..], &["APPLICATION/JSON ; charset=utf-8"]] {
            assert!(is_taken(fine), "{fine:?}");
        }
        for refused in [
            &[][..],
            &[""],
            &["text/plain"],
            &["text/plain;application/json"],
            &["application/x-www-form-urlencoded"],
            &["multipart/form-data; boundary=application/json"],
            &["application/jsonx"],
            &["application/json, text/plain"],
            &["application/json", "text/plain"],
            &["text/plain", "application/json"],
        ] {
            assert!(!is_taken(refused), "{refused:?}");
        }
    }

    #[test]
    fn accept_headers_mean_what_http_says() {
        let accepts = |accept: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for list in accept {
                headers.append(header::ACCEPT, HeaderValue::from_static(list));
            }
            check_accept(&headers).is_ok()
        };
        for fine in [
            &[][..],
            &["*/*"],
            &["application/json"],
            &["Application/JSON; charset=utf-8"],
            &["text/html, application/xml;q=0.9, */*;q=0.8"],
            &["application/*"],
            &["text/html", "application/json;q=0.001"],
            &["application/json;Q = 1"],
            &[""],
        ] {
            assert!(accepts(fine), "{fine:?}");
        }
        for refused in
            [&["text/html"][..], &["x/y;q=0"], &["application/json;q=0"], &["*/*; q=0.0"], &["application/jsonx"]]
        {
            assert!(!accepts(refused), "{refused:?}");
        }
    }
}
