//! Groups the places of a batch by the first failure that rejects them, sixty-four places at a time.
//!
//! Most predicates reject few rows with few distinct failures. So 64 codes are compared to 0, or to each other, without a
//! branch per code. Start at [`OpenPlaces::take`].

use std::collections::BTreeMap;

use nodesift_sandbox::Failure;
use nodesift_sandbox::limits::VERDICT_CHUNK_ROWS;

use super::row_set::{Bits, WORD, all_bits};

/// Up to this many failures of one predicate have a bitmap each; beyond it, each has a list of places.
const FEW_FAILURES: usize = 16;

// Chunks of codes are whole words.
const _: () = assert!(VERDICT_CHUNK_ROWS.is_multiple_of(WORD));

/// The places that no predicate has rejected so far.
#[derive(Debug)]
pub(super) struct OpenPlaces {
    words: Vec<u64>,
}

/// Places under one failure.
#[derive(Debug, Clone)]
pub(super) enum Places {
    /// Bit `place % 64` of word `place / 64`. Zero words at the end may be missing.
    Bitmap(Vec<u64>),
    /// Places of the batch, sorted once the list is complete.
    List(Vec<u32>),
}

impl OpenPlaces {
    /// All places of a batch.
    pub(super) fn all(places: usize) -> Self {
        Self { words: all_bits(places) }
    }

    /// The bitmap of the places that are left.
    pub(super) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Takes the places that are left, all for one failure.
    pub(super) fn take_all(&mut self) -> Places {
        let all = self.words.clone();
        self.words.fill(0);
        Places::Bitmap(all)
    }

    /// Takes the places that a predicate rejects, by failure. `chunks` are its codes in order; every chunk but the last is a
    /// multiple of 64 codes. Codes of places that are already taken are ignored. Equal failures are merged.
    pub(super) fn take<'a, 'r>(
        &mut self,
        chunks: impl Iterator<Item = &'a [u16]>,
        failures: &'r [Failure],
    ) -> BTreeMap<&'r Failure, Places> {
        let mut found = PlacesByFailure::new(failures.len(), self.words.len());
        let mut words = self.words.iter_mut().zip((0_u32..).step_by(WORD));
        let mut take = |codes: &[u16; WORD]| {
            let Some((open, base)) = words.next() else { return };
            let rejected = *open & differing_bits(0, codes);
            if rejected != 0 {
                *open &= !rejected;
                found.add(rejected, base, codes);
            }
        };
        for chunk in chunks {
            let (whole, rest) = chunk.as_chunks();
            whole.iter().for_each(&mut take);
            if !rest.is_empty() {
                let mut last = [0; WORD];
                last.iter_mut().zip(rest).for_each(|(into, code)| *into = *code);
                take(&last);
            }
        }
        let mut sorted: BTreeMap<&Failure, Places> = BTreeMap::new();
        for (failure, places) in failures.iter().zip(found.places).filter(|(_, places)| !places.is_empty()) {
            sorted.entry(failure).and_modify(|known| known.join(&places)).or_insert(places);
        }
        // Merging appends unsorted places, so each list is sorted once at the end.
        sorted.values_mut().for_each(Places::sort);
        sorted
    }
}

/// Rejected places of a batch, collected by the index of the failure.
struct PlacesByFailure {
    places: Vec<Places>,
    /// Words of a bitmap of all places.
    words: usize,
}

impl PlacesByFailure {
    fn new(failures: usize, words: usize) -> Self {
        let none = if failures <= FEW_FAILURES { Places::Bitmap(Vec::new()) } else { Places::List(Vec::new()) };
        Self { places: vec![none; failures], words }
    }

    /// Adds the rejected places of a word; `base` is its first place.
    fn add(&mut self, mut rejected: u64, base: u32, codes: &[u16; WORD]) {
        let is_only = self.places.len() == 1;
        while rejected != 0 {
            let code = codes.get(rejected.trailing_zeros() as usize).copied().unwrap_or(0);
            let same = if is_only { rejected } else { rejected & !differing_bits(code, codes) };
            // The sandbox rejects verdicts that have a code without a failure.
            if let Some(places) = usize::from(code).checked_sub(1).and_then(|at| self.places.get_mut(at)) {
                places.add(same, base, self.words);
            }
            rejected &= !same;
        }
    }
}

impl Places {
    /// Calls `f` with each place, in order.
    pub(super) fn for_each(&self, mut f: impl FnMut(usize)) {
        match self {
            Self::Bitmap(words) => {
                for (word, base) in words.iter().zip((0_u32..).step_by(WORD)) {
                    Bits { word: *word, base }.for_each(|place| f(place.index()));
                }
            }
            Self::List(places) => places.iter().for_each(|place| f(*place as usize)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Bitmap(words) => words.is_empty(),
            Self::List(places) => places.is_empty(),
        }
    }

    /// Appends the places of a word, which are greater than all others. A bitmap grows to at most `size` words.
    fn add(&mut self, word: u64, base: u32, size: usize) {
        match self {
            Self::Bitmap(words) => {
                words.reserve_exact(size.saturating_sub(words.len()));
                words.resize(base as usize / WORD, 0);
                words.push(word);
            }
            Self::List(places) => places.extend(Bits { word, base }.map(|place| place.0)),
        }
    }

    fn sort(&mut self) {
        if let Self::List(places) = self
            && !places.is_sorted()
        {
            places.sort_unstable();
        }
    }

    /// Adds other places, disjoint from these, unsorted.
    fn join(&mut self, other: &Self) {
        match self {
            Self::Bitmap(words) => other.for_each(|place| {
                words.resize(words.len().max(place / WORD + 1), 0);
                words.iter_mut().skip(place / WORD).take(1).for_each(|word| *word |= 1 << (place % WORD));
            }),
            Self::List(places) => other.for_each(|place| places.extend(u32::try_from(place))),
        }
    }
}

/// One bit per place of a word, set where the place's code differs from `code`.
fn differing_bits(code: u16, codes: &[u16; WORD]) -> u64 {
    let mut differs = [0_u8; WORD];
    for (differs, known) in differs.iter_mut().zip(codes) {
        *differs = u8::from(*known != code);
    }
    let (eights, _) = differs.as_chunks();
    eights.iter().rev().fold(0, |word, eight| word << 8 | lowest_bits(*eight))
}

/// The lowest bits of eight bytes that are 0 or 1, as a byte: the multiplication shifts each of them into its own bit of the
/// highest byte.
fn lowest_bits(bytes: [u8; 8]) -> u64 {
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use nodesift_sandbox::Code;

    fn failure(number: usize) -> Failure {
        Failure { code: Code::Unschedulable, reasons: vec![format!("reason {number}")].into() }
    }

    #[test]
    fn bits_are_those_of_the_bytes() {
        for bits in 0..=u8::MAX {
            let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|bit: u32| bits >> bit & 1);
            assert_eq!(lowest_bits(bytes), u64::from(bits));
        }
    }

    #[test]
    fn places_are_taken_as_by_a_loop_over_them() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let places = random.usize(..300);
            let mut open = OpenPlaces::all(places);
            let mut left: Vec<usize> = (0..places).collect();
            for _ in 0..random.usize(1..5) {
                if random.u8(..20) == 0 {
                    let mut taken = Vec::new();
                    open.take_all().for_each(|place| taken.push(place));
                    assert_eq!(taken, std::mem::take(&mut left), "all of {places}");
                }
                // Few failures or many; some are equal.
                let count = [1, 2, 5, FEW_FAILURES, FEW_FAILURES + 1, 40][random.usize(..6)];
                let failures: Vec<Failure> = (0..count).map(|_| failure(random.usize(..count))).collect();
                let busy = random.u8(..=100);
                let codes: Vec<u16> = (0..places)
                    .map(|_| if random.u8(..100) < busy { random.u16(1..=count as u16) } else { 0 })
                    .collect();
                let mut expected: BTreeMap<&Failure, Vec<usize>> = BTreeMap::new();
                left.retain(|place| {
                    let Some(at) = usize::from(codes[*place]).checked_sub(1) else { return true };
                    expected.entry(&failures[at]).or_default().push(*place);
                    false
                });
                let taken = open.take(codes.chunks(2 * WORD), &failures);
                let listed = |places: &Places| {
                    let mut list = Vec::new();
                    places.for_each(|place| list.push(place));
                    list
                };
                let found: BTreeMap<&Failure, Vec<usize>> =
                    taken.iter().map(|(failure, places)| (*failure, listed(places))).collect();
                assert_eq!(found, expected, "{places} places, {count} failures");
            }
            let mut rest = Vec::new();
            Places::Bitmap(open.into_words()).for_each(|place| rest.push(place));
            assert_eq!(rest, left, "what is left of {places}");
        }
    }
}
