//! VolumeZone: rejects nodes outside the zones and regions of the volumes that the pod's claims are bound to.
//!
//! Equivalent to kube-scheduler's plugin of this name, pkg/scheduler/framework/plugins/volumezone. [`topology`] parses
//! the labels of volumes, [`ZoneColumns`] compares them with those of nodes.

mod topology;

use nodesift_sdk::columns::cluster_storage::BindingMode;
use nodesift_sdk::columns::pod_volumes::Volume;
use nodesift_sdk::columns::{cluster_storage, node_labels, pod_volumes};
use nodesift_sdk::{Failure, NoArgs, Predicate, Verdict, kernels};
use topology::Requirement;

/// Reason: the node is in another zone or region than a volume of the pod.
pub const REASON: &str = "node(s) had no available volume zone";

/// Rejects nodes in another zone or region than the pod's volumes.
#[derive(Debug)]
pub struct VolumeZone;

impl Predicate for VolumeZone {
    const NAME: &'static str = "VolumeZone";
    const SUMMARY: &'static str = "rejects nodes that are in another zone or region than the pod's volumes";
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
        let columns = ZoneColumns::read();
        let mut patterns = vec![0; rows];
        for requirement in &requirements {
            columns.mark_mismatch(&mut patterns, requirement);
        }
        columns.clear_unlabelled(&mut patterns);
        Verdict::by_pattern(&patterns, |_| Failure::unresolvable(REASON))
    }
}

nodesift_sdk::export!(VolumeZone);

/// The requirements of the volumes that the pod's claims are bound to: `getPVbyPod` of the plugin. Claims of generic
/// ephemeral volumes are not checked.
///
/// # Errors
///
/// The reason for all nodes, where an object is missing or a claim should be bound.
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
            check_unbound(claim.class_name.as_deref().unwrap_or_default())?;
            continue;
        }
        let volume = cluster_storage::volume_named(&claim.volume_name)
            .ok_or_else(|| format!("persistentvolume {:?} not found", claim.volume_name))?;
        requirements.extend(topology::requirements(&volume.labels));
    }
    Ok(requirements)
}

/// Checks that an unbound claim of this class has delayed binding.
///
/// # Errors
///
/// The reason for all nodes, where it has not.
fn check_unbound(class: &str) -> Result<(), String> {
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

/// The columns of the zone and region labels of nodes.
struct ZoneColumns {
    columns: [Vec<u32>; topology::LABELS.len()],
}

impl ZoneColumns {
    fn read() -> Self {
        Self { columns: topology::LABELS.map(node_labels::column) }
    }

    fn column(&self, key: &str) -> &[u32] {
        let index = topology::LABELS.iter().position(|known| *known == key);
        index.and_then(|index| self.columns.get(index)).map_or(&[], Vec::as_slice)
    }

    /// Marks the rows that do not meet the requirement of a volume. For a beta label, nodes without it are compared by
    /// the stable label.
    fn mark_mismatch(&self, patterns: &mut [u8], requirement: &Requirement) {
        let codes = |key: &str| -> Vec<u32> {
            requirement.values.iter().filter_map(|value| node_labels::code(key, value)).collect()
        };
        let stable_key = topology::stable_key(requirement.key);
        let (own, own_codes) = (self.column(requirement.key), codes(requirement.key));
        let (stable, stable_codes) = (self.column(stable_key), codes(stable_key));
        for ((pattern, own), stable) in patterns.iter_mut().zip(own).zip(stable) {
            let is_met = if *own == 0 { stable_codes.contains(stable) } else { own_codes.contains(own) };
            *pattern |= u8::from(!is_met);
        }
    }

    /// Clears the marks of rows without any zone or region label. As in kube-scheduler, such nodes are in a cluster
    /// with a single zone.
    fn clear_unlabelled(&self, patterns: &mut [u8]) {
        let mut has_label = vec![0_u8; patterns.len()];
        for column in &self.columns {
            kernels::update(&mut has_label, column, |known, code| known | u8::from(code != 0));
        }
        kernels::update(patterns, &has_label, |pattern, has_label| pattern & has_label);
    }
}

#[cfg(test)]
mod tests;
