//! `GET /livez` and `GET /readyz` of a process that serves. Start at [`readyz`].

use axum::Extension;
use axum::extract::State;
use axum::response::IntoResponse;

use crate::Service;
use crate::access::MayName;
use crate::admission::scope::ProbeScope;

/// GET /livez: whether the process is alive.
pub(crate) async fn livez(State(service): State<Service>) -> impl IntoResponse {
    service.readiness().liveness().await
}

/// GET /readyz: whether calls are answered, and what that waits for.
pub(crate) async fn readyz(State(service): State<Service>, probe: Option<Extension<ProbeScope>>) -> impl IntoResponse {
    service.readiness().readiness(service.staleness(), told(probe)).await
}

/// Where nobody has said that names may be told, none are.
pub(crate) fn told(probe: Option<Extension<ProbeScope>>) -> MayName {
    probe.map_or(MayName(false), |Extension(probe)| probe.may_name)
}
