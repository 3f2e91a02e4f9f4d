//! Allocations as JSON: devices in the order picked, the nodes that they reach, and configurations.

use nodesift_fixtures::json::{at, flag, is_set, list, name, text, texts};
use serde_json::{Value, json};

use super::binding;
use super::candidates::Pick;
use super::requests::Request;

/// The allocation of one claim. `requests` are those that were taken, each with its class.
pub(super) fn claim_allocation(
    claim: &Value,
    picks: &[&Pick<'_>],
    requests: &[(&Value, Request<'_>)],
    node: &Value,
) -> Value {
    let devices: Vec<Value> = picks.iter().map(|pick| device(pick)).collect();
    let mut allocation = json!({"claim": name(claim), "devices": devices});
    if let Some(selector) = node_selector(picks, node) {
        allocation["nodeSelector"] = selector;
    }
    let config = configurations(claim, requests);
    if !config.is_empty() {
        allocation["config"] = Value::from(config);
    }
    allocation
}

/// Adds the mappings of extended resources to the last claim.
pub(super) fn add_mappings(results: &mut [Value], mappings: &[Value]) {
    if let Some(last) = results.last_mut().filter(|_| !mappings.is_empty()) {
        last["mappings"] = Value::from(mappings.to_vec());
    }
}

fn device(pick: &Pick<'_>) -> Value {
    let mut device = json!({
        "request": pick.request.full_name(),
        "driver": pick.id.0,
        "pool": pick.id.1,
        "device": pick.id.2,
    });
    if pick.request.admin_access() {
        device["adminAccess"] = json!(true);
    }
    if let Some(consumed) = &pick.share {
        device["shared"] = json!(true);
        if !consumed.is_empty() {
            let amount =
                |(name, amount): (&String, &crate::quantity::Quantity)| (name.clone(), json!(amount.decimal()));
            device["consumedCapacity"] = Value::Object(consumed.iter().map(amount).collect());
        }
    }
    if !pick.request.tolerations().is_empty() {
        device["tolerations"] = pick.request.tolerations().iter().map(without_empty).collect();
    }
    for (field, conditions) in binding::device_conditions(pick.candidate.device) {
        device[field] = conditions;
    }
    device
}

/// An object without its empty texts, as it is written.
fn without_empty(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten().filter(|(_, value)| value.as_str() != Some(""));
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The nodes from which all devices can be reached; `None` for every node.
fn node_selector(picks: &[&Pick<'_>], node: &Value) -> Option<Value> {
    let (mut fields, mut expressions): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for pick in picks {
        let of = match flag(pick.candidate.slice, "spec.perDeviceNodeSelection") {
            true => pick.candidate.device,
            false => at(pick.candidate.slice, "spec"),
        };
        if is_set(of, "nodeName") || flag(pick.candidate.device, "bindsToNode") {
            let only = json!({"key": "metadata.name", "operator": "In", "values": [name(node)]});
            return Some(json!({"nodeSelectorTerms": [{"matchFields": [only]}]}));
        }
        if let [term] = list(of, "nodeSelector.nodeSelectorTerms") {
            add_new(&mut fields, list(term, "matchFields"));
            add_new(&mut expressions, list(term, "matchExpressions"));
        }
    }
    let mut term = json!({});
    if !expressions.is_empty() {
        term["matchExpressions"] = Value::from(expressions);
    }
    if !fields.is_empty() {
        term["matchFields"] = Value::from(fields);
    }
    term.as_object().is_some_and(|term| !term.is_empty()).then(|| json!({"nodeSelectorTerms": [term]}))
}

/// Adds requirements that are not there yet; the order of values does not matter.
fn add_new(known: &mut Vec<Value>, requirements: &[Value]) {
    let values = |requirement: &Value| {
        let mut values = texts(requirement, "values");
        values.sort();
        values.dedup();
        values
    };
    for requirement in requirements {
        let same = |other: &Value| {
            text(other, "key") == text(requirement, "key")
                && text(other, "operator") == text(requirement, "operator")
                && values(other) == values(requirement)
        };
        if !known.iter().any(same) {
            known.push(requirement.clone());
        }
    }
}

/// Configurations of the classes, each class once, then those of the claim.
fn configurations(claim: &Value, requests: &[(&Value, Request<'_>)]) -> Vec<Value> {
    let mut configurations: Vec<Value> = Vec::new();
    let with = |config: &Value, source: &str, requests: &[String]| {
        let mut config = config.clone();
        config["source"] = json!(source);
        if requests.is_empty() {
            config.as_object_mut().map(|config| config.remove("requests"));
        } else {
            config["requests"] = json!(requests);
        }
        config
    };
    let mut classes: Vec<&str> = Vec::new();
    for (class, _) in requests {
        if classes.contains(&name(class)) {
            continue;
        }
        classes.push(name(class));
        let same = requests.iter().filter(|(other, _)| name(other) == name(class));
        let names: Vec<String> = same.map(|(_, request)| request.full_name()).collect();
        configurations.extend(list(class, "spec.config").iter().map(|config| with(config, "FromClass", &names)));
    }
    for config in list(claim, "spec.devices.config") {
        let names = texts(config, "requests");
        let times = match names.is_empty() {
            true => 1,
            false => requests.iter().filter(|(_, request)| request.is_named_by(&names)).count(),
        };
        // Once for every request that it names, as kube-scheduler 1.36 does.
        configurations.extend(std::iter::repeat_n(with(config, "FromClaim", &names), times));
    }
    configurations
}
