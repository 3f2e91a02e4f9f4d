//! The calls: what a core asks for, and a party's stream. Start at [`negotiate`] and [`attend`].

use std::sync::Arc;
use std::time::Duration;

use nodesift_negotiation::limits::{CANDIDATES_MOST, ORDER_NODES};
use nodesift_negotiation::{Class, Event, NegotiationId, Node, Refusal, Request, Select};
use nodesift_proto::v1::{self, party_message};
use tokio::sync::mpsc;
use tonic::Status;

use super::broker::Attending;
use super::outbox::{self, Inbox, Unread};
use super::pace::{Called, Pace};
use super::works::Subject;
use super::{Command, Departure, Handle, Opening, message, rules};
use crate::admission::consistency::MinimumVersions;
use crate::admission::scope::{RequestScope, StreamScope};
use crate::calls::{request, response};
use crate::error::at_most;
use crate::{Error, Service, limits};
use nodesift_cache::metadata::{self, PodRecord};
use nodesift_cache::{Reader, Row, Snapshot};
use nodesift_engine::{self as engine, PodRef};

/// Events of a negotiation. Dropped before its end, it says so to the broker.
pub(crate) struct Events {
    inbox: Inbox,
    _leaving: Option<Leaving>,
}

/// Calls of a party. Dropped, the party has left.
pub(crate) struct Calls {
    inbox: Inbox,
}

impl Events {
    /// Returns the next `NegotiationEvent`, encoded.
    pub(crate) async fn next(&mut self) -> Option<Result<Unread, Status>> {
        self.inbox.next().await
    }
}

impl Calls {
    /// Returns the next `PartyCall`, encoded.
    pub(crate) async fn next(&mut self) -> Option<Result<Unread, Status>> {
        self.inbox.next().await
    }
}

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

/// Begins to negotiate.
///
/// # Errors
///
/// Those of the fields, of the minimum versions, and of [`Refusal`](nodesift_negotiation::Refusal).
pub(crate) async fn negotiate(
    service: &Service,
    mut scope: RequestScope,
    request: v1::NegotiateRequest,
) -> Result<Events, Error> {
    service.check()?;
    at_most("nodes of an order", request.order.len(), ORDER_NODES)?;
    let minimum = MinimumVersions::parse(request.consistency.as_ref())?;
    if let Some(minimum) = minimum.filter(|minimum| !minimum.are_met(&service.reader().snapshot())) {
        scope.deadline = service.version_waiters().wait(&scope, &minimum).await?;
    }
    let subject = subject(service, request.pod.clone().unwrap_or_default()).await?;
    let broker = service.negotiating().broker(service);
    // The request's room is held until the negotiation counts for itself.
    let room = scope.room.clone();
    let opening = opening(service, scope, request, subject)?;
    let (id, inbox) = broker.ask(|reply| Command::Negotiate(Box::new(opening), reply)).await?;
    room.shrink_to(0);
    Ok(Events { inbox, _leaving: Some(Leaving { broker, departure: Some(Departure::Core(id)) }) })
}

fn opening(
    service: &Service,
    scope: RequestScope,
    request: v1::NegotiateRequest,
    subject: Subject,
) -> Result<Opening, Error> {
    let v1::NegotiateRequest { pod: _, consistency: _, order, candidates, deadline_ms, round_ms, supersedes } = request;
    let (snapshot, policy) = (service.reader().snapshot(), service.engine().policy());
    let known = PodRef::Known(Arc::clone(&subject.record));
    let (pod, selected_by) = service.engine().context(&snapshot, &known)?.negotiated_pod();
    let claims = rules::claims(&snapshot, &subject.record);
    let owner = scope.rights.owner();
    if owner.class == Class::Remote && !subject.is_known && !pod.claims.is_empty() {
        // What it says of its claims nobody has checked: they may be those of another pod, which could not be negotiated meanwhile.
        return Err(Refusal::NotInCache.into());
    }
    let version = response::version(&snapshot, policy.generation, service.staleness().age());
    let (order, is_order_shared) = match order.is_empty() {
        true => service.negotiating().order(&snapshot),
        false => (self::order(&snapshot, order), false),
    };
    let request = Request {
        pod,
        selected_by,
        order,
        is_order_shared,
        candidates: usize::try_from(candidates).unwrap_or(CANDIDATES_MOST + 1),
        deadline: Duration::from_millis(deadline_ms.into()),
        round: Duration::from_millis(round_ms.into()),
        supersedes: (supersedes != 0).then_some(NegotiationId(supersedes)),
        owner,
        bytes: subject.record.memory_bytes(),
    };
    Ok(Opening { request, subject, claims, scope, version })
}

/// The nodes of an order that the cache knows, with its texts.
fn order(snapshot: &Snapshot, names: Vec<String>) -> Arc<[Node]> {
    let of_row = |row: Row| snapshot.names().get(row).map(Arc::clone);
    // A node that is not known is no candidate, and its name would be kept as it came.
    names.into_iter().filter_map(|name| snapshot.node_row(&name).and_then(of_row)).collect()
}

/// The pod of a request.
async fn subject(service: &Service, pod: v1::Pod) -> Result<Subject, Error> {
    let given = request::evaluated_pod("pod", pod)?;
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

/// Selects nodes of a negotiation.
///
/// # Errors
///
/// Those of [`Refusal`](nodesift_negotiation::Refusal).
pub(crate) async fn select(
    service: &Service,
    scope: &RequestScope,
    request: v1::SelectRequest,
) -> Result<Events, Error> {
    service.check()?;
    at_most("nodes", request.nodes.len(), CANDIDATES_MOST)?;
    let snapshot = service.reader().snapshot();
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
    let broker = service.negotiating().broker(service);
    let owner = scope.rights.owner();
    let inbox = broker.ask(|reply| Command::Select(select, owner, scope.unsent.clone(), reply)).await?;
    scope.room.shrink_to(0);
    Ok(Events { inbox, _leaving: None })
}

/// Gives a negotiation up.
///
/// # Errors
///
/// [`Refusal::Unknown`](nodesift_negotiation::Refusal::Unknown).
pub(crate) async fn release(
    service: &Service,
    scope: &RequestScope,
    request: v1::ReleaseRequest,
) -> Result<v1::ReleaseResponse, Error> {
    let broker = service.negotiating().broker(service);
    let owner = scope.rights.owner();
    broker.ask(|reply| Command::Release(NegotiationId(request.id), owner, reply)).await?;
    Ok(v1::ReleaseResponse {})
}

/// A party's stream: what it is told, and a function that takes what it says, in its order, until it fails.
pub(crate) fn attend(service: &Service, scope: StreamScope) -> (Calls, Attendance) {
    let (outbox, inbox) = outbox::channel(limits::PARTY_UNREAD_BYTES, scope.unsent.clone());
    let broker = service.negotiating().broker(service);
    let session = service.negotiating().new_session();
    let leaving = Leaving { broker, departure: None };
    let pace = Pace::new(Called::default());
    let reader = service.reader().clone();
    (Calls { inbox }, Attendance { party: None, session, outbox, scope, reader, pace, leaving })
}

/// The reading side of a party's stream. Dropped, the party has left.
pub(crate) struct Attendance {
    /// Once it has said who it is, with the way on which the broker hears it.
    party: Option<(Arc<str>, mpsc::Sender<Event>)>,
    session: u64,
    outbox: outbox::Outbox,
    scope: StreamScope,
    /// Of the nodes that it names.
    reader: Reader,
    pace: Pace,
    leaving: Leaving,
}

impl Attendance {
    /// Takes a message of the party.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`], [`Error::Overloaded`], [`Error::Negotiation`], [`Error::InvalidField`], [`Error::Flood`].
    pub(crate) async fn take(&mut self, said: v1::PartyMessage) -> Result<(), Error> {
        use party_message::Message;
        let answers = !matches!(said.message, None | Some(Message::Attend(_) | Message::Invalidate(_)));
        if !self.pace.speak(answers) {
            return Err(Error::Flood);
        }
        // Its room is held until the broker has it.
        let _scope = self.scope.next()?;
        let Some((party, heard)) = &self.party else { return self.begin(said).await };
        let event = message::heard(&self.reader.snapshot(), party, said)?;
        heard.send(event).await.map_err(|_| super::ends())
    }

    async fn begin(&mut self, said: v1::PartyMessage) -> Result<(), Error> {
        let Some(party_message::Message::Attend(v1::PartyAttend { party })) = said.message else {
            return Err(Error::invalid("attend", "comes first"));
        };
        at_most("bytes of a party's name", party.len(), limits::PARTY_NAME_BYTES)?;
        self.scope.rights.check_party(&party)?;
        let party: Arc<str> = party.into();
        let (session, calls) = (self.session, self.outbox.clone());
        let broker = self.leaving.broker.clone();
        let (say, heard) = mpsc::channel(limits::PARTY_HEARD);
        let (peer, called) = (self.scope.rights.caller().clone(), Called::default());
        // Before it attends: it may have been called, and have left, before this goes on.
        self.leaving.departure = Some(Departure::Party { party: Arc::clone(&party), session });
        let attending = Attending { session, peer, calls, called, heard };
        // To attend has been counted by the pace of the party.
        self.pace = broker.ask(|reply| Command::Attend { party: Arc::clone(&party), attending, reply }).await?;
        self.party = Some((party, say));
        Ok(())
    }

    /// Ends the stream, for example with what it has failed by.
    pub(crate) fn end(&self, status: Status) {
        self.outbox.end(status);
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        // Where it has not ended by itself.
        self.end(Status::resource_exhausted("others need the place of this stream: begin again"));
    }
}
