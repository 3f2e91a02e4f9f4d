//! Middleware of every request: access, limits on its body, its memory and its deadline, bounds on unsent responses, containment of
//! panics.
//!
//! Start at [`apply`].

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt as _;
use hyper::body::Body as _;
use nodesift_edge::body::{self, Refuse};
use nodesift_edge::intake::Intake;
use nodesift_edge::{self as edge, Peer};
use tokio::time::Instant;
use tonic::Status;

use crate::access::{Access, CallerRights};
use crate::admission::deadline::Deadline;
use crate::admission::metrics::{Counted, Metrics};
use crate::admission::scope::{ProbeScope, RequestScope, StreamScope};
use crate::contained_body::contained;
use crate::paths::{self, Paths};
use crate::{Error, request_log};

/// Bytes that one request body may have.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// Who may call, the limits on requests, and the counters.
#[derive(Debug)]
pub(crate) struct Middleware {
    paths: Paths,
    access: Arc<Access>,
    body_bytes: usize,
    request_time: Duration,
    intake: Intake,
    metrics: Metrics,
}

impl Middleware {
    pub(crate) fn new(
        paths: Paths,
        access: Access,
        BodyLimit(body_bytes): BodyLimit,
        request_time: Duration,
        metrics: Metrics,
    ) -> Arc<Self> {
        let intake = Intake::new(body_bytes, &metrics.intake);
        Arc::new(Self { paths, access: Arc::new(access), body_bytes, request_time, intake, metrics })
    }

    /// Puts limits around the body of a request, and gives it what travels with it.
    fn admit(&self, request: Request, grpc: bool) -> Result<Request, Error> {
        let (mut parts, body) = request.into_parts();
        let peer: Peer = parts.extensions.remove().unwrap_or_default();
        let class = peer.listener();
        let Peer { caller, activity, unsent, began, .. } = peer;
        let rights = CallerRights::new(Arc::clone(&self.access), caller);
        // The handler finds a status of gRPC in the chain of sources, or the error itself.
        let refuse: Refuse = if grpc { |error| Status::from(Error::from(error)).into() } else { |error| error.into() };
        let budgets = self.intake.class(class).clone();
        let arrival = budgets.arriving.begin()?;
        let body = if grpc && self.paths.is_stream(parts.uri.path()) {
            // It has no end to wait for: its messages are limited one by one.
            let (body, messages) =
                body::bound_messages(body, self.body_bytes, self.request_time, arrival, activity.clone(), refuse);
            parts.extensions.insert(StreamScope {
                messages,
                budgets,
                peer: activity,
                class,
                rights,
                unsent,
                time: self.request_time,
            });
            Body::new(body)
        } else {
            let deadline =
                Deadline::from_headers(&parts.headers, began.unwrap_or_else(Instant::now), self.request_time)?;
            let room = arrival.room();
            let body = body::bound(body, self.body_bytes, deadline.at(), arrival, activity.clone(), refuse);
            parts.extensions.insert(RequestScope { deadline, room, budgets, peer: activity, class, rights, unsent });
            Body::new(body)
        };
        Ok(Request::from_parts(parts, body))
    }

    /// Whether a request needs no room.
    fn is_probe(&self, request: &Request) -> bool {
        request.body().is_end_stream() && self.paths.is_probe(request.uri().path())
    }

    /// Whether a request gets its errors as gRPC: a path of JSON has them as JSON, whatever type its body claims to have.
    fn expects_grpc(&self, request: &Request) -> bool {
        is_grpc(request.headers()) && self.paths.has_grpc() && !self.paths.is_json(request.uri().path())
    }
}

/// Limits the body, runs the handler, and answers in its place if it panics.
pub(crate) async fn apply(State(middleware): State<Arc<Middleware>>, request: Request, next: Next) -> Response {
    let _counted = Counted::new(&middleware.metrics.in_flight);
    let call = middleware.paths.name_of(request.uri().path());
    let timed = middleware.metrics.requests.start(call, middleware.expects_grpc(&request));
    let unsent = request.extensions().get().and_then(|peer: &Peer| peer.unsent.clone());
    let head = request_log::Head::new(&request);
    let response = contained(answer(&middleware, request, next).await, &middleware.metrics.panics);
    let response = match unsent {
        Some(unsent) => unsent.watch(response, head_of).map(Body::new),
        None => response,
    };
    timed.end(&response);
    head.log(&response);
    response
}

async fn answer(middleware: &Middleware, request: Request, next: Next) -> Response {
    let grpc = middleware.expects_grpc(&request);
    let class = middleware.paths.class_of(request.uri().path());
    let limit = middleware.body_bytes;
    if let Err(error) = middleware.access.check(&request, class) {
        return error.into_response_for(grpc);
    }
    // A declared length is refused before a byte is read.
    if request.body().size_hint().lower() > limit as u64 {
        return Error::from(edge::Error::BodyTooLarge { limit }).into_response_for(grpc);
    }
    if !grpc && let Some(found) = content_coding(request.headers()) {
        return Error::ContentCoding { found }.into_response_for(grpc);
    }
    // tonic answers 200 with an error in headers that only gRPC clients read.
    if !grpc && middleware.paths.has_grpc() && paths::is_grpc(request.uri().path()) {
        return Error::NotGrpc.into_response_for(grpc);
    }
    let request = if middleware.is_probe(&request) {
        let mut request = request;
        let Peer { caller, activity, unsent, .. } = request.extensions_mut().remove().unwrap_or_default();
        activity.end_body();
        request.extensions_mut().insert(ProbeScope { may_name: middleware.access.may_name(&caller), unsent });
        request
    } else {
        match middleware.admit(request, grpc) {
            Ok(request) => request,
            Err(error) => return error.into_response_for(grpc),
        }
    };
    // After a panic the handler is dropped: nothing sees what it left half done.
    let outcome = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    match outcome {
        Ok(response) => response,
        Err(_) => {
            middleware.metrics.panics.inc();
            tracing::error!(grpc, "a handler panicked");
            Error::Internal.into_response_for(grpc)
        }
    }
}

/// Whether the headers of a request or a response say that it is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|found| found.as_bytes().starts_with(b"application/grpc"))
}

/// The head of an error in the place of a response.
fn head_of(error: edge::Error, response: Response) -> Response {
    let (parts, _) = response.into_parts();
    let head = Error::from(error).into_response_for(is_grpc(&parts.headers));
    let mut head = head.map(|_| Body::empty());
    head.headers_mut().remove(header::CONTENT_LENGTH);
    head
}

/// The content coding of a body other than identity. Nothing is decompressed, so there are no decompression bombs.
fn content_coding(headers: &HeaderMap) -> Option<String> {
    let found = String::from_utf8_lossy(headers.get(header::CONTENT_ENCODING)?.as_bytes()).into_owned();
    (!found.eq_ignore_ascii_case("identity")).then_some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    /// A table without calls: every path is that of an operator.
    fn nothing() -> Paths {
        [].into_iter().collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_request_begins_with_the_first_byte_of_its_head() {
        let time = Duration::from_secs(2);
        let middleware = Middleware::new(nothing(), Access::default(), BodyLimit(10), time, Metrics::default());
        let began = Instant::now();
        tokio::time::sleep(time / 2).await;
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(Peer { began: Some(began), ..Peer::default() });
        let admitted = middleware.admit(request, false).unwrap();
        assert_eq!(admitted.extensions().get::<RequestScope>().unwrap().deadline.at(), began + time);
    }

    #[tokio::test]
    async fn tonic_finds_the_status_of_a_limit_in_the_chain_of_errors() {
        let time = Duration::from_secs(2);
        let middleware = Middleware::new(nothing(), Access::default(), BodyLimit(10), time, Metrics::default());
        let admitted = middleware.admit(Request::new(Body::from("more than ten bytes")), true).unwrap();
        let error = axum::body::to_bytes(admitted.into_body(), usize::MAX).await.unwrap_err();
        assert_eq!(Status::from_error(error.into()).code(), tonic::Code::ResourceExhausted);
    }

    #[tokio::test]
    async fn a_panic_is_contained() {
        async fn panics() -> &'static str {
            panic!("on purpose")
        }
        let middleware =
            Middleware::new(nothing(), Access::default(), BodyLimit(10), Duration::from_secs(2), Metrics::default());
        let router: Router = Router::new()
            .route("/well", get(|| async { "ok" }))
            .route("/panics", get(panics))
            .layer(from_fn_with_state(middleware.clone(), apply));
        let status = async |path: &str| {
            let request = Request::builder().uri(path).header("host", "localhost").body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap().status()
        };
        assert_eq!(status("/panics").await, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(status("/well").await, StatusCode::OK);
        assert_eq!((middleware.metrics.in_flight.get(), middleware.metrics.panics.get()), (0, 1));
    }
}
