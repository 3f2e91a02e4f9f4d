//! `/metrics`: what was registered, for Prometheus.

use axum::Extension;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::metrics::Exposition;

/// Answers `GET /metrics`.
pub(super) async fn metrics(Extension(exposition): Extension<Exposition>) -> Response {
    match exposition.text() {
        Ok(text) => ([(header::CONTENT_TYPE, Exposition::MEDIA_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
