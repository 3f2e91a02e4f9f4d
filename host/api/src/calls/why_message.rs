//! The engine's [`WhyAnswer`] → its message of `nodesift.v1`. Start at [`response`].

use std::time::{SystemTime, UNIX_EPOCH};

use nodesift_proto::{v1, wkt};

use super::response as explained;
use crate::{Age, limits};
use nodesift_cache::{Row, Snapshot};
use nodesift_engine::RowsByName;
use nodesift_engine::why::{
    Evidence, Group, Groups, HelpfulEdit, Near, PredicateAlone, ReasonCount, ResourceFact, Step, WhyAnswer,
};
use nodesift_object::node::{Taint, TaintEffect};

/// The response of `Why`, without what parties have said.
pub(super) fn response(answer: &WhyAnswer, age: Age, has_cells: bool) -> v1::WhyResponse {
    let (snapshot, pod) = (&*answer.snapshot, &answer.pod);
    let v1::PodExplanation { devices, account, .. } = explained::explanation_without_nodes(pod);
    let names = snapshot.node_names();
    let v1::PodAnswer { pod: name, message, faults, nodes, cycle, feasible_count, claims_to_release, .. } =
        explained::pod_without_nodes(&names, pod, v1::Detail::Failures, false);
    let feasible = RowsByName::new(&pod.feasible, &names).take(limits::WHY_FEASIBLE);
    v1::WhyResponse {
        version: Some(explained::version(snapshot, answer.policy_generation, age)),
        pod: name,
        cause: Some(v1::PendingCause {
            name: answer.reason.cause.name().to_owned(),
            headline: answer.headline(),
            subjects: answer.reason.subjects.iter().map(ToString::to_string).collect(),
            since: answer.since.and_then(timestamp),
        }),
        message,
        nodes,
        feasible_count,
        feasible: feasible.map(|row| snapshot.node_name(row).to_owned()).collect(),
        cycle,
        funnel: answer.funnel.iter().map(step).collect(),
        alone: answer.alone.iter().map(alone).collect(),
        groups: answer.groups.as_ref().map(groups),
        evidence: answer.evidence.iter().map(|found| evidence(snapshot, found)).collect(),
        nearest: answer.nearest.iter().map(|near| near_node(snapshot, answer, near)).collect(),
        cells: has_cells.then(|| answer.cells.clone()),
        devices,
        account,
        parties: Vec::new(),
        claims_to_release,
        faults,
        help: answer.help.iter().map(help).collect(),
        help_unevaluated: count(answer.help_unevaluated),
        unknown_nodes: answer.unknown_nodes.clone(),
    }
}

fn step(step: &Step) -> v1::FunnelStep {
    let reason =
        |ReasonCount { reason, nodes }: &ReasonCount| v1::ReasonCount { reason: reason.clone(), nodes: count(*nodes) };
    v1::FunnelStep {
        predicate: step.predicate.to_string(),
        before: count(step.before),
        rejected: count(step.rejected),
        after: count(step.after()),
        unresolvable: count(step.unresolvable),
        reasons: step.reasons.iter().map(reason).collect(),
    }
}

fn alone(alone: &PredicateAlone) -> v1::PredicateAlone {
    v1::PredicateAlone {
        predicate: alone.predicate.to_string(),
        rejects: count(alone.rejects),
        only_reason: count(alone.only_reason),
    }
}

fn groups(groups: &Groups) -> v1::NodeGroups {
    v1::NodeGroups {
        by: groups.by.clone(),
        groups: groups.groups.iter().map(group).collect(),
        rest: groups.rest.as_ref().map(|(rest, _)| group(rest)),
        rest_groups: groups.rest.as_ref().map_or(0, |(_, number)| count(*number)),
    }
}

fn group(group: &Group) -> v1::NodeGroup {
    let last = group.rejected.iter().rposition(|nodes| *nodes > 0).map_or(0, |last| last + 1);
    v1::NodeGroup {
        value: group.value.as_ref().map(ToString::to_string),
        nodes: count(group.nodes),
        feasible: count(group.feasible),
        rejected: group.rejected.iter().take(last).map(|nodes| count(*nodes)).collect(),
    }
}

fn evidence(snapshot: &Snapshot, found: &Evidence) -> v1::Evidence {
    let taints = found.taints.iter().map(|fact| v1::TaintEvidence {
        key: fact.taint.key.clone(),
        value: fact.taint.value.clone(),
        effect: effect(&fact.taint).to_owned(),
        nodes: count(fact.nodes),
    });
    let expressions = found.expressions.iter().map(|fact| v1::ExpressionEvidence {
        field: fact.field.clone(),
        expression: fact.expression.clone(),
        nodes: count(fact.nodes),
    });
    let topologies = found.topologies.iter().map(|fact| v1::TopologyEvidence {
        field: fact.field.clone(),
        topology_key: fact.topology_key.clone(),
        nodes: count(fact.nodes),
        domains: count(fact.domains),
        matching_pods: fact.matching_pods,
        max_skew: fact.max_skew,
    });
    let facts = found.facts.iter().map(|fact| v1::FactEvidence {
        name: fact.name.to_owned(),
        value: fact.value.clone(),
        nodes: fact.nodes.map(count),
    });
    v1::Evidence {
        interface: found.interface.name().to_owned(),
        predicates: found.predicates.iter().map(ToString::to_string).collect(),
        rejected: count(found.rejected),
        explained: found.explained.map(count),
        resources: found.resources.iter().map(|fact| resource(snapshot, fact)).collect(),
        taints: taints.collect(),
        expressions: expressions.collect(),
        topologies: topologies.collect(),
        facts: facts.collect(),
        omitted: count(found.omitted),
    }
}

fn resource(snapshot: &Snapshot, fact: &ResourceFact) -> v1::ResourceEvidence {
    let name = |row: Row| snapshot.node_name(row).to_owned();
    v1::ResourceEvidence {
        resource: fact.resource.to_string(),
        requested: fact.requested,
        largest_free: fact.largest_free,
        largest_free_node: fact.largest_free_row.map(name).unwrap_or_default(),
        largest_allocatable: fact.largest_allocatable,
        nodes_enough: count(fact.nodes_enough),
        nodes_too_small: count(fact.nodes_too_small),
        nearest_free: fact.nearest_free,
    }
}

fn near_node(snapshot: &Snapshot, answer: &WhyAnswer, near: &Near) -> v1::NearNode {
    let predicate = answer.funnel.get(near.predicate).map(|step| step.predicate.to_string());
    let missing = near.missing.iter().map(|(name, amount)| v1::NamedAmount { name: name.to_string(), amount: *amount });
    v1::NearNode {
        node: snapshot.node_name(near.row).to_owned(),
        row: near.row.0,
        predicate: predicate.unwrap_or_default(),
        code: near.code.name().to_owned(),
        reasons: near.reasons.clone(),
        missing: missing.collect(),
        taints: near.taints.iter().map(taint).collect(),
    }
}

fn help(edit: &HelpfulEdit) -> v1::HelpfulEdit {
    v1::HelpfulEdit {
        edit: edit.edit.clone(),
        gained: count(edit.gained),
        feasible_count: count(edit.feasible),
        caveat: edit.caveat.to_owned(),
    }
}

/// A taint as `key=value:effect`, without the value and its sign where it has none.
fn taint(taint: &Taint) -> String {
    let Taint { key, value, .. } = taint;
    let sign = if value.is_empty() { "" } else { "=" };
    format!("{key}{sign}{value}:{}", effect(taint))
}

/// The name of an effect that keeps pods away.
fn effect(taint: &Taint) -> &'static str {
    if taint.effect == TaintEffect::NoExecute { "NoExecute" } else { "NoSchedule" }
}

/// A time as protobuf has it; none where it is before 1970.
fn timestamp(time: SystemTime) -> Option<wkt::Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    let seconds = i64::try_from(since.as_secs()).ok()?;
    Some(wkt::Timestamp { seconds, nanos: i32::try_from(since.subsec_nanos()).ok()? })
}

/// A number of rows, which are u32.
fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
