//! The rule for names that people see in tables, logs and metrics: of predicates, scorers, schedulers and the policy. Start at [`check`].

use crate::limits::NAME_BYTES_MAX;

/// Checks that a name is one line that can be seen and told from others. Names are printed to terminals, into logs and as labels of metrics,
/// where a line break would look like a line of its own.
///
/// # Errors
///
/// The rule that the name breaks, without the name where that is long.
pub(super) fn check(name: &str) -> Result<(), String> {
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("{} bytes; at most {NAME_BYTES_MAX} are allowed", name.len()));
    }
    if name.contains('&') {
        return Err(format!("{name:?} has &, which divides a query of the API"));
    }
    if name.chars().any(is_unseen) {
        return Err(format!("{name:?} has characters that are not seen, or that break a line: leave them out"));
    }
    Ok(())
}

/// Whether a character is not seen, or moves what is around it. Behind a letter, marks that belong to it are not escaped.
fn is_unseen(character: char) -> bool {
    character.is_control() || format!("a{character}").escape_debug().to_string().contains("\\u")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_is_a_line_that_is_seen() {
        for name in ["NodeName", "my predicate", "team/é漢-1", "\"a\" \\ 'b'", "क्षि", &"x".repeat(NAME_BYTES_MAX)]
        {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in
            ["a\nb", "a\r", "\t", "\u{0}", "\u{1b}[2J", "\u{9b}", "a\u{202e}b", "a\u{200b}", "\u{2028}", "\u{feff}a"]
        {
            let reason = check(name).unwrap_err();
            assert!(!reason.chars().any(is_unseen), "{reason}");
        }
        assert!(check("a&b").unwrap_err().contains("divides a query"));
        let reason = check(&"x".repeat(NAME_BYTES_MAX + 1)).unwrap_err();
        assert_eq!(reason, "254 bytes; at most 253 are allowed");
    }
}
