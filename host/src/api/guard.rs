//! What every request passes before its handler: a bound on its body in bytes and time, and containment of panics.
//!
//! The bound counts while the handler reads; nothing is buffered here. Start at [`guard`].

use std::error::Error as StdError;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Error;
use super::grpc::{FILTER_STREAM, Reached};
use crate::limits;

/// Bytes that a request body may have.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimit(pub usize);

/// Bounds the body, runs the handler, and answers for it if it panics.
pub async fn guard(State(BodyLimit(limit)): State<BodyLimit>, request: Request, next: Next) -> Response {
    let grpc = is_grpc(request.headers());
    // A stream of requests has no end to wait for: its messages are bounded one by one, and its peer by pings.
    let endless = grpc && request.uri().path() == FILTER_STREAM;
    // A declared length is refused before a byte is read.
    if request.body().size_hint().lower() > limit as u64 {
        return Error::BodyTooLarge { limit }.into_response_for(grpc);
    }
    let bounded = |body| Body::new(Bounded::new(body, limit, limits::BODY_TIME, grpc));
    let mut request = if endless { request } else { request.map(bounded) };
    let reached = Reached::default();
    request.extensions_mut().insert(reached.clone());
    match contained(next.run(request)).await {
        Ok(response) if grpc => reached.put_right(response, limit),
        Ok(response) => response,
        Err(Panicked) => Error::Internal.into_response_for(grpc),
    }
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

/// A request body that ends with an error once it is too large or too slow.
struct Bounded {
    inner: Body,
    limit: usize,
    left: usize,
    due: Instant,
    /// Set up only when the body has to be waited for: small bodies arrive with their head.
    clock: Option<Pin<Box<Sleep>>>,
    grpc: bool,
}

impl Bounded {
    fn new(inner: Body, limit: usize, time: Duration, grpc: bool) -> Self {
        Self { inner, limit, left: limit, due: Instant::now() + time, clock: None, grpc }
    }

    /// tonic finds a status in an error's chain of sources; the other handlers look for our own error.
    fn refusal(&self, error: Error) -> Box<dyn StdError + Send + Sync> {
        if self.grpc { tonic::Status::from(error).into() } else { error.into() }
    }
}

impl hyper::body::Body for Bounded {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
            let due = this.due;
            let clock = this.clock.get_or_insert_with(|| Box::pin(sleep_until(due)));
            ready!(clock.as_mut().poll(cx));
            return Poll::Ready(Some(Err(this.refusal(Error::BodyTooSlow))));
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                match this.left.checked_sub(bytes) {
                    Some(left) => {
                        this.left = left;
                        Some(Ok(frame))
                    }
                    None => Some(Err(this.refusal(Error::BodyTooLarge { limit: this.limit }))),
                }
            }
            Some(Err(error)) => Some(Err(error.into())),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use std::convert::Infallible;

    use super::*;
    use crate::api::json;

    const PATIENT: Duration = Duration::from_secs(3600);

    /// A body of unknown length: frames of ten bytes, then silence for ever.
    struct Dribble(usize);

    impl hyper::body::Body for Dribble {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let Some(left) = self.0.checked_sub(1) else { return Poll::Pending };
            self.0 = left;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"0123456789")))))
        }
    }

    async fn read_dribble(frames: usize, limit: usize, time: Duration) -> Error {
        let body = Bounded::new(Body::new(Dribble(frames)), limit, time, false);
        json::read(Body::new(body)).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_cut_at_its_limit() {
        // The source never ends: reading returns only because the limit is checked frame by frame.
        assert!(matches!(read_dribble(usize::MAX, 25, PATIENT).await, Error::BodyTooLarge { limit: 25 }));
    }

    #[tokio::test]
    async fn a_body_that_stops_coming_is_given_up() {
        assert!(matches!(read_dribble(2, 25, Duration::from_millis(20)).await, Error::BodyTooSlow));
    }

    #[tokio::test]
    async fn a_body_of_just_the_limit_is_read() {
        let body = Bounded::new(Body::from("0123456789"), 10, PATIENT, false);
        assert_eq!(json::read(Body::new(body)).await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn grpc_finds_the_status_of_a_bound_in_the_chain() {
        let body = Body::new(Bounded::new(Body::from("0123456789"), 9, PATIENT, true));
        let error = http_body_util::BodyExt::collect(body).await.unwrap_err();
        assert_eq!(tonic::Status::from_error(error.into()).code(), tonic::Code::ResourceExhausted);
    }

    #[tokio::test]
    async fn a_panic_is_contained() {
        assert_eq!(contained(async { 1 }).await, Ok(1));
        assert_eq!(contained(async { panic!("on purpose") }).await, Err::<(), _>(Panicked));
    }
}
