//! `GET /metrics`: the [`Exposition`] over HTTP, in OpenMetrics text, or in Prometheus' older text for scrapers that accept
//! only that.

use axum::Extension;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::exposition::Exposition;
use crate::Error;
use crate::access::MayName;
use crate::transport::unsent::{self, Unsent};

/// Answers `GET /metrics`.
///
/// # Errors
///
/// [`Error::Unread`], [`Error::Overloaded`]: a text of a hundred kilobytes counts among the responses that clients have not read.
pub(crate) async fn metrics(
    Extension(exposition): Extension<Exposition>,
    unsent: Option<Extension<Unsent>>,
    may_name: Option<Extension<MayName>>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accepted = headers.get(header::ACCEPT).map(|accepted| String::from_utf8_lossy(accepted.as_bytes()));
    let only_plain =
        accepted.is_some_and(|accepted| accepted.contains("text/plain") && !accepted.contains("openmetrics"));
    let text = exposition.text().map_err(|error| {
        tracing::error!(%error, "metrics cannot be encoded");
        Error::Internal
    })?;
    let text = match may_name {
        Some(Extension(MayName(true))) => text,
        _ => Exposition::without_names(&text),
    };
    let (media_type, text) = if only_plain {
        (Exposition::PLAIN_MEDIA_TYPE, Exposition::plain(&text))
    } else {
        (Exposition::MEDIA_TYPE, text)
    };
    let held = unsent.map(|unsent| unsent.hold(text.len(), text.len())).transpose()?;
    Ok(unsent::holding(([(header::CONTENT_TYPE, media_type)], text).into_response(), held))
}
