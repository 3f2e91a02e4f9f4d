//! Send stalls: HTTP/2 peers that keep their flow-control windows closed and the connection alive.
//!
//! Nothing is written to such a peer, so the write timeout of [`io_timeout`](super::io_timeout) never starts. Responses are
//! handed to the connection in frames that count when they are dropped after sending. Start at [`SendMonitor::watch`] and
//! [`SendMonitor::stalled`].

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

/// Watches the responses of one connection; clones share the counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct SendMonitor(Arc<InFlightFrames>);

#[derive(Debug, Default)]
struct InFlightFrames {
    /// Handed to the connection and not dropped yet.
    waiting: AtomicUsize,
    /// Sent or discarded.
    dropped: AtomicU64,
    /// Notified at the first response: HTTP/1 connections never have one to watch.
    started: Notify,
}

impl SendMonitor {
    /// Counts the frames of a response until they are sent.
    pub(crate) fn watch(&self, response: Response) -> Response {
        self.0.started.notify_one();
        response.map(|body| Body::new(CountedBody { inner: body, rest: Bytes::new(), in_flight: Arc::clone(&self.0) }))
    }

    /// Ends once frames have waited for [`limits::WRITE_STALL`] while none was sent.
    pub(super) async fn stalled(&self) {
        self.0.started.notified().await;
        let mut ticks = interval(limits::WRITE_STALL / StallDetector::CHECKS);
        let mut detector = StallDetector::default();
        loop {
            ticks.tick().await;
            let waits = self.0.waiting.load(Ordering::Relaxed) > 0;
            if detector.check(waits, self.0.dropped.load(Ordering::Relaxed)) {
                return;
            }
        }
    }
}

/// Counts checks in a row without progress.
#[derive(Debug, Default)]
struct StallDetector {
    dropped: u64,
    without_progress: u32,
}

impl StallDetector {
    /// Checks in the time of a stall.
    const CHECKS: u32 = 2;

    /// Whether the connection has stalled.
    fn check(&mut self, waits: bool, dropped: u64) -> bool {
        self.without_progress = if waits && dropped == self.dropped { self.without_progress + 1 } else { 0 };
        self.dropped = dropped;
        // One check more: the first may have come just after the last progress.
        self.without_progress > Self::CHECKS
    }
}

/// A body in frames of at most [`limits::STREAM_CHUNK`] bytes that are counted.
struct CountedBody {
    inner: Body,
    /// The part of the last frame that has not been handed over.
    rest: Bytes,
    in_flight: Arc<InFlightFrames>,
}

/// Bytes that are counted until dropped.
struct CountedFrame {
    bytes: Bytes,
    in_flight: Arc<InFlightFrames>,
}

impl CountedFrame {
    fn new(bytes: Bytes, in_flight: Arc<InFlightFrames>) -> Self {
        in_flight.waiting.fetch_add(1, Ordering::Relaxed);
        Self { bytes, in_flight }
    }
}

impl AsRef<[u8]> for CountedFrame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedFrame {
    fn drop(&mut self) {
        self.in_flight.dropped.fetch_add(1, Ordering::Relaxed);
        self.in_flight.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl hyper::body::Body for CountedBody {
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
        let frame = CountedFrame::new(self.rest.split_to(length), Arc::clone(&self.in_flight));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(frame)))))
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
    async fn a_response_comes_whole_in_frames_that_are_counted() {
        let text: Vec<u8> = (0..3 * limits::STREAM_CHUNK + 5).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let monitor = SendMonitor::default();
        let mut body = monitor.watch(text.clone().into_response()).into_body();
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            frames.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(frames.len(), 4);
        assert_eq!(frames.concat(), text);
        assert_eq!(monitor.0.waiting.load(Ordering::Relaxed), 4);
        drop(frames);
        assert_eq!((monitor.0.waiting.load(Ordering::Relaxed), monitor.0.dropped.load(Ordering::Relaxed)), (0, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_not_read_stalls_and_one_that_proceeds_does_not() {
        let monitor = SendMonitor::default();
        let idle = timeout(10 * limits::WRITE_STALL, monitor.stalled()).await;
        assert!(idle.is_err(), "no frame waits");

        let mut body = monitor.watch(vec![0; 100 * limits::STREAM_CHUNK].into_response()).into_body();
        let slow = async {
            for _ in 0..100 {
                let _frame = body.frame().await;
                tokio::time::sleep(limits::WRITE_STALL / 2).await;
            }
        };
        tokio::select! {
            () = slow => {}
            () = monitor.stalled() => unreachable!("one frame after the other was taken"),
        }

        let _frame = monitor.watch("x".into_response()).into_body().frame().await;
        let start = Instant::now();
        monitor.stalled().await;
        let time = start.elapsed();
        assert!(time >= limits::WRITE_STALL && time <= limits::WRITE_STALL + Duration::from_secs(3), "{time:?}");
    }
}
