//! Values as texts, and texts in quotes.

use crate::time;
use crate::value::Value;

/// Quotes a text as `strings.quote` does: what has an escape of its own is escaped.
pub(crate) fn quoted(text: &str) -> String {
    quoted_by(text, |c, quoted| quoted.push(c))
}

/// Quotes a text as Go's `%q` does: what cannot be printed is escaped by its number.
pub(crate) fn quoted_printable(text: &str) -> String {
    quoted_by(text, |c, quoted| match u32::from(c) {
        code if c.is_ascii_control() => quoted.push_str(&format!("\\x{code:02x}")),
        _ if is_printable(c) => quoted.push(c),
        code if code > 0xffff => quoted.push_str(&format!("\\U{code:08x}")),
        code => quoted.push_str(&format!("\\u{code:04x}")),
    })
}

/// Quotes a text; a function writes the characters that have no escape of their own.
fn quoted_by(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => write(c, &mut quoted),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character has a glyph; the only blank one is the space.
fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || c.is_whitespace()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..))
}

/// The text of a value that has one.
pub(crate) fn shown(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Null => "null".to_owned(),
        Value::Type(name) => (*name).to_owned(),
        Value::Double(value) if value.is_infinite() => if *value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Value::Double(value) => shown_double(*value),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok()?,
        Value::Duration(nanos) => time::duration_text(*nanos),
        Value::Timestamp(at) => at.text(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(address, bits) => format!("{address}/{bits}"),
        _ => return None,
    })
}

/// Doubles with this exponent or a larger one are shown with it, as Go's `%g` does.
const LEAST_EXPONENT: i32 = 6;

/// Formats a double like Go's `%g`, with the shortest number of digits.
fn shown_double(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    if exponent.parse().is_ok_and(|exponent: i32| (-4..LEAST_EXPONENT).contains(&exponent)) {
        return value.to_string();
    }
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}
