//! Resource versions: which of two states of an object, or of a list, is the newer one.
//!
//! A version is a decimal number without leading zeros and of any length; of two such numbers the longer one is greater.
//! Anything else cannot be compared, and whoever asks falls back to the order of arrival. Source: KEP-5504.

use std::cmp::Ordering;
use std::sync::Arc;

/// How `a` stands to `b`; none where one of them is no number, as from a source without versions.
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    let comparable = is_number(a) && is_number(b);
    comparable.then(|| a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
}

/// Whether `a` is known to be newer than `b`.
pub fn is_newer(a: &str, b: &str) -> bool {
    compare(a, b) == Some(Ordering::Greater)
}

/// Keeps the newer of two versions; of two that cannot be compared the one that came last, if it is one at all.
pub fn advance(newest: &mut Arc<str>, seen: &Arc<str>) {
    let goes_on = match compare(seen, newest) {
        Some(order) => order == Ordering::Greater,
        None => !seen.is_empty(),
    };
    if goes_on {
        *newest = Arc::clone(seen);
    }
}

/// Whether a version can be compared.
pub fn is_number(version: &str) -> bool {
    matches!(version.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_length_and_then_by_digits_whatever_their_size() {
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("21", "12"), Some(Ordering::Greater));
        assert_eq!(compare("12", "12"), Some(Ordering::Equal));
        let huge = "9".repeat(40);
        assert_eq!(compare(&huge, "18446744073709551615"), Some(Ordering::Greater));
    }

    #[test]
    fn what_is_no_number_cannot_be_compared() {
        for odd in ["", "0", "007", "12a", "-1", "+1", " 1", "1.5", "abc", "１"] {
            assert_eq!(compare(odd, "5"), None, "{odd:?}");
            assert_eq!(compare("5", odd), None, "{odd:?}");
        }
    }

    #[test]
    fn the_newest_version_only_rises_and_falls_back_to_arrival() {
        let mut newest: Arc<str> = Arc::default();
        let mut after = |seen: &str| {
            advance(&mut newest, &Arc::from(seen));
            newest.to_string()
        };
        assert_eq!(after("9"), "9");
        assert_eq!(after("10"), "10");
        assert_eq!(after("9"), "10");
        assert_eq!(after(""), "10");
        assert_eq!(after("x7"), "x7");
        assert_eq!(after("x3"), "x3");
    }
}
