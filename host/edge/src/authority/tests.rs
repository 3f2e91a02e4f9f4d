//! Blocks of headers as clients send them, in random pieces, with what has to change known beforehand.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::frames::{Frames, PREFACE, Part};

/// A connection's bytes, and what they are to become.
#[derive(Default)]
struct Sent {
    bytes: Vec<u8>,
    expected: Vec<u8>,
}

impl Sent {
    fn start() -> Self {
        let mut sent = Self::default();
        sent.push(PREFACE);
        sent
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.expected.extend_from_slice(bytes);
    }

    fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.expected.extend_from_slice(&other.expected);
    }

    /// Adds a string: its length, and its bytes.
    fn text(&mut self, huffman: bool, text: &[u8], expected: &[u8]) {
        let flag = if huffman { 0x80 } else { 0 };
        self.push(&integer(flag, 7, text.len()));
        self.bytes.extend_from_slice(text);
        self.expected.extend_from_slice(expected);
    }

    /// Adds a frame with a part of a block.
    fn frame(&mut self, kind: u8, flags: u8, payload: &Self) {
        let length = u32::try_from(payload.bytes.len()).unwrap().to_be_bytes();
        self.push(&[length[1], length[2], length[3], kind, flags, 0, 0, 0, 1]);
        self.append(payload);
    }

    fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self { bytes: self.bytes[range.clone()].to_vec(), expected: self.expected[range].to_vec() }
    }

    /// Asserts what becomes of the bytes when they arrive in pieces of at most `most`.
    fn check(&self, most: usize, random: &mut fastrand::Rng) {
        let mut arrived = self.bytes.clone();
        let (mut frames, mut rewriter) = (Frames::default(), AuthorityRewriter::default());
        let mut rest = arrived.as_mut_slice();
        while !rest.is_empty() {
            let (mut piece, later) = rest.split_at_mut(random.usize(1..=most.min(rest.len())));
            while !piece.is_empty() {
                let (length, part) = frames.step(piece);
                let (passed, after) = piece.split_at_mut(length);
                match part {
                    Part::Head(head) => rewriter.begin(head),
                    Part::Payload => rewriter.rewrite(passed),
                    Part::Other => {}
                }
                piece = after;
            }
            rest = later;
        }
        assert_eq!(arrived.escape_ascii().to_string(), self.expected.escape_ascii().to_string());
    }
}

/// An integer behind a prefix of `bits` bits (RFC 7541, 5.1).
fn integer(first: u8, bits: u32, mut value: usize) -> Vec<u8> {
    let most = (1 << bits) - 1;
    if value < most {
        return vec![first | u8::try_from(value).unwrap()];
    }
    let mut bytes = vec![first | u8::try_from(most).unwrap()];
    value -= most;
    while value >= 0x80 {
        bytes.push(0x80 | u8::try_from(value & 0x7f).unwrap());
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// The first request of grpc-python 1.85 over `unix:/tmp/n.sock`, without its last headers.
fn c_core() -> Sent {
    let mut block = Sent::default();
    block.push(&[0x83, 0x86, 0x44]);
    block.text(false, b"/nodesift.v1.Nodesift/Filter", b"/nodesift.v1.Nodesift/Filter");
    block.push(&[0x40]);
    block.text(false, NAME, NAME);
    block.text(false, b"%2Ftmp%2Fn.sock", b"-2Ftmp-2Fn.sock");
    block.push(&[0x40]);
    block.text(false, b"grpc-accept-encoding", b"grpc-accept-encoding");
    block.text(false, b"identity, deflate, gzip", b"identity, deflate, gzip");
    block
}

#[test]
fn the_path_of_a_socket_becomes_a_host_name_of_the_same_length() {
    let mut sent = Sent::start();
    sent.frame(4, 0, &Sent::default());
    sent.frame(HEADERS, END_HEADERS, &c_core());
    for most in [1, 7, 1000] {
        sent.check(most, &mut fastrand::Rng::with_seed(1));
    }
}

/// Huffman codes of some characters, with their lengths (RFC 7541, appendix B).
const CODED: [(u8, u32, u32); 24] = [
    (b' ', 0x14, 6),
    (b'%', 0x15, 6),
    (b'-', 0x16, 6),
    (b'.', 0x17, 6),
    (b'/', 0x18, 6),
    (b'0', 0x0, 5),
    (b'2', 0x2, 5),
    (b'3', 0x19, 6),
    (b':', 0x5c, 7),
    (b'F', 0x61, 7),
    (b'Z', 0xfd, 8),
    (b'_', 0x22, 6),
    (b'a', 0x3, 5),
    (b'c', 0x4, 5),
    (b'd', 0x24, 6),
    (b'k', 0x75, 7),
    (b'n', 0x2a, 6),
    (b'o', 0x7, 5),
    (b's', 0x8, 5),
    (b't', 0x9, 5),
    (b'z', 0x7b, 7),
    (b'!', 0x3f8, 10),
    (b'#', 0xffa, 12),
    (b'{', 0x7ffe, 15),
];

/// A text of these characters, padded with ones.
fn coded(text: &[u8]) -> Vec<u8> {
    let mut bits = Vec::new();
    for byte in text {
        let (_, code, length) = CODED.iter().find(|(of, ..)| of == byte).unwrap();
        bits.extend((0..*length).rev().map(|bit| code >> bit & 1));
    }
    bits.resize(bits.len().next_multiple_of(8), 1);
    bits.chunks(8).map(|bits| u8::try_from(bits.iter().fold(0, |byte, bit| byte << 1 | bit)).unwrap()).collect()
}

/// Huffman code of a text after the replacements in an authority.
fn recoded(text: &[u8]) -> Vec<u8> {
    let replaced = |byte: &u8| match byte {
        b' ' => b'-',
        b'%' => b'.',
        b'/' => b'3',
        other => *other,
    };
    coded(&text.iter().map(replaced).collect::<Vec<u8>>())
}

#[test]
fn a_coded_path_becomes_a_coded_host_name() {
    let mut block = Sent::default();
    block.push(&[0x40]);
    block.text(true, NAME_CODED, NAME_CODED);
    block.text(true, &coded(b"%2Ftat%2Fn.sock"), &coded(b".2Ftat.2Fn.sock"));
    let mut sent = Sent::start();
    sent.frame(HEADERS, END_HEADERS, &block);
    for most in [1, 7, 1000] {
        sent.check(most, &mut fastrand::Rng::with_seed(1));
    }
}

#[test]
fn http_1_is_left_alone() {
    let mut sent = Sent::default();
    sent.push(b"POST /v1/filter HTTP/1.1\r\nhost: %2Ftmp\r\n\r\n");
    sent.frame(HEADERS, END_HEADERS, &{
        let mut block = Sent::default();
        block.push(&[0x41, 1, b'%']);
        block
    });
    sent.check(5, &mut fastrand::Rng::with_seed(1));
}

#[test]
fn only_literal_authorities_change_in_random_blocks() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..500 {
        let mut sent = Sent::start();
        for _ in 0..random.usize(1..6) {
            match random.u8(0..4) {
                0 => {
                    // Data that looks like a block.
                    let mut data = Sent::default();
                    data.push(&c_core().bytes);
                    sent.frame(0, random.u8(..), &data);
                }
                _ => headers(&mut sent, &block(&mut random), &mut random),
            }
        }
        let most = [1, 3, 20, 5_000][random.usize(0..4)];
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sent.check(most, &mut random)));
        assert!(checked.is_ok(), "NODESIFT_SEED={seed}, round {round}");
    }
}

fn block(random: &mut fastrand::Rng) -> Sent {
    let mut block = Sent::default();
    for _ in 0..random.usize(0..12) {
        let raw: Vec<u8> = (0..[3, 20, 300][random.usize(0..3)]).map(|_| random.u8(0x20..0x7f)).collect();
        let host: Vec<u8> = raw.iter().map(|byte| if is_of_a_host(*byte) { *byte } else { b'-' }).collect();
        let (first, bits) = [(0x40, 6), (0x00, 4), (0x10, 4)][random.usize(0..3)];
        match random.u8(0..8) {
            0 => block.push(&integer(0x80, 7, random.usize(1..300))),
            1 => block.push(&integer(0x20, 5, random.usize(0..5_000))),
            2 => {
                block.push(&integer(first, bits, NAME_INDEX));
                block.text(false, &raw, &host);
            }
            3 => {
                block.push(&[first]);
                block.text(false, NAME, NAME);
                block.text(false, &raw, &host);
            }
            4 => {
                let text: Vec<u8> = raw.iter().map(|byte| CODED[usize::from(*byte) % CODED.len()].0).collect();
                block.push(&integer(first, bits, NAME_INDEX));
                block.text(true, &coded(&text), &recoded(&text));
            }
            5 => {
                block.push(&integer(first, bits, random.usize(2..200)));
                block.text(random.bool(), &raw, &raw);
            }
            6 => {
                let name = [&b":authorit"[..], b":authority2", b"", b"x"][random.usize(0..4)];
                block.push(&[first]);
                block.text(false, name, name);
                block.text(false, &raw, &raw);
            }
            _ => {
                let (name, equal) = if random.bool() { (NAME_CODED, true) } else { (NAME, false) };
                block.push(&[first]);
                block.text(true, name, name);
                block.text(false, &raw, if equal { &host } else { &raw });
            }
        }
    }
    block
}

/// Sends a block in one frame or several, with padding and priority.
fn headers(sent: &mut Sent, block: &Sent, random: &mut fastrand::Rng) {
    let mut cuts: Vec<usize> = (0..random.usize(0..4)).map(|_| random.usize(0..=block.bytes.len())).collect();
    cuts.extend([0, block.bytes.len()]);
    cuts.sort_unstable();
    let last = cuts.len() - 2;
    for (at, ends) in cuts.windows(2).enumerate() {
        let part = block.part(ends[0]..ends[1]);
        let mut flags = if at == last { END_HEADERS } else { 0 };
        if at > 0 {
            sent.frame(CONTINUATION, flags, &part);
            continue;
        }
        let mut payload = Sent::default();
        let padding = random.bool().then(|| random.u8(0..40));
        if let Some(padding) = padding {
            flags |= PADDED;
            payload.push(&[padding]);
        }
        if random.bool() {
            flags |= PRIORITY;
            payload.push(&[0x41, 1, b'%', 0, 9]);
        }
        payload.append(&part);
        payload.push(&vec![b'%'; usize::from(padding.unwrap_or_default())]);
        sent.frame(HEADERS, flags, &payload);
    }
}
