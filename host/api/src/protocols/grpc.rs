//! gRPC: the calls of `nodesift.v1` as tonic serves them, and the codes of tonic's own refusals corrected.
//!
//! tonic decodes requests and encodes responses on the I/O thread; the [`driver`] does the rest. Start at [`server`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderValue;
use futures_util::{Stream, StreamExt as _};
use nodesift_proto::v1::filter_stream_response::Outcome;
use nodesift_proto::v1::nodesift_server::{Nodesift, NodesiftServer};
use nodesift_proto::v1::{
    AssumeRequest, AssumeResponse, CallError, ExplainRequest, ExplainResponse, FilterRequest, FilterResponse,
    FilterStreamRequest, FilterStreamResponse, ForgetRequest, ForgetResponse, NodeIndexRequest, NodeIndexResponse,
    PreFilterPredicatesRequest, PreFilterPredicatesResponse, PredicatesRequest, PredicatesResponse,
    PreemptionPredicatesRequest, PreemptionPredicatesResponse,
};
use tonic::{Request, Response, Status, Streaming};

use crate::calls::driver::{self, Call, Stage};
use crate::calls::explain::Explain;
use crate::calls::filter::Filter;
use crate::calls::node_index_stream;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::error::code_name;
use crate::{Error, Service, limits};

/// The prefix of the paths of this API's calls.
pub(crate) const CALLS: &str = "/nodesift.v1.Nodesift/";

/// The prefixes of all paths that take gRPC only.
pub(crate) const SERVICES: [&str; 3] = [CALLS, "/grpc.health.v1.Health/", "/grpc.reflection."];

/// The path of the call with a stream of requests.
pub(crate) const FILTER_STREAM: &str = "/nodesift.v1.Nodesift/FilterStream";

/// The calls of `nodesift.v1` over one service.
#[derive(Debug)]
pub(crate) struct Calls {
    service: Service,
}

/// The gRPC server. A message larger than `max_message_bytes` is refused by its declared length.
pub(crate) fn server(service: Service, max_message_bytes: usize) -> NodesiftServer<Calls> {
    NodesiftServer::new(Calls { service }).max_decoding_message_size(max_message_bytes)
}

impl Calls {
    async fn answer<C: Call>(&self, request: Request<C::Request>) -> Result<Response<C::Response>, Status>
    where
        C::Response: Send,
    {
        let request = Dispatched::mark(request);
        Ok(Response::new(driver::run(&self.service, Stage::<C>::Decoded(request), Ok).await?))
    }
}

#[tonic::async_trait]
impl Nodesift for Calls {
    async fn filter(&self, request: Request<FilterRequest>) -> Result<Response<FilterResponse>, Status> {
        self.answer::<Filter>(request).await
    }

    type FilterStreamStream = Pin<Box<dyn Stream<Item = Result<FilterStreamResponse, Status>> + Send>>;

    async fn filter_stream(
        &self,
        request: Request<Streaming<FilterStreamRequest>>,
    ) -> Result<Response<Self::FilterStreamStream>, Status> {
        let requests = Dispatched::mark(request);
        let permit = self.service.request_stream_permit()?;
        let drained = self.service.readiness().drained();
        let service = self.service.clone();
        let answers = requests.take_until(drained).map(move |request| {
            let service = service.clone();
            async move {
                let FilterStreamRequest { id, filter } = request?;
                let stage = Stage::<Filter>::Decoded(filter.unwrap_or_default());
                let outcome = match driver::run(&service, stage, Ok).await {
                    Ok(answer) => Outcome::Answer(answer),
                    Err(error) => {
                        let code = code_name(error.status().0).to_owned();
                        Outcome::Error(CallError { code, message: error.text() })
                    }
                };
                Ok(FilterStreamResponse { id, outcome: Some(outcome) })
            }
        });
        let answers = answers.buffered(limits::STREAM_REQUESTS).inspect(move |_| {
            let _held_while_streaming = &permit;
        });
        Ok(Response::new(Box::pin(answers)))
    }

    type NodeIndexStream = Pin<Box<dyn Stream<Item = Result<NodeIndexResponse, Status>> + Send>>;

    async fn node_index(&self, request: Request<NodeIndexRequest>) -> Result<Response<Self::NodeIndexStream>, Status> {
        let changes = node_index_stream::follow(&self.service, Dispatched::mark(request))?;
        Ok(Response::new(Box::pin(changes.map(Ok))))
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        self.answer::<Explain>(request).await
    }

    async fn predicates(&self, request: Request<PredicatesRequest>) -> Result<Response<PredicatesResponse>, Status> {
        self.answer::<Predicates>(request).await
    }

    async fn pre_filter_predicates(
        &self,
        request: Request<PreFilterPredicatesRequest>,
    ) -> Result<Response<PreFilterPredicatesResponse>, Status> {
        self.answer::<PreFilterPredicates>(request).await
    }

    async fn preemption_predicates(
        &self,
        request: Request<PreemptionPredicatesRequest>,
    ) -> Result<Response<PreemptionPredicatesResponse>, Status> {
        self.answer::<PreemptionPredicates>(request).await
    }

    async fn assume(&self, request: Request<AssumeRequest>) -> Result<Response<AssumeResponse>, Status> {
        Ok(Response::new(self.service.assume(Dispatched::mark(request)).await?))
    }

    async fn forget(&self, request: Request<ForgetRequest>) -> Result<Response<ForgetResponse>, Status> {
        let request = Dispatched::mark(request);
        Ok(Response::new(self.service.write(move |service| service.forget_now(request)).await?))
    }
}

/// An extension of a request: whether tonic has dispatched its message to a call, or refused it before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dispatched(Arc<AtomicBool>);

impl Dispatched {
    fn mark<T>(request: Request<T>) -> T {
        if let Some(Self(dispatched)) = request.extensions().get() {
            dispatched.store(true, Ordering::Relaxed);
        }
        request.into_inner()
    }

    /// Corrects the code of a message that tonic has refused: OUT_OF_RANGE for one that is too long becomes
    /// RESOURCE_EXHAUSTED, INTERNAL for one that does not decode becomes INVALID_ARGUMENT, as everywhere in this API.
    pub(crate) fn correct_status(
        &self,
        mut response: axum::response::Response,
        limit: usize,
    ) -> axum::response::Response {
        const INVALID_ARGUMENT: HeaderValue = HeaderValue::from_static("3");
        if self.0.load(Ordering::Relaxed) {
            return response;
        }
        // A refusal without a message has its status in the headers.
        let Some(status) = response.headers_mut().get_mut("grpc-status") else { return response };
        match status.as_bytes() {
            b"11" => return Error::BodyTooLarge { limit }.into_response_for(true),
            b"13" => *status = INVALID_ARGUMENT,
            _ => {}
        }
        response
    }
}
