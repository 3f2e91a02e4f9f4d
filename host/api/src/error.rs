//! Why a request fails, and the one place that maps failures to gRPC codes and HTTP statuses.
//!
//! Texts say what to do next and are bounded in length, because they may quote what a client sent. Not here: errors of
//! listeners and of TLS files, which end the start of the process. Start at [`Error::status`].

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nodesift_edge as edge;
use nodesift_proto::v1;
use serde_json::json;

use crate::limits;
use nodesift_cache::{AssumeError, InFlightError, OverlayError};
use nodesift_engine as engine;

/// Why a request fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The body is not the JSON that the call takes.
    #[error("{reason}")]
    Malformed {
        /// Path of the field, what is wrong there, line and column.
        reason: String,
    },
    /// A field has a value that the call does not take.
    #[error("{field}: {reason}")]
    InvalidField {
        /// Path of the field in the request.
        field: String,
        /// Description of the invalid value and of a valid one.
        reason: String,
    },
    /// A limit of the edge: a body that is too large or too slow, responses that are not read.
    #[error(transparent)]
    Edge(edge::Error),
    /// A party says more by itself than anybody can listen to.
    #[error(
        "the party sends too many messages that no call asked for: it is cut off; take back what changes together in one message"
    )]
    Flood,
    /// The request was not answered in time.
    #[error("not answered within {} ms, the time for the request: try again", time.as_millis())]
    DeadlineExceeded {
        /// From the first byte of the request.
        time: Duration,
    },
    /// The request holds more than one request may.
    #[error("{count} {what} in one request, at most {limit} are answered at once: ask in smaller batches")]
    TooMuch {
        /// Plural noun, such as `pods`.
        what: &'static str,
        /// Number of them in the request.
        count: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// The answer does not fit into one message of gRPC.
    #[error(
        "the answer is longer than {limit} bytes: ask for fewer pods or less detail in one request, or as JSON over HTTP, \
         which is sent piece by piece"
    )]
    AnswerTooLarge {
        /// The most bytes of a message.
        limit: usize,
    },
    /// The body's media type is not JSON.
    #[error("send the body as content-type: application/json, not as {found}")]
    MediaType {
        /// Value of the request's header `Content-Type`, or a note that it has none.
        found: String,
    },
    /// The request names no host.
    #[error("name the sidecar in the header host, for example host: localhost")]
    NoHost,
    /// The request calls the sidecar by a name that is not its own.
    #[error(
        "the sidecar does not go by the name {found:?}: call it as localhost or 127.0.0.1, over its Unix socket, or by a \
         name that --allow-host gives"
    )]
    ForeignHost {
        /// Host name in the request.
        found: String,
    },
    /// A browser has sent the request for a page.
    #[error("requests of web pages are not answered; this one came from {found:?}")]
    ForeignOrigin {
        /// The origin, or the site as the browser describes it.
        found: String,
    },
    /// The client has no right to this class of call.
    #[error("the client {client} may not {what}: give one of its names to {flag}, or call over the Unix socket")]
    Denied {
        /// The names in its certificate.
        client: String,
        /// The class of call.
        what: &'static str,
        /// The option that lists the clients of the class.
        flag: &'static str,
    },
    /// The request would change something, over the listener of the explorer.
    #[error("the listener of the explorer changes nothing: send this to the Unix socket, or to the listener of cores")]
    ReadsAlone,
    /// The client does not accept JSON, the only media type of responses.
    #[error("responses are application/json, which accept: {accept:?} rules out: leave the header out")]
    NotAcceptable {
        /// The request's `Accept` header.
        accept: String,
    },
    /// The body is compressed.
    #[error("send the body uncompressed, not with content-encoding: {found:?}")]
    ContentCoding {
        /// Value of the request's header `Content-Encoding`.
        found: String,
    },
    /// A request to a gRPC path that is not gRPC.
    #[error(
        "this path takes gRPC, content-type: application/grpc; for JSON over HTTP use POST /v1/filter and its siblings"
    )]
    NotGrpc,
    /// The initial lists are not complete: a response would rest on part of the cluster.
    #[error("not ready, waiting for {waiting}: try again")]
    NotReady {
        /// The steps that readiness waits for, such as `the list of pods`.
        waiting: String,
    },
    /// The source has been silent for too long, and the configuration refuses stale answers.
    #[error(
        "the API server has confirmed nothing for {} s, longer than --stale-after allows: try again; /readyz says why",
        silence.as_secs()
    )]
    Stale {
        /// Since the last sign of life.
        silence: Duration,
    },
    /// No snapshot showed the minimum versions of the request in time.
    #[error("waited {} ms for {wanted}, and have {found}: try again", waited.as_millis())]
    NotSeen {
        /// Longest time for which the request could wait.
        waited: Duration,
        /// The minimum versions of the request, as text.
        wanted: String,
        /// The versions of the newest snapshot.
        found: String,
    },
    /// The limit of concurrent streams or dumps is reached.
    #[error("{limit} {what} are open already: close one or try again later")]
    TooMany {
        /// Plural noun, such as `streams`.
        what: &'static str,
        /// The most that are open at once.
        limit: usize,
    },
    /// The pod cannot be assumed on the node of the request.
    #[error(transparent)]
    Assume(#[from] AssumeError),
    /// `Assume` with `check`: a predicate rejects the node.
    #[error("pod {pod} does not fit node {node:?}: {why}")]
    DoesNotFit {
        /// The pod as `namespace/name`.
        pod: String,
        /// The node of the request.
        node: String,
        /// The predicate, its code and its reasons.
        why: String,
    },
    /// `Assume` with `allocate`: the devices cannot be held for a claim of the pod.
    #[error("pod {pod} is not assumed: {error}")]
    Held {
        /// UID of the pod.
        pod: String,
        /// Reason why the devices cannot be reserved.
        error: InFlightError,
    },
    /// The placements before this one have filled the answer.
    #[error(
        "the allocations of this request take {} bytes already: assume the other pods in the next one",
        limits::REQUEST_ALLOCATION_BYTES
    )]
    TooManyAllocations,
    /// `Assume` with `if_generation`: the cache has changed.
    #[error("the cache is at generation {found}, and if_generation is {wanted}: decide again from a newer answer")]
    GenerationChanged {
        /// Generation in the request.
        wanted: u64,
        /// Generation of the newest snapshot.
        found: u64,
    },
    /// `Assume` with `check`: the cache has changed while the pod was evaluated, and evaluating it again took too long.
    #[error(
        "the cache has changed while the pod was checked, and checking it again takes more than {} ms, or less where many are checked: try \
         again",
        limits::LOCKED_CHECK_TIME.as_millis()
    )]
    CheckInterrupted,
    /// A rule of negotiation with parties refuses the request.
    #[error("{reason}")]
    Refused {
        /// Code of the kind of refusal; the status of HTTP follows from it.
        code: tonic::Code,
        /// Rule that the request breaks, and what to do instead.
        reason: String,
    },
    /// No evaluation slot became free in time, or the queue for one is full.
    #[error("more requests than can be answered within {} ms: try again later", limits::QUEUE_TIME.as_millis())]
    Overloaded,
    /// The engine refuses or fails.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// The engine refuses one field of the request.
    #[error("{field}: {error}")]
    Field {
        /// Path of the field in the request.
        field: String,
        /// Error of the engine about this field.
        error: Box<engine::Error>,
    },
    /// A defect of this program ended this request, and no other.
    #[error("internal error: see the log of the sidecar, and report it")]
    Internal,
    /// No handler at this path.
    #[error("there is nothing at {path}; use {help}")]
    UnknownPath {
        /// Path of the request.
        path: String,
        /// Paths that have one, with their methods.
        help: String,
    },
    /// The path takes another method.
    #[error("this path does not take {method}: see the header allow")]
    WrongMethod {
        /// HTTP method of the request.
        method: String,
    },
}

impl Error {
    /// The gRPC code and the HTTP status of this failure.
    pub fn status(&self) -> (tonic::Code, StatusCode) {
        use tonic::Code;
        match self {
            Self::Malformed { .. } | Self::InvalidField { .. } => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
            Self::TooMuch { .. } | Self::AnswerTooLarge { .. } | Self::TooManyAllocations => {
                (Code::ResourceExhausted, StatusCode::PAYLOAD_TOO_LARGE)
            }
            Self::Edge(error) => status_of_edge(error),
            Self::MediaType { .. } | Self::ContentCoding { .. } | Self::NotGrpc => {
                (Code::InvalidArgument, StatusCode::UNSUPPORTED_MEDIA_TYPE)
            }
            Self::NoHost => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
            Self::ForeignHost { .. } | Self::ForeignOrigin { .. } | Self::Denied { .. } | Self::ReadsAlone => {
                (Code::PermissionDenied, StatusCode::FORBIDDEN)
            }
            Self::NotAcceptable { .. } => (Code::InvalidArgument, StatusCode::NOT_ACCEPTABLE),
            Self::NotReady { .. } | Self::Stale { .. } => (Code::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
            Self::NotSeen { .. } | Self::DeadlineExceeded { .. } => {
                (Code::DeadlineExceeded, StatusCode::GATEWAY_TIMEOUT)
            }
            Self::Assume(AssumeError::Bound { .. } | AssumeError::OtherPod { .. })
            | Self::DoesNotFit { .. }
            | Self::Held { .. } => (Code::FailedPrecondition, StatusCode::CONFLICT),
            Self::GenerationChanged { .. } | Self::CheckInterrupted => (Code::Aborted, StatusCode::CONFLICT),
            Self::Assume(
                AssumeError::UnknownPod { .. } | AssumeError::UnknownNode { .. } | AssumeError::Gone { .. },
            ) => (Code::NotFound, StatusCode::NOT_FOUND),
            Self::Overloaded
            | Self::Flood
            | Self::TooMany { .. }
            | Self::Assume(AssumeError::Full | AssumeError::TooLarge) => {
                (Code::ResourceExhausted, StatusCode::TOO_MANY_REQUESTS)
            }
            Self::Refused { code, .. } => (*code, http_status(*code)),
            Self::Engine(error) => status_of(error),
            Self::Field { error, .. } => status_of(error),
            Self::Internal => (Code::Internal, StatusCode::INTERNAL_SERVER_ERROR),
            Self::UnknownPath { .. } => (Code::Unimplemented, StatusCode::NOT_FOUND),
            Self::WrongMethod { .. } => (Code::Unimplemented, StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    /// The text for the client, truncated to [`limits::ERROR_BYTES`].
    pub fn text(&self) -> String {
        truncated(self.to_string())
    }

    /// A field that has a value which the call does not take.
    pub fn invalid(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::InvalidField { field: field.into(), reason: reason.into() }
    }

    /// Whether another snapshot may settle it: the newest one does not show yet what the cache already knows of a pod of the
    /// request, or the policy was replaced after the snapshot was taken.
    pub(crate) fn is_unsettled(&self) -> bool {
        use engine::Error::{OlderThanPolicy, Overlay};
        matches!(self, Self::Engine(OlderThanPolicy | Overlay(OverlayError::Unsettled { .. })))
    }

    /// The response in the dialect of the request: a gRPC status for gRPC, else JSON.
    pub(crate) fn into_response_for(self, grpc: bool) -> Response {
        if grpc { tonic::Status::from(self).into_http() } else { self.into_response() }
    }
}

/// The gRPC code and the HTTP status of the limits of the edge.
fn status_of_edge(error: &edge::Error) -> (tonic::Code, StatusCode) {
    use tonic::Code;
    match error {
        edge::Error::BodyBroken { .. } => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
        edge::Error::BodyTooLarge { .. } => (Code::ResourceExhausted, StatusCode::PAYLOAD_TOO_LARGE),
        edge::Error::BodyTooSlow => (Code::DeadlineExceeded, StatusCode::REQUEST_TIMEOUT),
        edge::Error::BodyGaveWay | edge::Error::Unread | edge::Error::Overloaded => {
            (Code::ResourceExhausted, StatusCode::TOO_MANY_REQUESTS)
        }
    }
}

/// The gRPC code and the HTTP status of the engine's errors.
pub(crate) fn status_of(error: &engine::Error) -> (tonic::Code, StatusCode) {
    use tonic::Code;
    match error {
        engine::Error::UnknownPod { .. }
        | engine::Error::NotOnNode { .. }
        | engine::Error::UnknownNode { .. }
        | engine::Error::Overlay(OverlayError::UnknownPod { .. } | OverlayError::UnknownNode { .. }) => {
            (Code::NotFound, StatusCode::NOT_FOUND)
        }
        engine::Error::OtherVersion { .. }
        | engine::Error::OlderThanPolicy
        | engine::Error::Overlay(OverlayError::Unsettled { .. }) => (Code::Aborted, StatusCode::CONFLICT),
        engine::Error::Allocation { .. } => (Code::FailedPrecondition, StatusCode::CONFLICT),
        engine::Error::NotOnePod => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
        engine::Error::AlreadyPlaced { .. } => (Code::FailedPrecondition, StatusCode::CONFLICT),
        engine::Error::UnknownPredicate { .. } => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
        engine::Error::OverlayPart { error, .. } => status_of(error),
        engine::Error::PreemptionWithOverlay => (Code::InvalidArgument, StatusCode::BAD_REQUEST),
        engine::Error::TooManyNominated { .. } | engine::Error::AnswerTooLarge { .. } => {
            (Code::ResourceExhausted, StatusCode::PAYLOAD_TOO_LARGE)
        }
        engine::Error::DeadlineExceeded | engine::Error::PodTooSlow { .. } => {
            (Code::DeadlineExceeded, StatusCode::GATEWAY_TIMEOUT)
        }
        engine::Error::ReuseMismatch { .. } => (Code::Internal, StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// The HTTP status of a refusal by its gRPC code, for codes of refusals.
fn http_status(code: tonic::Code) -> StatusCode {
    use tonic::Code;
    match code {
        Code::InvalidArgument => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::FailedPrecondition => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Refuses more than `limit` of something; `what` is its plural noun.
///
/// # Errors
///
/// [`Error::TooMuch`].
pub fn at_most(what: &'static str, count: usize, limit: usize) -> Result<(), Error> {
    if count > limit { Err(Error::TooMuch { what, count, limit }) } else { Ok(()) }
}

impl From<edge::Error> for Error {
    fn from(error: edge::Error) -> Self {
        match error {
            // A full budget is one of the ways in which there are more requests than can be answered.
            edge::Error::Overloaded => Self::Overloaded,
            error => Self::Edge(error),
        }
    }
}

impl From<Error> for tonic::Status {
    fn from(error: Error) -> Self {
        Self::new(error.status().0, error.text())
    }
}

/// Converts a failure to the error of one part of a request that goes on.
impl From<Error> for v1::CallError {
    fn from(error: Error) -> Self {
        Self { code: code_name(error.status().0).to_owned(), message: error.text() }
    }
}

impl IntoResponse for Error {
    /// Responds with a JSON document such as `{"error":{"code":"INVALID_ARGUMENT","message":"…"}}`.
    fn into_response(self) -> Response {
        let (code, status) = self.status();
        let text = self.text();
        let body = json!({"error": {"code": code_name(code), "message": text}});
        let mut response = (status, Json(body)).into_response();
        response.extensions_mut().insert(Refusal(text.into()));
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Why a request was refused, beside its response: an extension, for the log.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) Arc<str>);

/// The name of a code in the protobuf JSON mapping and in gRPC's documentation.
pub(crate) fn code_name(code: tonic::Code) -> &'static str {
    use tonic::Code;
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// Truncates a text to [`limits::ERROR_BYTES`] and marks it with an ellipsis.
pub(crate) fn truncated(mut text: String) -> String {
    if text.len() > limits::ERROR_BYTES {
        text.truncate(text.floor_char_boundary(limits::ERROR_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_truncated_at_a_character() {
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
