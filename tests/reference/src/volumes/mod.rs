//! Volumes as filters use them: a pod's claims, their classes, and matching of volumes and claims.
//!
//! Sources: component-helpers `storage/{volume,ephemeral}`, csi-translation-lib. [`translation`] has the in-tree volume types
//! that were migrated to CSI drivers.

pub mod translation;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{annotation, at, is_set, key, label, labels, list, name, namespace, text, texts};
use serde_json::Value;

use crate::quantity::Quantity;
use crate::requests::written;
use crate::selector::{Selector, node_selector_matches};

/// A claim that a pod's volume refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRef {
    /// The claim's name, in the pod's namespace.
    pub name: String,
    /// Whether it is the claim of an ephemeral volume.
    pub is_ephemeral: bool,
}

/// The claim that a volume refers to; `None` for other types of volumes.
pub fn claim_ref(pod: &Value, volume: &Value) -> Option<ClaimRef> {
    if is_set(volume, "persistentVolumeClaim") {
        let name = text(volume, "persistentVolumeClaim.claimName").to_owned();
        return Some(ClaimRef { name, is_ephemeral: false });
    }
    let name = format!("{}-{}", name(pod), text(volume, "name"));
    is_set(volume, "ephemeral").then_some(ClaimRef { name, is_ephemeral: true })
}

/// The claim of this name in the pod's namespace.
pub fn claim<'a>(cluster: &'a Cluster, pod: &Value, claim_name: &str) -> Option<&'a Value> {
    cluster.get("PersistentVolumeClaim", &format!("{}/{claim_name}", namespace(pod)))
}

/// The error text for a missing claim.
pub fn not_found(claim_name: &str) -> String {
    format!("persistentvolumeclaim {claim_name:?} not found")
}

/// The error of an ephemeral volume whose claim is not owned by the pod.
pub fn ownership_error(pod: &Value, claim: &Value) -> Option<String> {
    let is_controller = |owner: &&Value| at(owner, "controller").as_bool() == Some(true);
    let controller = list(claim, "metadata.ownerReferences").iter().find(is_controller);
    let is_owner = controller.is_some_and(|owner| text(owner, "uid") == text(pod, "metadata.uid"));
    let error = format!("PVC {} was not created for pod {} (pod is not owner)", key(claim), key(pod));
    (!is_owner).then_some(error)
}

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The storage class of a claim; empty where there is none.
pub fn class_of_claim(claim: &Value) -> &str {
    annotation(claim, CLASS_ANNOTATION).unwrap_or_else(|| text(claim, "spec.storageClassName"))
}

/// The storage class of a volume; empty where there is none.
pub fn class_of_volume(volume: &Value) -> &str {
    annotation(volume, CLASS_ANNOTATION).unwrap_or_else(|| text(volume, "spec.storageClassName"))
}

/// Whether the claim is bound to a volume, and the binding is complete.
pub fn is_fully_bound(claim: &Value) -> bool {
    !text(claim, "spec.volumeName").is_empty() && annotation(claim, "pv.kubernetes.io/bind-completed").is_some()
}

/// Whether the claim's class has the binding mode WaitForFirstConsumer.
pub fn waits_for_pod(cluster: &Cluster, claim: &Value) -> Result<bool, String> {
    let class_name = class_of_claim(claim);
    match cluster.get("StorageClass", class_name) {
        None => Ok(false),
        Some(class) if is_set(class, "volumeBindingMode") => {
            Ok(text(class, "volumeBindingMode") == "WaitForFirstConsumer")
        }
        Some(_) => Err(format!("VolumeBindingMode not set for StorageClass {class_name:?}")),
    }
}

/// Whether a volume can be used on a node. Requirements about fields are ignored.
pub fn suits_node(volume: &Value, node: &Value) -> bool {
    let required = at(volume, "spec.nodeAffinity.required");
    required.is_null() || node_selector_matches(required, labels(node), "")
}

/// The storage request of a claim, unrounded.
pub fn asked_storage(claim: &Value) -> Option<Quantity> {
    written(claim, "spec.resources.requests", "storage")
}

fn is_bound_to(volume: &Value, claim: &Value) -> bool {
    let reference = at(volume, "spec.claimRef");
    let uid = text(reference, "uid");
    !reference.is_null()
        && text(reference, "name") == name(claim)
        && text(reference, "namespace") == namespace(claim)
        && (uid.is_empty() || uid == text(claim, "metadata.uid"))
}

/// The smallest volume of the claim's class that matches the claim and the node, or the one that is reserved for the claim.
/// Of equally small ones, the first by name.
pub fn find_volume<'a>(
    cluster: &'a Cluster,
    claim: &Value,
    node: &Value,
    taken: &[&str],
) -> Result<Option<&'a Value>, String> {
    let selector =
        match at(claim, "spec.selector") {
            Value::Null => None,
            selector => Some(Selector::parse(selector).map_err(|error| {
                format!("error creating internal label selector for claim: {}: {error}", key(claim))
            })?),
        };
    let asked = asked_storage(claim).unwrap_or(Quantity::ZERO);
    let size = |volume: &Value| written(volume, "spec.capacity", "storage").unwrap_or(Quantity::ZERO);
    let mode = |object: &Value| match text(object, "spec.volumeMode") {
        "" => "Filesystem".to_owned(),
        mode => mode.to_owned(),
    };
    let attributes = |object: &Value| text(object, "spec.volumeAttributesClassName").to_owned();

    let mut smallest: Option<&Value> = None;
    for volume in cluster.all("PersistentVolume").filter(|volume| class_of_volume(volume) == class_of_claim(claim)) {
        let meant_for_another = is_set(volume, "spec.claimRef") && !is_bound_to(volume, claim);
        if taken.contains(&name(volume))
            || meant_for_another
            || asked.exceeds(size(volume))
            || mode(claim) != mode(volume)
            || attributes(claim) != attributes(volume)
            || is_set(volume, "metadata.deletionTimestamp")
        {
            continue;
        }
        if is_bound_to(volume, claim) {
            return Ok(suits_node(volume, node).then_some(volume));
        }
        let modes = texts(volume, "spec.accessModes");
        let fits = text(volume, "status.phase") == "Available"
            && selector.as_ref().is_none_or(|selector| selector.matches(labels(volume)))
            && suits_node(volume, node)
            && texts(claim, "spec.accessModes").iter().all(|mode| modes.contains(mode));
        if fits && smallest.is_none_or(|smallest| size(smallest).exceeds(size(volume))) {
            smallest = Some(volume);
        }
    }
    Ok(smallest)
}

/// The zones in a volume's label; `None` where the label is absent or malformed.
pub fn zones_of(volume: &Value, label_key: &str) -> Option<Vec<String>> {
    let zones: Vec<String> = label(volume, label_key)?.split("__").map(|zone| zone.trim().to_owned()).collect();
    (!zones.iter().any(String::is_empty)).then_some(zones)
}
