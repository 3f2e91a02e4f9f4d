//! `GET /v1/negotiations`: negotiations that have not ended, and the parties of the policy.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::{Error, Service};

/// Answers `GET /v1/negotiations`.
///
/// # Errors
///
/// [`Error::Edge`], [`Error::Overloaded`]: ten thousand negotiations take some megabytes.
pub(crate) async fn overview(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
) -> Result<Response, Error> {
    scope.until_read().await?;
    Encoded::from_text(service.parties()?.overview().await?).respond(scope.unsent.as_ref())
}
