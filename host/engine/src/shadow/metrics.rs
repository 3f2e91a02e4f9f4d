//! Metrics of shadows. They begin at zero with each new active policy. Their labels are the predicates of two policies, so the
//! policies bound them. Start at [`register`].

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use super::ScoreDifferences;
use crate::Engine;

/// Exposes what the engine's answers are compared with, for as long as the engine exists.
pub fn register(engine: &Arc<Engine>, registry: &mut Registry) {
    registry.register_collector(Box::new(Shadows(Arc::downgrade(engine))));
}

#[derive(Debug)]
struct Shadows(Weak<Engine>);

impl Collector for Shadows {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(shadow) = self.0.upgrade().and_then(|engine| engine.shadow()) else { return Ok(()) };
        let records: Vec<_> =
            shadow.comparisons.iter().map(|comparison| (comparison.source.as_str(), comparison.record())).collect();
        let help = "Answers that were not compared with shadows, because too many waited";
        let metric = encoder.encode_descriptor("nodesift_shadow_dropped", help, None, MetricType::Counter)?;
        ConstCounter::new(shadow.dropped()).encode(metric)?;
        let help = "Pods whose answers were compared with a shadow policy";
        let mut metric = encoder.encode_descriptor("nodesift_shadow_pods", help, None, MetricType::Counter)?;
        for (source, record) in &records {
            ConstCounter::new(record.differences.pods).encode(metric.encode_family(&[("shadow", *source)])?)?;
        }
        let help =
            "Pods of which a shadow policy would decide some node otherwise, by the predicate and what it would do";
        let mut metric = encoder.encode_descriptor("nodesift_shadow_differences", help, None, MetricType::Counter)?;
        for (source, record) in &records {
            for (predicate, effect) in &record.differences.predicates {
                for (would, extent) in [("reject", effect.rejects), ("allow", effect.allows)] {
                    let labels = [("shadow", *source), ("predicate", &**predicate), ("would", would)];
                    ConstCounter::new(extent.pods).encode(metric.encode_family(&labels)?)?;
                }
            }
        }
        for (name, help, count) in OF_SCORES {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (source, record) in &records {
                let count = count(&record.differences.scores);
                ConstCounter::new(count).encode(metric.encode_family(&[("shadow", *source)])?)?;
            }
        }
        Ok(())
    }
}

/// One of the sums of changes of scores.
type ScoreCount = fn(&ScoreDifferences) -> u64;

/// Counters of scores: their names, their help, and the sum of which they are. The two last ones give how far a node moves on average.
const OF_SCORES: [(&str, &str, ScoreCount); 5] = [
    ("nodesift_shadow_scored_pods", "Pods that both the active policy and a shadow policy score", |sum| sum.pods),
    (
        "nodesift_shadow_best_changes",
        "Pods for which no node is among the best by both the active policy and a shadow policy",
        |sum| sum.best_changed,
    ),
    ("nodesift_shadow_unscored_pods", "Pods that a shadow policy cannot score, and the active one can", |sum| {
        sum.unscored
    }),
    (
        "nodesift_shadow_ranked_nodes",
        "Nodes whose places by scores were compared with those by a shadow policy",
        |sum| sum.nodes,
    ),
    ("nodesift_shadow_moved_places", "Places that these nodes would move", |sum| sum.places),
];
