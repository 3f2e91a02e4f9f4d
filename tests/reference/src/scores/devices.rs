//! DynamicResources: the earlier the alternatives that the pod's claims get on a node, the better.
//!
//! Source: P/dynamicresources/dynamicresources.go computeScore.

use nodesift_fixtures::json::{is_set, list, name, text};
use serde_json::Value;

use super::{Raw, World};
use crate::claims;

/// Alternatives of a request at most, which is the score of the first one.
const ALTERNATIVES: i64 = 8;

/// The sum over the requests with alternatives; 0 where nothing has to be allocated.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let inputs = claims::World { cluster: world.cluster, in_flight: &[], now_s: 0, switches: world.switches };
    let decision = claims::judge(&inputs, &claims::Selectors::default(), pod);
    let claims = claims::claims_of(&inputs, pod).unwrap_or(Value::Null);
    let score = |node: &&Value| {
        let Some(allocations) = decision.allocations.get(name(node)) else { return Some(0) };
        Some(list(&claims, "named").iter().map(|claim| score_of(claim, allocations)).sum())
    };
    Ok(Some(feasible.iter().map(score).collect()))
}

/// The score of one claim: by its status where it is allocated, otherwise by what it would get.
fn score_of(claim: &Value, allocations: &[Value]) -> i64 {
    let results = match is_set(claim, "status.allocation") {
        true => list(claim, "status.allocation.devices.results"),
        false => allocations
            .iter()
            .find(|allocation| text(allocation, "claim") == name(claim))
            .map_or(&[][..], |allocation| list(allocation, "devices")),
    };
    let requests = list(claim, "spec.devices.requests").iter();
    let score = |request: &Value| {
        let alternatives = list(request, "firstAvailable").iter().zip(0_i64..);
        let chosen = alternatives.filter(|(alternative, _)| {
            let full = format!("{}/{}", text(request, "name"), text(alternative, "name"));
            results.iter().any(|result| text(result, "request") == full)
        });
        chosen.map(|(_, position)| ALTERNATIVES - position).sum::<i64>()
    };
    requests.map(score).sum()
}
