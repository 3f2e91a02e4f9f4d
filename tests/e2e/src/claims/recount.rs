//! Recount of the API server's objects at the end: who has which device, and whether a pod that waits could have one. Neither the sidecar
//! nor the core is asked.
//!
//! Start at [`check`]. For the pods that wait, the reference implementation says why no node fits.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, bail, ensure};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::cluster::is_over;
use nodesift_fixtures::json::{at, flag, key, list, name, namespace, text};
use nodesift_reference::claims::{Selectors, World, judge};
use nodesift_reference::kubernetes::Switches;
use nodesift_reference::quantity::Quantity;
use serde_json::Value;

use super::ledger::names;
use super::scene::{BANDWIDTH, CARD_MEMORY, CLASSES, Class, EXTENDED, NAMESPACE, NUMA};

/// The reason of kube-scheduler where devices are missing.
const NO_DEVICES: &str = "cannot allocate all claims";

/// Identity of a device: driver, pool and name.
type Id<'a> = (&'a str, &'a str, &'a str);

/// Numbers of the recounted objects.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// Pods that are bound to a node.
    pub(crate) bound: usize,
    /// Pods that have ended.
    pub(crate) ended: usize,
    /// Pods without a node.
    pub(crate) waiting: usize,
    /// Claims with an allocation.
    pub(crate) claims: usize,
    /// Devices that one claim has for itself, and that there are of them.
    pub(crate) exclusive: (usize, usize),
    /// Parts of shared devices.
    pub(crate) shared: usize,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, ended, waiting, claims, exclusive: (used, all), shared } = self;
        write!(
            f,
            "{bound} pods bound, {ended} ended, {waiting} waiting; {claims} claims have {used} of {all} devices for themselves and \
             {shared} parts of shared ones"
        )
    }
}

/// A device as its slice has it.
struct Device<'a> {
    object: &'a Value,
    /// Name of the device's node; empty for all nodes.
    node: &'a str,
}

/// Counts again who has what. Fails on a device that is given away twice, does not exist or is somewhere else, on a claim that does
/// not get what it asks for, and on a bound pod that has not all of its claims.
pub(crate) fn check(cluster: &Cluster) -> anyhow::Result<Count> {
    let devices = devices(cluster);
    let mut count = Count::default();
    let mut holders: BTreeMap<Id<'_>, Vec<(&Value, &Value)>> = BTreeMap::new();
    for claim in cluster.all("ResourceClaim").filter(|claim| is_allocated(claim)) {
        count.claims += 1;
        let nodes = nodes_of(cluster, claim)?;
        for result in list(claim, "status.allocation.devices.results") {
            let id = (text(result, "driver"), text(result, "pool"), text(result, "device"));
            let device = devices.get(&id).with_context(|| format!("{} has {id:?}, which there is not", key(claim)))?;
            let is_there = device.node.is_empty() || nodes.iter().all(|node| *node == device.node);
            ensure!(is_there, "{} has {id:?} of {}, and its pods are on {nodes:?}", key(claim), device.node);
            holders.entry(id).or_default().push((claim, result));
        }
        check_requests(claim, &devices).with_context(|| key(claim))?;
        check_selector(claim, &nodes).with_context(|| key(claim))?;
    }
    for (id, holders) in &holders {
        let Some(device) = devices.get(id) else { continue };
        let claims: Vec<String> = holders.iter().map(|(claim, _)| key(claim)).collect();
        if flag(device.object, "allowMultipleAllocations") {
            count.shared += holders.len();
            let taken = holders.iter().map(|(_, result)| whole(at(result, "consumedCapacity.bandwidth")));
            let taken: i64 = taken.sum::<anyhow::Result<_>>()?;
            ensure!(taken <= BANDWIDTH * 1_000_000_000, "{claims:?} have {taken} of {id:?}");
        } else {
            ensure!(holders.len() == 1, "{claims:?} all have {id:?}");
            count.exclusive.0 += 1;
        }
    }
    count.exclusive.1 = devices.values().filter(|device| !flag(device.object, "allowMultipleAllocations")).count();
    check_cards(&holders, &devices)?;
    for pod in pods(cluster) {
        match (text(pod, "spec.nodeName"), is_over(pod)) {
            (_, true) => count.ended += 1,
            ("", _) => count.waiting += 1,
            _ => {
                count.bound += 1;
                check_bound(cluster, pod).with_context(|| key(pod))?;
            }
        }
    }
    Ok(count)
}

/// The pods that have no node.
pub(crate) fn waiting(cluster: &Cluster) -> Vec<&Value> {
    pods(cluster).filter(|pod| text(pod, "spec.nodeName").is_empty()).collect()
}

/// Fails unless no node fits any of the waiting pods, for the reasons that the sidecar has explained.
pub(crate) fn check_waiting(cluster: &Cluster, waiting: &[&Value], explained: &[Value]) -> anyhow::Result<()> {
    ensure!(waiting.len() == explained.len(), "{} of {} pods are explained", explained.len(), waiting.len());
    // No device has conditions that could time out.
    let (switches, selectors) = (Switches::documented(), Selectors::default());
    let world = World { cluster, in_flight: &[], now_s: 0, switches: &switches };
    let nodes = cluster.nodes().count();
    for (pod, explained) in waiting.iter().zip(explained) {
        let expected: BTreeMap<String, Vec<String>> = judge(&world, &selectors, pod)
            .outcome
            .failures
            .into_iter()
            .map(|(node, failure)| (node, failure.reasons))
            .collect();
        let told = list(explained, "predicates").iter().find(|told| text(told, "predicate") == "DynamicResources");
        let mut found = BTreeMap::new();
        for failure in told.map_or(&[][..], |told| list(told, "failures")) {
            let reasons: Vec<String> =
                list(failure, "reasons").iter().filter_map(|r| r.as_str().map(str::to_owned)).collect();
            for node in list(failure, "nodes").iter().filter_map(Value::as_str) {
                found.insert(node.to_owned(), reasons.clone());
            }
        }
        ensure!(found == expected, "{} waits because of {found:?}, and by recount because of {expected:?}", key(pod));
        let message = text(explained, "conjunction.message");
        let is_explained = found.len() == nodes && message.contains(NO_DEVICES);
        ensure!(is_explained, "{} waits, and {} of {nodes} nodes do not fit: {message}", key(pod), found.len());
    }
    Ok(())
}

/// The number of nodes that reach a device of a class.
pub(crate) fn nodes_with(cluster: &Cluster, class: &Class) -> usize {
    let devices = devices(cluster);
    let of_class = || devices.iter().filter(|((driver, ..), device)| (class.has)(driver, device.object));
    let reaches = |node: &Value| of_class().any(|(_, device)| device.node.is_empty() || device.node == name(node));
    cluster.nodes().filter(|node| reaches(node)).count()
}

fn devices(cluster: &Cluster) -> BTreeMap<Id<'_>, Device<'_>> {
    let mut devices = BTreeMap::new();
    for slice in cluster.all("ResourceSlice") {
        for device in list(slice, "spec.devices") {
            let id = (text(slice, "spec.driver"), text(slice, "spec.pool.name"), text(device, "name"));
            devices.insert(id, Device { object: device, node: text(slice, "spec.nodeName") });
        }
    }
    devices
}

fn pods(cluster: &Cluster) -> impl Iterator<Item = &Value> {
    cluster.all("Pod").filter(|pod| namespace(pod) == NAMESPACE)
}

fn is_allocated(claim: &Value) -> bool {
    at(claim, "status.allocation").is_object()
}

/// The nodes of the pods that a claim is reserved for.
fn nodes_of<'a>(cluster: &'a Cluster, claim: &Value) -> anyhow::Result<Vec<&'a str>> {
    let reserved = list(claim, "status.reservedFor");
    ensure!(!reserved.is_empty(), "{} is allocated and reserved for nobody", key(claim));
    let of = |holder: &Value| {
        let pod = pods(cluster).find(|pod| text(pod, "metadata.uid") == text(holder, "uid"));
        let node =
            pod.filter(|pod| !is_over(pod)).map(|pod| text(pod, "spec.nodeName")).filter(|node| !node.is_empty());
        node.with_context(|| format!("{} is reserved for {holder}, which has no node", key(claim)))
    };
    reserved.iter().map(of).collect()
}

/// Each request has as many devices as it asks for, all of its class, and what they must have in common.
fn check_requests(claim: &Value, devices: &BTreeMap<Id<'_>, Device<'_>>) -> anyhow::Result<()> {
    let results = list(claim, "status.allocation.devices.results");
    let mut asked = 0;
    for request in list(claim, "spec.devices.requests") {
        let chosen: Vec<(String, &Value)> = match request.get("exactly") {
            Some(exactly) => vec![(name_of(request).to_owned(), exactly)],
            None => list(request, "firstAvailable")
                .iter()
                .map(|choice| (format!("{}/{}", name_of(request), name_of(choice)), choice))
                .filter(|(name, _)| results.iter().any(|result| text(result, "request") == name))
                .collect(),
        };
        let [(full_name, wanted)] = &chosen[..] else { bail!("{} alternatives of {request} are taken", chosen.len()) };
        let class = CLASSES.iter().find(|class| class.name == text(wanted, "deviceClassName")).context("the class")?;
        let given: Vec<&Value> = results.iter().filter(|result| text(result, "request") == full_name).collect();
        ensure!(wanted["count"] == given.len(), "{full_name} asks for {} devices and has {given:?}", wanted["count"]);
        asked += given.len();
        let mut numa = Vec::new();
        for result in given {
            let id = (text(result, "driver"), text(result, "pool"), text(result, "device"));
            let device = devices.get(&id).context("the device")?.object;
            ensure!((class.has)(id.0, device), "{id:?} is none of {}: {device}", class.name);
            numa.push(&device["attributes"]["numa"]);
        }
        let is_constrained = list(claim, "spec.devices.constraints").iter().any(|c| text(c, "matchAttribute") == NUMA);
        ensure!(
            !is_constrained || numa.windows(2).all(|pair| pair.first() == pair.last()),
            "devices of {full_name} differ in {NUMA}: {numa:?}"
        );
    }
    ensure!(asked == results.len(), "{results:?} are more than is asked for");
    Ok(())
}

/// Checks that the node selector of the allocation names the node of its pods, and nothing where no device is of a node.
fn check_selector(claim: &Value, nodes: &[&str]) -> anyhow::Result<()> {
    let has_node = |result: &&Value| text(result, "driver") != "net.example.com";
    let is_of_a_node = list(claim, "status.allocation.devices.results").iter().find(has_node).is_some();
    let selector = at(claim, "status.allocation.nodeSelector");
    let named = &selector["nodeSelectorTerms"][0]["matchFields"][0]["values"];
    let expected = if is_of_a_node { serde_json::json!([nodes.first()]) } else { Value::Null };
    ensure!(*named == expected, "the nodes are {nodes:?}, and the selector is {selector}");
    Ok(())
}

/// No card has given away more memory than it has.
fn check_cards(
    holders: &BTreeMap<Id<'_>, Vec<(&Value, &Value)>>,
    devices: &BTreeMap<Id<'_>, Device<'_>>,
) -> anyhow::Result<()> {
    let mut taken: BTreeMap<&str, i64> = BTreeMap::new();
    for (driver, pool, device) in holders.keys().filter(|(driver, ..)| *driver == "part.example.com") {
        let device = devices.get(&(*driver, *pool, *device)).context("the device")?.object;
        let units = device["attributes"]["units"]["int"].as_i64().context("the units")?;
        *taken.entry(pool).or_default() += units;
    }
    ensure!(taken.values().all(|units| *units <= CARD_MEMORY), "cards have given away {taken:?}");
    Ok(())
}

/// A bound pod has all its claims.
fn check_bound(cluster: &Cluster, pod: &Value) -> anyhow::Result<()> {
    let mut claims = names(pod);
    if at(pod, "spec.containers")[0]["resources"]["requests"].get(EXTENDED).is_some() {
        let claim = text(pod, "status.extendedResourceClaimStatus.resourceClaimName");
        claims.push(format!("{NAMESPACE}/{claim}"));
    }
    ensure!(!claims.is_empty(), "it asks for nothing");
    for name in claims {
        let claim = cluster.get("ResourceClaim", &name).with_context(|| format!("{name} is missing"))?;
        let is_its_own = |holder: &Value| text(holder, "uid") == text(pod, "metadata.uid");
        let has_it = is_allocated(claim) && list(claim, "status.reservedFor").iter().any(is_its_own);
        ensure!(has_it, "{name} is not allocated, or not for the pod: {claim}");
    }
    Ok(())
}

fn name_of(of: &Value) -> &str {
    text(of, "name")
}

/// An amount, which must be there.
fn whole(quantity: &Value) -> anyhow::Result<i64> {
    let amount = quantity.as_str().and_then(Quantity::parse);
    Ok(amount.with_context(|| format!("{quantity} is no amount"))?.value())
}

#[cfg(test)]
mod tests;
