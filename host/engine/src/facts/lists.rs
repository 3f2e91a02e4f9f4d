//! Lists of numbers, each once: by content they have numbers of their own. Start at [`Lists::number_of`].

use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Lists, one after the other, so that a new one needs no memory of its own.
#[derive(Debug, Default)]
pub(super) struct Lists {
    numbers: Vec<u32>,
    /// Per list where it ends.
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl Lists {
    /// None, with room for so many.
    pub(super) fn with_capacity(lists: usize) -> Self {
        Self { ends: Vec::with_capacity(lists), table: HashTable::with_capacity(lists), numbers: Vec::new() }
    }

    /// The number of a list, and whether it is new. Numbers are given one after the other from 0.
    pub(super) fn number_of(&mut self, list: &[u32]) -> (u32, bool) {
        let hash = FxBuildHasher.hash_one(list);
        if let Some(known) = self.table.find(hash, |known| self.get(*known) == list) {
            return (*known, false);
        }
        let next = number(self.ends.len());
        self.numbers.extend_from_slice(list);
        self.ends.push(self.numbers.len());
        let Self { numbers, ends, table } = self;
        table.insert_unique(hash, next, |known| FxBuildHasher.hash_one(at(numbers, ends, *known)));
        (next, true)
    }

    /// A list by its number; an empty one, where there is none of that number.
    pub(super) fn get(&self, list: u32) -> &[u32] {
        at(&self.numbers, &self.ends, list)
    }
}

fn at<'a>(numbers: &'a [u32], ends: &[usize], list: u32) -> &'a [u32] {
    let place = list as usize;
    let start = place.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(place).and_then(|end| numbers.get(start..*end)).unwrap_or_default()
}

/// A length or place. The cache holds fewer devices than numbers there are.
pub(super) fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn equal_lists_have_one_number_and_others_another() {
        for seed in 0..20 {
            let mut random = Rng::with_seed(seed);
            let mut lists = Lists::with_capacity(random.usize(..20));
            let mut known: Vec<Vec<u32>> = Vec::new();
            for _ in 0..300 {
                let list: Vec<u32> = (0..random.usize(..4)).map(|_| random.u32(..4)).collect();
                let place = known.iter().position(|known| *known == list);
                let expected = (number(place.unwrap_or(known.len())), place.is_none());
                assert_eq!(lists.number_of(&list), expected, "seed {seed}");
                known.extend(place.is_none().then_some(list));
            }
            for (place, list) in known.iter().enumerate() {
                assert_eq!(lists.get(number(place)), list, "seed {seed}");
            }
            assert!(lists.get(number(known.len())).is_empty(), "seed {seed}");
        }
    }
}
