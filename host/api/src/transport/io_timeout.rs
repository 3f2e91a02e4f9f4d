//! Timeouts of a connection's reads and writes, where hyper has none.
//!
//! Two waits are limited: for the first bytes, which tell HTTP/1 from HTTP/2, and for a peer that does not read what is
//! written. All others have their timeouts elsewhere: heads of HTTP/1 requests in hyper, bodies in [`body`](super::body),
//! idle HTTP/2 by pings. Start at [`TimeoutIo`].

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::places::Activity;
use crate::limits;

/// The first bytes of every HTTP/2 connection (RFC 9113, 3.4).
const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that fails with `TimedOut` when its peer makes it wait too long.
#[derive(Debug)]
pub(super) struct TimeoutIo<I> {
    io: I,
    /// Told of everything that arrives.
    peer: Activity,
    opening: Opening,
    write_stall: Duration,
    /// Runs while a write or a flush waits.
    stall: Option<Stall>,
}

/// A wait for the peer to read.
#[derive(Debug)]
struct Stall {
    of: Operation,
    timer: Pin<Box<Sleep>>,
}

/// Operation that waits for the peer to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Write,
    Flush,
}

/// The first bytes of a connection.
#[derive(Debug)]
enum Opening {
    /// `seen` bytes have arrived, all of them of the HTTP/2 preface.
    Awaited { seen: usize, timer: Pin<Box<Sleep>> },
    /// The protocol is known.
    Over,
}

impl<I> TimeoutIo<I> {
    /// Limits the waits of an accepted connection to [`limits::HEAD_TIME`] and [`limits::WRITE_STALL`].
    pub(super) fn new(io: I, peer: Activity) -> Self {
        Self { peer, ..Self::with(io, limits::HEAD_TIME, limits::WRITE_STALL) }
    }

    fn with(io: I, opening: Duration, write_stall: Duration) -> Self {
        let opening = Opening::Awaited { seen: 0, timer: Box::pin(sleep(opening)) };
        Self { io, peer: Activity::default(), opening, write_stall, stall: None }
    }

    /// Passes on the outcome of an operation; starts the timer when it waits and stops it when it proceeds. That there is nothing
    /// to flush is no sign that a write that waits proceeds.
    fn watch<T>(&mut self, cx: &mut Context<'_>, of: Operation, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stall = self.stall.take().filter(|stall| of == Operation::Flush && stall.of == Operation::Write);
            return outcome;
        }
        let time = self.write_stall;
        let stall = self.stall.get_or_insert_with(|| Stall { of, timer: Box::pin(sleep(time)) });
        match stall.timer.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(timed_out("the peer does not read"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Opening {
    /// Compares bytes that have arrived with the preface.
    fn advance(&mut self, arrived: &[u8]) {
        let Self::Awaited { seen, .. } = self else { return };
        let rest = H2_PREFACE.get(*seen..).unwrap_or_default();
        if arrived.len() < rest.len() && rest.starts_with(arrived) {
            *seen += arrived.len();
        } else {
            *self = Self::Over;
        }
    }
}

fn timed_out(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<I: AsyncRead + Unpin> AsyncRead for TimeoutIo<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.peer.arrived();
        }
        match &mut self.opening {
            Opening::Over => outcome,
            opening @ Opening::Awaited { .. } if outcome.is_ready() => {
                opening.advance(buf.filled().get(before..).unwrap_or_default());
                outcome
            }
            Opening::Awaited { timer, .. } => match timer.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Err(timed_out("the peer sends nothing"))),
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for TimeoutIo<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.watch(cx, Operation::Write, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, bytes);
        self.watch(cx, Operation::Write, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(cx);
        self.watch(cx, Operation::Flush, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_peer_that_sends_nothing_or_part_of_a_preface_times_out() {
        for sent in [&b""[..], b"PRI", &H2_PREFACE[..23]] {
            let (mut peer, io) = duplex(64);
            peer.write_all(sent).await.unwrap();
            let error = TimeoutIo::with(io, SHORT, LONG).read_to_end(&mut Vec::new()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "after {sent:?}");
        }
    }

    #[tokio::test]
    async fn a_known_protocol_has_its_own_timeouts() {
        for sent in [&b"POST"[..], b"G", H2_PREFACE] {
            let (mut peer, io) = duplex(64);
            let mut timeout_io = TimeoutIo::with(io, SHORT, LONG);
            peer.write_all(sent).await.unwrap();
            timeout_io.read_exact(&mut vec![0; sent.len()]).await.unwrap();
            assert!(matches!(timeout_io.opening, Opening::Over), "after {sent:?}");
        }
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_times_out() {
        let (_peer, io) = duplex(8);
        let error = TimeoutIo::with(io, LONG, SHORT).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_flush_of_nothing_keeps_the_timer_of_a_write() {
        let (_peer, io) = duplex(8);
        let mut timeout_io = TimeoutIo::with(io, LONG, SHORT);
        let outcome = std::future::poll_fn(|cx| {
            let outcome = Pin::new(&mut timeout_io).poll_write(cx, &[0; 64]);
            let flushed = Pin::new(&mut timeout_io).poll_flush(cx);
            assert!(flushed.is_ready(), "a pipe has nothing to flush");
            match outcome {
                Poll::Ready(Ok(_)) => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                other => other,
            }
        });
        assert_eq!(outcome.await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
