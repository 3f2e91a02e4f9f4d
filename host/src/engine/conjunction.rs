//! The AND over predicates: per row the first that rejects it, in policy order, as in a scheduling cycle.
//!
//! [`Outcome::new`] looks at every row; [`Outcome::patched`] at those on which the verdicts differ from those of an outcome
//! that is known. [`Outcome::rejecting`] is for rows whose rejection no ruling names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{Code, Cycle, Failure};
use super::context::Batch;
use super::judgement::{Judgement, Reason};
use super::rows::{Bits, RowSet, WORD, set_bit};
use super::size::{SHARED, Size as _};
use crate::cache::Row;

/// What kube-scheduler says where there is no node at all.
const NO_NODES: &str = "no nodes available to schedule pods";

/// Where more than one row in so many differs, all rows are looked at again.
const PATCH_BELOW: usize = 8;

/// One predicate's say.
#[derive(Debug, Clone)]
pub(super) struct Ruling {
    pub(super) predicate: Arc<str>,
    pub(super) judgement: Arc<Judgement>,
    pub(super) scope: Scope,
}

/// What the codes of a judgement are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Every row of the snapshot, whatever the batch is.
    AllRows,
    /// The places of the batch.
    Batch,
}

/// What all predicates together say about a batch.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) rulings: Vec<Ruling>,
    /// How many rows were asked about.
    pub(super) asked: usize,
    pub(super) feasible: Arc<RowSet>,
    pub(super) failures: Arc<[Failure]>,
    pub(super) cycle: Cycle,
    pub(super) message: Option<Arc<str>>,
    groups: Vec<Group>,
}

/// Rows under the first predicate that rejects them, for one reason. In the order of predicates, codes, texts.
#[derive(Debug, Clone)]
struct Group {
    predicate: usize,
    reason: Reason,
    rows: Arc<RowSet>,
}

/// A row that is rejected by something else than the rulings say.
#[derive(Debug)]
pub(super) struct Rejection {
    /// Where the row is in the batch.
    pub(super) place: usize,
    pub(super) row: Row,
    /// The number of the predicate.
    pub(super) predicate: usize,
    pub(super) reason: Reason,
}

/// What is said about the pod and not about rows.
struct Whole<'a> {
    cycle: Cycle,
    /// Why the pod as a whole is rejected, by the first predicate that does so.
    rejection: Option<&'a Reason>,
    /// Predicates by which the pod names nodes, and the rows that all of these name.
    naming: Option<(Vec<&'a str>, Vec<u32>)>,
}

impl Ruling {
    /// Why a row fails, by its place in the batch and its row.
    pub(super) fn reason(&self, place: usize, row: Row) -> Option<&Reason> {
        self.judgement.reason_at(match self.scope {
            Scope::AllRows => row.index(),
            Scope::Batch => place,
        })
    }

    /// Whether codes reject some row of the batch.
    pub(super) fn rejects(&self, batch: &Batch) -> bool {
        let mut rejects = false;
        self.for_each_code(batch, |codes| rejects = rejects || codes.iter().any(|code| *code != 0));
        rejects
    }

    /// The codes of the batch's rows, in their order; none where all rows have the same.
    fn for_each_code(&self, batch: &Batch, mut call: impl FnMut(&[u16])) {
        let Judgement::ByRow(by_row) = &*self.judgement else { return };
        match (batch, self.scope) {
            (Batch::Rows(rows), Scope::AllRows) => {
                let codes: Vec<u16> = rows.iter().map(|row| by_row.codes.get(row.index())).collect();
                call(&codes);
            }
            _ => by_row.codes.chunks().for_each(call),
        }
    }
}

impl Outcome {
    /// The outcome over a batch; `nodes` is how many rows there are in all.
    pub(super) fn new(rulings: Vec<Ruling>, batch: &Batch, nodes: usize) -> Self {
        let asked = match batch {
            Batch::All => nodes,
            Batch::Rows(rows) => rows.len(),
        };
        // Per place 0 while it fits, k where it fails with the k-th reason of all.
        let mut first: Vec<u32> = vec![0; asked];
        let mut bases = Vec::with_capacity(rulings.len());
        let mut base = 0_u32;
        for ruling in &rulings {
            bases.push(base);
            match &*ruling.judgement {
                Judgement::FitsAll => {}
                Judgement::FitsNone(_) => {
                    first.iter_mut().for_each(|first| *first = if *first == 0 { base + 1 } else { *first });
                    base += 1;
                }
                Judgement::ByRow(by_row) => {
                    let mut rest = first.as_mut_slice();
                    ruling.for_each_code(batch, |codes| {
                        let places = codes.len().min(rest.len());
                        let (chunk, after) = std::mem::take(&mut rest).split_at_mut(places);
                        rest = after;
                        for (first, code) in chunk.iter_mut().zip(codes) {
                            let this = if *code == 0 { 0 } else { base + u32::from(*code) };
                            *first = if *first == 0 { this } else { *first };
                        }
                    });
                    base += u32::try_from(by_row.reasons.len()).unwrap_or(u32::MAX);
                }
            }
        }
        let mut outcome = Self::empty(rulings, asked);
        outcome.group(&first, &bases, base as usize, batch, nodes);
        outcome.finish(batch);
        outcome
    }

    fn empty(rulings: Vec<Ruling>, asked: usize) -> Self {
        let (feasible, failures) = (Arc::default(), Arc::default());
        Self { rulings, asked, feasible, failures, cycle: Cycle::EachNode, message: None, groups: Vec::new() }
    }

    /// Puts rows into groups, by what was found first on each.
    fn group(&mut self, first: &[u32], bases: &[u32], reasons: usize, batch: &Batch, nodes: usize) {
        let mut feasible: Vec<u64> = vec![0; nodes.div_ceil(WORD)];
        // By number of the reason.
        let mut rows_of: Vec<Vec<Row>> = vec![Vec::new(); reasons + 1];
        let mut fail = |row: Row, first: u32| {
            if let Some(rows) = rows_of.get_mut(first as usize) {
                rows.push(row);
            }
        };
        match batch {
            // Word by word: what fits is a bit, and only what does not is looked at row by row.
            Batch::All => {
                let words = feasible.iter_mut().zip((0_u32..).step_by(WORD)).zip(first.chunks(WORD));
                for ((word, base), first) in words {
                    *word = zeros(first);
                    let failing = Bits { word: !*word & (u64::MAX >> (WORD - first.len())), base };
                    failing.for_each(|row| fail(row, first.get(row.index() % WORD).copied().unwrap_or(0)));
                }
            }
            Batch::Rows(rows) => {
                for (row, first) in rows.iter().zip(first) {
                    if *first == 0 {
                        set_bit(&mut feasible, *row);
                    } else {
                        fail(*row, *first);
                    }
                }
            }
        }
        let mut groups = Vec::new();
        for (predicate, (ruling, base)) in self.rulings.iter().zip(bases).enumerate() {
            let reasons: &[Reason] = match &*ruling.judgement {
                Judgement::FitsAll => &[],
                Judgement::FitsNone(reason) => std::slice::from_ref(reason),
                Judgement::ByRow(by_row) => &by_row.reasons,
            };
            // A verdict may list equal reasons twice, an answer does not.
            let mut sorted: BTreeMap<&Reason, Vec<Row>> = BTreeMap::new();
            for (number, reason) in (*base as usize + 1..).zip(reasons) {
                let rows = rows_of.get_mut(number).map(std::mem::take).unwrap_or_default();
                if !rows.is_empty() {
                    sorted.entry(reason).or_default().extend(rows);
                }
            }
            for (reason, mut rows) in sorted {
                // The rows of a subset are in the order of names, those of equal reasons behind each other.
                if !rows.is_sorted() {
                    rows.sort_unstable();
                }
                groups.push(Group { predicate, reason: reason.clone(), rows: Arc::new(RowSet::of(rows, nodes)) });
            }
        }
        self.groups = groups;
        self.feasible = Arc::new(RowSet::of_words(feasible));
    }

    /// The outcome for other rulings of the same predicates over every row; none where too much differs.
    pub(super) fn patched(&self, rulings: &[Ruling], nodes: usize) -> Option<Self> {
        if self.asked != nodes || self.rulings.len() != rulings.len() {
            return None;
        }
        let mut rows: Vec<Row> = Vec::new();
        for (known, ruling) in self.rulings.iter().zip(rulings) {
            differences(&known.judgement, &ruling.judgement, nodes, &mut rows)?;
        }
        rows.sort_unstable();
        rows.dedup();
        if rows.len() * PATCH_BELOW > nodes {
            return None;
        }
        let mut outcome = Self { rulings: rulings.to_vec(), message: None, ..self.clone() };
        for row in rows {
            let (before, after) =
                (first(&self.rulings, row.index(), row), first(&outcome.rulings, row.index(), row).map(cloned));
            outcome.move_row(row, before, after, nodes);
        }
        outcome.groups.retain(|group| !group.rows.is_empty());
        outcome.finish(&Batch::All);
        Some(outcome)
    }

    /// The outcome over the same batch where some rows, each named once, are rejected by something else than the rulings
    /// say.
    pub(super) fn rejecting(&self, rejected: &[Rejection], batch: &Batch, nodes: usize) -> Self {
        let mut outcome = Self { message: None, ..self.clone() };
        for rejection in rejected {
            let before = first(&self.rulings, rejection.place, rejection.row);
            let after = Some((rejection.predicate, rejection.reason.clone()));
            outcome.move_row(rejection.row, before, after, nodes);
        }
        outcome.groups.retain(|group| !group.rows.is_empty());
        outcome.finish(batch);
        outcome
    }

    /// Takes a row from the group that it is in, or from those that fit, and puts it where it belongs now.
    fn move_row(&mut self, row: Row, before: Option<(usize, &Reason)>, after: Option<(usize, Reason)>, nodes: usize) {
        if before == after.as_ref().map(|(predicate, reason)| (*predicate, reason)) {
            return;
        }
        match before {
            None => Arc::make_mut(&mut self.feasible).remove(row),
            Some(key) => {
                if let Ok(at) = position(&self.groups, key)
                    && let Some(group) = self.groups.get_mut(at)
                {
                    Arc::make_mut(&mut group.rows).remove(row);
                }
            }
        }
        match after {
            None => Arc::make_mut(&mut self.feasible).insert(row, nodes),
            Some((predicate, reason)) => {
                let at = position(&self.groups, (predicate, &reason)).unwrap_or_else(|at| {
                    self.groups.insert(at, Group { predicate, reason, rows: Arc::default() });
                    at
                });
                if let Some(group) = self.groups.get_mut(at) {
                    Arc::make_mut(&mut group.rows).insert(row, nodes);
                }
            }
        }
    }

    /// The outcome over some of the rows of one over every row.
    pub(super) fn over(&self, rows: &Arc<[Row]>) -> Self {
        let nodes = self.asked;
        let mut words = vec![0_u64; nodes.div_ceil(WORD)];
        rows.iter().for_each(|row| set_bit(&mut words, *row));
        let meant = RowSet::of_words(words);
        let groups =
            self.groups.iter().map(|group| Group { rows: Arc::new(group.rows.among(&meant, nodes)), ..group.clone() });
        let mut outcome = Self {
            asked: rows.len(),
            feasible: Arc::new(self.feasible.among(&meant, nodes)),
            groups: groups.filter(|group| !group.rows.is_empty()).collect(),
            message: None,
            ..self.clone()
        };
        outcome.finish(&Batch::Rows(Arc::clone(rows)));
        outcome
    }

    /// What follows from the rulings and the groups.
    fn finish(&mut self, batch: &Batch) {
        let failure = |group: &Group| {
            let predicate = self.rulings.get(group.predicate).map(|ruling| Arc::clone(&ruling.predicate));
            Failure {
                predicate: predicate.unwrap_or_default(),
                code: group.reason.code,
                reasons: Arc::clone(&group.reason.texts),
                rows: Arc::clone(&group.rows),
            }
        };
        self.failures = self.groups.iter().map(failure).collect();
        let whole = Whole::of(&self.rulings, batch);
        // What no ruling names may be an error too.
        let aborts = self.groups.iter().any(|group| group.reason.code == Code::Error);
        self.cycle = if aborts { whole.cycle.max(Cycle::Aborted) } else { whole.cycle };
        if self.feasible.is_empty() {
            self.message = Some(whole.message(self.asked, &self.failures).into());
        }
    }

    /// Bytes that the outcome keeps alive. The judgements are among them: those of verdicts that have been patched since
    /// are held here and nowhere else.
    pub(super) fn bytes(&self) -> usize {
        let rows = |rows: &RowSet| SHARED + size_of::<RowSet>() + rows.bytes();
        let judgements = self.rulings.iter().map(|ruling| ruling.judgement.bytes());
        let groups = self.groups.iter().map(|group| group.reason.heap() + rows(&group.rows));
        size_of::<Self>()
            + self.rulings.capacity() * size_of::<Ruling>()
            + self.groups.capacity() * size_of::<Group>()
            + self.failures.len() * size_of::<Failure>()
            + 2 * SHARED
            + rows(&self.feasible)
            + self.message.heap()
            + judgements.sum::<usize>()
            + groups.sum::<usize>()
    }
}

/// A bit for each of at most a word's numbers, set where that is 0. Four parts go side by side: bits that are added to one
/// word wait for each other.
fn zeros(numbers: &[u32]) -> u64 {
    let bits = |part: &[u32]| part.iter().rev().fold(0_u64, |bits, number| bits << 1 | u64::from(*number == 0));
    let parts = (0..).step_by(WORD / 4).zip(numbers.chunks(WORD / 4));
    parts.fold(0, |word, (at, part)| word | bits(part) << at)
}

/// Where the group of a predicate and reason is, or would be.
fn position(groups: &[Group], (predicate, reason): (usize, &Reason)) -> Result<usize, usize> {
    groups.binary_search_by(|group| (group.predicate, &group.reason).cmp(&(predicate, reason)))
}

/// The first predicate that rejects a row, by its number, and why.
pub(super) fn first(rulings: &[Ruling], place: usize, row: Row) -> Option<(usize, &Reason)> {
    rulings.iter().enumerate().find_map(|(at, ruling)| ruling.reason(place, row).map(|reason| (at, reason)))
}

fn cloned((predicate, reason): (usize, &Reason)) -> (usize, Reason) {
    (predicate, reason.clone())
}

/// Adds the rows on which two judgements over every row differ; none where they cannot be told apart by rows.
fn differences(known: &Arc<Judgement>, other: &Arc<Judgement>, nodes: usize, rows: &mut Vec<Row>) -> Option<()> {
    if Arc::ptr_eq(known, other) {
        return Some(());
    }
    match (&**known, &**other) {
        (Judgement::FitsAll, Judgement::FitsAll) => Some(()),
        (Judgement::FitsNone(a), Judgement::FitsNone(b)) if a == b => Some(()),
        (Judgement::ByRow(a), Judgement::ByRow(b)) => {
            let comparable = a.codes.len() == b.codes.len() && b.reasons.starts_with(&a.reasons);
            comparable.then(|| a.codes.differences(&b.codes, rows))
        }
        (Judgement::FitsAll, Judgement::ByRow(by_row)) | (Judgement::ByRow(by_row), Judgement::FitsAll) => {
            let codes = by_row.codes.chunks().flatten().take(nodes);
            rows.extend((0..).map(Row).zip(codes).filter(|(_, code)| **code != 0).map(|(row, _)| row));
            Some(())
        }
        _ => None,
    }
}

impl<'a> Whole<'a> {
    fn of(rulings: &'a [Ruling], batch: &Batch) -> Self {
        let mut whole = Self { cycle: Cycle::EachNode, rejection: None, naming: None };
        for ruling in rulings {
            match &*ruling.judgement {
                Judgement::FitsAll => {}
                Judgement::FitsNone(reason) => {
                    let cycle = if reason.code == Code::Error { Cycle::Aborted } else { Cycle::Rejected };
                    whole.cycle = whole.cycle.max(cycle);
                    whole.rejection.get_or_insert(reason);
                }
                Judgement::ByRow(by_row) => {
                    // An error on a row that is not asked about ends no cycle.
                    let mut aborts = by_row.aborts && matches!(batch, Batch::All);
                    if by_row.aborts && !aborts {
                        let is_error = |code: &u16| by_row.reason(*code).is_some_and(|it| it.code == Code::Error);
                        ruling.for_each_code(batch, |codes| aborts |= codes.iter().any(is_error));
                    }
                    if aborts {
                        whole.cycle = whole.cycle.max(Cycle::Aborted);
                    }
                    // Where it rejects nothing that is asked about, a predicate may as well say that every row fits.
                    if let Some(named) = by_row.named.as_ref().filter(|_| ruling.rejects(batch)) {
                        whole.name(&ruling.predicate, named);
                    }
                }
            }
        }
        whole
    }

    fn name(&mut self, predicate: &'a str, named: &[u32]) {
        self.cycle = self.cycle.max(Cycle::NamedNodes);
        let (predicates, rows) = self.naming.get_or_insert_with(|| (Vec::new(), named.to_vec()));
        predicates.push(predicate);
        rows.retain(|row| named.binary_search(row).is_ok());
    }

    /// kube-scheduler's message for a pod that fits nowhere: what rejects the pod as a whole; else how many nodes each
    /// reason applies to, each node counted under all reasons of the first predicate that rejects it. Nodes that the pod
    /// does not name are not looked at, and counted under one reason. Source: `FitError.Error` in
    /// pkg/scheduler/framework, `findNodesThatFitPod` in pkg/scheduler/schedule_one.go.
    fn message(&self, nodes: usize, failures: &[Failure]) -> String {
        if nodes == 0 {
            return NO_NODES.to_owned();
        }
        if let Some(reason) = self.rejection {
            return format!("0/{nodes} nodes are available: {}.", reason.texts.join(", "));
        }
        let named = |rows: &RowSet| match &self.naming {
            None => rows.len(),
            Some((_, named)) => named.iter().filter(|row| rows.contains(Row(**row))).count(),
        };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut others = 0;
        for failure in failures {
            let named = named(&failure.rows);
            others += failure.rows.len() - named;
            for reason in failure.reasons.iter().filter(|_| named > 0) {
                *counts.entry(reason).or_default() += named;
            }
        }
        let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if let Some((predicates, _)) = &self.naming
            && others > 0
        {
            let unnamed = format!("node(s) didn't satisfy plugin(s) [{}]", predicates.join(" "));
            // A predicate may use the same words.
            others += counts.get(unnamed.as_str()).copied().unwrap_or(0);
            parts.retain(|part| part.split_once(' ').is_none_or(|(_, reason)| reason != unnamed));
            parts.push(format!("{others} {unnamed}"));
        }
        parts.sort_unstable();
        format!("0/{nodes} nodes are available: {}.", parts.join(", "))
    }
}
