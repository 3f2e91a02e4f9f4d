//! The accounting component in `GET /v1/policy`. Start at [`AccountingStatus::new`].

use serde::Serialize;

use super::breaker::Breaker;
use nodesift_cache::metadata::Watermark;
use nodesift_engine::{ActiveAccounting, OnAccountError};

/// Accounting component as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountingStatus<'a> {
    digest: String,
    /// The version of the contract that it was built for.
    contract: &'a str,
    on_error: &'static str,
    /// The interfaces that it imports.
    imports: Vec<&'static str>,
    /// Keys of the annotations that it reads.
    annotations: Vec<&'a str>,
    /// Names of the sums that it makes.
    sums: Vec<&'a str>,
    ignored_namespaces: &'a [String],
    gauges: &'a [String],
    watermarks: Vec<WatermarkStatus<'a>>,
    /// Pods and nodes about which it was called.
    calls: u64,
    breaker: Breaker,
}

/// Watermark of a sum as JSON, in the words of the policy.
#[derive(Debug, Serialize)]
pub(super) struct WatermarkStatus<'a> {
    sum: &'a str,
    of: &'a str,
    above: u32,
    below: u32,
}

impl<'a> WatermarkStatus<'a> {
    /// Describes a watermark of a policy.
    pub(super) fn new(mark: &'a Watermark) -> Self {
        Self { sum: &mark.sum, of: &mark.whole, above: mark.above, below: mark.below }
    }
}

impl<'a> AccountingStatus<'a> {
    /// That of a policy.
    pub(super) fn new(accounting: &'a ActiveAccounting) -> Self {
        let (component, settings) = (accounting.component(), accounting.settings());
        let digits: String = settings.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            digest: format!("sha256:{digits}"),
            contract: component.contract(),
            on_error: match settings.on_error {
                OnAccountError::Keep => "Keep",
                OnAccountError::Standard => "Standard",
                OnAccountError::Refuse => "Refuse",
            },
            imports: component.imports().iter().map(|interface| interface.name()).collect(),
            annotations: component.needs().annotations.iter().map(|key| &**key).collect(),
            sums: component.needs().sums.iter().map(|name| &**name).collect(),
            ignored_namespaces: &settings.ignored_namespaces,
            gauges: &settings.gauges,
            watermarks: settings.watermarks.iter().map(WatermarkStatus::new).collect(),
            calls: accounting.calls(),
            breaker: Breaker::new(accounting.breaker()),
        }
    }
}
