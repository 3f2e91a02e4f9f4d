//! Answers as raw bytes, with the chunk sizes and cuts of the script.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

/// The body of an answer, sent in chunks.
pub(super) struct Body<'a> {
    stream: &'a TcpStream,
    /// Bytes until the connection is cut.
    left: Option<usize>,
    /// Maximum number of bytes per chunk.
    chunk: usize,
    /// Bytes held back to be sent in one chunk.
    held: Option<Vec<u8>>,
}

impl<'a> Body<'a> {
    /// Sends the head of an answer whose body follows in chunks.
    pub(super) fn begin(stream: &'a TcpStream, cut: Option<usize>, chunk: Option<usize>) -> io::Result<Self> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        write(stream, head.as_bytes())?;
        Ok(Self { stream, left: cut, chunk: chunk.unwrap_or(usize::MAX).max(1), held: None })
    }

    /// Holds back everything that is sent until it is released.
    pub(super) fn hold(&mut self) {
        self.held = Some(Vec::new());
    }

    /// Sends the held bytes in one chunk.
    pub(super) fn release(&mut self) -> io::Result<()> {
        match self.held.take() {
            Some(held) if !held.is_empty() => self.send(&held),
            _ => Ok(()),
        }
    }

    /// Sends a part of the body. An error ends the connection, scripted or not.
    pub(super) fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        if let Some(held) = &mut self.held {
            held.extend_from_slice(payload);
            return Ok(());
        }
        let whole = self.left.is_none_or(|left| payload.len() < left);
        let payload = payload.get(..self.left.unwrap_or(usize::MAX).min(payload.len())).unwrap_or_default();
        for part in payload.chunks(self.chunk) {
            let framed = [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
            write(self.stream, &framed)?;
        }
        self.left = self.left.map(|left| left.saturating_sub(payload.len()));
        if whole {
            return Ok(());
        }
        self.stream.shutdown(Shutdown::Both)?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// Ends the body normally; the connection serves the next request.
    pub(super) fn end(self) -> io::Result<()> {
        write(self.stream, b"0\r\n\r\n")
    }
}

/// Sends a complete JSON answer.
pub(super) fn answer(stream: &TcpStream, code: u16, retry_after: Option<u32>, document: &Value) -> io::Result<()> {
    let text = document.to_string();
    let retry_after = retry_after.map_or(String::new(), |seconds| format!("retry-after: {seconds}\r\n"));
    let head = format!(
        "HTTP/1.1 {code} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{retry_after}\r\n",
        text.len()
    );
    write(stream, &[head.as_bytes(), text.as_bytes()].concat())
}

fn write(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)
}

/// Whether the other side has closed the connection.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    let look = || -> io::Result<usize> {
        stream.set_nonblocking(true)?;
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        seen
    };
    match look() {
        Ok(seen) => seen == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}
