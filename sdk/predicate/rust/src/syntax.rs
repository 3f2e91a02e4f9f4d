//! Syntax of label keys and values, as in apimachinery's pkg/api/validate/content. Resource names have the syntax of
//! label keys.

/// The maximum length of the name part of a label key, and of a label value, in bytes.
pub const LABEL_MAX_BYTES: usize = 63;

/// The maximum length of the prefix of a label key, in bytes: that of a DNS name.
pub const PREFIX_MAX_BYTES: usize = 253;

/// The error text of Kubernetes for the name part of a label key.
const NAME_FORM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// The error text of Kubernetes for the prefix of a label key.
const PREFIX_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                           '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
                           for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The error text of Kubernetes for a label value.
const VALUE_FORM: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
                          or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Whether a text is a valid label key, also called a qualified name: `name` or `prefix/name`.
#[must_use]
pub fn is_label_key(text: &str) -> bool {
    label_key_errors(text).is_empty()
}

/// Whether a text is a valid label value: empty, or with the syntax of the name part of a key.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    label_value_errors(text).is_empty()
}

/// Why a text is not a valid label key, with the error texts of Kubernetes (`IsLabelKey`); empty where it is valid.
#[must_use]
pub fn label_key_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            let place = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME_FORM} {place}")];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            if prefix.len() > PREFIX_MAX_BYTES {
                errors.push(format!("prefix part must be no more than {PREFIX_MAX_BYTES} bytes"));
            }
            if !is_subdomain(prefix) {
                errors.push(format!("prefix part {PREFIX_FORM}"));
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".into());
    } else if name.len() > LABEL_MAX_BYTES {
        errors.push(format!("name part must be no more than {LABEL_MAX_BYTES} bytes"));
    }
    if !is_name(name) {
        errors.push(format!("name part {NAME_FORM}"));
    }
    errors
}

/// Why a text is not a valid label value, with the error texts of Kubernetes (`IsLabelValue`); empty where it is valid.
#[must_use]
pub fn label_value_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_MAX_BYTES {
        errors.push(format!("must be no more than {LABEL_MAX_BYTES} bytes"));
    }
    if !text.is_empty() && !is_name(text) {
        errors.push(VALUE_FORM.into());
    }
    errors
}

/// Whether a text begins and ends with a letter or a digit and otherwise contains only these, `-`, `_` and `.`.
fn is_name(text: &str) -> bool {
    ends(text, |byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether every part between dots begins and ends with a lower case letter or a digit and otherwise contains only
/// these and `-`.
fn is_subdomain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('.').all(|part| ends(part, inner) && part.bytes().all(|byte| inner(byte) || byte == b'-'))
}

/// Whether the text is not empty and `kind` holds for its first and its last byte.
fn ends(text: &str, kind: impl Fn(u8) -> bool) -> bool {
    [text.bytes().next(), text.bytes().next_back()].into_iter().all(|byte| byte.is_some_and(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_keys_are_qualified_names() {
        let long = "a".repeat(LABEL_MAX_BYTES);
        for key in ["a", "A_b.c-9", "kubernetes.io/hostname", "a-b.c9/D", &long, &format!("a.b/{long}")] {
            assert!(is_label_key(key), "{key}");
        }
        let prefix = "a".repeat(PREFIX_MAX_BYTES + 1);
        for key in [
            "",
            "/",
            "/a",
            "a/",
            "a/b/c",
            "-a",
            "a-",
            "a b",
            "A.b/c",
            "a_b/c",
            "a..b/c",
            "a.-b/c",
            "ä",
            &format!("{long}a"),
            &format!("{prefix}/a"),
        ] {
            assert!(!is_label_key(key), "{key}");
        }
    }

    #[test]
    fn label_values_may_be_empty_and_have_no_prefix() {
        let long = "9".repeat(LABEL_MAX_BYTES);
        for value in ["", "a", "1", "a_b", &long] {
            assert!(is_label_value(value), "{value}");
        }
        for value in ["-1", "+1", "a/b", "a ", &format!("{long}9")] {
            assert!(!is_label_value(value), "{value}");
        }
    }
}
