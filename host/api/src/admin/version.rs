//! `GET /version`: what runs here.

use std::sync::LazyLock;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde_json::json;

use super::kubernetes::Kubernetes;
use crate::Service;
use nodesift_sandbox::{PACKAGE, VERSION};

/// The revision of the source that this program was built from, as `git describe` names it; none where the build does not name one.
pub const REVISION: Option<&str> = option_env!("NODESIFT_REVISION");

/// The contract of predicates: package and version.
pub static CONTRACT: LazyLock<String> = LazyLock::new(|| format!("{PACKAGE}@{VERSION}"));

/// Answers `GET /version`: version and revision of the sidecar, the predicates' contract, the active policy, and the
/// version of Kubernetes whose verdicts it gives.
pub(crate) async fn version(State(service): State<Service>) -> impl IntoResponse {
    let policy = service.engine().policy();
    let predicates: Vec<&str> = policy.predicates.iter().map(|predicate| &*predicate.name).collect();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "revision": REVISION,
        "contract": &*CONTRACT,
        "policy": {
            "generation": policy.generation.to_string(),
            "schedulerNames": policy.scheduler_names,
            "predicates": predicates,
        },
        "kubernetes": Kubernetes::from(&policy.settings.kubernetes),
    }))
}
