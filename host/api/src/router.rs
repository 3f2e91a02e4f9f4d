//! Paths → handlers, the same on every listener, behind the middleware.
//!
//! Start at [`router`].

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::access::{Access, MayName};
use crate::admin::exposition::Exposition;
use crate::admin::{events, metrics, negotiations, policy, shadow, state, version};
use crate::admission::metrics::Metrics;
use crate::calls::filter::Filter;
use crate::calls::reprieve::Reprieve;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::middleware::{Middleware, apply};
use crate::protocols::{extender, grpc, health, json, reflection};
use crate::transport::is_grpc;
use crate::{BodyLimit, Error, Readiness, Service, Staleness, limits};

/// Everything that is served.
pub fn router(service: Service, access: Access, body_limit: BodyLimit, exposition: Exposition) -> Router {
    let calls = grpc::routes(body_limit.0);
    let health = health::server(service.clone());
    let middleware = Middleware::new(access, body_limit, service.settings().request_time, service.metrics().clone());
    let described = reflection::add(Router::new()).unwrap_or_else(|error| {
        tracing::error!(%error, "server reflection is not served");
        Router::new()
    });
    described
        .merge(calls)
        .route_service("/grpc.health.v1.Health/{call}", health)
        .route("/v1/filter", post(json::call::<Filter>))
        .route("/v1/explain", post(json::explain))
        .route("/v1/assume", post(json::assume))
        .route("/v1/forget", post(json::forget))
        .route("/v1/predicates", post(json::call::<Predicates>))
        .route("/v1/prefilterpredicates", post(json::call::<PreFilterPredicates>))
        .route("/v1/preemptionpredicates", post(json::call::<PreemptionPredicates>))
        .route("/v1/reprieve", post(json::call::<Reprieve>))
        .route("/v1/state", get(state::state))
        .route("/v1/events", get(events::events))
        .route("/v1/negotiations", get(negotiations::negotiations))
        .route("/v1/policy", get(policy::policy))
        .route("/v1/policy/shadow", get(shadow::shadow))
        .route("/extender/filter", post(extender::filter::filter))
        .route("/extender/preempt", post(extender::preempt::preempt))
        // Probes, named in `middleware` too.
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/version", get(version::version))
        .layer(Extension(exposition))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .with_state(service)
        .layer(from_fn_with_state(middleware, apply))
}

/// Probes and metrics alone, for a listener that anybody may reach: nothing here tells about nodes or pods.
pub fn probes(service: Service, exposition: Exposition) -> Router {
    // What names the sidecar is the kubelet's or the scraper's affair, and there is nothing to protect.
    let (access, body_limit) = (Access::open(), BodyLimit(limits::PROBE_BODY_BYTES));
    let middleware = Middleware::new(access, body_limit, service.settings().request_time, Metrics::default());
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics::metrics))
        .layer(Extension(exposition))
        .fallback(|| async { (StatusCode::NOT_FOUND, "this listener has GET /livez, GET /readyz and GET /metrics\n") })
        .with_state(service)
        .layer(from_fn_with_state(middleware, apply))
}

/// Router of a process that is not ready: it is live, and refuses everything else with the steps that readiness waits for. `open`
/// says that anybody may reach the listener.
pub fn waiting(readiness: Readiness, request_time: Duration, exposition: Exposition, open: bool) -> Router {
    let access = Access { open, ..Access::open() };
    let middleware = Middleware::new(access, BodyLimit(limits::PROBE_BODY_BYTES), request_time, Metrics::default());
    let (live, ready) = (readiness.clone(), readiness.clone());
    Router::new()
        .route("/livez", get(async move || live.liveness().await))
        .route(
            "/readyz",
            get(async move |may_name: Option<Extension<MayName>>| {
                ready.readiness(&Staleness::default(), told(may_name)).await
            }),
        )
        .route("/metrics", get(metrics::metrics))
        .layer(Extension(exposition))
        .fallback(async move |request: Request| match readiness.check() {
            Err(error) => error.into_response_for(is_grpc(request.headers())),
            Ok(()) => unknown_path(request).await,
        })
        .layer(from_fn_with_state(middleware, apply))
}

async fn livez(State(service): State<Service>) -> impl IntoResponse {
    service.readiness().liveness().await
}

async fn readyz(State(service): State<Service>, may_name: Option<Extension<MayName>>) -> impl IntoResponse {
    service.readiness().readiness(service.staleness(), told(may_name)).await
}

/// Where nobody has said that names may be told, none are.
fn told(may_name: Option<Extension<MayName>>) -> MayName {
    may_name.map_or(MayName(false), |Extension(may_name)| may_name)
}

async fn unknown_path(request: Request) -> Response {
    Error::UnknownPath { path: request.uri().path().to_owned() }.into_response_for(is_grpc(request.headers()))
}

async fn wrong_method(method: Method) -> Error {
    Error::WrongMethod { method: method.to_string() }
}
