//! Amounts and identities of shares as text. Start at [`quantity`].

/// Billionths of a unit as a Kubernetes quantity: a whole number of the largest of units, thousandths, millionths and billionths
/// that holds it.
pub(super) fn quantity(nano_units: i128) -> String {
    let suffixes = [(1_000_000_000, ""), (1_000_000, "m"), (1_000, "u")];
    let found = suffixes.into_iter().find(|(size, _)| nano_units % size == 0);
    let (size, suffix) = found.unwrap_or((1, "n"));
    format!("{}{suffix}", nano_units / size)
}

/// A random UUID (version 4), as kube-scheduler gives to each share of a device.
pub(super) fn share_id() -> String {
    let bits = fastrand::u128(..) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let part = |from: u32, digits: u32| (bits >> from) & ((1 << (digits * 4)) - 1);
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodesift_object::Quantity;

    #[test]
    fn quantities_are_exact_and_as_short_as_whole_numbers_are() {
        for (nano, text) in
            [(0, "0"), (1, "1n"), (1_000, "1u"), (2_500_000_000, "2500m"), (8_589_934_592_000_000_000, "8589934592")]
        {
            assert_eq!(quantity(nano), text);
        }
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..1_000 {
            let nano = i128::from(random.i64(0..)) * [1, 1_000, 1_000_000, 1_000_000_000][random.usize(0..4)];
            assert_eq!(quantity(nano).parse::<Quantity>().map(|quantity| quantity.nano()), Ok(nano));
        }
    }

    #[test]
    fn share_ids_are_uuids_of_version_4() {
        for _ in 0..100 {
            let id = share_id();
            let parts: Vec<&str> = id.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
            assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
            assert_ne!(id, share_id());
        }
    }
}
