//! What every request passes before its handler: a bound on its body, a watch over its answer, containment of panics.
//!
//! Start at [`guard`].

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::Body as _;

use super::Error;
use super::answers::Answers;
use super::body::Bodies;
use super::grpc::{CALLS, FILTER_STREAM, Reached};
use super::metrics::{Counted, Metrics};

/// Bytes that a request body may have.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// What requests are held to, and where they are counted.
#[derive(Debug, Clone)]
pub struct Bounds {
    bodies: Bodies,
    metrics: Metrics,
}

impl Bounds {
    /// Bodies up to a limit.
    pub fn new(BodyLimit(limit): BodyLimit, metrics: Metrics) -> Self {
        Self { bodies: Bodies::new(limit), metrics }
    }
}

/// Bounds the body, runs the handler, and answers for it if it panics.
pub async fn guard(State(bounds): State<Bounds>, mut request: Request, next: Next) -> Response {
    let _counted = Counted::new(&bounds.metrics.in_flight);
    // Only HTTP/2 has any: there the connection cannot see by itself whether answers are taken.
    let answers = request.extensions_mut().remove::<Answers>();
    let response = answer(&bounds, request, next).await;
    match answers {
        Some(answers) => answers.watch(response),
        None => response,
    }
}

async fn answer(bounds: &Bounds, request: Request, next: Next) -> Response {
    let grpc = is_grpc(request.headers());
    let limit = bounds.bodies.limit();
    // A stream of requests has no end to wait for: its messages are bounded one by one, and its peer by pings.
    let endless = grpc && request.uri().path() == FILTER_STREAM;
    // A declared length is refused before a byte is read.
    if request.body().size_hint().lower() > limit as u64 {
        return Error::BodyTooLarge { limit }.into_response_for(grpc);
    }
    if !grpc && let Some(found) = coding(request.headers()) {
        return Error::ContentCoding { found }.into_response_for(grpc);
    }
    // tonic would say so in headers that only gRPC's clients read, under status 200.
    if !grpc && request.uri().path().starts_with(CALLS) {
        return Error::NotGrpc.into_response_for(grpc);
    }
    let (mut request, held) = if endless {
        (request, None)
    } else {
        let (parts, body) = request.into_parts();
        let (body, held) = bounds.bodies.bound(body, grpc);
        (Request::from_parts(parts, body), Some(held))
    };
    let reached = Reached::default();
    request.extensions_mut().insert(reached.clone());
    let outcome = contained(next.run(request)).await;
    drop(held);
    match outcome {
        Ok(response) if grpc => reached.put_right(response, limit),
        Ok(response) => response,
        Err(Panicked) => Error::Internal.into_response_for(grpc),
    }
}

/// How a body is coded, if not as it is. Nothing is unpacked here, so that nothing can be packed to burst.
fn coding(headers: &HeaderMap) -> Option<String> {
    let found = String::from_utf8_lossy(headers.get(header::CONTENT_ENCODING)?.as_bytes()).into_owned();
    (!found.eq_ignore_ascii_case("identity")).then_some(found)
}

/// Whether a request speaks gRPC.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|found| found.as_bytes().starts_with(b"application/grpc"))
}

/// A handler panicked; the panic itself went through the panic hook.
#[derive(Debug, PartialEq, Eq)]
struct Panicked;

/// Runs a future to its end or its panic.
async fn contained<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    std::future::poll_fn(move |cx| {
        // After a panic the future is not polled again, so no one sees what it left half done.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(poll) => poll.map(Ok),
            Err(_) => {
                tracing::error!("a handler panicked");
                Poll::Ready(Err(Panicked))
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_panic_is_contained() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        assert_eq!(contained(async { panic!("on purpose") }).await, Err::<(), _>(Panicked));
    }
}
