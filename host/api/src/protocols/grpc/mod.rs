//! gRPC: the calls of `nodesift.v1`.
//!
//! ```text
//! grpc       a route per call; this file
//!   filter_stream  the call with a stream of requests
//!   negotiation    calls with a stream of events, and the streams of parties
//!   message  answers → bytes of messages
//!   frame    bytes of messages ↔ bodies over HTTP/2
//!   split    a stream of requests → its messages
//! ```
//!
//! Requests are decoded on the I/O thread, responses are encoded in the slot of the [`driver`]. Start at [`routes`].

mod filter_stream;
mod frame;
pub(crate) mod message;
mod negotiation;
mod split;

use std::future::Future;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use futures_util::StreamExt as _;
use nodesift_proto::v1::NodeIndexRequest;
use prost::Message;
use tonic::Status;

use crate::admission::scope::RequestScope;
use crate::calls::driver::{self, Call, Stage};
use crate::calls::explain;
use crate::calls::filter::Filter;
use crate::calls::node_index_stream;
use crate::calls::reprieve::Reprieve;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::paths::{CALLS, FILTER_STREAM};
use crate::transport::unsent::{self, Unsent};
use crate::{Error, Service};

/// The calls of `nodesift.v1`. A message larger than `max_message_bytes` is refused by its declared length.
pub(crate) fn routes(max_message_bytes: usize) -> Router<Service> {
    let max = max_message_bytes;
    let call = |name: &str, handler: MethodRouter<Service>| Router::new().route(&format!("{CALLS}{name}"), handler);
    Router::new()
        .merge(call("Filter", answered::<Filter>(max, |response| message::filter(&response))))
        .merge(call(
            "Explain",
            unary(max, false, |service, scope, request| async move {
                explain::run(&service, scope, Stage::Decoded(request), |response| message::explain(&response)).await
            }),
        ))
        .merge(call("Predicates", answered::<Predicates>(max, |response| message::message(&response))))
        .merge(call(
            "PreFilterPredicates",
            answered::<PreFilterPredicates>(max, |response| message::pre_filtered(&response)),
        ))
        .merge(call(
            "PreemptionPredicates",
            answered::<PreemptionPredicates>(max, |response| message::message(&response)),
        ))
        .merge(call("Reprieve", answered::<Reprieve>(max, |response| message::message(&response))))
        .merge(call(
            "Assume",
            unary(max, true, |service, scope, request| async move {
                message::message(&service.assume(&scope, request).await?)
            }),
        ))
        .merge(call(
            "Forget",
            unary(max, true, |service, scope, request| async move {
                let deadline = scope.deadline;
                service.write(&scope, move |service| message::message(&service.forget_by(request, deadline)?)).await
            }),
        ))
        .route(
            FILTER_STREAM,
            post(move |State(service): State<Service>, request| async move {
                filter_stream::filter_stream(service, max, request).await.unwrap_or_else(Status::into_http)
            }),
        )
        .merge(negotiation::routes(max))
        .merge(call(
            "NodeIndex",
            post(move |State(service): State<Service>, request| node_index(service, max, request)),
        ))
}

/// A call that the [`driver`] answers.
fn answered<C: Call<Request: Message + Default>>(
    max_message_bytes: usize,
    encode: fn(C::Response) -> Result<Vec<u8>, Error>,
) -> MethodRouter<Service> {
    unary(max_message_bytes, false, move |service, scope, request| async move {
        driver::run(&service, scope, Stage::<C>::Decoded(request), encode).await
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
            let (unsent, scope) = (Unsent::of(&request), scope_of::<RequestScope>(&request)?);
            // Before the message is read: a client that does not read has its requests wait in its own memory.
            unsent::until_read(unsent.as_ref()).await?;
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

/// Returns the scope that the middleware has added to a request.
fn scope_of<S: Clone + Send + Sync + 'static>(request: &Request) -> Result<S, Error> {
    request.extensions().get::<S>().cloned().ok_or(Error::Internal)
}

/// `NodeIndex`: changes until the client leaves.
async fn node_index(service: Service, max: usize, request: Request) -> Response {
    let changes = async {
        let scope = scope_of::<RequestScope>(&request)?;
        let request: NodeIndexRequest = frame::decode(request, max).await?;
        let (closing, endless) = (Box::pin(scope.peer.closing()), scope.peer.endless());
        let place = service.enter_stream(&scope).await?;
        let changes = node_index_stream::follow(&service, request, place)?.take_until(closing);
        Ok::<_, Status>(changes.inspect(move |_| {
            let _held_while_streaming = &endless;
        }))
    };
    match changes.await {
        Ok(changes) => frame::replies(changes.map(|change| Ok(message::message(&change)?.into()))),
        Err(status) => status.into_http(),
    }
}
