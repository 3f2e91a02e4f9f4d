//! Server reflection: clients such as grpcurl read the proto from the sidecar itself.
//!
//! A stream of questions is a body like any other, with the limits of one. Start at [`add`].

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use tokio::sync::Semaphore;
use tonic::Status;
use tonic_health::pb::FILE_DESCRIPTOR_SET as HEALTH;
use tonic_reflection::server::{Builder, Error};

use crate::limits;
use nodesift_proto::FILE_DESCRIPTOR_SET as NODESIFT;

/// Adds both versions of the reflection service to a router; older clients know only `v1alpha`.
///
/// # Errors
///
/// Where a descriptor set that was compiled in does not decode.
pub(crate) fn add<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Result<Router<S>, Error> {
    let builder = || {
        let described = Builder::configure();
        described.register_encoded_file_descriptor_set(NODESIFT).register_encoded_file_descriptor_set(HEALTH)
    };
    let most = limits::REFLECTION_QUESTION_BYTES;
    let v1 = builder().build_v1()?.max_decoding_message_size(most);
    let v1alpha = builder().build_v1alpha()?.max_decoding_message_size(most);
    let places = Arc::new(Semaphore::new(limits::REFLECTION_STREAMS));
    let described = Router::new()
        .route_service("/grpc.reflection.v1.ServerReflection/{call}", v1)
        .route_service("/grpc.reflection.v1alpha.ServerReflection/{call}", v1alpha)
        .layer(from_fn_with_state(places, in_a_place));
    Ok(router.merge(described))
}

/// Answers are made before they are sent, and repeat their questions: so streams are few, and questions short.
async fn in_a_place(State(places): State<Arc<Semaphore>>, request: Request, next: Next) -> Response {
    let Ok(place) = places.try_acquire_owned() else {
        let (what, limit) = ("streams of server reflection", limits::REFLECTION_STREAMS);
        return Status::from(crate::Error::TooMany { what, limit }).into_http();
    };
    let hold = move |frame: Frame<Bytes>| {
        let _held_while_sent = &place;
        frame
    };
    next.run(request).await.map(|body| Body::new(body.map_frame(hold)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_compiled_descriptors_are_valid() {
        let _routes: Router = add(Router::new()).unwrap();
    }
}
