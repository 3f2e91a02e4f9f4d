//! Scorers of the active policy in `GET /v1/policy`, with their counts. Start at [`Scorer::new`].

use std::collections::BTreeMap;

use serde::Serialize;

use super::breaker::Breaker;
use super::component::{Latency, Log, digest, instance, on_error};
use nodesift_engine::ActiveScorer;

/// A scorer, as the policy has it and as it has been called.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scorer<'a> {
    name: &'a str,
    /// Factor of its scores in the totals.
    weight: i64,
    digest: String,
    on_error: &'static str,
    /// Whether an instance serves one call or many.
    instance: &'static str,
    /// Since the scorer was loaded with these arguments and limits.
    calls: u64,
    rows: u64,
    /// Faults of calls, by the name of their kind.
    faults: BTreeMap<&'static str, u64>,
    /// Of one call that ran; null where none did.
    latency: Option<Latency>,
    breaker: Breaker,
    /// Null where it does not import `log`.
    log: Option<Log>,
}

impl<'a> Scorer<'a> {
    /// Describes a scorer of the active policy.
    pub(super) fn new(scorer: &'a ActiveScorer) -> Self {
        let component = &scorer.component;
        Self {
            name: &component.name,
            weight: scorer.weight,
            digest: digest(component),
            on_error: on_error(component),
            instance: instance(component),
            calls: component.counts.calls(),
            rows: component.counts.rows(),
            faults: component.counts.faults(),
            latency: Latency::new(component),
            breaker: Breaker::new(&component.breaker),
            log: Log::new(component),
        }
    }
}
