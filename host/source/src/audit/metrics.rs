//! Counters of the audit.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Part of the cache that was compared: the values of the label `part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Part {
    /// Counts in columns with the pods behind them.
    Cells,
    /// Held objects with the server's list.
    Objects,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfPart {
    pub(super) part: Part,
}

/// Counters of the audit; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    pub(super) runs: Counter,
    pub(super) failures: Counter,
    pub(super) differences: Family<OfPart, Counter>,
    pub(super) duration: Gauge<f64, AtomicU64>,
}

impl Metrics {
    /// Counters that a registry shows.
    pub fn register(registry: &mut Registry) -> Self {
        let all = Self::default();
        registry.register("nodesift_audit_runs", "Self-checks that were completed", all.runs.clone());
        registry.register(
            "nodesift_audit_failures",
            "Kinds that could not be listed for a self-check",
            all.failures.clone(),
        );
        // An alert reads increases, and the first difference of a part is none unless the part was at 0 before.
        for part in [Part::Cells, Part::Objects] {
            drop(all.differences.get_or_create(&OfPart { part }));
        }
        let help = "Drift that self-checks found and repaired, by part";
        registry.register("nodesift_audit_differences", help, all.differences.clone());
        let help = "Time that the last self-check took, waits included";
        registry.register("nodesift_audit_last_duration_seconds", help, all.duration.clone());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_at_zero_before_its_first_difference() {
        let mut registry = Registry::default();
        let _metrics = Metrics::register(&mut registry);
        let mut text = String::new();
        assert!(prometheus_client::encoding::text::encode(&mut text, &registry).is_ok());
        for part in ["Cells", "Objects"] {
            let line = format!("nodesift_audit_differences_total{{part=\"{part}\"}} 0\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}
