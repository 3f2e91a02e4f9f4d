//! `GET /v1/negotiations`: negotiations that have not ended, and the parties of the policy.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use crate::protocols::document::Encoded;
use crate::transport::unsent::{self, Unsent};
use crate::{Error, Service};

/// Answers `GET /v1/negotiations`.
///
/// # Errors
///
/// [`Error::Unread`], [`Error::Overloaded`]: ten thousand negotiations take some megabytes.
pub(crate) async fn overview(
    State(service): State<Service>,
    unsent: Option<Extension<Unsent>>,
) -> Result<Response, Error> {
    let unsent = unsent.as_deref();
    unsent::until_read(unsent).await?;
    Encoded::from_text(service.parties()?.overview().await?).respond(unsent)
}
