//! TaintToleration: the fewer taints that a node would rather not have pods for, the better.
//!
//! Source: P/tainttoleration/taint_toleration.go.

use nodesift_fixtures::json::{list, text};
use serde_json::Value;

use super::{Raw, World};
use crate::tolerations::tolerates;

/// The number of a node's PreferNoSchedule taints that the pod does not tolerate.
pub(super) fn score(_: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let count = |node: &&Value| {
        let taints = list(node, "spec.taints").iter();
        let untolerated = taints.filter(|taint| text(taint, "effect") == "PreferNoSchedule" && !tolerates(pod, taint));
        Some(i64::try_from(untolerated.count()).unwrap_or(i64::MAX))
    };
    Ok(Some(feasible.iter().map(count).collect()))
}
