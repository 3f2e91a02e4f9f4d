//! Rows by the predicates that reject them: what funnel, only obstacles, groups and cells are counted from. Start at [`Rejections::new`].

use std::sync::Arc;

use nodesift_cache::{Row, Snapshot};
use nodesift_sandbox::Code;
use rustc_hash::FxHashMap;

use super::answer::{Group, Groups, PredicateAlone, ReasonCount, Step};
use super::words::Words;
use crate::answer::{FailureGroup, PodAnswer};
use crate::limits::{CELL_FITS, CELL_NOT_EVALUATED, WHY_GROUPS, WHY_REASONS, WHY_TEXT_BYTES};

/// A value of a label as groups are chosen: number of its nodes, its text, its code.
type Found = (usize, Option<Arc<str>>, u32);

/// Rows by the predicates that reject them, for one pod on the nodes of a query.
#[derive(Debug)]
pub(super) struct Rejections {
    /// Rows of the snapshot, evaluated or not.
    pub(super) rows: usize,
    /// Rows that were evaluated.
    pub(super) batch: Words,
    /// Names of the evaluated predicates, in policy order.
    pub(super) predicates: Vec<Arc<str>>,
    /// By predicate the rows that it rejects by itself.
    pub(super) alone: Vec<Words>,
    /// Rows that exactly one predicate rejects.
    pub(super) once: Words,
    /// Per row the first predicate that rejects it, or one of the two other cells.
    pub(super) cells: Vec<u8>,
}

impl Rejections {
    /// The rejections of an answer that has each predicate alone, out of `rows` rows.
    pub(super) fn new(answer: &PodAnswer, rows: usize) -> Self {
        let predicates: Vec<Arc<str>> = answer.predicates.iter().map(|alone| Arc::clone(&alone.predicate)).collect();
        let rejected = |groups: &[FailureGroup]| {
            let mut all = Words::none(rows);
            groups.iter().for_each(|group| all.add(&Words::from_set(&group.rows, rows)));
            all
        };
        let alone: Vec<Words> = answer.predicates.iter().map(|alone| rejected(&alone.failures)).collect();
        let mut batch = Words::from_set(&answer.feasible, rows);
        let mut cells = vec![CELL_NOT_EVALUATED; rows];
        let mut paint = |row: Row, cell: u8| {
            if let Some(known) = cells.get_mut(row.index()) {
                *known = cell;
            }
        };
        answer.feasible.iter().for_each(|row| paint(row, CELL_FITS));
        for group in &*answer.failures {
            batch.add(&Words::from_set(&group.rows, rows));
            let at = predicates.iter().position(|predicate| *predicate == group.predicate);
            // A policy has at most 128 predicates.
            let cell = at.and_then(|at| u8::try_from(at).ok()).unwrap_or(CELL_NOT_EVALUATED);
            group.rows.iter().for_each(|row| paint(row, cell));
        }
        let once = Words::in_exactly_one(&alone, rows);
        Self { rows, batch, predicates, alone, once, cells }
    }

    /// One step per predicate, by rows under the first predicate that rejects them.
    pub(super) fn funnel(&self, failures: &[FailureGroup]) -> Vec<Step> {
        let mut before = self.batch.count();
        let step = |predicate: &Arc<str>| {
            let groups: Vec<&FailureGroup> = failures.iter().filter(|group| group.predicate == *predicate).collect();
            let rejected = groups.iter().map(|group| group.rows.len()).sum();
            let unresolvable = groups.iter().filter(|group| group.code == Code::UnschedulableAndUnresolvable);
            let unresolvable = unresolvable.map(|group| group.rows.len()).sum();
            let step =
                Step { predicate: Arc::clone(predicate), before, rejected, unresolvable, reasons: reasons(&groups) };
            before = step.after();
            step
        };
        self.predicates.iter().map(step).collect()
    }

    /// Each predicate by itself.
    pub(super) fn each(&self) -> Vec<PredicateAlone> {
        let each = self.predicates.iter().zip(&self.alone);
        let each = each.map(|(predicate, rows)| PredicateAlone {
            predicate: Arc::clone(predicate),
            rejects: rows.count(),
            only_reason: rows.count_and(&self.once),
        });
        each.collect()
    }

    /// The evaluated rows by the values of a label. Rows without it are a group of their own.
    pub(super) fn groups(&self, by: &str, snapshot: &Snapshot) -> Groups {
        let column = snapshot.label_column(by);
        let codes = column.as_ref().map(|column| column.codes.flat());
        let code_of = |row: Row| codes.as_ref().and_then(|codes| codes.get(row.index())).map_or(0, |code| *code);
        let mut nodes: FxHashMap<u32, usize> = FxHashMap::default();
        self.batch.iter().for_each(|row| *nodes.entry(code_of(row)).or_default() += 1);
        let text = |code: u32| column.as_ref().and_then(|column| column.dictionary().text(code)).cloned();
        let mut largest: Vec<Found> = nodes.into_iter().map(|(code, nodes)| (nodes, text(code), code)).collect();
        let (all, kept) = (largest.len(), largest.len().min(WHY_GROUPS));
        let order = |a: &Found, b: &Found| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1));
        if all > kept {
            // A label may have another value on each node.
            largest.select_nth_unstable_by(kept, order);
            largest.truncate(kept);
        }
        largest.sort_unstable_by(order);
        let places: FxHashMap<u32, usize> = largest.iter().enumerate().map(|(at, (_, _, code))| (*code, at)).collect();
        let empty = |value| Group { value, nodes: 0, feasible: 0, rejected: vec![0; self.predicates.len()] };
        let mut groups: Vec<Group> = largest.iter().map(|(_, value, _)| empty(value.clone())).collect();
        groups.push(empty(None));
        for row in self.batch.iter() {
            let at = places.get(&code_of(row)).copied().unwrap_or(kept);
            let Some(group) = groups.get_mut(at) else { continue };
            group.nodes += 1;
            match self.cells.get(row.index()) {
                Some(&CELL_FITS) => group.feasible += 1,
                Some(cell) => {
                    if let Some(rejected) = group.rejected.get_mut(usize::from(*cell)) {
                        *rejected += 1;
                    }
                }
                None => {}
            }
        }
        let rest = groups.pop().filter(|rest| rest.nodes > 0).map(|rest| (rest, all - kept));
        Groups { by: by.to_owned(), groups, rest }
    }
}

/// Reasons of some groups of rows with numbers of rows, the most frequent first.
fn reasons(groups: &[&FailureGroup]) -> Vec<ReasonCount> {
    let mut nodes: FxHashMap<&str, usize> = FxHashMap::default();
    for group in groups {
        for reason in group.reasons.iter() {
            *nodes.entry(cut(reason)).or_default() += group.rows.len();
        }
    }
    let mut reasons: Vec<(&str, usize)> = nodes.into_iter().collect();
    reasons.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    reasons.truncate(WHY_REASONS);
    reasons.into_iter().map(|(reason, nodes)| ReasonCount { reason: reason.to_owned(), nodes }).collect()
}

/// The beginning of a text that guests or tenants have written.
pub(super) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(WHY_TEXT_BYTES)).unwrap_or(text)
}
