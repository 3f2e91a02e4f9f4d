//! The engine's [`Answer`] → messages of `nodesift.v1`: rows become names or bitmaps, failures become groups.
//!
//! Start at [`filter`] and [`explain`].

use std::sync::Arc;

use nodesift_proto::v1;

use super::node_index::node_index;
use crate::Age;
use crate::error::{code_name, status_of, truncated};
use nodesift_cache::{NodeNames, Row, Snapshot};
use nodesift_engine::allocation::ClaimAllocation;
use nodesift_engine::{
    Answer, Code, Cycle, ExplainedParties, FailureGroup, FaultReport, NodeScore, PodAnswer, PredicateAnswer, RowSet,
    RowsByName, ScorerScores,
};

/// The response of `Filter`, in the detail asked for. With `bitmaps`, nodes are bitmaps over rows, and the node index comes as
/// the difference from the one that the core knows.
pub fn filter(answer: &Answer, age: Age, detail: v1::Detail, bitmaps: Option<&v1::Bitmaps>) -> v1::FilterResponse {
    let snapshot = &*answer.snapshot;
    let naming = if bitmaps.is_some() { Naming::Rows } else { Naming::Names(snapshot) };
    v1::FilterResponse {
        pods: answer.pods.iter().map(|pod| pod_answer(snapshot, naming, pod, detail)).collect(),
        ..filter_without_pods(answer, age, bitmaps)
    }
}

/// The response of `Filter` without its pods, of a request that changes nothing and has one page.
pub(super) fn filter_without_pods(answer: &Answer, age: Age, bitmaps: Option<&v1::Bitmaps>) -> v1::FilterResponse {
    v1::FilterResponse {
        version: Some(version(&answer.snapshot, answer.policy_generation, age)),
        pods: Vec::new(),
        rows: bitmaps.map(|known| node_index(&answer.snapshot, known)),
        next_page_token: String::new(),
        unknown_nodes: answer.unknown_nodes.clone(),
        assumed: Vec::new(),
        forgotten: Vec::new(),
    }
}

/// Converts the devices that a claim gets to a message.
pub(super) fn allocation(allocation: ClaimAllocation) -> v1::ClaimAllocation {
    let ClaimAllocation { claim, uid: _, result, devices: _, extended } = allocation;
    let (name, uid) = claim.map(|claim| (claim.key(), claim.uid.to_string())).unwrap_or_default();
    let (spec, request_mappings) = extended.map(|extended| (extended.spec, extended.mappings)).unwrap_or_default();
    v1::ClaimAllocation { claim: name, uid, allocation: result, spec, request_mappings }
}

/// The form of sets of nodes.
#[derive(Debug, Clone, Copy)]
enum Naming<'a> {
    /// Sorted names of nodes.
    Names(&'a Snapshot),
    /// Bitmaps over the rows of the node index.
    Rows,
}

impl Naming<'_> {
    /// Names and no bitmap, or a bitmap and no names.
    fn nodes(self, rows: &Arc<RowSet>) -> (Vec<String>, Option<Vec<u8>>) {
        match self {
            Self::Names(snapshot) => (names(snapshot, rows), None),
            Self::Rows => (Vec::new(), Some(rows.to_bytes())),
        }
    }
}

/// Converts the counts of devices for the claims of a pod to messages.
fn requested_devices(pod: &PodAnswer) -> Vec<v1::RequestedDevices> {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let requested = pod.devices.iter().map(|devices| v1::RequestedDevices {
        claim: devices.claim.clone(),
        allocated: devices.is_allocated,
        request: devices.request.clone(),
        device_class: devices.class.clone(),
        wanted: devices.wanted,
        of_class: count(devices.of_class),
        matching: count(devices.matching),
        tolerated: count(devices.tolerated),
        free: count(devices.free),
        nodes: count(devices.nodes),
        holders: devices.holders.clone(),
        match_attributes: devices.match_attributes.clone(),
        distinct_attributes: devices.distinct_attributes.clone(),
    });
    requested.collect()
}

/// Converts the account that the policy's accounting component gives a pod to a message.
fn account(pod: &PodAnswer) -> Option<v1::PodAccount> {
    let amounts = |amounts: &[(Arc<str>, i64)]| {
        let named = amounts.iter().map(|(name, amount)| v1::NamedAmount { name: name.to_string(), amount: *amount });
        named.collect()
    };
    pod.account.as_ref().map(|account| v1::PodAccount {
        requests: amounts(&account.requests),
        usage: amounts(&account.usage),
        sums: amounts(&account.sums),
        flags: account.flags.iter().map(ToString::to_string).collect(),
        error: account.fault.as_ref().map(|fault| fault.text.to_string()).unwrap_or_default(),
    })
}

/// The response of `Explain`.
pub fn explain(answer: &Answer, age: Age) -> v1::ExplainResponse {
    let naming = Naming::Names(&answer.snapshot);
    let alone = |alone: &PredicateAnswer| v1::PredicateAnswer {
        failures: alone.failures.iter().map(|failure| group(naming, failure, true)).collect(),
        ..predicate_without_nodes(alone)
    };
    let pods = answer.pods.iter().map(|pod| v1::PodExplanation {
        predicates: pod.predicates.iter().map(alone).collect(),
        conjunction: Some(pod_answer(&answer.snapshot, naming, pod, v1::Detail::Failures)),
        ..explanation_without_nodes(pod)
    });
    v1::ExplainResponse { pods: pods.collect(), ..explain_without_pods(answer, age) }
}

/// The response of `Explain` without its pods, of a request that has one page.
pub(super) fn explain_without_pods(answer: &Answer, age: Age) -> v1::ExplainResponse {
    v1::ExplainResponse {
        version: Some(version(&answer.snapshot, answer.policy_generation, age)),
        pods: Vec::new(),
        next_page_token: String::new(),
        unknown_nodes: answer.unknown_nodes.clone(),
    }
}

/// The explanation of a pod without its predicates and their conjunction, and without what parties have said.
pub(super) fn explanation_without_nodes(pod: &PodAnswer) -> v1::PodExplanation {
    v1::PodExplanation {
        pod: pod.pod.clone(),
        predicates: Vec::new(),
        conjunction: None,
        devices: requested_devices(pod),
        account: account(pod),
        parties: Vec::new(),
    }
}

/// The answer of a predicate without its failures.
pub(crate) fn predicate_without_nodes(alone: &PredicateAnswer) -> v1::PredicateAnswer {
    v1::PredicateAnswer { predicate: alone.predicate.to_string(), failures: Vec::new() }
}

/// The versions that an answer was computed from, and its staleness.
pub fn version(snapshot: &Snapshot, policy_generation: u64, age: Age) -> v1::Version {
    v1::Version {
        generation: snapshot.generation().0,
        policy_generation,
        nodes_resource_version: snapshot.nodes_resource_version().to_owned(),
        pods_resource_version: snapshot.pods_resource_version().to_owned(),
        staleness_ms: age.silence.map(|silence| u64::try_from(silence.as_millis()).unwrap_or(u64::MAX)),
        stale: age.stale,
    }
}

fn pod_answer(snapshot: &Snapshot, naming: Naming<'_>, pod: &PodAnswer, detail: v1::Detail) -> v1::PodAnswer {
    let failures = match detail {
        v1::Detail::Feasible => Vec::new(),
        _ => pod.failures.iter().map(|failure| group(naming, failure, detail == v1::Detail::Nodes)).collect(),
    };
    let (feasible, feasible_rows) = naming.nodes(&pod.feasible);
    let bitmap = matches!(naming, Naming::Rows);
    let rest = pod_without_nodes(&snapshot.node_names(), pod, detail, bitmap);
    v1::PodAnswer { feasible, feasible_rows, failures, ..rest }
}

/// The answer for a pod without its failures and names of nodes; with the bitmap of those that fit where wanted.
pub(crate) fn pod_without_nodes(names: &NodeNames, pod: &PodAnswer, detail: v1::Detail, bitmap: bool) -> v1::PodAnswer {
    v1::PodAnswer {
        pod: pod.pod.clone(),
        feasible: Vec::new(),
        failures: Vec::new(),
        message: pod.message.as_deref().filter(|_| detail != v1::Detail::Feasible).map(str::to_owned),
        faults: faults(&pod.faults),
        nodes: count(pod.nodes),
        cycle: cycle(pod).into(),
        feasible_rows: bitmap.then(|| pod.feasible.to_bytes()),
        feasible_count: count(pod.feasible.len()),
        next_start: pod.next.map(|row| row.0),
        error: pod_error(pod),
        named_nodes: named_nodes(names, pod),
        claims_to_release: pod.claims_to_release.clone(),
        parties: pod.parties.iter().flat_map(needed_parties).collect(),
        scores: scores(names, pod, bitmap),
    }
}

/// Converts the scores of a pod to a message, whose nodes are names or, with bitmaps, rows.
fn scores(names: &NodeNames, pod: &PodAnswer, by_row: bool) -> Option<v1::PodScores> {
    let scores = pod.scores.as_ref()?;
    let weights: Vec<i64> = scores.scorers.iter().map(|scorer| scorer.weight).collect();
    let each = |(score, weight): (&Option<NodeScore>, &i64)| match score {
        Some(NodeScore { raw, normalized }) => {
            v1::NodeScore { raw: *raw, normalized: Some(*normalized), weighted: weight.saturating_mul(*normalized) }
        }
        None => v1::NodeScore::default(),
    };
    let best = scores.nodes.iter().map(|node| v1::ScoredNode {
        node: if by_row { String::new() } else { names.get(node.row).to_owned() },
        row: by_row.then_some(node.row.0),
        total: node.total,
        each: node.each.iter().zip(&weights).map(each).collect(),
    });
    let scorer = |scorer: &ScorerScores| v1::ScorerAnswer {
        scorer: scorer.scorer.to_string(),
        // At most that of a policy.
        weight: u32::try_from(scorer.weight).unwrap_or(u32::MAX),
        outcome: scorer.outcome.name().to_owned(),
    };
    Some(v1::PodScores {
        best: best.collect(),
        ties: count(scores.ties),
        scorers: scores.scorers.iter().map(scorer).collect(),
        error: scores.error.as_deref().map(|error| truncated(error.to_owned())).unwrap_or_default(),
        faults: faults(&scores.faults),
    })
}

/// The parties that decide about a pod, with the number of nodes of which each has said something that stands.
fn needed_parties(parties: &ExplainedParties) -> impl Iterator<Item = v1::NeededParty> {
    let seats = parties.seats.iter().zip(&parties.known);
    seats.map(|(seat, known)| v1::NeededParty { party: seat.party.to_string(), known_nodes: count(*known) })
}

/// The nodes that the pod names, sorted, where kube-scheduler's filters run on no others.
fn named_nodes(names: &NodeNames, pod: &PodAnswer) -> Vec<String> {
    let named = pod.named.iter().filter(|_| pod.cycle == Cycle::NamedNodes).flat_map(|rows| rows.iter());
    let mut found: Vec<String> = named.map(|row| names.get(Row(*row)).to_owned()).collect();
    found.sort_unstable();
    found
}

/// How far the scheduling cycle gets; unspecified for a pod without an answer.
fn cycle(pod: &PodAnswer) -> v1::Cycle {
    match pod.cycle {
        _ if pod.error.is_some() => v1::Cycle::Unspecified,
        Cycle::EachNode => v1::Cycle::EachNode,
        Cycle::NamedNodes => v1::Cycle::NamedNodes,
        Cycle::Rejected => v1::Cycle::Rejected,
        Cycle::Aborted => v1::Cycle::Aborted,
    }
}

/// Why there is no answer for a pod: it is not in the cache, or not in the version asked for.
fn pod_error(pod: &PodAnswer) -> Option<v1::CallError> {
    let error = pod.error.as_ref()?;
    let code = code_name(status_of(error).0).to_owned();
    Some(v1::CallError { code, message: truncated(error.to_string()) })
}

/// Names of the nodes that fit.
#[cfg(test)]
pub(super) fn feasible(snapshot: &Snapshot, pod: &PodAnswer) -> Vec<String> {
    names(snapshot, &pod.feasible)
}

/// Predicates that trapped, timed out or broke the contract.
pub(crate) fn faults(reports: &[FaultReport]) -> Vec<v1::Fault> {
    let fault = |report: &FaultReport| v1::Fault {
        predicate: report.predicate.to_string(),
        fault: report.fault.kind.name().to_owned(),
        detail: report.fault.detail.clone(),
        effect: report.effect.name().to_owned(),
    };
    reports.iter().map(fault).collect()
}

fn group(naming: Naming<'_>, failure: &FailureGroup, with_nodes: bool) -> v1::Failure {
    let (nodes, node_rows) = if with_nodes { naming.nodes(&failure.rows) } else { Default::default() };
    v1::Failure { nodes, node_rows, ..group_without_nodes(failure, false) }
}

/// A group of rejected nodes with their number and without their names; with their bitmap where wanted.
pub(crate) fn group_without_nodes(failure: &FailureGroup, bitmap: bool) -> v1::Failure {
    v1::Failure {
        predicate: failure.predicate.to_string(),
        code: failure.code.name().to_owned(),
        reasons: failure.reasons.to_vec(),
        count: count(failure.rows.len()),
        nodes: Vec::new(),
        node_rows: bitmap.then(|| failure.rows.to_bytes()),
        failure_code: failure_code(failure.code).into(),
    }
}

/// The status code of a failure as a number.
pub(crate) fn failure_code(code: Code) -> v1::FailureCode {
    match code {
        Code::Error => v1::FailureCode::Error,
        Code::Unschedulable => v1::FailureCode::Unschedulable,
        Code::UnschedulableAndUnresolvable => v1::FailureCode::UnschedulableAndUnresolvable,
    }
}

fn names(snapshot: &Snapshot, rows: &Arc<RowSet>) -> Vec<String> {
    RowsByName::new(rows, &snapshot.node_names()).map(|row| snapshot.node_name(row).to_owned()).collect()
}

/// A count of rows, which are u32.
fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
