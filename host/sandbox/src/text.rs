//! Texts of guests, made safe for terminals and logs, and bounded. Start at [`escape_controls`].

use std::borrow::Cow;

use crate::limits::FAULT_DETAIL_BYTES;

/// Escapes control characters in a guest's text, so that it can neither move the cursor of a terminal nor forge a log line.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// One line of at most [`FAULT_DETAIL_BYTES`] bytes (plus an ellipsis), with control characters escaped.
pub(crate) fn shorten(text: &str) -> String {
    let mut text = escape_controls(text).into_owned();
    if text.len() > FAULT_DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(FAULT_DETAIL_BYTES));
        text.push('…');
    }
    text
}
