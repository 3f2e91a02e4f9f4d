//! Facts that a predicate which rejects nodes could read of the pod and the nodes, in one line. Start at [`details`].
//!
//! It follows from the evidence of the answer, by imported interface, and nothing here knows a predicate. Where there is no evidence the
//! predicate's own reasons are shown.

use nodesift_proto::v1;

use super::amount::{amount, grouped, nodes, number};
use super::lines::safe;

/// Facts that a predicate could read and that keep nodes from the pod: at most `limit` facts, and how many more there are.
pub(super) fn details(answer: &v1::WhyResponse, step: &v1::FunnelStep, limit: usize) -> String {
    let of_step = |evidence: &&v1::Evidence| evidence.predicates.contains(&step.predicate);
    let mut evidence: Vec<&v1::Evidence> = answer.evidence.iter().filter(of_step).collect();
    // What fewer predicates read says more of this one.
    evidence.sort_by_key(|of| of.predicates.len());
    let mut counted: Vec<(u32, String)> = evidence.into_iter().flat_map(|of| facts(answer, of)).collect();
    let alone = answer.alone.iter().find(|alone| alone.predicate == step.predicate);
    let most = alone.map_or(u32::MAX, |alone| alone.rejects);
    // What keeps more nodes away than this predicate does is for another one that reads it too: it comes last, and takes no place of others.
    counted.sort_by_key(|(nodes, _)| *nodes > most);
    let own = counted.iter().take_while(|(nodes, _)| *nodes <= most).count();
    if own > 0 && counted.len() > limit {
        counted.truncate(own);
    }
    let mut facts: Vec<String> = counted.into_iter().map(|(_, text)| text).collect();
    if facts.is_empty() {
        let is_one = step.reasons.len() == 1;
        let reason = |of: &v1::ReasonCount| match is_one {
            true => safe(&of.reason),
            false => format!("{} {}", safe(&of.reason), grouped(of.nodes)),
        };
        facts = step.reasons.iter().map(reason).collect();
    }
    listed(&facts, limit, "; ")
}

/// The first of some texts, and how many more there are.
pub(super) fn listed(texts: &[String], limit: usize, separator: &str) -> String {
    let first = texts.iter().take(limit).cloned().collect::<Vec<_>>().join(separator);
    match texts.len().saturating_sub(limit) {
        0 => first,
        more => format!("{first}{separator}{more} more"),
    }
}

/// The facts of one interface that keep some node from the pod, each with the number of these nodes, those of the most nodes first.
fn facts(answer: &v1::WhyResponse, evidence: &v1::Evidence) -> Vec<(u32, String)> {
    let mut facts: Vec<(u32, String)> = Vec::new();
    let lacking = |nodes: u32| answer.nodes.saturating_sub(nodes);
    let lacks = evidence.resources.iter().filter(|of| of.nodes_enough < answer.nodes);
    facts.extend(lacks.map(|of| (lacking(of.nodes_enough), resource(of))));
    facts.extend(evidence.taints.iter().map(|of| (of.nodes, format!("{} {}", safe(&taint(of)), grouped(of.nodes)))));
    let unmatched = evidence.expressions.iter().filter(|of| of.nodes < answer.nodes);
    facts.extend(unmatched.map(|of| {
        let text = format!("{}: matched by {}", safe(&of.expression), grouped(of.nodes));
        (lacking(of.nodes), text)
    }));
    facts.extend(evidence.topologies.iter().map(|of| (lacking(of.nodes), topology(of))));
    facts.extend(evidence.facts.iter().filter(|of| of.nodes != Some(0)).map(fact));
    // Stable: entries about as many nodes stay in the order of the answer.
    facts.sort_by_key(|(nodes, _)| std::cmp::Reverse(*nodes));
    facts
}

fn resource(of: &v1::ResourceEvidence) -> String {
    let name = safe(&of.resource);
    let wants = format!("wants {}", amount(&name, of.requested));
    if of.nodes_enough > 0 {
        return format!("{wants}: free on {}", grouped(of.nodes_enough));
    }
    let free = number(&of.resource, of.largest_free);
    let node = safe(&of.largest_free_node);
    let most = format!("{wants}; most free on one node: {free} ({node})");
    if of.largest_allocatable < of.requested {
        return format!("{most}, and none is larger than {}", number(&of.resource, of.largest_allocatable));
    }
    most
}

fn taint(of: &v1::TaintEvidence) -> String {
    let value = if of.value.is_empty() { String::new() } else { format!("={}", of.value) };
    format!("{}{value}:{}", of.key, of.effect)
}

fn topology(of: &v1::TopologyEvidence) -> String {
    let (field, key) = (safe(&of.field), safe(&of.topology_key));
    let skew = if of.max_skew > 0 { format!(", skew up to {}", of.max_skew) } else { String::new() };
    match of.domains {
        0 => format!("{field}: no node has {key}"),
        domains => format!(
            "{field}: {} of {key} on {}, {} matching {}{skew}",
            if domains == 1 { "1 domain".to_owned() } else { format!("{} domains", grouped(domains)) },
            nodes(of.nodes),
            of.matching_pods,
            if of.matching_pods == 1 { "pod" } else { "pods" }
        ),
    }
}

fn fact(of: &v1::FactEvidence) -> (u32, String) {
    // Of a fact that holds or does not, the name says it.
    let value = if of.value == "true" { String::new() } else { format!(" {}", safe(&of.value)) };
    let text = format!("{}{value}", safe(&of.name));
    // Of a node or a volume that is named, the nodes are those that it excludes; all others are about what is on them.
    let how = match of.name.as_str() {
        "persistentVolumeClaim" => ", which excludes",
        "nodeName" => " excludes",
        _ => " on",
    };
    match of.nodes {
        Some(number) => (number, format!("{text}{how} {}", nodes(number))),
        None => (0, text),
    }
}
