//! Output: the answer on stdout, notes about the work on stderr.
//!
//! ```text
//! paint   colour, only on a terminal that supports it
//! table   tables that fit the terminal's width
//! ```
//!
//! It holds no command's own texts. Start at [`print`] and [`note`].

mod paint;
mod table;

use std::io::{self, Write as _};
use std::sync::OnceLock;

use crate::exit::Failure;
use crate::log;
pub use paint::Paint;
pub use table::{render, table};

/// The name that [`note`] begins with.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// Names the program that notes and errors are of; `nodesift` where nothing does. Call it once, before anything is printed.
pub fn speak_as(program: &'static str) {
    // Only the first call counts.
    let _named = PROGRAM.set(program);
}

/// Prints a complete answer on stdout.
///
/// # Errors
///
/// [`Failure::StdoutClosed`] if the reader has closed the pipe, else the I/O error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(write_error)
}

/// A failed write to stdout. A closed pipe has a kind of its own, because it is no failure of the command.
pub fn write_error(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::StdoutClosed.into();
    }
    anyhow::Error::new(error).context("cannot write to stdout")
}

/// Prints a note on stderr, with control characters escaped; a log event where those are JSON. A closed stderr is ignored.
pub fn note(text: &str) {
    if log::is_json() {
        tracing::warn!("{text}");
        return;
    }
    let program = PROGRAM.get().unwrap_or(&"nodesift");
    let _closed = writeln!(io::stderr(), "{program}: {}", escaped(text));
}

/// Prints why the command fails, as [`note`] does.
pub fn fail(text: &str) {
    if log::is_json() {
        tracing::error!("{text}");
    } else {
        note(text);
    }
}

/// Text from outside, safe for a terminal: control and bidirectional characters are escaped, and those that break a line or are not seen, by
/// which two names would look the same. Line breaks `\n` stay.
pub fn escaped(text: &str) -> String {
    let is_unseen = |c: char| {
        matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
    };
    let unsafe_char = |c: char| c.is_control() && c != '\n' || is_unseen(c);
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if unsafe_char(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    safe
}

/// `1 pod`, `2 pods`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_line_or_is_not_seen_is_escaped() {
        for c in [
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{2060}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
        ] {
            assert_eq!(escaped(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
        }
        assert_eq!(escaped("é漢 −·→…\u{2027}\u{202f}"), "é漢 −·→…\u{2027}\u{202f}");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escaped("a\u{1b}[31mb\rc\nd\u{9b}é\u{202e}"), "a\\u{1b}[31mb\\u{d}c\nd\\u{9b}é\\u{202e}");
    }
}
