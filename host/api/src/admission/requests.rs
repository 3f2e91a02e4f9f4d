//! Requests that have ended, counted and timed by protocol, call and code.
//!
//! The sets of all three labels are those of this file and of the [table of calls](crate::routes), whatever clients send: paths without
//! a call are one, `other`. Start at [`Requests::start`].

use std::fmt::{self, Write as _};
use std::time::Instant;

use axum::response::Response;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tonic::Code;

use crate::error::code_name;

/// Counters of requests; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    ended: Family<Labels, Counter>,
    duration: Family<Labels, Histogram, fn() -> Histogram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    protocol: Protocol,
    call: &'static str,
    code: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Protocol {
    Grpc,
    Http,
}

/// A gRPC code or an HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Status {
    Grpc(i32),
    Http(u16),
}

impl EncodeLabelValue for Protocol {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        })
    }
}

impl EncodeLabelValue for Status {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self {
            Self::Grpc(code) => encoder.write_str(code_name(Code::from_i32(*code))),
            Self::Http(status) => write!(encoder, "{status}"),
        }
    }
}

impl Default for Requests {
    fn default() -> Self {
        Self { ended: Family::default(), duration: Family::new_with_constructor(histogram) }
    }
}

/// From 25 µs, a cached answer, to 1.6 s, the wait for a slot and more.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(25e-6, 4.0, 9))
}

impl Requests {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Requests that have ended, by protocol, call, and gRPC code or HTTP status; CANCELLED and 499 are those \
                    whose client left first";
        registry.register("nodesift_api_requests", help, self.ended.clone());
        let help = "Time from the head of a request to the head of its response";
        registry.register_with_unit("nodesift_api_request_duration", help, Unit::Seconds, self.duration.clone());
    }

    /// Begins to time a request for the call of this name.
    pub(crate) fn start(&self, call: &'static str, grpc: bool) -> Timed {
        let (protocol, left) = if grpc {
            (Protocol::Grpc, Status::Grpc(Code::Cancelled as i32))
        } else {
            (Protocol::Http, Status::Http(CLIENT_CLOSED_REQUEST))
        };
        let labels = Labels { protocol, call, code: left };
        Timed { requests: self.clone(), labels, started: Instant::now() }
    }
}

/// The status that proxies log for a client that has left; it is never sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A request that has not ended. Dropped before its end, it counts as one whose client has left.
#[derive(Debug)]
pub(crate) struct Timed {
    requests: Requests,
    labels: Labels,
    started: Instant,
}

impl Timed {
    /// Ends the request with its response. Streams end here as OK: their head is all that is timed.
    pub(crate) fn end(mut self, response: &Response) {
        self.labels.code = match self.labels.protocol {
            Protocol::Http => Status::Http(response.status().as_u16()),
            // A refusal has its status in the headers, an answer in the trailers that follow it.
            Protocol::Grpc => {
                let status = response.headers().get("grpc-status");
                Status::Grpc(status.map_or(Code::Ok, |status| Code::from_bytes(status.as_bytes())) as i32)
            }
        };
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.requests.ended.get_or_create(&self.labels).inc();
        self.requests.duration.get_or_create(&self.labels).observe(self.started.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::response::IntoResponse as _;

    use super::*;
    use crate::Error;
    use crate::exposition::Exposition;

    fn text(ends: impl FnOnce(&Requests)) -> String {
        let requests = Requests::default();
        let mut registry = Registry::default();
        requests.register(&mut registry);
        ends(&requests);
        Exposition::new(registry).text().unwrap()
    }

    #[test]
    fn requests_are_counted_and_timed_by_protocol_call_and_code() {
        let text = text(|requests| {
            requests.start("Filter", false).end(&"[]".into_response());
            requests.start("Filter", true).end(&"".into_response());
            requests.start("Filter", true).end(&Error::Overloaded.into_response_for(true));
            drop(requests.start("Explain", false));
        });
        for line in [
            r#"nodesift_api_requests_total{protocol="http",call="Filter",code="200"} 1"#,
            r#"nodesift_api_requests_total{protocol="grpc",call="Filter",code="OK"} 1"#,
            r#"nodesift_api_requests_total{protocol="grpc",call="Filter",code="RESOURCE_EXHAUSTED"} 1"#,
            r#"nodesift_api_requests_total{protocol="http",call="Explain",code="499"} 1"#,
            r#"nodesift_api_request_duration_seconds_count{protocol="grpc",call="Filter",code="OK"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
