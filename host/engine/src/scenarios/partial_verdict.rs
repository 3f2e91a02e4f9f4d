//! One verdict from the verdicts of a predicate on successive ranges of rows. Start at [`PartialVerdict::append`].

use std::collections::HashMap;
use std::sync::Arc;

use nodesift_sandbox::{Codes, Failure, RowVerdict, Verdict};

/// The verdict of a predicate on the ranges evaluated so far.
#[derive(Debug, Default)]
pub(super) enum PartialVerdict {
    #[default]
    Empty,
    /// All of this number of rows fit.
    FitsAll(usize),
    FitsNone(Failure),
    ByRow {
        codes: Vec<u16>,
        failures: Vec<Failure>,
        named: Option<Vec<u32>>,
    },
}

impl PartialVerdict {
    /// Appends the verdict on the next rows. False where the two do not combine: the predicate must then be evaluated over all
    /// rows in one call.
    pub(super) fn append(&mut self, verdict: &Verdict, rows: usize) -> bool {
        match (&mut *self, verdict) {
            (Self::Empty, Verdict::FitsAll) => *self = Self::FitsAll(rows),
            (Self::Empty, Verdict::FitsNone(failure)) => *self = Self::FitsNone(failure.clone()),
            (Self::Empty, Verdict::ByRow(by_row)) => {
                let named = by_row.named().map(|_| Vec::new());
                *self = Self::ByRow { codes: Vec::new(), failures: Vec::new(), named };
                return self.append_rows(by_row);
            }
            (Self::FitsAll(known), Verdict::FitsAll) => *known += rows,
            (Self::FitsAll(known), Verdict::ByRow(by_row)) if by_row.named().is_none() => {
                *self = Self::ByRow { codes: vec![0; *known], failures: Vec::new(), named: None };
                return self.append_rows(by_row);
            }
            (Self::FitsNone(known), Verdict::FitsNone(failure)) => return known == failure,
            (Self::ByRow { codes, named: None, .. }, Verdict::FitsAll) => codes.resize(codes.len() + rows, 0),
            (Self::ByRow { named, .. }, Verdict::ByRow(by_row)) if named.is_some() == by_row.named().is_some() => {
                return self.append_rows(by_row);
            }
            _ => return false,
        }
        true
    }

    /// Appends codes; equal failures share one code.
    fn append_rows(&mut self, by_row: &RowVerdict) -> bool {
        let Self::ByRow { codes, failures, named } = self else { return false };
        let mut new_codes = vec![0_u16];
        // A verdict may have thousands of failures. A clone of one costs a reference count.
        let mut places: HashMap<Failure, usize> = HashMap::new();
        for (at, failure) in failures.iter().enumerate() {
            places.entry(failure.clone()).or_insert(at);
        }
        for failure in by_row.failures().iter() {
            let at = *places.entry(failure.clone()).or_insert_with(|| {
                failures.push(failure.clone());
                failures.len() - 1
            });
            let Ok(code) = u16::try_from(at + 1) else { return false };
            new_codes.push(code);
        }
        let new_code = |code: &u16| new_codes.get(usize::from(*code)).copied().unwrap_or(0);
        codes.extend(by_row.codes().chunks().flatten().map(new_code));
        if let (Some(known), Some(more)) = (named, by_row.named()) {
            known.extend_from_slice(more);
        }
        true
    }

    /// Whether the row at a place fits.
    pub(super) fn fits(&self, place: usize) -> bool {
        match self {
            Self::Empty | Self::FitsAll(_) => true,
            Self::FitsNone(_) => false,
            Self::ByRow { codes, .. } => codes.get(place).is_none_or(|code| *code == 0),
        }
    }

    /// The verdict on the first places.
    pub(super) fn into_verdict(self, places: usize) -> Verdict {
        match self {
            Self::Empty | Self::FitsAll(_) => Verdict::FitsAll,
            Self::FitsNone(failure) => Verdict::FitsNone(failure),
            Self::ByRow { mut codes, failures, named } => {
                codes.truncate(places);
                let named = named.map(|mut named| {
                    named.sort_unstable();
                    Arc::from(named)
                });
                Verdict::ByRow(RowVerdict::new(Codes::from(codes), failures.into(), named))
            }
        }
    }
}
