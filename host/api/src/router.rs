//! Paths → handlers, the same on every listener, behind the middleware.
//!
//! Start at [`router`].

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::admin::exposition::Exposition;
use crate::admin::{events, metrics, state};
use crate::calls::explain::Explain;
use crate::calls::filter::Filter;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::middleware::{Middleware, apply, is_grpc};
use crate::protocols::{extender, grpc, health, json, reflection};
use crate::{BodyLimit, Error, Service};

/// Everything that is served.
pub fn router(service: Service, body_limit: BodyLimit, exposition: Exposition) -> Router {
    let calls = grpc::routes(body_limit.0);
    let health = health::server(service.clone());
    let middleware = Middleware::new(body_limit, service.settings().request_time, service.metrics().clone());
    let described = reflection::add(Router::new()).unwrap_or_else(|error| {
        tracing::error!(%error, "server reflection is not served");
        Router::new()
    });
    described
        .merge(calls)
        .route_service("/grpc.health.v1.Health/{call}", health)
        .route("/v1/filter", post(json::call::<Filter>))
        .route("/v1/explain", post(json::call::<Explain>))
        .route("/v1/assume", post(json::assume))
        .route("/v1/forget", post(json::forget))
        .route("/v1/predicates", post(json::call::<Predicates>))
        .route("/v1/prefilterpredicates", post(json::call::<PreFilterPredicates>))
        .route("/v1/preemptionpredicates", post(json::call::<PreemptionPredicates>))
        .route("/v1/state", get(state::state))
        .route("/v1/events", get(events::events))
        .route("/extender/filter", post(extender::filter::filter))
        .route("/extender/preempt", post(extender::preempt::preempt))
        // Probes, named in `middleware` too.
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics::metrics))
        .layer(Extension(exposition))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .with_state(service)
        .layer(from_fn_with_state(middleware, apply))
}

async fn readyz(State(service): State<Service>) -> impl IntoResponse {
    service.readiness().report(service.staleness())
}

async fn unknown_path(request: Request) -> Response {
    Error::UnknownPath { path: request.uri().path().to_owned() }.into_response_for(is_grpc(request.headers()))
}

async fn wrong_method(method: Method) -> Error {
    Error::WrongMethod { method: method.to_string() }
}
