//! One connection as raw bytes, for requests that no client library sends, and for many requests in a row.
//!
//! [`http`](crate::http) opens a connection per request. A [`Wire`] stays open, so that tests can send half a request, two at
//! once, or ten thousand quickly, and can see the answers and when the sidecar closes the connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::http::Endpoint;
use crate::timeout;

/// Maximum number of bytes per read.
const READ_BYTES: usize = 64 * 1024;

/// An answer with its head.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status code of the answer.
    pub status: u16,
    /// Status line and headers as received.
    pub head: String,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header, whose name is matched without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.split("\r\n").find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }
}

/// A connection to a sidecar.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    /// Bytes received and not yet consumed.
    came: Vec<u8>,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    ///
    /// If the connection is refused.
    pub fn open(endpoint: &Endpoint) -> io::Result<Self> {
        let stream = match endpoint {
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
            Endpoint::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        };
        let wire = Self { stream, came: Vec::new() };
        wire.wait_at_most(timeout::limit())?;
        Ok(wire)
    }

    /// A second handle of the connection, for sending and receiving concurrently. Received bytes stay with the first handle.
    ///
    /// # Errors
    ///
    /// If the connection is closed.
    pub fn try_clone(&self) -> io::Result<Self> {
        let stream = match &self.stream {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        };
        Ok(Self { stream, came: Vec::new() })
    }

    /// Sets the timeout of reads and writes.
    ///
    /// # Errors
    ///
    /// If the connection is closed.
    pub fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(time)).and(stream.set_write_timeout(Some(time))),
            Stream::Unix(stream) => stream.set_read_timeout(Some(time)).and(stream.set_write_timeout(Some(time))),
        }
    }

    /// Sets the timeout of reads; that of writes is unchanged.
    ///
    /// # Errors
    ///
    /// If the connection is closed.
    pub fn read_at_most(&self, time: Duration) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(time)),
            Stream::Unix(stream) => stream.set_read_timeout(Some(time)),
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    ///
    /// If the other side has closed, or does not read within the timeout.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(bytes.as_ref()),
            Stream::Unix(stream) => stream.write_all(bytes.as_ref()),
        }
    }

    /// Closes the sending direction.
    ///
    /// # Errors
    ///
    /// If the connection is closed.
    pub fn finish(&self) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Waits for the next bytes; empty once the other side has closed.
    ///
    /// # Errors
    ///
    /// If the connection breaks or nothing is received within the timeout.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        if self.came.is_empty() {
            self.fill()?;
        }
        Ok(std::mem::take(&mut self.came))
    }

    /// Waits for the next bytes, at most `most` of them. Reads no more than these from the connection.
    ///
    /// # Errors
    ///
    /// If the connection breaks or nothing is received within the timeout.
    pub fn receive_some(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most];
        let read = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(&mut bytes)?,
            Stream::Unix(stream) => stream.read(&mut bytes)?,
        };
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Waits for exactly `count` bytes.
    ///
    /// # Errors
    ///
    /// If the connection ends before that.
    pub fn receive_exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.came.len() < count {
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.came.split_off(count);
        Ok(std::mem::replace(&mut self.came, rest))
    }

    /// Waits for the head of the next answer and leaves its body: for answers to HEAD, which have none despite their length.
    ///
    /// # Errors
    ///
    /// If the connection ends before the head is complete.
    pub fn head(&mut self) -> io::Result<Answer> {
        let head = self.until(b"\r\n\r\n")?;
        let head = String::from_utf8(head).map_err(|error| io::Error::other(error.to_string()))?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {head:?}")))?;
        Ok(Answer { status, head, body: Vec::new() })
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    ///
    /// If the connection ends before the answer is complete.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let mut answer = self.head()?;
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().map_err(|_| io::Error::other(format!("length in {:?}", answer.head)))?;
            answer.body = self.receive_exactly(length)?;
        } else if answer.header("transfer-encoding").is_some() {
            loop {
                let size = self.until(b"\r\n")?;
                let size = std::str::from_utf8(&size).ok().and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
                let size = size.ok_or_else(|| io::Error::other("a chunk without a size"))?;
                let mut chunk = self.receive_exactly(size + 2)?;
                chunk.truncate(size);
                if size == 0 {
                    break;
                }
                answer.body.append(&mut chunk);
            }
        }
        Ok(answer)
    }

    /// Sends a POST request with a JSON content type and waits for the answer. The connection stays open.
    ///
    /// # Errors
    ///
    /// If the connection ends before the answer is complete.
    pub fn post(&mut self, path: &str, body: impl AsRef<[u8]>) -> io::Result<Answer> {
        let body = body.as_ref();
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        // A failed write is not the result: the sidecar may have answered already.
        let written = self.send(request);
        self.answer().map_err(|error| io::Error::other(format!("{error} after writing: {written:?}")))
    }

    /// Sends a GET request and waits for the answer. The connection stays open.
    ///
    /// # Errors
    ///
    /// If the connection ends before the answer is complete.
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"))?;
        self.answer()
    }

    /// Reads until the other side closes; false if it does not within the timeout.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.fill() {
                Ok(0) => return true,
                Ok(_) => self.came.clear(),
                Err(error) => return !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
            }
        }
    }

    /// The bytes before a delimiter; both are consumed.
    fn until(&mut self, mark: &[u8]) -> io::Result<Vec<u8>> {
        let mut looked = 0;
        loop {
            let found = self.came.get(looked..).unwrap_or_default().windows(mark.len()).position(|part| part == mark);
            if let Some(at) = found {
                let mut before = self.receive_exactly(looked + at + mark.len())?;
                before.truncate(looked + at);
                return Ok(before);
            }
            looked = (self.came.len() + 1).saturating_sub(mark.len());
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut bytes = [0; READ_BYTES];
        let read = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(&mut bytes)?,
            Stream::Unix(stream) => stream.read(&mut bytes)?,
        };
        self.came.extend_from_slice(bytes.get(..read).unwrap_or_default());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_one_by_one_whatever_their_framing() {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 400 Bad Request\r\ntransfer-encoding: chunked\r\n\r\n\
              3\r\nbod\r\n1\r\ny\r\n0\r\n\r\nHTTP/1.1 404 Not Found\r\nretry-after: 1\r\n\r\n",
        )
        .unwrap();
        drop(far);
        let mut wire = Wire { stream: Stream::Unix(near), came: Vec::new() };
        let answers: Vec<(u16, String)> =
            std::iter::from_fn(|| wire.answer().ok()).map(|answer| (answer.status, answer.text())).collect();
        assert_eq!(answers, [(200, "ab".to_owned()), (400, "body".to_owned()), (404, String::new())]);
        assert!(wire.is_closed());
    }
}
