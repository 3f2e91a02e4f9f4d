//! What a predicate says about a pod, in the form in which the engine keeps it: codes in chunks that states share.

use std::sync::Arc;

use super::answer::Code;
use super::size::{SHARED, Size};
use crate::cache::Row;
use crate::limits::CHUNK_ROWS;
use crate::sandbox::wire::Status;
use crate::sandbox::{self, Verdict};

/// A verdict over a batch of rows.
#[derive(Debug, Clone)]
pub(super) enum Judgement {
    /// Every row fits.
    FitsAll,
    /// The pod as a whole is rejected.
    FitsNone(Reason),
    /// Rows differ.
    ByRow(ByRow),
}

/// A verdict that differs from row to row.
#[derive(Debug, Clone)]
pub(super) struct ByRow {
    /// Per place of the batch: 0 fits, k fails for `reasons[k - 1]`.
    pub(super) codes: Codes,
    pub(super) reasons: Arc<[Reason]>,
    /// Where the pod names the nodes it can run on: their rows, sorted.
    pub(super) named: Option<Arc<[u32]>>,
    /// Whether the question has no answer on some row.
    pub(super) aborts: bool,
}

/// One way in which rows fail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reason {
    pub(super) code: Code,
    /// Sorted.
    pub(super) texts: Arc<[String]>,
}

impl From<sandbox::Failure> for Reason {
    fn from(failure: sandbox::Failure) -> Self {
        let code = match failure.status {
            Status::Unschedulable => Code::Unschedulable,
            Status::UnschedulableAndUnresolvable => Code::UnschedulableAndUnresolvable,
            Status::Error => Code::Error,
        };
        Self { code, texts: failure.reasons.into() }
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::FitsAll => Self::FitsAll,
            Verdict::FitsNone(failure) => Self::FitsNone(failure.into()),
            Verdict::ByRow { codes, failures, named } => {
                let reasons = failures.into_iter().map(Reason::from).collect();
                Self::ByRow(ByRow::new(Codes::from(codes), reasons, named.map(Arc::from)))
            }
        }
    }
}

impl Judgement {
    /// Why the row at a place of the batch fails; none where it fits.
    pub(super) fn reason_at(&self, place: usize) -> Option<&Reason> {
        match self {
            Self::FitsAll => None,
            Self::FitsNone(reason) => Some(reason),
            Self::ByRow(by_row) => by_row.reason(by_row.codes.get(place)),
        }
    }

    /// Bytes that the judgement takes.
    pub(super) fn bytes(&self) -> usize {
        let content = match self {
            Self::FitsAll => 0,
            Self::FitsNone(reason) => reason.heap(),
            Self::ByRow(by_row) => by_row.codes.bytes() + by_row.reasons.heap() + by_row.named.heap(),
        };
        SHARED + size_of::<Self>() + content
    }
}

impl Size for Reason {
    fn heap(&self) -> usize {
        self.texts.heap()
    }
}

impl ByRow {
    pub(super) fn new(codes: Codes, reasons: Arc<[Reason]>, named: Option<Arc<[u32]>>) -> Self {
        // Verdicts with errors are rare: look row by row only where there is one to be found.
        let is_error = |code: u16| {
            let reason = usize::from(code).checked_sub(1).and_then(|at| reasons.get(at));
            reason.is_some_and(|reason| reason.code == Code::Error)
        };
        let errors = reasons.iter().any(|reason| reason.code == Code::Error);
        let aborts = errors && codes.chunks().flatten().any(|code| is_error(*code));
        Self { codes, reasons, named, aborts }
    }

    /// What a code stands for.
    pub(super) fn reason(&self, code: u16) -> Option<&Reason> {
        self.reasons.get(usize::from(code).checked_sub(1)?)
    }
}

/// One code per place, in chunks: a changed copy shares all chunks but those of the changed places.
#[derive(Debug, Clone, Default)]
pub(super) struct Codes {
    chunks: Vec<Arc<[u16]>>,
}

impl From<Vec<u16>> for Codes {
    fn from(codes: Vec<u16>) -> Self {
        Self { chunks: codes.chunks(CHUNK_ROWS).map(Arc::from).collect() }
    }
}

impl Codes {
    /// Zeros: every place fits.
    pub(super) fn zeros(len: usize) -> Self {
        let full: Arc<[u16]> = vec![0; CHUNK_ROWS.min(len)].into();
        let mut chunks = vec![full; len / CHUNK_ROWS];
        let rest = len % CHUNK_ROWS;
        if rest > 0 {
            chunks.push(vec![0; rest].into());
        }
        Self { chunks }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// The code of a place; past the end it fits.
    pub(super) fn get(&self, place: usize) -> u16 {
        let chunk = self.chunks.get(place / CHUNK_ROWS);
        chunk.and_then(|chunk| chunk.get(place % CHUNK_ROWS)).copied().unwrap_or(0)
    }

    /// The codes piece by piece, in order; every piece but the last has [`CHUNK_ROWS`].
    pub(super) fn chunks(&self) -> impl Iterator<Item = &[u16]> {
        self.chunks.iter().map(|chunk| &**chunk)
    }

    /// A copy of length `len` with some codes changed; `changes` are sorted by row.
    pub(super) fn with(&self, len: usize, changes: &[(Row, u16)]) -> Self {
        let mut codes = Self { chunks: self.chunks.clone() };
        codes.resize(len);
        for changes in changes.chunk_by(|(a, _), (b, _)| a.index() / CHUNK_ROWS == b.index() / CHUNK_ROWS) {
            let at = changes.first().map_or(0, |(row, _)| row.index() / CHUNK_ROWS);
            let Some(chunk) = codes.chunks.get_mut(at) else { continue };
            let chunk = Arc::make_mut(chunk);
            for (row, code) in changes {
                if let Some(slot) = chunk.get_mut(row.index() % CHUNK_ROWS) {
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
        let shared = len.min(known) / CHUNK_ROWS;
        let kept = len.min(known) - shared * CHUNK_ROWS;
        let mut rest: Vec<u16> = self.chunks().skip(shared).flatten().copied().take(kept).collect();
        rest.resize(len - shared * CHUNK_ROWS, 0);
        self.chunks.truncate(shared);
        self.chunks.extend(Self::from(rest).chunks);
    }

    /// Rows whose codes differ from those of a copy of the same length. Chunks that both share cost one comparison.
    pub(super) fn differences(&self, other: &Self, found: &mut Vec<Row>) {
        for (at, (a, b)) in self.chunks.iter().zip(&other.chunks).enumerate() {
            if Arc::ptr_eq(a, b) || a == b {
                continue;
            }
            let rows = (0_u32..).skip(at * CHUNK_ROWS).zip(a.iter().zip(b.iter()));
            found.extend(rows.filter(|(_, (a, b))| a != b).map(|(row, _)| Row(row)));
        }
    }

    fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Arc<[u16]>>() + self.chunks.len() * SHARED + self.len() * size_of::<u16>()
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn changed_copies_agree_with_vectors_and_name_their_differences() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let length = |random: &mut fastrand::Rng| {
            let near = [0, CHUNK_ROWS, 2 * CHUNK_ROWS, 3 * CHUNK_ROWS][random.usize(0..4)];
            (near + random.usize(0..4)).saturating_sub(random.usize(0..4))
        };
        for _ in 0..500 {
            let mut model: Vec<u16> = (0..length(&mut random)).map(|_| random.u16(0..3)).collect();
            let codes = Codes::from(model.clone());
            let old = model.clone();
            let len = length(&mut random);
            model.resize(len, 0);
            let mut changes: Vec<(Row, u16)> = Vec::new();
            for (row, code) in model.iter_mut().enumerate() {
                if random.usize(0..200) == 0 {
                    *code = random.u16(0..3);
                    changes.push((Row(row as u32), *code));
                }
            }
            let changed = codes.with(len, &changes);
            assert_eq!(changed.len(), len);
            assert!(changed.chunks().flatten().eq(&model));
            assert!((0..len + 2).all(|place| changed.get(place) == model.get(place).copied().unwrap_or(0)));
            if len == old.len() {
                let mut found = Vec::new();
                codes.differences(&changed, &mut found);
                let expected = (0..len).filter(|row| old[*row] != model[*row]).map(|row| Row(row as u32));
                assert!(found.into_iter().eq(expected));
            }
        }
        assert!(Codes::zeros(2 * CHUNK_ROWS + 1).chunks().flatten().eq(&vec![0; 2 * CHUNK_ROWS + 1]));
    }
}
