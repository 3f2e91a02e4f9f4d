//! The broker: one task that owns the state machine, tells it what happens, and has its effects carried out.
//!
//! It waits for nothing but its channels and its clock. Effects are carried out in their order, by `effects`, and what they lead to is told
//! after all of them. What it sees without being told is in `look`, and what it tells cores in `told`. Start at [`Broker::run`].

mod effects;
mod look;
mod told;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nodesift_api::parties::Outbox;
use nodesift_api::{Error, RequestScope, Service};
use nodesift_negotiation::{Event, NegotiationId, Negotiations, Owner, Progress, Refusal, RefusedNodes, Select};
use nodesift_proto::v1;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval, sleep_until};
use tonic::Status;

use super::attending::{Attending, next_heard};
use super::decisions::{Decided, Decisions};
use super::ends::Ends;
use super::listeners::Listeners;
use super::orders::Orders;
use super::pace::{Pace, Paces};
use super::rules::ClaimName;
use super::watch::Watch;
use super::works::{Done, Subject, Works};
use super::{Command, Departure, Look, Opening};
use crate::limits;
use crate::metrics::Metrics;
use crate::refusal::{owner, refused};

/// The task, with all that belongs to it.
pub(super) struct Broker {
    service: Service,
    core: Negotiations,
    works: Works,
    metrics: Metrics,
    /// The generation of the policy whose parties are known.
    policy: Option<u64>,
    watch: Watch,
    /// Pods about which something is decided, and those of them that are bound.
    decided: Decided,
    ends: Ends,
    /// When it has looked last for what other sidecars have left, and whether it still does.
    looked_for_left: Instant,
    looks_for_left: bool,
    live: BTreeMap<NegotiationId, Live>,
    /// By pod: what its core is told once it is recorded that all have allocated. Another sidecar may give it back until then.
    allocated: BTreeMap<Arc<str>, (NegotiationId, u32, Progress)>,
    attending: BTreeMap<Arc<str>, Attending>,
    paces: Paces,
    /// The party that has been heard last.
    heard: Option<Arc<str>>,
    /// Events and releases that follow from effects.
    followers: VecDeque<Follower>,
    /// Streams of cores that follow what parties say of pods that wait.
    listeners: Listeners,
    orders: Arc<Orders>,
}

/// A negotiation that has not ended.
struct Live {
    owner: Owner,
    subject: Subject,
    claims: Vec<ClaimName>,
    scope: RequestScope,
    version: v1::Version,
    began: Instant,
    negotiate: Option<Outbox>,
    select: Option<Outbox>,
    evaluating: Option<AbortHandle>,
    is_assumed: bool,
    /// Why nodes do not suit, until its end is told.
    refused: Vec<RefusedNodes>,
    /// Time that its parties may take to allocate by the policy; zero where that does not say.
    allocation: Duration,
}

/// Consequence of an effect, which is handled once all effects are carried out.
enum Follower {
    Event(Event),
    Release(NegotiationId),
    /// All parties have allocated for a pod.
    Allocated(Arc<str>),
}

/// Refuses a command while the decisions to go on from cannot be read.
fn refuse(command: Command, reason: String) {
    let error = Error::NotReady { waiting: reason };
    // A reply that nobody waits for is that of a client that has left.
    match command {
        Command::Negotiate(_, reply) => drop(reply.send(Err(error))),
        Command::Select(.., reply) | Command::Release(.., reply) => drop(reply.send(Err(error))),
        Command::Follow(.., reply) => drop(reply.send(Err(error))),
        Command::Attend { reply, .. } => drop(reply.send(Err(error))),
        // Nothing has been begun.
        Command::Done(_) => {}
    }
}

impl Broker {
    pub(super) fn new(
        service: Service,
        metrics: Metrics,
        decisions: Decisions,
        (listeners, orders): (Listeners, Arc<Orders>),
        reports: mpsc::WeakSender<Command>,
    ) -> Self {
        // Ids of two starts differ.
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        Self {
            works: Works::new(service.clone(), decisions, reports),
            service,
            core: Negotiations::new(seed),
            metrics,
            policy: None,
            watch: Watch::default(),
            decided: Decided::default(),
            ends: Ends::default(),
            looked_for_left: Instant::now(),
            looks_for_left: false,
            live: BTreeMap::new(),
            allocated: BTreeMap::new(),
            attending: BTreeMap::new(),
            paces: Paces::default(),
            heard: None,
            followers: VecDeque::new(),
            listeners,
            orders,
        }
    }

    /// Runs until the last clone of the service is dropped, or the process drains.
    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut looks: mpsc::Receiver<Look>,
        mut departures: mpsc::UnboundedReceiver<Departure>,
    ) {
        let mut ticks = interval(limits::NEGOTIATION_TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut drained = Box::pin(self.service.readiness().drained());
        let (tell_unread, mut unread) = watch::channel(None::<String>);
        let (readiness, loaded) = (self.service.readiness().clone(), self.works.load(tell_unread));
        let mut loading = Box::pin(async move {
            // A pod that is not listed yet would be taken for one that has ended.
            readiness.complete().await;
            loaded.await
        });
        // Nothing is negotiated, and no party is heard, before it is known what holds.
        let decisions = loop {
            let reason = unread.borrow_and_update().clone();
            tokio::select! {
                decisions = &mut loading => break decisions,
                Ok(()) = unread.changed() => {}
                // Until the record has failed once they wait: it answers in milliseconds.
                command = commands.recv(), if reason.is_some() => match command {
                    Some(command) => refuse(command, reason.unwrap_or_default()),
                    None => return,
                },
                Some(asked) = looks.recv() => self.answer(asked),
                () = &mut drained => return,
            }
        };
        drop(loading);
        self.restore(decisions);
        loop {
            let due = self.core.next_tick();
            let due = async {
                match due {
                    Some(at) => sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            // One of those that are ready, by chance: cores, parties, operators and the clock take turns.
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.take(command),
                    None => break,
                },
                event = next_heard(&mut self.attending, &mut self.heard) => self.step(event),
                Some(look) = looks.recv() => self.answer(look),
                Some(departure) = departures.recv() => self.depart(departure),
                () = due => self.step(Event::Tick),
                _ = ticks.tick() => self.look(),
                () = &mut drained => break,
            }
        }
        self.end_streams();
    }

    /// Ends all streams, since the process drains.
    fn end_streams(&self) {
        let status = || Status::unavailable("the sidecar ends: begin again with another one, or once it is back");
        for live in self.live.values() {
            for stream in live.negotiate.iter().chain(&live.select) {
                stream.end(status());
            }
        }
        for attending in self.attending.values() {
            attending.calls.end(status());
        }
        for events in self.listeners.streams() {
            events.end(status());
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Negotiate(opening, reply) => {
                // A reply that nobody waits for is that of a client that has left: its stream is dropped, and says so.
                let _left = reply.send(self.negotiate(*opening));
            }
            Command::Select(select, owner, events, reply) => {
                let _left = reply.send(self.select(select, &owner, events));
            }
            Command::Release(id, owner, reply) => {
                let released = self.core.release(id, &owner, Instant::now()).map_err(refused);
                let _left = reply.send(released.map(|effects| self.carry_out(effects)));
            }
            Command::Attend { party, attending, reply } => {
                let session = attending.session;
                // Where nobody waits for the reply, the stream has ended. It may have said so before this.
                if reply.send(self.attend(&party, attending)).is_err() {
                    self.depart(Departure::Party { party, session });
                }
            }
            Command::Follow(number, owner, events, reply) => {
                // Where nobody waits for the reply, the stream has ended. It may have said so before this.
                if reply.send(self.follow(number, owner, events)).is_err() {
                    self.depart(Departure::Follower(number));
                }
            }
            Command::Done(done) => self.done(done),
        }
    }

    fn answer(&mut self, look: Look) {
        match look {
            Look::Overview(reply) => {
                let _left = reply.send(self.overview());
            }
            Look::Stances(parties, reply) => {
                self.follow_policy();
                let _left = reply.send(self.stances(&parties));
            }
        }
    }

    fn negotiate(&mut self, opening: Opening) -> Result<NegotiationId, Error> {
        self.follow_policy();
        let Opening { request, subject, claims, scope, version, events } = opening;
        let owner = request.owner.clone();
        let (id, effects) = self.core.negotiate(request, Instant::now()).map_err(refused)?;
        let live = Live {
            owner,
            subject,
            claims,
            scope,
            version,
            began: Instant::now(),
            negotiate: Some(events),
            select: None,
            evaluating: None,
            is_assumed: false,
            refused: Vec::new(),
            allocation: Duration::ZERO,
        };
        // Something may have become of the pod since it was looked up.
        self.watch.look_again();
        self.live.insert(id, live);
        self.metrics.begun.inc();
        self.carry_out(effects);
        Ok(id)
    }

    fn select(&mut self, mut select: Select, owner: &Owner, events: Outbox) -> Result<(), Error> {
        let id = select.negotiation;
        if let Some(live) = self.live.get(&id).filter(|_| select.deadline.is_zero()) {
            select.deadline = live.allocation;
        }
        let effects = self.core.select(select, owner, Instant::now()).map_err(refused)?;
        if let Some(live) = self.live.get_mut(&id) {
            live.select = Some(events);
        }
        self.carry_out(effects);
        Ok(())
    }

    /// A party attends. Returns how often it may speak; to attend counts as well.
    fn attend(&mut self, party: &Arc<str>, attending: Attending) -> Result<Pace, Error> {
        self.follow_policy();
        // A stream that has ended is not here any more; over TCP one may seem to go on, and gives way to the same certificate.
        if self.attending.get(party).is_some_and(|before| !before.peer.is_same_peer(&attending.peer)) {
            return Err(refused(Refusal::Attended(Arc::clone(party))));
        }
        if !self.core.has_party(party) {
            return Err(refused(Refusal::UnknownParty(Arc::clone(party))));
        }
        let peer = owner(&attending.peer);
        let pace = self.paces.for_peer(party, peer.clone(), attending.called.clone());
        if !pace.speak(false) {
            return Err(Error::Flood);
        }
        let session = attending.session;
        let effects = self.core.attend(party, session, &peer, Instant::now()).map_err(refused)?;
        tracing::info!(party = &**party, session, "party attends");
        let before = self.attending.insert(Arc::clone(party), attending);
        if let Some(before) = before {
            before.calls.end(Status::aborted("another stream of this party has taken the place of this one"));
        }
        self.carry_out(effects);
        Ok(pace)
    }

    /// A stream has ended.
    fn depart(&mut self, departure: Departure) {
        match departure {
            Departure::Follower(number) => self.listeners.remove(number, Instant::now()),
            Departure::Core(id) => {
                // Otherwise it has ended as it should, or the pod is selected.
                if self.live.get(&id).is_some_and(|live| live.negotiate.is_some() && live.select.is_none()) {
                    self.followers.push_back(Follower::Release(id));
                    self.carry_out(Vec::new());
                }
            }
            Departure::Party { party, session } => {
                if self.attending.get(&party).is_some_and(|attending| attending.session == session) {
                    // What it has said before it left.
                    while let Some(event) = self.attending.get_mut(&party).and_then(|it| it.heard.try_recv().ok()) {
                        self.step(event);
                    }
                    tracing::info!(party = &*party, session, "party has left");
                    self.attending.remove(&party);
                }
                self.step(Event::Left { party, session });
            }
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Evaluated(id, evaluated) => {
                let Some(live) = self.live.get_mut(&id) else { return };
                match evaluated {
                    Some((evaluated, version)) => {
                        live.version = version;
                        self.step(Event::Evaluated(evaluated));
                    }
                    None => {
                        let pod = Arc::clone(&live.subject.record.uid);
                        self.step(Event::PodGone(pod));
                    }
                }
            }
            Done::Assumed { pod, negotiation, outcome } => {
                self.works.finish(&pod);
                if let Some(live) = self.live.get_mut(&negotiation) {
                    live.is_assumed |= outcome.is_ok();
                    self.watch.look_again();
                }
                self.step(Event::Assumed(negotiation, outcome));
                self.tell_allocated(&pod);
            }
            Done::Forgotten { pod } => {
                self.works.finish(&pod);
                self.tell_allocated(&pod);
            }
            Done::Decided { pod, taken } => {
                self.works.finish(&pod);
                if taken {
                    self.lose(pod);
                } else {
                    self.tell_allocated(&pod);
                }
            }
            Done::Left(decisions) => {
                self.looks_for_left = false;
                if decisions.is_empty() {
                    return;
                }
                tracing::info!(
                    decisions = decisions.len(),
                    "goes on from decisions of sidecars that are not there any more"
                );
                self.restore(decisions);
            }
            Done::Watched(fates) => {
                for (id, fate) in fates {
                    self.tell_fate(id, fate, true);
                }
            }
        }
    }

    fn step(&mut self, event: Event) {
        let effects = self.core.step(event, Instant::now());
        self.carry_out(effects);
    }
}
