//! Fields that predicates and scorers have in common in `GET /v1/policy`. Start at [`digest`].

use serde::Serialize;

use super::time::microseconds;
use nodesift_engine::{ActivePredicate, OnError};
use nodesift_sandbox::{Interface, Lifetime};

/// Log lines that a component wrote.
#[derive(Serialize)]
pub(super) struct Log {
    written: u64,
    /// Too many within a second.
    dropped: u64,
}

/// Time of one call of a component.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Latency {
    /// In microseconds, up to a quarter too long.
    p50_us: u64,
    p99_us: u64,
}

impl Log {
    pub(super) fn new(predicate: &ActivePredicate) -> Option<Self> {
        let (written, dropped) = predicate.module.log_counts();
        predicate.module.imports().contains(&Interface::Log).then_some(Self { written, dropped })
    }
}

impl Latency {
    pub(super) fn new(predicate: &ActivePredicate) -> Option<Self> {
        let time = |share| predicate.counts.time(share).map(microseconds);
        Some(Self { p50_us: time(0.5)?, p99_us: time(0.99)? })
    }
}

/// The digest of a component, as a policy writes it.
pub(super) fn digest(component: &ActivePredicate) -> String {
    let digits: String = component.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

/// The failure policy of a component, as a policy writes it.
pub(super) fn on_error(component: &ActivePredicate) -> &'static str {
    match component.on_error {
        OnError::Reject => "Reject",
        OnError::Ignore => "Ignore",
    }
}

/// The life of an instance of a component, as a policy writes it.
pub(super) fn instance(component: &ActivePredicate) -> &'static str {
    match component.module.grants().lifetime {
        Lifetime::PerCall => "Fresh",
        Lifetime::Recycled | Lifetime::Reused => "Reuse",
    }
}
