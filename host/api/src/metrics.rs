//! `/metrics`: what was registered, for Prometheus; and what the API counts of itself.

use axum::Extension;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::exposition::Exposition;

/// Answers `GET /metrics`.
pub(super) async fn metrics(Extension(exposition): Extension<Exposition>) -> Response {
    match exposition.text() {
        Ok(text) => ([(header::CONTENT_TYPE, Exposition::MEDIA_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// What the API counts of itself; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Requests whose handlers run now.
    pub(super) in_flight: Gauge,
    /// Evaluations that run now. One goes on to its end when its client has left.
    pub(super) evaluations: Gauge,
    /// Requests that found no evaluation slot in time.
    pub(super) refused: Counter,
}

impl Metrics {
    /// Makes the numbers part of what is scraped.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Requests that are being answered; whoever reads this is one of them";
        registry.register("nodesift_api_requests_in_flight", help, metrics.in_flight.clone());
        registry.register("nodesift_api_evaluations", "Evaluations that run", metrics.evaluations.clone());
        let help = "Requests refused because no evaluation slot would have become free in time";
        registry.register("nodesift_api_requests_refused", help, metrics.refused.clone());
        metrics
    }
}

/// Counts in a gauge for as long as it lives.
#[derive(Debug)]
pub(super) struct Counted(Gauge);

impl Counted {
    pub(super) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
