//! Before any node: the claims that a pod refers to, and why they cannot be allocated at all.

use nodesift_fixtures::json::{at, is_set, key, list, name, namespace, text};
use serde_json::{Value, json};

use super::{World, extended};
use crate::go_text::quoted;
use crate::outcome::{Code, Failure};
use crate::selector::node_selector_errors;

/// The name of a claim that exists in the scheduler's memory only.
const IN_MEMORY: &str = "<extended-resources>";

/// Claims that a pod refers to.
#[derive(Debug)]
pub(super) struct Resolved {
    /// In the pod's order; a claim for extended resources comes last.
    pub(super) claims: Vec<Value>,
    /// How many of them the pod names.
    pub(super) user_claims: usize,
}

/// Resolves the claims; `None` where there is nothing to do for the pod.
pub(super) fn resolve(world: &World<'_>, pod: &Value) -> Result<Option<Resolved>, Failure> {
    let unresolvable = |text: String| Failure::new(Code::UnschedulableAndUnresolvable, text);
    let error =
        |text: String| Failure::new(Code::Error, format!("running PreFilter plugin \"DynamicResources\": {text}"));
    let mut claims = named_claims(world, pod).map_err(unresolvable)?;
    let user_claims = claims.len();
    claims.extend(special_claim(world, pod));
    if claims.is_empty() {
        return Ok(None);
    }
    for (position, claim) in claims.iter().enumerate() {
        if is_set(claim, "status.allocation") {
            let selector = at(claim, "status.allocation.nodeSelector");
            if let Some(errors) = node_selector_errors(selector) {
                return Err(error(errors));
            }
            continue;
        }
        let uid = text(claim, "metadata.uid");
        if world.in_flight.iter().any(|other| text(other, "metadata.uid") == uid) {
            return Err(unresolvable(format!("resource claim {} is in the process of being allocated", key(claim))));
        }
        // The special claim has no requests yet.
        if position >= user_claims {
            continue;
        }
        for request in list(claim, "spec.devices.requests") {
            let own = text(request, "name");
            let mut asked: Vec<(String, &str)> = Vec::new();
            if is_set(request, "exactly") {
                asked.push((own.to_owned(), text(request, "exactly.deviceClassName")));
            } else if list(request, "firstAvailable").is_empty() {
                let text = format!("resource claim {}, request {own}: unknown request type", key(claim));
                return Err(unresolvable(text));
            }
            for sub in list(request, "firstAvailable").iter().filter(|_| !is_set(request, "exactly")) {
                asked.push((format!("{own}/{}", text(sub, "name")), text(sub, "deviceClassName")));
            }
            for (request, class) in asked {
                if class.is_empty() {
                    return Err(error(format!("request {request}: unsupported request type")));
                }
                if world.cluster.get("DeviceClass", class).is_none() {
                    return Err(unresolvable(format!("request {request}: device class {class} does not exist")));
                }
            }
        }
    }
    Ok(Some(Resolved { claims, user_claims }))
}

/// The claims that the pod names, or why one of them cannot be used.
fn named_claims(world: &World<'_>, pod: &Value) -> Result<Vec<Value>, String> {
    let mut claims = Vec::new();
    for reference in list(pod, "spec.resourceClaims") {
        let (claim_name, must_own) = if is_set(reference, "resourceClaimName") {
            (text(reference, "resourceClaimName"), false)
        } else if is_set(reference, "resourceClaimTemplateName") {
            let statuses = list(pod, "status.resourceClaimStatuses");
            let status = statuses.iter().find(|status| text(status, "name") == text(reference, "name"));
            let Some(status) = status else {
                return Err(format!("pod {}: ResourceClaim not created yet", quoted(&key(pod))));
            };
            if !is_set(status, "resourceClaimName") {
                // No claim is needed.
                continue;
            }
            (text(status, "resourceClaimName"), true)
        } else {
            let (pod, reference) = (quoted(&key(pod)), quoted(text(reference, "name")));
            return Err(format!("pod {pod}, spec.resourceClaim {reference}: none of the supported fields are set"));
        };
        let claim_key = format!("{}/{claim_name}", namespace(pod));
        let Some(claim) = world.cluster.get("ResourceClaim", &claim_key) else {
            return Err(format!("could not find ResourceClaim {}", quoted(&claim_key)));
        };
        if is_set(claim, "metadata.deletionTimestamp") {
            return Err(format!("resourceclaim {} is being deleted", quoted(claim_name)));
        }
        if must_own && !is_controlled_by(claim, pod) {
            let kind = if world.switches.has("ClaimOwnerInLowerCase") { "pod" } else { "Pod" };
            return Err(format!(
                "ResourceClaim {claim_key} was not created for {kind} {} ({kind} is not owner)",
                key(pod)
            ));
        }
        claims.push(claim.clone());
    }
    Ok(claims)
}

/// Whether the claim's controller is this pod.
fn is_controlled_by(claim: &Value, pod: &Value) -> bool {
    let controller =
        list(claim, "metadata.ownerReferences").iter().find(|owner| at(owner, "controller") == &json!(true));
    controller.is_some_and(|owner| text(owner, "uid") == text(pod, "metadata.uid"))
}

/// Whether a claim is one for extended resources that is still to be made.
pub(super) fn is_in_memory(claim: &Value) -> bool {
    name(claim) == IN_MEMORY
}

/// The claim for the pod's extended resources: one from an earlier cycle, else a new one without requests.
fn special_claim(world: &World<'_>, pod: &Value) -> Option<Value> {
    if !world.switches.has("DRAExtendedResource") || extended::served(world.cluster, pod).is_empty() {
        return None;
    }
    let annotation = "resource.kubernetes.io/extended-resource-claim";
    let owned = |claim: &&Value| {
        nodesift_fixtures::json::annotation(claim, annotation) == Some("true")
            && list(claim, "metadata.ownerReferences").iter().any(|owner| {
                text(owner, "name") == name(pod)
                    && text(owner, "uid") == text(pod, "metadata.uid")
                    && at(owner, "controller") == &json!(true)
            })
    };
    let known = world.cluster.all("ResourceClaim").find(owned).cloned();
    known.or_else(|| {
        Some(json!({
            "metadata": {"name": IN_MEMORY, "namespace": namespace(pod), "uid": format!("in memory of {}", key(pod))},
            "spec": {"devices": {}},
        }))
    })
}
