//! Regular expressions with RE2's meaning of classes: `\d`, `\w`, `\s` and `\b` know ASCII only.

use regex::{Regex, RegexBuilder};

use crate::limits::PATTERN_BYTES;

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(&ascii_classes(pattern)).size_limit(PATTERN_BYTES).build();
    built.map_err(|error| format!("error parsing regexp: {error}"))
}

/// The pattern with the classes of ASCII written out.
fn ascii_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let next = chars.next();
                let class = match next {
                    Some('d') => Some("0-9"),
                    Some('w') => Some("0-9A-Za-z_"),
                    Some('s') => Some("\\t\\n\\x0C\\r "),
                    _ => None,
                };
                match (class, next) {
                    (Some(class), _) if in_class => written.push_str(class),
                    (Some(class), _) => written.push_str(&format!("[{class}]")),
                    (None, Some('D')) => written.push_str("[^0-9]"),
                    (None, Some('W')) => written.push_str("[^0-9A-Za-z_]"),
                    (None, Some('S')) => written.push_str("[^\\t\\n\\x0C\\r ]"),
                    (None, Some(boundary @ ('b' | 'B'))) if !in_class => {
                        written.push_str(&format!("(?-u:\\{boundary})"));
                    }
                    (None, Some(other)) => written.extend(['\\', other]),
                    (None, None) => written.push('\\'),
                }
            }
            '[' => {
                in_class = true;
                written.push(c);
            }
            ']' => {
                in_class = false;
                written.push(c);
            }
            // The other engine has operators of sets, which RE2 reads as plain characters.
            '&' | '~' if in_class => written.extend(['\\', c]),
            _ => written.push(c),
        }
    }
    written
}
