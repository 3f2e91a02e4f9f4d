//! VolumeZone: a node takes a pod only where it stands in the zones and regions of the volumes that the pod's claims
//! are bound to.
//!
//! As kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/volumezone. [`topology`] reads the labels
//! of volumes, [`Places`] compares them with those of nodes.

mod topology;

use nodesift_sdk::columns::cluster_storage::BindingMode;
use nodesift_sdk::columns::pod_volumes::Volume;
use nodesift_sdk::columns::{cluster_storage, node_labels, pod_volumes};
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict, kernels};
use topology::Requirement;

/// Why a node is rejected.
pub const REASON: &str = "node(s) had no available volume zone";

/// The predicate.
#[derive(Debug)]
pub struct VolumeZone;

impl Predicate for VolumeZone {
    const NAME: &'static str = "VolumeZone";
    const SUMMARY: &'static str = "rejects nodes that stand in another zone or region than the pod's volumes";
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn filter(&self, rows: usize) -> Verdict {
        let requirements = match requirements() {
            Ok(requirements) if requirements.is_empty() => return Verdict::FitsAll,
            Ok(requirements) => requirements,
            Err(reason) => return Verdict::FitsNone(Failure::unresolvable(reason)),
        };
        let places = Places::read();
        let mut patterns = vec![0; rows];
        for requirement in &requirements {
            places.mark_elsewhere(&mut patterns, requirement);
        }
        places.clear_anywhere(&mut patterns);
        Verdict::by_pattern(&patterns, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(VolumeZone);

/// What the volumes ask that the pod's claims are bound to: `getPVbyPod` of the plugin. Claims that are made for the
/// pod are not looked at.
///
/// # Errors
///
/// Why no node will do.
fn requirements() -> Result<Vec<Requirement>, String> {
    let mut requirements = Vec::new();
    for volume in pod_volumes::volumes() {
        let Volume::Claim(claim) = volume else { continue };
        if claim.ephemeral {
            continue;
        }
        let name = claim.name;
        if name.is_empty() {
            return Err("PersistentVolumeClaim had no name".into());
        }
        let claim =
            cluster_storage::claim_named(&name).ok_or_else(|| format!("persistentvolumeclaim {name:?} not found"))?;
        if claim.volume_name.is_empty() {
            unbound(claim.class_name.as_deref().unwrap_or_default())?;
            continue;
        }
        let volume = cluster_storage::volume_named(&claim.volume_name)
            .ok_or_else(|| format!("persistentvolume {:?} not found", claim.volume_name))?;
        requirements.extend(topology::requirements(&volume.labels));
    }
    Ok(requirements)
}

/// Whether a claim of this class may still be unbound.
///
/// # Errors
///
/// Why not.
fn unbound(class: &str) -> Result<(), String> {
    if class.is_empty() {
        return Err("PersistentVolumeClaim had no pv name and storageClass name".into());
    }
    let found = cluster_storage::class_named(class)
        .ok_or_else(|| format!("storageclass.storage.k8s.io {class:?} not found"))?;
    match found.binding_mode {
        None => Err(format!("VolumeBindingMode not set for StorageClass {class:?}")),
        Some(BindingMode::WaitForFirstConsumer) => Ok(()),
        Some(BindingMode::Immediate) => Err("PersistentVolume had no name".into()),
    }
}

/// Where nodes stand: their columns of the labels of zone and region.
struct Places {
    columns: [Vec<u32>; topology::LABELS.len()],
}

impl Places {
    fn read() -> Self {
        Self { columns: topology::LABELS.map(node_labels::column) }
    }

    fn column(&self, key: &str) -> &[u32] {
        let index = topology::LABELS.iter().position(|known| *known == key);
        index.and_then(|index| self.columns.get(index)).map_or(&[], Vec::as_slice)
    }

    /// Marks rows that do not stand where a volume asks for. A node without the beta label is asked for the other one.
    fn mark_elsewhere(&self, patterns: &mut [u8], requirement: &Requirement) {
        let codes = |key: &str| -> Vec<u32> {
            requirement.values.iter().filter_map(|value| node_labels::code(key, value)).collect()
        };
        let newer = topology::newer(requirement.key);
        let (own, own_codes) = (self.column(requirement.key), codes(requirement.key));
        let (other, other_codes) = (self.column(newer), codes(newer));
        for ((pattern, own), other) in patterns.iter_mut().zip(own).zip(other) {
            let is_there = if *own == 0 { other_codes.contains(other) } else { own_codes.contains(own) };
            *pattern |= u8::from(!is_there);
        }
    }

    /// Clears the marks of rows that say nowhere where they stand: there may be one zone only.
    fn clear_anywhere(&self, patterns: &mut [u8]) {
        let mut somewhere = vec![0_u8; patterns.len()];
        for column in &self.columns {
            kernels::update(&mut somewhere, column, |known, code| known | u8::from(code != 0));
        }
        kernels::update(patterns, &somewhere, |pattern, somewhere| pattern & somewhere);
    }
}

#[cfg(test)]
mod tests;
