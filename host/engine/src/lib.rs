//! The engine: evaluates a query about pods and nodes against one snapshot and one policy. It does no I/O and never waits.
//!
//! ```text
//! query       pods, nodes, phase, depth         answer      feasible rows, failures, faults    error    why there is none
//! policy      the predicates that run           metrics     counters and gauges    limits    every limit
//! clock       what tells the time to predicates
//! breaker     quarantine of a predicate that fails for everybody
//! set_aside   pod templates that a predicate is not called about for now
//! throttle    namespaces whose pods have taken much processor time lately
//! predicate_metrics   calls, rows, time, reuse and faults of each predicate    latency    their times
//! subject     the pod of a query
//! accounting  the accounting component of the policy: what pods take of their nodes
//! party       external parties of a policy, and what a negotiation asks the engine
//! facts       what predicates read: one pod, one batch of rows, one snapshot
//! evaluate    evaluation of one pod: predicates called or cached verdicts used, then combined
//! reuse       cached verdicts, and the facts that they depend on
//! allocation  what a pod's claims get on a node, as it is written
//! selectors   which devices the CEL of selectors matches, and what is kept of it
//! shadow      policies that are evaluated beside the active one and decide nothing
//! scenarios   nominated pods, limits on nodes, overlays, preemption, the trial of a policy, the first evaluation
//! ```
//!
//! Start with [`Engine::answer`]. Every query takes the same path, pod by pod: evaluate all rows, evaluate the nominated rows
//! again, cut by limit.

pub mod accounting;
pub mod allocation;
mod answer;
mod breaker;
mod clock;
mod error;
mod evaluate;
mod facts;
mod latency;
pub mod limits;
mod metrics;
mod party;
mod policy;
pub mod predicate_metrics;
mod query;
mod reuse;
mod scenarios;
pub mod selectors;
mod set_aside;
pub mod shadow;
mod subject;
mod throttle;

use std::sync::Arc;
use std::time::Instant;

use arc_swap::{ArcSwap, ArcSwapOption};
use nodesift_cache::metadata::PodRecord;
use nodesift_cache::{Generation, Reader, Row, Snapshot};
use nodesift_sandbox::{Pulse, Runtime};
use parking_lot::Mutex;
use smallvec::SmallVec;

pub use accounting::{AccountingSettings, ActiveAccounting, OnAccountError};
pub use answer::{
    Answer, Cycle, ExplainedParties, FailureGroup, FaultEffect, FaultReport, PodAnswer, PredicateAnswer,
    RequestedDevices,
};
pub use breaker::{Breaker, Quarantine};
pub use clock::Clock;
pub use error::Error;
pub use evaluate::evaluator::StandIn;
pub use evaluate::row_set::RowSet;
pub use evaluate::rows_by_name::RowsByName;
pub use facts::{Batch, Context};
pub use metrics::Metrics;
pub use nodesift_sandbox::Code;
pub use party::{PartySeat, PolicyParty};
pub use policy::{
    ActivePolicy, ActivePredicate, LastReload, Mode, OnError, Origin, Phase, Phases, PolicySettings, Refusal,
    ReloadOutcome, Retired, StepFailure,
};
pub use query::{Depth, Nodes, PodRef, Query, Sample};
pub use scenarios::overlay::{OverlayPart, OverlaySpec, accounted};
pub use scenarios::preemption::{Candidate, Preemption, PreemptionAnswer, PreemptionOutcome};
pub use scenarios::reprieve::{NodeVictims, Reprieve, ReprieveAnswer, ReprieveError};
pub use scenarios::reprieve_run::ReprieveOutcome;
pub use scenarios::trial::{Trial, TrialFault};
pub use scenarios::warm_up::WarmUp;
pub use set_aside::Aside;
pub use shadow::{
    Alternative, Asked, Change, Comparison, Differences, Effect, Extent, PodDifference, Record, RecordedChange,
    RecordedDifference, Shadow,
};
pub use throttle::{Throttle, Throttled};

use evaluate::Stop;
use evaluate::evaluation::Evaluation;
use evaluate::evaluator::Evaluator;
use limits::{ANSWER_BYTES, NOMINATED_ROWS, POD_SHARE, REUSE_BYTES, UNKNOWN_NODES};
use policy::replace::Handover;
use reuse::Store;
use scenarios::nominated::{self, NominatedRow, RowBudget};
use scenarios::sample;
use subject::Subject;

/// Whether verdicts are reused between queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Cached verdicts are used while they are valid.
    #[default]
    On,
    /// Every query calls all predicates.
    Off,
    /// Every query is evaluated with and without cached verdicts; the first difference is an error.
    Verified,
}

/// Answers queries. All methods may be called from many threads at once.
#[derive(Debug)]
pub struct Engine {
    cache: Reader,
    running: ArcSwap<Running>,
    /// Locked while the policy is replaced.
    replacing: Mutex<()>,
    /// Policies that are not active, while snapshots belong to them.
    handover: Handover,
    refusal: ArcSwapOption<Refusal>,
    last_reload: ArcSwapOption<LastReload>,
    shadow: ArcSwapOption<Shadow>,
    reuse: Reuse,
    store_bytes: usize,
    metrics: Metrics,
    clock: Clock,
    /// Keeps the epoch clock of all deadlines running.
    runtime: Runtime,
}

/// The active policy and its cached verdicts.
#[derive(Debug)]
struct Running {
    policy: Arc<ActivePolicy>,
    store: Store,
    /// [`Snapshot::ownership`] of the snapshots that it decides about.
    ownership: u64,
    /// The newest generation of the cache when the policy became active: from then on the cache holds what it reads.
    from: Generation,
}

impl Running {
    fn new(policy: Arc<ActivePolicy>, store_bytes: usize, metrics: Metrics, ownership: u64) -> Self {
        let store = Store::new(policy.predicates.len(), store_bytes, metrics);
        Self { policy, store, ownership, from: Generation(0) }
    }

    /// Whether a snapshot was taken before the policy became active, and another one has been published in between; or before
    /// pods were counted as the policy says.
    fn is_after(&self, snapshot: &Snapshot) -> bool {
        snapshot.generation() < self.from || snapshot.ownership() < self.ownership
    }
}

/// The evaluation of one pod over the rows of the query, or over those up to its limit.
#[derive(Debug)]
struct PodEvaluation {
    evaluation: Evaluation,
    /// The facts about the evaluated rows.
    context: Arc<Context>,
    /// The row after the last evaluated one; `None` where the query has no limit.
    next: Option<Row>,
}

impl PodEvaluation {
    /// The first difference from another evaluation of the same pod on the same snapshot.
    fn difference(&self, other: &Self) -> Option<String> {
        let is_faulty = self.evaluation.has_faults() || other.evaluation.has_faults();
        if self.next != other.next {
            return (!is_faulty).then(|| format!("next is {:?}, fresh {:?}", self.next, other.next));
        }
        if self.context.rows() != other.context.rows() {
            return (!is_faulty).then(|| format!("{} rows, fresh {}", self.context.rows(), other.context.rows()));
        }
        self.evaluation.difference(&other.evaluation, &self.context)
    }
}

impl Engine {
    /// Creates an engine over a cache, with its first policy and the runtime that loaded it.
    pub fn new(cache: Reader, mut policy: ActivePolicy, runtime: Runtime) -> Self {
        policy.origin.since = policy::replace::now();
        let metrics = Metrics::default();
        let store_bytes = REUSE_BYTES;
        let ownership = cache.snapshot().ownership();
        let running = ArcSwap::from_pointee(Running::new(Arc::new(policy), store_bytes, metrics.clone(), ownership));
        let (refusal, last_reload, shadow) = (ArcSwapOption::empty(), ArcSwapOption::empty(), ArcSwapOption::empty());
        let (replacing, handover, reuse) = (Mutex::default(), Handover::default(), Reuse::default());
        let clock = Clock::default();
        Self {
            cache,
            running,
            replacing,
            handover,
            refusal,
            last_reload,
            shadow,
            reuse,
            store_bytes,
            metrics,
            clock,
            runtime,
        }
    }

    /// Sets what tells the time to predicates; by default, the clock of the machine.
    #[must_use]
    pub fn timed_by(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets whether verdicts are reused.
    #[must_use]
    pub fn reusing(self, reuse: Reuse) -> Self {
        Self { reuse, ..self }
    }

    /// Sets the metrics. Cached verdicts are dropped.
    #[must_use]
    pub fn counting(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }.with_empty_store()
    }

    /// Sets the upper bound of the store of cached verdicts, in bytes. Cached verdicts are dropped.
    #[must_use]
    pub fn keeping_at_most(self, bytes: usize) -> Self {
        Self { store_bytes: bytes, ..self }.with_empty_store()
    }

    fn with_empty_store(self) -> Self {
        let ownership = self.running.load().ownership;
        let running = Running::new(self.policy(), self.store_bytes, self.metrics.clone(), ownership);
        Self { running: ArcSwap::from_pointee(running), ..self }
    }

    /// Returns the newest published snapshot of the cache.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.cache.snapshot()
    }

    /// Returns the policy that answers queries now.
    pub fn policy(&self) -> Arc<ActivePolicy> {
        Arc::clone(&self.running.load().policy)
    }

    /// The sandbox, for loading the next policy.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The heartbeat of the clock that limits the time of guests.
    pub fn pulse(&self) -> &Arc<Pulse> {
        self.runtime.pulse()
    }

    /// Has answers by the active policy compared with those of others from now on; `None` ends that.
    pub fn set_shadow(&self, shadow: Option<Arc<Shadow>>) {
        self.shadow.store(shadow);
    }

    /// Returns the alternatives with which answers are compared; `None` where there are none.
    pub fn shadow(&self) -> Option<Arc<Shadow>> {
        self.shadow.load_full()
    }

    /// Pods of the cache that are bound to no node, by namespace and name.
    pub fn pending_pods(&self) -> Vec<Arc<PodRecord>> {
        self.cache.pods().pending()
    }

    /// Answers from the newest snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`] or [`Error::UnknownNode`] where a pod or node is not in the cache, [`Error::TooManyNominated`] where
    /// too many nodes have nominated pods, [`Error::DeadlineExceeded`] where the query's deadline passes first,
    /// [`Error::OlderThanPolicy`] where the policy is replaced meanwhile, [`Error::ReuseMismatch`] with [`Reuse::Verified`].
    pub fn answer(&self, query: &Query) -> Result<Answer, Error> {
        self.answer_on(&self.snapshot(), query)
    }

    /// Answers from a given snapshot, so that a caller can look up rows in the same one.
    ///
    /// # Errors
    ///
    /// As for [`Self::answer`].
    pub fn answer_on(&self, snapshot: &Arc<Snapshot>, query: &Query) -> Result<Answer, Error> {
        self.answer_with_unknown(Unknown::Fails, snapshot, query)
    }

    /// Answers from a given snapshot like [`Self::answer_on`], but a pod or node that is not in the cache is named in the answer
    /// and does not fail the query.
    ///
    /// # Errors
    ///
    /// As for [`Self::answer`], where none of the query's nodes is in the cache, and for more than [`UNKNOWN_NODES`] unknown
    /// nodes. See also [`Answer::of_known_pods`].
    pub fn answer_known_on(&self, snapshot: &Arc<Snapshot>, query: &Query) -> Result<Answer, Error> {
        self.answer_with_unknown(Unknown::IsNamed, snapshot, query)
    }

    fn answer_with_unknown(&self, unknown: Unknown, snapshot: &Arc<Snapshot>, query: &Query) -> Result<Answer, Error> {
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) {
            return Err(Error::OlderThanPolicy);
        }
        let shadow = self.shadow.load();
        self.answer_running(&running, shadow.as_deref(), unknown, snapshot, query)
    }

    /// Answers by a policy, and offers the answers to what is compared with it.
    fn answer_running(
        &self,
        running: &Running,
        shadow: Option<&Shadow>,
        unknown: Unknown,
        snapshot: &Arc<Snapshot>,
        query: &Query,
    ) -> Result<Answer, Error> {
        check_skipped(&running.policy, &query.skip)?;
        let (batch, unknown_nodes) = batch(snapshot, &query.nodes, unknown)?;
        // What is compared evaluates all predicates.
        let shadow = shadow.filter(|_| query.skip.is_empty());
        let shadow = shadow.filter(|shadow| shadow.compares(running.policy.generation, snapshot));
        // Cached verdicts are valid for generations of the cache. A snapshot with an overlay has the generation of its base but
        // different rows, so it neither uses the store nor fills it.
        let may_reuse = self.reuse != Reuse::Off && snapshot.overlaid_rows().is_none();
        let evaluator = Evaluator::new(&running.policy, query.phase, may_reuse.then_some(&running.store));
        let evaluator = evaluator.without(&query.skip);
        let mut budget = RowBudget::default();
        let mut bytes = 0;
        // What some pods ask for takes as long as the whole request has.
        let shares = unknown == Unknown::IsNamed && query.pods.len() > 1;
        let pods = query.pods.iter().map(|pod| {
            // Also between pods whose verdicts are all cached, for which no predicate is called.
            if query.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::DeadlineExceeded);
            }
            let subject = match self.subject(pod, &running.policy) {
                Err(Error::UnknownPod { pod }) if unknown == Unknown::IsNamed => {
                    let error = Some(Box::new(Error::UnknownPod { pod: pod.clone() }));
                    return Ok(PodAnswer { pod, error, ..PodAnswer::default() });
                }
                Err(Error::OtherVersion { pod, wanted, found }) if unknown == Unknown::IsNamed => {
                    let error = Some(Box::new(Error::OtherVersion { pod: pod.clone(), wanted, found }));
                    return Ok(PodAnswer { pod, error, ..PodAnswer::default() });
                }
                subject => Subject { is_negotiated: unknown == Unknown::FailsForCandidates, ..subject? },
            };
            let wanted = shadow.and_then(|shadow| Some((shadow, shadow.wants(&subject)?)));
            let (pod, until) = match shares {
                true => (subject.name.clone(), share(query.deadline)),
                false => (String::new(), query.deadline),
            };
            let answer = match self.answer_pod(evaluator, query, until, subject, snapshot, &batch, &mut budget) {
                // Of the request there is time left.
                Err(Error::DeadlineExceeded) if shares => {
                    let error = Some(Box::new(Error::PodTooSlow { pod: pod.clone() }));
                    return Ok(PodAnswer { pod, error, ..PodAnswer::default() });
                }
                answer => answer?,
            };
            if let Some((shadow, subject)) = wanted {
                shadow.offer(subject, query.phase, snapshot, &answer);
            }
            bytes += answer.heap_bytes();
            if bytes > ANSWER_BYTES {
                return Err(Error::AnswerTooLarge { limit: ANSWER_BYTES });
            }
            Ok(answer)
        });
        let pods = pods.collect::<Result<_, Error>>()?;
        Ok(Answer { snapshot: Arc::clone(snapshot), policy_generation: running.policy.generation, pods, unknown_nodes })
    }

    /// Answers about one pod, until a moment that may be before the query's deadline.
    #[expect(clippy::too_many_arguments, reason = "what a query has once, and what it has for each pod")]
    fn answer_pod(
        &self,
        evaluator: Evaluator<'_>,
        query: &Query,
        until: Option<Instant>,
        subject: Subject,
        snapshot: &Arc<Snapshot>,
        batch: &Batch,
        budget: &mut RowBudget,
    ) -> Result<PodAnswer, Error> {
        let context = Arc::new(subject.context(snapshot, batch.clone()).until(until));
        let nominated = nominated::nominated_rows(snapshot, batch, &subject);
        let evaluated = match self.reuse {
            Reuse::Verified => self.evaluate_verified(evaluator, query, &subject, &context, &nominated, budget)?,
            Reuse::On | Reuse::Off => {
                evaluate_pod(evaluator, query, &context, &nominated, budget).map_err(|stop| stopped(stop, &subject))?
            }
        };
        let answer = evaluated.evaluation.into_answer(query.depth, subject.name, &evaluated.context);
        let account = subject.account.filter(|_| query.depth == Depth::Each);
        Ok(PodAnswer { next: evaluated.next, account, ..answer })
    }

    /// Evaluates with and without the store, and compares the results.
    fn evaluate_verified(
        &self,
        evaluator: Evaluator<'_>,
        query: &Query,
        subject: &Subject,
        context: &Arc<Context>,
        nominated: &[NominatedRow],
        budget: &mut RowBudget,
    ) -> Result<PodEvaluation, Error> {
        let evaluate = |evaluator: Evaluator<'_>, budget: &mut RowBudget| {
            let evaluated = evaluate_pod(evaluator, query, context, nominated, budget);
            evaluated.map_err(|stop| stopped(stop, subject))
        };
        // Looked up first: the evaluation below caches every verdict.
        let is_plain = query.nodes == Nodes::All && nominated.is_empty();
        let cached = if is_plain { evaluator.cached(context) } else { None };
        let mut fresh_budget = budget.clone();
        let reused = evaluate(evaluator, budget)?;
        if evaluator.store().is_some() {
            let fresh = evaluate(evaluator.fresh(), &mut fresh_budget)?;
            let cached_differs = |cached: Evaluation| cached.difference(&fresh.evaluation, context);
            if let Some(difference) = reused.difference(&fresh).or_else(|| cached.and_then(cached_differs)) {
                return Err(self.mismatch(subject.name.clone(), difference));
            }
        }
        Ok(reused)
    }

    /// Counts and logs a cached verdict that differs from a fresh one.
    fn mismatch(&self, pod: String, difference: String) -> Error {
        self.metrics.contradicted.inc();
        tracing::error!(%pod, %difference, "a cached verdict differs from a fresh one");
        Error::ReuseMismatch { pod, difference }
    }

    /// The answer, where all verdicts are cached and valid. Takes some microseconds per pod and calls no predicate. `None` in
    /// every other case, errors included.
    pub fn answer_cached(&self, snapshot: &Arc<Snapshot>, query: &Query) -> Option<Answer> {
        let every_row = query.nodes == Nodes::All && snapshot.overlaid_rows().is_none();
        if self.reuse != Reuse::On || !every_row || query.depth != Depth::FirstFailure {
            return None;
        }
        let running = self.running_on(snapshot);
        if running.is_after(snapshot) || check_skipped(&running.policy, &query.skip).is_err() {
            return None;
        }
        let shadow = self.shadow.load();
        let shadow = shadow.as_deref().filter(|_| query.skip.is_empty());
        let shadow = shadow.filter(|shadow| shadow.compares(running.policy.generation, snapshot));
        let evaluator = Evaluator::new(&running.policy, query.phase, Some(&running.store)).without(&query.skip);
        // Offered at the end: a query with one pod that is not cached is answered again as a whole.
        let mut wanted: SmallVec<[Option<Subject>; 1]> = SmallVec::new();
        let answer = |pod: &PodRef| {
            let subject = self.subject(pod, &running.policy).ok()?;
            if !nominated::nominated_rows(snapshot, &Batch::All, &subject).is_empty() {
                return None;
            }
            let context = subject.context(snapshot, Batch::All);
            let evaluation = evaluator.cached(&context)?;
            if let Some(shadow) = shadow {
                wanted.push(shadow.wants(&subject));
            }
            Some(evaluation.into_answer(query.depth, subject.name, &context))
        };
        let pods: Vec<PodAnswer> = query.pods.iter().map(answer).collect::<Option<_>>()?;
        if let Some(shadow) = shadow {
            for (subject, answer) in wanted.into_iter().zip(&pods) {
                if let Some(subject) = subject {
                    shadow.offer(subject, query.phase, snapshot, answer);
                }
            }
        }
        let (snapshot, policy_generation) = (Arc::clone(snapshot), running.policy.generation);
        Some(Answer { snapshot, policy_generation, pods, unknown_nodes: Vec::new() })
    }

    /// Answers about every node of the newest snapshot, with a native function in place of the wasm predicates and without
    /// reuse. Everything else is as in [`Self::answer`]: benchmarks measure the cost of the sandbox by the difference.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`] where a pod is not in the cache.
    pub fn answer_with(&self, stand_in: &StandIn<'_>, query: &Query) -> Result<Answer, Error> {
        let snapshot = self.snapshot();
        let running = self.running_on(&snapshot);
        check_skipped(&running.policy, &query.skip)?;
        let evaluator = Evaluator::new(&running.policy, query.phase, None).without(&query.skip);
        let answer = |pod: &PodRef| {
            let subject = self.subject(pod, &running.policy)?;
            let context = Arc::new(subject.context(&snapshot, Batch::All));
            let evaluation = evaluator.evaluate_with(stand_in, &context).map_err(|stop| stopped(stop, &subject))?;
            Ok(evaluation.into_answer(query.depth, subject.name, &context))
        };
        let pods = query.pods.iter().map(answer).collect::<Result<_, Error>>()?;
        Ok(Answer { snapshot, policy_generation: running.policy.generation, pods, unknown_nodes: Vec::new() })
    }

    /// The pod of a query, with the facts that the policy selects.
    fn subject(&self, pod: &PodRef, policy: &ActivePolicy) -> Result<Subject, Error> {
        if let PodRef::Whole(pod) = pod {
            return Ok(Subject::of_object(pod, policy, self.clock.now()));
        }
        Ok(Subject::of_record(&*self.record(pod)?, policy, self.clock.now()))
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

/// Checks that the policy has all predicates that are to be skipped.
fn check_skipped(policy: &ActivePolicy, skip: &[String]) -> Result<(), Error> {
    let is_known = |name: &&String| policy.predicates.iter().any(|predicate| *predicate.name == **name);
    let Some(unknown) = skip.iter().find(|name| !is_known(name)) else { return Ok(()) };
    let known: Vec<&str> = policy.predicates.iter().map(|predicate| &*predicate.name).collect();
    Err(Error::UnknownPredicate { predicate: unknown.clone(), known: known.join(", ") })
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

/// Handling of pods and nodes of a query that are not in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// The first unknown pod or node fails the query.
    Fails,
    /// The answer names the unknown pods and nodes.
    IsNamed,
    /// The first unknown pod fails the query, for candidates of a negotiation; unknown nodes are left out.
    FailsForCandidates,
}

/// The rows of the query, and the names that are unknown. Named nodes are deduplicated and sorted by name. A limit selects among
/// all rows.
fn batch(snapshot: &Snapshot, nodes: &Nodes, unknown: Unknown) -> Result<(Batch, Vec<String>), Error> {
    let Nodes::Named(names) = nodes else { return Ok((Batch::All, Vec::new())) };
    let mut rows: Vec<Row> = Vec::with_capacity(names.len());
    let mut missing = Vec::new();
    for name in names {
        match snapshot.node_row(name) {
            Some(row) => rows.push(row),
            None if missing.len() > UNKNOWN_NODES => break,
            None => missing.push(name.clone()),
        }
    }
    if let Some(node) = missing.first()
        && (unknown == Unknown::Fails || rows.is_empty() || missing.len() > UNKNOWN_NODES)
    {
        return Err(Error::UnknownNode { node: node.clone() });
    }
    missing.sort_unstable();
    missing.dedup();
    rows.sort_unstable_by_key(|row| snapshot.node_name(*row));
    rows.dedup();
    Ok((Batch::Rows(rows.into()), missing))
}
