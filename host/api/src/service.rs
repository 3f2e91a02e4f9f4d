//! State that all calls share: the engine, the cache, admission, settings; and the two ways off the I/O threads.
//!
//! [`Service::evaluate`] runs work in an evaluation slot, [`Service::write`] runs work that takes the cache's lock. A panic
//! inside either is an error of that request alone. Which work a call needs is decided in [`calls`](crate::calls).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout, timeout_at};

use crate::ListenerClass;
use crate::access::Caller;
use crate::admission::askers::Askers;
use crate::admission::deadline::Deadline;
use crate::admission::metrics::Metrics;
use crate::admission::readiness::Readiness;
use crate::admission::scope::{RequestScope, StreamScope};
use crate::admission::slots::{Size, Slots};
use crate::admission::staleness::Staleness;
use crate::admission::version_waiters::VersionWaiters;
use crate::calls::locked_time::LockedTime;
use crate::parties::Parties;
use crate::paths::Paths;
use crate::{Error, limits};
use nodesift_cache::{Reader, SharedWriter};
use nodesift_edge::arrivals::RequestRoom;
use nodesift_edge::places::{Activity, Place, Places};
use nodesift_engine::Engine;
use nodesift_engine::pending::Asker;

/// Configuration of a [`Service`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// For how long a pod stays assumed where the request does not say.
    pub assume_ttl: Duration,
    /// The staleness of the source, and what follows from it.
    pub staleness: Staleness,
    /// The time for a request, from its first byte to its answer; clients can shorten it.
    pub request_time: Duration,
    /// Name by which people know this replica, such as that of its pod; empty where it has none.
    pub replica: String,
    /// URL of the explorer, for clients that look for it elsewhere; none where it is not served.
    pub explorer: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            assume_ttl: limits::ASSUME_TTL,
            staleness: Staleness::default(),
            request_time: limits::REQUEST_TIME,
            replica: String::new(),
            explorer: None,
        }
    }
}

/// The streams, dumps and writes that there may be at once over one class of listeners. Where all streams are, one ends for a
/// newcomer; a dump ends at the deadline of its response.
#[derive(Debug, Clone)]
struct ClassPlaces {
    /// Places for streams of requests (`FilterStream`).
    requests: Places,
    /// Places for streams of events or of the node index.
    changes: Places,
    /// Places for health watches (`grpc.health.v1.Health/Watch`).
    health: Places,
    /// Places for streams of external parties (`Attend`).
    parties: Places,
    /// Permits for dumps of the state.
    dumps: Arc<Semaphore>,
    /// Calls that change the cache: those over TCP never keep the socket's waiting.
    writes: Arc<Semaphore>,
    /// Calls that take the cache's lock to read, or encode much of it.
    reads: Arc<Semaphore>,
}

impl ClassPlaces {
    fn new() -> Self {
        Self {
            requests: Places::for_streams(limits::REQUEST_STREAMS),
            changes: Places::for_streams(limits::STREAMS),
            health: Places::for_streams(limits::HEALTH_WATCHES),
            parties: Places::for_streams(limits::PARTY_STREAMS),
            dumps: Arc::new(Semaphore::new(limits::STATE_DUMPS)),
            writes: Arc::new(Semaphore::new(limits::WRITES)),
            reads: Arc::new(Semaphore::new(limits::WRITES)),
        }
    }

    /// Places of the explorer, which has no streams of requests and changes nothing.
    fn of_explorer() -> Self {
        Self {
            changes: Places::for_streams(limits::EXPLORER_STREAMS),
            dumps: Arc::new(Semaphore::new(limits::EXPLORER_DUMPS)),
            reads: Arc::new(Semaphore::new(limits::EXPLORER_READS)),
            ..Self::new()
        }
    }
}

/// Note for operators about the source of the policy; returns none while all is well.
#[derive(Clone, Default)]
struct PolicyNote(Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>);

impl fmt::Debug for PolicyNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyNote").finish_non_exhaustive()
    }
}

/// Answers requests; clones share everything.
#[derive(Debug, Clone)]
pub struct Service(Arc<Shared>);

/// State that all clones of a [`Service`] share: one count for each request that holds it.
#[derive(Debug, Clone)]
struct Shared {
    engine: Arc<Engine>,
    writer: SharedWriter,
    reader: Reader,
    readiness: Readiness,
    settings: Settings,
    metrics: Metrics,
    slots: Slots,
    unix: ClassPlaces,
    tcp: ClassPlaces,
    explorer: ClassPlaces,
    version_waiters: VersionWaiters,
    locked_time: Arc<LockedTime>,
    askers: Askers,
    policy_note: PolicyNote,
    /// Every call that is served; none before it is.
    calls: Paths,
    /// Whoever negotiates with external parties; none where nobody does.
    negotiator: Option<Arc<dyn Parties>>,
    /// Runtime in which the service was made; none where it was made outside of one.
    background: Option<Handle>,
}

impl Service {
    /// A service over an engine and the cache that it reads, with one evaluation slot per core.
    pub fn new(engine: Arc<Engine>, writer: SharedWriter, readiness: Readiness, settings: Settings) -> Self {
        let reader = writer.lock().reader();
        Self(Arc::new(Shared {
            engine,
            writer,
            version_waiters: VersionWaiters::new(reader.clone()),
            reader,
            readiness,
            settings,
            metrics: Metrics::default(),
            slots: Slots::per_core(),
            unix: ClassPlaces::new(),
            tcp: ClassPlaces::new(),
            explorer: ClassPlaces::of_explorer(),
            locked_time: Arc::default(),
            askers: Askers::default(),
            policy_note: PolicyNote::default(),
            calls: Paths::default(),
            negotiator: None,
            background: Handle::try_current().ok(),
        }))
    }

    /// Counts in these metrics.
    #[must_use]
    pub fn counting(mut self, metrics: Metrics) -> Self {
        Arc::make_mut(&mut self.0).metrics = metrics;
        self
    }

    /// Adds a note to the policy in `GET /v1/policy`; `note` returns none while all is well.
    #[must_use]
    pub fn noting_policy(mut self, note: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.0).policy_note = PolicyNote(Some(Arc::new(note)));
        self
    }

    /// Has calls about parties answered by `parties`. It is made from a clone of this service, and ends with the last service that has it.
    #[must_use]
    pub fn with_parties(mut self, parties: Arc<dyn Parties>) -> Self {
        Arc::make_mut(&mut self.0).negotiator = Some(parties);
        self
    }

    /// Has [`Self::calls`] say that these are served.
    #[must_use]
    pub(crate) fn serving(mut self, calls: Paths) -> Self {
        Arc::make_mut(&mut self.0).calls = calls;
        self
    }

    /// Every call that is served.
    pub(crate) fn calls(&self) -> &Paths {
        &self.0.calls
    }

    /// Returns the runtime of tasks that go on after the connection that needs them first, and of blocking work: it has one pool of threads
    /// for all connections.
    pub fn background(&self) -> Handle {
        self.0.background.clone().unwrap_or_else(Handle::current)
    }

    /// Whoever negotiates with external parties.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] where nobody does.
    pub(crate) fn parties(&self) -> Result<&dyn Parties, Error> {
        self.0.negotiator.as_deref().ok_or_else(|| Error::Refused {
            code: tonic::Code::FailedPrecondition,
            reason: "this process negotiates with no parties".to_owned(),
        })
    }

    /// The number by which the questions of a caller are noted.
    pub fn asker(&self, caller: &Caller) -> Asker {
        self.0.askers.get(caller, self.engine().asked())
    }

    pub(crate) fn policy_note(&self) -> Option<String> {
        self.0.policy_note.0.as_ref().and_then(|note| note())
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns whether calls are answered, and whether the process drains.
    pub fn readiness(&self) -> &Readiness {
        &self.0.readiness
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Returns how long the source of the cache has been silent.
    pub fn staleness(&self) -> &Staleness {
        &self.0.settings.staleness
    }

    /// Returns the engine that answers about the cache.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Returns the reader of the cache's snapshots.
    pub fn reader(&self) -> &Reader {
        &self.0.reader
    }

    /// Returns the writer of the cache, whose lock is not for an I/O thread.
    pub fn writer(&self) -> &SharedWriter {
        &self.0.writer
    }

    /// Returns the time budget of evaluations under the writer's lock.
    pub(crate) fn locked_time(&self) -> &LockedTime {
        &self.0.locked_time
    }

    #[cfg(test)]
    pub(crate) fn slots(&self) -> &Slots {
        &self.0.slots
    }

    /// One of the state dumps that may be open at once over a class of listeners.
    pub(crate) fn dump_permit(&self, class: ListenerClass) -> Result<OwnedSemaphorePermit, Error> {
        let limit = if class == ListenerClass::Explorer { limits::EXPLORER_DUMPS } else { limits::STATE_DUMPS };
        permit(&self.places(class).dumps, "state dumps", limit)
    }

    /// One of the streams of events or of the node index that may be open at once over a class of listeners. The request gives
    /// back its room.
    pub(crate) async fn enter_stream(&self, scope: &RequestScope) -> Result<Place, Error> {
        scope.room.shrink_to(0);
        let limit = if scope.class == ListenerClass::Explorer { limits::EXPLORER_STREAMS } else { limits::STREAMS };
        enter(&self.places(scope.class).changes, "streams", limit, &scope.peer).await
    }

    /// One of the streams of requests that may be open at once over a class of listeners. It gives back the room of its head.
    pub(crate) async fn enter_request_stream(&self, scope: &StreamScope) -> Result<Place, Error> {
        scope.messages.leave_room();
        enter(&self.places(scope.class).requests, "streams of requests", limits::REQUEST_STREAMS, &scope.peer).await
    }

    /// One of the streams of parties that may be open at once over a class of listeners. It gives back the room of its head.
    pub(crate) async fn enter_party_stream(&self, scope: &StreamScope) -> Result<Place, Error> {
        scope.messages.leave_room();
        enter(&self.places(scope.class).parties, "streams of parties", limits::PARTY_STREAMS, &scope.peer).await
    }

    /// One of the watches of health that may be open at once over a class of listeners. The request gives back its room.
    pub(crate) async fn enter_health_watch(&self, scope: &RequestScope) -> Result<Place, Error> {
        scope.room.shrink_to(0);
        enter(&self.places(scope.class).health, "health watches", limits::HEALTH_WATCHES, &scope.peer).await
    }

    fn places(&self, class: ListenerClass) -> &ClassPlaces {
        match class {
            ListenerClass::Unix => &self.0.unix,
            ListenerClass::Tcp => &self.0.tcp,
            ListenerClass::Explorer => &self.0.explorer,
        }
    }

    /// The requests that wait for a version.
    pub(crate) fn version_waiters(&self) -> &VersionWaiters {
        &self.0.version_waiters
    }

    /// Refuses before readiness, and a stale cache where it is configured so.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`], [`Error::Stale`].
    pub fn check(&self) -> Result<(), Error> {
        #[cfg(debug_assertions)]
        crate::failpoint::step();
        self.0.readiness.check()?;
        self.staleness().check()
    }

    /// Runs work of microseconds on the I/O thread, inside a free slot of a class of listeners; none where no slot is free or the work
    /// returns none.
    ///
    /// It needs a free slot, so that cached answers do not overtake queued evaluations.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] where the work panics.
    pub fn try_at_once<T>(
        &self,
        class: ListenerClass,
        work: impl FnOnce(&Engine) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(_slot) = self.0.slots.try_acquire(class) else { return Ok(None) };
        self.at_once(work)
    }

    /// Runs work of microseconds that evaluates nothing on the I/O thread; it needs no slot.
    pub(crate) fn at_once<T>(&self, work: impl FnOnce(&Engine) -> Option<T>) -> Result<Option<T>, Error> {
        // No middleware contains the panics of a stream of requests.
        catch_unwind(AssertUnwindSafe(|| work(&self.0.engine))).map_err(|_| {
            self.0.metrics.panics.inc();
            tracing::error!("a cached answer panicked");
            Error::Internal
        })
    }

    /// Runs work that evaluates on a blocking thread, in one evaluation slot. A request whose client leaves while it waits
    /// gives up its place in the queue; work that has started runs to its end, and holds the request's room until then.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`], [`Error::Stale`], [`Error::Overloaded`] where no slot becomes free in time,
    /// [`Error::DeadlineExceeded`], [`Error::Internal`] where the work panics, and the work's own.
    pub(crate) async fn evaluate<T, W>(&self, scope: &RequestScope, size: Size, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Engine) -> Result<T, Error> + Send + 'static,
    {
        let work = self.start(scope, size, work).await?;
        let done = timeout_at(scope.deadline.at(), work).await;
        done.map_or_else(|_| Err(scope.deadline.exceeded()), |done| done.unwrap_or_else(|error| self.panicked(error)))
    }

    /// Runs work that changes something in an evaluation slot like [`Self::evaluate`]: once it has started it is waited for,
    /// whatever the deadline.
    ///
    /// # Errors
    ///
    /// As [`Self::evaluate`].
    pub(crate) async fn evaluate_to_end<T, W>(&self, scope: &RequestScope, size: Size, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Engine) -> Result<T, Error> + Send + 'static,
    {
        self.start(scope, size, work).await?.await.unwrap_or_else(|error| self.panicked(error))
    }

    /// Starts work in an evaluation slot, on a blocking thread.
    async fn start<T, W>(
        &self,
        scope: &RequestScope,
        size: Size,
        work: W,
    ) -> Result<JoinHandle<Result<T, Error>>, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Engine) -> Result<T, Error> + Send + 'static,
    {
        self.check()?;
        scope.deadline.check()?;
        let slot = self.0.slots.acquire(size, scope.class, scope.deadline, &self.0.metrics).await?;
        let (engine, room) = (Arc::clone(&self.0.engine), scope.room.clone());
        Ok(self.background().spawn_blocking(move || {
            let _held_while_working = (slot, room);
            work(&engine)
        }))
    }

    /// Runs work that takes the cache's lock on a blocking thread. It needs no evaluation slot, so that a core can report
    /// its decisions under any load of evaluations.
    ///
    /// # Errors
    ///
    /// As [`Self::evaluate`], except that a stale cache takes writes. Once it has started it is waited for, whatever the
    /// deadline: the client has to know what became of it.
    pub(crate) async fn write<T, W>(&self, scope: &RequestScope, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    {
        let _work = scope.peer.work();
        scope.pend()?;
        self.locked(&self.places(scope.class).writes, scope.deadline, scope.room.clone(), work).await
    }

    /// Runs work that reads under the cache's lock on a blocking thread, for a class of listeners. It needs no evaluation slot.
    pub(crate) async fn read_locked<T, W>(&self, class: ListenerClass, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    {
        let deadline = Deadline::after(Instant::now(), self.0.settings.request_time);
        self.locked(&self.places(class).reads, deadline, RequestRoom::default(), work).await
    }

    async fn locked<T, W>(
        &self,
        permits: &Arc<Semaphore>,
        deadline: Deadline,
        room: RequestRoom,
        work: W,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    {
        self.0.readiness.check()?;
        deadline.check()?;
        let end = deadline.at().min(Instant::now() + limits::QUEUE_TIME);
        let permit = match timeout_at(end, Arc::clone(permits).acquire_owned()).await {
            Ok(Ok(permit)) => permit,
            // The semaphore is never closed, so this is the timeout.
            Ok(Err(_)) | Err(_) => return Err(deadline.check().err().unwrap_or(Error::Overloaded)),
        };
        let service = self.clone();
        let work = self.background().spawn_blocking(move || {
            let _held_while_working = (permit, room);
            work(&service)
        });
        work.await.unwrap_or_else(|error| self.panicked(error))
    }

    /// Counts and logs the panic of a request whose stream goes on.
    pub(crate) fn panicked_in_stream(&self) -> Error {
        self.0.metrics.panics.inc();
        tracing::error!("a request of a stream panicked");
        Error::Internal
    }

    /// Counts and logs the panic of a document that was being sent.
    pub(crate) fn panicked_in_document(&self) {
        self.0.metrics.panics.inc();
        tracing::error!("a document panicked while it was written");
    }

    #[allow(clippy::needless_pass_by_value)] // As `unwrap_or_else` hands it over.
    fn panicked<T>(&self, error: JoinError) -> Result<T, Error> {
        // Otherwise the runtime has ended before the request, at the end of the process.
        if error.is_panic() {
            self.0.metrics.panics.inc();
            tracing::error!(%error, "the work of a request panicked");
        }
        Err(Error::Internal)
    }
}

/// Takes a place for a stream of a connection. What waits is bounded by the number of those who do.
async fn enter(places: &Places, what: &'static str, limit: usize, connection: &Activity) -> Result<Place, Error> {
    let entered = timeout(limits::QUEUE_TIME, places.enter(Activity::default(), connection)).await;
    entered.ok().flatten().ok_or(Error::TooMany { what, limit })
}

fn permit(permits: &Arc<Semaphore>, what: &'static str, limit: usize) -> Result<OwnedSemaphorePermit, Error> {
    Arc::clone(permits).try_acquire_owned().map_err(|_| Error::TooMany { what, limit })
}
