//! HTTP/1.1 over one blocking socket, for requests in JSON: the counterpart of [`grpc`](super::grpc).
//!
//! Start at [`Connection::ask`].

use std::io::{Read, Write};

use anyhow::{Context as _, bail};

use super::incoming::Incoming;

/// A connection that is kept alive.
pub(super) struct Connection<S> {
    stream: S,
    incoming: Incoming,
    /// The document of the last answer.
    answer: Vec<u8>,
}

impl<S: Read + Write> Connection<S> {
    /// On a connected socket.
    pub(super) fn new(stream: S) -> Self {
        Self { stream, incoming: Incoming::new(), answer: Vec::new() }
    }

    /// Posts a document to a path. Returns the document of the answer.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or the status is not 200.
    pub(super) fn ask(&mut self, path: &str, body: &str) -> anyhow::Result<&[u8]> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all((head + body).as_bytes()).context("cannot send a request")?;
        let mut length = None;
        if self.line()? != b"HTTP/1.1 200 OK" {
            bail!("a request was refused");
        }
        loop {
            let line = String::from_utf8(self.line()?)?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        self.answer.clear();
        match length {
            Some(length) => self.take(length)?,
            None => loop {
                let chunk = usize::from_str_radix(std::str::from_utf8(&self.line()?)?, 16)?;
                self.take(chunk)?;
                self.line()?;
                if chunk == 0 {
                    break;
                }
            },
        }
        Ok(&self.answer)
    }

    /// The next line, without its end.
    fn line(&mut self) -> anyhow::Result<Vec<u8>> {
        loop {
            let rest = self.incoming.rest();
            if let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
                let line = rest.get(..end).unwrap_or_default().to_vec();
                self.incoming.take(end + 2);
                return Ok(line);
            }
            self.incoming.fill(&mut self.stream)?;
        }
    }

    /// Adds the next `count` bytes to the answer.
    fn take(&mut self, mut count: usize) -> anyhow::Result<()> {
        loop {
            let rest = self.incoming.rest();
            let part = rest.get(..count).unwrap_or(rest);
            self.answer.extend_from_slice(part);
            let taken = part.len();
            self.incoming.take(taken);
            count -= taken;
            if count == 0 {
                return Ok(());
            }
            self.incoming.fill(&mut self.stream)?;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Cursor;

    use super::*;

    /// Reads a script, and forgets what is written.
    struct Scripted(Cursor<&'static [u8]>);

    impl Read for Scripted {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = buffer.len().min(7);
            self.0.read(buffer.get_mut(..most).unwrap_or_default())
        }
    }

    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn answers_with_a_length_and_in_chunks_are_read_whole() {
        let script =
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
            a\r\n0123456789\r\n2\r\nxy\r\n0\r\n\r\nHTTP/1.1 429 Too Many Requests\r\n\r\n";
        let mut connection = Connection::new(Scripted(Cursor::new(script)));
        assert_eq!(connection.ask("/", "{}").unwrap(), b"abc");
        assert_eq!(connection.ask("/", "{}").unwrap(), b"0123456789xy");
        assert!(connection.ask("/", "{}").is_err());
    }
}
