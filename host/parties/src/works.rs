//! Work that is done beside the broker, and reported to it: candidates evaluated, pods assumed and forgotten, answers brought into
//! the cache. Start at [`Works`].
//!
//! Evaluations are those of `Filter`, in slots for large requests, so that small ones always find one. Everything about one pod is
//! done in its order. The answers of parties reach the cache before anything that is begun after them.

use std::collections::VecDeque;
use std::sync::Arc;

use nodesift_api::limits::WRITES;
use nodesift_api::{Age, Error, ListenerClass, RequestScope, Service, response};
use nodesift_cache::Reader;
use nodesift_cache::metadata::PodRecord;
use nodesift_engine::pending::Asker;
use nodesift_engine::{self as engine, Answer, Engine, Options, PodRef, Query};
use nodesift_negotiation::{ClaimUid, Evaluate, Evaluated, NegotiationId, Node, Subject as AnswerSubject, Suitability};
use nodesift_proto::v1;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::sleep;

use crate::decisions::Decisions;
use crate::record::Decision;
use crate::{Command, candidates, limits};

/// The pod of a negotiation.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// Record of the pod as the cache had it, or would have.
    pub(super) record: Arc<PodRecord>,
    /// Whether the pod was in the cache.
    pub(super) is_known: bool,
}

/// Report of work that has been done.
pub(super) enum Done {
    /// Candidates have been evaluated; none: the pod is gone.
    Evaluated(NegotiationId, Option<(Evaluated, v1::Version)>),
    /// A pod has been assumed for a negotiation, or not.
    Assumed { pod: Arc<str>, negotiation: NegotiationId, outcome: Result<(), Arc<str>> },
    /// A pod has been forgotten.
    Forgotten { pod: Arc<str> },
    /// A decision has been recorded, or need not be. `taken`: another sidecar gives back what the decision holds.
    Decided { pod: Arc<str>, taken: bool },
    /// Decisions of sidecars that are not there any more have been found.
    Left(Vec<Decision>),
    /// Assumed pods that are bound or gone.
    Watched(Vec<(NegotiationId, super::watch::Fate)>),
}

/// Work about one pod.
enum Job {
    Assume(Box<Placement>),
    Forget,
    Decide(Box<Decision>),
}

/// A pod to be assumed.
struct Placement {
    negotiation: NegotiationId,
    subject: Subject,
    node: Node,
    claims: Vec<ClaimUid>,
    /// Recorded before, if this process is the first to decide.
    decision: Option<Decision>,
    scope: RequestScope,
}

/// Rows of the column of answers.
type Rows = (Arc<str>, AnswerSubject, Vec<(Node, Suitability)>);

/// Permits to evaluate candidates, for each class of listeners: clients over TCP, whose pods may take as long as a request may, keep no
/// core on the Unix socket waiting.
struct Evaluations {
    unix: Arc<Semaphore>,
    tcp: Arc<Semaphore>,
}

impl Evaluations {
    fn new(at_once: usize) -> Self {
        let permits = || Arc::new(Semaphore::new(at_once));
        Self { unix: permits(), tcp: permits() }
    }

    fn class(&self, class: ListenerClass) -> &Arc<Semaphore> {
        match class {
            ListenerClass::Unix => &self.unix,
            // Over the listener of the explorer nobody negotiates.
            ListenerClass::Tcp | ListenerClass::Explorer => &self.tcp,
        }
    }
}

/// Does what the broker wants.
pub(super) struct Works {
    service: Service,
    decisions: Decisions,
    reports: mpsc::WeakSender<Command>,
    evaluations: Evaluations,
    writes: Arc<Semaphore>,
    /// Answers that the cache does not have yet, in their order.
    rows: Arc<Mutex<Vec<Arc<Rows>>>>,
    /// By pod: what is to be done after what is being done.
    jobs: FxHashMap<Arc<str>, VecDeque<Job>>,
}

impl Works {
    pub(super) fn new(service: Service, decisions: Decisions, reports: mpsc::WeakSender<Command>) -> Self {
        Self {
            service,
            decisions,
            reports,
            evaluations: Evaluations::new(limits::negotiation_evaluations()),
            writes: Arc::new(Semaphore::new(WRITES)),
            rows: Arc::default(),
            jobs: FxHashMap::default(),
        }
    }

    /// Reads the decisions to go on from, and tells why that fails for as long as it does.
    pub(super) fn load(
        &self,
        unread: watch::Sender<Option<String>>,
    ) -> impl Future<Output = Vec<Decision>> + Send + use<> {
        let decisions = self.decisions.clone();
        async move { decisions.load(&unread).await }
    }

    /// Looks for decisions of sidecars that are not there any more.
    pub(super) fn find_left(&self) {
        let decisions = self.decisions.clone();
        self.spawn(async move { Done::Left(decisions.load_left().await) });
    }

    /// Whether something is being done about a pod.
    pub(super) fn is_busy(&self, pod: &str) -> bool {
        self.jobs.contains_key(pod)
    }

    /// Evaluates candidates, again and again while that fails, until it is aborted.
    pub(super) fn evaluate(&self, subject: Subject, asked: Evaluate, scope: &RequestScope) -> AbortHandle {
        let (service, permits) = (self.service.clone(), Arc::clone(self.evaluations.class(scope.listener())));
        let (scope, rows) = (scope.clone(), Arc::clone(&self.rows));
        // In a box: the handle keeps the memory of its task until the negotiation ends, and that of the work goes when it is done.
        self.spawn(Box::pin(async move {
            let id = asked.negotiation;
            let work = Arc::new(Evaluation { subject, asked });
            loop {
                let evaluated = {
                    let _permit = permits.acquire().await;
                    flush(&service, &rows).await;
                    work.run(&service, &scope).await
                };
                match evaluated {
                    Ok(evaluated) => return Done::Evaluated(id, Some(evaluated)),
                    Err(Error::Engine(engine::Error::UnknownPod { .. })) => return Done::Evaluated(id, None),
                    Err(error) => {
                        tracing::debug!(%error, negotiation = id.0, "candidates are evaluated again");
                        sleep(limits::NEGOTIATION_RETRY).await;
                    }
                }
            }
        }))
    }

    /// Assumes a pod on a node where predicates allow it, and holds its claims; once the decision is recorded.
    pub(super) fn assume(
        &mut self,
        negotiation: NegotiationId,
        subject: &Subject,
        (node, claims): (Node, Vec<ClaimUid>),
        decision: Option<Decision>,
        scope: &RequestScope,
    ) {
        let placement =
            Placement { negotiation, subject: subject.clone(), node, claims, decision, scope: scope.clone() };
        self.enqueue(Arc::clone(&subject.record.uid), Job::Assume(Box::new(placement)));
    }

    /// Ends the assumption of a pod.
    pub(super) fn forget(&mut self, pod: Arc<str>) {
        self.enqueue(pod, Job::Forget);
    }

    /// Records what has become of a decision.
    pub(super) fn decide(&mut self, pod: Arc<str>, decision: Decision) {
        self.enqueue(pod, Job::Decide(Box::new(decision)));
    }

    /// Brings answers of parties into the cache.
    pub(super) fn set_rows(&self, party: Arc<str>, subject: AnswerSubject, changes: Vec<(Node, Suitability)>) {
        let is_first = {
            let mut rows = self.rows.lock();
            rows.push(Arc::new((party, subject, changes)));
            rows.len() == 1
        };
        if is_first {
            let (service, rows) = (self.service.clone(), Arc::clone(&self.rows));
            tokio::spawn(async move { flush(&service, &rows).await });
        }
    }

    /// Runs work that takes the cache's lock, and is reported.
    pub(super) fn look(&self, work: impl FnOnce(&Service) -> Done + Send + 'static) {
        let service = self.service.clone();
        self.spawn(async move {
            let done = spawn_blocking(move || work(&service)).await;
            done.unwrap_or_else(|_| Done::Watched(Vec::new()))
        });
    }

    fn enqueue(&mut self, pod: Arc<str>, job: Job) {
        match self.jobs.get_mut(&pod) {
            Some(waiting) => waiting.push_back(job),
            None => {
                self.jobs.insert(Arc::clone(&pod), VecDeque::new());
                self.run(pod, job);
            }
        }
    }

    /// Ends the work about a pod, and begins the next job that waits for it.
    pub(super) fn finish(&mut self, pod: &Arc<str>) {
        match self.jobs.get_mut(pod).and_then(VecDeque::pop_front) {
            Some(job) => self.run(Arc::clone(pod), job),
            None => drop(self.jobs.remove(pod)),
        }
    }

    fn run(&self, pod: Arc<str>, job: Job) {
        let (service, rows, writes) = (self.service.clone(), Arc::clone(&self.rows), Arc::clone(&self.writes));
        let decisions = self.decisions.clone();
        self.spawn(async move {
            // The record may be slow: for it no permit is held.
            match job {
                Job::Decide(decision) => {
                    let taken = decisions.write(&decision).await;
                    Done::Decided { pod, taken }
                }
                Job::Assume(mut placement) => {
                    let negotiation = placement.negotiation;
                    let decided = match placement.decision.take() {
                        Some(decision) => decisions.claim(&decision).await,
                        None => Ok(()),
                    };
                    let outcome = match decided {
                        Ok(()) => {
                            let _permit = writes.acquire().await;
                            flush(&service, &rows).await;
                            assume(&service, *placement).await
                        }
                        Err(reason) => Err(reason),
                    };
                    Done::Assumed { pod, negotiation, outcome }
                }
                Job::Forget => {
                    let _permit = writes.acquire().await;
                    flush(&service, &rows).await;
                    if service.forget_candidate(&pod).await.is_err() {
                        tracing::error!(pod = &*pod, "a pod that was negotiated is not forgotten");
                    }
                    Done::Forgotten { pod }
                }
            }
        });
    }

    /// Runs work, and reports what it has done.
    fn spawn(&self, work: impl Future<Output = Done> + Send + 'static) -> AbortHandle {
        let reports = self.reports.clone();
        let task = tokio::spawn(async move {
            let done = work.await;
            if let Some(reports) = reports.upgrade() {
                // The broker has ended: nobody wants to know.
                let _unsent = reports.send(Command::Done(done)).await;
            }
        });
        task.abort_handle()
    }
}

/// Evaluation of a pod's candidates.
struct Evaluation {
    subject: Subject,
    asked: Evaluate,
}

impl Evaluation {
    /// Evaluates on the newest snapshot: at once where all is cached and there is little to look through.
    async fn run(self: &Arc<Self>, service: &Service, scope: &RequestScope) -> Result<(Evaluated, v1::Version), Error> {
        service.check()?;
        let age = service.staleness().age();
        let asker = service.asker(scope.caller());
        let is_short = self.asked.order.len().saturating_sub(self.asked.start) <= limits::NEGOTIATION_AT_ONCE_NODES;
        if is_short && self.asked.selectors.is_empty() {
            let cached = service.try_at_once(scope.listener(), |engine| {
                let snapshot = engine.snapshot();
                let answer = engine.answer_cached(&self.query(service.reader(), asker, None).ok()?, &snapshot)?;
                Some(self.picked(engine, &answer, age))
            });
            if let Some(evaluated) = cached?.flatten() {
                return Ok(evaluated);
            }
        }
        let (work, reader) = (Arc::clone(self), service.reader().clone());
        let evaluated = service.evaluate_candidates(scope, move |engine, deadline| {
            let answer = engine.answer(&work.query(&reader, asker, Some(deadline))?, Options::default())?;
            Ok(work.picked(engine, &answer, age))
        });
        evaluated.await?.ok_or(Error::Internal)
    }

    fn query(&self, reader: &Reader, asker: Asker, deadline: Option<std::time::Instant>) -> Result<Query, Error> {
        let record = &self.subject.record;
        let pod = match (reader.pods().by_uid(&record.uid), self.subject.is_known) {
            (Some(pod), _) => PodRef::Known(pod),
            (None, false) => PodRef::Known(Arc::clone(record)),
            (None, true) => return Err(engine::Error::UnknownPod { pod: record.uid.to_string() }.into()),
        };
        Ok(Query::new([pod]).with_deadline(deadline).with_negotiated(true).with_asker(Some(asker)))
    }

    fn picked(&self, engine: &Engine, answer: &Answer, age: Age) -> Option<(Evaluated, v1::Version)> {
        let feasible = &answer.pods.first()?.feasible;
        let policy = engine.policy();
        let decides = |name: &Arc<str>| self.asked.parties.iter().any(|(party, _)| party == name);
        let parties: Vec<_> = policy.settings.parties.iter().filter(|known| decides(&known.party.name)).collect();
        let evaluated = candidates::pick(&answer.snapshot, feasible, &parties, &self.asked);
        Some((evaluated, response::version(&answer.snapshot, answer.policy_generation, age)))
    }
}

/// Assumes a pod in an evaluation slot.
async fn assume(service: &Service, placement: Placement) -> Result<(), Arc<str>> {
    let Placement { negotiation: _, subject, node, claims, decision: _, scope } = placement;
    let assumed = service.assume_candidate(&scope, subject.record, subject.is_known, node, claims);
    assumed.await.map_err(|error| error.text().into())
}

/// Brings what parties have said into the cache. Where it returns, everything is there that was said before.
async fn flush(service: &Service, rows: &Arc<Mutex<Vec<Arc<Rows>>>>) {
    // What is being brought in is still there.
    while !rows.lock().is_empty() {
        let (service, rows) = (service.clone(), Arc::clone(rows));
        let flushed = spawn_blocking(move || {
            let mut writer = service.writer().lock();
            // Under the lock, so that nobody brings in what is older after what is newer.
            let batch = rows.lock().clone();
            for said in &batch {
                let (party, subject, changes) = &**said;
                if !writer.set_party_answers(party, subject, changes) {
                    tracing::warn!(party = &**party, "there is no room for what a party says: some nodes are unknown");
                }
            }
            writer.publish();
            rows.lock().drain(..batch.len());
        });
        if flushed.await.is_err() {
            tracing::error!("answers of parties have not reached the cache");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_over_tcp_take_no_permit_of_those_on_the_socket() {
        let evaluations = Evaluations::new(1);
        let all = evaluations.class(ListenerClass::Tcp).try_acquire();
        assert!(all.is_ok() && evaluations.class(ListenerClass::Tcp).try_acquire().is_err());
        assert!(evaluations.class(ListenerClass::Unix).try_acquire().is_ok());
    }
}
