//! Requests to a running sidecar, over TCP or its Unix socket.
//!
//! Written by hand over plain sockets, one connection each: a sidecar may refuse a body while it is still being sent, and
//! the answer to that is what tests want to see; clients from libraries report the broken write instead.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;

use crate::patience;

/// Where a sidecar listens.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// Loopback.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// An answer, whole.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body.
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
/// Where nobody listens or the connection breaks before there is an answer.
pub fn get(endpoint: &Endpoint, path: &str) -> Result<Response, String> {
    send(endpoint, "GET", path, b"")
}

/// Sends a POST request with a body that claims to be JSON.
///
/// # Errors
///
/// Where nobody listens or the connection breaks before there is an answer.
pub fn post(endpoint: &Endpoint, path: &str, body: impl AsRef<[u8]>) -> Result<Response, String> {
    send(endpoint, "POST", path, body.as_ref())
}

/// Posts JSON and expects 200 and JSON.
pub fn ask(endpoint: &Endpoint, path: &str, request: &Value) -> Value {
    let response = post(endpoint, path, request.to_string()).expect("the sidecar answers");
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    response.json()
}

fn send(endpoint: &Endpoint, method: &str, path: &str, body: &[u8]) -> Result<Response, String> {
    let error = |error: std::io::Error| error.to_string();
    let patience = Some(patience::wait());
    match endpoint {
        Endpoint::Tcp(address) => {
            let stream = TcpStream::connect(address).map_err(error)?;
            stream.set_read_timeout(patience).map_err(error)?;
            stream.set_write_timeout(patience).map_err(error)?;
            exchange(&stream, &stream, method, path, body)
        }
        Endpoint::Unix(socket) => {
            let stream = UnixStream::connect(socket).map_err(error)?;
            stream.set_read_timeout(patience).map_err(error)?;
            stream.set_write_timeout(patience).map_err(error)?;
            exchange(&stream, &stream, method, path, body)
        }
    }
}

fn exchange(
    mut reader: impl Read,
    mut writer: impl Write,
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<Response, String> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    // A write that breaks is no verdict: the answer may be on its way all the same.
    let written = writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(body));
    let mut answer = Vec::new();
    let read = reader.read_to_end(&mut answer);
    response(&answer).ok_or_else(|| format!("no answer: wrote {written:?}, read {read:?}"))
}

/// An answer, if it is whole. The sidecar says how long each is.
fn response(answer: &[u8]) -> Option<Response> {
    const END_OF_HEAD: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD)?;
    let (head, body) = (answer.get(..end)?, answer.get(end + END_OF_HEAD.len()..)?);
    let head = std::str::from_utf8(head).ok()?.to_ascii_lowercase();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length: usize = lines.find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
    let body = String::from_utf8(body.get(..length)?.to_vec()).ok()?;
    Some(Response { status, body })
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
    }
}
