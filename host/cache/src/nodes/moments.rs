//! Columns of the moments of nodes: one for each [`Moment`].

use crate::columns::{Column, Row};
use crate::metadata::{Moment, Moments, NO_TIME};

/// A column for each moment, in the order of [`Moment::ALL`].
#[derive(Debug, Clone, Default)]
pub(crate) struct MomentColumns([Column<i64>; Moment::ALL.len()]);

impl MomentColumns {
    /// Bytes of a row.
    pub(crate) const ROW_BYTES: usize = Moment::ALL.len() * size_of::<i64>();

    /// The column of a moment.
    pub(crate) fn column(&self, moment: Moment) -> &Column<i64> {
        // There are as many columns as moments.
        &self.0[moment as usize]
    }

    /// Appends a row of a node of which nothing is known.
    pub(crate) fn push(&mut self) {
        self.0.iter_mut().for_each(|column| column.push(NO_TIME));
    }

    /// Takes a row out; the last row moves into its place.
    pub(crate) fn swap_remove(&mut self, row: Row) {
        for column in &mut self.0 {
            column.swap_remove(row);
        }
    }

    /// Replaces the moments of a node, and gives those that have changed.
    pub(crate) fn set(&mut self, row: Row, moments: &Moments) -> Vec<Moment> {
        let mut changed = Vec::new();
        for (moment, column) in Moment::ALL.into_iter().zip(&mut self.0) {
            let said = moments.get(moment);
            if column.get(row) != Some(&said) {
                column.set(row, said);
                changed.push(moment);
            }
        }
        changed
    }

    /// Whether a row shows these moments.
    pub(crate) fn holds(&self, row: Row, moments: &Moments) -> bool {
        Moment::ALL.into_iter().all(|moment| self.column(moment).get(row) == Some(&moments.get(moment)))
    }

    /// Columns of so many rows that all show one row.
    pub(crate) fn repeated(&self, row: Row, len: usize) -> Self {
        Self(Moment::ALL.map(|moment| {
            let said = self.column(moment).get(row).copied().unwrap_or(NO_TIME);
            Column::filled(len, &said)
        }))
    }
}
