//! The one service behind every protocol: readiness, evaluation slots, and the calls of `nodesift.v1`.
//!
//! [`Service::run`] is the only place where evaluation leaves the I/O threads; what runs inside sees the engine and may
//! panic without being felt by another request.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use nodesift_api::v1::{ExplainRequest, ExplainResponse, FilterRequest, FilterResponse};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::health::Readiness;
use super::{Error, request, response};
use crate::engine::{Depth, Engine};
use crate::limits;

/// Answers requests; clones share everything.
#[derive(Debug, Clone)]
pub struct Service {
    engine: Arc<Engine>,
    readiness: Readiness,
    slots: Arc<Semaphore>,
    /// Places in the queue for a slot.
    queue: Arc<Semaphore>,
}

impl Service {
    /// A service over an engine, with one evaluation slot per core.
    pub fn new(engine: Arc<Engine>, readiness: Readiness) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        let queue = Arc::new(Semaphore::new(limits::QUEUE_REQUESTS));
        Self { engine, readiness, slots: Arc::new(Semaphore::new(cores)), queue }
    }

    /// Whether answers may be given.
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Runs work that evaluates, off the I/O threads and at most one per core at a time.
    ///
    /// Refuses before the first sync, at once where [`limits::QUEUE_REQUESTS`] wait already, and when no slot becomes free
    /// within [`limits::QUEUE_TIME`]. A panic inside is an
    /// error of this request alone. A client that leaves while waiting gives up its place; once started, work is done.
    pub async fn run<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Engine) -> Result<T, Error> + Send + 'static,
    {
        self.readiness.check()?;
        let place = self.queue.try_acquire().map_err(|_| Error::Overloaded)?;
        let slot = match timeout(limits::QUEUE_TIME, Arc::clone(&self.slots).acquire_owned()).await {
            Ok(Ok(slot)) => slot,
            // The semaphore is never closed, so only the time can have run out.
            Ok(Err(_)) | Err(_) => return Err(Error::Overloaded),
        };
        drop(place);
        let engine = Arc::clone(&self.engine);
        let done = tokio::task::spawn_blocking(move || {
            let _held_while_working = slot;
            work(&engine)
        });
        done.await.unwrap_or_else(|stopped| {
            tracing::error!(reason = %stopped, "evaluation ended abnormally");
            Err(Error::Internal)
        })
    }
}

/// Answers `Filter`.
pub fn filter(engine: &Engine, request: FilterRequest) -> Result<FilterResponse, Error> {
    let detail = request::detail(request.detail)?;
    let asked = request::Asked {
        pods: request.pods,
        pending: request.pending,
        phase: request.phase,
        nodes: request.nodes,
        depth: Depth::FirstFailure,
    };
    let snapshot = engine.snapshot();
    let question = asked.into_question(engine, &snapshot)?;
    Ok(response::filter(&engine.answer_on(&snapshot, &question)?, detail))
}

/// Answers `Explain`.
pub fn explain(engine: &Engine, request: ExplainRequest) -> Result<ExplainResponse, Error> {
    let asked = request::Asked {
        pods: request.pods,
        pending: request.pending,
        phase: request.phase,
        nodes: request.nodes,
        depth: Depth::Each,
    };
    let snapshot = engine.snapshot();
    let question = asked.into_question(engine, &snapshot)?;
    Ok(response::explain(&engine.answer_on(&snapshot, &question)?))
}
