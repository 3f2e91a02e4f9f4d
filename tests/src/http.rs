//! Requests to a running sidecar, over TCP or its Unix socket.
//!
//! Written over plain sockets: a sidecar may refuse a body while it is still being sent, and tests have to read that answer,
//! where client libraries report the broken write instead. Each request opens a new connection, except those of a
//! [`Client`].

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;

use crate::timeout;

/// Where a sidecar listens.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// A TCP address on loopback.
    Tcp(SocketAddr),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

/// A response, read to its end.
#[derive(Debug)]
pub struct Response {
    /// HTTP status code of the response.
    pub status: u16,
    /// Body of the response, as text.
    pub body: String,
}

impl Response {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }
}

/// Sends a GET request.
///
/// # Errors
///
/// If the connection is refused, or breaks before there is an answer.
pub fn get(endpoint: &Endpoint, path: &str) -> Result<Response, String> {
    send(endpoint, "GET", path, b"")
}

/// Sends a POST request with a JSON content type.
///
/// # Errors
///
/// If the connection is refused, or breaks before there is an answer.
pub fn post(endpoint: &Endpoint, path: &str, body: impl AsRef<[u8]>) -> Result<Response, String> {
    send(endpoint, "POST", path, body.as_ref())
}

/// Posts JSON and expects 200 and JSON.
pub fn ask(endpoint: &Endpoint, path: &str, request: &Value) -> Value {
    let response = post(endpoint, path, request.to_string()).expect("the sidecar answers");
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    response.json()
}

/// A client with a persistent connection, like a scheduler core.
pub struct Client(Connection);

impl Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// If the connection is refused.
    pub fn connect(endpoint: &Endpoint) -> Result<Self, String> {
        connect(endpoint).map(Self).map_err(|error| error.to_string())
    }

    /// Sends a POST request with a JSON content type, and reads the complete answer.
    ///
    /// # Errors
    ///
    /// If the connection breaks before there is an answer.
    pub fn post(&mut self, path: &str, body: &[u8]) -> Result<Response, String> {
        let (reader, writer) = &mut self.0;
        let request = [head("POST", path, "keep-alive", body.len()).as_bytes(), body].concat();
        writer.write_all(&request).map_err(|error| error.to_string())?;
        let (mut answer, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        loop {
            let length = reader.read(&mut piece).map_err(|error| error.to_string())?;
            if length == 0 {
                return Err(format!("closed after {} bytes", answer.len()));
            }
            answer.extend_from_slice(&piece[..length]);
            if let Some(whole) = response(&answer) {
                return Ok(whole);
            }
        }
    }
}

/// Reads an endless answer line by line.
///
/// # Errors
///
/// If the connection is refused or the status is not 200.
pub fn follow(endpoint: &Endpoint, path: &str) -> Result<Lines, String> {
    let (reader, mut writer) = connect(endpoint).map_err(|error| error.to_string())?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    writer.write_all(head.as_bytes()).map_err(|error| error.to_string())?;
    let mut lines = Lines { stream: BufReader::new(reader), _writer: writer, head: Vec::new(), text: Vec::new() };
    let status = lines.line_of_head().map_err(|error| error.to_string())?;
    loop {
        let line = lines.line_of_head().map_err(|error| error.to_string())?;
        if line.is_empty() {
            break;
        }
        lines.head.push(line);
    }
    if status.contains(" 200 ") { Ok(lines) } else { Err(status) }
}

/// Lines of a chunked answer.
pub struct Lines {
    /// Headers of the answer, a line each.
    pub head: Vec<String>,
    stream: BufReader<Box<dyn Read + Send>>,
    /// Held so that the connection stays open.
    _writer: Box<dyn Write + Send>,
    text: Vec<u8>,
}

impl Lines {
    fn line_of_head(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Appends the next chunk to the text; false at the end of the answer, or if the connection breaks.
    fn read_chunk(&mut self) -> bool {
        let Ok(size) = self.line_of_head() else { return false };
        let Ok(size @ 1..) = usize::from_str_radix(&size, 16) else { return false };
        let mut chunk = vec![0; size];
        let whole = self.stream.read_exact(&mut chunk).and_then(|()| self.line_of_head()).is_ok();
        self.text.append(&mut chunk);
        whole
    }
}

impl Iterator for Lines {
    type Item = String;

    /// Waits for the next line; `None` once the answer has ended.
    fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line = self.text.drain(..=end).collect();
                return String::from_utf8(line).ok().map(|line| line.trim_end().to_owned());
            }
            if !self.read_chunk() {
                return None;
            }
        }
    }
}

type Connection = (Box<dyn Read + Send>, Box<dyn Write + Send>);

fn connect(endpoint: &Endpoint) -> std::io::Result<Connection> {
    let limit = Some(timeout::limit());
    match endpoint {
        Endpoint::Tcp(address) => {
            let stream = TcpStream::connect(address)?;
            stream.set_read_timeout(limit)?;
            stream.set_write_timeout(limit)?;
            Ok((Box::new(stream.try_clone()?), Box::new(stream)))
        }
        Endpoint::Unix(socket) => {
            let stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(limit)?;
            stream.set_write_timeout(limit)?;
            Ok((Box::new(stream.try_clone()?), Box::new(stream)))
        }
    }
}

fn send(endpoint: &Endpoint, method: &str, path: &str, body: &[u8]) -> Result<Response, String> {
    let (reader, writer) = connect(endpoint).map_err(|error| error.to_string())?;
    exchange(reader, writer, method, path, body)
}

fn exchange(
    mut reader: impl Read,
    mut writer: impl Write,
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<Response, String> {
    let head = head(method, path, "close", body.len());
    // A failed write is not the result: the sidecar may have answered already.
    let written = writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(body));
    let mut answer = Vec::new();
    let read = reader.read_to_end(&mut answer);
    response(&answer).ok_or_else(|| format!("no answer: wrote {written:?}, read {read:?}"))
}

fn head(method: &str, path: &str, connection: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: {connection}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// The answer, if it is complete by its length or its last chunk.
fn response(answer: &[u8]) -> Option<Response> {
    const END_OF_HEAD: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD)?;
    let (head, body) = (answer.get(..end)?, answer.get(end + END_OF_HEAD.len()..)?);
    let head = std::str::from_utf8(head).ok()?.to_ascii_lowercase();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.clone().find_map(|line| line.strip_prefix("content-length:"));
    let body = match length {
        Some(length) => body.get(..length.trim().parse().ok()?)?.to_vec(),
        None => {
            lines.find(|line| {
                line.strip_prefix("transfer-encoding:").is_some_and(|coding| coding.trim() == "chunked")
            })?;
            unchunked(body)?
        }
    };
    Some(Response { status, body: String::from_utf8(body).ok()? })
}

/// The body of a chunked answer, if the last chunk has been received.
fn unchunked(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(chunks.get(..end)?).ok()?, 16).ok()?;
        let chunk = chunks.get(end + 2..)?;
        if chunk.get(size..size + 2)? != b"\r\n" {
            return None;
        }
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk.get(..size)?);
        chunks = chunk.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_whole_or_not_at_all() {
        let answer = b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 4\r\nx: y\r\n\r\nbody";
        let whole = response(answer).unwrap();
        assert_eq!((whole.status, whole.body.as_str()), (413, "body"));
        assert!((0..answer.len()).all(|cut| response(&answer[..cut]).is_none()));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbod\r\n1\r\ny\r\n0\r\n\r\n";
        assert_eq!(response(chunked).unwrap().body, "body");
        assert!((0..chunked.len()).all(|cut| response(&chunked[..cut]).is_none()));
    }
}
