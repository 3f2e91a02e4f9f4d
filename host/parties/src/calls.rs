//! The calls: what a core asks for, and a party's stream. Start at the implementation of [`Parties`].

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use nodesift_api::access::{Caller, CallerRights};
use nodesift_api::parties::{Attendance, Listening, Outbox, Parties, at_most, evaluated_pod};
use nodesift_api::{Error, RequestScope, Service, response};
use nodesift_cache::metadata::{self, PodRecord};
use nodesift_cache::{Reader, Row, Snapshot};
use nodesift_engine::{self as engine, ExplainedParties, PodRef};
use nodesift_negotiation::limits::{CANDIDATES_MOST, ORDER_NODES};
use nodesift_negotiation::{Class, Event, NegotiationId, Node, Refusal, Request, Select};
use nodesift_proto::v1::{self, party_message};
use tokio::sync::mpsc;

use crate::attending::Attending;
use crate::pace::{Called, Pace};
use crate::refusal::{owner, refused};
use crate::works::Subject;
use crate::{BrokeredParties, Command, Departure, Handle, Opening, limits, message, rules};

/// Tells the broker of a stream that ends.
struct Leaving {
    broker: Handle,
    departure: Option<Departure>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(departure) = self.departure.take() {
            // The broker has ended: nobody wants to know.
            let _unsent = self.broker.departures.send(departure);
        }
    }
}

impl Parties for BrokeredParties {
    fn negotiate(
        &self,
        scope: RequestScope,
        request: v1::NegotiateRequest,
        events: Outbox,
    ) -> BoxFuture<'_, Result<Listening, Error>> {
        self.begin(scope, request, events).boxed()
    }

    fn select<'a>(
        &'a self,
        caller: &'a Caller,
        request: v1::SelectRequest,
        events: Outbox,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.choose(caller, request, events).boxed()
    }

    fn release<'a>(&'a self, caller: &'a Caller, request: v1::ReleaseRequest) -> BoxFuture<'a, Result<(), Error>> {
        let released = async move {
            // Not the age of the cache: what is given up needs none of it.
            self.service().readiness().check()?;
            let owner = owner(caller);
            self.broker().ask(|reply| Command::Release(NegotiationId(request.id), owner, reply)).await
        };
        released.boxed()
    }

    fn follow<'a>(&'a self, caller: &'a Caller, events: Outbox) -> BoxFuture<'a, Result<Listening, Error>> {
        let followed = async move {
            self.service().check()?;
            let (broker, owner, number) = (self.broker(), owner(caller), self.new_session());
            // Before it follows: its client may leave before this goes on.
            let leaving = Leaving { broker: broker.clone(), departure: Some(Departure::Follower(number)) };
            broker.ask(|reply| Command::Follow(number, owner, events, reply)).await?;
            let listening: Listening = Box::new(leaving);
            Ok(listening)
        };
        followed.boxed()
    }

    fn attend(&self, rights: CallerRights, calls: Outbox) -> Box<dyn Attendance> {
        let leaving = Leaving { broker: self.broker(), departure: None };
        let (session, pace) = (self.new_session(), Pace::new(Called::default()));
        let reader = self.service().reader().clone();
        Box::new(Attended { party: None, session, calls, rights, reader, pace, leaving })
    }

    fn stances<'a>(&'a self, parties: &'a ExplainedParties) -> BoxFuture<'a, Vec<v1::PartyStance>> {
        self.ask_for_stances(parties).boxed()
    }

    fn overview(&self) -> BoxFuture<'_, Result<Vec<u8>, Error>> {
        let encoded = async move {
            serde_json::to_vec(&self.ask_for_overview().await).map_err(|error| {
                tracing::error!(%error, "negotiations cannot be encoded");
                Error::Internal
            })
        };
        encoded.boxed()
    }
}

impl BrokeredParties {
    /// Begins to negotiate.
    ///
    /// # Errors
    ///
    /// Those of the fields, of the minimum versions, and of [`Refusal`].
    async fn begin(
        &self,
        scope: RequestScope,
        request: v1::NegotiateRequest,
        events: Outbox,
    ) -> Result<Listening, Error> {
        let service = self.service();
        service.check()?;
        at_most("nodes of an order", request.order.len(), ORDER_NODES)?;
        let scope = service.until_seen(scope, request.consistency.as_ref()).await?;
        let subject = subject(service, request.pod.clone().unwrap_or_default()).await?;
        let broker = self.broker();
        let opening = self.opening(scope, request, subject, events)?;
        let id = broker.ask(|reply| Command::Negotiate(Box::new(opening), reply)).await?;
        Ok(Box::new(Leaving { broker, departure: Some(Departure::Core(id)) }))
    }

    fn opening(
        &self,
        scope: RequestScope,
        request: v1::NegotiateRequest,
        subject: Subject,
        events: Outbox,
    ) -> Result<Opening, Error> {
        let service = self.service();
        let v1::NegotiateRequest { pod: _, consistency: _, order, candidates, deadline_ms, round_ms, supersedes } =
            request;
        let (snapshot, policy) = (service.reader().snapshot(), service.engine().policy());
        let known = PodRef::Known(Arc::clone(&subject.record));
        let (pod, selected_by) = service.engine().context(&snapshot, &known)?.negotiated_pod();
        let claims = rules::claims(&snapshot, &subject.record);
        let owner = owner(scope.caller());
        if owner.class == Class::Remote && !subject.is_known && !pod.claims.is_empty() {
            // What it says of its claims nobody has checked: they may be those of another pod, which could not be negotiated meanwhile.
            return Err(refused(Refusal::NotInCache));
        }
        let version = response::version(&snapshot, policy.generation, service.staleness().age());
        let order = match order.is_empty() {
            true => self.order(&snapshot),
            false => self.0.orders.intern(self::order(&snapshot, order)),
        };
        let request = Request {
            pod,
            selected_by,
            order,
            candidates: usize::try_from(candidates).unwrap_or(CANDIDATES_MOST + 1),
            deadline: Duration::from_millis(deadline_ms.into()),
            round: Duration::from_millis(round_ms.into()),
            supersedes: (supersedes != 0).then_some(NegotiationId(supersedes)),
            owner,
            bytes: subject.record.memory_bytes(),
        };
        Ok(Opening { request, subject, claims, scope, version, events })
    }

    /// Selects nodes of a negotiation.
    ///
    /// # Errors
    ///
    /// Those of [`Refusal`].
    async fn choose(&self, caller: &Caller, request: v1::SelectRequest, events: Outbox) -> Result<(), Error> {
        self.service().check()?;
        at_most("nodes", request.nodes.len(), CANDIDATES_MOST)?;
        let snapshot = self.service().reader().snapshot();
        // Where it is known, with the text of the cache; where not, no more is kept than a name can have.
        let named = |name: String| match snapshot.node_row(&name).and_then(|row| snapshot.names().get(row)) {
            Some(known) => Ok(Arc::clone(known)),
            None => at_most("bytes of a node's name", name.len(), limits::NODE_NAME_BYTES).map(|()| Node::from(name)),
        };
        let select = Select {
            negotiation: NegotiationId(request.id),
            nodes: request.nodes.into_iter().map(named).collect::<Result<_, _>>()?,
            optimistic: request.optimistic,
            deadline: Duration::from_millis(request.deadline_ms.into()),
        };
        let owner = owner(caller);
        self.broker().ask(|reply| Command::Select(select, owner, events, reply)).await
    }
}

/// The nodes of an order that the cache knows, with its texts.
fn order(snapshot: &Snapshot, names: Vec<String>) -> Arc<[Node]> {
    let of_row = |row: Row| snapshot.names().get(row).map(Arc::clone);
    // A node that is not known is no candidate, and its name would be kept as it came.
    names.into_iter().filter_map(|name| snapshot.node_row(&name).and_then(of_row)).collect()
}

/// The pod of a request.
async fn subject(service: &Service, pod: v1::Pod) -> Result<Subject, Error> {
    let given = evaluated_pod("pod", pod)?;
    let unknown = |pod: &PodRef| Error::from(engine::Error::UnknownPod { pod: pod.to_string() });
    let (reader, policy) = (service.reader().clone(), service.engine().policy());
    let find = |pod: &PodRef| match pod {
        PodRef::Uid(uid) => reader.pods().by_uid(uid),
        PodRef::Name { namespace, name } => reader.pods().by_name(namespace, name),
        _ => None,
    };
    match given {
        PodRef::Whole(whole) => {
            let compiled = service.background().spawn_blocking(move || {
                metadata::pod_record_selecting(&whole, &policy.scheduler_names, &policy.selection())
            });
            let record = compiled.await.map_err(|_| Error::Internal)?;
            if record.object_uid().is_empty() {
                return Err(Error::invalid("pod.metadata.uid", "is empty: parties know pods by it"));
            }
            let known = reader.pods().by_uid(&record.uid);
            Ok(Subject { is_known: known.is_some(), record: known.unwrap_or_else(|| Arc::new(record)) })
        }
        PodRef::Version { pod: named, resource_version: wanted } => {
            let record = find(&named).filter(|record| *record.resource_version == *wanted);
            let other = || {
                let found = find(&named).map_or_else(|| "none".to_owned(), |it| it.resource_version.to_string());
                engine::Error::OtherVersion { pod: named.to_string(), wanted, found }
            };
            Ok(Subject { record: record.ok_or_else(other)?, is_known: true })
        }
        named => {
            let record: Arc<PodRecord> = find(&named).ok_or_else(|| unknown(&named))?;
            Ok(Subject { record, is_known: true })
        }
    }
}

/// The stream of a party. Dropped, the party has left.
struct Attended {
    /// Once it has said who it is, with the way on which the broker hears it.
    party: Option<(Arc<str>, mpsc::Sender<Event>)>,
    session: u64,
    calls: Outbox,
    rights: CallerRights,
    /// Of the nodes that it names.
    reader: Reader,
    pace: Pace,
    leaving: Leaving,
}

impl Attendance for Attended {
    fn admit(&self, said: &v1::PartyMessage) -> Result<(), Error> {
        use party_message::Message;
        let answers = !matches!(said.message, None | Some(Message::Attend(_) | Message::Invalidate(_)));
        if !self.pace.speak(answers) {
            return Err(Error::Flood);
        }
        Ok(())
    }

    fn take(&mut self, mut said: v1::PartyMessage) -> BoxFuture<'_, Result<(), Error>> {
        let taken = async move {
            let Some((party, heard)) = &self.party else { return self.begin(said).await };
            if let Some(error) = message::refused_selector(&mut said) {
                let malformed = Event::Malformed(Arc::clone(party), error);
                heard.send(malformed).await.map_err(|_| crate::ends())?;
            }
            let event = message::heard(&self.reader.snapshot(), party, said)?;
            heard.send(event).await.map_err(|_| crate::ends())
        };
        taken.boxed()
    }
}

impl Attended {
    /// Takes the first message, by which the party says who it is.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidField`], [`Error::TooMuch`], [`Error::Denied`], [`Error::Flood`], [`Error::Refused`].
    async fn begin(&mut self, said: v1::PartyMessage) -> Result<(), Error> {
        let Some(party_message::Message::Attend(v1::PartyAttend { party })) = said.message else {
            return Err(Error::invalid("attend", "comes first"));
        };
        at_most("bytes of a party's name", party.len(), limits::PARTY_NAME_BYTES)?;
        self.rights.check_party(&party)?;
        let party: Arc<str> = party.into();
        let (session, calls) = (self.session, self.calls.clone());
        let broker = self.leaving.broker.clone();
        let (say, heard) = mpsc::channel(limits::PARTY_HEARD);
        let (peer, called) = (self.rights.caller().clone(), Called::default());
        // Before it attends: it may have been called, and have left, before this goes on.
        self.leaving.departure = Some(Departure::Party { party: Arc::clone(&party), session });
        let attending = Attending { session, peer, calls, called, heard };
        // To attend has been counted by the pace of the party.
        self.pace = broker.ask(|reply| Command::Attend { party: Arc::clone(&party), attending, reply }).await?;
        self.party = Some((party, say));
        Ok(())
    }
}
