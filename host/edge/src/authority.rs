//! `:authority` on a Unix socket, made a host name before HTTP/2 decodes it.
//!
//! Clients of gRPC's C core (Python, C++, Ruby, PHP), of Netty and of Swift send the path of the socket there, percent-encoded
//! or as it is. The `http` crate takes neither for an authority, so h2 resets the stream with PROTOCOL_ERROR
//! (hyperium/http#836). Over a Unix socket the value says nothing. So what no host name has is replaced in place by something
//! of the same length: both ends agree on the sizes in HPACK's dynamic table, and later references to the entry decode to the
//! host name.
//!
//! Only the value of a literal `:authority` is ever changed, see [`Text`] and [`Huffman`]. Malformed frames and blocks are left
//! for h2 to refuse. Start at [`AuthorityRewriter::rewrite`].

use crate::frames::{CONTINUATION, HEADERS, Head};

/// Flags of frames with headers (RFC 9113, 6.2).
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// Bytes of the priority in a HEADERS frame: a stream and a weight.
const PRIORITY_BYTES: usize = 5;

/// The name, its Huffman code, and its place in HPACK's static table (RFC 7541, appendices A and B).
const NAME: &[u8] = b":authority";
const NAME_CODED: &[u8] = &[0xb8, 0x3b, 0x53, 0x39, 0xec, 0x32, 0x7d, 0x7f];
const NAME_INDEX: usize = 1;

/// The longest integer that is followed, in bits: above it h2 refuses the block.
const INTEGER_BITS: u32 = 28;

/// Header blocks of one connection, in whatever pieces they arrive.
#[derive(Debug, Default)]
pub(crate) struct AuthorityRewriter {
    /// Bytes of a frame with headers that have not arrived.
    left: usize,
    /// Whether the next byte is the length of the padding.
    is_padded: bool,
    /// Bytes at the end of the frame that are no headers.
    padding: usize,
    /// Bytes before the headers.
    priority: usize,
    ends_block: bool,
    block: Block,
}

/// The place inside a header block (RFC 7541, 6), which may span frames.
#[derive(Debug, Clone, Copy, Default)]
enum Block {
    /// At the first byte of a field.
    #[default]
    Field,
    /// In an integer whose prefix was full.
    Integer { value: usize, shift: u32, of: Integer },
    /// At the length of a string.
    Length(Text),
    /// Inside a string, with `left` bytes to come.
    Bytes { left: usize, text: Text },
    /// In a malformed block, which is left for h2 to refuse.
    Broken,
}

/// Meaning of an integer in a header block.
#[derive(Debug, Clone, Copy)]
enum Integer {
    /// An index or a table size: a whole field.
    Field,
    /// The index of the name of a literal field.
    NameIndex,
    /// The length of a string.
    Length { text: Text, huffman: bool },
}

/// Role of a string in a header block, and how far it matches.
#[derive(Debug, Clone, Copy)]
enum Text {
    /// A name, equal to [`NAME`] so far; and how much of it.
    Name { equal: bool, seen: usize },
    /// A Huffman-coded name, equal to [`NAME_CODED`] so far; and how much of it.
    CodedName { equal: bool, seen: usize },
    /// The value of any other header.
    Value,
    /// The authority: every byte that no host name has becomes `-`.
    Authority,
    /// The authority, Huffman-coded: spaces, percent signs and slashes are replaced.
    CodedAuthority(Huffman),
}

/// The place in a Huffman-coded authority (RFC 7541, appendix B): the bits of the symbol that has not ended.
///
/// A space and a percent sign have the first five of six bits in common, as have `-` and `.`, which differ from them in the
/// fifth bit alone. A slash and `3` differ in the sixth. So one bit is changed when it arrives, never an earlier one.
#[derive(Debug, Clone, Copy, Default)]
struct Huffman {
    code: u16,
    bits: u32,
}

/// The common bits of a space and a percent sign.
const SPACE_OR_PERCENT: (u16, u32) = (0b01010, 5);
const SLASH: (u16, u32) = (0b01_1000, 6);

/// Huffman codes by their length: the first one, and how many there are. Longer ones are of bytes that are not printed.
const CODES: [(u32, u16, u16); 10] = [
    (5, 0x0, 10),
    (6, 0x14, 26),
    (7, 0x5c, 32),
    (8, 0xf8, 6),
    (10, 0x3f8, 5),
    (11, 0x7fa, 3),
    (12, 0xffa, 2),
    (13, 0x1ff8, 6),
    (14, 0x3ffc, 2),
    (15, 0x7ffc, 3),
];

impl AuthorityRewriter {
    /// Notes that a frame begins.
    pub(crate) fn begin(&mut self, Head { kind, flags, length }: Head) {
        let is_first = kind == HEADERS;
        if !is_first && kind != CONTINUATION {
            return;
        }
        self.left = length;
        self.is_padded = is_first && flags & PADDED != 0;
        self.padding = 0;
        self.priority = if is_first && flags & PRIORITY != 0 { PRIORITY_BYTES } else { 0 };
        self.ends_block = flags & END_HEADERS != 0;
    }

    /// Rewrites bytes of the frame that began last. Nothing is left of a frame without headers.
    pub(crate) fn rewrite(&mut self, bytes: &mut [u8]) {
        for byte in bytes.iter_mut().take(self.left) {
            self.left -= 1;
            if self.is_padded {
                (self.is_padded, self.padding) = (false, usize::from(*byte));
            } else if self.priority > 0 {
                self.priority -= 1;
            } else if self.left >= self.padding {
                self.block.take(byte);
            }
            if self.left == 0 && self.ends_block {
                self.block = Block::Field;
            }
        }
    }
}

impl Block {
    /// Takes the next byte of the block.
    fn take(&mut self, byte: &mut u8) {
        *self = match *self {
            Self::Broken => return,
            Self::Field => match *byte {
                indexed if indexed & 0x80 != 0 => Self::integer(indexed, 0x7f, Integer::Field),
                literal if literal & 0x40 != 0 => Self::integer(literal, 0x3f, Integer::NameIndex),
                size if size & 0x20 != 0 => Self::integer(size, 0x1f, Integer::Field),
                literal => Self::integer(literal, 0x0f, Integer::NameIndex),
            },
            Self::Integer { shift: INTEGER_BITS.., .. } => Self::Broken,
            Self::Integer { value, shift, of } => {
                let value = value + (usize::from(*byte & 0x7f) << shift);
                if *byte & 0x80 == 0 { Self::after(value, of) } else { Self::Integer { value, shift: shift + 7, of } }
            }
            Self::Length(text) => Self::integer(*byte, 0x7f, Integer::Length { text, huffman: *byte & 0x80 != 0 }),
            Self::Bytes { left, text } => {
                let text = text.with(byte);
                if left > 1 { Self::Bytes { left: left - 1, text } } else { Self::after_text(text) }
            }
        };
    }

    /// An integer whose first byte is this; `mask` is its prefix.
    fn integer(first: u8, mask: u8, of: Integer) -> Self {
        let value = usize::from(first & mask);
        if first & mask == mask { Self::Integer { value, shift: 0, of } } else { Self::after(value, of) }
    }

    fn after(value: usize, integer: Integer) -> Self {
        match integer {
            Integer::Field => Self::Field,
            Integer::NameIndex if value == 0 => Self::Length(Text::Name { equal: true, seen: 0 }),
            Integer::NameIndex => Self::Length(if value == NAME_INDEX { Text::Authority } else { Text::Value }),
            Integer::Length { text, huffman } => {
                let text = if huffman { text.coded() } else { text };
                if value == 0 { Self::after_text(text) } else { Self::Bytes { left: value, text } }
            }
        }
    }

    fn after_text(text: Text) -> Self {
        match text {
            Text::Name { equal: true, seen } if seen == NAME.len() => Self::Length(Text::Authority),
            Text::CodedName { equal: true, seen } if seen == NAME_CODED.len() => Self::Length(Text::Authority),
            Text::Name { .. } | Text::CodedName { .. } => Self::Length(Text::Value),
            Text::Value | Text::Authority | Text::CodedAuthority(_) => Self::Field,
        }
    }
}

impl Text {
    /// Returns the state for the same string where it is Huffman-coded.
    fn coded(self) -> Self {
        match self {
            Self::Name { .. } => Self::CodedName { equal: true, seen: 0 },
            Self::Authority => Self::CodedAuthority(Huffman::default()),
            other => other,
        }
    }

    /// The string after one more byte.
    fn with(self, byte: &mut u8) -> Self {
        match self {
            Self::Name { equal, seen } => {
                Self::Name { equal: equal && NAME.get(seen) == Some(&*byte), seen: seen.saturating_add(1) }
            }
            Self::CodedName { equal, seen } => {
                Self::CodedName { equal: equal && NAME_CODED.get(seen) == Some(&*byte), seen: seen.saturating_add(1) }
            }
            Self::Value => self,
            Self::Authority => {
                if !is_of_a_host(*byte) {
                    *byte = b'-';
                }
                self
            }
            Self::CodedAuthority(huffman) => Self::CodedAuthority(huffman.with(byte)),
        }
    }
}

impl Huffman {
    /// The place after one more byte.
    fn with(mut self, byte: &mut u8) -> Self {
        for shift in (0..u8::BITS).rev() {
            let bit = 1 << shift;
            self.code = self.code << 1 | u16::from(*byte & bit != 0);
            self.bits += 1;
            if [SPACE_OR_PERCENT, SLASH].contains(&(self.code, self.bits)) {
                *byte ^= bit;
                self.code ^= 1;
            }
            let ends = |(bits, first, count): &(u32, u16, u16)| {
                self.bits == *bits && self.code.checked_sub(*first).is_some_and(|place| place < *count)
            };
            if CODES.iter().any(ends) {
                self = Self::default();
            }
        }
        self
    }
}

/// Whether a host name, an address or a port may have this byte.
fn is_of_a_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte)
}

#[cfg(test)]
mod tests;
