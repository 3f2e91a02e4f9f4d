//! Whether a peer takes what it is answered. Over HTTP/2 a peer can keep its windows shut and its connection alive: nothing
//! is ever written then, so that the clock over writes, in [`patience`](super::patience), has nothing to go by.
//!
//! Answers are handed to the connection in pieces that tell when they have been sent and dropped. Start at
//! [`Answers::watch`] and [`Answers::stalled`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::interval;

use crate::limits;

/// The answers of one connection; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers(Arc<Pieces>);

#[derive(Debug, Default)]
struct Pieces {
    /// Handed over and not sent yet.
    waiting: AtomicUsize,
    /// Sent, or given up.
    gone: AtomicU64,
    /// Wakes the watch at the first answer: most connections never have one to watch.
    begun: Notify,
}

impl Answers {
    /// Has an answer tell how far it has been sent.
    pub(super) fn watch(&self, response: Response) -> Response {
        self.0.begun.notify_one();
        response.map(|body| Body::new(Watched { inner: body, rest: Bytes::new(), pieces: Arc::clone(&self.0) }))
    }

    /// Ends once something has waited to be sent for [`limits::WRITE_STALL`] and nothing was sent meanwhile.
    pub(super) async fn stalled(&self) {
        self.0.begun.notified().await;
        let mut looks = interval(limits::WRITE_STALL / LOOKS);
        let mut still = Still::default();
        loop {
            looks.tick().await;
            let waits = self.0.waiting.load(Ordering::Relaxed) > 0;
            if still.look(waits, self.0.gone.load(Ordering::Relaxed)) {
                return;
            }
        }
    }
}

/// Looks within the time that an answer may lie still.
const LOOKS: u32 = 2;

/// For how many looks in a row nothing has moved.
#[derive(Debug, Default)]
struct Still {
    gone: u64,
    looks: u32,
}

impl Still {
    /// Whether it is too long now.
    fn look(&mut self, waits: bool, gone: u64) -> bool {
        self.looks = if waits && gone == self.gone { self.looks + 1 } else { 0 };
        self.gone = gone;
        // The first of these looks may have come just after what it saw.
        self.looks > LOOKS
    }
}

/// A body that comes in pieces.
struct Watched {
    inner: Body,
    /// Of the frame that came last, what has not been handed over.
    rest: Bytes,
    pieces: Arc<Pieces>,
}

/// Bytes that tell when they are gone.
struct Piece {
    bytes: Bytes,
    pieces: Arc<Pieces>,
}

impl Piece {
    fn new(bytes: Bytes, pieces: Arc<Pieces>) -> Self {
        pieces.waiting.fetch_add(1, Ordering::Relaxed);
        Self { bytes, pieces }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.pieces.gone.fetch_add(1, Ordering::Relaxed);
        self.pieces.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return Poll::Ready(other),
            }
        }
        let length = self.rest.len().min(limits::STREAM_CHUNK);
        let piece = Piece::new(self.rest.split_to(length), Arc::clone(&self.pieces));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use axum::response::IntoResponse as _;
    use http_body_util::BodyExt as _;
    use hyper::body::Body as _;
    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test]
    async fn an_answer_comes_whole_in_pieces_that_are_counted() {
        let text: Vec<u8> = (0..3 * limits::STREAM_CHUNK + 5).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let answers = Answers::default();
        let mut body = answers.watch(text.clone().into_response()).into_body();
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            pieces.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(pieces.len(), 4);
        assert_eq!(pieces.concat(), text);
        assert_eq!(answers.0.waiting.load(Ordering::Relaxed), 4);
        drop(pieces);
        assert_eq!((answers.0.waiting.load(Ordering::Relaxed), answers.0.gone.load(Ordering::Relaxed)), (0, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_noticed_and_what_goes_on_is_not() {
        let answers = Answers::default();
        let idle = timeout(10 * limits::WRITE_STALL, answers.stalled()).await;
        assert!(idle.is_err(), "nothing waits");

        let mut body = answers.watch(vec![0; 100 * limits::STREAM_CHUNK].into_response()).into_body();
        let slow = async {
            for _ in 0..100 {
                let _piece = body.frame().await;
                tokio::time::sleep(limits::WRITE_STALL / 2).await;
            }
        };
        tokio::select! {
            () = slow => {}
            () = answers.stalled() => unreachable!("one piece after the other was taken"),
        }

        let _piece = answers.watch("x".into_response()).into_body().frame().await;
        let start = Instant::now();
        answers.stalled().await;
        let time = start.elapsed();
        assert!(time >= limits::WRITE_STALL && time <= limits::WRITE_STALL + Duration::from_secs(3), "{time:?}");
    }
}
