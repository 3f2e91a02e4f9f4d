//! Whether a module is called, in `GET /v1/policy`. Start at [`Breaker::of`].

use serde::Serialize;

use super::time::{microseconds, rfc3339};
use nodesift_engine::Quarantine;

/// Whether a module is called.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Breaker {
    /// `closed`, or `open` while the predicate is in quarantine.
    state: &'static str,
    /// How often it has opened.
    opened: u64,
    #[serde(flatten)]
    quarantine: Option<Open>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Open {
    since: String,
    last_fault: String,
    retry_in_ms: u64,
    /// Retries without a fault, in a row.
    good_calls: u32,
}

impl Breaker {
    /// That of a module.
    pub(super) fn of(breaker: &nodesift_engine::Breaker) -> Self {
        let quarantine = breaker.quarantine();
        Self {
            state: if quarantine.is_some() { "open" } else { "closed" },
            opened: breaker.opened(),
            quarantine: quarantine.map(|Quarantine { since, last_fault, retry_in, good_calls }| Open {
                since: rfc3339(since),
                last_fault: last_fault.to_string(),
                retry_in_ms: microseconds(retry_in) / 1_000,
                good_calls,
            }),
        }
    }
}
