//! `GET /metrics`: the [`Exposition`] over HTTP, in OpenMetrics text, or in Prometheus' older text for scrapers that accept
//! only that.

use axum::Extension;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use nodesift_edge::unsent;

use super::exposition::Exposition;
use crate::Error;
use crate::access::MayName;
use crate::admission::scope::{ProbeScope, RequestScope};

/// Answers `GET /metrics`.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`]: a text of a hundred kilobytes counts among the responses that clients have not read.
pub(crate) async fn metrics(
    Extension(exposition): Extension<Exposition>,
    probe: Option<Extension<ProbeScope>>,
    scope: Option<Extension<RequestScope>>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accepted = headers.get(header::ACCEPT).map(|accepted| String::from_utf8_lossy(accepted.as_bytes()));
    let only_plain =
        accepted.is_some_and(|accepted| accepted.contains("text/plain") && !accepted.contains("openmetrics"));
    let text = exposition.text().map_err(|error| {
        tracing::error!(%error, "metrics cannot be encoded");
        Error::Internal
    })?;
    let MayName(may_name) = probe.as_ref().map_or(MayName(false), |probe| probe.may_name);
    let text = if may_name { text } else { Exposition::without_names(&text) };
    let (media_type, text) = if only_plain {
        (Exposition::PLAIN_MEDIA_TYPE, Exposition::plain(&text))
    } else {
        (Exposition::MEDIA_TYPE, text)
    };
    // A request with a body is no probe, and is answered as others are.
    let of_request = scope.as_ref().and_then(|scope| scope.unsent.as_ref());
    let unsent = probe.as_ref().and_then(|probe| probe.unsent.as_ref()).or(of_request);
    let held = unsent.map(|unsent| unsent.hold(text.len(), text.len())).transpose()?;
    Ok(unsent::holding(([(header::CONTENT_TYPE, media_type)], text).into_response(), held))
}
