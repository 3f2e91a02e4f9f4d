//! The codes of a verdict in shared chunks: verdicts that differ in few rows share the other chunks. Start at [`Codes`].

use std::sync::Arc;

use crate::limits::VERDICT_CHUNK_ROWS;

/// One code per row of the batch: 0 fits, k fails with `failures[k - 1]` of the verdict. A changed copy shares all chunks
/// except those of the changed places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Codes {
    chunks: Vec<Arc<[u16]>>,
}

impl From<Vec<u16>> for Codes {
    fn from(codes: Vec<u16>) -> Self {
        Self { chunks: codes.chunks(VERDICT_CHUNK_ROWS).map(Arc::from).collect() }
    }
}

impl Codes {
    /// `len` zeros: every place fits.
    pub fn zeros(len: usize) -> Self {
        let full: Arc<[u16]> = vec![0; VERDICT_CHUNK_ROWS.min(len)].into();
        let mut chunks = vec![full; len / VERDICT_CHUNK_ROWS];
        let rest = len % VERDICT_CHUNK_ROWS;
        if rest > 0 {
            chunks.push(vec![0; rest].into());
        }
        Self { chunks }
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The code of a place; 0 past the end.
    pub fn get(&self, place: usize) -> u16 {
        let chunk = self.chunks.get(place / VERDICT_CHUNK_ROWS);
        chunk.and_then(|chunk| chunk.get(place % VERDICT_CHUNK_ROWS)).copied().unwrap_or(0)
    }

    /// The chunks of codes, in order. Every chunk but the last has [`VERDICT_CHUNK_ROWS`] codes.
    pub fn chunks(&self) -> impl Iterator<Item = &[u16]> {
        self.chunks.iter().map(|chunk| &**chunk)
    }

    /// A copy of length `len` with some codes changed. `changes` are (place, code), sorted by place. Places beyond the old
    /// length are 0 unless they are among the changes.
    #[must_use]
    pub fn with(&self, len: usize, changes: &[(usize, u16)]) -> Self {
        let mut codes = Self { chunks: self.chunks.clone() };
        codes.resize(len);
        for changes in changes.chunk_by(|(a, _), (b, _)| a / VERDICT_CHUNK_ROWS == b / VERDICT_CHUNK_ROWS) {
            let at = changes.first().map_or(0, |(place, _)| place / VERDICT_CHUNK_ROWS);
            let Some(chunk) = codes.chunks.get_mut(at) else { continue };
            let chunk = Arc::make_mut(chunk);
            for (place, code) in changes {
                if let Some(slot) = chunk.get_mut(place % VERDICT_CHUNK_ROWS) {
                    *slot = *code;
                }
            }
        }
        codes
    }

    fn resize(&mut self, len: usize) {
        let known = self.len();
        if known == len {
            return;
        }
        let shared = len.min(known) / VERDICT_CHUNK_ROWS;
        let kept = len.min(known) - shared * VERDICT_CHUNK_ROWS;
        let mut rest: Vec<u16> = self.chunks().skip(shared).flatten().copied().take(kept).collect();
        rest.resize(len - shared * VERDICT_CHUNK_ROWS, 0);
        self.chunks.truncate(shared);
        self.chunks.extend(Self::from(rest).chunks);
    }

    /// Calls `call` with every place at which the codes differ from those of another verdict of the same length. A shared chunk
    /// costs one pointer comparison.
    pub fn for_each_difference(&self, other: &Self, mut call: impl FnMut(usize)) {
        for (at, (a, b)) in self.chunks.iter().zip(&other.chunks).enumerate() {
            if Arc::ptr_eq(a, b) || a == b {
                continue;
            }
            let places = (at * VERDICT_CHUNK_ROWS..).zip(a.iter().zip(b.iter()));
            places.filter(|(_, (a, b))| a != b).for_each(|(place, _)| call(place));
        }
    }

    /// Heap bytes of the codes; shared chunks count in full.
    pub fn bytes(&self) -> usize {
        const COUNTERS: usize = 2 * size_of::<usize>();
        self.chunks.capacity() * size_of::<Arc<[u16]>>() + self.chunks.len() * COUNTERS + self.len() * size_of::<u16>()
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::print_stdout)]
mod tests {
    use super::*;

    #[test]
    fn changed_copies_agree_with_vectors_and_name_their_differences() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let length = |random: &mut fastrand::Rng| {
            let near = [0, VERDICT_CHUNK_ROWS, 2 * VERDICT_CHUNK_ROWS, 3 * VERDICT_CHUNK_ROWS][random.usize(0..4)];
            (near + random.usize(0..4)).saturating_sub(random.usize(0..4))
        };
        for _ in 0..500 {
            let mut model: Vec<u16> = (0..length(&mut random)).map(|_| random.u16(0..3)).collect();
            let codes = Codes::from(model.clone());
            let old = model.clone();
            let len = length(&mut random);
            model.resize(len, 0);
            let mut changes: Vec<(usize, u16)> = Vec::new();
            for (row, code) in model.iter_mut().enumerate() {
                if random.usize(0..200) == 0 {
                    *code = random.u16(0..3);
                    changes.push((row, *code));
                }
            }
            let changed = codes.with(len, &changes);
            assert_eq!(changed.len(), len);
            assert!(changed.chunks().flatten().eq(&model));
            assert!((0..len + 2).all(|place| changed.get(place) == model.get(place).copied().unwrap_or(0)));
            if len == old.len() {
                let mut found = Vec::new();
                codes.for_each_difference(&changed, |place| found.push(place));
                let expected = (0..len).filter(|row| old[*row] != model[*row]);
                assert!(found.into_iter().eq(expected));
            }
        }
        assert!(Codes::zeros(2 * VERDICT_CHUNK_ROWS + 1).chunks().flatten().eq(&vec![0; 2 * VERDICT_CHUNK_ROWS + 1]));
    }
}
