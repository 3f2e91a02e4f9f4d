//! Mutations of bytes of which nothing is known. Start at [`mutate`].

/// Pieces that parsers treat in a special way.
const PIECES: [&[u8]; 24] = [
    b"NaN",
    b"1e400",
    b"-1e400",
    b"-0",
    b"-",
    b".",
    b"0x",
    b"\xff",
    b"\xed\xa0\x80",
    b"\"\\ud800\"",
    b"\0",
    b"[",
    b"{",
    b"}",
    b"]",
    b"null",
    b"99999999999999999999",
    b"9223372036854775807",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b"&a *a",
    b"!!binary ",
    b"\\u0000",
];

/// Bytes that are copied or removed at once.
const RANGE: usize = 64;

/// A mutation of an input, perhaps with a piece of another.
pub(super) fn mutate(input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let at = random.usize(..=bytes.len());
    let end = (at + random.usize(1..=RANGE)).min(bytes.len());
    match random.u8(..10) {
        0 | 1 if at < bytes.len() => bytes[at] = random.u8(..),
        2 | 3 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let piece = bytes[at..end].repeat(random.usize(1..=8));
            drop(bytes.splice(at..at, piece));
        }
        6 => {
            let piece = *random.choice(&PIECES).unwrap_or(&PIECES[0]);
            drop(bytes.splice(at..at, piece.iter().copied()));
        }
        7 => bytes.truncate(at),
        8 if !other.is_empty() => {
            let from = random.usize(..other.len());
            let to = (from + random.usize(1..=4 * RANGE)).min(other.len());
            drop(bytes.splice(at..end, other[from..to].iter().copied()));
        }
        _ => {
            let numbers = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, u32::MAX.into(), i64::MAX.unsigned_abs(), u64::MAX];
            let number = random.choice(numbers).unwrap_or_default().to_le_bytes();
            let width = random.choice([1, 2, 4, 8]).unwrap_or(1);
            let end = (at + width).min(bytes.len());
            drop(bytes.splice(at..end, number[..width].iter().copied()));
        }
    }
    bytes
}
