//! Texts of guests, made safe for terminals and logs, and bounded. Start at [`escape_controls`].

use std::borrow::Cow;

use crate::limits::FAULT_DETAIL_BYTES;

/// Escapes control characters in a guest's text, so that it can neither move the cursor of a terminal nor forge a log line.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    // Without a text per character: a guest may return a mebibyte of them.
    let mut escaped = String::with_capacity(text.len() + text.len() / 2);
    for character in text.chars() {
        if character.is_control() { escaped.extend(character.escape_default()) } else { escaped.push(character) }
    }
    Cow::Owned(escaped)
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
