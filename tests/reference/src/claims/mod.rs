//! DynamicResources of kube-scheduler: which nodes can give a pod the devices of its claims, and which devices.
//!
//! Plain objects in, verdicts and allocations out: slow and obvious, with one list of picks as the only state of a search. The
//! answers are those of the allocator that the gates of a version select; its differences from others are switches. `tests/claims.rs`
//! and `tests/versions.rs` compare it with the real plugins.
//!
//! | module | what |
//! |---|---|
//! | `resolve` | before any node: the pod's claims, and why they cannot be allocated at all |
//! | `extended` | extended resources that a DeviceClass serves: requests and mappings of their claim |
//! | `binding` | whether an allocated claim still waits for its devices' conditions, and for how long |
//! | `state` | devices and capacity that allocated claims hold |
//! | `pools` | ResourceSlices to the pools that a node sees |
//! | `requests` | requests and alternatives of a claim |
//! | `allocator` | the depth-first search |
//! | `candidates` | whether one device may be picked: use, counters, taints, constraints, capacity |
//! | `capacity`, `attributes` | consumed capacity; attributes and how constraints compare them |
//! | `selectors` | CEL, by `nodesift-cel` |
//! | `results` | allocations as JSON |
//!
//! Start with [`judge`].

mod allocator;
mod attributes;
mod binding;
mod candidates;
mod capacity;
mod extended;
mod pools;
mod requests;
mod resolve;
mod results;
mod selectors;
mod state;

use std::collections::BTreeMap;
use std::fmt;

use nodesift_fixtures::{Cluster, json};
use serde_json::{Value, json};

use crate::kubernetes::Switches;
use crate::outcome::{Code, Failure, Outcome};
use crate::selector::node_selector_matches;
pub use selectors::Selectors;

/// The answer for one pod.
#[derive(Debug)]
pub struct Decision {
    /// Verdicts of the plugin on all nodes.
    pub outcome: Outcome,
    /// Where the allocator ran and the node fits: per claim to be allocated, what it would get.
    pub allocations: BTreeMap<String, Vec<Value>>,
}

/// Inputs of the answer besides the pod.
#[derive(Debug)]
pub struct World<'a> {
    /// All objects of the cluster.
    pub cluster: &'a Cluster,
    /// ResourceClaims whose allocation the scheduler has decided and not yet written.
    pub in_flight: &'a [Value],
    /// The time, in seconds since 1970.
    pub now_s: i64,
    /// Which version's plugin answers.
    pub switches: &'a Switches,
}

/// A device: driver, pool, name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceId(pub(crate) String, pub(crate) String, pub(crate) String);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.0, self.1, self.2)
    }
}

/// Evaluates a pod on every node.
pub fn judge(world: &World<'_>, selectors: &Selectors, pod: &Value) -> Decision {
    let nodes = || world.cluster.nodes();
    let rejected =
        |failure: &Failure| Decision { outcome: Outcome::rejected(nodes(), failure), allocations: BTreeMap::new() };
    let resolved = match resolve::resolve(world, pod) {
        Err(failure) => return rejected(&failure),
        Ok(None) => return Decision { outcome: Outcome::fits_all(), allocations: BTreeMap::new() },
        Ok(Some(resolved)) => resolved,
    };
    let held = state::Held::gather(world);
    let mut allocations = BTreeMap::new();
    let mut failures = BTreeMap::new();
    for node in nodes() {
        match judge_node(world, selectors, &held, &resolved, pod, node) {
            Ok(None) => {}
            Ok(Some(allocation)) => {
                allocations.insert(json::name(node).to_owned(), allocation);
            }
            Err(failure) => {
                failures.insert(json::name(node).to_owned(), failure);
            }
        }
    }
    let outcome = Outcome::each_node(nodes(), |node| failures.get(json::name(node)).cloned());
    Decision { outcome, allocations }
}

/// The pools that a node sees, in order. A pool has `driver`, `name`, `state` (`ok`, `incomplete`
/// or `invalid`), `counters` (sorted: name, total, held) and `devices`, each with its `slice` and the `device` as it is written,
/// whether it is for the node (`reaches`: a flag or a text), and what is held of it: `exclusive`, and `shared` by capacity.
///
/// # Errors
///
/// Why they cannot be gathered.
pub fn seen_by(world: &World<'_>, node: &Value) -> Result<Vec<Value>, String> {
    let held = state::Held::gather(world);
    let pools = pools::gather(world, &held, node)?;
    Ok(pools.iter().map(|pool| pool.seen(world, &held, node)).collect())
}

/// The claims of a pod, or why they cannot be used on any node; `Null` where it has none. `named` are those that it names, in its
/// order, `extended` is the one for its extended resources (`Null` where none is needed, `to be made` where there is none),
/// `serving` has the class of each resource that a class serves, and `usable` per node which of all these claims can be used.
///
/// # Errors
///
/// The failure of all nodes.
pub fn claims_of(world: &World<'_>, pod: &Value) -> Result<Value, Failure> {
    let Some(resolved) = resolve::resolve(world, pod)? else { return Ok(Value::Null) };
    let (named, extended) = resolved.claims.split_at(resolved.user_claims);
    let extended = extended.last();
    let extended = extended.map(|claim| if resolve::is_in_memory(claim) { "to be made".into() } else { claim.clone() });
    let class_of =
        |resource: &String| extended::class_of(world.cluster, resource).map(|class| json!(json::name(class)));
    let served = extended::served(world.cluster, pod).into_iter();
    let usable =
        |node: &Value| resolved.claims.iter().map(|claim| is_available(world, claim, node)).collect::<Vec<_>>();
    Ok(json!({
        "named": named,
        "extended": extended,
        "serving": served.map(|resource| (resource.clone(), class_of(&resource))).collect::<BTreeMap<_, _>>(),
        "usable": world.cluster.nodes().map(|node| (json::name(node), usable(node))).collect::<BTreeMap<_, _>>(),
    }))
}

/// The devices on a node of the class that serves an extended resource, and how many of them are allocated; `None` where no class serves it,
/// or its devices cannot be counted. Devices of all slices count, whatever the state of their pools.
pub fn devices_for(world: &World<'_>, selectors: &Selectors, resource: &str, node: &Value) -> Option<(i64, i64)> {
    let class = extended::class_of(world.cluster, resource)?;
    let held = state::Held::gather(world);
    let (mut all, mut allocated) = (0, 0);
    for slice in world.cluster.all("ResourceSlice") {
        let spec = json::at(slice, "spec");
        let is_per_device = json::flag(spec, "perDeviceNodeSelection");
        let has_place = ["nodeName", "nodeSelector", "allNodes"].iter().any(|field| json::is_set(spec, field));
        if !is_per_device && has_place && !pools::is_for_node(spec, node).ok()? {
            continue;
        }
        for device in json::list(spec, "devices") {
            if is_per_device && !pools::is_for_node(device, node).ok()? {
                continue;
            }
            let class_selectors = json::list(class, "spec.selectors");
            let driver = json::text(spec, "driver");
            if selectors.match_all(world.switches, class_selectors, driver, device).ok()? {
                let text = |path: &str| json::text(spec, path).to_owned();
                let id = DeviceId(text("driver"), text("pool.name"), json::text(device, "name").to_owned());
                all += 1;
                allocated += i64::from(held.has(&id));
            }
        }
    }
    Some((all, allocated))
}

fn judge_node(
    world: &World<'_>,
    selectors: &Selectors,
    held: &state::Held,
    resolved: &resolve::Resolved,
    pod: &Value,
    node: &Value,
) -> Result<Option<Vec<Value>>, Failure> {
    let unresolvable = |text: &str| Failure::new(Code::UnschedulableAndUnresolvable, text);
    let extended = extended::on_node(world, resolved, pod, node).map_err(unresolvable)?;
    if extended.is_none() && resolved.user_claims == 0 {
        return Ok(None);
    }
    let available = resolved.claims.iter().all(|claim| is_available(world, claim, node));

    let mut allocation = None;
    if resolved.claims.iter().any(|claim| !json::is_set(claim, "status.allocation")) {
        let mut claims: Vec<&Value> = Vec::new();
        for (at, claim) in resolved.claims.iter().enumerate() {
            let special = extended.as_ref().filter(|_| at >= resolved.user_claims);
            if !json::is_set(claim, "status.allocation") {
                claims.push(special.map_or(claim, |special| &special.claim));
            }
        }
        let search = allocator::Search { world, selectors, held, node, claims: &claims };
        let mut found = match search.allocate() {
            Ok(found) => found,
            Err(allocator::Fault::OnNode(text)) => return Err(unresolvable(&text)),
            Err(allocator::Fault::Error(text)) => {
                return Err(Failure::new(Code::Error, format!("running \"DynamicResources\" filter plugin: {text}")));
            }
        };
        if let (Some(results), Some(special)) = (found.as_mut(), &extended) {
            results::add_mappings(results, &special.mappings);
        }
        allocation = Some(found.ok_or_else(|| unresolvable("cannot allocate all claims"))?);
    }
    if !available {
        return Err(unresolvable("resourceclaim not available on the node"));
    }
    Ok(allocation)
}

/// Whether a claim that is allocated can be used on a node. Claims to be allocated can.
fn is_available(world: &World<'_>, claim: &Value, node: &Value) -> bool {
    if !json::is_set(claim, "status.allocation") {
        return true;
    }
    let selector = json::at(claim, "status.allocation.nodeSelector");
    let reaches = selector.is_null() || node_selector_matches(selector, json::labels(node), json::name(node));
    let waits = world.switches.has("DRADeviceBindingConditions");
    reaches && has_operations(world, claim, node) && !(waits && binding::has_failed(claim, world.now_s))
}

/// Whether a node can skip the operations that devices of a claim skip.
fn has_operations(world: &World<'_>, claim: &Value, node: &Value) -> bool {
    let mut results = json::list(claim, "status.allocation.devices.results").iter();
    !world.switches.has("SkipNodeOperations")
        || !results.any(|result| !json::list(result, "skipNodeOperations").is_empty())
        || json::texts(node, "status.declaredFeatures").iter().any(|feature| feature == "DRAOptionalNodeOperations")
}
