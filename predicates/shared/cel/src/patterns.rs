//! Regular expressions with RE2's meaning of classes: `\d`, `\w`, `\s` and `\b` know ASCII only.

use regex::{Regex, RegexBuilder};

use crate::limits::PATTERN_BYTES;

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(&ascii_classes(pattern)).size_limit(PATTERN_BYTES).build();
    built.map_err(|error| format!("error parsing regexp: {error}"))
}

/// The pattern with the classes of ASCII written out, and with classes as RE2 reads them: there an opening bracket, `&&` and
/// `~~` are plain characters, and so is a closing bracket that comes first.
fn ascii_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let (part, behind) = rest.split_at(c.len_utf8());
        rest = behind;
        match c {
            '\\' => {
                let escaped = rest.chars().next();
                rest = rest.get(escaped.map_or(0, char::len_utf8)..).unwrap_or("");
                written.push_str(&escape(escaped, in_class));
            }
            '[' if !in_class => {
                in_class = true;
                written.push('[');
                if let Some(behind) = rest.strip_prefix('^') {
                    written.push('^');
                    rest = behind;
                }
                if let Some(behind) = rest.strip_prefix(']') {
                    written.push_str("\\]");
                    rest = behind;
                }
            }
            '[' => match rest.strip_prefix(':').and_then(|name| name.split_once(":]")) {
                Some((name, behind)) => {
                    written.push_str(&format!("[:{name}:]"));
                    rest = behind;
                }
                None => written.push_str("\\["),
            },
            ']' => {
                in_class = false;
                written.push(']');
            }
            '&' | '~' if in_class => written.extend(['\\', c]),
            _ => written.push_str(part),
        }
    }
    written
}

/// What is written for a backslash and the character behind it.
fn escape(escaped: Option<char>, in_class: bool) -> String {
    let class = match escaped {
        Some('d' | 'D') => "0-9",
        Some('w' | 'W') => "0-9A-Za-z_",
        Some('s' | 'S') => "\\t\\n\\x0C\\r ",
        _ => "",
    };
    match escaped {
        Some('d' | 'w' | 's') if in_class => class.to_owned(),
        Some('d' | 'w' | 's') => format!("[{class}]"),
        Some('D' | 'W' | 'S') => format!("[^{class}]"),
        Some(boundary @ ('b' | 'B')) if !in_class => format!("(?-u:\\{boundary})"),
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
        ] {
            let compiled = compile(pattern).unwrap();
            assert!(compiled.is_match(matching) && !compiled.is_match(other), "{pattern}");
        }
        assert!(compile("(").is_err() && compile("[").is_err() && compile("\\").is_err());
    }
}
