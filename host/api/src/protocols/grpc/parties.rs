//! Negotiation and Parties: calls of cores whose answers are streams of events, and the streams of parties. Who answers them is behind
//! the trait [`Parties`](crate::parties::Parties).
//!
//! A task of its own reads what a party says: hyper takes nothing from a response while the client's window is closed, and what is
//! said must not depend on that. Start at [`negotiate`] and [`attend`].

use axum::body::Bytes;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::MethodRouter;
use futures_util::{Stream, StreamExt as _, stream};
use nodesift_proto::v1;
use tonic::Status;

use super::outbox::{self, Inbox, Outbox};
use super::spawned::Spawned;
use super::{frame, scope_of, split, streaming};
use crate::admission::scope::{RequestScope, StreamScope};
use crate::parties::{Attendance, Listening};
use crate::{Error, Service, limits};
use nodesift_edge::places::Activity;

/// `Negotiate`: the events of a negotiation that begins.
pub(crate) fn negotiate(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| begin(service, max_message_bytes, request))
}

/// `Select`: the events of a selection of nodes.
pub(crate) fn select(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| choose(service, max_message_bytes, request))
}

/// `Follow`: words of parties about pods that wait for them.
pub(crate) fn follow(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| listen(service, max_message_bytes, request))
}

/// `Attend`: the stream of a party. Its messages have a limit of their own.
pub(crate) fn attend(_: usize) -> MethodRouter<Service> {
    streaming(serve)
}

async fn begin(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let mut scope = scope_of::<RequestScope>(&request)?;
    let request: v1::NegotiateRequest = frame::decode(request, max).await?;
    let (peer, room) = (scope.peer.clone(), scope.room.clone());
    let (events, inbox) = outbox::channel(limits::NEGOTIATION_UNREAD_BYTES, scope.unsent.take());
    let listening = service.parties()?.negotiate(scope, request, events).await?;
    // The request's room was held until the negotiation counted for itself.
    room.shrink_to(0);
    Ok(replies(&peer, inbox, Some(listening)))
}

async fn choose(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<RequestScope>(&request)?;
    let request: v1::SelectRequest = frame::decode(request, max).await?;
    let (events, inbox) = outbox::channel(limits::NEGOTIATION_UNREAD_BYTES, scope.unsent.clone());
    service.parties()?.select(scope.rights.caller(), request, events).await?;
    scope.room.shrink_to(0);
    Ok(replies(&scope.peer, inbox, None))
}

async fn listen(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let mut scope = scope_of::<RequestScope>(&request)?;
    let _request: v1::FollowRequest = frame::decode(request, max).await?;
    let (events, inbox) = outbox::channel(limits::FOLLOWER_UNREAD_BYTES, scope.unsent.take());
    let listening = service.parties()?.follow(scope.rights.caller(), events).await?;
    scope.room.shrink_to(0);
    Ok(replies(&scope.peer, inbox, Some(listening)))
}

/// Events until the last, or until the connection is about to be closed.
fn replies(peer: &Activity, inbox: Inbox, listening: Option<Listening>) -> Response {
    let (closing, endless) = (Box::pin(peer.closing()), peer.endless());
    let events = framed(inbox, (listening, endless), |_| ());
    frame::replies(events.take_until(closing))
}

/// Messages of an inbox in their frames. `held` is held until the last, and `touch` called with it before each.
fn framed<H: Send>(inbox: Inbox, held: H, touch: fn(&H)) -> impl Stream<Item = Result<Bytes, Status>> + Send {
    stream::unfold((inbox, held), move |(mut inbox, held)| async move {
        let unread = inbox.next().await?;
        touch(&held);
        Some((unread.map(|unread| frame::framed(&unread.message, unread.held)), (inbox, held)))
    })
}

/// Serves the stream of a party.
async fn serve(service: Service, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<StreamScope>(&request)?;
    service.readiness().check()?;
    let place = service.enter_party_stream(&scope).await?;
    let said = split::messages::<v1::PartyMessage>(request, limits::PARTY_MESSAGE_BYTES)?;
    let (closing, endless, dismissed) = (Box::pin(scope.peer.closing()), scope.peer.endless(), place.dismissed());
    let (calls, inbox) = outbox::channel(limits::PARTY_UNREAD_BYTES, scope.unsent.clone());
    let attendance = service.parties()?.attend(scope.rights.clone(), calls.clone());
    let speaker = Speaker { attendance, calls, scope };
    let activity = place.activity().clone();
    let reading = Spawned::new(async move {
        tokio::select! {
            () = dismissed => {}
            () = speaker.read(said, || activity.touch()) => {}
        }
    });
    let calls = framed(inbox, (place, endless, reading), |(place, ..)| place.activity().touch());
    Ok(frame::replies(calls.take_until(closing)))
}

/// The side of a party's stream that is read. Dropped, the stream ends.
struct Speaker {
    attendance: Box<dyn Attendance>,
    calls: Outbox,
    scope: StreamScope,
}

impl Speaker {
    /// Reads what a party says until it ends, or says what is none.
    async fn read(mut self, mut said: split::Messages<v1::PartyMessage>, touch: impl Fn()) {
        while let Some(message) = said.next().await {
            touch();
            let taken = match message {
                Ok(message) => said.while_waiting(self.take(message)).await.map_err(Error::into),
                Err(status) => Err(status),
            };
            if let Err(status) = taken {
                return self.calls.end(status);
            }
        }
        self.calls.end(Status::ok(""));
    }

    async fn take(&mut self, said: v1::PartyMessage) -> Result<(), Error> {
        self.attendance.admit(&said)?;
        // Its room is held until it is taken.
        let _scope = self.scope.next()?;
        self.attendance.take(said).await
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        // Where it has not ended by itself.
        self.calls.end(Status::resource_exhausted("others need the place of this stream: begin again"));
    }
}
