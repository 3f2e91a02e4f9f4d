//! Somebody else's words in errors, which end in logs, probes and terminals: on one line, of bounded length. Start at [`bounded`].

use serde::Deserialize;

use crate::limits::WORDS_BYTES;

/// The form of errors in the distribution specification.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Deserialize)]
struct OneError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// Somebody else's words, in a line of bounded length.
pub fn bounded(text: &str) -> String {
    cut(text, WORDS_BYTES)
}

/// Cuts a text to at most so many bytes, and replaces control characters by spaces.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    let text = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A registry's own words, to be put behind a sentence.
pub(crate) fn words(body: &[u8]) -> String {
    let Ok(Errors { errors }) = serde_json::from_slice(body) else { return String::new() };
    let Some(OneError { code, message }) = errors.into_iter().next() else { return String::new() };
    let text = bounded(if message.is_empty() { &code } else { &message });
    if text.is_empty() { text } else { format!(" ({text})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registrys_words_are_one_line_of_bounded_length() {
        assert_eq!(words(br#"{"errors": [{"code": "DENIED", "message": "not\nyours"}]}"#), " (not yours)");
        assert_eq!(words(br#"{"errors": [{"code": "DENIED"}]}"#), " (DENIED)");
        for other in [&b"<html>"[..], b"", br#"{"errors": []}"#] {
            assert_eq!(words(other), "");
        }
        let long = format!(r#"{{"errors": [{{"message": "{}"}}]}}"#, "ü".repeat(1000));
        assert_eq!(words(long.as_bytes()).len(), WORDS_BYTES + 3);
    }
}
