//! The JSON dialect: the calls of `nodesift.v1` as POST /v1/<call>, in the protobuf JSON mapping.
//!
//! camelCase out; camelCase and snake_case in; unknown fields refused with their name.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Error;
use super::consistency::Wanted;
use super::gathered::Gathered;
use super::service::{self, Call, Service};
use super::yunikorn;

/// The one media type of bodies and answers.
pub(super) const JSON: &str = "application/json";

/// POST /v1/filter.
pub(super) async fn filter(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    call::<service::Filter>(&service, &headers, body).await
}

/// POST /v1/explain.
pub(super) async fn explain(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    call::<service::Explain>(&service, &headers, body).await
}

/// POST /v1/predicates.
pub(super) async fn predicates(
    State(service): State<Service>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error> {
    call::<yunikorn::Predicates>(&service, &headers, body).await
}

/// POST /v1/prefilterpredicates.
pub(super) async fn pre_filter_predicates(
    State(service): State<Service>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error> {
    call::<yunikorn::PreFilterPredicates>(&service, &headers, body).await
}

/// POST /v1/preemptionpredicates.
pub(super) async fn preemption_predicates(
    State(service): State<Service>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Error> {
    call::<yunikorn::PreemptionPredicates>(&service, &headers, body).await
}

/// POST /v1/assume.
pub(super) async fn assume(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    change(&service, &headers, body, Service::assume_now).await
}

/// POST /v1/forget.
pub(super) async fn forget(State(service): State<Service>, headers: HeaderMap, body: Body) -> Result<Response, Error> {
    change(&service, &headers, body, Service::forget_now).await
}

/// Decodes, evaluates and encodes in one go off the I/O threads: megabytes of JSON are work as well. Only a request that
/// wants to have seen what is not there yet takes two goes, with the wait between them.
async fn call<C: Call>(service: &Service, headers: &HeaderMap, body: Body) -> Result<Response, Error> {
    check_media_types(headers)?;
    let body = read(body).await?;
    let staleness = service.staleness().clone();
    let first = service.run(move |engine| {
        let request: C::Request = decode(&body)?;
        match Wanted::of(C::consistency(&request))? {
            Some(wanted) if !wanted.is_met(&engine.snapshot()) => Ok(Err((request, wanted))),
            _ => encode(&C::answer(engine, &staleness, request)?).map(Ok),
        }
    });
    let text = match first.await? {
        Ok(text) => text,
        Err((request, wanted)) => {
            wanted.wait(service.reader()).await?;
            let staleness = service.staleness().clone();
            service.run(move |engine| encode(&C::answer(engine, &staleness, request)?)).await?
        }
    };
    Ok(reply(text))
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
    check_media_types(headers)?;
    let body = read(body).await?;
    Ok(reply(service.write(move |service| encode(&change(service, decode(&body)?)?)).await?))
}

/// A JSON body with its type.
pub(super) fn reply(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], text).into_response()
}

/// Reads a body whole, within the bounds that `guard` put around it. One that comes in many small pieces takes no more
/// memory than one that comes in a few.
pub(super) async fn read(mut body: Body) -> Result<Bytes, Error> {
    let mut whole = Gathered::default();
    while let Some(frame) = body.frame().await {
        // What is no data is a trailer, which nobody asks for.
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let rest = body.size_hint();
        whole.push(data, rest.lower(), rest.upper())?;
    }
    Ok(whole.into())
}

/// Why a body ended early: our own bound, or the transport's words.
fn broken(error: axum::Error) -> Error {
    match error.into_inner().downcast::<Error>() {
        Ok(bound) => *bound,
        Err(transport) => Error::BodyBroken { reason: transport.to_string() },
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

/// What comes is JSON, or of no type at all: a browser can send forms and plain text across sites without asking, but not
/// JSON. What goes back is JSON too, which the client must not have ruled out.
fn check_media_types(headers: &HeaderMap) -> Result<(), Error> {
    let is_json = |found: &HeaderValue| essence(found.to_str().unwrap_or_default()).eq_ignore_ascii_case(JSON);
    if let Some(found) = headers.get(header::CONTENT_TYPE).filter(|found| !is_json(found)) {
        return Err(Error::MediaType { found: String::from_utf8_lossy(found.as_bytes()).into_owned() });
    }
    let wanted: Vec<_> =
        headers.get_all(header::ACCEPT).iter().map(|list| String::from_utf8_lossy(list.as_bytes())).collect();
    if wanted.iter().all(|list| list.trim().is_empty())
        || wanted.iter().flat_map(|list| list.split(',')).any(takes_json)
    {
        return Ok(());
    }
    Err(Error::NotAcceptable { wanted: wanted.join(", ") })
}

/// Whether a part of an `Accept` header lets JSON through. How much a client would like what is not asked for: there is
/// but one form, so that any weight above 0 will do.
fn takes_json(range: &str) -> bool {
    let is_ruled_out = |parameter: &str| {
        let weight = parameter.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.trim_start().strip_prefix('='));
        weight.is_some_and(|weight| weight.trim().parse() == Ok(0.0_f32))
    };
    let covers = [JSON, "application/*", "*/*"].iter().any(|known| essence(range).eq_ignore_ascii_case(known));
    covers && !range.split(';').skip(1).any(is_ruled_out)
}

/// A media type or range without its parameters.
fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_proto::v1;

    use super::*;

    #[test]
    fn what_a_client_takes_is_looked_at_as_http_says() {
        let check = |accept: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for list in accept {
                headers.append(header::ACCEPT, HeaderValue::from_static(list));
            }
            check_media_types(&headers).is_ok()
        };
        for fine in [
            &[][..],
            &["*/*"],
            &["application/json"],
            &["Application/JSON; charset=utf-8"],
            &["text/html, application/xml;q=0.9, */*;q=0.8"],
            &["application/*"],
            &["text/html", "application/json;q=0.001"],
            &["application/json;Q = 1"],
            &[""],
        ] {
            assert!(check(fine), "{fine:?}");
        }
        for refused in
            [&["text/html"][..], &["x/y;q=0"], &["application/json;q=0"], &["*/*; q=0.0"], &["application/jsonx"]]
        {
            assert!(!check(refused), "{refused:?}");
        }
    }

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
            rows: None,
        };
        let expected = concat!(
            r#"{"version":{"generation":"7","policyGeneration":"1","nodesResourceVersion":"","podsResourceVersion":"","stale":false},"#,
            r#""pods":[{"pod":"a/b","feasible":[],"failures":[],"faults":[],"nodes":3,"cycle":"CYCLE_UNSPECIFIED","feasibleCount":0}]}"#,
        );
        assert_eq!(String::from_utf8(encode(&answer).unwrap()).unwrap(), expected);
    }
}
