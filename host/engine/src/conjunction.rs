//! The AND over predicates: per row the first that rejects it, in policy order, as in a scheduling cycle.
//!
//! [`Outcome::new`] looks at every row; [`Outcome::patched`] at those on which the verdicts differ from those of an outcome
//! that is known. [`Outcome::rejecting`] is for rows whose rejection no ruling names. [`words`] does the looking.

mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{Code, Cycle, Failure};
use super::context::Batch;
use super::judgement::{Judgement, Reason};
use super::rows::{RowSet, WORD, set_bit};
use super::size::{SHARED, Size as _};
use nodesift_cache::Row;
use words::{Open, Places};

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
        match self.gathered(batch) {
            Some(codes) => call(&codes),
            None => by_row.codes.chunks().for_each(call),
        }
    }

    /// The codes of the batch's rows, in their order, where they are not the judgement's own in its order.
    fn gathered(&self, batch: &Batch) -> Option<Vec<u16>> {
        match (batch, self.scope, &*self.judgement) {
            (Batch::Rows(rows), Scope::AllRows, Judgement::ByRow(by_row)) => {
                Some(rows.iter().map(|row| by_row.codes.get(row.index())).collect())
            }
            _ => None,
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
        let mut outcome = Self::empty(rulings, asked);
        outcome.group(batch, nodes);
        outcome.finish(batch);
        outcome
    }

    fn empty(rulings: Vec<Ruling>, asked: usize) -> Self {
        let (feasible, failures) = (Arc::default(), Arc::default());
        Self { rulings, asked, feasible, failures, cycle: Cycle::EachNode, message: None, groups: Vec::new() }
    }

    /// Puts rows into groups, predicate by predicate: what one rejects is no concern of those after it.
    fn group(&mut self, batch: &Batch, nodes: usize) {
        let mut open = Open::all(self.asked);
        let mut groups = Vec::new();
        for (predicate, ruling) in self.rulings.iter().enumerate() {
            let taken = match &*ruling.judgement {
                Judgement::FitsAll => continue,
                Judgement::FitsNone(reason) => BTreeMap::from([(reason, open.take_all())]),
                Judgement::ByRow(by_row) => match ruling.gathered(batch) {
                    Some(codes) => open.take(std::iter::once(codes.as_slice()), &by_row.reasons),
                    None => open.take(by_row.codes.chunks(), &by_row.reasons),
                },
            };
            let group = |(reason, places): (&Reason, Places)| {
                let rows = Arc::new(rows_at(places, batch, nodes));
                Group { predicate, reason: reason.clone(), rows }
            };
            groups.extend(taken.into_iter().map(group).filter(|group| !group.rows.is_empty()));
        }
        self.groups = groups;
        self.feasible = Arc::new(match batch {
            Batch::All => RowSet::of_words(open.into_words()),
            Batch::Rows(_) => rows_at(Places::Bitmap(open.into_words()), batch, nodes),
        });
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

/// The rows at places of a batch.
fn rows_at(places: Places, batch: &Batch, nodes: usize) -> RowSet {
    match (batch, places) {
        (Batch::All, Places::Bitmap(words)) => RowSet::of_bits(words, nodes),
        (Batch::All, Places::List(places)) => RowSet::of(places.into_iter().map(Row).collect(), nodes),
        (Batch::Rows(rows), places) => {
            let mut found = Vec::new();
            places.for_each(|place| found.extend(rows.get(place)));
            // The rows of a subset are in the order of names.
            found.sort_unstable();
            RowSet::of(found, nodes)
        }
    }
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
