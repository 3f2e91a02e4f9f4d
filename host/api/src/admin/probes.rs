//! `GET /livez` and `GET /readyz` of a process that serves. Start at [`readyz`].

use axum::Extension;
use axum::extract::State;
use axum::response::IntoResponse;

use crate::Service;
use crate::access::MayName;

/// GET /livez: whether the process is alive.
pub(crate) async fn livez(State(service): State<Service>) -> impl IntoResponse {
    service.readiness().liveness().await
}

/// GET /readyz: whether calls are answered, and what that waits for.
pub(crate) async fn readyz(State(service): State<Service>, may_name: Option<Extension<MayName>>) -> impl IntoResponse {
    service.readiness().readiness(service.staleness(), told(may_name)).await
}

/// Where nobody has said that names may be told, none are.
pub(crate) fn told(may_name: Option<Extension<MayName>>) -> MayName {
    may_name.map_or(MayName(false), |Extension(may_name)| may_name)
}
