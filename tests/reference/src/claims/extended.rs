//! Extended resources that a DeviceClass serves: on a node without an amount of its own, a claim with one request per container
//! and resource takes their place.

use std::collections::BTreeMap;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{at, entries, is_set, list, name, text};
use serde_json::{Value, json};

use super::World;
use super::resolve::Resolved;
use crate::quantity::Quantity;
use crate::requests::{asked_by, given_by, is_extended};

/// Resources of this prefix are served by the class whose name follows.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";

/// The claim of a pod's extended resources on one node.
#[derive(Debug)]
pub(super) struct Special {
    /// The claim with its requests.
    pub(super) claim: Value,
    /// Which request serves which resource of which container.
    pub(super) mappings: Vec<Value>,
}

/// The class that serves a resource: of those with the same explicit name the youngest, then the lower name.
pub(super) fn class_of<'a>(cluster: &'a Cluster, resource: &str) -> Option<&'a Value> {
    if let Some(class) = resource.strip_prefix(IMPLICIT) {
        return cluster.get("DeviceClass", class);
    }
    let named = cluster.all("DeviceClass").filter(|class| text(class, "spec.extendedResourceName") == resource);
    // RFC 3339 texts in UTC sort by time, and classes by name.
    named.reduce(|best, class| {
        let created = |class: &Value| text(class, "metadata.creationTimestamp").to_owned();
        if created(class) > created(best) { class } else { best }
    })
}

/// The pod's requests for extended resources, without those for nothing.
fn asked(pod: &Value) -> BTreeMap<String, i64> {
    let asked = asked_by(pod).into_iter();
    asked.filter(|(name, amount)| *amount != 0 && (is_extended(name) || name.starts_with(IMPLICIT))).collect()
}

/// The pod's extended resources that a class serves.
pub(super) fn served(cluster: &Cluster, pod: &Value) -> Vec<String> {
    asked(pod).into_keys().filter(|resource| class_of(cluster, resource).is_some()).collect()
}

/// The claim for the extended resources that the node does not have itself; `None` where there is none to allocate.
pub(super) fn on_node(
    world: &World<'_>,
    resolved: &Resolved,
    pod: &Value,
    node: &Value,
) -> Result<Option<Special>, &'static str> {
    let Some(claim) = resolved.claims.get(resolved.user_claims) else { return Ok(None) };
    if is_set(claim, "spec.devices.requests") {
        // From an earlier cycle: it is deleted, and the pod tried again.
        return Err("cannot schedule extended resource claim");
    }
    let given = given_by(node);
    let mut by_claim = Vec::new();
    for resource in asked(pod).into_keys() {
        let own = given.get(&resource);
        if class_of(world.cluster, &resource).is_some() && own.copied().unwrap_or(0) == 0 {
            by_claim.push(resource);
        } else if own.is_none() {
            return Err("cannot fit resource");
        }
    }
    if (resolved.user_claims == 0 && by_claim.is_empty()) || is_set(claim, "status.allocation") {
        return Ok(None);
    }
    let (requests, mappings) = requests_and_mappings(world.cluster, pod, &by_claim);
    let mut claim = claim.clone();
    claim["spec"] = json!({"devices": {"requests": requests}});
    Ok(Some(Special { claim, mappings }))
}

/// A request under construction.
#[derive(Debug, Clone)]
struct Request {
    name: String,
    class: String,
    count: i64,
}

/// Requests, sorted by name, and mappings for these resources, which are sorted.
fn requests_and_mappings(cluster: &Cluster, pod: &Value, resources: &[String]) -> (Vec<Value>, Vec<Value>) {
    let init = list(pod, "spec.initContainers");
    let containers: Vec<&Value> = init.iter().chain(list(pod, "spec.containers")).collect();
    let is_short = |at: usize| at < init.len() && text(containers[at], "restartPolicy") != "Always";
    let mut requests: Vec<Request> = Vec::new();
    let mut mappings = Vec::new();
    for resource in resources {
        let Some(class) = class_of(cluster, resource) else { continue };
        let mut long: Vec<Option<Request>> = vec![None; containers.len()];
        for at in (0..containers.len()).filter(|at| !is_short(*at)) {
            let (request, mapped) = container_request(at, containers[at], resource, name(class), &[]);
            long[at] = request;
            mappings.extend(mapped);
        }
        // Init containers run one after the other: the largest request serves all of them.
        let mut largest: Option<Request> = None;
        let mut short_names: Vec<String> = Vec::new();
        let mut short_mappings = Vec::new();
        for at in (0..containers.len()).filter(|at| is_short(*at)) {
            let (request, mapped) = container_request(at, containers[at], resource, name(class), &long[at..]);
            if let Some(request) = request {
                short_names.push(request.name.clone());
                if largest.as_ref().is_none_or(|largest| largest.count < request.count) {
                    largest = Some(request);
                }
            }
            short_mappings.extend(mapped);
        }
        if let Some(largest) = &largest {
            for mapping in &mut short_mappings {
                if short_names.iter().any(|name| text(mapping, "requestName") == name) {
                    mapping["requestName"] = json!(largest.name);
                }
            }
        }
        requests.extend(largest);
        requests.extend(long.into_iter().flatten());
        mappings.extend(short_mappings);
    }
    requests.sort_by(|a, b| a.name.cmp(&b.name));
    let requests = requests.into_iter().map(|request| {
        json!({
            "name": request.name,
            "exactly": {"deviceClassName": request.class, "allocationMode": "ExactCount", "count": request.count},
        })
    });
    (requests.collect(), mappings)
}

/// The request of one container for a resource, if those that it may reuse are not enough; and its mappings.
fn container_request(
    position: usize,
    container: &Value,
    resource: &str,
    class: &str,
    reusable: &[Option<Request>],
) -> (Option<Request>, Vec<Value>) {
    let mut mappings = Vec::new();
    let all = entries(container, "resources.requests");
    let Some(index) = all.iter().position(|(name, _)| *name == resource) else { return (None, mappings) };
    let quantity = at(container, "resources.requests").get(resource).and_then(Quantity::read);
    let count = quantity.and_then(Quantity::whole).unwrap_or(0);
    if count == 0 {
        return (None, mappings);
    }
    let mapping =
        |request: &str| json!({"containerName": name_of(container), "resourceName": resource, "requestName": request});
    let mut sum = 0_i64;
    for request in reusable.iter().flatten() {
        sum = sum.saturating_add(request.count);
        mappings.push(mapping(&request.name));
        if sum >= count {
            return (None, mappings);
        }
    }
    let own = format!("container-{position}-request-{index}");
    mappings.push(mapping(&own));
    (Some(Request { name: own, class: class.to_owned(), count: count - sum }), mappings)
}

fn name_of(container: &Value) -> &str {
    text(container, "name")
}
