//! Bodies of responses that panic while they are sent: the response ends with an error, so that nobody takes it for whole, and the panic is
//! counted. Start at [`contained`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::{BoxError, Error};
use hyper::body::{Body as _, Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;

/// The response with the panics of its body counted here. One whose length is known is encoded already.
pub(crate) fn contained(response: Response, panics: &Counter) -> Response {
    match response.body().size_hint().exact() {
        Some(_) => response,
        None => response.map(|body| Body::new(ContainedBody { body, panics: panics.clone() })),
    }
}

struct ContainedBody {
    body: Body,
    panics: Counter,
}

impl hyper::body::Body for ContainedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.body).poll_frame(cx)));
        polled.unwrap_or_else(|_| {
            // Nothing is asked again that a panic has left half done.
            self.body = Body::empty();
            self.panics.inc();
            tracing::error!("the body of a response panicked");
            Poll::Ready(Some(Err(Error::new(BoxError::from("the response ends early, by a defect of the sidecar")))))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]
    use std::convert::Infallible;

    use futures_util::{StreamExt as _, stream};
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_body_that_panics_ends_with_an_error_and_is_counted_once() {
        let panics = Counter::default();
        let pieces = stream::iter(0..5).map(|piece| match piece {
            0 | 1 => Ok::<_, Infallible>(Bytes::from(vec![piece])),
            _ => panic!("on purpose"),
        });
        let mut body = contained(Response::new(Body::from_stream(pieces)), &panics).into_body();
        for piece in [0, 1] {
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), vec![piece]);
        }
        assert!(body.frame().await.unwrap().is_err(), "it is not taken for whole");
        assert!(body.frame().await.is_none() && body.is_end_stream());
        assert_eq!(panics.get(), 1);
    }

    #[tokio::test]
    async fn other_bodies_are_what_they_were() {
        let panics = Counter::default();
        let whole = contained(Response::new(Body::from("whole")), &panics).into_body();
        assert_eq!(whole.size_hint().exact(), Some(5));
        let pieces = stream::iter(["a", "b"]).map(Ok::<_, Infallible>);
        let pieces = contained(Response::new(Body::from_stream(pieces)), &panics).into_body();
        assert_eq!(pieces.collect().await.unwrap().to_bytes(), "ab");
        assert_eq!(panics.get(), 0);
    }
}
