//! Answers of the predicate for a pod, in the form of the reference: verdicts by node, and devices as JSON.

use std::collections::BTreeMap;

use nodesift_dynamic_resources::facts::{Claim, Facts, NanoUnits};
use nodesift_dynamic_resources::quantity::Quantity as Exact;
use nodesift_dynamic_resources::switches::Switches;
use nodesift_dynamic_resources::verdict::{Failure, Verdict};
use nodesift_dynamic_resources::{Allocation, Effort, Picked, allocate, filter, score};
use nodesift_fixtures::json::{self, at, flag, is_set, list, name, text};
use nodesift_reference::Failure as Failed;
use nodesift_reference::claims::{Decision, claims_of, seen_by};
use nodesift_reference::quantity::Quantity;
use serde_json::{Value, json};

use crate::project::{Nodes, Projected, asked};

/// Behind these, the words are cel-go's own.
const CEL_ERRORS: [&str; 2] = ["CEL compile error: ", "CEL runtime error: "];

/// By node: code and reasons.
pub type Verdicts = BTreeMap<String, (String, Vec<String>)>;

/// The answers for one pod.
pub struct Found {
    pub verdicts: Verdicts,
    /// By node: what its claims get.
    pub allocations: BTreeMap<String, Vec<Value>>,
    pub effort: Effort,
    pub asked_for_names: bool,
}

/// The switches of the reference for the predicate.
fn of_version(switches: &nodesift_reference::kubernetes::Switches) -> Switches {
    Switches::from_values(Switches::DEFAULTS.map(|(name, _)| switches.has(name)))
}

/// Asks for one pod on all nodes.
pub fn ask(nodes: &Nodes<'_>, pod: &Value) -> Found {
    let facts = Projected::new(nodes, pod);
    let rows = nodes.nodes.len();
    let switches = of_version(nodes.world.switches);
    let filtered = filter(&facts, rows, &switches).expect("the facts are sound");
    let mut found = Found {
        verdicts: Verdicts::new(),
        allocations: BTreeMap::new(),
        effort: filtered.effort,
        asked_for_names: *facts.asked_for_names.borrow(),
    };
    let scores = score(&facts, rows, &switches).expect("the facts are sound");
    assert_eq!(scores.len(), rows);
    let claims = facts.claims().unwrap_or_default();
    let allocated = (0..).zip(&claims).filter(|(_, claim)| matches!(claim, Claim::Allocated(_)));
    let before: i64 = allocated.flat_map(|(number, _)| facts.chosen(number)).map(|chosen| 8 - i64::from(chosen)).sum();
    for (row, node) in nodes.nodes.iter().enumerate() {
        let failure = match &filtered.verdict {
            Verdict::FitsAll => None,
            Verdict::FitsNone(failure) => Some(failure),
            Verdict::ByRow { codes, failures } => match codes[row] {
                0 => None,
                code => Some(&failures[code as usize - 1]),
            },
        };
        let allocation = allocate(&facts, rows, row, &switches).expect("the facts are sound");
        assert_eq!(allocation.is_some(), failure.is_none(), "both questions have one answer");
        let rendering = allocation.as_ref().and_then(|allocation| rendered(nodes, pod, row, allocation));
        if let Some(allocation) = &allocation {
            // What allocated claims have got counts beside what others get.
            let expected = if rendering.is_some() { before + worth(&claims, allocation) } else { 0 };
            assert_eq!(scores[row], expected, "the third has the same");
        }
        if let Some(failure) = failure {
            let (code, text) = match failure {
                Failure::Unresolvable(text) => ("UnschedulableAndUnresolvable", text),
                Failure::Error(text) => ("Error", text),
            };
            found.verdicts.insert(name(node).to_owned(), (code.to_owned(), vec![up_to_cel(text)]));
        }
        if let Some(claims) = rendering {
            found.allocations.insert(name(node).to_owned(), claims);
        }
    }
    found
}

/// The worth of the alternatives in an allocation: of each that has a device.
fn worth(claims: &[Claim], allocation: &Allocation) -> i64 {
    let mut chosen: BTreeMap<(u32, u32, u32), i64> = BTreeMap::new();
    for pick in &allocation.picks {
        let Some(Claim::Unallocated { requests, .. }) = claims.get(pick.claim as usize) else { continue };
        if requests[pick.request as usize].alternatives[pick.alternative as usize].is_alternative {
            let worth = 8 - i64::from(pick.alternative);
            chosen.insert((pick.claim, pick.request, pick.alternative), worth);
        }
    }
    chosen.values().sum()
}

/// The answers of the reference.
pub fn judged(decision: Decision) -> Found {
    let verdict = |(node, failure): (String, Failed)| {
        let reasons = failure.reasons.iter().map(|reason| up_to_cel(reason)).collect();
        (node, (failure.code.name().to_owned(), reasons))
    };
    Found {
        verdicts: decision.outcome.failures.into_iter().map(verdict).collect(),
        allocations: decision.allocations,
        effort: Effort::default(),
        asked_for_names: false,
    }
}

/// An allocation as the reference has it; `None` where there was nothing to allocate.
fn rendered(nodes: &Nodes<'_>, pod: &Value, row: usize, allocation: &Allocation) -> Option<Vec<Value>> {
    let resolved = claims_of(nodes.world, pod).unwrap();
    let named = list(&resolved, "named");
    // Where they cannot be gathered nothing is picked, for all claims are allocated.
    let pools = seen_by(nodes.world, nodes.nodes[row]).unwrap_or_default();
    let mut claims = Vec::new();
    for (number, claim) in named.iter().enumerate().filter(|(_, claim)| !is_set(claim, "status.allocation")) {
        let requests = list(claim, "spec.devices.requests");
        let of_claim = allocation.picks.iter().filter(|pick| pick.claim as usize == number);
        let devices: Vec<Value> = of_claim.map(|pick| device(&pools, requests, pick)).collect();
        claims.push(json!({"claim": name(claim), "devices": devices}));
    }
    if let Some(special) = &allocation.special {
        let request = |request: &nodesift_dynamic_resources::facts::Request| json!({"name": request.base});
        let requests: Vec<Value> = special.requests.iter().map(request).collect();
        let of_claim = allocation.picks.iter().filter(|pick| pick.claim as usize == named.len());
        let devices: Vec<Value> = of_claim.map(|pick| device(&pools, &requests, pick)).collect();
        let existing = at(&resolved, "extended");
        let claim = if existing.is_string() { "<extended-resources>" } else { name(existing) };
        let mut rendered = json!({"claim": claim, "devices": devices});
        let containers = [list(pod, "spec.initContainers"), list(pod, "spec.containers")].concat();
        let mapping = |mapping: &nodesift_dynamic_resources::extended::Mapping| {
            json!({
                "containerName": text(&containers[mapping.container as usize], "name"),
                "resourceName": asked(pod)[mapping.resource as usize],
                "requestName": mapping.request,
            })
        };
        if !special.mappings.is_empty() {
            rendered["mappings"] = special.mappings.iter().map(mapping).collect();
        }
        claims.push(rendered);
    }
    (!claims.is_empty()).then_some(claims)
}

fn device(pools: &[Value], requests: &[Value], pick: &Picked) -> Value {
    let request = &requests[pick.request as usize];
    let alternatives = list(request, "firstAvailable");
    let pool = &pools[pick.pool as usize];
    let mut rendered = json!({
        "request": match alternatives.get(pick.alternative as usize) {
            Some(alternative) => format!("{}/{}", text(request, "name"), text(alternative, "name")),
            None => text(request, "name").to_owned(),
        },
        "driver": text(pool, "driver"),
        "pool": text(pool, "name"),
        "device": text(&list(pool, "devices")[pick.device as usize], "device.name"),
    });
    if alternatives.is_empty() && flag(request, "exactly.adminAccess") {
        rendered["adminAccess"] = json!(true);
    }
    if let Some(share) = &pick.share {
        rendered["shared"] = json!(true);
        if !share.is_empty() {
            let amount = |(name, amount): &(String, NanoUnits)| (name.clone(), json!(decimal(*amount)));
            rendered["consumedCapacity"] = Value::Object(share.iter().map(amount).collect());
        }
    }
    rendered
}

fn decimal(amount: NanoUnits) -> String {
    Quantity::parse(&format!("{}n", Exact::from(amount).nano_units())).unwrap().decimal()
}

/// The claims of an allocation with only what the predicate decides, and amounts in one form.
pub fn comparable(claims: &[Value]) -> Vec<Value> {
    let fields = ["request", "driver", "pool", "device", "adminAccess", "shared"];
    let comparable = |claim: &Value| {
        let devices = list(claim, "devices").iter().map(|device| {
            let mut comparable = json!({});
            for field in fields.into_iter().filter(|field| is_set(device, field)) {
                comparable[field] = device[field].clone();
            }
            for (name, amount) in json::entries(device, "consumedCapacity") {
                comparable["consumedCapacity"][name] = json!(Quantity::read(amount).unwrap().decimal());
            }
            comparable
        });
        let devices: Vec<Value> = devices.collect();
        let mut comparable = json!({"claim": text(claim, "claim"), "devices": devices});
        if is_set(claim, "mappings") {
            comparable["mappings"] = claim["mappings"].clone();
        }
        comparable
    };
    claims.iter().map(comparable).collect()
}

/// A text without the words of cel-go.
pub fn up_to_cel(reason: &str) -> String {
    let end = CEL_ERRORS.iter().filter_map(|error| Some(reason.find(error)? + error.len())).min();
    reason.get(..end.unwrap_or(reason.len())).unwrap().to_owned()
}

/// Says where two answers for a pod differ.
pub fn differences(
    of: &str,
    nodes: &Nodes<'_>,
    found: &Found,
    verdicts: &Verdicts,
    allocations: &BTreeMap<String, Vec<Value>>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for node in nodes.nodes.iter().map(|node| name(node)) {
        let (expected, answer) = (verdicts.get(node), found.verdicts.get(node));
        if expected != answer {
            differences.push(format!("{of} on {node}:\n  expected {expected:?}\n  found    {answer:?}"));
        }
        let text = |claims: Option<&Vec<Value>>| claims.map(|claims| Value::from(comparable(claims)).to_string());
        let (expected, answer) = (text(allocations.get(node)), text(found.allocations.get(node)));
        if expected != answer {
            differences.push(format!("{of} allocated on {node}:\n  expected {expected:?}\n  found    {answer:?}"));
        }
    }
    differences
}
