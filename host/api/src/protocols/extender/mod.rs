//! kube-scheduler's extender protocol, as `k8s.io/kube-scheduler/extender/v1` has it.
//!
//! Its Go types have no JSON tags: names are Go's field names, any case is taken, absent pointers are explicit nulls.
//! [`filter`], [`prioritize`] and [`preempt`] are calls of the [`driver`](crate::calls::driver) like all others; they decode and encode in
//! the slot, because their bodies hold whole pods. Start with [`filter`].

pub(crate) mod filter;
mod go_object;
pub(crate) mod preempt;
pub(crate) mod prioritize;

use axum::body::{Body, Bytes};
use axum::response::Response;
use serde_json::value::RawValue;

use crate::admission::scope::RequestScope;
use crate::calls::driver::{self, Call, Stage};
use crate::calls::request;
use crate::protocols::document::Encoded;
use crate::{Error, Service};
use nodesift_edge::body_buffer;
use nodesift_object::Pod;

/// Answers a call whose response has no field for errors: an error is an HTTP status.
async fn answered<C>(service: &Service, scope: RequestScope, body: Body) -> Result<Response, Error>
where
    C: Call<Request = Bytes, Response = Vec<u8>>,
{
    let unsent = scope.unsent.clone();
    scope.until_read().await?;
    let body = body_buffer::read(body).await?;
    let reply = driver::run(service, scope, Stage::<C>::Decoded(body), Ok).await?;
    Encoded::from_text(reply).respond(unsent.as_ref())
}

/// The pod of a request.
fn whole_pod(raw: Option<&RawValue>) -> Result<Pod, Error> {
    let raw = raw.ok_or_else(|| Error::invalid("Pod", "is missing"))?;
    request::from_text("Pod", raw.get())
}
