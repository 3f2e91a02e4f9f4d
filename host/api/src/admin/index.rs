//! `GET /`: where people find the page of this sidecar. Start at [`index`].

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde_json::json;

use crate::Service;

/// Answers `GET /`: program, version, and the URL of the explorer; null where it is not served.
pub(crate) async fn index(State(service): State<Service>) -> impl IntoResponse {
    Json(json!({
        "program": "nodesift",
        "version": env!("CARGO_PKG_VERSION"),
        "explorer": service.settings().explorer,
    }))
}
