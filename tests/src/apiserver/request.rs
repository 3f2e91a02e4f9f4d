//! A received request, recorded with its time.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::time::Instant;

use super::resource;
use super::script::Verb;

/// The longest accepted line of a head, in bytes.
const LINE_BYTES: usize = 64 * 1024;

/// A request as the server received it.
#[derive(Debug, Clone)]
pub struct Request {
    /// When its head was complete.
    pub at: Instant,
    /// The kind in its path; empty where there is none.
    pub kind: &'static str,
    /// Operation of the request.
    pub verb: Verb,
    /// Its path, without the query.
    pub path: String,
    /// The parameters of its query.
    pub query: BTreeMap<String, String>,
    /// Its bearer token; empty where it has none.
    pub token: String,
    /// Its body; empty where it has none.
    pub body: String,
}

impl Request {
    /// A query parameter; empty where it is absent.
    pub fn parameter(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// Whether a query parameter is true.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.parameter(name), "true" | "1")
    }

    /// Whether it requests the first page of a list.
    pub fn is_list(&self) -> bool {
        self.verb == Verb::List(1)
    }

    /// Whether it applies a status.
    pub fn is_apply(&self) -> bool {
        self.verb == Verb::Apply
    }

    /// Whether it requests a watch.
    pub fn is_watch(&self) -> bool {
        self.verb == Verb::Watch
    }
}

/// Reads the next request; `None` where the connection has ended.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(first) = line(reader)? else { return Ok(None) };
    let (mut token, mut length, mut media_type) = (String::new(), 0, String::new());
    while let Some(header) = line(reader)?.filter(|line| !line.is_empty()) {
        let Some((name, value)) = header.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.trim_start().strip_prefix("Bearer ").unwrap_or_default().to_owned(),
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "content-type" => media_type = value.trim().to_owned(),
            _ => {}
        }
    }
    let target = first.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query: BTreeMap<String, String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let is_apply = first.starts_with("PATCH ") && media_type == "application/apply-patch+yaml";
    let applied = resource::at_status(path).filter(|_| is_apply).map(|(resource, _)| resource);
    let mut request = Request {
        at: Instant::now(),
        kind: applied.or_else(|| resource::at_path(path)).map_or("", |resource| resource.kind),
        verb: Verb::List(1),
        path: path.to_owned(),
        query,
        token,
        body: String::from_utf8(body).map_err(io::Error::other)?,
    };
    request.verb = match request.flag("watch") {
        _ if applied.is_some() => Verb::Apply,
        true => Verb::Watch,
        false if request.parameter("limit") == "1" && request.parameter("continue").is_empty() => Verb::Probe,
        false => Verb::List(Token::read(request.parameter("continue")).map_or(1, |token| token.page)),
    };
    Ok(Some(request))
}

/// The continue token of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    /// The number of the list, whose objects are fixed at its first page.
    pub(super) list: u64,
    /// The index of the first object of the next page.
    pub(super) offset: usize,
    /// The number of the next page, from 1.
    pub(super) page: usize,
}

impl Token {
    pub(super) fn written(self) -> String {
        format!("{}.{}.{}", self.list, self.offset, self.page)
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let list = parts.next()?.parse().ok()?;
        let offset = parts.next()?.parse().ok()?;
        let page = parts.next()?.parse().ok()?;
        Some(Self { list, offset, page })
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(None);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        bytes.extend_from_slice(available.get(..taken).unwrap_or_default());
        reader.consume(taken);
        if end.is_some() {
            return Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()));
        }
        if bytes.len() > LINE_BYTES {
            return Err(io::Error::other("a line of the head is too long"));
        }
    }
}

/// Decodes percent encoding and plus signs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_with_its_parameters() {
        let mut text =
            b"GET /api/v1/pods?watch=true&resourceVersion=7&a=%2Fb%20c HTTP/1.1\r\nHost: x\r\n\r\nGET".as_slice();
        let request = read(&mut text).unwrap().unwrap();
        assert_eq!((request.kind, request.verb), ("Pod", Verb::Watch));
        assert_eq!((request.parameter("resourceVersion"), request.parameter("a")), ("7", "/b c"));
        assert_eq!(text, b"GET", "the next request is not consumed");
        assert!(read(&mut text).unwrap().is_none());
    }

    #[test]
    fn an_apply_is_read_with_its_body() {
        let text = "PATCH /apis/nodesift.dev/v1alpha1/predicatepolicies/a/status?force=true HTTP/1.1\r\nContent-Length: 2\r\n\
                    content-type: application/apply-patch+yaml\r\n\r\n{}GET";
        let mut bytes = text.as_bytes();
        let request = read(&mut bytes).unwrap().unwrap();
        assert_eq!((request.kind, request.verb, request.body.as_str()), ("PredicatePolicy", Verb::Apply, "{}"));
        assert_eq!(bytes, b"GET");
    }

    #[test]
    fn a_page_is_known_by_its_token() {
        let token = Token { list: 3, offset: 1000, page: 3 };
        let text = format!("GET /api/v1/nodes?limit=500&continue={} HTTP/1.1\r\n\r\n", token.written());
        assert_eq!(read(&mut text.as_bytes()).unwrap().unwrap().verb, Verb::List(3));
        assert_eq!(Token::read("x"), None);
    }
}
