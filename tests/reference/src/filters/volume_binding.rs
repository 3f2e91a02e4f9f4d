//! VolumeBinding: whether the pod's bound volumes can be used on a node, and the others can be bound or provisioned there.
//!
//! Source: P/volumebinding/{volume_binding,binder}.go.

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{annotation, at, flag, is_set, key, labels, list, name, text};
use serde_json::Value;

use crate::outcome::{Code, Failure, Outcome};
use crate::quantity::Quantity;
use crate::selector::{Selector, topology_terms_match};
use crate::volumes::translation::translated;
use crate::volumes::{
    asked_storage, claim, claim_ref, class_of_claim, find_volume, is_fully_bound, not_found, ownership_error,
    suits_node, waits_for_pod,
};

/// The claims of a pod.
#[derive(Default)]
struct Claims<'a> {
    bound: Vec<&'a Value>,
    /// Unbound, with binding mode WaitForFirstConsumer.
    waiting: Vec<&'a Value>,
}

pub(super) fn judge(cluster: &Cluster, pod: &Value) -> Outcome {
    match claims(cluster, pod) {
        Ok(claims) => Outcome::each_node(cluster.nodes(), |node| judge_node(cluster, &claims, node).err()),
        Err(failure) => Outcome::rejected(cluster.nodes(), &failure),
    }
}

/// The pod's claims, or the failure of PreFilter.
fn claims<'a>(cluster: &'a Cluster, pod: &Value) -> Result<Claims<'a>, Failure> {
    let reject = |reason: String| Failure::new(Code::UnschedulableAndUnresolvable, reason);
    let mut found = Vec::new();
    for reference in list(pod, "spec.volumes").iter().filter_map(|volume| claim_ref(pod, volume)) {
        let claim = claim(cluster, pod, &reference.name).ok_or_else(|| match reference.is_ephemeral {
            true => reject(format!(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}",
                reference.name
            )),
            false => reject(not_found(&reference.name)),
        })?;
        if text(claim, "status.phase") == "Lost" {
            let volume = text(claim, "spec.volumeName");
            let reason =
                format!("persistentvolumeclaim {:?} bound to non-existent persistentvolume {volume:?}", name(claim));
            return Err(reject(reason));
        }
        if is_set(claim, "metadata.deletionTimestamp") {
            return Err(reject(format!("persistentvolumeclaim {:?} is being deleted", name(claim))));
        }
        if let Some(error) = ownership_error(pod, claim).filter(|_| reference.is_ephemeral) {
            return Err(reject(error));
        }
        found.push(claim);
    }

    let mut claims = Claims::default();
    let mut has_immediate = false;
    for claim in found {
        if is_fully_bound(claim) {
            claims.bound.push(claim);
            continue;
        }
        let waits = waits_for_pod(cluster, claim).map_err(|error| {
            Failure::new(Code::Error, format!("running PreFilter plugin \"VolumeBinding\": {error}"))
        })?;
        match waits && text(claim, "spec.volumeName").is_empty() {
            true => claims.waiting.push(claim),
            false => has_immediate = true,
        }
    }
    match has_immediate {
        true => Err(reject("pod has unbound immediate PersistentVolumeClaims".to_owned())),
        false => Ok(claims),
    }
}

const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
const VOLUME_GONE: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

fn judge_node(cluster: &Cluster, claims: &Claims<'_>, node: &Value) -> Result<(), Failure> {
    let error = |text: String| Failure::new(Code::Error, format!("running \"VolumeBinding\" filter plugin: {text}"));
    let bound = bound_conflict(cluster, &claims.bound, node).map_err(error)?;
    let waiting = waiting_conflict(cluster, &claims.waiting, node, &mut Volumes::default()).map_err(error)?;
    let mut reasons: Vec<String> = [bound, waiting].into_iter().flatten().map(str::to_owned).collect();
    reasons.sort();
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(Failure { code: Code::UnschedulableAndUnresolvable, reasons }),
    }
}

/// The first claim that cannot be used on the node.
fn bound_conflict(cluster: &Cluster, claims: &[&Value], node: &Value) -> Result<Option<&'static str>, String> {
    let csi_node = cluster.get("CSINode", name(node));
    for claim in claims {
        let Some(volume) = cluster.get("PersistentVolume", text(claim, "spec.volumeName")) else {
            return Ok(Some(VOLUME_GONE));
        };
        if !suits_node(&translated(volume, csi_node)?, node) {
            return Ok(Some(NODE_CONFLICT));
        }
    }
    Ok(None)
}

/// Volumes that unbound claims of a pod get on a node.
#[derive(Default)]
pub(crate) struct Volumes<'a> {
    /// Claims with the volumes that they take.
    pub(crate) taken: Vec<(&'a Value, &'a Value)>,
    /// Claims for which volumes are provisioned, with the CSIStorageCapacity that has enough; `None` where none is asked.
    pub(crate) provisioned: Vec<(&'a Value, Option<&'a Value>)>,
}

/// The volumes that unbound claims of a pod get on a node on which it fits.
pub(crate) fn volumes_on<'a>(cluster: &'a Cluster, pod: &Value, node: &Value) -> Volumes<'a> {
    let mut volumes = Volumes::default();
    if let Ok(claims) = claims(cluster, pod) {
        // Nothing is scored where there is a conflict.
        let _ = waiting_conflict(cluster, &claims.waiting, node, &mut volumes);
    }
    volumes
}

/// Unbound claims take matching volumes, the smallest claim first; the others must be provisioned.
fn waiting_conflict<'a>(
    cluster: &'a Cluster,
    claims: &[&'a Value],
    node: &Value,
    volumes: &mut Volumes<'a>,
) -> Result<Option<&'static str>, String> {
    let mut to_match = Vec::new();
    let mut to_make = Vec::new();
    for claim in claims {
        match annotation(claim, "volume.kubernetes.io/selected-node") {
            Some(selected) if selected != name(node) => return Ok(Some(BIND_CONFLICT)),
            Some(_) => to_make.push(*claim),
            None => to_match.push(*claim),
        }
    }
    let size = |claim: &Value| asked_storage(claim).unwrap_or(Quantity::ZERO);
    to_match.sort_by(|a, b| size(a).compare(size(b)));
    let mut taken: Vec<&str> = Vec::new();
    for claim in to_match {
        match find_volume(cluster, claim, node, &taken)? {
            Some(volume) => {
                taken.push(name(volume));
                volumes.taken.push((claim, volume));
            }
            None => to_make.push(claim),
        }
    }
    for claim in to_make {
        match provision(cluster, claim, node)? {
            Ok(capacity) => volumes.provisioned.push((claim, capacity)),
            Err(conflict) => return Ok(Some(conflict)),
        }
    }
    Ok(None)
}

/// The CSIStorageCapacity from which the claim's volume can be provisioned for the node, `None` where it does not matter; or why it cannot.
fn provision<'a>(
    cluster: &'a Cluster,
    claim: &Value,
    node: &Value,
) -> Result<Result<Option<&'a Value>, &'static str>, String> {
    let class_name = class_of_claim(claim);
    if class_name.is_empty() {
        return Err(format!("no class for claim {:?}", key(claim)));
    }
    let class = cluster
        .get("StorageClass", class_name)
        .ok_or_else(|| format!("failed to find storage class {class_name:?}"))?;
    let provisioner = text(class, "provisioner");
    let is_made_by_hand = matches!(provisioner, "" | "kubernetes.io/no-provisioner");
    if is_made_by_hand || !topology_terms_match(list(class, "allowedTopologies"), labels(node)) {
        return Ok(Err(BIND_CONFLICT));
    }
    let Some(asked) = asked_storage(claim) else { return Ok(Ok(None)) };
    let driver = cluster.get("CSIDriver", provisioner);
    if !driver.is_some_and(|driver| flag(driver, "spec.storageCapacity")) {
        return Ok(Ok(None));
    }
    // kube-scheduler takes the first one too, of a list without an order.
    let mut capacities = cluster.all("CSIStorageCapacity");
    let enough = capacities.find(|capacity| {
        let field = if is_set(capacity, "maximumVolumeSize") { "maximumVolumeSize" } else { "capacity" };
        let limit = is_set(capacity, field).then(|| Quantity::read(at(capacity, field))).flatten();
        let topology = at(capacity, "nodeTopology");
        text(capacity, "storageClassName") == name(class)
            && limit.is_some_and(|limit| limit.value() >= asked.value())
            && !topology.is_null()
            && Selector::parse(topology).is_ok_and(|selector| selector.matches(labels(node)))
    });
    Ok(enough.map(Some).ok_or(NOT_ENOUGH_SPACE))
}
