//! gRPC over one blocking socket, as little as a core can do: a connection of HTTP/2 whose calls this thread writes and reads.
//!
//! No runtime, no tasks, no other thread: what is measured is the sidecar and the sockets. The request's headers are sent once
//! and then named by their places in HPACK's table, as every gRPC client does. A status is known by the message that comes
//! with it: a refused call has none. Start at [`Connection::send`] and [`Connection::receive`].

use std::collections::BTreeMap;
use std::io::{Read, Write};

use anyhow::{Context as _, bail};
use prost::Message;

use super::incoming::Incoming;

/// The start of every HTTP/2 connection (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the head of a frame (RFC 9113, 4.1).
const FRAME_HEAD: usize = 9;

/// Bytes before a gRPC message: a flag for compression, and the length.
pub(super) const MESSAGE_HEAD: usize = 5;

/// The largest frame that every peer takes.
const FRAME_BYTES: usize = 16 * 1024;

/// Bytes that a peer may be sent before it allows more.
const WINDOW: usize = 65_535;

/// The largest window: answers never wait for this client to allow them.
const LARGEST_WINDOW: u32 = (1 << 31) - 1;

mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RESET: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(super) const GO_AWAY: u8 = 7;
    pub(super) const WINDOW_UPDATE: u8 = 8;
}

mod flag {
    /// Of DATA and HEADERS.
    pub(super) const END_STREAM: u8 = 1;
    /// Of SETTINGS and PING.
    pub(super) const ACK: u8 = 1;
    pub(super) const END_HEADERS: u8 = 4;
    pub(super) const PADDED: u8 = 8;
}

/// The id of a setting: how much a peer may send on a stream.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];

/// A call of the API. A connection makes calls of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    Filter,
    Assume,
    Forget,
}

impl Call {
    const fn path(self) -> &'static str {
        match self {
            Self::Filter => "/nodesift.v1.Nodesift/Filter",
            Self::Assume => "/nodesift.v1.Nodesift/Assume",
            Self::Forget => "/nodesift.v1.Nodesift/Forget",
        }
    }
}

/// The headers of the first request after its path, each added to the dynamic table; and the same again, with the path, by their
/// places there.
const HEADERS: [(&str, &str); 3] =
    [(":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers")];
const HEADERS_AGAIN: [u8; 4] = [0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62];

/// `:method: POST` and `:scheme: http`, from the static table.
const METHOD_AND_SCHEME: [u8; 2] = [0x83, 0x86];

/// A literal header that is added to the table.
const LITERAL: u8 = 0x40;

/// HTTP/2 connection that makes gRPC calls of one kind.
pub(super) struct Connection<S> {
    stream: S,
    call: Call,
    next: u32,
    /// Bytes that the peer allows to be sent.
    window: usize,
    /// Bytes received since they were last allowed again.
    received: u32,
    out: Vec<u8>,
    incoming: Incoming,
    /// The messages of calls that have not ended, by stream.
    partial: BTreeMap<u32, Vec<u8>>,
}

impl<S: Read + Write> Connection<S> {
    /// Opens a connection for one kind of calls on a connected socket.
    ///
    /// # Errors
    ///
    /// If the socket is closed.
    pub(super) fn open(mut stream: S, call: Call) -> anyhow::Result<Self> {
        let mut out = PREFACE.to_vec();
        let setting = [&INITIAL_WINDOW_SIZE[..], &LARGEST_WINDOW.to_be_bytes()].concat();
        frame(&mut out, kind::SETTINGS, 0, 0, &setting);
        let more = LARGEST_WINDOW - u32::try_from(WINDOW)?;
        frame(&mut out, kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        stream.write_all(&out).context("cannot open a connection to the sidecar")?;
        let (incoming, partial) = (Incoming::new(), BTreeMap::new());
        Ok(Self { stream, call, next: 1, window: WINDOW, received: 0, out, incoming, partial })
    }

    /// Sends a request of the connection's call. Returns its stream.
    ///
    /// # Errors
    ///
    /// If it is larger than a frame, or the connection breaks.
    pub(super) fn send(&mut self, request: &impl Message) -> anyhow::Result<u32> {
        let length = request.encoded_len();
        if length + MESSAGE_HEAD > FRAME_BYTES {
            bail!("a request of {length} bytes does not fit one frame");
        }
        while self.window < length + MESSAGE_HEAD {
            self.read_frame()?;
        }
        self.window -= length + MESSAGE_HEAD;
        let mut headers = METHOD_AND_SCHEME.to_vec();
        if self.next == 1 {
            for (name, value) in [(":path", self.call.path())].into_iter().chain(HEADERS) {
                headers.push(LITERAL);
                for text in [name, value] {
                    headers.push(u8::try_from(text.len())?);
                    headers.extend_from_slice(text.as_bytes());
                }
            }
        } else {
            headers.extend_from_slice(&HEADERS_AGAIN);
        }
        let mut message = Vec::with_capacity(MESSAGE_HEAD + length);
        message.push(0);
        message.extend_from_slice(&u32::try_from(length)?.to_be_bytes());
        request.encode(&mut message)?;
        self.out.clear();
        frame(&mut self.out, kind::HEADERS, flag::END_HEADERS, self.next, &headers);
        frame(&mut self.out, kind::DATA, flag::END_STREAM, self.next, &message);
        let stream = self.next;
        self.partial.insert(stream, Vec::new());
        self.next += 2;
        self.stream.write_all(&self.out).context("cannot send a request")?;
        Ok(stream)
    }

    /// Waits for the next answer, to whichever request. Returns it with the stream of its request.
    ///
    /// # Errors
    ///
    /// If a call is refused, the connection breaks, or the answer does not decode.
    pub(super) fn receive<M: Message + Default>(&mut self) -> anyhow::Result<(u32, M)> {
        let (stream, message) = self.receive_encoded()?;
        let message = message.get(MESSAGE_HEAD..).context("a call was refused")?;
        Ok((stream, M::decode(message).context("an answer does not decode")?))
    }

    /// The next answer, undecoded, with the head of its message; empty where the call was refused.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub(super) fn receive_encoded(&mut self) -> anyhow::Result<(u32, Vec<u8>)> {
        loop {
            if let Some(message) = self.read_frame()? {
                return Ok(message);
            }
        }
    }

    /// Takes the next frame. Returns the message of a call that it ends.
    fn read_frame(&mut self) -> anyhow::Result<Option<(u32, Vec<u8>)>> {
        let end = loop {
            let rest = self.incoming.rest();
            if let Some([high, middle, low, ..]) = rest.first_chunk::<FRAME_HEAD>() {
                let length = FRAME_HEAD + usize::try_from(u32::from_be_bytes([0, *high, *middle, *low]))?;
                if rest.len() >= length {
                    break length;
                }
            }
            self.incoming.fill(&mut self.stream)?;
        };
        let rest = self.incoming.rest();
        let [_, _, _, kind, flags, stream @ ..] = rest.first_chunk::<FRAME_HEAD>().copied().unwrap_or_default();
        let stream = u32::from_be_bytes(stream);
        let content = rest.get(FRAME_HEAD..end).unwrap_or_default();
        let mut ended = false;
        match kind {
            kind::DATA | kind::HEADERS if flags & flag::PADDED != 0 => bail!("the sidecar pads its frames"),
            kind::DATA => {
                self.received += u32::try_from(content.len())?;
                let message = self.partial.entry(stream).or_default();
                if let (true, Some([_, length @ ..])) = (message.is_empty(), content.first_chunk::<MESSAGE_HEAD>()) {
                    message.reserve(MESSAGE_HEAD + usize::try_from(u32::from_be_bytes(*length))?);
                }
                message.extend_from_slice(content);
                ended = flags & flag::END_STREAM != 0;
            }
            kind::HEADERS => ended = flags & flag::END_STREAM != 0,
            kind::RESET | kind::GO_AWAY => bail!("the sidecar has ended the call"),
            kind::SETTINGS | kind::PING if flags & flag::ACK == 0 => {
                let echo = if kind == kind::PING { content } else { &[] };
                self.out.clear();
                frame(&mut self.out, kind, flag::ACK, 0, echo);
                self.stream.write_all(&self.out).context("cannot acknowledge a frame")?;
            }
            kind::WINDOW_UPDATE if stream == 0 => {
                let more = content.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                self.window += usize::try_from(more)?;
            }
            _ => {}
        }
        self.incoming.take(end);
        if self.received > LARGEST_WINDOW / 2 {
            self.out.clear();
            frame(&mut self.out, kind::WINDOW_UPDATE, 0, 0, &self.received.to_be_bytes());
            self.received = 0;
            self.stream.write_all(&self.out).context("cannot allow more answers")?;
        }
        Ok(if ended { self.partial.remove(&stream).map(|message| (stream, message)) } else { None })
    }
}

/// Appends an HTTP/2 frame.
#[allow(clippy::cast_possible_truncation)] // Payloads are at most `FRAME_BYTES` long.
fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}
