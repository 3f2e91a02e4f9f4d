//! Resource versions: which of two states of an object, or of a list, is the newer one.
//!
//! A version is a decimal number without leading zeros and of any length; of two such numbers the longer one is greater.
//! Any other text cannot be compared; the caller falls back to the order of arrival. Source: KEP-5504.

use std::cmp::Ordering;
use std::sync::Arc;

/// The order of `a` and `b`; `None` where one of them is no number, as from a source without versions.
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
