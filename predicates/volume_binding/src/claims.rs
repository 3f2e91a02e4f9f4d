//! The pod's claims, divided into bound ones and unbound ones with delayed binding. A pod with any other claim is
//! rejected on every node.

use nodesift_sdk::Failure;
use nodesift_sdk::columns::cluster_storage::{BindingMode, Claim};
use nodesift_sdk::columns::pod_volumes::{ClaimRef, Volume};
use nodesift_sdk::columns::{cluster_storage, pod_volumes};

use crate::REASON_IMMEDIATE;

/// The phase of a claim whose volume no longer exists.
const LOST: &str = "Lost";

/// Claims in the order of the pod's volumes. A claim that two volumes name is in the list twice.
pub(crate) struct Claims {
    /// Bound to a volume.
    pub(crate) bound: Vec<Claim>,
    /// Unbound; the binding mode of their class is WaitForFirstConsumer.
    pub(crate) delayed: Vec<Claim>,
}

impl Claims {
    /// The claims of the pod being filtered: `podHasPVCs` and `GetPodVolumeClaims` of the plugin.
    ///
    /// # Errors
    ///
    /// The failure of every node where a claim is missing or invalid, or should have been bound without a pod.
    pub(crate) fn for_pod() -> Result<Self, Failure> {
        let mut claims = Vec::new();
        for volume in pod_volumes::volumes() {
            if let Volume::Claim(claim) = volume {
                claims.push(usable_claim(&claim).map_err(Failure::unresolvable)?);
            }
        }
        let mut sorted = Self { bound: Vec::new(), delayed: Vec::new() };
        let mut immediate = false;
        for claim in claims {
            if !claim.volume_name.is_empty() && claim.bind_completed {
                sorted.bound.push(claim);
                continue;
            }
            // The control plane binds a claim that names a volume.
            match has_delayed_binding(&claim)? && claim.volume_name.is_empty() {
                true => sorted.delayed.push(claim),
                false => immediate = true,
            }
        }
        if immediate { Err(Failure::unresolvable(REASON_IMMEDIATE)) } else { Ok(sorted) }
    }
}

/// The claim of a volume.
///
/// # Errors
///
/// The reason for every node where the pod cannot use the claim.
fn usable_claim(volume: &ClaimRef) -> Result<Claim, String> {
    let name = &volume.name;
    let Some(claim) = cluster_storage::claim_named(name) else {
        return Err(if volume.ephemeral {
            format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}")
        } else {
            format!("persistentvolumeclaim {name:?} not found")
        });
    };
    if claim.phase == LOST {
        let volume = &claim.volume_name;
        return Err(format!("persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"));
    }
    if claim.deleting {
        return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
    }
    if volume.ephemeral {
        let (namespace, pod, uid) = pod_volumes::owner();
        if claim.controller_uid.as_deref() != Some(uid.as_str()) {
            return Err(format!("PVC {namespace}/{name} was not created for pod {namespace}/{pod} (pod is not owner)"));
        }
    }
    Ok(claim)
}

/// Whether the binding mode of the claim's class is WaitForFirstConsumer.
///
/// # Errors
///
/// Where the class does not set a binding mode.
fn has_delayed_binding(claim: &Claim) -> Result<bool, Failure> {
    let Some(name) = claim.class_name.as_deref().filter(|name| !name.is_empty()) else { return Ok(false) };
    let Some(class) = cluster_storage::class_named(name) else { return Ok(false) };
    match class.binding_mode {
        Some(mode) => Ok(mode == BindingMode::WaitForFirstConsumer),
        None => Err(Failure::error(format!(
            "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for StorageClass {name:?}"
        ))),
    }
}
