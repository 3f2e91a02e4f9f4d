//! Server reflection: clients such as grpcurl read the proto from the sidecar itself.
//!
//! A stream of questions is a body like any other, with the limits of one. Start at [`add`].

use axum::Router;
use tonic_health::pb::FILE_DESCRIPTOR_SET as HEALTH;
use tonic_reflection::server::{Builder, Error};

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
    let (v1, v1alpha) = (builder().build_v1()?, builder().build_v1alpha()?);
    Ok(router
        .route_service("/grpc.reflection.v1.ServerReflection/{call}", v1)
        .route_service("/grpc.reflection.v1alpha.ServerReflection/{call}", v1alpha))
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
