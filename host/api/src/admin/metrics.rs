//! `GET /metrics`: the [`Exposition`] over HTTP.

use axum::Extension;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::exposition::Exposition;

/// Answers `GET /metrics`.
pub(crate) async fn metrics(Extension(exposition): Extension<Exposition>) -> Response {
    match exposition.text() {
        Ok(text) => ([(header::CONTENT_TYPE, Exposition::MEDIA_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be encoded");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
