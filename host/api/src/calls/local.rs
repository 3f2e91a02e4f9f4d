//! Answers of an engine that no service stands around: one caller in the same process, who waits. Start at [`why`].

use std::time::Duration;

use nodesift_proto::v1;
use tokio::time::Instant;

use super::driver::Call as _;
use super::why::Why;
use crate::admission::deadline::Deadline;
use crate::{Error, Staleness};
use nodesift_engine::Engine;

/// Answers `Why` from the newest snapshot within this time. Nobody is asked what parties say, nothing becomes stale, and the consistency of
/// the request is not waited for.
///
/// # Errors
///
/// As the call has them: a field is wrong, the pod is not there or has a node, or time is up.
pub fn why(engine: &Engine, request: v1::WhyRequest, time: Duration) -> Result<v1::WhyResponse, Error> {
    let mut parsed = Why::parse(request)?;
    let staleness = Staleness::new(|| None, Duration::MAX, false);
    Ok(Why::answer(engine, &staleness, Deadline::after(Instant::now(), time), &mut parsed)?.response)
}
