//! Negotiation and Parties: calls of cores whose answers are streams of events, and the streams of parties.
//!
//! A task of its own reads what a party says: hyper takes nothing from a response while the client's window is closed, and what is
//! said must not depend on that. Start at [`negotiate`] and [`attend`].

use axum::extract::Request;
use axum::response::Response;
use axum::routing::MethodRouter;
use futures_util::{StreamExt as _, stream};
use nodesift_proto::v1;
use tonic::Status;

use super::{frame, scope_of, split, streaming};
use crate::admission::scope::{RequestScope, StreamScope};
use crate::negotiation::{self, Attendance, Events};
use crate::transport::spawned::Spawned;
use crate::{Error, Service, limits};

/// `Negotiate`: the events of a negotiation that begins.
pub(crate) fn negotiate(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| begin(service, max_message_bytes, request))
}

/// `Select`: the events of a selection of nodes.
pub(crate) fn select(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| choose(service, max_message_bytes, request))
}

/// `Attend`: the stream of a party. Its messages have a limit of their own.
pub(crate) fn attend(_: usize) -> MethodRouter<Service> {
    streaming(serve)
}

async fn begin(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<RequestScope>(&request)?;
    let request: v1::NegotiateRequest = frame::decode(request, max).await?;
    let events = negotiation::negotiate(&service, scope.clone(), request).await?;
    Ok(replies(&scope, events))
}

async fn choose(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<RequestScope>(&request)?;
    let request: v1::SelectRequest = frame::decode(request, max).await?;
    let events = negotiation::select(&service, &scope, request).await?;
    Ok(replies(&scope, events))
}

/// Events until the last, or until the connection is about to be closed.
fn replies(scope: &RequestScope, events: Events) -> Response {
    let (closing, endless) = (Box::pin(scope.peer.closing()), scope.peer.endless());
    let events = stream::unfold((events, endless), |(mut events, endless)| async move {
        let event = events.next().await?;
        Some((event.map(|event| frame::framed(&event.message, event.held)), (events, endless)))
    });
    frame::replies(events.take_until(closing))
}

/// Serves the stream of a party.
async fn serve(service: Service, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<StreamScope>(&request)?;
    service.readiness().check()?;
    let place = service.enter_party_stream(&scope).await?;
    let said = split::messages::<v1::PartyMessage>(request, limits::PARTY_MESSAGE_BYTES)?;
    let (closing, endless, dismissed) = (Box::pin(scope.peer.closing()), scope.peer.endless(), place.dismissed());
    let (calls, attendance) = negotiation::attend(&service, scope);
    let activity = place.activity().clone();
    let reading = Spawned::new(async move {
        tokio::select! {
            () = dismissed => {}
            () = read(attendance, said, || activity.touch()) => {}
        }
    });
    let calls = stream::unfold((calls, (place, endless, reading)), |(mut calls, held)| async move {
        let call = calls.next().await?;
        held.0.activity().touch();
        Some((call.map(|call| frame::framed(&call.message, call.held)), (calls, held)))
    });
    Ok(frame::replies(calls.take_until(closing)))
}

/// Reads what a party says until it ends, or says what is none.
async fn read(mut attendance: Attendance, mut said: split::Messages<v1::PartyMessage>, touch: impl Fn()) {
    while let Some(message) = said.next().await {
        touch();
        let taken = match message {
            Ok(message) => said.while_waiting(attendance.take(message)).await.map_err(Error::into),
            Err(status) => Err(status),
        };
        if let Err(status) = taken {
            return attendance.end(status);
        }
    }
    attendance.end(Status::ok(""));
}
