//! The conjunction of the verdicts of all predicates: per row the first predicate in policy order that rejects it, as in a
//! scheduling cycle.
//!
//! [`Conjunction::new`] looks at every row; [`Conjunction::patched`] at those on which the verdicts differ from those of a
//! known conjunction; [`Conjunction::with_rejections`] adds rejections that no verdict contains. [`super::scan`] groups rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::Row;
use nodesift_sandbox::{Failure, Verdict};

use super::message::PodLevel;
use super::predicate_verdict::PredicateVerdict;
use super::row_set::{RowSet, WORD, set_bit};
use super::scan::{OpenPlaces, Places};
use crate::answer::{Cycle, FailureGroup};
use crate::facts::Batch;
use crate::reuse::size::{SHARED, Size as _};

/// Where more than one row in so many differs, all rows are looked at again.
const PATCH_BELOW: usize = 8;

/// The verdicts of all predicates over a batch, combined.
#[derive(Debug, Clone)]
pub(crate) struct Conjunction {
    verdicts: Vec<PredicateVerdict>,
    /// Rows of the batch.
    rows: usize,
    feasible: Arc<RowSet>,
    failures: Arc<[FailureGroup]>,
    cycle: Cycle,
    /// Rows that the pod names; `None` where it names none.
    named: Option<Arc<[u32]>>,
    message: Option<Arc<str>>,
    groups: Vec<Group>,
}

/// Rows under the first predicate that rejects them, for one failure. In the order of predicates, codes, reasons.
#[derive(Debug, Clone)]
struct Group {
    predicate: usize,
    failure: Failure,
    rows: Arc<RowSet>,
}

/// A row whose rejection the verdicts do not contain.
#[derive(Debug)]
pub(crate) struct Rejection {
    /// The place of the row in the batch.
    pub(crate) place: usize,
    pub(crate) row: Row,
    /// The index of the predicate among those evaluated.
    pub(crate) predicate: usize,
    pub(crate) failure: Failure,
}

impl Conjunction {
    /// The conjunction over a batch; `nodes` is the number of rows of the snapshot.
    pub(crate) fn new(verdicts: Vec<PredicateVerdict>, batch: &Batch, nodes: usize) -> Self {
        let rows = match batch {
            Batch::All => nodes,
            Batch::Rows(rows) => rows.len(),
        };
        let (feasible, failures) = (Arc::default(), Arc::default());
        let (cycle, named, message) = (Cycle::EachNode, None, None);
        let mut conjunction = Self { verdicts, rows, feasible, failures, cycle, named, message, groups: Vec::new() };
        conjunction.group_rows(batch, nodes);
        conjunction.finish(batch);
        conjunction
    }

    /// Verdicts of the predicates, in policy order.
    pub(crate) fn verdicts(&self) -> &[PredicateVerdict] {
        &self.verdicts
    }

    /// Rows of the batch.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that every predicate fits.
    pub(crate) fn feasible(&self) -> &Arc<RowSet> {
        &self.feasible
    }

    /// Rows that some predicate rejects, grouped.
    pub(crate) fn failures(&self) -> &Arc<[FailureGroup]> {
        &self.failures
    }

    /// How far kube-scheduler's scheduling cycle gets.
    pub(crate) fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Rows that the pod names, ascending; `None` where it names none.
    pub(crate) fn named(&self) -> Option<&Arc<[u32]>> {
        self.named.as_ref()
    }

    /// kube-scheduler's message; only where no row is feasible.
    pub(crate) fn message(&self) -> Option<&Arc<str>> {
        self.message.as_ref()
    }

    /// Whether it is the conjunction of exactly these verdicts over `nodes` rows.
    pub(crate) fn is_of<'a>(&self, nodes: usize, verdicts: impl Iterator<Item = &'a Arc<Verdict>>) -> bool {
        self.rows == nodes && self.verdicts.iter().zip(verdicts).all(|(own, other)| Arc::ptr_eq(&own.verdict, other))
    }

    /// The index of the first predicate that rejects a row, and why.
    pub(crate) fn first_failure(&self, place: usize, row: Row) -> Option<(usize, &Failure)> {
        first_failure(&self.verdicts, place, row)
    }

    /// Groups rows predicate by predicate; rows that one rejects are not looked at again.
    fn group_rows(&mut self, batch: &Batch, nodes: usize) {
        let mut open = OpenPlaces::all(self.rows);
        let mut groups = Vec::new();
        for (predicate, of_predicate) in self.verdicts.iter().enumerate() {
            let taken = match &*of_predicate.verdict {
                Verdict::FitsAll => continue,
                Verdict::FitsNone(failure) => BTreeMap::from([(failure, open.take_all())]),
                Verdict::ByRow(by_row) => match of_predicate.selected_codes(batch) {
                    Some(codes) => open.take(std::iter::once(codes.as_slice()), by_row.failures()),
                    None => open.take(by_row.codes().chunks(), by_row.failures()),
                },
            };
            let group = |(failure, places): (&Failure, Places)| {
                let rows = Arc::new(rows_at(places, batch, nodes));
                Group { predicate, failure: failure.clone(), rows }
            };
            groups.extend(taken.into_iter().map(group).filter(|group| !group.rows.is_empty()));
        }
        self.groups = groups;
        self.feasible = Arc::new(match batch {
            Batch::All => RowSet::from_words(open.into_words()),
            Batch::Rows(_) => rows_at(Places::Bitmap(open.into_words()), batch, nodes),
        });
    }

    /// The conjunction of other verdicts of the same predicates over every row; none where too many rows differ.
    pub(crate) fn patched(&self, verdicts: &[PredicateVerdict], nodes: usize) -> Option<Self> {
        if self.rows != nodes || self.verdicts.len() != verdicts.len() {
            return None;
        }
        let mut rows: Vec<Row> = Vec::new();
        for (known, other) in self.verdicts.iter().zip(verdicts) {
            differing_rows(&known.verdict, &other.verdict, nodes, &mut rows)?;
        }
        rows.sort_unstable();
        rows.dedup();
        if rows.len() * PATCH_BELOW > nodes {
            return None;
        }
        let mut conjunction = Self { verdicts: verdicts.to_vec(), message: None, ..self.clone() };
        for row in rows {
            let before = self.first_failure(row.index(), row);
            let after = conjunction.first_failure(row.index(), row).map(|(at, failure)| (at, failure.clone()));
            conjunction.move_row(row, before, after, nodes);
        }
        conjunction.groups.retain(|group| !group.rows.is_empty());
        conjunction.finish(&Batch::All);
        Some(conjunction)
    }

    /// The conjunction over the same batch with rejections that the verdicts do not contain, at most one per row.
    pub(crate) fn with_rejections(&self, rejections: &[Rejection], batch: &Batch, nodes: usize) -> Self {
        let mut conjunction = Self { message: None, ..self.clone() };
        for rejection in rejections {
            let before = self.first_failure(rejection.place, rejection.row);
            let after = Some((rejection.predicate, rejection.failure.clone()));
            conjunction.move_row(rejection.row, before, after, nodes);
        }
        conjunction.groups.retain(|group| !group.rows.is_empty());
        conjunction.finish(batch);
        conjunction
    }

    /// Moves a row from its group, or from the feasible rows, to another group, or to the feasible rows.
    fn move_row(&mut self, row: Row, before: Option<(usize, &Failure)>, after: Option<(usize, Failure)>, nodes: usize) {
        if before == after.as_ref().map(|(predicate, failure)| (*predicate, failure)) {
            return;
        }
        match before {
            None => Arc::make_mut(&mut self.feasible).remove(row),
            Some(key) => {
                if let Ok(at) = group_index(&self.groups, key)
                    && let Some(group) = self.groups.get_mut(at)
                {
                    Arc::make_mut(&mut group.rows).remove(row);
                }
            }
        }
        match after {
            None => Arc::make_mut(&mut self.feasible).insert(row, nodes),
            Some((predicate, failure)) => {
                let at = group_index(&self.groups, (predicate, &failure)).unwrap_or_else(|at| {
                    self.groups.insert(at, Group { predicate, failure, rows: Arc::default() });
                    at
                });
                if let Some(group) = self.groups.get_mut(at) {
                    Arc::make_mut(&mut group.rows).insert(row, nodes);
                }
            }
        }
    }

    /// The conjunction over some of the rows of one over every row.
    pub(crate) fn over(&self, rows: &Arc<[Row]>) -> Self {
        let nodes = self.rows;
        let mut words = vec![0_u64; nodes.div_ceil(WORD)];
        rows.iter().for_each(|row| set_bit(&mut words, *row));
        let selected = RowSet::from_words(words);
        let groups = self
            .groups
            .iter()
            .map(|group| Group { rows: Arc::new(group.rows.among(&selected, nodes)), ..group.clone() });
        let mut conjunction = Self {
            rows: rows.len(),
            feasible: Arc::new(self.feasible.among(&selected, nodes)),
            groups: groups.filter(|group| !group.rows.is_empty()).collect(),
            message: None,
            ..self.clone()
        };
        conjunction.finish(&Batch::Rows(Arc::clone(rows)));
        conjunction
    }

    /// Failures, cycle and message, which follow from the verdicts and the groups.
    fn finish(&mut self, batch: &Batch) {
        let failures = |group: &Group| {
            let predicate = self.verdicts.get(group.predicate).map(|verdict| Arc::clone(&verdict.predicate));
            FailureGroup {
                predicate: predicate.unwrap_or_default(),
                code: group.failure.code,
                reasons: Arc::clone(&group.failure.reasons),
                rows: Arc::clone(&group.rows),
            }
        };
        self.failures = self.groups.iter().map(failures).collect();
        let pod_level = PodLevel::new(&self.verdicts, batch);
        self.cycle = pod_level.cycle(&self.failures);
        self.named = pod_level.named();
        if self.feasible.is_empty() {
            self.message = Some(pod_level.message(self.rows, &self.failures).into());
        }
    }

    /// Bytes that the conjunction keeps alive, verdicts included: a verdict that has been patched since is held here alone.
    pub(crate) fn bytes(&self) -> usize {
        let rows = |rows: &RowSet| SHARED + size_of::<RowSet>() + rows.bytes();
        let verdicts = self.verdicts.iter().map(|of_predicate| of_predicate.verdict.heap());
        let groups = self.groups.iter().map(|group| group.failure.heap() + rows(&group.rows));
        size_of::<Self>()
            + self.verdicts.capacity() * size_of::<PredicateVerdict>()
            + self.groups.capacity() * size_of::<Group>()
            + self.failures.len() * size_of::<FailureGroup>()
            + 2 * SHARED
            + rows(&self.feasible)
            + self.named.as_ref().map_or(0, |named| SHARED + size_of_val(&**named))
            + self.message.heap()
            + verdicts.sum::<usize>()
            + groups.sum::<usize>()
    }
}

/// The rows at places of a batch.
fn rows_at(places: Places, batch: &Batch, nodes: usize) -> RowSet {
    match (batch, places) {
        (Batch::All, Places::Bitmap(words)) => RowSet::from_bits(words, nodes),
        (Batch::All, Places::List(places)) => RowSet::new(places.into_iter().map(Row).collect(), nodes),
        (Batch::Rows(rows), places) => {
            let mut found = Vec::new();
            places.for_each(|place| found.extend(rows.get(place)));
            // The rows of a subset are in the order of node names.
            found.sort_unstable();
            RowSet::new(found, nodes)
        }
    }
}

/// The index of the group of a predicate and failure, or where to insert it.
fn group_index(groups: &[Group], (predicate, failure): (usize, &Failure)) -> Result<usize, usize> {
    groups.binary_search_by(|group| (group.predicate, &group.failure).cmp(&(predicate, failure)))
}

fn first_failure(verdicts: &[PredicateVerdict], place: usize, row: Row) -> Option<(usize, &Failure)> {
    verdicts.iter().enumerate().find_map(|(at, verdict)| verdict.failure(place, row).map(|failure| (at, failure)))
}

/// Adds the rows on which two verdicts over every row differ; none where they cannot be compared by rows.
fn differing_rows(known: &Arc<Verdict>, other: &Arc<Verdict>, nodes: usize, rows: &mut Vec<Row>) -> Option<()> {
    if Arc::ptr_eq(known, other) {
        return Some(());
    }
    let row = |place: usize| Row(u32::try_from(place).unwrap_or(u32::MAX));
    match (&**known, &**other) {
        (Verdict::FitsAll, Verdict::FitsAll) => Some(()),
        (Verdict::FitsNone(a), Verdict::FitsNone(b)) if a == b => Some(()),
        (Verdict::ByRow(a), Verdict::ByRow(b)) => {
            let comparable = a.codes().len() == b.codes().len() && b.failures().starts_with(a.failures());
            comparable.then(|| a.codes().for_each_difference(b.codes(), |place| rows.push(row(place))))
        }
        (Verdict::FitsAll, Verdict::ByRow(by_row)) | (Verdict::ByRow(by_row), Verdict::FitsAll) => {
            let codes = by_row.codes().chunks().flatten().take(nodes).enumerate();
            rows.extend(codes.filter(|(_, code)| **code != 0).map(|(place, _)| row(place)));
            Some(())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
