//! Content-Type and Accept of JSON over HTTP. The one media type is `application/json`.
//!
//! Start at [`check`].

use axum::http::{HeaderMap, HeaderValue, header};

use crate::Error;

/// The media type of bodies and responses.
pub(crate) const JSON: &str = "application/json";

/// Requires JSON or no type of the body, because a browser sends forms and plain text across sites without a preflight, but not
/// JSON; and a client that accepts JSON.
///
/// # Errors
///
/// [`Error::MediaType`], [`Error::NotAcceptable`].
pub(super) fn check(headers: &HeaderMap) -> Result<(), Error> {
    let is_json = |found: &HeaderValue| essence(found.to_str().unwrap_or_default()).eq_ignore_ascii_case(JSON);
    if let Some(found) = headers.get(header::CONTENT_TYPE).filter(|found| !is_json(found)) {
        return Err(Error::MediaType { found: String::from_utf8_lossy(found.as_bytes()).into_owned() });
    }
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
    fn accept_headers_mean_what_http_says() {
        let accepts = |accept: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for list in accept {
                headers.append(header::ACCEPT, HeaderValue::from_static(list));
            }
            check(&headers).is_ok()
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
