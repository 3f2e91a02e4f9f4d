//! Amounts of resources and counts, as people write them. Start at [`amount`].

/// Binary units of amounts in bytes, the largest first.
const UNITS: [(&str, i64); 5] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10), ("", 1)];

/// Largest exact number that is written before a unit; with more digits, a larger unit and two decimals are read faster.
const EXACT: i64 = 10_000;

/// An amount of a resource with its name, such as `1.5 cpu` or `4Gi memory`. `amount` is in millicores for `cpu`, else in whole units.
pub(super) fn amount(resource: &str, amount: i64) -> String {
    let resource = if resource == "pods" && amount == 1 { "pod" } else { resource };
    format!("{} {resource}", number(resource, amount))
}

/// An amount of a resource in its unit, without the name of the resource.
pub(crate) fn number(resource: &str, amount: i64) -> String {
    let is_bytes = matches!(resource, "memory" | "ephemeral-storage" | "storage") || resource.starts_with("hugepages-");
    match resource {
        "cpu" => decimal(amount, 1_000, 3),
        _ if is_bytes => bytes(amount),
        _ => grouped(amount),
    }
}

fn bytes(amount: i64) -> String {
    let size = amount.checked_abs().unwrap_or(i64::MAX);
    let exact = UNITS.iter().find(|(_, unit)| size >= *unit && amount % unit == 0 && size / unit < EXACT);
    if let Some((name, unit)) = exact {
        return format!("{}{name}", amount / unit);
    }
    match UNITS.iter().find(|(_, unit)| size >= *unit) {
        Some((name, unit)) => format!("{}{name}", decimal(amount, *unit, 2)),
        None => amount.to_string(),
    }
}

/// `amount / unit` with at most so many decimals, towards zero and without zeros at the end.
fn decimal(amount: i64, unit: i64, decimals: u32) -> String {
    let (sign, size, unit) = (if amount < 0 { "-" } else { "" }, i128::from(amount).abs(), i128::from(unit));
    let scale = 10_i128.pow(decimals);
    let scaled = size * scale / unit;
    let fraction = format!("{:0width$}", scaled % scale, width = decimals as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", scaled / scale)
}

/// A number of nodes, such as `1 node` or `5,000 nodes`.
pub(super) fn nodes(number: u32) -> String {
    format!("{} {}", grouped(number), if number == 1 { "node" } else { "nodes" })
}

/// A number with its digits in groups of three, such as `5,000`.
pub(super) fn grouped(number: impl Into<i64>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_units_in_which_people_write_them() {
        for (resource, of, text) in [
            ("cpu", 16_000, "16 cpu"),
            ("cpu", 12_500, "12.5 cpu"),
            ("cpu", 1, "0.001 cpu"),
            ("cpu", -250, "-0.25 cpu"),
            ("memory", 4 << 30, "4Gi memory"),
            ("memory", (4 << 30) - (1 << 20), "4095Mi memory"),
            ("memory", (4 << 30) - 1, "3.99Gi memory"),
            ("memory", 0, "0 memory"),
            ("memory", 1, "1 memory"),
            ("memory", i64::MIN, "-8388608Ti memory"),
            ("hugepages-2Mi", 6 << 20, "6Mi hugepages-2Mi"),
            ("example.com/gpu", 1_234_567, "1,234,567 example.com/gpu"),
            ("pods", 1, "1 pod"),
            ("pods", 2, "2 pods"),
        ] {
            assert_eq!(amount(resource, of), text);
        }
        assert_eq!((nodes(0), nodes(1), nodes(5_000)), ("0 nodes".into(), "1 node".into(), "5,000 nodes".into()));
        assert_eq!(grouped(100_u32), "100");
        assert_eq!(grouped(-1_000), "-1,000");
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }
}
