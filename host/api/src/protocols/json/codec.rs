//! JSON documents: decoded with the place of what is wrong, encoded, and put into responses.
//!
//! Start at [`decode`].

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::media_type::JSON;
use crate::Error;

/// The words of generated decoders for a number that does not fit, which say nothing to whoever has sent it.
const NO_NUMBER: &str = "data did not match any variant of untagged enum Content";

/// A JSON document as a response.
pub(crate) fn reply(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], text).into_response()
}

/// Decodes a JSON document.
///
/// # Errors
///
/// [`Error::Malformed`] with the field's path, line and column.
pub(crate) fn decode<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let reason =
            error.into_inner().to_string().replace(NO_NUMBER, "is no whole number, or out of the range of the field");
        Error::Malformed { reason: if path == "." { reason } else { format!("{path}: {reason}") } }
    })?;
    json.end().map_err(|error| Error::Malformed { reason: error.to_string() })?;
    Ok(value)
}

/// Encodes a response.
///
/// # Errors
///
/// [`Error::Internal`] where the value has no form in JSON.
pub(crate) fn encode<T: Serialize>(answer: &T) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(answer).map_err(|error| {
        tracing::error!(%error, "a response cannot be encoded");
        Error::Internal
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use nodesift_proto::v1;

    use super::*;

    fn refusal(text: &[u8]) -> String {
        let error = decode::<v1::FilterRequest>(text).unwrap_err();
        assert_eq!(error.status().1, axum::http::StatusCode::BAD_REQUEST);
        error.text()
    }

    #[test]
    fn both_spellings_of_a_field_are_accepted() {
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
    fn malformed_json_is_refused_with_its_position() {
        assert!(refusal(b"").contains("line 1"));
        assert!(refusal(b"{\"pods\":[]} x").contains("trailing"));
        for number in ["-1", "1.5", "4294967296"] {
            let refused = refusal(format!(r#"{{"pods":[],"scores":{{"top":{number}}}}}"#).as_bytes());
            assert!(
                refused.contains("scores.top: is no whole number, or out of the range of the field at line 1"),
                "{refused}"
            );
        }
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
    fn responses_are_camel_case_and_complete() {
        let answer = v1::FilterResponse {
            version: Some(v1::Version { generation: 7, policy_generation: 1, ..Default::default() }),
            pods: vec![v1::PodAnswer { pod: "a/b".into(), nodes: 3, ..Default::default() }],
            rows: None,
            ..v1::FilterResponse::default()
        };
        let expected = concat!(
            r#"{"version":{"generation":"7","policyGeneration":"1","nodesResourceVersion":"","podsResourceVersion":"","stale":false},"#,
            r#""pods":[{"pod":"a/b","feasible":[],"failures":[],"faults":[],"nodes":3,"cycle":"CYCLE_UNSPECIFIED","feasibleCount":0,"namedNodes":[],"claimsToRelease":[],"parties":[]}],"#,
            r#""nextPageToken":"","unknownNodes":[],"assumed":[],"forgotten":[]}"#,
        );
        assert_eq!(String::from_utf8(encode(&answer).unwrap()).unwrap(), expected);
    }
}
