//! `GET /metrics`: the [`Exposition`] over HTTP, in OpenMetrics text, or in Prometheus' older text for scrapers that accept
//! only that.

use axum::Extension;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;

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
    let names = matches!(may_name, Some(Extension(MayName(true))));
    let encode = move || {
        let text = exposition.text().map_err(|error| error.to_string())?;
        let text = if names { text } else { Exposition::without_names(&text) };
        Ok(if only_plain { Exposition::plain(&text) } else { text })
    };
    // It takes milliseconds, for which the other connections of this thread must not wait.
    let text = spawn_blocking(encode).await.unwrap_or_else(|error| Err(error.to_string())).map_err(|error| {
        tracing::error!(%error, "metrics cannot be encoded");
        Error::Internal
    })?;
    let media_type = if only_plain { Exposition::PLAIN_MEDIA_TYPE } else { Exposition::MEDIA_TYPE };
    let held = unsent.map(|unsent| unsent.hold(text.len(), text.len())).transpose()?;
    Ok(unsent::holding(([(header::CONTENT_TYPE, media_type)], text).into_response(), held))
}
