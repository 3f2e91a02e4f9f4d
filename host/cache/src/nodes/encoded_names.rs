//! Node names as responses carry them: encoded once after nodes came or went, in the order of names, one after the other. A
//! response copies neighbours at once, which takes a quarter of the time of a copy per name.
//!
//! Start at [`EncodedNames::get`].

use std::ops::Range;

/// The names of all nodes in one encoding. A name is identified by its rank, its place in the order of names.
#[derive(Debug, Default)]
pub struct EncodedNames {
    bytes: Vec<u8>,
    /// End of each name in `bytes`.
    ends: Vec<usize>,
}

impl EncodedNames {
    /// The number of the repeated field whose elements [`Self::protobuf`] has: that of feasible nodes.
    pub const PROTOBUF_FIELD: u8 = 2;

    /// Encodes the names as elements of a JSON array, each with a comma before it.
    pub(super) fn json<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        Self::new(names, |name, bytes| {
            bytes.push(b',');
            // The names that an API server takes need no escapes; those of a file may.
            bytes.extend_from_slice(serde_json::Value::from(name).to_string().as_bytes());
        })
    }

    /// Encodes the names as elements of the repeated field [`Self::PROTOBUF_FIELD`] in protobuf, each with its key, one byte, and its
    /// length.
    pub(super) fn protobuf<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        const LENGTH_DELIMITED: u8 = 2;
        Self::new(names, |name, bytes| {
            bytes.push(Self::PROTOBUF_FIELD << 3 | LENGTH_DELIMITED);
            let mut length = name.len();
            loop {
                let [low, ..] = length.to_le_bytes();
                length >>= 7;
                let more = if length > 0 { 0x80 } else { 0 };
                bytes.push(low & 0x7f | more);
                if more == 0 {
                    break;
                }
            }
            bytes.extend_from_slice(name.as_bytes());
        })
    }

    fn new<'n>(names: impl Iterator<Item = &'n str>, encode: impl Fn(&str, &mut Vec<u8>)) -> Self {
        let mut encoded = Self::default();
        for name in names {
            encode(name, &mut encoded.bytes);
            encoded.ends.push(encoded.bytes.len());
        }
        encoded.bytes.shrink_to_fit();
        encoded
    }

    /// The bytes of the names with these ranks; those past the last name have none.
    pub fn get(&self, ranks: Range<usize>) -> &[u8] {
        self.bytes.get(self.start(ranks.start)..self.start(ranks.end)).unwrap_or_default()
    }

    /// The first of these ranks, just so many that they take `bytes` bytes or more; all of them where they take less.
    pub fn filling(&self, ranks: Range<usize>, bytes: usize) -> Range<usize> {
        let full = self.start(ranks.start).saturating_add(bytes);
        // In most cases all of them have room.
        if self.start(ranks.end) <= full {
            return ranks;
        }
        let ends = self.ends.get(ranks.clone()).unwrap_or_default();
        let below = ends.partition_point(|end| *end < full);
        ranks.start..ranks.end.min(ranks.start + below + 1)
    }

    /// Bytes that so many names take on average.
    pub fn mean_bytes(&self, names: usize) -> usize {
        self.bytes.len().saturating_mul(names).checked_div(self.ends.len()).unwrap_or(0)
    }

    /// Returns where the bytes of a name begin.
    fn start(&self, rank: usize) -> usize {
        let before = rank.min(self.ends.len()).checked_sub(1);
        before.and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn neighbours_are_one_piece_in_each_encoding() {
        let long = "n".repeat(300);
        let names = ["a", "b\"", &long];
        let json = EncodedNames::json(names.into_iter());
        assert_eq!(json.get(0..2), br#","a","b\"""#);
        assert_eq!(json.get(1..3).len(), 6 + 303);
        assert_eq!((json.get(3..9), json.get(0..0)), (&[][..], &[][..]));
        assert_eq!(json.mean_bytes(3), 4 + 6 + 303);
        let protobuf = EncodedNames::protobuf(names.into_iter());
        assert_eq!(protobuf.get(0..2), b"\x12\x01a\x12\x02b\"");
        assert_eq!(protobuf.get(2..3), [&[0x12, 0xac, 0x02][..], long.as_bytes()].concat());
    }

    #[test]
    fn a_piece_is_filled_by_whole_names() {
        let names = EncodedNames::json(["a", "b", "c", "d"].into_iter());
        assert_eq!(names.filling(0..4, 1), 0..1);
        assert_eq!(names.filling(0..4, 4), 0..1);
        assert_eq!(names.filling(1..4, 5), 1..3);
        assert_eq!(names.filling(1..4, 100), 1..4);
        assert_eq!(names.filling(2..2, 100), 2..2);
        assert_eq!(EncodedNames::default().mean_bytes(3), 0);
    }
}
