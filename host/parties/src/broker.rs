//! The broker: one task that owns the state machine, tells it what happens, and has its effects carried out.
//!
//! It waits for nothing but its channels and its clock. Effects are carried out in their order, and what they lead to is told
//! after all of them. What it sees without being told is in `look`. Start at [`Broker::run`].

mod look;

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::ops::Bound;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use nodesift_api::access::Caller;
use nodesift_api::parties::Outbox;
use nodesift_api::{Error, RequestScope, Service};
use nodesift_negotiation::{
    Defect, Effect, Evaluate, Event, NegotiationId, Negotiations, Owner, Progress, Refusal, Select,
};
use nodesift_proto::v1;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval, sleep_until};
use tonic::Status;

use super::pace::{Called, Pace, Paces};
use super::rules::ClaimName;
use super::watch::Watch;
use super::works::{Done, Subject, Works};
use super::{Command, Departure, Look, Opening, message};
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
    live: BTreeMap<NegotiationId, Live>,
    attending: BTreeMap<Arc<str>, Attending>,
    paces: Paces,
    /// The party that has been heard last.
    heard: Option<Arc<str>>,
    /// Events and releases that follow from effects.
    followers: VecDeque<Follower>,
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
}

/// An open stream of a party (`Attend`).
pub(super) struct Attending {
    pub(super) session: u64,
    /// Connection at the other end of the stream.
    pub(super) peer: Caller,
    pub(super) calls: Outbox,
    pub(super) called: Called,
    /// Messages of the party that wait for the broker.
    pub(super) heard: mpsc::Receiver<Event>,
}

/// Consequence of an effect, which is handled once all effects are carried out.
enum Follower {
    Event(Event),
    Release(NegotiationId),
}

/// Next message of a party, of those with messages in turn. Streams that have ended are not waited for.
fn next_heard<'a>(
    attending: &'a mut BTreeMap<Arc<str>, Attending>,
    last: &'a mut Option<Arc<str>>,
) -> impl Future<Output = Event> + use<'a> {
    poll_fn(move |context| {
        let after = last.clone().map_or(Bound::Unbounded, Bound::Excluded);
        for range in [(after, Bound::Unbounded), (Bound::Unbounded, Bound::Unbounded)] {
            for (party, attending) in attending.range_mut::<Arc<str>, _>(range) {
                if let Poll::Ready(Some(event)) = attending.heard.poll_recv(context) {
                    *last = Some(Arc::clone(party));
                    return Poll::Ready(event);
                }
            }
        }
        Poll::Pending
    })
}

impl Broker {
    pub(super) fn new(service: Service, metrics: Metrics, reports: mpsc::WeakSender<Command>) -> Self {
        // Ids of two starts differ.
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        Self {
            works: Works::new(service.clone(), reports),
            service,
            core: Negotiations::new(seed),
            metrics,
            policy: None,
            watch: Watch::default(),
            live: BTreeMap::new(),
            attending: BTreeMap::new(),
            paces: Paces::default(),
            heard: None,
            followers: VecDeque::new(),
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
        };
        // Something may have become of the pod since it was looked up.
        self.watch.look_again();
        self.live.insert(id, live);
        self.metrics.begun.inc();
        self.carry_out(effects);
        Ok(id)
    }

    fn select(&mut self, select: Select, owner: &Owner, events: Outbox) -> Result<(), Error> {
        let id = select.negotiation;
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
            }
            Done::Forgotten { pod } => self.works.finish(&pod),
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

    /// Carries out effects, and what follows from them.
    fn carry_out(&mut self, effects: Vec<Effect>) {
        let mut waiting = VecDeque::from(effects);
        loop {
            while let Some(effect) = waiting.pop_front() {
                self.act(effect);
            }
            let Some(follower) = self.followers.pop_front() else { break };
            waiting.extend(match follower {
                Follower::Event(event) => self.core.step(event, Instant::now()),
                // One that has ended meanwhile need not be released.
                Follower::Release(id) => {
                    let owner = self.live.get(&id).map(|live| live.owner.clone()).unwrap_or_default();
                    self.core.release(id, &owner, Instant::now()).unwrap_or_default()
                }
            });
        }
        let usage = self.core.usage();
        self.metrics.show(&usage, self.attending.len());
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Call(party, call) => {
                let of = match &call {
                    nodesift_negotiation::Call::Ask(ask) => Some(ask.negotiation),
                    nodesift_negotiation::Call::Allocate(allocate) => Some(allocate.negotiation),
                    _ => None,
                };
                let live = of.and_then(|id| self.live.get(&id));
                let claims = live.map(|live| live.claims.as_slice()).unwrap_or_default();
                let call = message::call(call, live.map(|live| message::party_pod(&live.subject.record)), claims);
                let Some(attending) = self.attending.get(&party) else { return };
                self.metrics.called(&party, &call);
                attending.called.note();
                if !attending.calls.push(&call) {
                    let session = attending.session;
                    tracing::warn!(party = &*party, session, "party does not read its calls: its stream is cut off");
                    self.attending.remove(&party);
                    self.followers.push_back(Follower::Event(Event::Left { party, session }));
                }
            }
            Effect::Tell { negotiation, round, progress } => self.tell(negotiation, round, progress),
            Effect::Evaluate(asked) => self.evaluate(asked),
            Effect::Rows { party, subject, changes } => self.works.set_rows(party, subject, changes),
            Effect::Assume { negotiation, node, claims, .. } => {
                if let Some(live) = self.live.get(&negotiation) {
                    self.works.assume(negotiation, &live.subject, node, claims, &live.scope);
                }
            }
            Effect::Forget { pod } => self.works.forget(pod),
            Effect::Refuse(id, refusal) => self.refuse(id, &refusal),
            Effect::Over(id) => self.forget(id),
            Effect::Defect(party, defect) => self.note_defect(&party, &defect),
        }
    }

    fn evaluate(&mut self, asked: Evaluate) {
        let Some(live) = self.live.get_mut(&asked.negotiation) else { return };
        let evaluating = self.works.evaluate(live.subject.clone(), asked, &live.scope);
        if let Some(before) = live.evaluating.replace(evaluating) {
            before.abort();
        }
    }

    fn tell(&mut self, id: NegotiationId, round: u32, progress: Progress) {
        self.metrics.told(&progress, self.live.get(&id).map(|live| live.began.elapsed()));
        let Some(live) = self.live.get_mut(&id) else { return };
        let is_agreed = matches!(progress, Progress::Ended(nodesift_negotiation::End::Viable));
        let ends_negotiate = matches!(progress, Progress::Selected(_) | Progress::Failed(_) | Progress::Ended(_));
        let ends_select = matches!(progress, Progress::Allocated(_) | Progress::Failed(_) | Progress::Ended(_));
        let is_over = matches!(progress, Progress::Failed(_) | Progress::Ended(_)) && !is_agreed;
        let event = message::event(id.0, round, live.version.clone(), progress);
        let mut is_cut = false;
        for (stream, ends) in [(&mut live.negotiate, ends_negotiate), (&mut live.select, ends_select)] {
            let Some(outbox) = stream else { continue };
            let is_pushed = outbox.push(&event);
            is_cut |= !is_pushed;
            if ends {
                outbox.end(Status::ok(""));
            }
            if ends || !is_pushed {
                *stream = None;
            }
        }
        if is_over {
            self.forget(id);
        } else if is_cut && self.live.get(&id).is_some_and(|live| live.select.is_none() && !live.is_assumed) {
            // Nobody is there any more for whom to negotiate.
            self.followers.push_back(Follower::Release(id));
        }
    }

    /// Ends the streams of a negotiation as one that begins would be refused.
    fn refuse(&mut self, id: NegotiationId, refusal: &Refusal) {
        if let Some(live) = self.live.get(&id) {
            for stream in live.negotiate.iter().chain(&live.select) {
                stream.end(Status::resource_exhausted(refusal.to_string()));
            }
        }
        self.forget(id);
    }

    /// A negotiation has ended.
    fn forget(&mut self, id: NegotiationId) {
        let Some(live) = self.live.remove(&id) else { return };
        if let Some(evaluating) = live.evaluating {
            evaluating.abort();
        }
        for stream in live.negotiate.iter().chain(&live.select) {
            stream.end(Status::ok(""));
        }
    }

    fn note_defect(&self, party: &Arc<str>, defect: &Defect) {
        self.metrics.note_defect(party, defect);
        match defect {
            Defect::Malformed(error) => tracing::warn!(party = &**party, %error, "party said what counts for nothing"),
            Defect::Silent => tracing::debug!(party = &**party, "party is silent"),
            Defect::Quarantined => {
                tracing::warn!(party = &**party, "party is silent too often: it is not asked for a while")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn parties_with_messages_take_turns() {
        let mut attending = BTreeMap::new();
        for name in ["a", "b", "c"] {
            let (say, heard) = mpsc::channel(3);
            for session in 0..3 {
                assert!(say.try_send(Event::Left { party: Arc::from(name), session }).is_ok());
            }
            let calls = Outbox::closed();
            let of = Attending { session: 0, peer: Caller::ANONYMOUS, calls, called: Called::default(), heard };
            attending.insert(Arc::from(name), of);
        }
        let (mut last, mut order) = (None, String::new());
        for _ in 0..9 {
            match next_heard(&mut attending, &mut last).await {
                Event::Left { party, .. } => order.push_str(&party),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(order, "abcabcabc");
    }
}
