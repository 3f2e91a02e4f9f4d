//! A budget of control frames for each HTTP/2 connection: PING, SETTINGS, WINDOW_UPDATE, PRIORITY and unknown ones cost the sidecar
//! time, and belong to no request. Who sends too many is told so by GOAWAY, and not listened to any more.
//!
//! Frames of a body with a byte or two cost as much, and count like them. A peer answers what it gets by control frames, not what it
//! sends: its bodies add nothing to the budget, and neither do frames that its own windows make tiny.
//!
//! h2 bounds resets, CONTINUATION and empty DATA by itself. Frames are only counted here: what is malformed is left for h2 to refuse.
//! Start at [`ControlledIo`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::limits;

/// The first bytes of every HTTP/2 connection (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the head of a frame (RFC 9113, 4.1).
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// GOAWAY with ENHANCE_YOUR_CALM (RFC 9113, 6.8 and 7), and no stream that is not worked on.
const GOODBYE: [u8; HEAD + 8] = [0, 0, 8, GOAWAY, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 11];

/// A connection whose peer may send so many control frames.
#[derive(Debug)]
pub(super) struct ControlledIo<I> {
    io: I,
    incoming: Frames,
    outgoing: Frames,
    budget: Budget,
    /// Once the peer has sent too many: what it sends still is passed over, so that it reads why.
    ending: Option<Pin<Box<Sleep>>>,
}

/// Frames in a stream of bytes.
#[derive(Debug, Default)]
struct Frames {
    /// Bytes of the preface that have been seen.
    preface: usize,
    /// Whether it is something else than HTTP/2.
    is_other: bool,
    head: [u8; HEAD],
    /// Bytes of the head that have been seen.
    filled: usize,
    /// Bytes of the payload that have not.
    rest: usize,
}

/// Control frames that the peer may still send.
#[derive(Debug)]
struct Budget {
    left: u32,
    since: Instant,
}

impl Frames {
    /// Frames of a stream without a preface.
    fn without_preface() -> Self {
        Self { preface: PREFACE.len(), ..Self::default() }
    }

    /// Whether no frame has begun that has not ended.
    fn is_between(&self) -> bool {
        self.filled == 0 && self.rest == 0
    }

    /// Goes through bytes, and tells the type of each frame that begins, and the bytes of its payload.
    fn pass(&mut self, mut bytes: &[u8], mut begins: impl FnMut(u8, usize)) {
        while let Some((first, others)) = bytes.split_first() {
            if self.is_other {
                return;
            }
            if let Some(expected) = PREFACE.get(self.preface) {
                self.is_other = first != expected;
                self.preface += 1;
                bytes = others;
            } else if self.rest > 0 {
                let passed = self.rest.min(bytes.len());
                self.rest -= passed;
                bytes = bytes.get(passed..).unwrap_or_default();
            } else {
                if let Some(byte) = self.head.get_mut(self.filled) {
                    *byte = *first;
                }
                self.filled += 1;
                bytes = others;
                if self.filled == HEAD {
                    let [high, middle, low, kind, ..] = self.head;
                    self.filled = 0;
                    self.rest = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                    begins(kind, self.rest);
                }
            }
        }
    }
}

impl Budget {
    fn new() -> Self {
        Self { left: limits::CONTROL_FRAMES, since: Instant::now() }
    }

    /// A frame that goes to the peer: it may lead to some control frames.
    fn earn(&mut self, kind: u8, payload: usize) {
        let leads_to = match kind {
            HEADERS => limits::CONTROL_FRAMES_PER_FRAME,
            DATA if payload >= limits::ANSWERED_DATA_BYTES => limits::CONTROL_FRAMES_PER_FRAME,
            // The answer to a short request of a stream: a client may measure by each.
            DATA if payload > limits::TINY_DATA_BYTES => 1,
            _ => 0,
        };
        self.left = (self.left + leads_to).min(limits::CONTROL_FRAMES);
    }

    /// Counts a frame of the peer; false where it was one too many.
    fn spend(&mut self, kind: u8, payload: usize) -> bool {
        match kind {
            HEADERS => {
                self.earn(kind, payload);
                return true;
            }
            RST_STREAM | PUSH_PROMISE | GOAWAY | CONTINUATION => return true,
            DATA if payload >= limits::TINY_DATA_BYTES => return true,
            _ => {}
        }
        if self.left == 0 {
            let seconds = self.since.elapsed().as_secs().min(u64::from(limits::CONTROL_FRAMES));
            let more = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(limits::CONTROL_FRAMES_PER_SECOND);
            if more == 0 {
                return false;
            }
            (self.left, self.since) = (more.min(limits::CONTROL_FRAMES), Instant::now());
        }
        self.left -= 1;
        true
    }
}

impl<I> ControlledIo<I> {
    pub(super) fn new(io: I) -> Self {
        Self {
            io,
            incoming: Frames::default(),
            outgoing: Frames::without_preface(),
            budget: Budget::new(),
            ending: None,
        }
    }

    /// Whether the peer speaks HTTP/2, as far as it has spoken.
    fn is_h2(&self) -> bool {
        !self.incoming.is_other && self.incoming.preface == PREFACE.len()
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> ControlledIo<I> {
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

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for ControlledIo<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let it = self.get_mut();
        if it.ending.is_some() {
            return it.poll_end(cx);
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut it.io).poll_read(cx, buf))?;
        let (budget, mut is_calm) = (&mut it.budget, true);
        let arrived = buf.filled().get(before..).unwrap_or_default();
        it.incoming.pass(arrived, |kind, payload| is_calm &= budget.spend(kind, payload));
        if is_calm {
            return Poll::Ready(Ok(()));
        }
        buf.set_filled(before);
        it.say_goodbye(cx);
        it.poll_end(cx)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for ControlledIo<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let it = self.get_mut();
        if it.ending.is_some() {
            return Poll::Pending;
        }
        let written = ready!(Pin::new(&mut it.io).poll_write(cx, bytes))?;
        if it.is_h2() {
            let budget = &mut it.budget;
            let bytes = bytes.get(..written).unwrap_or_default();
            it.outgoing.pass(bytes, |kind, payload| budget.earn(kind, payload));
        }
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
        let written = ready!(Pin::new(&mut it.io).poll_write_vectored(cx, slices))?;
        if it.is_h2() {
            let (budget, mut rest) = (&mut it.budget, written);
            for slice in slices {
                let part = slice.get(..rest.min(slice.len())).unwrap_or_default();
                it.outgoing.pass(part, |kind, payload| budget.earn(kind, payload));
                rest -= part.len();
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let [.., high, middle, low] = payload.to_be_bytes();
        [vec![high, middle, low, kind, 0, 0, 0, 0, 0], vec![7; payload]].concat()
    }

    /// Sends these frames in pieces of some length, and returns how many bytes are read of them, and what comes back.
    async fn sent(frames: &[u8], piece: usize) -> (usize, Vec<u8>) {
        let (mut peer, io) = duplex(1 << 20);
        let mut io = ControlledIo::new(io);
        let bytes = [PREFACE, frames].concat();
        let reading = tokio::spawn(async move {
            let (mut read, mut buffer) = (0, [0; 1024]);
            while let Ok(count @ 1..) = io.read(&mut buffer).await {
                read += count;
            }
            read
        });
        for piece in bytes.chunks(piece) {
            peer.write_all(piece).await.unwrap();
        }
        peer.shutdown().await.unwrap();
        let mut back = Vec::new();
        peer.read_to_end(&mut back).await.unwrap();
        (reading.await.unwrap(), back)
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_control_frames_are_read_and_one_more_is_answered_by_goaway() {
        let most = limits::CONTROL_FRAMES as usize;
        for kind in [2, 4, 6, 8, 77] {
            let enough = frame(kind, 8).repeat(most);
            assert_eq!(sent(&enough, 4096).await, (PREFACE.len() + enough.len(), Vec::new()), "kind {kind}");
            let more = frame(kind, 8).repeat(most + 1);
            let (read, back) = sent(&more, 4096).await;
            assert!(read < PREFACE.len() + more.len(), "kind {kind}");
            assert_eq!(back, GOODBYE, "kind {kind}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn frames_are_counted_wherever_the_bytes_are_cut() {
        let most = limits::CONTROL_FRAMES as usize;
        for piece in [1, 2, 7, 9, 17, 23, 1000] {
            let enough = frame(6, 8).repeat(most);
            assert_eq!(sent(&enough, piece).await.1, b"", "in pieces of {piece}");
            assert_eq!(sent(&frame(6, 8).repeat(most + 1), piece).await.1, GOODBYE, "in pieces of {piece}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_and_responses_lead_to_control_frames_and_those_count_for_nothing() {
        let exchange = [frame(HEADERS, 20), frame(DATA, 100), frame(8, 4), frame(8, 4), frame(6, 8)].concat();
        let all = exchange.repeat(2 * limits::CONTROL_FRAMES as usize);
        assert_eq!(sent(&all, 4096).await, (PREFACE.len() + all.len(), Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_leads_to_no_control_frames_and_its_tiny_frames_count_as_some() {
        let most = limits::CONTROL_FRAMES as usize;
        let body = |of: &[Vec<u8>]| [frame(HEADERS, 20), of.concat().repeat(most)].concat();
        let (ping, tiny) = (frame(6, 8), frame(DATA, limits::TINY_DATA_BYTES - 1));
        for all in [
            body(&[frame(DATA, 1), ping.clone()]),
            body(&[frame(DATA, 100), ping.clone(), ping]),
            body(&[tiny.clone(), tiny]),
        ] {
            let (read, back) = sent(&all, 4096).await;
            assert!(read < PREFACE.len() + all.len());
            assert_eq!(back, GOODBYE);
        }
        // A stream of the smallest messages goes on for ever.
        let all = body(&[frame(DATA, limits::TINY_DATA_BYTES), frame(DATA, limits::TINY_DATA_BYTES)]);
        assert_eq!(sent(&all, 4096).await, (PREFACE.len() + all.len(), Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_response_consists_of_leads_to_control_frames_unless_windows_have_cut_it_small() {
        let mut budget = Budget::new();
        while budget.spend(6, 8) {}
        for (kind, payload, leads_to) in [
            (8, 4, 0),
            (DATA, limits::TINY_DATA_BYTES, 0),
            (DATA, limits::TINY_DATA_BYTES + 1, 1),
            (DATA, limits::ANSWERED_DATA_BYTES - 1, 1),
            (DATA, limits::ANSWERED_DATA_BYTES, limits::CONTROL_FRAMES_PER_FRAME),
            (HEADERS, 1, limits::CONTROL_FRAMES_PER_FRAME),
        ] {
            budget.earn(kind, payload);
            let paid = (0..10).filter(|_| budget.spend(6, 8)).count();
            assert_eq!(paid, leads_to as usize, "a frame of kind {kind} with {payload} bytes");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_http_2_is_passed_on_as_it_is() {
        let (mut peer, io) = duplex(1 << 20);
        let bytes = [&b"POST /v1/filter HTTP/1.1\r\n\r\n"[..], &frame(6, 8).repeat(10_000)].concat();
        peer.write_all(&bytes).await.unwrap();
        drop(peer);
        let mut read = Vec::new();
        ControlledIo::new(io).read_to_end(&mut read).await.unwrap();
        assert_eq!(read, bytes);
    }
}
