//! gRPC: the calls of `nodesift.v1`.
//!
//! ```text
//! grpc       handlers of the calls; this file
//!   filter_stream  the call with a stream of requests
//!   parties        calls with a stream of events, and the streams of parties
//!     outbox       messages that wait for the reader of such a stream
//!   message  responses → bytes of messages
//!   frame    bytes of messages ↔ bodies over HTTP/2
//!   split    a stream of requests → its messages
//! ```
//!
//! Requests are decoded on the I/O thread, responses are encoded in the slot of the [`driver`]. Start at [`answered`].

mod filter_stream;
mod frame;
pub(crate) mod message;
mod outbox;
mod parties;
mod spawned;
mod split;

use std::future::Future;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use futures_util::StreamExt as _;
use nodesift_proto::v1::NodeIndexRequest;
use prost::Message;
use tonic::Status;

use crate::admission::scope::RequestScope;
use crate::calls::decision::Decision;
use crate::calls::driver::{self, Call, Stage};
use crate::calls::explain;
use crate::calls::node_index_stream;
use crate::calls::why;
use crate::protocols::answers::Encode;
use crate::{Error, Service};
pub(crate) use filter_stream::filter_stream;
pub use outbox::Outbox;
pub(crate) use parties::{attend, follow, negotiate, select};

/// A call that the [`driver`] answers.
pub(crate) fn answered<C>(max_message_bytes: usize) -> MethodRouter<Service>
where
    C: Call<Request: Message + Default, Response: Encode>,
{
    unary(max_message_bytes, false, |service, scope, request| async move {
        driver::run(&service, scope, Stage::<C>::Decoded(request), |response| message::encode(&response)).await
    })
}

/// `Explain`: a call that the [`driver`] answers, with what parties have said.
pub(crate) fn explain(max_message_bytes: usize) -> MethodRouter<Service> {
    unary(max_message_bytes, false, |service, scope, request| async move {
        explain::run(&service, scope, Stage::Decoded(request), |response| message::encode(&response)).await
    })
}

/// `Why`: a call that the [`driver`] answers, with what parties have said.
pub(crate) fn why(max_message_bytes: usize) -> MethodRouter<Service> {
    unary(max_message_bytes, false, |service, scope, request| async move {
        why::run(&service, scope, Stage::Decoded(request), |explained| message::encode(&explained.response)).await
    })
}

/// A call that is carried out once.
pub(crate) fn decided<D: Decision>(max_message_bytes: usize) -> MethodRouter<Service> {
    unary(max_message_bytes, true, |service, scope, request| async move {
        message::encode(&D::decide(&service, &scope, request).await?)
    })
}

/// A call from one message to one message; `decides` says that it changes the cache.
fn unary<Q, W, F>(max_message_bytes: usize, decides: bool, work: W) -> MethodRouter<Service>
where
    Q: Message + Default + 'static,
    W: FnOnce(Service, RequestScope, Q) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Vec<u8>, Error>> + Send,
{
    post(async move |State(service): State<Service>, request: Request| -> Response {
        let answer = async {
            let scope = scope_of::<RequestScope>(&request)?;
            scope.until_read().await?;
            let unsent = scope.unsent.clone();
            let request = frame::decode(request, max_message_bytes).await?;
            scope.pend()?;
            let held = if decides { scope.room_of_decision()? } else { None };
            let framed = work(service, scope, request).await?;
            Ok::<_, Status>(match held {
                Some(held) => frame::reply_in(framed, Some(held)),
                None => frame::reply(framed, unsent.as_ref())?,
            })
        };
        answer.await.unwrap_or_else(Status::into_http)
    })
}

/// A call whose answer is a stream.
fn streaming<F>(answer: impl Fn(Service, Request) -> F + Clone + Send + Sync + 'static) -> MethodRouter<Service>
where
    F: Future<Output = Result<Response, Status>> + Send + 'static,
{
    post(async move |State(service): State<Service>, request: Request| {
        answer(service, request).await.unwrap_or_else(Status::into_http)
    })
}

/// Returns the scope that the middleware has added to a request.
fn scope_of<S: Clone + Send + Sync + 'static>(request: &Request) -> Result<S, Error> {
    request.extensions().get::<S>().cloned().ok_or(Error::Internal)
}

/// `NodeIndex`: changes until the client leaves.
pub(crate) fn node_index(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| changes_of_index(service, max_message_bytes, request))
}

async fn changes_of_index(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<RequestScope>(&request)?;
    let request: NodeIndexRequest = frame::decode(request, max).await?;
    let (closing, endless) = (Box::pin(scope.peer.closing()), scope.peer.endless());
    let place = service.enter_stream(&scope).await?;
    let changes = node_index_stream::follow(&service, request, place)?.take_until(closing);
    let changes = changes.inspect(move |_| {
        let _held_while_streaming = &endless;
    });
    Ok(frame::replies(changes.map(|change| Ok(message::encode(&change)?.into()))))
}
