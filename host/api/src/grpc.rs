//! The gRPC dialect: the calls of `nodesift.v1`, as tonic serves them, and what tonic says by itself put right.

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

use super::Error;
use super::error::code_name;
use super::service::{self, Service};
use super::{row_table, yunikorn};
use crate::limits;

/// What the paths of all calls begin with.
pub(super) const CALLS: &str = "/nodesift.v1.Nodesift/";

/// The path of the one call whose requests go on for as long as the client wants.
pub(super) const FILTER_STREAM: &str = "/nodesift.v1.Nodesift/FilterStream";

/// The calls of `nodesift.v1` over one service.
#[derive(Debug)]
pub(super) struct Calls {
    service: Service,
}

/// The gRPC server for these calls. A message larger than `max_message_bytes` is refused from its length alone.
pub(super) fn server(service: Service, max_message_bytes: usize) -> NodesiftServer<Calls> {
    NodesiftServer::new(Calls { service }).max_decoding_message_size(max_message_bytes)
}

#[tonic::async_trait]
impl Nodesift for Calls {
    async fn filter(&self, request: Request<FilterRequest>) -> Result<Response<FilterResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.call::<service::Filter>(request).await?))
    }

    type FilterStreamStream = Pin<Box<dyn Stream<Item = Result<FilterStreamResponse, Status>> + Send>>;

    async fn filter_stream(
        &self,
        request: Request<Streaming<FilterStreamRequest>>,
    ) -> Result<Response<Self::FilterStreamStream>, Status> {
        let requests = Reached::by(request);
        let place = self.service.request_stream_permit()?;
        let drained = self.service.readiness().drained();
        let service = self.service.clone();
        let answers = requests.take_until(drained).map(move |request| {
            let service = service.clone();
            async move {
                let FilterStreamRequest { id, filter } = request?;
                let outcome = match service.call::<service::Filter>(filter.unwrap_or_default()).await {
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
            let _held_while_streaming = &place;
        });
        Ok(Response::new(Box::pin(answers)))
    }

    type NodeIndexStream = Pin<Box<dyn Stream<Item = Result<NodeIndexResponse, Status>> + Send>>;

    async fn node_index(&self, request: Request<NodeIndexRequest>) -> Result<Response<Self::NodeIndexStream>, Status> {
        let changes = row_table::follow(&self.service, Reached::by(request))?;
        Ok(Response::new(Box::pin(changes.map(Ok))))
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.call::<service::Explain>(request).await?))
    }

    async fn predicates(&self, request: Request<PredicatesRequest>) -> Result<Response<PredicatesResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.call::<yunikorn::Predicates>(request).await?))
    }

    async fn pre_filter_predicates(
        &self,
        request: Request<PreFilterPredicatesRequest>,
    ) -> Result<Response<PreFilterPredicatesResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.call::<yunikorn::PreFilterPredicates>(request).await?))
    }

    async fn preemption_predicates(
        &self,
        request: Request<PreemptionPredicatesRequest>,
    ) -> Result<Response<PreemptionPredicatesResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.call::<yunikorn::PreemptionPredicates>(request).await?))
    }

    async fn assume(&self, request: Request<AssumeRequest>) -> Result<Response<AssumeResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.write(move |service| service.assume_now(request)).await?))
    }

    async fn forget(&self, request: Request<ForgetRequest>) -> Result<Response<ForgetResponse>, Status> {
        let request = Reached::by(request);
        Ok(Response::new(self.service.write(move |service| service.forget_now(request)).await?))
    }
}

/// Travels with a request and tells whether tonic handed its message to a call, or refused it before.
#[derive(Debug, Clone, Default)]
pub(super) struct Reached(Arc<AtomicBool>);

impl Reached {
    fn by<T>(request: Request<T>) -> T {
        if let Some(Self(reached)) = request.extensions().get() {
            reached.store(true, Ordering::Relaxed);
        }
        request.into_inner()
    }

    /// Puts right what tonic calls a message that it refuses by itself: OUT_OF_RANGE where it is too long, INTERNAL
    /// where it does not decode. Neither is how this API speaks of limits and of requests that are wrong.
    pub(super) fn put_right(&self, mut response: axum::response::Response, limit: usize) -> axum::response::Response {
        const INVALID_ARGUMENT: HeaderValue = HeaderValue::from_static("3");
        if self.0.load(Ordering::Relaxed) {
            return response;
        }
        // A refusal without any message carries its status in the headers.
        let Some(status) = response.headers_mut().get_mut("grpc-status") else { return response };
        match status.as_bytes() {
            b"11" => return Error::BodyTooLarge { limit }.into_response_for(true),
            b"13" => *status = INVALID_ARGUMENT,
            _ => {}
        }
        response
    }
}
