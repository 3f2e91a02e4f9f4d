//! Tests of resource versions: how they compare, and which of two is the newer one.

use std::cmp::Ordering;
use std::sync::Arc;

use nodesift_object::version::{advance, compare};

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
