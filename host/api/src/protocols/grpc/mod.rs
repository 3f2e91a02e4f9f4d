//! gRPC: the calls of `nodesift.v1`.
//!
//! ```text
//! grpc       a route per call; this file
//!   message  answers → bytes of messages
//!   frame    bytes of messages ↔ bodies over HTTP/2
//! ```
//!
//! Requests are decoded on the I/O thread, responses are encoded in the slot of the [`driver`]. Start at [`routes`].

mod frame;
pub(crate) mod message;

use std::future::Future;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use futures_util::StreamExt as _;
use nodesift_proto::v1::{FilterStreamRequest, NodeIndexRequest};
use prost::Message;
use tonic::Status;

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
            unary(max, |service, request| async move { message::message(&service.assume(request).await?) }),
        ))
        .merge(call(
            "Forget",
            unary(max, |service, request| async move {
                service.write(move |service| message::message(&service.forget_now(request)?)).await
            }),
        ))
        .route(
            FILTER_STREAM,
            post(move |State(service): State<Service>, request| async move {
                filter_stream(service, max, request).unwrap_or_else(Status::into_http)
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
    unary(max_message_bytes, move |service, request| async move {
        driver::run(&service, Stage::<C>::Decoded(request), encode).await
    })
}

/// A call from one message to one message.
fn unary<Q, W, F>(max_message_bytes: usize, work: W) -> MethodRouter<Service>
where
    Q: Message + Default + 'static,
    W: FnOnce(Service, Q) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Vec<u8>, Error>> + Send,
{
    post(async move |State(service): State<Service>, request: Request| -> Response {
        let answer = async {
            let unsent = Unsent::of(&request);
            let request = frame::decode(request, max_message_bytes).await?;
            unsent::until_read(unsent.as_ref()).await?;
            Ok::<_, Status>(frame::reply(work(service, request).await?, unsent.as_ref())?)
        };
        answer.await.unwrap_or_else(Status::into_http)
    })
}

/// `FilterStream`: several requests are worked on at once, answers come in their order.
fn filter_stream(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let unsent = Unsent::of(&request);
    let requests = frame::messages::<FilterStreamRequest>(request, max)?;
    let permit = service.request_stream_permit()?;
    let drained = service.readiness().drained();
    let answers = requests.take_until(drained).map(move |request| {
        let (service, unsent) = (service.clone(), unsent.clone());
        async move {
            let FilterStreamRequest { id, filter } = request.map_err(|status| frame::corrected(status, max))?;
            let stage = Stage::<Filter>::Decoded(filter.unwrap_or_default());
            if let Some(unsent) = &unsent {
                unsent.until_read().await;
            }
            let answer = driver::run(&service, stage, |response| message::filter(&response)).await;
            let message = message::filter_stream(id, answer);
            // One that finds no room is an error of its request, which is small.
            Ok(frame::held(message, unsent.as_ref())
                .unwrap_or_else(|error| message::filter_stream(id, Err(error)).into()))
        }
    });
    let answers = answers.buffered(limits::STREAM_REQUESTS).inspect(move |_| {
        let _held_while_streaming = &permit;
    });
    Ok(frame::replies(answers))
}

/// `NodeIndex`: changes until the client leaves.
async fn node_index(service: Service, max: usize, request: Request) -> Response {
    let changes = async {
        let request: NodeIndexRequest = frame::decode(request, max).await?;
        Ok::<_, Status>(node_index_stream::follow(&service, request)?)
    };
    match changes.await {
        Ok(changes) => frame::replies(changes.map(|change| Ok(message::message(&change)?.into()))),
        Err(status) => status.into_http(),
    }
}
