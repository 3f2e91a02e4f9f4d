//! `GET /metrics`: the [`Exposition`] over HTTP, in OpenMetrics text, or in Prometheus' older text for scrapers that accept
//! only that.

use axum::Extension;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::exposition::Exposition;

/// Answers `GET /metrics`.
pub(crate) async fn metrics(Extension(exposition): Extension<Exposition>, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).map(|accepted| String::from_utf8_lossy(accepted.as_bytes()));
    let only_plain =
        accepted.is_some_and(|accepted| accepted.contains("text/plain") && !accepted.contains("openmetrics"));
    match exposition.text() {
        Ok(text) if only_plain => {
            ([(header::CONTENT_TYPE, Exposition::PLAIN_MEDIA_TYPE)], Exposition::plain(&text)).into_response()
        }
        Ok(text) => ([(header::CONTENT_TYPE, Exposition::MEDIA_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be encoded");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
