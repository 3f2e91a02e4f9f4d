//! The JSON dialect: POST /v1/filter and /v1/explain in the protobuf JSON mapping.
//!
//! camelCase out; camelCase and snake_case in; unknown fields refused with their name.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Error;
use super::service::{self, Service};
use crate::engine::Engine;

/// POST /v1/filter.
pub(super) async fn filter(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    call(&service, &headers, body, service::filter).await
}

/// POST /v1/explain.
pub(super) async fn explain(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    call(&service, &headers, body, service::explain).await
}

/// Decodes, evaluates and encodes in one go off the I/O threads: megabytes of JSON are work as well.
async fn call<Q, A>(
    service: &Service,
    headers: &HeaderMap,
    body: Body,
    answer: fn(&Engine, Q) -> Result<A, Error>,
) -> Result<Response, Error>
where
    Q: DeserializeOwned + 'static,
    A: Serialize + 'static,
{
    check_media_type(headers)?;
    let body = read(body).await?;
    let text = service.run(move |engine| encode(&answer(engine, decode(&body)?)?)).await?;
    Ok(reply(text))
}

/// A JSON body with its type.
pub(super) fn reply(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// Reads a body whole, within the bounds that `guard` put around it.
pub(super) async fn read(body: Body) -> Result<Bytes, Error> {
    match body.collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) => Err(match error.into_inner().downcast::<Error>() {
            Ok(bound) => *bound,
            Err(transport) => Error::BodyBroken { reason: transport.to_string() },
        }),
    }
}

/// Decodes a JSON document; an error names the field's path, line and column.
pub fn decode<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner().to_string();
        Error::Malformed { reason: if path == "." { reason } else { format!("{path}: {reason}") } }
    })?;
    json.end().map_err(|error| Error::Malformed { reason: error.to_string() })?;
    Ok(value)
}

/// Encodes an answer.
pub fn encode<T: Serialize>(answer: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(answer).map_err(|error| {
        tracing::error!(reason = %error, "an answer does not encode");
        Error::Internal
    })
}

/// JSON, or no type at all. A browser can send forms and plain text across sites without asking, but not JSON.
fn check_media_type(headers: &HeaderMap) -> Result<(), Error> {
    let Some(found) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let essence = found.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Error::MediaType { found: String::from_utf8_lossy(found.as_bytes()).into_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_api::v1;

    use super::*;

    fn refusal(text: &[u8]) -> String {
        let error = decode::<v1::FilterRequest>(text).unwrap_err();
        assert_eq!(error.status().1, http::StatusCode::BAD_REQUEST);
        error.text()
    }

    #[test]
    fn both_spellings_of_a_field_are_taken() {
        let camel =
            br#"{"pods":[{"name":{"namespace":"a","name":"b"}}],"phase":"PHASE_RESERVE","nodes":{"names":["n"]}}"#;
        let request: v1::FilterRequest = decode(camel).unwrap();
        assert_eq!(request.phase(), v1::Phase::Reserve);
        let version: v1::Version = decode(br#"{"policyGeneration":"3"}"#).unwrap();
        assert_eq!(version, decode(br#"{"policy_generation":3}"#).unwrap());
    }

    #[test]
    fn unknown_fields_are_refused_by_name_and_path() {
        assert!(refusal(br#"{"pod":[]}"#).contains("unknown field `pod`"));
        let nested = refusal(br#"{"pods":[{"nam":{}}]}"#);
        assert!(nested.starts_with("pods[0]") && nested.contains("unknown field `nam`"), "{nested}");
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        assert!(refusal(b"").contains("line 1"));
        assert!(refusal(b"{\"pods\":[]} x").contains("trailing"));
        assert!(refusal(b"{\"phase\":\"\xff\"}").contains("line 1"));
        assert!(refusal(b"\xef\xbb\xbf{}").contains("line 1"));
        assert!(refusal(br#"{"pods":[],"pods":[]}"#).contains("duplicate field"));
        assert!(refusal(br#"{"pods":[{"uid":"a","name":{}}]}"#).contains("duplicate field"));
        let deep = [b"{\"pods\":[{\"object\":{\"a\":".as_slice(), &b"[".repeat(1_000_000)].concat();
        assert!(refusal(&deep).contains("recursion limit"));
    }

    #[test]
    fn every_truncation_of_a_request_is_refused() {
        let whole =
            br#"{"pods":[{"object":{"metadata":{"name":"web"},"spec":{"priority":1}}}],"detail":"DETAIL_NODES"}"#;
        decode::<v1::FilterRequest>(whole).unwrap();
        for cut in 0..whole.len() {
            refusal(&whole[..cut]);
        }
    }

    #[test]
    fn answers_are_camel_case_and_complete() {
        let answer = v1::FilterResponse {
            version: Some(v1::Version { generation: 7, policy_generation: 1, ..Default::default() }),
            pods: vec![v1::PodAnswer { pod: "a/b".into(), nodes: 3, ..Default::default() }],
        };
        let expected = concat!(
            r#"{"version":{"generation":"7","policyGeneration":"1","nodesResourceVersion":"","podsResourceVersion":""},"#,
            r#""pods":[{"pod":"a/b","feasible":[],"failures":[],"faults":[],"nodes":3,"cycle":"CYCLE_UNSPECIFIED"}]}"#,
        );
        assert_eq!(String::from_utf8(encode(&answer).unwrap()).unwrap(), expected);
    }
}
