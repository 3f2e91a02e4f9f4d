//! Tolerations and taints. The operators `Gt` and `Lt` are disabled in 1.36 and tolerate nothing.

use nodesift_fixtures::json::{list, text};
use serde_json::{Value, json};

/// Whether the pod tolerates all NoSchedule and NoExecute taints of the node.
pub fn tolerates_node(pod: &Value, node: &Value) -> bool {
    let keeps_out = |taint: &&Value| matches!(text(taint, "effect"), "NoSchedule" | "NoExecute");
    list(node, "spec.taints").iter().filter(keeps_out).all(|taint| tolerates(pod, taint))
}

/// Whether the pod tolerates the taint of an unschedulable node.
pub fn tolerates_unschedulable(pod: &Value) -> bool {
    tolerates(pod, &json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}))
}

/// Whether one of the pod's tolerations tolerates the taint.
pub(crate) fn tolerates(pod: &Value, taint: &Value) -> bool {
    list(pod, "spec.tolerations").iter().any(|toleration| {
        let any_or_same =
            |field: &str| matches!(text(toleration, field), "") || text(toleration, field) == text(taint, field);
        any_or_same("effect")
            && any_or_same("key")
            && match text(toleration, "operator") {
                "" | "Equal" => text(toleration, "value") == text(taint, "value"),
                "Exists" => true,
                _ => false,
            }
    })
}
