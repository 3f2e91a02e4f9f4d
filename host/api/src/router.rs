//! The router of the [table of calls](crate::routes), the same on every listener, behind the middleware.
//!
//! Start at [`router`].

use std::time::Duration;

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};

use crate::access::Access;
use crate::admin::exposition::Exposition;
use crate::admin::metrics;
use crate::admin::probes::told;
use crate::admission::metrics::Metrics;
use crate::admission::scope::ProbeScope;
use crate::middleware::{Middleware, apply, is_grpc};
use crate::protocols::{health, reflection};
use crate::routes::{self, ROUTES, Route};
use crate::{BodyLimit, Error, Readiness, Service, Staleness, limits};

/// Everything that is served.
pub fn router(service: Service, access: Access, body_limit: BodyLimit, exposition: Exposition) -> Router {
    let service = service.serving(routes::paths());
    let health = health::server(service.clone());
    let middleware = Middleware::new(
        routes::paths(),
        access,
        body_limit,
        service.settings().request_time,
        service.metrics().clone(),
    );
    let described = reflection::add(Router::new()).unwrap_or_else(|error| {
        tracing::error!(%error, "server reflection is not served");
        Router::new()
    });
    let calls = ROUTES.iter().filter_map(|route| route.over_grpc(body_limit.0));
    let served = described.route_service("/grpc.health.v1.Health/{call}", health);
    let served = calls.fold(served, |router, (path, handler)| router.route(&path, handler));
    ROUTES
        .iter()
        .filter_map(Route::over_http)
        .fold(served, |router, (path, handler)| router.route(path, handler))
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
    let middleware =
        Middleware::new(routes::paths(), access, body_limit, service.settings().request_time, Metrics::default());
    let probes = ROUTES.iter().filter(|route| route.is_probe()).filter_map(Route::over_http);
    probes
        .fold(Router::new(), |router, (path, handler)| router.route(path, handler))
        .layer(Extension(exposition))
        .fallback(|| async { (StatusCode::NOT_FOUND, "this listener has GET /livez, GET /readyz and GET /metrics\n") })
        .with_state(service)
        .layer(from_fn_with_state(middleware, apply))
}

/// Router of a process that is not ready: it is live, and refuses everything else with the steps that readiness waits for. `open`
/// says that anybody may reach the listener.
pub fn waiting(readiness: Readiness, request_time: Duration, exposition: Exposition, open: bool) -> Router {
    let access = Access { open, ..Access::open() };
    let middleware =
        Middleware::new(routes::paths(), access, BodyLimit(limits::PROBE_BODY_BYTES), request_time, Metrics::default());
    let (live, ready) = (readiness.clone(), readiness.clone());
    Router::new()
        .route("/livez", get(async move || live.liveness().await))
        .route(
            "/readyz",
            get(async move |probe: Option<Extension<ProbeScope>>| {
                ready.readiness(&Staleness::default(), told(probe)).await
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

async fn unknown_path(request: Request) -> Response {
    let help = format!("{}, or gRPC nodesift.v1", routes::paths().help());
    Error::UnknownPath { path: request.uri().path().to_owned(), help }.into_response_for(is_grpc(request.headers()))
}

pub(crate) async fn wrong_method(method: Method) -> Error {
    Error::WrongMethod { method: method.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use axum::body::Body;
    use axum::http::HeaderMap;
    use nodesift_edge::Peer;
    use nodesift_proto::FILE_DESCRIPTOR_SET;
    use prometheus_client::registry::Registry;
    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use tonic::{Code, Status};
    use tower::ServiceExt as _;

    use super::*;
    use crate::access::Caller;
    use crate::calls::testing::idle;
    use crate::paths;

    fn exposition() -> Exposition {
        Exposition::new(Registry::default())
    }

    /// Calls a router over the Unix socket, where everybody may make every call.
    async fn ask(router: &Router, method: &str, path: &str, media_type: &str, body: &str) -> (StatusCode, HeaderMap) {
        let peer = Peer { caller: Caller::Socket { peer: None }, ..Peer::default() };
        let request = Request::builder().method(method).uri(path).header("content-type", media_type);
        let request = request.extension(peer).body(Body::from(body.to_owned())).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        (response.status(), response.headers().clone())
    }

    /// The code by which a call over gRPC refuses a request without a message; OK where it does not.
    async fn code(router: &Router, path: &str) -> Code {
        let (_, headers) = ask(router, "POST", path, "application/grpc", "").await;
        Status::from_header_map(&headers).map_or(Code::Ok, |status| status.code())
    }

    #[test]
    fn the_table_has_every_call_of_the_proto_and_no_other() {
        let mut of_proto = BTreeMap::new();
        for file in FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap().file {
            for service in &file.service {
                for method in &service.method {
                    let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                    of_proto.insert(path, method.client_streaming());
                }
            }
        }
        let routes = ROUTES.iter().filter_map(|route| route.over_grpc(0));
        let of_table: BTreeMap<String, bool> =
            routes.map(|(path, _)| (path.clone(), routes::paths().is_stream(&path))).collect();
        assert_eq!(of_table, of_proto);
        assert!(
            of_table
                .keys()
                .all(|path| paths::is_grpc(path) && path.ends_with(&format!("/{}", routes::paths().name_of(path))))
        );
    }

    /// A path with a name in the place of each segment in braces.
    fn named(path: &str) -> String {
        let segments = path.split('/').map(|segment| if paths::is_name(segment) { "n" } else { segment });
        segments.collect::<Vec<_>>().join("/")
    }

    #[tokio::test]
    async fn every_row_of_the_table_has_a_handler() {
        let router = router(idle(), Access::default(), BodyLimit(1_000), exposition());
        for (path, _) in ROUTES.iter().filter_map(|route| route.over_grpc(0)) {
            assert_ne!(code(&router, &path).await, Code::Unimplemented, "{path}");
            assert_eq!(code(&router, &format!("{path}x")).await, Code::Unimplemented, "{path}x");
        }
        for known in routes::paths().help().split(", ") {
            let (method, path) = known.split_once(' ').unwrap();
            let (path, ends_with_name) = (&named(path), path.ends_with('}'));
            let (status, _) = ask(&router, method, path, "application/json", "{}").await;
            assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{known}");
            // A node or pod that does not exist is not found either. Nobody keeps the list in which one is looked for.
            let names_an_object = known.contains('{') && !known.ends_with("/history");
            assert_eq!(status == StatusCode::NOT_FOUND, names_an_object, "{known}: {status}");
            let other = format!("{path}{}", if ends_with_name { "/x" } else { "x" });
            let (status, _) = ask(&router, method, &other, "application/json", "{}").await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{other}");
            let (status, _) = ask(&router, "PATCH", path, "application/json", "{}").await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "PATCH {path}");
        }
    }

    #[tokio::test]
    async fn a_listener_for_anybody_has_probes_alone() {
        let router = probes(idle(), exposition());
        for known in routes::paths().help().split(", ") {
            let (method, path) = known.split_once(' ').unwrap();
            let (status, _) = ask(&router, method, &named(path), "application/json", "").await;
            let is_probe = ["/livez", "/readyz", "/metrics"].contains(&path);
            assert_eq!(status == StatusCode::NOT_FOUND, !is_probe, "{known}: {status}");
        }
    }
}
