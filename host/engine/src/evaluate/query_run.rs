//! One query, pod by pod: all rows are evaluated, the nominated rows again, and the result is cut by the limit.
//!
//! The doors that lead here are [`Engine::answer`] and [`Engine::answer_cached`]. Start at [`QueryRun::answer`].

use std::sync::Arc;
use std::time::Instant;

use nodesift_cache::Snapshot;
use smallvec::SmallVec;

use super::Stop;
use super::evaluation::Evaluation;
use super::evaluator::Evaluator;
use super::pod_evaluation::PodEvaluation;
use crate::answer::{Answer, PodAnswer};
use crate::facts::{Batch, Context};
use crate::limits::{ANSWER_BYTES, NOMINATED_ROWS, POD_SHARE};
use crate::pending::AskResult;
use crate::policy::running::Running;
use crate::query::{Depth, Nodes, PodRef, Query, Unknown};
use crate::reuse::Store;
use crate::scenarios::nominated::{self, NominatedRow, RowBudget};
use crate::scenarios::sample;
use crate::scores::{PodScores, ScoreRequest, score};
use crate::shadow::{Asked, Shadow};
use crate::subject::Subject;
use crate::{Engine, Error, Reuse};

/// A query by one policy on one snapshot.
pub(crate) struct QueryRun<'a> {
    engine: &'a Engine,
    query: &'a Query,
    snapshot: &'a Arc<Snapshot>,
    batch: Batch,
    evaluator: Evaluator<'a>,
    /// Nominated rows that the query may still evaluate again.
    budget: RowBudget,
    /// Whether scores have the totals of all feasible rows.
    keeps_totals: bool,
}

impl<'a> QueryRun<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        running: &'a Running,
        query: &'a Query,
        snapshot: &'a Arc<Snapshot>,
        batch: Batch,
    ) -> Self {
        // Cached verdicts are valid for generations of the cache. A snapshot with an overlay has the generation of its base but
        // different rows, so it neither uses the store nor fills it.
        let may_reuse = engine.reuse != Reuse::Off && snapshot.overlaid_rows().is_none();
        let evaluator = Evaluator::new(&running.policy, query.phase, may_reuse.then_some(&running.store));
        let evaluator = evaluator.with_skip(&query.skip);
        let (budget, keeps_totals) = (RowBudget::default(), query.totals);
        Self { engine, query, snapshot, batch, evaluator, budget, keeps_totals }
    }

    /// Keeps the totals of all feasible rows, also where the query does not want them.
    fn keeping_totals(self, keeps: bool) -> Self {
        Self { keeps_totals: self.keeps_totals || keeps, ..self }
    }

    /// Answers about one pod, until a moment that may be before the query's deadline.
    pub(crate) fn answer(&mut self, subject: Subject, until: Option<Instant>) -> Result<PodAnswer, Error> {
        let context = Arc::new(subject.context(self.snapshot, self.batch.clone()).with_deadline(until));
        let nominated = nominated::nominated_rows(self.snapshot, &self.batch, &subject);
        let evaluated = match self.engine.reuse {
            Reuse::Verified => self.evaluate_verified(&subject, &context, &nominated)?,
            Reuse::On | Reuse::Off => evaluate_pod(self.evaluator, self.query, &context, &nominated, &mut self.budget)
                .map_err(|stop| stopped(stop, &subject))?,
        };
        let depth = self.query.depth;
        let scores = match &self.query.scores {
            Some(request) => Some(Box::new(self.scores(request, &evaluated, &subject.name)?)),
            None => None,
        };
        let answer = evaluated.evaluation.into_answer(depth, subject.name, &evaluated.context);
        let account = subject.account.filter(|_| depth == Depth::Each);
        Ok(PodAnswer { next: evaluated.next, account, scores, ..answer })
    }

    /// Scores the feasible rows. With [`Reuse::Verified`] scores that are cached are compared with fresh ones.
    fn scores(&self, request: &ScoreRequest, evaluated: &PodEvaluation, pod: &str) -> Result<PodScores, Error> {
        let feasible = evaluated.evaluation.conjunction.feasible();
        let score =
            |store: Option<&Store>| score(self.evaluator.policy(), store, request, &evaluated.context, feasible);
        let mut scores = score(self.evaluator.store());
        if self.engine.reuse == Reuse::Verified && self.evaluator.store().is_some() {
            let fresh = score(None);
            if scores != fresh && scores.faults.is_empty() && fresh.faults.is_empty() {
                return Err(self.engine.mismatch(pod.to_owned(), format!("scores: {scores:?}, fresh {fresh:?}")));
            }
        }
        if !self.keeps_totals {
            scores.totals = Vec::new();
        }
        Ok(scores)
    }

    /// Evaluates with and without the store, and compares the results.
    fn evaluate_verified(
        &mut self,
        subject: &Subject,
        context: &Arc<Context>,
        nominated: &[NominatedRow],
    ) -> Result<PodEvaluation, Error> {
        let evaluate = |evaluator: Evaluator<'_>, budget: &mut RowBudget| {
            let evaluated = evaluate_pod(evaluator, self.query, context, nominated, budget);
            evaluated.map_err(|stop| stopped(stop, subject))
        };
        // Looked up first: the evaluation below caches every verdict.
        let is_of_all = self.query.nodes == Nodes::All && matches!(self.batch, Batch::All);
        let is_plain = is_of_all && nominated.is_empty();
        let cached = if is_plain { self.evaluator.lookup(context) } else { None };
        let mut fresh_budget = self.budget.clone();
        let reused = evaluate(self.evaluator, &mut self.budget)?;
        if self.evaluator.store().is_some() {
            let fresh = evaluate(self.evaluator.without_store(), &mut fresh_budget)?;
            let cached_differs = |cached: Evaluation| cached.difference(&fresh.evaluation, context);
            if let Some(difference) = reused.difference(&fresh).or_else(|| cached.and_then(cached_differs)) {
                return Err(self.engine.mismatch(subject.name.clone(), difference));
            }
        }
        Ok(reused)
    }
}

impl Engine {
    /// Answers by a policy, and offers the answers to what is compared with it.
    pub(crate) fn answer_by(
        &self,
        running: &Running,
        shadow: Option<&Shadow>,
        query: &Query,
        snapshot: &Arc<Snapshot>,
        unknown: Unknown,
    ) -> Result<Answer, Error> {
        running.policy.check_names(&query.skip)?;
        let (batch, unknown_nodes) = query.nodes.batch(snapshot, unknown)?;
        let shadow = compared(shadow, running, query, snapshot);
        let mut run = QueryRun::new(self, running, query, snapshot, batch.clone()).keeping_totals(shadow.is_some());
        let mut bytes = 0;
        let are_named = unknown == Unknown::AreNamed;
        // What some pods ask for takes as long as the whole request has.
        let shares = are_named && query.pods.len() > 1;
        let pods = query.pods.iter().map(|pod| {
            // Also between pods whose verdicts are all cached, for which no predicate is called.
            if query.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::DeadlineExceeded);
            }
            let subject = match self.subject(pod, &running.policy) {
                Err(error @ (Error::UnknownPod { .. } | Error::OtherVersion { .. })) if are_named => {
                    // Not noted: no pod has this name or UID.
                    return Ok(PodAnswer::failed(pod.to_string(), error));
                }
                subject => Subject { is_negotiated: query.is_negotiated, ..subject? },
            };
            let wanted = shadow.and_then(|shadow| Some((shadow, shadow.wants(&subject)?)));
            let (pod, until) = match shares {
                true => (subject.name.clone(), share(query.deadline)),
                false => (String::new(), query.deadline),
            };
            let mut answer = match run.answer(subject, until) {
                // Of the request there is time left.
                Err(Error::DeadlineExceeded) if shares => {
                    let failed = PodAnswer::failed(pod.clone(), Error::PodTooSlow { pod });
                    self.note_asked(query, &failed);
                    return Ok(failed);
                }
                answer => answer?,
            };
            if let Some((shadow, subject)) = wanted {
                shadow.offer(Asked::new(subject, query, (snapshot, &batch), &answer));
            }
            if let Some(scores) = answer.scores.as_mut().filter(|_| !query.totals) {
                scores.totals = Vec::new();
            }
            self.note_asked(query, &answer);
            bytes += answer.heap_bytes();
            if bytes > ANSWER_BYTES {
                return Err(Error::AnswerTooLarge { limit: ANSWER_BYTES });
            }
            Ok(answer)
        });
        let pods = pods.collect::<Result<_, Error>>()?;
        Ok(Answer { snapshot: Arc::clone(snapshot), policy_generation: running.policy.generation, pods, unknown_nodes })
    }

    /// The answer about all nodes by the active policy, where all verdicts are cached and valid, and no row has nominated pods.
    pub(crate) fn answer_of_store(&self, running: &Running, query: &Query, snapshot: &Arc<Snapshot>) -> Option<Answer> {
        let shadow = self.shadow.load();
        let shadow = compared(shadow.as_deref(), running, query, snapshot);
        let evaluator = Evaluator::new(&running.policy, query.phase, Some(&running.store)).with_skip(&query.skip);
        // Offered at the end: a query with one pod that is not cached is answered again as a whole.
        let mut wanted: SmallVec<[Option<Subject>; 1]> = SmallVec::new();
        let answer = |pod: &PodRef| {
            let subject = self.subject(pod, &running.policy).ok()?;
            let subject = Subject { is_negotiated: query.is_negotiated, ..subject };
            if !nominated::nominated_rows(snapshot, &Batch::All, &subject).is_empty() {
                return None;
            }
            // Whatever takes longer is looked up in a slot.
            let until = Instant::now() + self.cached_lookup;
            let context = subject.context(snapshot, Batch::All).with_deadline(Some(until));
            let evaluation = evaluator.lookup(&context)?;
            if let Some(shadow) = shadow {
                wanted.push(shadow.wants(&subject));
            }
            Some(evaluation.into_answer(query.depth, subject.name, &context))
        };
        let pods: Vec<PodAnswer> = query.pods.iter().map(answer).collect::<Option<_>>()?;
        pods.iter().for_each(|answer| self.note_asked(query, answer));
        if let Some(shadow) = shadow {
            for (subject, answer) in wanted.into_iter().zip(&pods) {
                if let Some(subject) = subject {
                    shadow.offer(Asked::new(subject, query, (snapshot, &Batch::All), answer));
                }
            }
        }
        let (snapshot, policy_generation) = (Arc::clone(snapshot), running.policy.generation);
        Some(Answer { snapshot, policy_generation, pods, unknown_nodes: Vec::new() })
    }

    /// Counts and notes an answer about one pod, where a core asks in order to place it.
    fn note_asked(&self, query: &Query, answer: &PodAnswer) {
        let Some(asker) = query.asker else { return };
        let result = match &answer.error {
            Some(_) => AskResult::Error,
            None if answer.feasible.is_empty() => AskResult::Unschedulable,
            None => AskResult::Fits,
        };
        self.metrics.count_answer(result);
        self.asked.note(&answer.pod, asker, result);
    }

    /// Counts and logs a cached verdict that differs from a fresh one.
    pub(crate) fn mismatch(&self, pod: String, difference: String) -> Error {
        self.metrics.contradicted.inc();
        tracing::error!(%pod, %difference, "a cached verdict differs from a fresh one");
        Error::ReuseMismatch { pod, difference }
    }
}

/// Evaluates one pod: all rows, then the nominated rows again, then cut by limit.
fn evaluate_pod(
    evaluator: Evaluator<'_>,
    query: &Query,
    context: &Arc<Context>,
    nominated: &[NominatedRow],
    budget: &mut RowBudget,
) -> Result<PodEvaluation, Stop> {
    let with_nominated = |evaluation: Evaluation, nominated: &[NominatedRow]| {
        nominated::evaluate_again(evaluation, evaluator, nominated, context, query.depth, budget)
    };
    match &query.nodes {
        Nodes::Enough(sample) => sample::evaluate(evaluator, sample, context, nominated, with_nominated),
        Nodes::All | Nodes::Named(_) => {
            let mut with_nominated = with_nominated;
            let evaluation = with_nominated(evaluator.evaluate(context)?, nominated)?;
            Ok(PodEvaluation { evaluation, context: Arc::clone(context), next: None })
        }
    }
}

/// The alternatives with which answers to a query are compared, if any. They evaluate all predicates.
fn compared<'a>(
    shadow: Option<&'a Shadow>,
    running: &Running,
    query: &Query,
    snapshot: &Snapshot,
) -> Option<&'a Shadow> {
    shadow.filter(|shadow| query.skip.is_empty() && shadow.compares(running.policy.generation, snapshot))
}

/// The error of a query whose evaluation stopped at a pod.
fn stopped(stop: Stop, subject: &Subject) -> Error {
    match stop {
        Stop::Deadline => Error::DeadlineExceeded,
        Stop::NominatedRows => Error::TooManyNominated { pod: subject.name.clone(), limit: NOMINATED_ROWS },
    }
}

/// Until when one pod of several may be evaluated.
fn share(deadline: Option<Instant>) -> Option<Instant> {
    deadline.map(|deadline| {
        let now = Instant::now();
        now + deadline.saturating_duration_since(now) / POD_SHARE
    })
}
