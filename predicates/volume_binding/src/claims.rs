//! The pod's claims, sorted by what is left to do for them; pods whose claims are not ready are rejected everywhere.

use nodesift_sdk::Failure;
use nodesift_sdk::columns::cluster_storage::{BindingMode, Claim};
use nodesift_sdk::columns::pod_volumes::{ClaimRef, Volume};
use nodesift_sdk::columns::{cluster_storage, pod_volumes};

use crate::REASON_IMMEDIATE;

/// The phase of a claim whose volume is gone.
const LOST: &str = "Lost";

/// Claims in the order of the pod's volumes; a claim that two volumes name is there twice.
pub(crate) struct Claims {
    /// Bound to a volume.
    pub(crate) bound: Vec<Claim>,
    /// Waiting for a pod.
    pub(crate) waiting: Vec<Claim>,
}

impl Claims {
    /// The claims of the pod being filtered: `podHasPVCs` and `GetPodVolumeClaims` of the plugin.
    ///
    /// # Errors
    ///
    /// What every node is rejected for.
    pub(crate) fn of_pod() -> Result<Self, Failure> {
        let mut claims = Vec::new();
        for volume in pod_volumes::volumes() {
            if let Volume::Claim(claim) = volume {
                claims.push(ready(&claim).map_err(Failure::unresolvable)?);
            }
        }
        let mut sorted = Self { bound: Vec::new(), waiting: Vec::new() };
        let mut immediate = false;
        for claim in claims {
            if !claim.volume_name.is_empty() && claim.bind_completed {
                sorted.bound.push(claim);
                continue;
            }
            // A claim that names a volume of its own is bound by the control plane.
            match waits(&claim)? && claim.volume_name.is_empty() {
                true => sorted.waiting.push(claim),
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
/// Why the pod cannot run anywhere for now.
fn ready(volume: &ClaimRef) -> Result<Claim, String> {
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

/// Whether the claim's class makes it wait for a pod.
///
/// # Errors
///
/// Where the class does not say.
fn waits(claim: &Claim) -> Result<bool, Failure> {
    let Some(name) = claim.class_name.as_deref().filter(|name| !name.is_empty()) else { return Ok(false) };
    let Some(class) = cluster_storage::class_named(name) else { return Ok(false) };
    match class.binding_mode {
        Some(mode) => Ok(mode == BindingMode::WaitForFirstConsumer),
        None => Err(Failure::error(format!(
            "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set for StorageClass {name:?}"
        ))),
    }
}
