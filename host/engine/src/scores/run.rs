//! The scorers of a policy, called about one pod after its feasible rows are known, and their scores added up. Start at [`score`].

use std::sync::Arc;

use nodesift_cache::{Row, Snapshot};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::wire::scoring::{NO_SCORE, Normalization};
use nodesift_sandbox::{Facts, Interface, Module};

use super::normalization::normalize;
use super::pod_scores::{NodeScore, PodScores, ScoreRequest, ScoredNode, ScorerOutcome, ScorerScores};
use super::ranking::{best, shuffled};
use super::scorer::ActiveScorer;
use crate::answer::FaultReport;
use crate::evaluate::evaluation::effect_of;
use crate::evaluate::row_set::RowSet;
use crate::facts::{Batch, Context};
use crate::policy::{ActivePolicy, OnError};
use crate::reuse::{KeptScores, Store};

/// Scores the feasible rows of a pod by the scorers of a policy; the result has the totals of all of them. The context has the facts about
/// the rows of the query, of which the feasible ones are a part; a scorer is asked about all of them, a cluster-wide one about every row.
/// Where no row is feasible, no scorer is asked. Without a store, cached scores are neither used nor made. The verdicts do not depend on
/// scorers: where the time for scores is up, as where one fails, the pod has an error in their place.
pub(crate) fn score(
    policy: &ActivePolicy,
    store: Option<&Store>,
    request: &ScoreRequest,
    context: &Arc<Context>,
    feasible: &RowSet,
) -> PodScores {
    if feasible.is_empty() || request.top == 0 {
        return PodScores::default();
    }
    let mut run = Run::new(context, feasible, store, request.each);
    let mut scores = PodScores::default();
    // Those of scorers follow those of predicates.
    for (place, scorer) in (policy.predicates.len()..).zip(&policy.scorers) {
        let outcome = match &scores.error {
            Some(_) => ScorerOutcome::NotAsked,
            None => run.add(place, scorer, &mut scores),
        };
        scores.scorers.push(ScorerScores { scorer: Arc::clone(scorer.name()), weight: scorer.weight, outcome });
    }
    if scores.error.is_none() {
        (scores.nodes, scores.ties) = run.best(request);
        scores.totals = run.totals;
    }
    scores
}

/// The scores of rows by a scorer of this module, one for each, of its raw ones.
///
/// # Errors
///
/// [`FaultKind::MalformedVerdict`] where a score is not from 0 to 100.
pub(crate) fn normalized(module: &Module, snapshot: &Snapshot, rows: &[Row], raw: &[i64]) -> Result<Vec<i64>, Fault> {
    // One that does not score has no scores.
    let normalization = module.normalization().unwrap_or(Normalization::None);
    let mut scores = raw.to_vec();
    normalize(normalization, &mut scores).map_err(|(place, score)| {
        let node = rows.get(place).map_or("", |row| snapshot.node_name(*row));
        let text = format!("the score of the node {node} is {score}: not from 0 to 100");
        Fault::new(FaultKind::MalformedVerdict, &text)
    })?;
    Ok(scores)
}

/// The answer of one scorer, normalized.
enum Given {
    Skip,
    /// Raw and normalized scores: one entry per feasible row.
    Scores(Vec<i64>, Vec<i64>),
    /// The pod cannot be scored.
    Failed(String),
}

/// The rows that scores are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// The rows of the query, in its order.
    Batch,
    /// Every row of the snapshot.
    AllRows,
}

/// The scores of one pod so far.
struct Run<'a> {
    context: &'a Arc<Context>,
    store: Option<&'a Store>,
    /// The feasible rows, ascending. The lists below have one entry for each.
    rows: Vec<Row>,
    /// Their places in the batch of the context.
    places: Vec<usize>,
    totals: Vec<i64>,
    /// Whether the answer has the scores of each scorer.
    keeps_each: bool,
    /// Raw and normalized scores by scorer; `None` for one that adds nothing, and where only totals are wanted: all scorers of a policy have
    /// a thousand bytes for each row.
    by_scorer: Vec<Option<(Vec<i64>, Vec<i64>)>>,
    /// The facts about every row, made when a scorer needs them.
    over_all: Option<Arc<Context>>,
    /// These with the feasible rows as a fact.
    with_candidates: Option<Arc<Context>>,
}

impl<'a> Run<'a> {
    fn new(context: &'a Arc<Context>, feasible: &RowSet, store: Option<&'a Store>, keeps_each: bool) -> Self {
        let rows: Vec<Row> = feasible.iter().collect();
        let places = match context.batch() {
            Batch::All => rows.iter().map(|row| row.index()).collect(),
            Batch::Rows(batch) => {
                let mut places: Vec<(Row, usize)> =
                    batch.iter().enumerate().map(|(place, row)| (*row, place)).collect();
                places.sort_unstable();
                // A feasible row is one of the batch.
                let place = |row: &Row| {
                    let found = places.binary_search_by_key(row, |(row, _)| *row).ok();
                    found.and_then(|at| places.get(at)).map_or(usize::MAX, |(_, place)| *place)
                };
                rows.iter().map(place).collect()
            }
        };
        let totals = vec![0; rows.len()];
        let (by_scorer, over_all, with_candidates) = (Vec::new(), None, None);
        Self { context, store, rows, places, totals, keeps_each, by_scorer, over_all, with_candidates }
    }

    /// Asks one scorer, which has this place in the store, and adds its scores to the totals. Faults and errors are noted in `scores`.
    fn add(&mut self, place: usize, scorer: &ActiveScorer, scores: &mut PodScores) -> ScorerOutcome {
        let (outcome, by_row) = match self.ask(place, scorer) {
            Ok(Given::Skip) => (ScorerOutcome::Skipped, None),
            Ok(Given::Failed(text)) => {
                scores.error = Some(format!("{}: {text}", scorer.name()));
                (ScorerOutcome::Failed, None)
            }
            Ok(Given::Scores(raw, normalized)) => {
                for (total, score) in self.totals.iter_mut().zip(&normalized) {
                    *total = total.saturating_add(scorer.weight.saturating_mul(*score));
                }
                (ScorerOutcome::Scored, Some((raw, normalized)))
            }
            Err(fault) => {
                // Without time, no scorer after it could answer: totals of some are no totals.
                let is_late = fault.kind == FaultKind::RequestDeadline;
                let on_error = if is_late { OnError::Reject } else { scorer.component.on_error };
                scores.error = match on_error {
                    OnError::Ignore => None,
                    OnError::Reject if is_late => {
                        Some(format!("the request's time for scores was up before scorer {:?} answered", scorer.name()))
                    }
                    OnError::Reject => Some(format!("scorer {:?} failed: {}", scorer.name(), fault.kind.name())),
                };
                let predicate = Arc::clone(scorer.name());
                scores.faults.push(FaultReport { predicate, fault, effect: effect_of(on_error) });
                (ScorerOutcome::Failed, None)
            }
        };
        self.by_scorer.push(by_row.filter(|_| self.keeps_each));
        outcome
    }

    fn ask(&mut self, place: usize, scorer: &ActiveScorer) -> Result<Given, Fault> {
        let (kept, extent) = self.kept(place, scorer)?;
        let given = self.given(scorer, &kept, extent);
        // Those of a call have been judged in it: these were cached, and are wrong among the rows that are feasible now.
        given.inspect_err(|fault| scorer.component.counts.refuse(fault.kind))
    }

    /// The scores of a scorer, cached or of a call, and the rows that they are about.
    fn kept(&mut self, place: usize, scorer: &ActiveScorer) -> Result<(KeptScores, Extent), Fault> {
        let (component, module) = (&scorer.component, &scorer.component.module);
        let is_whole = matches!(self.context.batch(), Batch::All);
        let (context, extent) = match module.is_cluster_wide() {
            false => (Arc::clone(self.context), if is_whole { Extent::AllRows } else { Extent::Batch }),
            true if module.imports().contains(&Interface::ClusterCandidates) => (self.candidates(), Extent::AllRows),
            true => (self.all_rows(), Extent::AllRows),
        };
        if let (Some(store), Extent::Batch) = (self.store, extent) {
            // As for verdicts: for a subset of rows cached scores over all rows are used, but none are made.
            let cached = store.lookup_or_score(place, component, &self.all_rows());
            if let Some(scores) = cached.as_ref().and_then(|cached| cached.scores()) {
                return Ok((scores.clone(), Extent::AllRows));
            }
        }
        let check = |scores: &KeptScores| self.given(scorer, scores, extent).map(drop);
        match (self.store, extent) {
            (Some(store), Extent::AllRows) => {
                let cached = store.get_or_score(place, component, &context, &check)?;
                // A place of scores has nothing else.
                Ok((cached.scores().cloned().unwrap_or(KeptScores::Skip), extent))
            }
            _ => {
                let facts = Arc::clone(&context) as Arc<dyn Facts>;
                let scores = component.score(facts, &context, |scores| {
                    let scores = KeptScores::from(scores);
                    check(&scores).map(|()| scores)
                })?;
                Ok((scores, extent))
            }
        }
    }

    /// The scores of the feasible rows, normalized.
    fn given(&self, scorer: &ActiveScorer, scores: &KeptScores, extent: Extent) -> Result<Given, Fault> {
        let by_row = match scores {
            KeptScores::Skip => return Ok(Given::Skip),
            KeptScores::Failed(text) => return Ok(Given::Failed(text.to_string())),
            KeptScores::ByRow(by_row) => by_row,
        };
        let raw: Vec<i64> = match extent {
            Extent::Batch => self.places.iter().map(|place| by_row.get(*place)).collect(),
            Extent::AllRows => self.rows.iter().map(|row| by_row.get(row.index())).collect(),
        };
        let normalized = normalized(&scorer.component.module, self.context.snapshot(), &self.rows, &raw)?;
        Ok(Given::Scores(raw, normalized))
    }

    /// The facts about every row.
    fn all_rows(&mut self) -> Arc<Context> {
        if matches!(self.context.batch(), Batch::All) {
            return Arc::clone(self.context);
        }
        let context = self.context;
        Arc::clone(self.over_all.get_or_insert_with(|| Arc::new(context.over(Batch::All))))
    }

    /// The facts about every row, of which the feasible ones are known.
    fn candidates(&mut self) -> Arc<Context> {
        let (context, rows) = (self.context, &self.rows);
        Arc::clone(self.with_candidates.get_or_insert_with(|| Arc::new(context.among(rows))))
    }

    /// The best rows, and how many more have the total of the last of them.
    fn best(&self, request: &ScoreRequest) -> (Vec<ScoredNode>, usize) {
        let (snapshot, names) = (self.context.snapshot(), self.context.snapshot().node_names());
        let key = |place: usize| {
            let row = self.rows.get(place).copied().unwrap_or(Row(u32::MAX));
            let hash = request.seed.map_or(0, |seed| shuffled(seed, snapshot.node_name(row)));
            (hash, names.rank(row))
        };
        let (places, ties) = best(&self.totals, request.top.min(request.most_nodes()), key);
        let node = |place: usize| {
            let each = |by_row: &Option<(Vec<i64>, Vec<i64>)>| {
                let (raw, normalized) = by_row.as_ref()?;
                let raw = Some(*raw.get(place)?).filter(|raw| *raw != NO_SCORE);
                Some(NodeScore { raw, normalized: *normalized.get(place)? })
            };
            let each = if self.keeps_each { self.by_scorer.iter().map(each).collect() } else { Vec::new() };
            Some(ScoredNode { row: *self.rows.get(place)?, total: *self.totals.get(place)?, each })
        };
        (places.into_iter().filter_map(node).collect(), ties)
    }
}
