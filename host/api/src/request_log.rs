//! One log line per refused request, at level debug, and per slow one, at info. A client that lacks a right is at info too.
//!
//! Lines at info are limited in number, because clients cause them; the next one says how many were left out. Start at
//! [`Head::log`].

use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;
use nodesift_edge::Peer;
use tonic::Code;

use crate::access::Caller;
use crate::error::{Refusal, code_name};
use crate::limits;

/// Fields of a request for its log line.
#[derive(Debug)]
pub(crate) struct Head {
    method: Method,
    uri: Uri,
    transport: &'static str,
    since: Instant,
}

impl Head {
    pub(crate) fn new(request: &Request) -> Self {
        let transport = match request.extensions().get::<Peer>().map(|peer| &peer.caller) {
            Some(Caller::Socket { .. }) => "unix",
            Some(Caller::Tcp { .. }) => "tcp",
            None => "none",
        };
        Self { method: request.method().clone(), uri: request.uri().clone(), transport, since: Instant::now() }
    }

    /// Logs the request if it was refused or slow. The time is that until the response begins.
    pub(crate) fn log(self, response: &Response) {
        let elapsed = self.since.elapsed();
        let grpc = tonic::Status::from_header_map(response.headers()).filter(|status| status.code() != Code::Ok);
        let refusal = response.extensions().get::<Refusal>();
        let status = response.status();
        let refused = grpc.is_some() || refusal.is_some() || status.is_client_error() || status.is_server_error();
        let slow = elapsed >= limits::SLOW_REQUEST;
        if !refused && !slow {
            return;
        }
        let code = grpc.as_ref().map(tonic::Status::code);
        let denied = status == StatusCode::FORBIDDEN || code == Some(Code::PermissionDenied);
        let reason = refusal.map(|refusal| &*refusal.0);
        let reason = reason.or(grpc.as_ref().map(tonic::Status::message)).unwrap_or_default();
        let message = if refused { "request refused" } else { "slow request" };
        let (method, path, transport) = (self.method.as_str(), self.uri.path(), self.transport);
        let (status, grpc_status) = (status.as_u16(), code.map(code_name).unwrap_or_default());
        let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if let Some(left_out) = (denied || slow).then(|| LINES.take(Instant::now())).flatten() {
            tracing::info!(method, path, transport, status, grpc_status, ms, reason, left_out, "{message}");
        } else {
            tracing::debug!(method, path, transport, status, grpc_status, ms, reason, "{message}");
        }
    }
}

/// The lines at level info.
static LINES: Lines = Lines(Mutex::new(None));

/// Lets one line through per [`limits::REQUEST_LOG_PERIOD`].
#[derive(Debug)]
struct Lines(Mutex<Option<Last>>);

#[derive(Debug)]
struct Last {
    at: Instant,
    left_out: u64,
}

impl Lines {
    /// Whether a line may be logged now, with the number of those left out since the last one.
    fn take(&self, now: Instant) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &mut *last {
            Some(Last { at, left_out }) if now.saturating_duration_since(*at) < PERIOD => {
                *left_out += 1;
                None
            }
            before => {
                let left_out = before.as_ref().map_or(0, |last| last.left_out);
                *before = Some(Last { at: now, left_out: 0 });
                Some(left_out)
            }
        }
    }
}

const PERIOD: Duration = limits::REQUEST_LOG_PERIOD;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_let_through_one_per_period_and_the_rest_is_counted() {
        let (lines, start) = (Lines(Mutex::new(None)), Instant::now());
        assert_eq!(lines.take(start), Some(0));
        for _ in 0..5 {
            assert_eq!(lines.take(start + PERIOD / 2), None);
        }
        assert_eq!(lines.take(start + PERIOD), Some(5));
        assert_eq!(lines.take(start + 2 * PERIOD), Some(0));
    }
}
