//! Where pods ask to be placed: node selectors, node affinity, pod affinity, topology spread.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::{Shape, nodes, pods};

/// Adds some of it to a pod.
pub(super) fn add(dice: &mut Dice, shape: &Shape, pod: &mut Value) {
    if dice.chance(shape.node_affinity / 2) {
        let (key, values) = dice.pick(&nodes::LABELS);
        pod["spec"]["nodeSelector"] = json!({*key: dice.pick(values)});
    }
    if dice.chance(shape.node_affinity) {
        let terms: Vec<Value> = (0..dice.between(0, 3)).map(|_| node_term(dice, shape)).collect();
        let required = json!({"nodeSelectorTerms": terms});
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = required;
    }
    // What is preferred does not filter, so predicates do not see it; only kube-scheduler sees that it is broken.
    let accepted = Shape { refused: 0, ..shape.clone() };
    for field in ["podAffinity", "podAntiAffinity"] {
        if dice.chance(shape.pod_affinity) {
            let terms: Vec<Value> = (0..dice.between(1, 2)).map(|_| pod_term(dice, shape)).collect();
            pod["spec"]["affinity"][field]["requiredDuringSchedulingIgnoredDuringExecution"] = json!(terms);
        }
        if dice.chance(shape.pod_affinity / 4) {
            let preferred = json!([{"weight": 10, "podAffinityTerm": pod_term(dice, &accepted)}]);
            pod["spec"]["affinity"][field]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred;
        }
    }
    if dice.chance(shape.spread) {
        let constraints: Vec<Value> = (0..dice.between(1, 3)).map(|_| constraint(dice, shape)).collect();
        pod["spec"]["topologySpreadConstraints"] = json!(constraints);
    }
}

fn node_term(dice: &mut Dice, shape: &Shape) -> Value {
    let mut term = Map::new();
    if dice.chance(85) {
        let expressions: Vec<Value> = (0..dice.between(0, 2)).map(|_| node_expression(dice)).collect();
        term.insert("matchExpressions".to_owned(), json!(expressions));
    }
    if dice.chance(25) {
        let fields: Vec<Value> = (0..dice.between(1, 2)).map(|_| node_field(dice, shape)).collect();
        term.insert("matchFields".to_owned(), json!(fields));
    }
    Value::Object(term)
}

fn node_expression(dice: &mut Dice) -> Value {
    let (key, values) = *dice.pick(&nodes::LABELS);
    let operator = *dice.pick(&["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
    let values = match operator {
        "Exists" | "DoesNotExist" => Vec::new(),
        "Gt" | "Lt" => vec![*dice.pick(&["0", "1", "5", "-1", "007", "1e2", "9223372036854775806"])],
        _ => dice.some_of(values, 2),
    };
    json!({"key": key, "operator": operator, "values": values})
}

fn node_field(dice: &mut Dice, shape: &Shape) -> Value {
    let mut names = vec![dice.pick(&shape.nodes).clone()];
    if dice.chance(10) {
        names.push("nosuch-node".to_owned());
    }
    let operator = if dice.chance(75) { "In" } else { "NotIn" };
    json!({"key": "metadata.name", "operator": operator, "values": names})
}

fn pod_term(dice: &mut Dice, shape: &Shape) -> Value {
    let mut term = json!({"topologyKey": dice.pick(&nodes::TOPOLOGIES)});
    if dice.chance(95) {
        term["labelSelector"] = pod_selector(dice, shape);
    }
    if dice.chance(25) {
        term["namespaces"] = json!(dice.some_of(&pods::NAMESPACES, 2));
    }
    if dice.chance(30) {
        term["namespaceSelector"] = namespace_selector(dice);
    }
    if dice.chance(10) {
        term["matchLabelKeys"] = json!(["version"]);
    }
    term
}

fn namespace_selector(dice: &mut Dice) -> Value {
    let operator = *dice.pick(&["In", "NotIn", "Exists", "DoesNotExist"]);
    let (key, value) = *dice.pick(&[("team", "a"), ("env", "prod"), ("kubernetes.io/metadata.name", "dev")]);
    let values = if operator.ends_with("In") { vec![value] } else { Vec::new() };
    match dice.below(4) {
        0 => json!({}),
        1 => json!({"matchLabels": {key: value}}),
        _ => json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}),
    }
}

fn pod_selector(dice: &mut Dice, shape: &Shape) -> Value {
    if dice.chance(shape.refused) {
        return match dice.below(2) {
            0 => json!({"matchLabels": {"app": "bad value!"}}),
            _ => json!({"matchExpressions": [{"key": "app", "operator": "Bogus"}]}),
        };
    }
    let mut selector = Map::new();
    if dice.chance(60) {
        let (key, values) = *dice.pick(&pods::LABELS);
        selector.insert("matchLabels".to_owned(), json!({key: dice.pick(values)}));
    }
    if dice.chance(45) {
        let (key, values) = *dice.pick(&pods::LABELS);
        let operator = *dice.pick(&["In", "NotIn", "Exists", "DoesNotExist"]);
        let values = if operator.ends_with("In") { dice.some_of(values, 2) } else { Vec::new() };
        let expression = json!({"key": key, "operator": operator, "values": values});
        selector.insert("matchExpressions".to_owned(), json!([expression]));
    }
    Value::Object(selector)
}

fn constraint(dice: &mut Dice, shape: &Shape) -> Value {
    let mut constraint = json!({
        "maxSkew": dice.between(1, 3),
        "topologyKey": dice.pick(&nodes::TOPOLOGIES[..4]),
        "whenUnsatisfiable": if dice.chance(80) { "DoNotSchedule" } else { "ScheduleAnyway" },
    });
    if dice.chance(92) {
        constraint["labelSelector"] = pod_selector(dice, shape);
    }
    if dice.chance(25) {
        constraint["minDomains"] = json!(dice.between(1, 6));
    }
    for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        if dice.chance(35) {
            constraint[policy] = json!(dice.pick(&["Honor", "Ignore"]));
        }
    }
    if dice.chance(25) {
        constraint["matchLabelKeys"] = json!(dice.some_of(&["version", "tier", "missing-key"], 2));
    }
    constraint
}
