//! Negotiation: nodes that external parties agree on, between cores and parties that hold streams. It implements
//! [`nodesift_api::parties`], whose calls reach it decoded.
//!
//! ```text
//! calls        Negotiate, Select, Release, Attend
//! attending    streams of parties
//! broker       the task that owns the state machine
//!   effects    how its effects are carried out
//!   look       what it sees without being told
//!   told       what it tells cores
//! works        what is done beside the broker: evaluations, assumptions, the column of answers
//! watch        pods and claims that change while they are negotiated
//! decisions    decisions on their way into the record
//! ends         bound pods that end
//! listeners    cores that follow what parties say, and are lost
//! candidates   the nodes of a round, from an answer of the engine
//! view         what operators see
//! record       decisions that outlive the process
//! message      messages ↔ what the state machine says and hears
//! refusal      its refusals as errors of calls; callers as it knows them
//! orders       orders of nodes, each once in memory
//! pace         how often a party may speak
//! selector     label selectors as text
//! rules        what negotiation knows of a pod and its claims beyond what the engine says
//! metrics      negotiations and parties, counted
//! limits       every limit with its unit and reason
//! ```
//!
//! The rules of negotiation are in `nodesift-negotiation`. Nothing here evaluates on an I/O thread or waits with the state
//! machine in hand, and `Filter` never waits for any of it: what parties have said is a column of the cache. Start at
//! [`BrokeredParties`].

mod attending;
mod broker;
mod calls;
mod candidates;
mod decisions;
mod ends;
pub mod limits;
mod listeners;
mod message;
mod metrics;
mod orders;
mod pace;
pub mod record;
mod refusal;
mod rules;
mod selector;
mod view;
mod watch;
mod works;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nodesift_api::parties::Outbox;
use nodesift_api::{Error, RequestScope, Service};
use nodesift_cache::{Row, Snapshot};
use nodesift_engine::ExplainedParties;
use nodesift_negotiation::limits::ORDER_NODES;
use nodesift_negotiation::{NegotiationId, Node, Owner, Request, Select};
use nodesift_proto::v1;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use listeners::Listeners;
pub use metrics::Metrics;
use orders::Orders;
use record::{NoRecord, Record};
use rules::ClaimName;
use view::Overview;

/// Negotiation by a broker, which starts with [`Self::start`] or the first call. Clones share it.
#[derive(Clone)]
pub struct BrokeredParties(Arc<Shared>);

struct Shared {
    /// Decisions about pods, which outlive the broker.
    decisions: decisions::Decisions,
    /// The service whose cache is negotiated about. It cannot reach the broker: one that held the way to itself would never end.
    service: Service,
    metrics: Metrics,
    /// For how long a core that follows may be away.
    grace: Duration,
    broker: Mutex<Option<Handle>>,
    /// Numbers of streams of parties, and of cores that follow.
    sessions: AtomicU64,
    /// The order of the last request without one.
    by_row: Mutex<Arc<[Node]>>,
    /// Orders of requests that have named one.
    orders: Arc<Orders>,
}

/// Both channels to the broker.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    commands: mpsc::Sender<Command>,
    /// Questions that change nothing.
    looks: mpsc::Sender<Look>,
    /// Of streams that have ended. They cannot wait, and are no more than there were streams.
    departures: mpsc::UnboundedSender<Departure>,
}

/// Channel for the broker's reply to one command.
type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Command to the broker, which may change its state.
enum Command {
    Negotiate(Box<Opening>, Reply<NegotiationId>),
    Select(Select, Owner, Outbox, Reply<()>),
    Release(NegotiationId, Owner, Reply<()>),
    /// Follow what parties say of pods that wait for them, on the stream of this number.
    Follow(u64, Owner, Outbox, Reply<()>),
    Attend {
        party: Arc<str>,
        attending: attending::Attending,
        reply: Reply<pace::Pace>,
    },
    /// A piece of work has been done beside the broker.
    Done(works::Done),
}

/// Question to the broker, which changes nothing.
enum Look {
    Overview(oneshot::Sender<Overview>),
    Stances(ExplainedParties, oneshot::Sender<Vec<v1::PartyStance>>),
}

/// A stream that has ended.
#[derive(Debug)]
enum Departure {
    Core(NegotiationId),
    Follower(u64),
    Party { party: Arc<str>, session: u64 },
}

/// A request to negotiate, with what is needed until its end.
struct Opening {
    request: Request,
    subject: works::Subject,
    claims: Vec<ClaimName>,
    scope: RequestScope,
    version: v1::Version,
    /// Where the core reads what comes of it.
    events: Outbox,
}

impl fmt::Debug for BrokeredParties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokeredParties").finish_non_exhaustive()
    }
}

impl BrokeredParties {
    /// Negotiates about the cache of a service, which is to be given the result by [`Service::with_parties`] once it is complete.
    pub fn new(service: Service, metrics: Metrics) -> Self {
        Self::with_record(service, metrics, Arc::new(NoRecord::default()))
    }

    /// Negotiates as [`Self::new`] does, and has decisions about pods outlive the process in a record.
    pub fn with_record(service: Service, metrics: Metrics, record: Arc<dyn Record>) -> Self {
        Self::with_grace(service, metrics, record, limits::FOLLOWER_GRACE)
    }

    /// Negotiates as [`Self::with_record`] does, and takes a core that follows for lost after another time.
    fn with_grace(service: Service, metrics: Metrics, record: Arc<dyn Record>, grace: Duration) -> Self {
        let (broker, sessions, by_row, orders) = Default::default();
        let decisions = decisions::Decisions::new(record);
        Self(Arc::new(Shared { decisions, service, metrics, grace, broker, sessions, by_row, orders }))
    }

    /// Starts the broker, which otherwise begins with the first call. It reads the record once the cache is complete, and gives back what it
    /// finds there to be given back, also where no core ever asks for anything.
    pub fn start(&self) {
        drop(self.broker());
    }

    fn service(&self) -> &Service {
        &self.0.service
    }

    /// The nodes of a snapshot by row, as many as an order may have. Most requests have the same, and 5,000 nodes take 80 kB.
    fn order(&self, snapshot: &Snapshot) -> Arc<[Node]> {
        let rows = u32::try_from(snapshot.node_count().min(ORDER_NODES)).unwrap_or(u32::MAX);
        let names = || (0..rows).filter_map(|row| snapshot.names().get(Row(row)));
        let mut last = self.0.by_row.lock();
        let is_same =
            last.len() == names().count() && names().zip(last.iter()).all(|(name, last)| Arc::ptr_eq(name, last));
        if !is_same {
            *last = names().map(Arc::clone).collect();
        }
        Arc::clone(&last)
    }

    /// The broker, started where it does not run. It ends with the last clone of the service.
    fn broker(&self) -> Handle {
        let mut broker = self.0.broker.lock();
        if let Some(handle) = broker.as_ref().filter(|handle| !handle.commands.is_closed()) {
            return handle.clone();
        }
        let (commands, received) = mpsc::channel(limits::NEGOTIATION_COMMANDS);
        let (departures, departed) = mpsc::unbounded_channel();
        let (looks, looked) = mpsc::channel(limits::NEGOTIATION_LOOKS);
        let handle = Handle { commands, looks, departures };
        let service = self.service();
        let (metrics, decisions) = (self.0.metrics.clone(), self.0.decisions.clone());
        let (listeners, orders) = (Listeners::new(self.0.grace), Arc::clone(&self.0.orders));
        let reports = handle.commands.downgrade();
        let broker_task = broker::Broker::new(service.clone(), metrics, decisions, (listeners, orders), reports);
        drop(service.background().spawn(broker_task.run(received, looked, departed)));
        *broker = Some(handle.clone());
        handle
    }

    /// Returns the stances of the parties of a pod, for explanations; empty where the process drains, or the broker is too busy.
    async fn ask_for_stances(&self, parties: &ExplainedParties) -> Vec<v1::PartyStance> {
        let (reply, stances) = oneshot::channel();
        let looks = self.broker().looks;
        let asked = async {
            looks.send(Look::Stances(parties.clone(), reply)).await.ok()?;
            stances.await.ok()
        };
        timeout(limits::STANCES_TIME, asked).await.ok().flatten().unwrap_or_default()
    }

    fn new_session(&self) -> u64 {
        self.0.sessions.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns all negotiations and parties for operators; empty where nobody has ever negotiated.
    async fn ask_for_overview(&self) -> Overview {
        let Some(broker) = self.0.broker.lock().clone() else { return Overview::default() };
        let (reply, overview) = oneshot::channel();
        if broker.looks.send(Look::Overview(reply)).await.is_err() {
            return Overview::default();
        }
        overview.await.unwrap_or_default()
    }
}

impl Handle {
    /// Tells the broker something, and waits for what it answers.
    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| ends())?;
        answer.await.map_err(|_| ends())?
    }
}

/// The error where the broker has ended, as it does in a drain.
fn ends() -> Error {
    Error::NotReady { waiting: "the end of the process".to_owned() }
}
