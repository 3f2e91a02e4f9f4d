//! The engine: a question about pods and nodes in, an answer from one snapshot and one policy out. It does no I/O.
//!
//! Start with [`Engine::answer`]; `evaluate` asks the predicates about one pod, `reuse` keeps their verdicts, `conjunction`
//! combines them, `nominated` makes way for pods that others make room for, `sample` ends where enough nodes fit, `context`
//! offers a predicate its facts. `overlay` is for questions about the cluster as it is not, `preemption` for how many pods
//! have to go and `trial` for one node of that.

mod answer;
mod conjunction;
mod context;
mod evaluate;
mod judgement;
pub mod limits;
mod metrics;
mod nominated;
mod overlay;
mod policy;
mod preemption;
mod question;
mod reuse;
mod rows;
mod sample;
mod size;
mod trial;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use answer::{Answer, Code, Cycle, Failure, FaultEffect, FaultReport, PodAnswer, PredicateAnswer};
pub use context::{Batch, Context};
pub use evaluate::Judge;
pub use metrics::Metrics;
pub use overlay::{Supposed, WhatIf};
pub use preemption::{Candidate, Preemption, PreemptionAnswer, PreemptionOutcome};
pub use question::{Depth, Nodes, PodRef, Question, Sample};
pub use rows::RowSet;

use crate::limits::{NOMINATED_ROWS, REUSE_BYTES};
use evaluate::{Evaluated, Source};
use nodesift_cache::metadata::{self, PodFacts, PodRecord};
use nodesift_cache::{OverlayError, Reader, Row, Snapshot};
use nodesift_sandbox::Runtime;
use nominated::{Budget, Claim, Spent};
pub use policy::{ActivePolicy, ActivePredicate, OnError, Phase, Phases};
use reuse::Store;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pod is not in the cache.
    #[error("pod {pod} is not in the cache: name a pod that exists, or send the whole pod")]
    UnknownPod {
        /// As the question named it.
        pod: String,
    },
    /// A node of the subset is not in the cache.
    #[error("node {node:?} is not in the cache")]
    UnknownNode {
        /// As the question named it.
        node: String,
    },
    /// What is supposed does not fit what there is.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// There are more nodes with nominated pods than one question may judge again.
    #[error(
        "pod {pod}: nodes with nominated pods have to be judged again with these, which takes more than {limit} rows in \
         this request: ask about fewer pods or nodes at once"
    )]
    TooManyNominated {
        /// `namespace/name`.
        pod: String,
        /// [`crate::limits::NOMINATED_ROWS`].
        limit: usize,
    },
    /// A part of what is supposed names what is not there.
    #[error("{place}: {error}")]
    Supposed {
        /// Which part.
        place: Supposed,
        /// What is not there.
        error: Box<Error>,
    },
    /// A preemption question is about a cluster as it is not: its victims are looked up where they really are.
    #[error("how many pods have to go can only be asked about the cluster as it is, without an overlay")]
    Overlaid,
    /// A verdict that was kept is not that of a fresh evaluation: a defect of this program, looked for on demand only.
    #[error("pod {pod}: a kept verdict differs from a fresh one: {difference}")]
    Contradiction {
        /// `namespace/name`.
        pod: String,
        /// The first difference.
        difference: String,
    },
}

/// What becomes of verdicts between questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// They are kept for as long as they stand.
    #[default]
    On,
    /// Every question evaluates afresh.
    Off,
    /// They are kept, and every question evaluates afresh too and compares: the first difference is an error.
    Verified,
}

/// Answers questions; safe to call from many threads at once.
#[derive(Debug)]
pub struct Engine {
    cache: Reader,
    running: ArcSwap<Running>,
    reuse: Reuse,
    kept_bytes: usize,
    metrics: Metrics,
    /// Keeps the clock of all deadlines running.
    _runtime: Runtime,
}

/// A policy, and the verdicts that are kept of it.
#[derive(Debug)]
struct Running {
    policy: Arc<ActivePolicy>,
    store: Store,
}

impl Running {
    fn new(policy: Arc<ActivePolicy>, kept_bytes: usize, metrics: Metrics) -> Self {
        let store = Store::new(policy.predicates.len(), kept_bytes, metrics);
        Self { policy, store }
    }
}

/// A pod as predicates see it.
#[derive(Clone)]
struct Subject {
    /// `namespace/name`.
    name: String,
    /// The name alone.
    pod: Arc<str>,
    /// As in the object; empty where it has none.
    uid: Arc<str>,
    /// `spec.priority`; 0 where absent.
    priority: i32,
    node_name: Option<Arc<str>>,
    facts: Arc<PodFacts>,
}

impl Subject {
    /// The pod against some rows of a snapshot.
    fn context(&self, snapshot: &Arc<Snapshot>, batch: Batch) -> Context {
        let (snapshot, facts) = (Arc::clone(snapshot), Arc::clone(&self.facts));
        Context::new(snapshot, facts, self.node_name.clone(), batch).named(&self.pod, &self.uid)
    }
}

impl Engine {
    /// An engine over a cache, with its first policy and the run time that loaded it.
    pub fn new(cache: Reader, policy: ActivePolicy, runtime: Runtime) -> Self {
        let metrics = Metrics::default();
        let kept_bytes = REUSE_BYTES;
        let running = ArcSwap::from_pointee(Running::new(Arc::new(policy), kept_bytes, metrics.clone()));
        Self { cache, running, reuse: Reuse::default(), kept_bytes, metrics, _runtime: runtime }
    }

    /// Says what becomes of verdicts between questions.
    #[must_use]
    pub fn reusing(self, reuse: Reuse) -> Self {
        Self { reuse, ..self }
    }

    /// Counts in these metrics from here on. What is kept is forgotten.
    #[must_use]
    pub fn counting(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }.afresh()
    }

    /// Keeps verdicts of so many bytes at most from here on. What is kept is forgotten.
    #[must_use]
    pub fn keeping_at_most(self, bytes: usize) -> Self {
        Self { kept_bytes: bytes, ..self }.afresh()
    }

    /// With nothing kept.
    fn afresh(self) -> Self {
        let running = Running::new(self.policy(), self.kept_bytes, self.metrics.clone());
        Self { running: ArcSwap::from_pointee(running), ..self }
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.cache.snapshot()
    }

    /// The active policy.
    pub fn policy(&self) -> Arc<ActivePolicy> {
        Arc::clone(&self.running.load().policy)
    }

    /// Pods of the cache that are bound to no node, by namespace and name.
    pub fn pending_pods(&self) -> Vec<Arc<PodRecord>> {
        self.cache.pods().pending()
    }

    /// Answers from the newest snapshot.
    pub fn answer(&self, question: &Question) -> Result<Answer, Error> {
        self.answer_on(&self.snapshot(), question)
    }

    /// Answers from a given snapshot, so that a caller can look up rows in the same one.
    pub fn answer_on(&self, snapshot: &Arc<Snapshot>, question: &Question) -> Result<Answer, Error> {
        let running = self.running.load();
        let batch = batch(snapshot, &question.nodes)?;
        let mut budget = Budget::default();
        let pods = question
            .pods
            .iter()
            .map(|pod| {
                let subject = self.subject(pod)?;
                let claims = nominated::claims(snapshot, &batch, &subject);
                let context = Arc::new(subject.context(snapshot, batch.clone()));
                self.answer_about(&running, question, subject.name, &claims, &context, &mut budget)
            })
            .collect::<Result<_, Error>>()?;
        Ok(Answer { snapshot: Arc::clone(snapshot), policy_generation: running.policy.generation, pods })
    }

    fn answer_about(
        &self,
        running: &Running,
        question: &Question,
        pod: String,
        claims: &[Claim],
        context: &Arc<Context>,
        budget: &mut Budget,
    ) -> Result<PodAnswer, Error> {
        // What is kept stands for generations of the cache. An overlay has the generation of what it lies over, and other
        // rows, so that it neither finds its verdicts there nor leaves any.
        let is_kept = self.reuse != Reuse::Off && context.snapshot().overlaid_rows().is_none();
        let source = if is_kept { Source::Store } else { Source::Fresh };
        // Looked for before anything is judged: afterwards all of it is there.
        let is_compared = is_kept && self.reuse == Reuse::Verified;
        let is_whole = is_compared && question.nodes == Nodes::All && claims.is_empty();
        let at_once = is_whole.then(|| evaluate::kept(running, question, context));
        let mut again = budget.clone();
        let judge = |source: Source, budget: &mut Budget| {
            let judged = sample::judge(running, question, context, source, claims, budget);
            judged.map_err(|Spent| Error::TooManyNominated { pod: pod.clone(), limit: NOMINATED_ROWS })
        };
        let judged = judge(source, budget)?;
        if is_compared {
            let fresh = judge(Source::Fresh, &mut again)?;
            let differs = |kept: Evaluated| kept.difference(&fresh.evaluated, context);
            if let Some(difference) = judged.difference(&fresh).or_else(|| at_once.flatten().and_then(differs)) {
                return Err(self.contradicted(pod, difference));
            }
        }
        let answer = judged.evaluated.answer(question, pod, &judged.context);
        Ok(PodAnswer { next: judged.next, ..answer })
    }

    /// Counts and logs that what was kept is not what a fresh evaluation says.
    fn contradicted(&self, pod: String, difference: String) -> Error {
        self.metrics.contradicted.inc();
        tracing::error!(%pod, %difference, "a kept verdict differs from a fresh one");
        Error::Contradiction { pod, difference }
    }

    /// The answer, where all of it is kept and stands as it is: some microseconds a pod, no predicate is called. None where
    /// anything else is to do, be it to say what is wrong with the question.
    pub fn answer_kept(&self, snapshot: &Arc<Snapshot>, question: &Question) -> Option<Answer> {
        let every_row = question.nodes == Nodes::All && snapshot.overlaid_rows().is_none();
        if self.reuse != Reuse::On || !every_row || question.depth != Depth::FirstFailure {
            return None;
        }
        let running = self.running.load();
        let answer = |pod: &PodRef| {
            let subject = self.subject(pod).ok()?;
            if !nominated::claims(snapshot, &Batch::All, &subject).is_empty() {
                return None;
            }
            let context = subject.context(snapshot, Batch::All);
            let evaluated = evaluate::kept(&running, question, &context)?;
            Some(evaluated.answer(question, subject.name, &context))
        };
        let pods = question.pods.iter().map(answer).collect::<Option<_>>()?;
        Some(Answer { snapshot: Arc::clone(snapshot), policy_generation: running.policy.generation, pods })
    }

    /// Answers about every node of the newest snapshot, afresh, with somebody else judging in the place of the predicates;
    /// all around them is as in [`Self::answer`]. So the sandbox can be measured against the same code outside of it.
    pub fn answer_judged_by(&self, judge: &Judge<'_>, question: &Question) -> Result<Answer, Error> {
        let (snapshot, running) = (self.snapshot(), self.running.load());
        let answer = |pod: &PodRef| {
            let subject = self.subject(pod)?;
            let context = Arc::new(subject.context(&snapshot, Batch::All));
            let evaluated = evaluate::pod_by(judge, &running, question, &context);
            Ok(evaluated.answer(question, subject.name, &context))
        };
        let pods = question.pods.iter().map(answer).collect::<Result<_, Error>>()?;
        Ok(Answer { snapshot, policy_generation: running.policy.generation, pods })
    }

    fn subject(&self, pod: &PodRef) -> Result<Subject, Error> {
        if let PodRef::Whole(pod) = pod {
            let node_name = Some(pod.spec.node_name.as_str()).filter(|name| !name.is_empty()).map(Arc::from);
            return Ok(Subject {
                name: pod.key(),
                pod: Arc::from(pod.metadata.name.as_str()),
                uid: Arc::from(pod.metadata.uid.as_str()),
                priority: pod.spec.priority.unwrap_or(0),
                node_name,
                facts: Arc::new(metadata::pod(pod)),
            });
        }
        let record = self.record(pod)?;
        Ok(Subject {
            name: format!("{}/{}", record.namespace, record.name),
            pod: Arc::clone(&record.name),
            uid: Arc::from(record.object_uid()),
            priority: record.priority,
            node_name: record.node_name.clone(),
            facts: record.whole_facts(),
        })
    }
}

/// The rows asked about; named ones each once, in the order of names. Where enough are asked for, any may be.
fn batch(snapshot: &Snapshot, nodes: &Nodes) -> Result<Batch, Error> {
    let Nodes::Named(names) = nodes else { return Ok(Batch::All) };
    let row = |name: &String| snapshot.node_row(name).ok_or_else(|| Error::UnknownNode { node: name.clone() });
    let mut rows: Vec<Row> = names.iter().map(row).collect::<Result<_, _>>()?;
    rows.sort_unstable_by_key(|row| snapshot.node_name(*row));
    rows.dedup();
    Ok(Batch::Rows(rows.into()))
}
