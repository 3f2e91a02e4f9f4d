//! JSON over HTTP: the calls of `nodesift.v1` as POST /v1/<call>, in the protobuf JSON mapping.
//!
//! camelCase out; camelCase and snake_case in; unknown fields are refused by name. Start at [`call`].

pub(crate) mod codec;
mod media_type;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::calls::driver::{self, Call, Stage};
use crate::transport::body_buffer;
use crate::{Error, Service};
pub(crate) use media_type::JSON;

/// POST /v1/<call>: any call that is answered from a snapshot.
pub(crate) async fn call<C>(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error>
where
    C: Call<Request: DeserializeOwned, Response: Serialize>,
{
    media_type::check(&headers)?;
    let stage = Stage::<C>::Encoded(body_buffer::read(body).await?, |body| codec::decode(body));
    Ok(codec::reply(driver::run(&service, stage, |response| codec::encode(&response)).await?))
}

/// POST /v1/assume.
pub(crate) async fn assume(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    change(&service, &headers, body, Service::assume_now).await
}

/// POST /v1/forget.
pub(crate) async fn forget(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    change(&service, &headers, body, Service::forget_now).await
}

/// Decodes, changes the cache and encodes, off the I/O threads.
async fn change<Q, A>(
    service: &Service,
    headers: &HeaderMap,
    body: Body,
    change: fn(&Service, Q) -> Result<A, Error>,
) -> Result<Response, Error>
where
    Q: DeserializeOwned + 'static,
    A: Serialize + 'static,
{
    media_type::check(headers)?;
    let body = body_buffer::read(body).await?;
    Ok(codec::reply(service.write(move |service| codec::encode(&change(service, codec::decode(&body)?)?)).await?))
}
