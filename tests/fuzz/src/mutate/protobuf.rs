//! Mutations of protobuf messages by their wire format, whatever their type. Start at [`mutate`].

use prost::bytes::Buf as _;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

/// Messages within messages that are changed.
const DEPTH: usize = 8;

/// One field as it is on the wire.
#[derive(Debug, Clone)]
struct Field {
    number: u32,
    payload: Payload,
}

#[derive(Debug, Clone)]
enum Payload {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(Vec<u8>),
}

/// A mutation of a message after its first byte; `None` where it is not a message.
pub(super) fn mutate(input: &[u8], random: &mut fastrand::Rng) -> Option<Vec<u8>> {
    let (first, message) = input.split_first()?;
    let mut fields = read(message)?;
    change(&mut fields, 0, random);
    Some([&[*first], write(&fields).as_slice()].concat())
}

fn change(fields: &mut Vec<Field>, depth: usize, random: &mut fastrand::Rng) {
    let at = random.usize(..=fields.len());
    let Some(field) = fields.get_mut(at) else {
        fields.push(Field { number: random.u32(1..=12), payload: payload(random) });
        return;
    };
    match random.u8(..8) {
        0 => drop(fields.remove(at)),
        1 => {
            let copies = vec![field.clone(); random.choice([1, 2, 40]).unwrap_or(1)];
            drop(fields.splice(at..at, copies));
        }
        2 => field.number = random.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 536_870_911]).unwrap_or(1),
        3 => field.payload = payload(random),
        _ => match &mut field.payload {
            Payload::Varint(number) => {
                let extremes = [0, 1, 2, 3, 127, 128, u64::from(u32::MAX), i64::MAX.unsigned_abs(), u64::MAX];
                *number = random.choice(extremes).unwrap_or_default();
            }
            Payload::Fixed64(bytes) => random.fill(bytes),
            Payload::Fixed32(bytes) => random.fill(bytes),
            Payload::Bytes(bytes) => {
                match read(bytes).filter(|inner| !inner.is_empty() && depth < DEPTH && random.u8(..4) > 0) {
                    Some(mut inner) => {
                        change(&mut inner, depth + 1, random);
                        *bytes = write(&inner);
                    }
                    None => *bytes = super::bytes::mutate(bytes, b"", random),
                }
            }
        },
    }
}

fn payload(random: &mut fastrand::Rng) -> Payload {
    match random.u8(..4) {
        0 => Payload::Varint(random.u64(..)),
        1 => Payload::Fixed64(random.u64(..).to_le_bytes()),
        2 => Payload::Fixed32(random.u32(..).to_le_bytes()),
        _ => {
            let mut bytes = vec![0; random.usize(..12)];
            random.fill(&mut bytes);
            Payload::Bytes(bytes)
        }
    }
}

fn read(mut message: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while message.has_remaining() {
        let (number, wire_type) = decode_key(&mut message).ok()?;
        let payload = match wire_type {
            WireType::Varint => Payload::Varint(decode_varint(&mut message).ok()?),
            WireType::SixtyFourBit => Payload::Fixed64(take(&mut message, 8)?.try_into().ok()?),
            WireType::ThirtyTwoBit => Payload::Fixed32(take(&mut message, 4)?.try_into().ok()?),
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut message).ok()?).ok()?;
                Payload::Bytes(take(&mut message, length)?.to_vec())
            }
            WireType::StartGroup | WireType::EndGroup => return None,
        };
        fields.push(Field { number, payload });
    }
    Some(fields)
}

fn take<'a>(message: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some(taken)
}

fn write(fields: &[Field]) -> Vec<u8> {
    let mut message = Vec::new();
    for Field { number, payload } in fields {
        match payload {
            Payload::Varint(number_value) => {
                encode_key(*number, WireType::Varint, &mut message);
                encode_varint(*number_value, &mut message);
            }
            Payload::Fixed64(bytes) => {
                encode_key(*number, WireType::SixtyFourBit, &mut message);
                message.extend(bytes);
            }
            Payload::Fixed32(bytes) => {
                encode_key(*number, WireType::ThirtyTwoBit, &mut message);
                message.extend(bytes);
            }
            Payload::Bytes(bytes) => {
                encode_key(*number, WireType::LengthDelimited, &mut message);
                encode_varint(bytes.len() as u64, &mut message);
                message.extend(bytes);
            }
        }
    }
    message
}
