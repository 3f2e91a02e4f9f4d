//! Calls that change what the cache counts, or lead to that. Each is carried out once, without an evaluation slot of its own, unlike
//! those that the [`driver`](super::driver) answers from a snapshot.
//!
//! Start at [`Decision`].

use std::future::Future;

use nodesift_proto::v1;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::admission::scope::RequestScope;
use crate::{Error, Service};

/// A call that is carried out once, whatever becomes of its client.
pub(crate) trait Decision: 'static {
    /// Request as decoded from the wire.
    type Request: Message + Default + DeserializeOwned + 'static;
    /// Response that is encoded for the wire.
    type Response: Message + Serialize;

    /// Carries it out, off the I/O threads where that takes the cache's lock.
    fn decide(
        service: &Service,
        scope: &RequestScope,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Response, Error>> + Send;
}

/// Marker type of the call `Assume`.
pub(crate) enum Assume {}

impl Decision for Assume {
    type Request = v1::AssumeRequest;
    type Response = v1::AssumeResponse;

    async fn decide(
        service: &Service,
        scope: &RequestScope,
        request: v1::AssumeRequest,
    ) -> Result<v1::AssumeResponse, Error> {
        service.assume(scope, request).await
    }
}

/// Marker type of the call `Forget`.
pub(crate) enum Forget {}

impl Decision for Forget {
    type Request = v1::ForgetRequest;
    type Response = v1::ForgetResponse;

    async fn decide(
        service: &Service,
        scope: &RequestScope,
        request: v1::ForgetRequest,
    ) -> Result<v1::ForgetResponse, Error> {
        let deadline = scope.deadline;
        service.write(scope, move |service| service.forget_by(request, deadline)).await
    }
}

/// Marker type of the call `Release`.
pub(crate) enum Release {}

impl Decision for Release {
    type Request = v1::ReleaseRequest;
    type Response = v1::ReleaseResponse;

    async fn decide(
        service: &Service,
        scope: &RequestScope,
        request: v1::ReleaseRequest,
    ) -> Result<v1::ReleaseResponse, Error> {
        service.parties()?.release(scope.rights.caller(), request).await?;
        Ok(v1::ReleaseResponse {})
    }
}
