//! Rows brought together by what rejects them first, sixty-four places of a batch at a time.
//!
//! Most predicates reject few rows, and for few reasons: which of sixty-four codes are not 0, or which are the same, is
//! found without a look at each. Start at [`Open::take`].

use std::collections::BTreeMap;

use crate::judgement::Reason;
use crate::rows::{Bits, WORD, all_bits};
use nodesift_cache::limits::CHUNK_ROWS;

/// Up to so many reasons of one predicate have a bitmap each while they are told apart; with more, each place is listed.
const FEW_REASONS: usize = 16;

// A piece of codes ends where a word does.
const _: () = assert!(CHUNK_ROWS.is_multiple_of(WORD));

/// The places that no predicate has rejected so far.
#[derive(Debug)]
pub(super) struct Open {
    words: Vec<u64>,
}

/// Places under one reason.
#[derive(Debug, Clone)]
pub(super) enum Places {
    /// Bit `place % 64` of word `place / 64`; words at the end in which none is set may be missing.
    Bitmap(Vec<u64>),
    /// In order once all are there.
    List(Vec<u32>),
}

impl Open {
    /// All of a batch's places.
    pub(super) fn all(places: usize) -> Self {
        Self { words: all_bits(places) }
    }

    /// The bitmap of the places that are left.
    pub(super) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Takes the places that are left, all for one reason.
    pub(super) fn take_all(&mut self) -> Places {
        let all = self.words.clone();
        self.words.fill(0);
        Places::Bitmap(all)
    }

    /// Takes the places that a predicate rejects. `pieces` are its codes in order, all but the last of whole words; those
    /// of a place that is taken already say nothing. Equal reasons come together, in their order.
    pub(super) fn take<'a, 'r>(
        &mut self,
        pieces: impl Iterator<Item = &'a [u16]>,
        reasons: &'r [Reason],
    ) -> BTreeMap<&'r Reason, Places> {
        let mut found = Found::new(reasons.len(), self.words.len());
        let mut words = self.words.iter_mut().zip((0_u32..).step_by(WORD));
        let mut take = |codes: &[u16; WORD]| {
            let Some((open, base)) = words.next() else { return };
            let rejected = *open & others_than(0, codes);
            if rejected != 0 {
                *open &= !rejected;
                found.add(rejected, base, codes);
            }
        };
        for piece in pieces {
            let (whole, rest) = piece.as_chunks();
            whole.iter().for_each(&mut take);
            if !rest.is_empty() {
                let mut last = [0; WORD];
                last.iter_mut().zip(rest).for_each(|(into, code)| *into = *code);
                take(&last);
            }
        }
        let mut sorted: BTreeMap<&Reason, Places> = BTreeMap::new();
        for (reason, places) in reasons.iter().zip(found.places).filter(|(_, places)| !places.is_empty()) {
            sorted.entry(reason).and_modify(|known| known.join(&places)).or_insert(places);
        }
        // Once, however many reasons are equal.
        sorted.values_mut().for_each(Places::put_in_order);
        sorted
    }
}

/// Places by reason.
struct Found {
    places: Vec<Places>,
    /// Words of a bitmap of all places.
    words: usize,
}

impl Found {
    fn new(reasons: usize, words: usize) -> Self {
        let none = if reasons <= FEW_REASONS { Places::Bitmap(Vec::new()) } else { Places::List(Vec::new()) };
        Self { places: vec![none; reasons], words }
    }

    /// Adds the places of a word that are rejected; the first of its places is `base`.
    fn add(&mut self, mut rejected: u64, base: u32, codes: &[u16; WORD]) {
        let is_only = self.places.len() == 1;
        while rejected != 0 {
            let code = codes.get(rejected.trailing_zeros() as usize).copied().unwrap_or(0);
            let same = if is_only { rejected } else { rejected & !others_than(code, codes) };
            // A code without a reason does not pass the sandbox; here it would keep its places out of every group.
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

    /// Adds the places of a word behind all that there are; a bitmap may come to have `size` words.
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

    fn put_in_order(&mut self) {
        if let Self::List(places) = self
            && !places.is_sorted()
        {
            places.sort_unstable();
        }
    }

    /// Adds other places, none of which is among these, in no order.
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

/// A bit for each place of a word, set where the code is another.
fn others_than(code: u16, codes: &[u16; WORD]) -> u64 {
    let mut differs = [0_u8; WORD];
    for (differs, known) in differs.iter_mut().zip(codes) {
        *differs = u8::from(*known != code);
    }
    let (eights, _) = differs.as_chunks();
    eights.iter().rev().fold(0, |word, eight| word << 8 | lowest_bits(*eight))
}

/// The lowest bits of eight bytes, which have no other, as a byte: the product has each of them in a place of its own, and
/// in its highest byte those that are wanted.
fn lowest_bits(bytes: [u8; 8]) -> u64 {
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests {
    use super::*;
    use crate::answer::Code;

    fn reason(number: usize) -> Reason {
        Reason { code: Code::Unschedulable, texts: vec![format!("reason {number}")].into() }
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
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..500 {
            let places = random.usize(..300);
            let mut open = Open::all(places);
            let mut left: Vec<usize> = (0..places).collect();
            for _ in 0..random.usize(1..5) {
                if random.u8(..20) == 0 {
                    let mut taken = Vec::new();
                    open.take_all().for_each(|place| taken.push(place));
                    assert_eq!(taken, std::mem::take(&mut left), "all of {places}");
                }
                // Few reasons or many; some are equal.
                let count = [1, 2, 5, FEW_REASONS, FEW_REASONS + 1, 40][random.usize(..6)];
                let reasons: Vec<Reason> = (0..count).map(|_| reason(random.usize(..count))).collect();
                let busy = random.u8(..=100);
                let codes: Vec<u16> = (0..places)
                    .map(|_| if random.u8(..100) < busy { random.u16(1..=count as u16) } else { 0 })
                    .collect();
                let mut expected: BTreeMap<&Reason, Vec<usize>> = BTreeMap::new();
                left.retain(|place| {
                    let Some(at) = usize::from(codes[*place]).checked_sub(1) else { return true };
                    expected.entry(&reasons[at]).or_default().push(*place);
                    false
                });
                let taken = open.take(codes.chunks(2 * WORD), &reasons);
                let listed = |places: &Places| {
                    let mut list = Vec::new();
                    places.for_each(|place| list.push(place));
                    list
                };
                let found: BTreeMap<&Reason, Vec<usize>> =
                    taken.iter().map(|(reason, places)| (*reason, listed(places))).collect();
                assert_eq!(found, expected, "{places} places, {count} reasons");
            }
            let mut rest = Vec::new();
            Places::Bitmap(open.into_words()).for_each(|place| rest.push(place));
            assert_eq!(rest, left, "what is left of {places}");
        }
    }
}
