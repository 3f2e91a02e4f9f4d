//! `Status`: what an API server sends where it cannot answer, as the body of an HTTP error or as an `ERROR` event of a watch.

use std::borrow::Cow;

use serde::Deserialize;

use super::metadata::null_is_default;

/// A `Status` of `meta/v1`, as far as it is used here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    /// The HTTP status, such as 410.
    pub(crate) code: u16,
    /// A reason of the API, such as `Expired`, `Gone` or `Timeout`.
    pub(crate) reason: String,
    /// A text for operators.
    pub(crate) message: String,
    /// Details of the reason.
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) details: StatusDetails,
}

/// `details` of a [`Status`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StatusDetails {
    /// Seconds to wait before the next request; 0 where the server does not say.
    pub(crate) retry_after_seconds: u32,
    /// Causes of the failure.
    #[serde(deserialize_with = "null_is_default")]
    pub(crate) causes: Vec<StatusCause>,
}

/// One entry of `details.causes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct StatusCause {
    /// A cause of the API, such as `ResourceVersionTooLarge`.
    pub(crate) reason: String,
}

/// Decodes a [`Status`]; `None` where the bytes are something else.
pub(crate) fn status(bytes: &[u8]) -> Option<Status> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        kind: Cow<'a, str>,
    }
    let envelope: Envelope<'_> = serde_json::from_slice(bytes).ok()?;
    if envelope.kind == "Status" { serde_json::from_slice(bytes).ok() } else { None }
}
