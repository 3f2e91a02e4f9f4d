//! gRPC: the calls of `nodesift.v1`.
//!
//! ```text
//! grpc       a route per call; this file
//!   message  answers → bytes of messages
//!   frame    bytes of messages ↔ bodies over HTTP/2
//!   split    a stream of requests → its messages
//! ```
//!
//! Requests are decoded on the I/O thread, responses are encoded in the slot of the [`driver`]. Start at [`routes`].

mod frame;
pub(crate) mod message;
mod split;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use futures_util::future::{Either, FutureExt as _, ready};
use futures_util::{StreamExt as _, stream};
use nodesift_proto::v1::{FilterStreamRequest, NodeIndexRequest};
use prost::Message;
use tokio::task::{JoinError, JoinHandle};
use tonic::Status;

use crate::admission::scope::{RequestScope, StreamScope};
use crate::calls::driver::{self, Call, Stage};
use crate::calls::explain::Explain;
use crate::calls::filter::Filter;
use crate::calls::node_index_stream;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::transport::unsent::{self, Unsent};
use crate::{Error, Service, limits};

/// The prefix of the paths of this API's calls.
pub(crate) const CALLS: &str = "/nodesift.v1.Nodesift/";

/// The prefixes of all paths that take gRPC only.
pub(crate) const SERVICES: [&str; 3] = [CALLS, "/grpc.health.v1.Health/", "/grpc.reflection."];

/// The path of the call with a stream of requests.
pub(crate) const FILTER_STREAM: &str = "/nodesift.v1.Nodesift/FilterStream";

/// The calls of `nodesift.v1`. A message larger than `max_message_bytes` is refused by its declared length.
pub(crate) fn routes(max_message_bytes: usize) -> Router<Service> {
    let max = max_message_bytes;
    let call = |name: &str, handler: MethodRouter<Service>| Router::new().route(&format!("{CALLS}{name}"), handler);
    Router::new()
        .merge(call("Filter", answered::<Filter>(max, |response| message::filter(&response))))
        .merge(call("Explain", answered::<Explain>(max, |response| message::explain(&response))))
        .merge(call("Predicates", answered::<Predicates>(max, |response| message::message(&response))))
        .merge(call(
            "PreFilterPredicates",
            answered::<PreFilterPredicates>(max, |response| message::pre_filtered(&response)),
        ))
        .merge(call(
            "PreemptionPredicates",
            answered::<PreemptionPredicates>(max, |response| message::message(&response)),
        ))
        .merge(call(
            "Assume",
            unary(max, true, |service, scope, request| async move {
                message::message(&service.assume(&scope, request).await?)
            }),
        ))
        .merge(call(
            "Forget",
            unary(max, true, |service, scope, request| async move {
                service.write(&scope, move |service| message::message(&service.forget_now(request)?)).await
            }),
        ))
        .route(
            FILTER_STREAM,
            post(move |State(service): State<Service>, request| async move {
                filter_stream(service, max, request).await.unwrap_or_else(Status::into_http)
            }),
        )
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

/// Bytes that the response of a decision counts for: a version, and names of a pod.
const DECISION_BYTES: usize = 4 << 10;

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
            // Room for the response of a decision is taken before it is made: it must not be refused once it is made.
            let held = unsent.as_ref().filter(|_| decides).map(|unsent| unsent.hold(DECISION_BYTES, DECISION_BYTES));
            let held = held.transpose()?;
            let framed = work(service, scope, request).await?;
            Ok::<_, Status>(match held {
                Some(held) => frame::reply_in(framed, Some(held)),
                None => frame::reply(framed, unsent.as_ref())?,
            })
        };
        answer.await.unwrap_or_else(Status::into_http)
    })
}

/// What the middleware has put into a request.
fn scope_of<S: Clone + Send + Sync + 'static>(request: &Request) -> Result<S, Error> {
    request.extensions().get::<S>().cloned().ok_or(Error::Internal)
}

/// `FilterStream`: several requests are worked on at once, answers come in their order.
async fn filter_stream(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let (unsent, scope) = (Unsent::of(&request), scope_of::<StreamScope>(&request)?);
    let requests = frame::messages::<FilterStreamRequest>(request, max)?;
    let place = service.enter_request_stream(scope.class).await?;
    let (drained, closing, dismissed) = (service.readiness().drained(), scope.peer.closing(), place.dismissed());
    let ended = async move {
        tokio::select! {
            () = drained => {}
            () = closing => {}
            () = dismissed => {}
        }
    };
    // The next message is read once the client has read most of the answers that it has.
    let reading = unsent.clone();
    let requests = stream::unfold(Box::pin(requests), move |mut requests| {
        let reading = reading.clone();
        async move {
            if let Some(reading) = &reading {
                reading.until_read().await;
            }
            Some((requests.as_mut().next().await?, requests))
        }
    });
    let endless = scope.peer.endless();
    let answers = requests.take_until(Box::pin(ended)).map(move |request| {
        let (service, unsent, work) = (service.clone(), unsent.clone(), place.activity().work());
        let scope = scope.next();
        eager(async move {
            let _work = work;
            let FilterStreamRequest { id, filter } = request?;
            let stage = Stage::<Filter>::Decoded(filter.unwrap_or_default());
            let answer = match scope {
                Ok(scope) => {
                    // A panic would end the connection, and with it every other stream.
                    let answer = driver::run(&service, scope, stage, |response| message::filter(&response));
                    let answer = AssertUnwindSafe(answer).catch_unwind().await;
                    answer.unwrap_or_else(|_| Err(service.panicked_in_stream()))
                }
                Err(error) => Err(error),
            };
            let message = message::filter_stream(id, answer);
            // One that finds no room is an error of its request, which is small.
            Ok(frame::held(message, unsent.as_ref())
                .unwrap_or_else(|error| message::filter_stream(id, Err(error)).into()))
        })
    });
    let answers = answers.buffered(limits::STREAM_REQUESTS).inspect(move |_| {
        let _held_while_streaming = &endless;
    });
    Ok(frame::replies(answers))
}

/// Work that begins at once and goes on by itself: a client that does not read the answers of its stream must not keep the
/// requests that came with it.
fn eager<T, F>(work: F) -> impl Future<Output = Result<T, Status>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Status>> + Send + 'static,
{
    let mut work = Box::pin(work);
    match work.as_mut().now_or_never() {
        Some(done) => Either::Left(ready(done)),
        None => {
            Either::Right(Spawned(tokio::spawn(work)).map(|done| done.unwrap_or_else(|_| Err(Error::Internal.into()))))
        }
    }
}

/// A task that ends when it is dropped.
struct Spawned<T>(JoinHandle<T>);

impl<T> Future for Spawned<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// `NodeIndex`: changes until the client leaves.
async fn node_index(service: Service, max: usize, request: Request) -> Response {
    let changes = async {
        let scope = scope_of::<RequestScope>(&request)?;
        let request: NodeIndexRequest = frame::decode(request, max).await?;
        let (closing, endless) = (Box::pin(scope.peer.closing()), scope.peer.endless());
        let place = service.enter_stream(scope.class).await?;
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
