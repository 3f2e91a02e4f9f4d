//! Regular expressions with RE2's meaning of classes: `\d`, `\w`, `\s` and `\b` know ASCII only.

use std::cell::RefCell;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use crate::limits::{KEPT_PATTERNS, PATTERN_BYTES};

thread_local! {
    /// The last patterns, compiled. A pattern is most often a constant, in an expression that is evaluated for many devices, and takes
    /// longer to compile than all else in it.
    static KEPT: RefCell<Vec<(String, Rc<Regex>)>> = const { RefCell::new(Vec::new()) };
}

/// Compiles a pattern, if it is not one of the last.
pub(crate) fn compile(pattern: &str) -> Result<Rc<Regex>, String> {
    KEPT.with_borrow_mut(|kept| {
        if let Some((_, regex)) = kept.iter().find(|(known, _)| known == pattern) {
            return Ok(Rc::clone(regex));
        }
        let built = RegexBuilder::new(&ascii_classes(pattern)).size_limit(PATTERN_BYTES).build();
        let regex = Rc::new(built.map_err(|error| format!("error parsing regexp: {error}"))?);
        if kept.len() >= KEPT_PATTERNS {
            kept.remove(0);
        }
        kept.push((pattern.to_owned(), Rc::clone(&regex)));
        Ok(regex)
    })
}

/// Where a reader of a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before an item that is not the end of a range.
    Start,
    /// Behind a character, which may begin a range.
    Item,
    /// Behind the dash of a range.
    Range,
}

impl Place {
    /// Behind a character in this place.
    fn next(self) -> Self {
        if self == Self::Range { Self::Start } else { Self::Item }
    }
}

/// The pattern with the classes of ASCII written out, and with classes as RE2 reads them: there an opening bracket, `&&`, `--` and
/// `~~` are plain characters, and so is a closing bracket that comes first. A dash between two characters makes a range of them,
/// even of dashes.
fn ascii_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut class: Option<Place> = None;
    while let Some(c) = rest.chars().next() {
        let (part, behind) = rest.split_at(c.len_utf8());
        rest = behind;
        match (c, class) {
            ('\\', _) => {
                let escaped = rest.chars().next();
                rest = rest.get(escaped.map_or(0, char::len_utf8)..).unwrap_or("");
                written.push_str(&escape(escaped, class));
                let is_class = matches!(escaped, Some('d' | 'D' | 'w' | 'W' | 's' | 'S'));
                class = class.map(|place| if is_class { Place::Start } else { place.next() });
            }
            ('[', None) => {
                let mut place = Place::Start;
                written.push('[');
                if let Some(behind) = rest.strip_prefix('^') {
                    written.push('^');
                    rest = behind;
                }
                if let Some(behind) = rest.strip_prefix(']') {
                    written.push_str("\\]");
                    rest = behind;
                    place = Place::Item;
                }
                class = Some(place);
            }
            ('[', Some(place)) => match rest.strip_prefix(':').and_then(|name| name.split_once(":]")) {
                Some((name, behind)) => {
                    written.push_str(&format!("[:{name}:]"));
                    rest = behind;
                    class = Some(Place::Start);
                }
                None => {
                    written.push_str("\\[");
                    class = Some(place.next());
                }
            },
            (']', _) => {
                class = None;
                written.push(']');
            }
            ('-', Some(Place::Item)) if !rest.starts_with(']') => {
                class = Some(Place::Range);
                written.push('-');
            }
            ('&' | '~' | '-', Some(place)) => {
                class = Some(place.next());
                written.extend(['\\', c]);
            }
            _ => {
                class = class.map(Place::next);
                written.push_str(part);
            }
        }
    }
    written
}

/// Rewrites a backslash and the character behind it, so that classes and word boundaries are those of ASCII, as in RE2.
fn escape(escaped: Option<char>, class: Option<Place>) -> String {
    let characters = match escaped {
        Some('d' | 'D') => "0-9",
        Some('w' | 'W') => "0-9A-Za-z_",
        Some('s' | 'S') => "\\t\\n\\x0C\\r ",
        _ => "",
    };
    match escaped {
        // A class ends no range: as it is, it is refused.
        Some(name @ ('d' | 'w' | 's')) if class == Some(Place::Range) => format!("\\{name}"),
        Some('d' | 'w' | 's') if class.is_some() => characters.to_owned(),
        Some('d' | 'w' | 's') => format!("[{characters}]"),
        Some('D' | 'W' | 'S') => format!("[^{characters}]"),
        Some(boundary @ ('b' | 'B')) if class.is_none() => format!("(?-u:\\{boundary})"),
        Some(other) => format!("\\{other}"),
        None => "\\".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_re2() {
        for (pattern, matching, other) in [
            (r"^\d+$", "12", "٣"),
            (r"^[\d.]+$", "1.2", "٣"),
            (r"^\w\s\W$", "a -", "ä -"),
            (r"^[^\D]$", "1", "a"),
            (r"\bab\b", "x ab y", "xaby"),
            (r"^[[:alpha:]_]+$", "a_", "1"),
            (r"^[[a]$", "[", "b"),
            (r"^[]a]$", "]", "b"),
            (r"^[^]a]$", "b", "]"),
            (r"^[a&&b]$", "&", "c"),
            (r"^[\]&]$", "]", "a"),
            (r"^\[\]$", "[]", "a"),
            (r"^[+--]$", ",", "."),
            (r"^[+--]$", "-", "*"),
            (r"^[--a]$", "0", "b"),
            (r"^[---]$", "-", "a"),
            (r"^[a-c--]$", "-", "d"),
            (r"^[a-c--]$", "b", "+"),
            (r"^[^--a]$", "b", "-"),
            (r"^[a-]$", "-", "b"),
            (r"^[\d-a]$", "-", "b"),
            (r"^[]-a]$", "^", "b"),
            (r"^a--b$", "a--b", "a-b"),
        ] {
            let compiled = compile(pattern).unwrap();
            assert!(compiled.is_match(matching) && !compiled.is_match(other), "{pattern}");
        }
        assert!(compile("[a--]").is_err() && compile("[a--c]").is_err() && compile(r"[!-\d]").is_err());
        assert!(compile("(").is_err() && compile("[").is_err() && compile("\\").is_err());
    }

    #[test]
    fn the_last_patterns_are_kept() {
        let first = compile("^0$").unwrap();
        assert!(Rc::ptr_eq(&first, &compile("^0$").unwrap()));
        for number in 1..KEPT_PATTERNS {
            assert!(compile(&format!("^{number}$")).unwrap().is_match(&number.to_string()));
        }
        assert!(Rc::ptr_eq(&first, &compile("^0$").unwrap()));
        compile("^one too many$").unwrap();
        let again = compile("^0$").unwrap();
        assert!(!Rc::ptr_eq(&first, &again) && again.is_match("0") && !again.is_match("1"));
        assert_eq!(KEPT.with_borrow(Vec::len), KEPT_PATTERNS);
    }
}
