//! The whole API without sockets: requests go through the router, as those of a connection do. Start at [`Api::post`].

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use nodesift_api::access::Access;
use nodesift_api::exposition::Exposition;
use nodesift_api::{BodyLimit, Readiness, Service, Settings, limits, router};
use prometheus_client::registry::Registry;
use prost::Message;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use super::world::World;

/// The seed of the cluster.
const CLUSTER: u64 = 1;

/// A service over a random cluster. Requests change it, so one unit has it at a time.
static API: LazyLock<Mutex<Api>> = LazyLock::new(|| Mutex::new(Api::new()));

/// The service behind its router, without sockets.
pub(super) struct Api {
    runtime: Runtime,
    router: Router,
    /// Names of the cluster's nodes.
    pub(super) nodes: BTreeSet<String>,
}

/// A response, read to its end.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    trailers: HeaderMap,
}

/// A gRPC status other than OK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GrpcError {
    pub(super) code: u32,
    pub(super) message: String,
}

impl Api {
    fn new() -> Self {
        let world = World::new(CLUSTER);
        let nodes = world.cluster.nodes().map(|node| nodesift_fixtures::json::name(node).to_owned()).collect();
        let service = Service::new(world.engine, world.writer, Readiness::default(), Settings::default());
        let exposition = Exposition::new(Registry::default());
        let router = router::router(service, Access::default(), BodyLimit(limits::BODY_BYTES), exposition);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, router, nodes }
    }

    /// The service, for one unit.
    pub(super) fn take() -> MutexGuard<'static, Self> {
        API.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a POST request with JSON.
    pub(super) fn post(&self, path: &str, body: &[u8]) -> Response {
        self.send(path, "application/json", body.to_vec())
    }

    /// Sends one message, and decodes that of the answer.
    pub(super) fn call<A: Message + Default>(&self, call: &str, message: &[u8]) -> Result<A, GrpcError> {
        let length = u32::try_from(message.len()).expect("a short message").to_be_bytes();
        let framed = [&[0], length.as_slice(), message].concat();
        let response = self.send(&format!("/nodesift.v1.Nodesift/{call}"), "application/grpc", framed);
        assert_eq!(response.status, StatusCode::OK, "gRPC answers with 200");
        let field = |name: &str| {
            let value = response.headers.get(name).or_else(|| response.trailers.get(name));
            value.map(|value| value.to_str().expect("a text").to_owned())
        };
        let code = field("grpc-status").expect("a status").parse().expect("a number");
        if code != 0 {
            return Err(GrpcError { code, message: field("grpc-message").unwrap_or_default() });
        }
        let answer = response.body.get(5..).expect("one framed message");
        Ok(A::decode(answer).expect("the answer decodes"))
    }

    fn send(&self, path: &str, media_type: &str, body: Vec<u8>) -> Response {
        let request = Request::post(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, media_type)
            .header(header::TE, "trailers")
            .body(Body::from(body))
            .expect("a request");
        let answered = async {
            let Ok(response) = self.router.clone().oneshot(request).await;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.expect("the whole body");
            let trailers = body.trailers().cloned().unwrap_or_default();
            Response { status: parts.status, headers: parts.headers, body: body.to_bytes(), trailers }
        };
        self.runtime.block_on(answered)
    }
}
