//! JSON over HTTP: the calls of `nodesift.v1` as POST /v1/<call>, in the protobuf JSON mapping.
//!
//! camelCase out; camelCase and snake_case in; unknown fields are refused by name. Start at [`answered`].

pub(crate) mod codec;
pub(crate) mod media_type;
pub(crate) mod message;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use nodesift_edge::{body_buffer, unsent};
use serde::de::DeserializeOwned;

use crate::admission::scope::RequestScope;
use crate::calls::decision::Decision;
use crate::calls::driver::{self, Call, Stage};
use crate::calls::explain::{self, Explain};
use crate::protocols::answers::Encode;
use crate::protocols::document::Encoded;
use crate::{Error, Service, limits};
pub(crate) use media_type::JSON;

/// POST /v1/<call>: any call that is answered from a snapshot.
pub(crate) async fn answered<C>(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error>
where
    C: Call<Request: DeserializeOwned, Response: Encode>,
{
    let unsent = scope.unsent.clone();
    let stage = stage::<C>(&scope, &headers, body).await?;
    driver::run(&service, scope, stage, |response| message::document(&response).map(Encoded::new))
        .await?
        .respond(unsent.as_ref())
}

/// POST /v1/explain: the same, with what parties have said.
pub(crate) async fn explain(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error> {
    let unsent = scope.unsent.clone();
    let stage = stage::<Explain>(&scope, &headers, body).await?;
    explain::run(&service, scope, stage, |response| message::document(&response).map(Encoded::new))
        .await?
        .respond(unsent.as_ref())
}

/// A request that is read.
pub(crate) async fn stage<C: Call<Request: DeserializeOwned>>(
    scope: &RequestScope,
    headers: &HeaderMap,
    body: Body,
) -> Result<Stage<C>, Error> {
    media_type::check_accept(headers)?;
    scope.until_read().await?;
    let stage = Stage::Encoded(body_buffer::read(body).await?, |body| codec::decode(body));
    scope.pend()?;
    Ok(stage)
}

/// POST /v1/<call>: any call that is carried out once.
pub(crate) async fn decided<D: Decision>(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error> {
    let request = decoded(&service, &scope, &headers, body).await?;
    let held = scope.room_of_decision()?;
    Ok(unsent::holding(codec::reply(codec::encode(&D::decide(&service, &scope, request).await?)?), held))
}

/// Decodes a request that changes the cache, off the I/O threads where it is long.
async fn decoded<Q>(service: &Service, scope: &RequestScope, headers: &HeaderMap, body: Body) -> Result<Q, Error>
where
    Q: DeserializeOwned + Send + 'static,
{
    media_type::check_accept(headers)?;
    let body = body_buffer::read(body).await?;
    if body.len() <= limits::DECODE_BYTES {
        return codec::decode(&body);
    }
    service.write(scope, move |_| codec::decode(&body)).await
}
