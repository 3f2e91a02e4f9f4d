//! Validation of label selector requirements, with the error texts of Kubernetes. The texts become reasons and must
//! equal those of kube-scheduler.
//!
//! The checks are those of `NewRequirement` in apimachinery's pkg/labels/selector.go and of `LabelSelectorAsSelector`
//! in pkg/apis/meta/v1/helpers.go. The texts have the form of pkg/util/validation/field.

use crate::columns::selectors::{Operator, Requirement};
use crate::syntax;

/// Checks one requirement.
///
/// # Errors
///
/// The error text of Kubernetes, with every problem of the requirement.
pub(super) fn check(requirement: &Requirement) -> Result<(), String> {
    let Requirement { key, operator, values, operator_text } = requirement;
    let mut errors = Vec::new();
    let key_errors = syntax::label_key_errors(key);
    if !key_errors.is_empty() {
        errors.push(invalid("key", &quote(key), &key_errors.join("; ")));
    }
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            errors.push(invalid("values", "null", "for 'in', 'notin' operators, values set can't be empty"));
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            errors.push(invalid("values", &json(values), "values set must be empty for exists and does not exist"));
        }
        Operator::Unknown => return Err(format!("{} is not a valid label selector operator", quote(operator_text))),
        _ => {}
    }
    for (index, value) in values.iter().enumerate() {
        let value_errors = syntax::label_value_errors(value);
        if !value_errors.is_empty() {
            errors.push(invalid(&format!("values[{index}][{key}]"), &quote(value), &value_errors.join("; ")));
        }
    }
    match errors.as_slice() {
        [] => Ok(()),
        [error] => Err(error.clone()),
        errors => Err(format!("[{}]", errors.join(", "))),
    }
}

fn invalid(path: &str, value: &str, reason: &str) -> String {
    format!("{path}: Invalid value: {value}: {reason}")
}

/// A text as Go formats it with `%q`.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\0'..'\x20' | '\x7f' => quoted.push_str(&format!("\\x{:02x}", character as u32)),
            _ if is_printable(character) => quoted.push(character),
            '\0'..='\u{ffff}' => quoted.push_str(&format!("\\u{:04x}", character as u32)),
            _ => quoted.push_str(&format!("\\U{:08x}", character as u32)),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether Go prints a character in quotes: letters, marks, numbers, punctuation, symbols and the space. These are the
/// characters that Rust does not escape behind another one, and the apostrophe, which Rust escapes for its own literals.
fn is_printable(character: char) -> bool {
    if character == '\'' {
        return true;
    }
    let mut behind_another = String::from("a");
    behind_another.push(character);
    behind_another.escape_debug().count() == 2
}

/// A list of texts as Go encodes JSON: with `<`, `>`, `&` and the separators of lines and paragraphs escaped.
fn json(values: &[String]) -> String {
    let written = serde_json::to_string(values).unwrap_or_default();
    let written = written.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    written.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The error text for a label value, copied from kube-scheduler.
    const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                         '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

    /// The error text for the name part of a label key.
    const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                        with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                        validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

    fn error(key: &str, operator: Operator, text: &str, values: &[&str]) -> String {
        let values = values.iter().map(|value| (*value).into()).collect();
        check(&Requirement { key: key.into(), operator, values, operator_text: text.into() }).unwrap_err()
    }

    #[test]
    fn requirements_that_kubernetes_accepts_are_valid() {
        for (operator, values) in [
            (Operator::In, &["a", ""][..]),
            (Operator::NotIn, &["a"]),
            (Operator::Exists, &[]),
            (Operator::DoesNotExist, &[]),
        ] {
            let values = values.iter().map(|value| (*value).into()).collect();
            let requirement =
                Requirement { key: "example.com/key".into(), operator, values, operator_text: String::new() };
            assert_eq!(check(&requirement), Ok(()));
        }
    }

    #[test]
    fn an_unknown_operator_is_quoted() {
        assert_eq!(error("a", Operator::Unknown, "Bogus", &["b"]), "\"Bogus\" is not a valid label selector operator");
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_index() {
        let expected = format!("values[1][app]: Invalid value: \"bad value!\": {VALUE}");
        assert_eq!(error("app", Operator::In, "In", &["ok", "bad value!"]), expected);
        let long = "a".repeat(64);
        let expected = format!("values[0][app]: Invalid value: \"{long}\": must be no more than 63 bytes");
        assert_eq!(error("app", Operator::In, "In", &[&long]), expected);
    }

    #[test]
    fn an_invalid_key_is_reported() {
        assert_eq!(error("a b", Operator::Exists, "Exists", &[]), format!("key: Invalid value: \"a b\": {NAME}"));
        let expected = format!("key: Invalid value: \"\": name part must be non-empty; {NAME}");
        assert_eq!(error("", Operator::Exists, "Exists", &[]), expected);
        let expected = "key: Invalid value: \"/a\": prefix part must be non-empty";
        assert_eq!(error("/a", Operator::Exists, "Exists", &[]), expected);
        let expected = "key: Invalid value: \"A/a\": prefix part a lowercase RFC 1123 subdomain must consist of lower \
                        case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
                        character (e.g. 'example.com', regex used for validation is \
                        '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        assert_eq!(error("A/a", Operator::Exists, "Exists", &[]), expected);
        let expected = format!(
            "key: Invalid value: \"a/b/c\": a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. \
             'example.com/MyName')",
            NAME.strip_prefix("name part ").unwrap()
        );
        assert_eq!(error("a/b/c", Operator::Exists, "Exists", &[]), expected);
    }

    #[test]
    fn a_wrong_number_of_values_is_reported() {
        let expected = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";
        assert_eq!(error("a", Operator::NotIn, "NotIn", &[]), expected);
        let expected = "values: Invalid value: [\"b\",\"c\"]: values set must be empty for exists and does not exist";
        assert_eq!(error("a", Operator::Exists, "Exists", &["b", "c"]), expected);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let expected = format!(
            "[values: Invalid value: [\"\\u003c\"]: values set must be empty for exists and does not exist, \
             values[0][a]: Invalid value: \"<\": {VALUE}]"
        );
        assert_eq!(error("a", Operator::Exists, "Exists", &["<"]), expected);
    }

    #[test]
    fn texts_are_quoted_as_go_does() {
        assert_eq!(quote("a\"\\\n\x01 ä\u{a0}'"), "\"a\\\"\\\\\\n\\x01 ä\\u00a0'\"");
    }
}
