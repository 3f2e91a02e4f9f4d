//! Messages inside `google.protobuf.Any`: the wire format of the messages of `google.protobuf`. Start at [`unpack`].

use std::rc::Rc;

use crate::outcome::Outcome;
use crate::steps::Steps;
use crate::time::{Timestamp, duration_of_fields};
use crate::types::{DURATION, EMPTY, TIMESTAMP, WRAPPERS};
use crate::value::{Map, Value};

/// Most messages that stand inside each other in one value.
const NESTED: usize = 50;

/// The value of a message by the URL of its type.
///
/// # Errors
/// The type is not known, or the bytes are no message of it; or there are no steps left.
pub(crate) fn unpack(url: &str, bytes: &[u8], steps: &Steps) -> Outcome {
    steps.read(url.len().saturating_add(bytes.len()))?;
    let name = url.rsplit_once('/').map_or(url, |(_, name)| name);
    value_of(name, bytes, 0, steps)?.ok_or_else(|| format!("conversion error: no message of {url}"))
}

/// Content of a field.
#[derive(Clone, Copy)]
enum Content<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// Reads the next field; `None` where the bytes are none.
fn next_field<'b>(rest: &mut &'b [u8]) -> Option<(u64, Content<'b>)> {
    let tag = varint(rest)?;
    let content = match tag & 7 {
        0 => Content::Number(varint(rest)?),
        1 => Content::Number(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Content::Bytes(take(rest, length)?)
        }
        5 => Content::Number(u64::from(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?))),
        _ => return None,
    };
    (tag >> 3 > 0).then_some((tag >> 3, content))
}

fn take<'b>(rest: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(value);
        }
    }
    None
}

/// All fields in their order; `None` where the bytes are no message.
fn fields<'b>(mut bytes: &'b [u8], steps: &Steps) -> Result<Option<Vec<(u64, Content<'b>)>>, String> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        steps.take(1)?;
        let Some(field) = next_field(&mut bytes) else { return Ok(None) };
        fields.push(field);
    }
    Ok(Some(fields))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers are cut and read with a sign as in the wire format"
)]
fn value_of(name: &str, bytes: &[u8], level: usize, steps: &Steps) -> Result<Option<Value>, String> {
    steps.take(1)?;
    let Some(fields) = fields(bytes, steps)?.filter(|_| level < NESTED) else { return Ok(None) };
    let last = |number: u64| fields.iter().rev().find(|(known, _)| *known == number).map(|(_, content)| *content);
    let number = |wanted: u64| match last(wanted) {
        Some(Content::Number(value)) => value,
        _ => 0,
    };
    let data = |wanted: u64| match last(wanted) {
        Some(Content::Bytes(data)) => data,
        _ => &[],
    };
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Value::text);
    Ok(match name {
        DURATION => Some(Value::Duration(duration_of_fields(number(1) as i64, number(2) as i32))),
        TIMESTAMP => Some(Value::Timestamp(Timestamp::of_fields(number(1) as i64, number(2) as i32))),
        EMPTY => Some(Value::Empty),
        "google.protobuf.Any" => match std::str::from_utf8(data(1)) {
            Ok(url) => value_of(url.rsplit('/').next().unwrap_or(url), data(2), level + 1, steps)?,
            Err(_) => None,
        },
        "google.protobuf.ListValue" => {
            let mut list = Vec::new();
            for (_, content) in fields.iter().filter(|(number, _)| *number == 1) {
                let Content::Bytes(bytes) = content else { return Ok(None) };
                let Some(value) = value_of("google.protobuf.Value", bytes, level + 1, steps)? else { return Ok(None) };
                list.push(value);
            }
            Some(Value::list(list))
        }
        "google.protobuf.Struct" => {
            let mut map = Map::default();
            for (_, content) in fields.iter().filter(|(number, _)| *number == 1) {
                let Content::Bytes(bytes) = content else { return Ok(None) };
                let Some(entry) = self::fields(bytes, steps)? else { return Ok(None) };
                let part = |number: u64| match entry.iter().rev().find(|(known, _)| *known == number) {
                    Some((_, Content::Bytes(bytes))) => *bytes,
                    _ => &[],
                };
                let value = value_of("google.protobuf.Value", part(2), level + 1, steps)?;
                let (Some(key), Some(value)) = (text(part(1)), value) else { return Ok(None) };
                map.set(key, value, steps)?;
            }
            Some(Value::Map(Rc::new(map)))
        }
        // The last of its fields counts.
        "google.protobuf.Value" => match fields.iter().rev().find(|(number, _)| (1..=6).contains(number)) {
            None | Some((1, _)) => Some(Value::Null),
            Some((2, Content::Number(bits))) => Some(Value::Double(f64::from_bits(*bits))),
            Some((3, Content::Bytes(bytes))) => text(bytes),
            Some((4, Content::Number(value))) => Some(Value::Bool(*value != 0)),
            Some((5, Content::Bytes(bytes))) => value_of("google.protobuf.Struct", bytes, level + 1, steps)?,
            Some((6, Content::Bytes(bytes))) => value_of("google.protobuf.ListValue", bytes, level + 1, steps)?,
            Some(_) => None,
        },
        name => match WRAPPERS.into_iter().find(|(wrapper, _)| *wrapper == name) {
            Some((_, "bool")) => Some(Value::Bool(number(1) != 0)),
            Some((_, "bytes")) => Some(Value::Bytes(data(1).into())),
            Some((_, "string")) => text(data(1)),
            Some(("google.protobuf.FloatValue", _)) => Some(Value::Double(f64::from(f32::from_bits(number(1) as u32)))),
            Some((_, "double")) => Some(Value::Double(f64::from_bits(number(1)))),
            Some(("google.protobuf.Int32Value", _)) => Some(Value::Int(i64::from(number(1) as i32))),
            Some((_, "int")) => Some(Value::Int(number(1) as i64)),
            Some(("google.protobuf.UInt32Value", _)) => Some(Value::Uint(u64::from(number(1) as u32))),
            Some(_) => Some(Value::Uint(number(1))),
            None => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::unpack;
    use crate::limits::STEPS;
    use crate::steps::{BYTES_OF_A_STEP, Steps};

    #[test]
    fn bytes_take_steps() {
        const LENGTH: u8 = 127;
        let mut message = vec![2 | 1 << 3, LENGTH];
        message.extend([b'a'; LENGTH as usize]);
        let url = "google.protobuf.BytesValue";
        assert!(unpack(url, &message, &Steps::default()).is_ok());

        let steps = Steps::default();
        let left = message.len() / BYTES_OF_A_STEP;
        assert_eq!(steps.take(usize::try_from(STEPS).unwrap_or(usize::MAX) - left), Ok(()));
        assert!(unpack(url, &message, &steps).is_err_and(|error| error.contains("cost limit exceeded")));
    }
}
