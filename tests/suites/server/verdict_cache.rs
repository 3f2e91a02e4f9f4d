//! The memory of cached verdicts is what the operator says; what is evicted shows in the metrics.

use nodesift_tests::http::get;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::running::{ask, command, sample};

/// The least that `--verdict-cache-bytes` takes.
const LIMIT: u64 = 1 << 20;

/// Number of pods per request.
const PODS: u64 = 16;

fn metric(sidecar: &Sidecar, name: &str) -> u64 {
    let text = get(&sidecar.unix(), "/metrics").unwrap().body;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

/// A pod like no other: every predicate that reads labels or requests has a verdict of its own about it.
fn pod(number: u64) -> Value {
    json!({"object": {
        "metadata": {"name": format!("p{number}"), "namespace": "default", "labels": {"app": format!("a{number}")}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{}m", number + 1)}}}]}
    }})
}

#[test]
fn cached_verdicts_stay_within_their_bytes_and_evictions_are_counted() {
    let sidecar = sample(&["--verdict-cache-bytes", &LIMIT.to_string()]);
    let mut asked = 0;
    let evicted = timeout::until(|| {
        let pods: Vec<Value> = (asked..asked + PODS).map(pod).collect();
        asked += PODS;
        ask(&sidecar.unix(), "/v1/filter", &json!({"pods": pods}));
        let kept = metric(&sidecar, "nodesift_verdicts_kept_bytes");
        assert!(kept <= LIMIT, "{kept} bytes after {asked} pods");
        Some(metric(&sidecar, "nodesift_verdicts_evicted_total")).filter(|evicted| *evicted > 0)
    });
    assert!(evicted.is_some(), "nothing was evicted after {asked} pods");
}

#[test]
fn the_default_and_the_least_are_said() {
    let help = sidecar::run(command().args(["serve", "--help"])).stdout;
    assert!(help.contains("--verdict-cache-bytes") && help.contains("[default: 67108864]"), "{help}");
    let refused = sidecar::run(command().args(["serve", "--verdict-cache-bytes", "1000"]));
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(refused.stderr.contains("expected a number of bytes from 1048576"), "{}", refused.stderr);
}
