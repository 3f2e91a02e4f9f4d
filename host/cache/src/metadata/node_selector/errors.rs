//! Errors of node selectors in the words of Kubernetes: the texts reach users as errors of kube-scheduler.
//!
//! Start at [`selector_errors`]. Sources: `NewRequirement` in apimachinery's pkg/labels, `IsLabelKey` and `IsLabelValue` in its
//! pkg/api/validate/content.

use std::fmt::Write as _;

use crate::limits::SELECTOR_ERROR_BYTES;
use nodesift_object::selector::{NodeSelector, Operator, Requirement};

/// The greatest length of a label value, and of a label key without its prefix, in bytes.
const NAME_BYTES: usize = 63;

/// The greatest length of the prefix of a label key, in bytes.
const PREFIX_BYTES: usize = 253;

/// Rule for the name part of a label key, as Kubernetes words it.
pub(super) const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// Rule for label values, as Kubernetes words it.
pub(super) const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, \
     '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
     '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Rule for the prefix of a label key, as Kubernetes words it.
pub(super) const PREFIX_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
     validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// All errors of a selector with their places, as one text; `None` where it is good. A text that is too long ends early.
pub(super) fn selector_errors(selector: &NodeSelector) -> Option<String> {
    let mut errors: Vec<String> = Vec::new();
    let mut bytes = 0_usize;
    for (term_number, term) in selector.node_selector_terms.iter().enumerate() {
        for (number, requirement) in term.match_expressions.iter().enumerate() {
            if bytes > SELECTOR_ERROR_BYTES {
                break;
            }
            for error in requirement_errors(requirement) {
                let error = format!("nodeSelectorTerms[{term_number}].matchExpressions[{number}].{error}");
                if bytes <= SELECTOR_ERROR_BYTES && !errors.contains(&error) {
                    bytes = bytes.saturating_add(error.len());
                    errors.push(error);
                }
            }
        }
    }
    let mut text = match errors.len() {
        0 => return None,
        1 => errors.pop()?,
        _ => format!("[{}]", errors.join(", ")),
    };
    text.truncate(text.floor_char_boundary(SELECTOR_ERROR_BYTES));
    Some(text)
}

/// All errors of a requirement about a label.
pub(super) fn requirement_errors(requirement: &Requirement) -> Vec<String> {
    let Requirement { key, operator_text, values } = requirement;
    let operator = requirement.operator();
    if operator == Operator::Unknown {
        return vec![invalid("operator", &quoted(operator_text), "not a valid selector operator")];
    }
    let mut errors = Vec::new();
    let key_errors = key_errors(key);
    if !key_errors.is_empty() {
        errors.push(invalid("key", &quoted(key), &key_errors.join("; ")));
    }
    let about_values = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            Some("for 'in', 'notin' operators, values set can't be empty")
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            Some("values set must be empty for exists and does not exist")
        }
        Operator::Gt | Operator::Lt if values.len() != 1 => {
            Some("for 'Gt', 'Lt' operators, exactly one value is required")
        }
        _ => None,
    };
    errors.extend(about_values.map(|reason| invalid("values", &json_list(values), reason)));
    if matches!(operator, Operator::Gt | Operator::Lt) {
        for (at, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
            let reason = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(invalid(&format!("values[{at}]"), &quoted(value), reason));
        }
    }
    for (at, value) in values.iter().enumerate() {
        let value_errors = value_errors(value);
        if !value_errors.is_empty() {
            errors.push(invalid(&format!("values[{at}][{key}]"), &quoted(value), &value_errors.join("; ")));
        }
    }
    errors
}

fn invalid(place: &str, value: &str, reason: &str) -> String {
    format!("{place}: Invalid value: {value}: {reason}")
}

fn key_errors(key: &str) -> Vec<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.contains('/') {
        let rest = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
        return vec![format!("a valid label key {NAME_RULE} {rest}")];
    }
    let mut errors = Vec::new();
    if prefix == Some("") {
        errors.push("prefix part must be non-empty".to_owned());
    } else if let Some(prefix) = prefix {
        if prefix.len() > PREFIX_BYTES {
            errors.push(format!("prefix part must be no more than {PREFIX_BYTES} bytes"));
        }
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if !prefix.split('.').all(|part| is_framed(part, is_inner, b"-")) {
            errors.push(format!("prefix part {PREFIX_RULE}"));
        }
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_BYTES {
        errors.push(format!("name part must be no more than {NAME_BYTES} bytes"));
    }
    if !is_name(name) {
        errors.push(format!("name part {NAME_RULE}"));
    }
    errors
}

fn value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > NAME_BYTES {
        errors.push(format!("must be no more than {NAME_BYTES} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE_RULE.to_owned());
    }
    errors
}

fn is_name(text: &str) -> bool {
    is_framed(text, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Whether a text begins and ends with an outer byte, with outer and inner ones in between.
fn is_framed(text: &str, is_outer: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| is_outer(*byte))
        && bytes.last().is_some_and(|byte| is_outer(*byte))
        && bytes.iter().all(|byte| is_outer(*byte) || inner.contains(byte))
}

/// A text as Go's `%q` writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        let number = u32::from(letter);
        let _always_written = match letter {
            '"' | '\\' => write!(quoted, "\\{letter}"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            '\u{7}' => write!(quoted, "\\a"),
            '\u{8}' => write!(quoted, "\\b"),
            '\u{b}' => write!(quoted, "\\v"),
            '\u{c}' => write!(quoted, "\\f"),
            '\0'..' ' | '\u{7f}' => write!(quoted, "\\x{number:02x}"),
            _ if is_printable(letter) => write!(quoted, "{letter}"),
            '\0'..='\u{ffff}' => write!(quoted, "\\u{number:04x}"),
            _ => write!(quoted, "\\U{number:08x}"),
        };
    }
    quoted.push('"');
    quoted
}

/// Whether Go writes a character as it is. Behind a letter, Rust writes the same ones without their number.
fn is_printable(letter: char) -> bool {
    !format!("a{letter}").escape_debug().to_string().contains("\\u")
}

/// A list of texts in Go's JSON, where `null` is the empty one.
fn json_list(texts: &[String]) -> String {
    if texts.is_empty() {
        return "null".to_owned();
    }
    let mut json = serde_json::to_string(texts).unwrap_or_default();
    for letter in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
        json = json.replace(letter, &format!("\\u{:04x}", u32::from(letter)));
    }
    json
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn texts_are_quoted_as_by_go() {
        // The outputs of strconv.Quote.
        for (text, expected) in [
            ("a'\"\\", r#""a'\"\\""#),
            ("\u{7}\n\u{1b}\0\u{7f}", r#""\a\n\x1b\x00\x7f""#),
            ("é\u{301}\u{1F600} ", "\"é\u{301}\u{1F600} \""),
            ("\u{a0}\u{ad}\u{200b}\u{2028}", r#""\u00a0\u00ad\u200b\u2028""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
