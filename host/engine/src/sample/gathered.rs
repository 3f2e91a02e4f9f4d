//! Verdicts on one range of rows after the other, put together.

use std::sync::Arc;

use crate::judgement::{ByRow, Codes, Judgement, Reason};

/// Verdicts of a predicate on one range after the other, as one.
#[derive(Debug, Default)]
pub(super) enum Gathered {
    #[default]
    Nothing,
    /// This many rows, all of which fit.
    FitsAll(usize),
    FitsNone(Reason),
    ByRow {
        codes: Vec<u16>,
        reasons: Vec<Reason>,
        named: Option<Vec<u32>>,
    },
}

impl Gathered {
    /// Adds the verdict on the next rows. False where the two are no parts of one verdict: both have to be asked for again,
    /// together.
    pub(super) fn add(&mut self, judgement: &Judgement, rows: usize) -> bool {
        match (&mut *self, judgement) {
            (Self::Nothing, Judgement::FitsAll) => *self = Self::FitsAll(rows),
            (Self::Nothing, Judgement::FitsNone(reason)) => *self = Self::FitsNone(reason.clone()),
            (Self::Nothing, Judgement::ByRow(by_row)) => {
                let named = by_row.named.as_ref().map(|_| Vec::new());
                *self = Self::ByRow { codes: Vec::new(), reasons: Vec::new(), named };
                return self.append(by_row);
            }
            (Self::FitsAll(known), Judgement::FitsAll) => *known += rows,
            (Self::FitsAll(known), Judgement::ByRow(by_row)) if by_row.named.is_none() => {
                *self = Self::ByRow { codes: vec![0; *known], reasons: Vec::new(), named: None };
                return self.append(by_row);
            }
            (Self::FitsNone(known), Judgement::FitsNone(reason)) => return known == reason,
            (Self::ByRow { codes, named: None, .. }, Judgement::FitsAll) => codes.resize(codes.len() + rows, 0),
            (Self::ByRow { named, .. }, Judgement::ByRow(by_row)) if named.is_some() == by_row.named.is_some() => {
                return self.append(by_row);
            }
            _ => return false,
        }
        true
    }

    /// Adds codes, with equal reasons under one number.
    fn append(&mut self, by_row: &ByRow) -> bool {
        let Self::ByRow { codes, reasons, named } = self else { return false };
        let mut numbers = vec![0_u16];
        for reason in by_row.reasons.iter() {
            let at = reasons.iter().position(|known| known == reason).unwrap_or(reasons.len());
            if at == reasons.len() {
                reasons.push(reason.clone());
            }
            let Ok(number) = u16::try_from(at + 1) else { return false };
            numbers.push(number);
        }
        let number = |code: &u16| numbers.get(usize::from(*code)).copied().unwrap_or(0);
        codes.extend(by_row.codes.chunks().flatten().map(number));
        if let (Some(known), Some(more)) = (named, &by_row.named) {
            known.extend_from_slice(more);
        }
        true
    }

    /// Whether the row at a place fits.
    pub(super) fn fits(&self, place: usize) -> bool {
        match self {
            Self::Nothing | Self::FitsAll(_) => true,
            Self::FitsNone(_) => false,
            Self::ByRow { codes, .. } => codes.get(place).is_none_or(|code| *code == 0),
        }
    }

    /// The verdict on the first places.
    pub(super) fn into_judgement(self, places: usize) -> Judgement {
        match self {
            Self::Nothing | Self::FitsAll(_) => Judgement::FitsAll,
            Self::FitsNone(reason) => Judgement::FitsNone(reason),
            Self::ByRow { mut codes, reasons, named } => {
                codes.truncate(places);
                let named = named.map(|mut named| {
                    named.sort_unstable();
                    Arc::from(named)
                });
                Judgement::ByRow(ByRow::new(Codes::from(codes), reasons.into(), named))
            }
        }
    }
}
