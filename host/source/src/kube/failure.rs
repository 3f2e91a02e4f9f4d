//! Why an API server has not given what was asked for: the closed list that decides how it is asked again.
//!
//! Start at [`Failure::of_status`], which reads a refusal, whether it came as an HTTP status or as an event of a watch.

use std::time::Duration;

use crate::decode::{self, Status};
use crate::limits::{KUBE_MESSAGE_CHARS, RETRY_AFTER_MOST};

/// Why a page or a watch failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The resource version or the page asked for is no longer known: the list has to be read anew.
    #[error("410: what was asked for is no longer known: {message}")]
    Expired {
        /// The server's words.
        message: String,
    },
    /// The server is busy, or has not come as far as the version asked for: it wants to be asked the same later.
    #[error("{status}: not now: {message}")]
    NotNow {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
        /// How long it wants to be left alone, at most [`RETRY_AFTER_MOST`].
        retry_after: Option<Duration>,
    },
    /// Who we are is not known, or may not read this.
    #[error("{status}: {message}")]
    Denied {
        /// The HTTP status, 401 or 403.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// There is nothing at this path.
    #[error("404: {message}")]
    NotServed {
        /// The server's words.
        message: String,
    },
    /// Any other refusal.
    #[error("{status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        message: String,
        /// How long it wants to be left alone, at most [`RETRY_AFTER_MOST`].
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("{0}")]
    Transport(String),
    /// Nothing came in time.
    #[error("nothing came within {} s", .0.as_secs())]
    Silent(Duration),
    /// What came is not what an API server sends.
    #[error("not what an API server sends: {0}")]
    Malformed(String),
}

impl Failure {
    /// A refusal by its HTTP status, its `Retry-After` in seconds, and its body, a [`Status`] if all is well.
    pub(super) fn of_status(http_status: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let told = decode::status(body)
            .unwrap_or_else(|| Status { message: String::from_utf8_lossy(body).into_owned(), ..Status::default() });
        let asked = retry_after.and_then(|text| text.trim().parse().ok());
        Self::of(http_status, asked.unwrap_or_else(|| u64::from(told.details.retry_after_seconds)), &told)
    }

    /// The failure that an ERROR event of a watch carries.
    pub(super) fn of_event(told: &Status) -> Self {
        Self::of(told.code, u64::from(told.details.retry_after_seconds), told)
    }

    fn of(status: u16, retry_after_seconds: u64, told: &Status) -> Self {
        let message = plain(&told.message);
        let retry_after =
            (retry_after_seconds > 0).then(|| Duration::from_secs(retry_after_seconds).min(RETRY_AFTER_MOST));
        let is_ahead = told.details.causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || message.starts_with("Too large resource version");
        match (status, told.reason.as_str()) {
            (410, _) | (_, "Expired" | "Gone") => Self::Expired { message },
            (429, _) => Self::NotNow { status, message, retry_after },
            (_, "Timeout") | (504, _) if is_ahead => Self::NotNow { status, message, retry_after },
            (401 | 403, _) => Self::Denied { status, message },
            (404, _) => Self::NotServed { message },
            _ => Self::Refused { status, message, retry_after },
        }
    }

    /// How long the server wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::NotNow { retry_after, .. } | Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The class under which it is counted.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Expired { .. } => "expired",
            Self::NotNow { status: 429, .. } => "throttled",
            Self::NotNow { .. } => "behind",
            Self::Denied { .. } => "denied",
            Self::NotServed { .. } => "not_served",
            Self::Refused { status: 500.., .. } => "server",
            Self::Refused { .. } => "client",
            Self::Transport(_) => "transport",
            Self::Silent(_) => "silent",
            Self::Malformed(_) => "malformed",
        }
    }
}

/// Somebody else's words as they may stand in a log: one line, cut, without control characters.
pub(super) fn plain(text: &str) -> String {
    text.trim().chars().take(KUBE_MESSAGE_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
