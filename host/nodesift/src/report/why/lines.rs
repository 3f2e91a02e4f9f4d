//! Text from outside in lines of a width. Start at [`safe`] and [`Lines`].

use crate::terminal;

/// Text from outside in one line, safe for a terminal: control characters are escaped, and so are letters that are written from right
/// to left, since a terminal would reorder the text around them.
pub(crate) fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in terminal::escaped(text).chars() {
        if c == '\n' || is_right_to_left(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    safe
}

/// Whether it is of a block of Unicode with letters, digits or marks that are written from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(
        c,
        '\u{0590}'..='\u{08ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
}

/// Lines that fit a width, where there is one.
#[derive(Debug)]
pub(super) struct Lines {
    width: Option<usize>,
    text: String,
}

/// Columns that remain for text beside a heading, however narrow the terminal is.
const LEAST: usize = 20;

impl Lines {
    /// Lines of at most this many columns; without a width, as long as their text is.
    pub(super) fn new(width: Option<usize>) -> Self {
        Self { width, text: String::new() }
    }

    /// Adds text that is wrapped already, or must not be.
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a heading and its text, which goes on below itself where it does not fit.
    pub(super) fn add(&mut self, heading: &str, text: &str) {
        self.add_painted(heading, text, &str::to_owned);
    }

    /// Adds a heading and its text as [`Self::add`] does, with a colour for each line.
    pub(super) fn add_painted(&mut self, heading: &str, text: &str, paint: &dyn Fn(&str) -> String) {
        let indent = heading.chars().count();
        let (heading, indent) = match self.width {
            // There is no room beside it.
            Some(width) if indent + LEAST > width => {
                self.wrap(heading.trim_end(), 0, width, "", paint);
                (String::new(), 2)
            }
            _ => (heading.to_owned(), indent),
        };
        match self.width {
            Some(width) => {
                let heading = if heading.is_empty() { " ".repeat(indent) } else { heading };
                self.wrap(text, indent, width, &heading, paint);
            }
            None => self.line(&format!("{heading}{text}"), paint),
        }
    }

    /// The text of all lines.
    pub(super) fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, line: &str, paint: &dyn Fn(&str) -> String) {
        self.text.push_str(&paint(line.trim_end()));
        self.text.push('\n');
    }

    /// Breaks at blanks, and inside of what is longer than a line.
    fn wrap(&mut self, text: &str, indent: usize, width: usize, heading: &str, paint: &dyn Fn(&str) -> String) {
        let room = width.saturating_sub(indent).max(LEAST);
        let (mut line, mut used) = (heading.to_owned(), 0);
        for word in text.split(' ') {
            let columns: usize = word.chars().map(columns).sum();
            if used > 0 && used + 1 + columns > room {
                self.line(&line, paint);
                (line, used) = (" ".repeat(indent), 0);
            } else if used > 0 {
                line.push(' ');
                used += 1;
            }
            for c in word.chars() {
                if used + self::columns(c) > room {
                    self.line(&line, paint);
                    (line, used) = (" ".repeat(indent), 0);
                }
                line.push(c);
                used += self::columns(c);
            }
        }
        self.line(&line, paint);
    }
}

/// The most columns that a terminal gives a character.
fn columns(c: char) -> usize {
    // The signs of this program's own texts are narrow everywhere.
    if c.is_ascii() || matches!(c, '−' | '·') { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_on_below_itself_and_never_beyond_the_width() {
        let mut lines = Lines::new(Some(30));
        lines.add("nearest   ", "one two three four five six");
        lines.add("nearest   ", &"x".repeat(45));
        lines.add("a heading that leaves no room  ", "text");
        let expected = "nearest   one two three four\n          five six\nnearest   xxxxxxxxxxxxxxxxxxxx\n          \
                        xxxxxxxxxxxxxxxxxxxx\n          xxxxx\na heading that leaves no room\n  text\n";
        assert_eq!(lines.finish(), expected);
        let mut lines = Lines::new(None);
        lines.add("message   ", &"word ".repeat(50));
        assert_eq!(lines.finish().lines().count(), 1);
    }

    #[test]
    fn what_would_move_the_text_around_it_is_escaped() {
        assert_eq!(safe("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\u{a}b");
        assert_eq!(safe("a\u{202e}b\u{200f}\u{5d0}\u{627}é漢"), "a\\u{202e}b\\u{200f}\\u{5d0}\\u{627}é漢");
    }
}
