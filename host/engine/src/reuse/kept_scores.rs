//! Scores of a scorer as they are kept: in few bytes, since most are small numbers or the same on every row. Start at [`KeptScores`].

use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::wire::scoring::{NO_SCORE, Scores};

use super::size::SHARED;

/// The result of a `score` call over every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeptScores {
    /// The scorer says nothing about the pod.
    Skip,
    /// One raw score per row.
    ByRow(ScoreColumn),
    /// The pod cannot be scored, with the reason.
    Failed(Arc<str>),
}

impl From<Scores> for KeptScores {
    fn from(scores: Scores) -> Self {
        match scores {
            Scores::Skip => Self::Skip,
            Scores::ByRow(scores) => Self::ByRow(ScoreColumn::new(&scores)),
            Scores::Failed(text) => Self::Failed(text.into()),
        }
    }
}

impl KeptScores {
    /// The scores with some rows replaced: `again` has one score for each of `rows`; none where all of these rows are gone. `None` where
    /// the two do not combine, so that every row has to be scored.
    pub(super) fn with(&self, again: Option<&Self>, rows: &[Row], node_count: usize) -> Option<Self> {
        match (self, again) {
            (Self::ByRow(known), None) => Some(Self::ByRow(known.with(&[], &ScoreColumn::new(&[]), node_count))),
            (Self::ByRow(known), Some(Self::ByRow(again))) => Some(Self::ByRow(known.with(rows, again, node_count))),
            (_, None) => Some(self.clone()),
            (_, Some(again)) => (self == again).then(|| self.clone()),
        }
    }

    /// Heap bytes of the scores.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Skip => 0,
            Self::ByRow(column) => column.bytes(),
            Self::Failed(text) => SHARED + text.len(),
        }
    }
}

/// A raw score per row.
#[derive(Debug, Clone)]
pub(crate) enum ScoreColumn {
    /// One score for all of so many rows.
    Same(i64, usize),
    /// Scores from 0 to 255.
    Bytes(Arc<[u8]>),
    Whole(Arc<[i64]>),
}

impl ScoreColumn {
    /// The column of these scores, in its smallest form.
    pub(crate) fn new(scores: &[i64]) -> Self {
        if let Some(first) = scores.first()
            && scores.iter().all(|score| score == first)
        {
            return Self::Same(*first, scores.len());
        }
        let bytes: Option<Arc<[u8]>> = scores.iter().map(|score| u8::try_from(*score).ok()).collect();
        bytes.map_or_else(|| Self::Whole(scores.into()), Self::Bytes)
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Same(_, len) => *len,
            Self::Bytes(scores) => scores.len(),
            Self::Whole(scores) => scores.len(),
        }
    }

    /// The score of a row; none beyond the last.
    pub(crate) fn get(&self, place: usize) -> i64 {
        match self {
            Self::Same(score, len) if place < *len => *score,
            Self::Same(..) => NO_SCORE,
            Self::Bytes(scores) => scores.get(place).map_or(NO_SCORE, |score| i64::from(*score)),
            Self::Whole(scores) => scores.get(place).copied().unwrap_or(NO_SCORE),
        }
    }

    /// The column over `node_count` rows with the scores of some replaced; `again` has one for each of these.
    fn with(&self, rows: &[Row], again: &Self, node_count: usize) -> Self {
        let is_same =
            |(place, row): (usize, &Row)| row.index() < self.len() && self.get(row.index()) == again.get(place);
        if self.len() == node_count && rows.iter().enumerate().all(is_same) {
            return self.clone();
        }
        let mut scores: Vec<i64> = (0..node_count).map(|place| self.get(place)).collect();
        for (place, row) in rows.iter().enumerate() {
            if let Some(score) = scores.get_mut(row.index()) {
                *score = again.get(place);
            }
        }
        Self::new(&scores)
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Same(..) => 0,
            Self::Bytes(scores) => SHARED + scores.len(),
            Self::Whole(scores) => SHARED + size_of_val(&**scores),
        }
    }
}

impl PartialEq for ScoreColumn {
    /// Whether all scores are equal, in whatever form.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|place| self.get(place) == other.get(place))
    }
}

impl Eq for ScoreColumn {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn random_scores(random: &mut fastrand::Rng, len: usize) -> Vec<i64> {
        let kind = random.u8(0..4);
        let score = |random: &mut fastrand::Rng| match (kind, random.u8(0..8)) {
            (0, _) => 7,
            (1, _) => random.i64(0..=255),
            (2, 0) => NO_SCORE,
            (2, _) => random.i64(-2..=300),
            _ => random.i64(..),
        };
        (0..len).map(|_| score(random)).collect()
    }

    #[test]
    fn a_column_has_its_scores_in_the_smallest_form() {
        for (scores, expected) in [
            (&[5, 5, 5][..], 0),
            (&[NO_SCORE, NO_SCORE], 0),
            (&[0, 255], SHARED + 2),
            (&[0, 256], SHARED + 16),
            (&[0, -1], SHARED + 16),
            (&[0, NO_SCORE], SHARED + 16),
        ] {
            assert_eq!(ScoreColumn::new(scores).bytes(), expected, "{scores:?}");
        }
    }

    #[test]
    fn patched_columns_equal_fresh_ones() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..1_000 {
            let len = random.usize(0..20);
            let mut scores = random_scores(&mut random, len);
            let mut kept = KeptScores::from(Scores::ByRow(scores.clone()));
            for _ in 0..4 {
                // Rows are added, removed and changed.
                let len = (scores.len() + random.usize(..3)).saturating_sub(random.usize(..3));
                let mut changed: Vec<usize> = (scores.len()..len).collect();
                changed.extend((0..len.min(scores.len())).filter(|_| random.u8(..6) == 0));
                changed.sort_unstable();
                scores.resize(len, 0);
                let again = random_scores(&mut random, changed.len());
                for (row, score) in changed.iter().zip(&again) {
                    scores[*row] = *score;
                }
                let rows: Vec<Row> = changed.iter().map(|row| Row(u32::try_from(*row).unwrap())).collect();
                let again = (!rows.is_empty()).then(|| KeptScores::from(Scores::ByRow(again)));
                kept = kept.with(again.as_ref(), &rows, len).unwrap();
                let KeptScores::ByRow(column) = &kept else { unreachable!() };
                assert_eq!(column.len(), len);
                assert_eq!((0..len).map(|row| column.get(row)).collect::<Vec<_>>(), scores);
                assert_eq!(column.get(len), NO_SCORE);
                assert_eq!(*column, ScoreColumn::new(&scores));
            }
        }
    }

    #[test]
    fn results_of_another_kind_do_not_combine() {
        let failed = |text: &str| KeptScores::Failed(text.into());
        let by_row = || KeptScores::from(Scores::ByRow(vec![1]));
        let rows = [Row(0)];
        let with = |known: &KeptScores, again: &KeptScores| known.with(Some(again), &rows, 1);
        assert_eq!(with(&KeptScores::Skip, &KeptScores::Skip), Some(KeptScores::Skip));
        assert_eq!(with(&failed("a"), &failed("a")), Some(failed("a")));
        assert_eq!(failed("a").with(None, &[], 0), Some(failed("a")));
        for (known, again) in [
            (KeptScores::Skip, by_row()),
            (by_row(), KeptScores::Skip),
            (failed("a"), failed("b")),
            (failed("a"), KeptScores::Skip),
            (by_row(), failed("a")),
        ] {
            assert_eq!(with(&known, &again), None, "{known:?} and {again:?}");
        }
    }
}
