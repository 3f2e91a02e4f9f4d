//! `GET /version`: what runs here.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde_json::json;

use crate::Service;
use nodesift_sandbox::{PACKAGE, VERSION};

/// Answers `GET /version`: the version of the sidecar, that of the predicates' contract, and the active policy.
pub(crate) async fn version(State(service): State<Service>) -> impl IntoResponse {
    let policy = service.engine().policy();
    let predicates: Vec<&str> = policy.predicates.iter().map(|predicate| &*predicate.name).collect();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "contract": format!("{PACKAGE}@{VERSION}"),
        "policy": {
            "generation": policy.generation.to_string(),
            "schedulerNames": policy.scheduler_names,
            "predicates": predicates,
        },
    }))
}
