//! Why a request to an API server failed: a closed list, by which the reflector decides how to retry.
//!
//! Start at [`Failure`]. It classifies HTTP statuses and `ERROR` events of a watch alike.

use std::time::Duration;

use super::decode::status::{self, Status};
use super::reflector::backoff::UNREACHABLE;
use crate::limits::{KUBE_MESSAGE_CHARS, RETRY_AFTER_MOST};

/// Why a list page or a watch failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// 410 Gone: the resourceVersion or the token of the page has expired. A relist is needed.
    #[error("410: resourceVersion or page token expired: {message}")]
    Expired {
        /// Message of the server, in one line of at most [`KUBE_MESSAGE_CHARS`] characters.
        message: String,
    },
    /// Flow control (429), or a server that has not reached the requested resourceVersion: the same request is to be sent later.
    #[error("{status}: retry later: {message}")]
    NotNow {
        /// HTTP status code of the response.
        status: u16,
        /// Message of the server, in one line of at most [`KUBE_MESSAGE_CHARS`] characters.
        message: String,
        /// Wait that the server asks for by `Retry-After`, at most [`RETRY_AFTER_MOST`].
        retry_after: Option<Duration>,
    },
    /// The credentials are not valid, or do not permit the request.
    #[error("{status}: {message}")]
    Denied {
        /// The HTTP status, 401 or 403.
        status: u16,
        /// Message of the server, in one line of at most [`KUBE_MESSAGE_CHARS`] characters.
        message: String,
    },
    /// Nothing is served at this path.
    #[error("404: {message}")]
    NotServed {
        /// Message of the server, in one line of at most [`KUBE_MESSAGE_CHARS`] characters.
        message: String,
    },
    /// Any other HTTP status.
    #[error("{status}: {message}")]
    Refused {
        /// HTTP status code of the response.
        status: u16,
        /// Message of the server, in one line of at most [`KUBE_MESSAGE_CHARS`] characters.
        message: String,
        /// Wait that the server asks for by `Retry-After`, at most [`RETRY_AFTER_MOST`].
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("{0}")]
    Transport(String),
    /// No connection within its timeout.
    #[error("{0}")]
    Slow(String),
    /// No complete response within a timeout.
    #[error("timeout: no complete response within {} s", .0.as_secs())]
    Silent(Duration),
    /// A list older than what has been seen: the server lags, or the cluster was restored from a backup.
    #[error("the API server is at resourceVersion {version}, and {newest} was seen before")]
    Lagging {
        /// `metadata.resourceVersion` of the list.
        version: String,
        /// The newest resourceVersion seen.
        newest: String,
    },
    /// The response is not one of an API server.
    #[error("malformed response: {0}")]
    Malformed(String),
}

impl Failure {
    /// The failure behind an HTTP status, its `Retry-After` in seconds, and its body, which normally is a [`Status`].
    pub(super) fn from_status(http_status: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let answer = status::status(body)
            .unwrap_or_else(|| Status { message: String::from_utf8_lossy(body).into_owned(), ..Status::default() });
        let asked = retry_after.and_then(|text| text.trim().parse().ok());
        Self::new(http_status, asked.unwrap_or_else(|| u64::from(answer.details.retry_after_seconds)), &answer)
    }

    /// The failure behind an `ERROR` event of a watch.
    pub(super) fn from_event(answer: &Status) -> Self {
        Self::new(answer.code, u64::from(answer.details.retry_after_seconds), answer)
    }

    fn new(status: u16, retry_after_seconds: u64, answer: &Status) -> Self {
        let message = plain(&answer.message);
        let retry_after =
            (retry_after_seconds > 0).then(|| Duration::from_secs(retry_after_seconds).min(RETRY_AFTER_MOST));
        let is_ahead = answer.details.causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || message.starts_with("Too large resource version");
        match (status, answer.reason.as_str()) {
            (410, _) | (_, "Expired" | "Gone") => Self::Expired { message },
            (429, _) => Self::NotNow { status, message, retry_after },
            (_, "Timeout") | (504, _) if is_ahead => Self::NotNow { status, message, retry_after },
            (401 | 403, _) => Self::Denied { status, message },
            (404, _) => Self::NotServed { message },
            _ => Self::Refused { status, message, retry_after },
        }
    }

    /// Whether the same request may succeed later, without anybody's help.
    pub fn is_temporary(&self) -> bool {
        match self {
            // Credentials are read again.
            Self::Denied { status, .. } => *status == 401,
            Self::Refused { status, .. } => *status >= 500,
            Self::NotServed { .. } => false,
            Self::Expired { .. }
            | Self::NotNow { .. }
            | Self::Transport(_)
            | Self::Slow(_)
            | Self::Silent(_)
            | Self::Lagging { .. }
            | Self::Malformed(_) => true,
        }
    }

    /// Whether the server has not reached the requested resourceVersion.
    pub(super) fn is_behind(&self) -> bool {
        matches!(self, Self::NotNow { status, .. } if *status != 429)
    }

    /// How long the server asks to wait before the next request.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::NotNow { retry_after, .. } | Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The value of the metric's label `class`.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Expired { .. } => "expired",
            Self::NotNow { status: 429, .. } => "throttled",
            Self::NotNow { .. } => "behind",
            Self::Denied { .. } => "denied",
            Self::NotServed { .. } => "not_served",
            Self::Refused { status: 500.., .. } => "server",
            Self::Refused { .. } => "client",
            Self::Transport(_) | Self::Slow(_) => UNREACHABLE,
            Self::Silent(_) => "silent",
            Self::Lagging { .. } => "lagging",
            Self::Malformed(_) => "malformed",
        }
    }
}

/// A text from a server, made safe for logs: one line of at most [`KUBE_MESSAGE_CHARS`] characters, without control
/// characters.
pub(super) fn plain(text: &str) -> String {
    text.trim().chars().take(KUBE_MESSAGE_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
