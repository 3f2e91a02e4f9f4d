//! The one service behind every protocol: readiness, evaluation slots, and the calls of `nodesift.v1`.
//!
//! [`Service::run`] is the only place where evaluation leaves the I/O threads; what runs inside sees the engine and may
//! panic without being felt by another request. [`Service::write`] is the same for calls that change the cache.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use nodesift_proto::v1::{Consistency, ExplainRequest, ExplainResponse, FilterRequest, FilterResponse, pod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::consistency::Wanted;
use super::health::Readiness;
use super::metrics::Metrics;
use super::slots::Slots;
use super::staleness::Staleness;
use super::{Error, overlay, request, response};
use crate::limits;
use nodesift_cache::{Reader, SharedWriter};
use nodesift_engine::{Depth, Engine};

/// What can be configured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For how long a pod stays assumed where the core does not say.
    pub assume_ttl: Duration,
    /// How old what is known may be.
    pub staleness: Staleness,
}

impl Default for Settings {
    fn default() -> Self {
        Self { assume_ttl: limits::ASSUME_TTL, staleness: Staleness::default() }
    }
}

/// Answers requests; clones share everything.
#[derive(Debug, Clone)]
pub struct Service {
    engine: Arc<Engine>,
    writer: SharedWriter,
    reader: Reader,
    readiness: Readiness,
    settings: Settings,
    metrics: Metrics,
    slots: Slots,
    writes: Arc<Semaphore>,
    dumps: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    request_streams: Arc<Semaphore>,
}

impl Service {
    /// A service over an engine and the cache that it reads, with one evaluation slot per core.
    pub fn new(engine: Arc<Engine>, writer: SharedWriter, readiness: Readiness, settings: Settings) -> Self {
        let reader = writer.lock().reader();
        let places = |places: usize| Arc::new(Semaphore::new(places));
        Self {
            engine,
            writer,
            reader,
            readiness,
            settings,
            metrics: Metrics::default(),
            slots: Slots::per_core(),
            writes: places(limits::WRITES),
            dumps: places(limits::STATE_DUMPS),
            streams: places(limits::STREAMS),
            request_streams: places(limits::REQUEST_STREAMS),
        }
    }

    /// The same, counting where somebody looks.
    #[must_use]
    pub fn counting(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Where it counts.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether answers may be given.
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// What is configured.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How old what is known may be.
    pub(super) fn staleness(&self) -> &Staleness {
        &self.settings.staleness
    }

    /// The engine.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Reads the cache.
    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Writes the cache.
    pub(super) fn writer(&self) -> &SharedWriter {
        &self.writer
    }

    /// A place for a dump of the state.
    pub(super) fn dump_permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        permit(&self.dumps, "dumps of the state", limits::STATE_DUMPS)
    }

    /// A place for a stream that goes on for as long as the client wants.
    pub(super) fn stream_permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        permit(&self.streams, "streams", limits::STREAMS)
    }

    /// A place for a stream of requests.
    pub(super) fn request_stream_permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        permit(&self.request_streams, "streams of requests", limits::REQUEST_STREAMS)
    }

    /// Refuses before the first sync, and where what is known is too old and the configuration says to refuse then.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.readiness.check()?;
        self.staleness().check()
    }

    /// Answers a call once what it wants to have been seen has been.
    pub(super) async fn call<C: Call>(&self, request: C::Request) -> Result<C::Response, Error> {
        self.check()?;
        if let Some(wanted) = Wanted::of(C::consistency(&request))? {
            wanted.wait(&self.reader).await?;
        }
        if let Some(answer) = self.kept::<C>(&request) {
            return answer;
        }
        let staleness = self.staleness().clone();
        self.run(move |engine| C::answer(engine, &staleness, request)).await
    }

    /// Answers on the I/O thread where all of the answer is kept: handing it over would take longer than it takes. A slot must
    /// be free, so that what is kept does not push itself before what is evaluated.
    fn kept<C: Call>(&self, request: &C::Request) -> Option<Result<C::Response, Error>> {
        let _slot = self.slots.try_enter()?;
        let answer = || C::answer_kept(&self.engine, self.staleness(), request);
        // A stream of answers is behind no guard that would contain a panic.
        match catch_unwind(AssertUnwindSafe(answer)) {
            Ok(answer) => answer.map(Ok),
            Err(_) => {
                tracing::error!("an answer that is kept ended abnormally");
                Some(Err(Error::Internal))
            }
        }
    }

    /// Runs work that evaluates, off the I/O threads and at most one per core at a time.
    ///
    /// Refuses before the first sync, and where no slot becomes free in time (see [`Slots::enter`]). A panic inside is an
    /// error of this request alone. A client that leaves while waiting gives up its place; once started, work is done.
    pub async fn run<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Engine) -> Result<T, Error> + Send + 'static,
    {
        self.check()?;
        let slot = self.slots.enter(&self.metrics).await?;
        let engine = Arc::clone(&self.engine);
        let done = spawn_blocking(move || {
            let _held_while_working = slot;
            work(&engine)
        });
        done.await.unwrap_or_else(abnormal)
    }

    /// Runs work that changes the cache or takes its lock, off the I/O threads. It needs no evaluation slot, so that a core
    /// can always say what it has decided.
    pub async fn write<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    {
        self.readiness.check()?;
        let slot = write_slot(&self.writes).await?;
        let service = self.clone();
        let done = spawn_blocking(move || {
            let _held_while_working = slot;
            work(&service)
        });
        done.await.unwrap_or_else(abnormal)
    }
}

async fn write_slot(slots: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Error> {
    match timeout(limits::QUEUE_TIME, Arc::clone(slots).acquire_owned()).await {
        Ok(Ok(slot)) => Ok(slot),
        // The semaphore is never closed, so only the time can have run out.
        Ok(Err(_)) | Err(_) => Err(Error::Overloaded),
    }
}

fn permit(places: &Arc<Semaphore>, what: &'static str, limit: usize) -> Result<OwnedSemaphorePermit, Error> {
    Arc::clone(places).try_acquire_owned().map_err(|_| Error::TooMany { what, limit })
}

#[allow(clippy::needless_pass_by_value)] // As `unwrap_or_else` hands it over.
fn abnormal<T>(stopped: tokio::task::JoinError) -> Result<T, Error> {
    tracing::error!(reason = %stopped, "a request ended abnormally");
    Err(Error::Internal)
}

/// A call that is answered from a snapshot.
pub(super) trait Call {
    /// What is asked.
    type Request: DeserializeOwned + Send + 'static;
    /// What is answered.
    type Response: Serialize + Send + 'static;

    /// What the request wants to have been seen.
    fn consistency(request: &Self::Request) -> Option<&Consistency>;

    /// The answer from the newest snapshot, where all of it is kept and it is small.
    fn answer_kept(_: &Engine, _: &Staleness, _: &Self::Request) -> Option<Self::Response> {
        None
    }

    /// The answer from the newest snapshot.
    fn answer(engine: &Engine, staleness: &Staleness, request: Self::Request) -> Result<Self::Response, Error>;
}

/// `Filter`.
#[derive(Debug)]
pub(super) struct Filter;

impl Call for Filter {
    type Request = FilterRequest;
    type Response = FilterResponse;

    fn consistency(request: &FilterRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn answer_kept(engine: &Engine, staleness: &Staleness, request: &FilterRequest) -> Option<FilterResponse> {
        // Names of nodes are many and long; whole pods have to be decoded and compiled.
        let is_small = request.bitmaps.is_some()
            && request.overlay.is_none()
            && request.nodes.is_none()
            && request.limit == 0
            && !request.pending
            && request.pods.len() <= limits::KEPT_PODS
            && request.pods.iter().all(|pod| matches!(pod.pod, Some(pod::Pod::Uid(_) | pod::Pod::Name(_))));
        if !is_small {
            return None;
        }
        let asked = request::Asked {
            pods: request.pods.clone(),
            pending: false,
            phase: request.phase,
            nodes: None,
            limit: 0,
            start: request.start,
            depth: Depth::FirstFailure,
        };
        let snapshot = engine.snapshot();
        let detail = request::detail(request.detail).ok()?;
        let question = asked.into_question(engine, &snapshot).ok()?;
        let answer = engine.answer_kept(&snapshot, &question)?;
        Some(response::filter(&answer, staleness.age(), detail, request.bitmaps.as_ref()))
    }

    fn answer(engine: &Engine, staleness: &Staleness, request: FilterRequest) -> Result<FilterResponse, Error> {
        let detail = request::detail(request.detail)?;
        let asked = request::Asked {
            pods: request.pods,
            pending: request.pending,
            phase: request.phase,
            nodes: request.nodes,
            limit: request.limit,
            start: request.start,
            depth: Depth::FirstFailure,
        };
        let what_if = overlay::what_if(request.overlay)?;
        let snapshot = overlay::snapshot(engine, &what_if, request.bitmaps.is_some())?;
        let question = asked.into_question(engine, &snapshot)?;
        let answer = engine.answer_on(&snapshot, &question)?;
        Ok(response::filter(&answer, staleness.age(), detail, request.bitmaps.as_ref()))
    }
}

/// `Explain`.
#[derive(Debug)]
pub(super) struct Explain;

impl Call for Explain {
    type Request = ExplainRequest;
    type Response = ExplainResponse;

    fn consistency(request: &ExplainRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn answer(engine: &Engine, staleness: &Staleness, request: ExplainRequest) -> Result<ExplainResponse, Error> {
        let asked = request::Asked {
            pods: request.pods,
            pending: request.pending,
            phase: request.phase,
            nodes: request.nodes,
            limit: 0,
            start: 0,
            depth: Depth::Each,
        };
        let what_if = overlay::what_if(request.overlay)?;
        let snapshot = overlay::snapshot(engine, &what_if, false)?;
        let question = asked.into_question(engine, &snapshot)?;
        Ok(response::explain(&engine.answer_on(&snapshot, &question)?, staleness.age()))
    }
}
