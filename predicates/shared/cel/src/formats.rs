//! Named formats of text: `format.dns1123Label().validate(text)` gives nothing for a good text, else its faults.

use crate::kubernetes::Url;
use crate::value::Value;

/// The names of all formats.
const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

/// Bytes of a label, of a name, and of names joined by dots.
const LABEL_BYTES: usize = 63;
const SUBDOMAIN_BYTES: usize = 253;

/// The format of this name.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// None for a good text, else a list of its faults.
pub(crate) fn validate(format: &str, text: &str) -> Value {
    let good = match format {
        "dns1123Label" => is_label(text),
        "dns1123Subdomain" => is_subdomain(text),
        "dns1035Label" => is_strict_label(text),
        "qualifiedName" => is_qualified(text),
        "dns1123LabelPrefix" => is_label(&without_dash(text)),
        "dns1123SubdomainPrefix" => is_subdomain(&without_dash(text)),
        "dns1035LabelPrefix" => is_strict_label(&without_dash(text)),
        "labelValue" => text.is_empty() || is_name(text),
        "uri" => Url::parse(text).is_some(),
        "uuid" => is_uuid(text),
        "byte" => is_base64(text),
        "date" => is_date(text),
        _ => is_datetime(text),
    };
    if good {
        return Value::Optional(None);
    }
    Value::some(Value::list(vec![Value::text(&format!("the text is no {format}"))]))
}

/// A prefix may end with a dash, since something follows it. Kubernetes writes one letter over the dash and what is before it.
fn without_dash(text: &str) -> String {
    match text.strip_suffix('-').and_then(|start| Some((start, start.char_indices().next_back()?))) {
        Some((start, (at, _))) => format!("{}a", start.get(..at).unwrap_or(start)),
        None => text.to_owned(),
    }
}

fn is_label(text: &str) -> bool {
    text.len() <= LABEL_BYTES && has_characters_of_a_label(text)
}

fn has_characters_of_a_label(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric) && text.ends_with(alphanumeric) && text.chars().all(|c| alphanumeric(c) || c == '-')
}

fn is_strict_label(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Its parts may be longer than a label.
fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_BYTES && text.split('.').all(has_characters_of_a_label)
}

fn is_name(text: &str) -> bool {
    text.len() <= LABEL_BYTES
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_qualified(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// Each of the dashes may be missing.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((digits, behind)) = rest.split_at_checked(count) else { return false };
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/'))
}

fn number(text: &str, digits: usize) -> Option<u32> {
    (text.len() == digits && text.chars().all(|c| c.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = &parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Text after a second `T` is ignored.
fn is_datetime(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && time.split_at_checked(8).is_some_and(|(clock, rest)| is_clock(clock) && is_end_of_time(rest))
}

fn is_clock(clock: &str) -> bool {
    let two = |text: &str, most: u32| number(text, 2).is_some_and(|value| value <= most);
    let parts: Vec<&str> = clock.split(':').collect();
    matches!(&parts[..], [hour, minute, second] if two(hour, 23) && two(minute, 59) && two(second, 59))
}

/// A zone, and before it a fraction that any character begins.
fn is_end_of_time(rest: &str) -> bool {
    let is_zone = |zone: &str| {
        let minutes = zone.strip_prefix(['+', '-']).and_then(|zone| zone.split_once(':'));
        zone == "z" || minutes.is_some_and(|(hour, minute)| number(hour, 2).is_some() && number(minute, 2).is_some())
    };
    let fraction = rest.chars().next().and_then(|first| rest.get(first.len_utf8()..)).unwrap_or("");
    let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    is_zone(rest) || zone.len() < fraction.len() && is_zone(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_subdomain_may_be_long_but_have_the_characters_of_labels() {
        for (text, good) in [
            ("a".repeat(64), true),
            ("A".repeat(64), false),
            (format!("b.{}", "a".repeat(64)), true),
            (format!("b.{}", "_".repeat(64)), false),
            (format!("{}-", "a".repeat(64)), false),
            ("a".repeat(254), false),
            ("a..b".to_owned(), false),
        ] {
            assert_eq!(is_subdomain(&text), good, "{text}");
            assert_eq!(is_qualified(&format!("{text}/b")), good, "{text}/b");
        }
        assert!(!is_label(&"a".repeat(64)));
    }
}
