//! What every request passes before its handler: limits on its body, bounds on unsent responses, containment of panics.
//!
//! Start at [`apply`].

use std::panic::AssertUnwindSafe;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt as _;
use hyper::body::Body as _;

use crate::Error;
use crate::admission::metrics::{Counted, Metrics};
use crate::protocols::grpc::{FILTER_STREAM, SERVICES};
use crate::transport::body::{Bodies, BodyLimit};
use crate::transport::unsent::Unsent;

/// The limits on bodies, and the counters.
#[derive(Debug, Clone)]
pub(crate) struct Middleware {
    bodies: Bodies,
    metrics: Metrics,
}

impl Middleware {
    pub(crate) fn new(BodyLimit(limit): BodyLimit, metrics: Metrics) -> Self {
        Self { bodies: Bodies::new(limit), metrics }
    }
}

/// Limits the body, runs the handler, and answers in its place if it panics.
pub(crate) async fn apply(State(middleware): State<Middleware>, request: Request, next: Next) -> Response {
    let _counted = Counted::new(&middleware.metrics.in_flight);
    let timed = middleware.metrics.requests.start(request.uri().path(), is_grpc(request.headers()));
    let unsent = Unsent::of(&request);
    let response = answer(&middleware, request, next).await;
    timed.end(&response);
    match unsent {
        Some(unsent) => unsent.watch(response),
        None => response,
    }
}

async fn answer(middleware: &Middleware, request: Request, next: Next) -> Response {
    let grpc = is_grpc(request.headers());
    let limit = middleware.bodies.limit();
    // A stream of requests has no end to wait for: its messages are limited one by one, and pings find dead peers.
    let endless = grpc && request.uri().path() == FILTER_STREAM;
    // A declared length is refused before a byte is read.
    if request.body().size_hint().lower() > limit as u64 {
        return Error::BodyTooLarge { limit }.into_response_for(grpc);
    }
    if !grpc && let Some(found) = content_coding(request.headers()) {
        return Error::ContentCoding { found }.into_response_for(grpc);
    }
    // tonic answers 200 with an error in headers that only gRPC clients read.
    if !grpc && SERVICES.iter().any(|service| request.uri().path().starts_with(service)) {
        return Error::NotGrpc.into_response_for(grpc);
    }
    let (request, permit) = if endless {
        (request, None)
    } else {
        let (parts, body) = request.into_parts();
        let (body, permit) = middleware.bodies.bound(body, grpc);
        (Request::from_parts(parts, body), Some(permit))
    };
    // After a panic the handler is dropped: nothing sees what it left half done.
    let outcome = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    drop(permit);
    match outcome {
        Ok(response) => response,
        Err(_) => {
            tracing::error!(grpc, "a handler panicked");
            Error::Internal.into_response_for(grpc)
        }
    }
}

/// The content coding of a body other than identity. Nothing is decompressed, so there are no decompression bombs.
fn content_coding(headers: &HeaderMap) -> Option<String> {
    let found = String::from_utf8_lossy(headers.get(header::CONTENT_ENCODING)?.as_bytes()).into_owned();
    (!found.eq_ignore_ascii_case("identity")).then_some(found)
}

/// Whether a request is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|found| found.as_bytes().starts_with(b"application/grpc"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use axum::Router;
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_contained() {
        async fn panics() -> &'static str {
            panic!("on purpose")
        }
        let middleware = Middleware::new(BodyLimit(10), Metrics::default());
        let router: Router = Router::new()
            .route("/well", get(|| async { "ok" }))
            .route("/panics", get(panics))
            .layer(from_fn_with_state(middleware.clone(), apply));
        let status = async |path: &str| {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap().status()
        };
        assert_eq!(status("/panics").await, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(status("/well").await, StatusCode::OK);
        assert_eq!(middleware.metrics.in_flight.get(), 0);
    }
}
