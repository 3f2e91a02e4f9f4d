//! The API server's rule for annotation keys: a qualified name, in which case does not matter.
//!
//! A qualified name is `name` or `prefix/name`, where the prefix is a DNS subdomain. The prefix of a label key must be in
//! lower case. Of an annotation key the API server checks the lower-case form (`ValidateAnnotations`), so upper case is
//! accepted here too. Start at [`check`].

/// Characters of the name, as Kubernetes limits them.
const NAME_CHARS_MAX: usize = 63;

/// Characters of the prefix: those of a DNS subdomain.
const PREFIX_CHARS_MAX: usize = 253;

/// Checks that a text is a valid annotation key.
///
/// # Errors
///
/// The rule that the key breaks.
pub(super) fn check(key: &str) -> Result<(), String> {
    let name = match key.split_once('/') {
        None => key,
        Some((prefix, name)) => {
            check_prefix(prefix)?;
            name
        }
    };
    if name.contains('/') {
        return Err("more than one slash".to_owned());
    }
    if name.is_empty() || name.len() > NAME_CHARS_MAX {
        return Err(format!("its name must have 1 to {NAME_CHARS_MAX} characters"));
    }
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.bytes().all(is_inner) || !has_alphanumeric_ends(name) {
        return Err(
            "its name must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit".to_owned()
        );
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<(), String> {
    if prefix.is_empty() || prefix.len() > PREFIX_CHARS_MAX {
        return Err(format!("its prefix must have 1 to {PREFIX_CHARS_MAX} characters"));
    }
    let is_label = |label: &str| {
        label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && has_alphanumeric_ends(label)
    };
    if !prefix.split('.').all(is_label) {
        return Err("its prefix must be a DNS subdomain, such as example.com".to_owned());
    }
    Ok(())
}

/// Whether a text begins and ends with a letter or digit; false for the empty text.
fn has_alphanumeric_ends(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.into_iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_the_api_server_takes_are_taken() {
        let longest = format!("{}/{}", "a".repeat(PREFIX_CHARS_MAX), "b".repeat(NAME_CHARS_MAX));
        let keys = [
            "a",
            "9",
            "simple",
            "now-with-dashes",
            "1-starts-with-num",
            "a_b.c-d",
            "example.com/team",
            "kubernetes.io/config.source",
            "Example.COM/Team",
            "1.2.3.4/5678",
            &longest,
        ];
        for key in keys {
            assert_eq!(check(key), Ok(()), "{key}");
        }
    }

    #[test]
    fn keys_that_the_api_server_refuses_are_refused() {
        let long_name = "a".repeat(NAME_CHARS_MAX + 1);
        let long_prefix = format!("{}/a", "a".repeat(PREFIX_CHARS_MAX + 1));
        let keys = [
            "",
            "/",
            "/a",
            "a/",
            "a/b/c",
            "a b",
            "-a",
            "a-",
            ".a",
            "a.",
            "_a",
            "ä",
            "a\n",
            "example..com/a",
            ".com/a",
            "example.com./a",
            "-example.com/a",
            "exam_ple.com/a",
            "example.com/-a",
            "example.com/a b",
            &long_name,
            &long_prefix,
        ];
        for key in keys {
            assert!(check(key).is_err(), "{key:?}");
        }
    }
}
