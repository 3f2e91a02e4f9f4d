//! Enough nodes: rows are judged from one on until so many fit, as kube-scheduler samples nodes.
//!
//! The answer is that of a question about just the rows judged. Verdicts that are known for every row, kept ones and those
//! of cluster-wide predicates, are used as they are; where all are, nothing is left to judge. The others are asked about
//! one range after the other, each twice as long as the one before, and no row twice. Where rows have to be judged again
//! for nominated pods, all rows are judged first, and again only those that are come to. Start at [`judge`].

mod gathered;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::gathered::Gathered;
use super::Running;
use super::answer::FaultReport;
use super::conjunction::{Outcome, Ruling, Scope};
use super::context::{Batch, Context};
use super::evaluate::{self, Evaluated, Source};
use super::nominated::{self, Budget, Claim, Spent};
use super::question::{Nodes, Question, Sample};
use crate::policy::ActivePredicate;
use nodesift_cache::Row;
use nodesift_sandbox::fault::Fault;

/// One pod evaluated, over rows that may be found only while it is.
pub(super) struct Judged {
    pub(super) evaluated: Evaluated,
    /// About the rows that were judged.
    pub(super) context: Arc<Context>,
    /// The row after the last one judged; only where enough nodes were asked for.
    pub(super) next: Option<Row>,
}

impl Judged {
    /// The first difference from another evaluation of the same pod on the same snapshot.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let is_faulty = !self.evaluated.faults.is_empty() || !other.evaluated.faults.is_empty();
        if self.next != other.next {
            return (!is_faulty).then(|| format!("next is {:?}, fresh {:?}", self.next, other.next));
        }
        if self.context.rows() != other.context.rows() {
            return (!is_faulty).then(|| format!("{} rows, fresh {}", self.context.rows(), other.context.rows()));
        }
        self.evaluated.difference(&other.evaluated, &self.context)
    }
}

/// Evaluates one pod over the context's batch, or over as much of it as gives enough nodes; `claims` are rows of the batch
/// for which other pods are nominated.
///
/// # Errors
///
/// Where there are more of these than one question may judge.
pub(super) fn judge(
    running: &Running,
    question: &Question,
    context: &Arc<Context>,
    source: Source,
    claims: &[Claim],
    budget: &mut Budget,
) -> Result<Judged, Spent> {
    let mut leave_room = |evaluated: Evaluated, claims: &[Claim]| {
        if claims.is_empty() {
            return Ok(evaluated);
        }
        let predicates: Vec<_> = evaluate::asked(running, question).map(|(_, predicate)| predicate).collect();
        nominated::judge(evaluated, &predicates, claims, context, question.depth, budget)
    };
    let all = || evaluate::pod(running, question, context, source);
    let Nodes::Enough(sample) = &question.nodes else {
        return Ok(Judged { evaluated: leave_room(all(), claims)?, context: Arc::clone(context), next: None });
    };
    let order = Order::of(sample, context.snapshot().node_count());
    if sample.limit.get() >= order.nodes {
        let evaluated = leave_room(all(), claims)?;
        return Ok(Judged { evaluated, context: Arc::clone(context), next: Some(order.row(0)) });
    }
    if !claims.is_empty() {
        let (mut evaluated, mut open) = (all(), claims.to_vec());
        let judged = loop {
            let judged = order.until(&evaluated.outcome.feasible, sample.limit.get());
            let (reached, beyond): (Vec<Claim>, Vec<Claim>) =
                open.into_iter().partition(|claim| order.place(claim.row) < judged);
            if reached.is_empty() {
                break judged;
            }
            open = beyond;
            evaluated = leave_room(evaluated, &reached)?;
        };
        if judged < order.nodes {
            evaluated.outcome = Arc::new(evaluated.outcome.over(&order.first(judged)));
        }
        return Ok(order.judged(evaluated, context, judged));
    }
    let mut trial = Trial::begin(running, question, context, source);
    let (judged, outcome) = match trial.whole_outcome(order.nodes) {
        Some(whole) => {
            let judged = order.until(&whole.feasible, sample.limit.get());
            let outcome = if judged == order.nodes { whole } else { Arc::new(whole.over(&order.first(judged))) };
            (judged, outcome)
        }
        None => {
            let judged = trial.judge_ranges(&order, sample);
            let rows = Batch::Rows(order.first(judged));
            (judged, Arc::new(Outcome::new(trial.rulings(judged), &rows, order.nodes)))
        }
    };
    let evaluated = Evaluated { outcome, faults: trial.faults, alone: BTreeMap::new() };
    Ok(order.judged(evaluated, context, judged))
}

/// The order in which rows are judged: from one on, and behind the last one from the first.
#[derive(Debug)]
struct Order {
    start: usize,
    nodes: usize,
}

impl Order {
    fn of(sample: &Sample, nodes: usize) -> Self {
        Self { start: if sample.start < nodes { sample.start } else { 0 }, nodes }
    }

    /// The row at a place of the order; behind the last place it is the first one again.
    fn row(&self, place: usize) -> Row {
        let row = self.start + place;
        let row = if row >= self.nodes { row - self.nodes } else { row };
        // A cluster never comes near 2^32 nodes.
        Row(u32::try_from(row.min(self.nodes)).unwrap_or(u32::MAX))
    }

    /// The place of a row.
    fn place(&self, row: Row) -> usize {
        let after = row.index() + if row.index() < self.start { self.nodes } else { 0 };
        after - self.start
    }

    /// What was evaluated about the rows at the first places.
    fn judged(&self, evaluated: Evaluated, context: &Context, places: usize) -> Judged {
        let context = Arc::new(context.over(Batch::Rows(self.first(places))));
        Judged { evaluated, context, next: Some(self.row(places)) }
    }

    /// The rows at these places, in their order.
    fn rows(&self, places: std::ops::Range<usize>) -> Arc<[Row]> {
        places.map(|place| self.row(place)).collect()
    }

    fn first(&self, places: usize) -> Arc<[Row]> {
        self.rows(0..places)
    }

    /// How many places there are until so many of them are among the rows.
    fn until(&self, rows: &super::RowSet, limit: usize) -> usize {
        let start = self.row(0);
        let found =
            rows.iter_from(start).chain(rows.iter().take_while(|row| *row < start)).nth(limit.saturating_sub(1));
        match found {
            None => self.nodes,
            Some(row) if row >= start => row.index() - start.index() + 1,
            Some(row) => self.nodes - start.index() + row.index() + 1,
        }
    }
}

/// What a predicate says so far.
enum Said {
    /// Of every row; with the line of verdicts that it belongs to.
    Whole(Ruling, u64),
    /// Of the places so far.
    Part(Gathered),
}

/// One pod, while rows are judged.
struct Trial<'a> {
    running: &'a Running,
    source: Source,
    /// About every row.
    context: Arc<Context>,
    /// Those of the phase, in policy order, each with its place in the policy.
    predicates: Vec<(usize, &'a ActivePredicate)>,
    /// One per predicate.
    said: Vec<Said>,
    faults: Vec<FaultReport>,
}

impl<'a> Trial<'a> {
    /// Takes what is known of every row.
    fn begin(running: &'a Running, question: &Question, context: &Arc<Context>, source: Source) -> Self {
        let all = running.policy.predicates.iter().enumerate();
        let predicates: Vec<_> = all.filter(|(_, predicate)| predicate.phases.contains(question.phase)).collect();
        let said = Vec::with_capacity(predicates.len());
        let mut trial = Self { running, source, context: Arc::clone(context), predicates, said, faults: Vec::new() };
        for at in 0..trial.predicates.len() {
            let said = trial.known(at);
            trial.said.push(said);
        }
        trial
    }

    fn known(&mut self, at: usize) -> Said {
        let Some((place, predicate)) = self.predicates.get(at).copied() else { return Said::Part(Gathered::default()) };
        if predicate.module.is_cluster_wide() {
            return self.whole(place, predicate);
        }
        let known = match self.source {
            Source::Store => self.running.store.known(place, predicate, &self.context),
            Source::Fresh => None,
        };
        match known {
            Some(kept) => Said::Whole(evaluate::ruling_of(predicate, &kept), kept.line),
            None => Said::Part(Gathered::default()),
        }
    }

    /// Asks a predicate about every row.
    fn whole(&mut self, place: usize, predicate: &ActivePredicate) -> Said {
        let ruled = match self.source {
            Source::Store => {
                let kept = self.running.store.judge(place, predicate, &self.context);
                kept.map(|kept| (evaluate::ruling_of(predicate, &kept), kept.line))
            }
            Source::Fresh => evaluate::fresh(predicate, &self.context, &mut None).map(|ruling| (ruling, 0)),
        };
        match ruled {
            Ok((ruling, line)) => Said::Whole(ruling, line),
            Err(fault) => self.failed(predicate, fault),
        }
    }

    /// A predicate that fails to answer for some rows has failed for the pod: its failure policy applies to every row.
    fn failed(&mut self, predicate: &ActivePredicate, fault: Fault) -> Said {
        let (judgement, effect) = evaluate::on_fault(predicate, &fault, self.context.rows() as usize);
        self.faults.push(FaultReport { predicate: Arc::clone(&predicate.name), fault, effect });
        Said::Whole(evaluate::ruling(predicate, judgement, Scope::AllRows), 0)
    }

    /// The outcome over every row, where every predicate has said all there is to say.
    fn whole_outcome(&self, nodes: usize) -> Option<Arc<Outcome>> {
        let whole = |said: &Said| match said {
            Said::Whole(ruling, line) => Some((ruling.clone(), *line)),
            Said::Part(_) => None,
        };
        let (rulings, lines): (Vec<Ruling>, Vec<u64>) =
            self.said.iter().map(whole).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        Some(match self.source {
            Source::Store => self.running.store.outcome(&lines, rulings, nodes),
            Source::Fresh => Arc::new(Outcome::new(rulings, &Batch::All, nodes)),
        })
    }

    /// Judges ranges until enough rows fit, and says how many places that takes.
    fn judge_ranges(&mut self, order: &Order, sample: &Sample) -> usize {
        let limit = sample.limit.get();
        let mut step = sample.step.max(limit);
        let (mut judged, mut counted, mut fitting) = (0, 0, 0);
        while judged < order.nodes {
            // Up to the last row, so that the rows of a range are in order.
            let to_last = order.nodes - order.row(judged).index();
            let end = (judged + step.min(to_last)).min(order.nodes);
            if self.judge_range(order.rows(judged..end)) {
                // What was counted may count no longer.
                (counted, fitting) = (0, 0);
            }
            judged = end;
            for place in counted..judged {
                fitting += usize::from(self.fits(place, order.row(place)));
                if fitting == limit {
                    return place + 1;
                }
            }
            counted = judged;
            step *= 2;
        }
        order.nodes
    }

    /// Judges the next rows; whether what some predicate said before has become another thing.
    fn judge_range(&mut self, rows: Arc<[Row]>) -> bool {
        let range = Arc::new(self.context.over(Batch::Rows(rows)));
        let mut is_other = false;
        for at in 0..self.predicates.len() {
            let Some((place, predicate)) = self.predicates.get(at).copied() else { continue };
            let Some(Said::Part(gathered)) = self.said.get_mut(at) else { continue };
            let instead = match evaluate::fresh(predicate, &range, &mut None) {
                Ok(ruling) if gathered.add(&ruling.judgement, range.rows() as usize) => continue,
                // What it says of these rows is no part of what it has said of others.
                Ok(_) => self.whole(place, predicate),
                Err(fault) => self.failed(predicate, fault),
            };
            is_other = true;
            if let Some(said) = self.said.get_mut(at) {
                *said = instead;
            }
        }
        is_other
    }

    /// Whether no predicate rejects the row at a place.
    fn fits(&self, place: usize, row: Row) -> bool {
        self.said.iter().all(|said| match said {
            Said::Whole(ruling, _) => ruling.judgement.reason_at(row.index()).is_none(),
            Said::Part(gathered) => gathered.fits(place),
        })
    }

    /// The verdicts over the first places.
    fn rulings(&mut self, places: usize) -> Vec<Ruling> {
        let said = std::mem::take(&mut self.said).into_iter();
        let ruling = |(said, (_, predicate)): (Said, &(usize, &ActivePredicate))| match said {
            Said::Whole(ruling, _) => ruling,
            Said::Part(gathered) => evaluate::ruling(predicate, gathered.into_judgement(places), Scope::Batch),
        };
        said.zip(&self.predicates).map(ruling).collect()
    }
}
