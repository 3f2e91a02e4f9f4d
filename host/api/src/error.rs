//! Why a request has no answer, and the one place that maps this to gRPC and HTTP statuses.
//!
//! Texts say what to do and are bounded in length, because they may quote what a client sent. Start at [`Error::status`].

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::limits;
use nodesift_cache::{AssumeError, OverlayError};
use nodesift_engine as engine;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The body is not the JSON that the call takes; names the place.
    #[error("{reason}")]
    Malformed {
        /// Path of the field, what is wrong there, line and column.
        reason: String,
    },
    /// A field holds what the call does not take.
    #[error("{field}: {reason}")]
    InvalidField {
        /// Path of the field in the request.
        field: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The body is larger than configured.
    #[error("the request body is larger than {limit} bytes (see --max-body-bytes)")]
    BodyTooLarge {
        /// In bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the request body did not arrive within {} s", limits::BODY_TIME.as_secs())]
    BodyTooSlow,
    /// The body ended early or its framing is broken.
    #[error("the request body cannot be read: {reason}")]
    BodyBroken {
        /// The transport's own words.
        reason: String,
    },
    /// The request asks for more than one request may.
    #[error("{asked} {what} in one request, at most {limit} are answered at once: ask in smaller batches")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        asked: usize,
        /// How much there may be.
        limit: usize,
    },
    /// The body is of another type than JSON.
    #[error("send the body as content-type: application/json, not {found:?}")]
    MediaType {
        /// As the request named it.
        found: String,
    },
    /// The answer is JSON, and the client takes none.
    #[error("answers are application/json, which accept: {wanted:?} rules out")]
    NotAcceptable {
        /// As the request names what it takes.
        wanted: String,
    },
    /// The body is packed.
    #[error("send the body as it is, not with content-encoding: {found:?}")]
    ContentCoding {
        /// As the request named it.
        found: String,
    },
    /// The path is one of gRPC's, and the request is none.
    #[error(
        "this path takes gRPC, content-type: application/grpc; over plain HTTP ask POST /v1/filter and others like it"
    )]
    NotGrpc,
    /// The cache is not whole yet: an answer now would be from partial information.
    #[error("not ready, waiting for {waiting}: try again")]
    NotReady {
        /// What is waited for.
        waiting: String,
    },
    /// The source has been silent for too long, and the configuration says not to answer then.
    #[error("the source has been silent for {} s, longer than --stale-after allows: try again", silence.as_secs())]
    Stale {
        /// For how long.
        silence: Duration,
    },
    /// What the request wants to have been seen was not, in time.
    #[error("waited {} ms for {wanted}, and have {found}: try again", waited.as_millis())]
    NotSeen {
        /// The request's deadline.
        waited: Duration,
        /// What it wants.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// As many streams or dumps are under way as may be.
    #[error("{limit} {what} are under way already: try again later")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// The pod cannot be assumed where the request says.
    #[error(transparent)]
    Assume(#[from] AssumeError),
    /// No evaluation slot became free in time, or too many requests wait for one already.
    #[error("more requests than can be answered within {} ms: try again later", limits::QUEUE_TIME.as_millis())]
    Overloaded,
    /// The engine has no answer.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The engine has no answer because of one field.
    #[error("{field}: {error}")]
    Field {
        /// Path of the field in the request.
        field: String,
        /// Why.
        error: Box<engine::Error>,
    },
    /// A bug of ours ended this request, and no other.
    #[error("this request ended in an internal error; the log says more")]
    Internal,
    /// There is nothing at this path.
    #[error(
        "there is nothing at {path}; POST /v1/filter, POST /v1/explain, POST /v1/assume, POST /v1/forget, \
         POST /v1/predicates, POST /v1/prefilterpredicates, POST /v1/preemptionpredicates, GET /v1/state, GET /v1/events, \
         POST /extender/filter, POST /extender/preempt, GET /livez, GET /readyz"
    )]
    UnknownPath {
        /// As the request named it.
        path: String,
    },
    /// The path takes another method.
    #[error("this path does not take {method}")]
    WrongMethod {
        /// As the request named it.
        method: String,
    },
}

impl Error {
    /// The gRPC code and the HTTP status of this failure.
    pub fn status(&self) -> (tonic::Code, StatusCode) {
        use tonic::Code;
        match self {
            Self::Malformed { .. } | Self::InvalidField { .. } | Self::BodyBroken { .. } => {
                (Code::InvalidArgument, StatusCode::BAD_REQUEST)
            }
            Self::BodyTooLarge { .. } | Self::TooMuch { .. } => {
                (Code::ResourceExhausted, StatusCode::PAYLOAD_TOO_LARGE)
            }
            Self::BodyTooSlow => (Code::DeadlineExceeded, StatusCode::REQUEST_TIMEOUT),
            Self::MediaType { .. } | Self::ContentCoding { .. } | Self::NotGrpc => {
                (Code::InvalidArgument, StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::NotAcceptable { .. } => (Code::InvalidArgument, StatusCode::NOT_ACCEPTABLE),
            Self::NotReady { .. } | Self::Stale { .. } => (Code::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
            Self::NotSeen { .. } => (Code::DeadlineExceeded, StatusCode::GATEWAY_TIMEOUT),
            Self::Assume(AssumeError::Bound { .. } | AssumeError::OtherPod { .. }) => {
                (Code::FailedPrecondition, StatusCode::CONFLICT)
            }
            Self::Assume(AssumeError::UnknownPod { .. } | AssumeError::UnknownNode { .. }) => {
                (Code::NotFound, StatusCode::NOT_FOUND)
            }
            Self::Overloaded | Self::TooMany { .. } | Self::Assume(AssumeError::Full) => {
                (Code::ResourceExhausted, StatusCode::TOO_MANY_REQUESTS)
            }
            Self::Engine(error) => status_of(error),
            Self::Field { error, .. } => status_of(error),
            Self::Internal => (Code::Internal, StatusCode::INTERNAL_SERVER_ERROR),
            Self::UnknownPath { .. } => (Code::Unimplemented, StatusCode::NOT_FOUND),
            Self::WrongMethod { .. } => (Code::Unimplemented, StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    /// What to tell the client: the text, cut to [`limits::ERROR_BYTES`].
    pub fn text(&self) -> String {
        cut(self.to_string())
    }

    /// The answer in the dialect of the request: a gRPC status for gRPC, else JSON.
    pub fn into_response_for(self, grpc: bool) -> Response {
        if grpc { tonic::Status::from(self).into_http() } else { self.into_response() }
    }
}

/// The gRPC code and the HTTP status where the engine has no answer.
fn status_of(error: &engine::Error) -> (tonic::Code, StatusCode) {
    use tonic::Code;
    match error {
        engine::Error::UnknownPod { .. }
        | engine::Error::UnknownNode { .. }
        | engine::Error::Overlay(OverlayError::UnknownPod { .. } | OverlayError::UnknownNode { .. }) => {
            (Code::NotFound, StatusCode::NOT_FOUND)
        }
        engine::Error::Overlay(OverlayError::Unsettled { .. }) => (Code::Aborted, StatusCode::CONFLICT),
        engine::Error::OverlayPart { error, .. } => status_of(error),
        engine::Error::PreemptionWithOverlay => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
        engine::Error::TooManyNominated { .. } => (Code::ResourceExhausted, StatusCode::PAYLOAD_TOO_LARGE),
        engine::Error::ReuseMismatch { .. } => (Code::Internal, StatusCode::INTERNAL_SERVER_ERROR),
    }
}

impl From<Error> for tonic::Status {
    fn from(error: Error) -> Self {
        Self::new(error.status().0, error.text())
    }
}

impl IntoResponse for Error {
    /// `{"error":{"code":"INVALID_ARGUMENT","message":"…"}}`.
    fn into_response(self) -> Response {
        let (code, status) = self.status();
        let body = json!({"error": {"code": code_name(code), "message": self.text()}});
        let mut response = (status, Json(body)).into_response();
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The name that the protobuf JSON mapping and every gRPC document use for a code.
pub(super) fn code_name(code: tonic::Code) -> &'static str {
    use tonic::Code;
    match code {
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::NotFound => "NOT_FOUND",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::Unavailable => "UNAVAILABLE",
        Code::Aborted => "ABORTED",
        Code::Unimplemented => "UNIMPLEMENTED",
        _ => "INTERNAL",
    }
}

/// Cuts a text to [`limits::ERROR_BYTES`], at a character, and marks the cut.
fn cut(mut text: String) -> String {
    if text.len() > limits::ERROR_BYTES {
        let end = (0..=limits::ERROR_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let error = Error::Malformed { reason: "é".repeat(limits::ERROR_BYTES) };
        let text = error.text();
        assert!(text.ends_with("é…"), "{text}");
        assert!(text.len() <= limits::ERROR_BYTES + '…'.len_utf8());
    }

    #[test]
    fn an_unknown_pod_is_not_found_in_both_dialects() {
        let error = Error::from(engine::Error::UnknownPod { pod: "a/b".into() });
        assert_eq!(error.status(), (tonic::Code::NotFound, StatusCode::NOT_FOUND));
        assert_eq!(error.text(), "pod a/b is not in the cache: name a pod that exists, or send the whole pod");
    }
}
