//! Handwritten HTTP/2 frames, for sequences that no client library sends.

use std::io;

use nodesift_tests::wire::Wire;

/// The connection preface, and an empty SETTINGS frame.
pub(crate) const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// Encodes an HTTP/2 frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A literal header field without indexing.
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    [vec![0], text(name), text(value)].concat()
}

fn text(text: &str) -> Vec<u8> {
    // The length as an integer with a 7-bit prefix, then 7 bits per byte.
    let mut bytes = Vec::new();
    if let Some(mut rest) = text.len().checked_sub(127) {
        bytes.push(127);
        while rest >= 128 {
            bytes.push(u8::try_from(rest % 128).unwrap() | 128);
            rest /= 128;
        }
        bytes.push(u8::try_from(rest).unwrap());
    } else {
        bytes.push(u8::try_from(text.len()).unwrap());
    }
    [bytes, text.as_bytes().to_vec()].concat()
}

/// The headers of a request.
pub(crate) fn request(method: &str, path: &str) -> Vec<u8> {
    let pseudo = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")];
    pseudo.iter().flat_map(|(name, value)| header(name, value)).collect()
}

/// A complete GET request on a stream.
pub(crate) fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &request("GET", path))
}

/// A complete POST request on a stream.
pub(crate) fn post(stream: u32, path: &str, body: &str) -> Vec<u8> {
    let headers = [request("POST", path), header("content-type", "application/json")].concat();
    [frame(HEADERS, END_HEADERS, stream, &headers), frame(DATA, END_STREAM, stream, body.as_bytes())].concat()
}

/// An HTTP/2 frame as received.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// Waits for the next frame.
pub(crate) fn receive(wire: &mut Wire) -> io::Result<Frame> {
    let head = wire.receive_exactly(9)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
    let payload = wire.receive_exactly(length as usize)?;
    Ok(Frame { kind: head[3], flags: head[4], stream, payload })
}

/// The error code of the last GOAWAY among received frames.
pub(crate) fn goodbye(mut came: &[u8]) -> Option<u32> {
    let mut code = None;
    while let Some((head, rest)) = came.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let Some((payload, rest)) = rest.split_at_checked(length as usize) else { break };
        if head[3] == GOAWAY {
            code = payload.get(4..8).map(|code| u32::from_be_bytes(code.try_into().unwrap()));
        }
        came = rest;
    }
    code
}
