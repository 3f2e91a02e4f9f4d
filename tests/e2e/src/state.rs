//! The sidecar's state of every node and pod from `/v1/state`, as facts of [`crate::recount`].

use anyhow::ensure;
use nodesift_fixtures::json::{at, flag, list, text};
use nodesift_reference::requests::Rounded;
use nodesift_tests::http::{self, Endpoint};
use serde_json::Value;

use crate::recount::{Facts, NodeFacts, PodFacts, place, waiting};

/// The facts of the sidecar's state.
pub(crate) fn facts(sidecar: &Endpoint) -> anyhow::Result<Facts> {
    let response = http::get(sidecar, "/v1/state").map_err(anyhow::Error::msg)?;
    ensure!(response.status == 200, "/v1/state: {} {}", response.status, response.body);
    Ok(written(&response.json()))
}

fn written(state: &Value) -> Facts {
    let mut facts = Facts::new();
    for node in list(state, "nodes") {
        let labels = at(node, "labels").as_object().into_iter().flatten();
        let known = NodeFacts {
            name: text(node, "name").to_owned(),
            labels: labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
            is_schedulable: flag(node, "schedulable"),
            given: amounts(node, "allocatable"),
            taken: without_pods(amounts(node, "requested")),
            foreign: without_pods(amounts(node, "foreign")),
            pods: at(node, "requested.pods").as_u64().unwrap_or(0),
            foreign_pods: at(node, "foreign.pods").as_u64().unwrap_or(0),
        };
        known.write(&mut facts);
        for pod in [list(node, "ownPods"), list(node, "foreignPods")].concat() {
            facts.insert(pod_facts(&pod).line(&placed(&pod, true)));
        }
    }
    for pod in list(state, "orphans") {
        facts.insert(pod_facts(pod).line(&placed(pod, false)));
    }
    for pod in list(state, "pending") {
        facts.insert(pod_facts(pod).line(&waiting(text(pod, "nominatedNode"))));
    }
    facts
}

fn placed(pod: &Value, is_there: bool) -> String {
    let place = place(text(pod, "node"), is_there, text(pod, "ownership"), flag(pod, "terminating"));
    // This run makes no assumptions, so an assumed pod is a difference.
    if flag(pod, "assumed") { format!("{place}, assumed") } else { place }
}

fn pod_facts(pod: &Value) -> PodFacts {
    PodFacts {
        namespace: text(pod, "namespace").to_owned(),
        name: text(pod, "name").to_owned(),
        uid: text(pod, "uid").to_owned(),
        priority: at(pod, "priority").as_i64().unwrap_or(i64::MIN),
        amounts: amounts(pod, if at(pod, "node").is_null() { "requests" } else { "usage" }),
    }
}

fn amounts(object: &Value, field: &str) -> Rounded {
    let amounts = at(object, field).as_object().into_iter().flatten();
    // An invalid amount becomes one that is never equal.
    amounts.map(|(resource, amount)| (resource.clone(), amount.as_i64().unwrap_or(i64::MIN))).collect()
}

/// Amounts of resources other than `pods`, which a recount has as a number of its own.
fn without_pods(mut amounts: Rounded) -> Rounded {
    amounts.remove("pods");
    amounts
}
