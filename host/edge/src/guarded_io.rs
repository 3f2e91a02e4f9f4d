//! The bytes of a connection, both ways: timeouts of reads and writes that hyper does not have, and a budget of frames that it
//! does not count.
//!
//! Two waits are limited: for the first bytes, which tell HTTP/1 from HTTP/2, and for a peer that does not read what is
//! written. All others have their timeouts elsewhere: heads of HTTP/1 requests in hyper, bodies in [`body`](crate::body),
//! idle HTTP/2 by pings. A peer that sends too many control frames is told so by GOAWAY, and not listened to any more. Over a Unix
//! socket, `:authority` is made a host name before h2 sees it. Start at [`GuardedIo`].

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::authority::AuthorityRewriter;
use crate::control_budget::ControlBudget;
use crate::frames::{Frames, GOAWAY, HEAD, Part};
use crate::limits;
use crate::places::Activity;

/// GOAWAY with ENHANCE_YOUR_CALM (RFC 9113, 6.8 and 7), and no stream that is not worked on.
const GOODBYE: [u8; HEAD + 8] = [0, 0, 8, GOAWAY, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 11];

/// A connection that fails with `TimedOut` when its peer makes it wait too long, and ends when it sends too many control frames.
#[derive(Debug)]
pub(crate) struct GuardedIo<I> {
    io: I,
    /// Told of everything that arrives.
    peer: Activity,
    incoming: Frames,
    outgoing: Frames,
    budget: ControlBudget,
    /// None where `:authority` is left alone.
    authority: Option<AuthorityRewriter>,
    /// Runs until the first bytes have told the protocol.
    opening: Option<Pin<Box<Sleep>>>,
    write_stall: Duration,
    /// Runs while a write or a flush waits.
    stall: Option<Stall>,
    /// Once the peer has sent too many: what it sends still is passed over, so that it reads why.
    ending: Option<Pin<Box<Sleep>>>,
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

impl<I> GuardedIo<I> {
    /// Limits the waits of an accepted connection to [`limits::HEAD_TIME`] and [`limits::WRITE_STALL`]; `is_local` says that it is
    /// one of a Unix socket.
    pub(crate) fn new(io: I, peer: Activity, is_local: bool) -> Self {
        let authority = is_local.then(AuthorityRewriter::default);
        Self { peer, authority, ..Self::with(io, limits::HEAD_TIME, limits::WRITE_STALL) }
    }

    fn with(io: I, opening: Duration, write_stall: Duration) -> Self {
        Self {
            io,
            peer: Activity::default(),
            incoming: Frames::default(),
            outgoing: Frames::without_preface(),
            budget: ControlBudget::new(),
            authority: None,
            opening: Some(Box::pin(sleep(opening))),
            write_stall,
            stall: None,
            ending: None,
        }
    }

    /// Goes through bytes that have arrived; false where one of their frames was one too many.
    fn receive(&mut self, mut bytes: &mut [u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        self.peer.arrived();
        let mut is_calm = true;
        while !bytes.is_empty() {
            let (length, part) = self.incoming.step(bytes);
            let (passed, rest) = std::mem::take(&mut bytes).split_at_mut(length);
            match part {
                Part::Head(head) => {
                    is_calm &= self.budget.spend(head);
                    if let Some(authority) = &mut self.authority {
                        authority.begin(head);
                    }
                }
                Part::Payload => {
                    if let Some(authority) = &mut self.authority {
                        authority.rewrite(passed);
                    }
                }
                Part::Other => {}
            }
            bytes = rest;
        }
        if self.incoming.is_known() {
            self.opening = None;
        }
        is_calm
    }

    /// Goes through bytes that have been written.
    fn sent(&mut self, mut bytes: &[u8]) {
        while self.incoming.is_h2() && !bytes.is_empty() {
            let (length, part) = self.outgoing.step(bytes);
            if let Part::Head(head) = part {
                self.budget.earn(head);
            }
            bytes = bytes.get(length..).unwrap_or_default();
        }
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
        ready!(stall.timer.as_mut().poll(cx));
        Poll::Ready(Err(timed_out("the peer does not read")))
    }
}

fn timed_out(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<I: AsyncRead + AsyncWrite + Unpin> GuardedIo<I> {
    /// Tells the peer why nobody listens any more, where that does not cut a frame in two.
    fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        if self.outgoing.is_between()
            && let Poll::Ready(Ok(_)) = Pin::new(&mut self.io).poll_write(cx, &GOODBYE)
        {
            // A peer that does not read gets no more than that.
            let _flushed = Pin::new(&mut self.io).poll_flush(cx);
        }
        self.ending = Some(Box::pin(sleep(limits::GOODBYE_TIME)));
    }

    /// Passes over what the peer sends, until it ends or the time is over.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(ending) = &mut self.ending else { return Poll::Ready(Ok(())) };
        let ended = || io::Error::other("the peer sends too many control frames");
        if ending.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(ended()));
        }
        let mut scratch = [0; 4096];
        let mut scratch = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.io).poll_read(cx, &mut scratch))?;
        if scratch.filled().is_empty() {
            return Poll::Ready(Err(ended()));
        }
        // Others have their turn before the next bytes.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for GuardedIo<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        if it.ending.is_some() {
            return it.poll_end(cx);
        }
        let before = buf.filled().len();
        match Pin::new(&mut it.io).poll_read(cx, buf) {
            Poll::Pending => {
                let Some(opening) = &mut it.opening else { return Poll::Pending };
                ready!(opening.as_mut().poll(cx));
                return Poll::Ready(Err(timed_out("the peer sends nothing")));
            }
            Poll::Ready(outcome) => outcome?,
        }
        if it.receive(buf.filled_mut().get_mut(before..).unwrap_or_default()) {
            return Poll::Ready(Ok(()));
        }
        buf.set_filled(before);
        it.say_goodbye(cx);
        it.poll_end(cx)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for GuardedIo<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let it = self.get_mut();
        if it.ending.is_some() {
            return Poll::Pending;
        }
        let outcome = Pin::new(&mut it.io).poll_write(cx, bytes);
        let written = ready!(it.watch(cx, Operation::Write, outcome))?;
        it.sent(bytes.get(..written).unwrap_or_default());
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let it = self.get_mut();
        if it.ending.is_some() {
            return Poll::Pending;
        }
        let outcome = Pin::new(&mut it.io).poll_write_vectored(cx, slices);
        let written = ready!(it.watch(cx, Operation::Write, outcome))?;
        let mut rest = written;
        for slice in slices {
            let part = slice.get(..rest.min(slice.len())).unwrap_or_default();
            it.sent(part);
            rest -= part.len();
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        let outcome = Pin::new(&mut it.io).poll_flush(cx);
        it.watch(cx, Operation::Flush, outcome)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
