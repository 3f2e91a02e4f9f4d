//! Headers of every answer of the explorer's listener, refusals included. Start at [`add`].

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

/// The rights of the page in a browser: it runs its own scripts and styles, shows its own pictures, and asks its own server. It cannot be
/// framed, sends no forms, and makes no markup of text.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

/// Header of an answer that no page of another origin shares a group of windows with.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Header of an answer that no page of another origin may load.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds the headers. An answer that says nothing about it is not stored: it tells of nodes and pods.
pub(super) async fn add(mut response: Response) -> Response {
    let same_origin = HeaderValue::from_static("same-origin");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(OPENER_POLICY, same_origin.clone());
    headers.insert(RESOURCE_POLICY, same_origin);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
