//! Amounts as Kubernetes writes them: `250m`, `0.25`, `1Gi`. Start at [`milli`].

use serde_json::Value;

/// Suffixes, with their factors in thousandths.
const SUFFIXES: [(&str, i128); 14] = [
    ("Ki", 1_000 << 10),
    ("Mi", 1_000 << 20),
    ("Gi", 1_000 << 30),
    ("Ti", 1_000 << 40),
    ("Pi", 1_000 << 50),
    ("Ei", 1_000 << 60),
    ("m", 1),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000_000),
    ("", 1_000),
];

/// Digits of a number, at most; more are no amount of anything here.
const DIGITS: usize = 18;

/// Thousandths of an amount, rounded up; none where it is not an amount from 0, or too large. Exponents are not read.
pub(super) fn milli(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => parse(&number.to_string()),
        Value::String(text) => parse(text),
        _ => None,
    }
}

/// Whole units of an amount, rounded up; `None` where [`milli`] gives none.
pub(super) fn whole(value: &Value) -> Option<i64> {
    let milli = milli(value)?;
    Some(milli / 1_000 + i64::from(milli % 1_000 != 0))
}

fn parse(text: &str) -> Option<i64> {
    let (number, factor) = SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, part].concat();
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let scale = 10_i128.pow(u32::try_from(part.len()).ok()?);
    let thousandths = digits.parse::<i128>().ok()? * factor;
    i64::try_from(thousandths / scale + i128::from(thousandths % scale != 0)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_read_as_kubernetes_writes_them() {
        for (value, expected) in [
            (json!("250m"), 250),
            (json!(0.25), 250),
            (json!("1"), 1_000),
            (json!(3), 3_000),
            (json!("1.5Gi"), 1_610_612_736_000),
            (json!("2k"), 2_000_000),
            (json!("0.0001"), 1),
            (json!("0"), 0),
        ] {
            assert_eq!(milli(&value), Some(expected), "{value}");
        }
        assert_eq!(whole(&json!("1500m")), Some(2));
        assert_eq!(whole(&json!("1Gi")), Some(1 << 30));
        // The last but two is too large.
        for value in
            [json!("-1"), json!(""), json!("Gi"), json!("1e3"), json!("1.2.3"), json!("99E"), json!(true), json!(null)]
        {
            assert_eq!(milli(&value), None, "{value}");
        }
    }
}
