//! A stream of YAML documents as one reader after the other, because the parser reads one document at a time as a stream.
//! Start at [`Documents::begin_next`].

use std::io::{self, BufRead, Read};

use crate::limits::YAML_LINE_BYTES;

/// Reads to the end of the current document.
pub(super) struct Documents<R> {
    text: R,
    /// The current line, or as much of a long one as is read at a time: a whole list may be on one.
    line: Vec<u8>,
    /// Whether it goes on the line before it.
    goes_on: bool,
    /// How many bytes of the line have been read.
    read: usize,
    /// Number of the current line, from 1.
    number: u64,
    /// Number of lines before the current document.
    before: u64,
    state: State,
    is_begun: bool,
}

/// Which lines of a document have been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// None but directives, comments and empty lines.
    Begun,
    /// Its marker or its content: the next marker begins another document.
    Inside,
    /// `...`: whatever follows, except empty lines and comments, begins another document.
    Ended,
}

impl<R: BufRead> Documents<R> {
    /// The stream, before its first document.
    pub(super) fn new(text: R) -> Self {
        Self {
            text,
            line: Vec::new(),
            goes_on: false,
            read: 0,
            number: 0,
            before: 0,
            state: State::Begun,
            is_begun: false,
        }
    }

    /// Goes on to the next document. False at the end of the text.
    ///
    /// # Errors
    ///
    /// Where the text cannot be read.
    pub(super) fn begin_next(&mut self) -> io::Result<bool> {
        if self.is_begun {
            // The parser need not read what follows `...`.
            io::copy(self, &mut io::sink())?;
        }
        self.is_begun = true;
        self.state = State::Begun;
        if self.read == self.line.len() {
            self.next_line()?;
        }
        self.before = self.number.saturating_sub(1);
        Ok(!self.line.is_empty())
    }

    /// How many lines precede the current document.
    pub(super) fn lines_before(&self) -> u64 {
        self.before
    }

    fn next_line(&mut self) -> io::Result<()> {
        self.goes_on = self.line.last().is_some_and(|last| *last != b'\n');
        self.line.clear();
        self.read = 0;
        self.text.by_ref().take(YAML_LINE_BYTES).read_until(b'\n', &mut self.line)?;
        self.number += u64::from(!self.goes_on);
        Ok(())
    }

    /// Whether the current line belongs to the next document. No scalar can contain a line that looks like a marker.
    fn begins_another(&mut self) -> bool {
        if self.goes_on {
            return false;
        }
        let is_marker = |marker: &[u8]| {
            let rest = self.line.strip_prefix(marker);
            rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        };
        let is_silent = self.line.trim_ascii_start().first().is_none_or(|first| *first == b'#');
        let (begins, state) = match self.state {
            _ if is_marker(b"...") => (false, State::Ended),
            State::Ended => (!is_silent, State::Ended),
            State::Inside => (is_marker(b"---"), State::Inside),
            State::Begun if is_silent || self.line.starts_with(b"%") => (false, State::Begun),
            State::Begun => (false, State::Inside),
        };
        self.state = state;
        begins
    }
}

impl<R: BufRead> Read for Documents<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.line.len() {
            self.next_line()?;
        }
        if self.read == 0 && self.begins_another() {
            return Ok(0);
        }
        let mut rest = self.line.get(self.read..).unwrap_or_default();
        let bytes = rest.read(out)?;
        self.read += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{BufReader, repeat};

    use super::*;

    #[test]
    fn no_more_of_a_long_line_is_read_than_is_asked_for() {
        const LONG: u64 = 100 << 20;
        let text = b"---\n# a list on one line\n[".chain(repeat(b' ').take(LONG)).chain(&b"]\n---\nb\n"[..]);
        let mut documents = Documents::new(BufReader::new(text));
        assert!(documents.begin_next().unwrap());
        let mut begin = Vec::new();
        documents.by_ref().take(30).read_to_end(&mut begin).unwrap();
        assert!(begin.starts_with(b"---\n# a list on one line\n[ "));
        assert!(documents.line.capacity() <= 2 * usize::try_from(YAML_LINE_BYTES).unwrap());
        let mut rest = Vec::new();
        documents.by_ref().take(2 * LONG).read_to_end(&mut rest).unwrap();
        assert!(rest.len() as u64 + 30 >= LONG && rest.ends_with(b" ]\n"));
        assert!(documents.begin_next().unwrap());
        assert_eq!(documents.lines_before(), 3);
        rest.clear();
        documents.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"---\nb\n");
    }
}
