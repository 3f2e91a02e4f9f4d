//! The best of the scored nodes, in their order. Start at [`best`].

use std::cmp::Reverse;

/// The places of the `top` best totals, in order, and how many of the other totals equal the last of these. Equal totals are in the
/// order of `key`, which no two places have in common.
pub(super) fn best<K: Ord>(totals: &[i64], top: usize, key: impl Fn(usize) -> K) -> (Vec<usize>, usize) {
    let mut ranked: Vec<(Reverse<i64>, K, usize)> =
        totals.iter().enumerate().map(|(place, total)| (Reverse(*total), key(place), place)).collect();
    let mut others = Vec::new();
    if top < ranked.len() {
        // Only those that are wanted are sorted.
        ranked.select_nth_unstable(top);
        others = ranked.split_off(top);
    }
    ranked.sort_unstable();
    let ties = ranked.last().map_or(0, |(last, ..)| others.iter().filter(|(total, ..)| total == last).count());
    (ranked.into_iter().map(|(.., place)| place).collect(), ties)
}

/// The place of a node among those with its total, for a seed. It is the same in every process and version: FNV-1a of the seed's
/// bytes from the lowest and of the name, mixed by the finalizer of SplitMix64.
pub(super) fn shuffled(seed: u64, name: &str) -> u64 {
    let bytes = seed.to_le_bytes();
    let hash = bytes
        .iter()
        .chain(name.as_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    /// Takes the best of what is left, one at a time.
    fn expected(totals: &[i64], top: usize, keys: &[u32]) -> (Vec<usize>, usize) {
        let mut left: Vec<usize> = (0..totals.len()).collect();
        let mut taken = Vec::new();
        while taken.len() < top && !left.is_empty() {
            let mut best = 0;
            for at in 1..left.len() {
                let (one, other) = (left[at], left[best]);
                if totals[one] > totals[other] || totals[one] == totals[other] && keys[one] < keys[other] {
                    best = at;
                }
            }
            taken.push(left.remove(best));
        }
        let last = taken.last().map(|place| totals[*place]);
        let ties = left.iter().filter(|place| Some(totals[**place]) == last).count();
        (taken, ties)
    }

    #[test]
    fn the_best_are_those_that_are_left_when_the_best_is_taken_again_and_again() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..2_000 {
            let count = random.usize(0..30);
            let spread = random.i64(1..=6);
            let totals: Vec<i64> = (0..count).map(|_| random.i64(0..spread)).collect();
            let mut keys: Vec<u32> = (0..30).collect();
            random.shuffle(&mut keys);
            let top = random.usize(0..35);
            assert_eq!(best(&totals, top, |place| keys[place]), expected(&totals, top, &keys), "{top} of {totals:?}");
        }
    }

    #[test]
    fn nodes_with_one_total_are_cut_in_order_and_the_others_counted() {
        let totals = [5, 7, 7, 7, 1];
        assert_eq!(best(&totals, 2, |place| place), (vec![1, 2], 1));
        assert_eq!(best(&totals, 2, Reverse), (vec![3, 2], 1));
        assert_eq!(best(&totals, 4, |place| place), (vec![1, 2, 3, 0], 0));
        assert_eq!(best(&totals, 9, |place| place), (vec![1, 2, 3, 0, 4], 0));
        assert_eq!(best(&totals, 0, |place| place), (vec![], 0));
        assert_eq!(best(&[], 3, |place| place), (vec![], 0));
    }

    #[test]
    fn the_order_of_a_seed_is_that_of_every_process() {
        // Computed by another program.
        assert_eq!(shuffled(0, "node-a"), 0x7420_66de_d1d0_821f);
        assert_eq!(shuffled(1, "node-a"), 0x852e_faa6_cb54_b05f);
        assert_eq!(shuffled(1, "node-b"), 0x951d_407e_b9ac_a04c);
    }
}
