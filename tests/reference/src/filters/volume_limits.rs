//! NodeVolumeLimits: the number of volumes per CSI driver that a node can attach.
//!
//! Source: P/nodevolumelimits/csi.go.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::{annotation, at, flag, key, list, name, namespace, text};
use serde_json::Value;

use crate::kubernetes::Switches;
use crate::outcome::{Code, Failure, Outcome};
use crate::volumes::translation::{Plugin, inline_handle, plugin_named, plugin_of, volume_handle};
use crate::volumes::{claim, claim_ref, class_of_claim, not_found, ownership_error};

/// Unique volumes: the driver by `driver/handle`.
type Volumes = BTreeMap<String, String>;

pub(super) fn judge(cluster: &Cluster, pod: &Value, switches: &Switches) -> Outcome {
    let counts = |volume: &Value| claim_ref(pod, volume).is_some() || plugin_of(volume).is_some();
    if !list(pod, "spec.volumes").iter().any(counts) {
        return Outcome::fits_all();
    }
    Outcome::each_node(cluster.nodes(), |node| judge_node(cluster, pod, node, switches).err())
}

fn judge_node(cluster: &Cluster, pod: &Value, node: &Value, switches: &Switches) -> Result<(), Failure> {
    let error = |text: String| Failure::new(Code::Error, format!("running \"NodeVolumeLimits\" filter plugin: {text}"));
    let csi_node = cluster.get("CSINode", name(node));
    let on_node = OnNode { csi_node, by_annotation: switches.has("PortworxMigrationByAnnotation") };
    let mut new = Volumes::new();
    attachable(cluster, pod, on_node, true, &mut new).map_err(|problem| match problem {
        Problem::NotFound(text) => Failure::new(Code::UnschedulableAndUnresolvable, text),
        Problem::Other(text) => error(text),
    })?;
    if switches.has("VolumeLimitScaling") {
        // kube-scheduler names any of several drivers; the first by name stands for them.
        let drivers: BTreeSet<&String> = new.values().collect();
        if let Some(driver) = drivers.into_iter().find(|driver| is_missing(cluster, csi_node, driver)) {
            let reason = format!("{driver} CSI driver is not installed on the node");
            return Err(Failure::new(Code::Unschedulable, reason));
        }
    }
    let limits = limits(csi_node);
    if new.is_empty() || limits.is_empty() {
        return Ok(());
    }

    let mut attached = Volumes::new();
    for other in cluster.pods_on(node) {
        attachable(cluster, other, on_node, false, &mut attached)
            .map_err(|(Problem::NotFound(text) | Problem::Other(text))| error(text))?;
    }
    new.retain(|volume, _| !attached.contains_key(volume));
    attached.extend(attachments(cluster, node));

    let count = |volumes: &Volumes, driver: &str| volumes.values().filter(|known| *known == driver).count();
    let exceeded = limits.iter().any(|(driver, limit)| {
        let more = count(&new, driver);
        more > 0 && i64::try_from(count(&attached, driver) + more).is_ok_and(|sum| sum > *limit)
    });
    match exceeded {
        true => Err(Failure::new(Code::Unschedulable, "node(s) exceed max volume count")),
        false => Ok(()),
    }
}

/// Whether a driver must be on nodes, and is not on this one.
fn is_missing(cluster: &Cluster, csi_node: Option<&Value>, driver: &str) -> bool {
    let listed = csi_node.map_or(&[][..], |node| list(node, "spec.drivers"));
    let required = cluster.get("CSIDriver", driver);
    required.is_some_and(|driver| flag(driver, "spec.preventPodSchedulingIfMissing"))
        && !listed.iter().any(|known| text(known, "name") == driver)
}

/// A node as far as in-tree volumes depend on it.
#[derive(Clone, Copy)]
struct OnNode<'a> {
    csi_node: Option<&'a Value>,
    /// Whether the CSINode must list the plugin of Portworx.
    by_annotation: bool,
}

impl OnNode<'_> {
    /// Whether a CSI driver replaces a plugin on the node.
    fn migrates(self, plugin: &Plugin) -> bool {
        let listed = |node: &Value| {
            let plugins = annotation(node, "storage.alpha.kubernetes.io/migrated-plugins").unwrap_or_default();
            plugins.split(',').any(|known| known == plugin.in_tree)
        };
        let must_be_listed = self.by_annotation && plugin.field == "portworxVolume";
        plugin.is_migrated && self.csi_node.is_some_and(|node| !must_be_listed || listed(node))
    }
}

enum Problem {
    /// An object does not exist.
    NotFound(String),
    Other(String),
}

/// Adds the volumes of a pod that CSI drivers have to attach.
fn attachable(
    cluster: &Cluster,
    pod: &Value,
    on_node: OnNode<'_>,
    is_new: bool,
    volumes: &mut Volumes,
) -> Result<(), Problem> {
    for volume in list(pod, "spec.volumes") {
        let Some(reference) = claim_ref(pod, volume) else {
            if let Some(plugin) = plugin_of(volume).filter(|plugin| on_node.migrates(plugin)) {
                let handle = inline_handle(plugin, volume).map_err(|error| {
                    let name = text(volume, "name");
                    Problem::Other(format!("converting volume({name}) from inline to csi: {error}"))
                })?;
                volumes.insert(format!("{}/{handle}", plugin.driver), plugin.driver.to_owned());
            }
            continue;
        };
        if reference.name.is_empty() {
            return Err(Problem::Other("PersistentVolumeClaim had no name".to_owned()));
        }
        let Some(claim) = claim(cluster, pod, &reference.name) else {
            if is_new {
                let claim = format!("{}/{}", namespace(pod), reference.name);
                return Err(Problem::NotFound(format!("looking up PVC {claim}: {}", not_found(&reference.name))));
            }
            continue;
        };
        if let Some(error) = ownership_error(pod, claim).filter(|_| reference.is_ephemeral) {
            return Err(Problem::Other(error));
        }
        if let Some((driver, handle)) = driver_of(cluster, claim, on_node) {
            volumes.insert(format!("{driver}/{handle}"), driver);
        }
    }
    Ok(())
}

/// The driver of a claim and its volume handle; a unique name for a volume that is not provisioned yet.
fn driver_of(cluster: &Cluster, claim: &Value, on_node: OnNode<'_>) -> Option<(String, String)> {
    let found = match cluster.get("PersistentVolume", text(claim, "spec.volumeName")) {
        Some(volume) if at(volume, "spec.csi").is_null() => {
            let plugin = plugin_of(at(volume, "spec")).filter(|plugin| on_node.migrates(plugin))?;
            (plugin.driver.to_owned(), volume_handle(plugin, volume).ok()?)
        }
        Some(volume) => (text(volume, "spec.csi.driver").to_owned(), text(volume, "spec.csi.volumeHandle").to_owned()),
        None => {
            let class = cluster.get("StorageClass", class_of_claim(claim))?;
            let provisioner = text(class, "provisioner");
            let driver = match plugin_named(provisioner) {
                Some(plugin) if on_node.migrates(&plugin) => plugin.driver,
                Some(_) => return None,
                None => provisioner,
            };
            (driver.to_owned(), format!("yet to be made-{}", key(claim)))
        }
    };
    (!found.0.is_empty() && !found.1.is_empty()).then_some(found)
}

fn limits(csi_node: Option<&Value>) -> BTreeMap<String, i64> {
    let drivers = csi_node.map_or(&[][..], |node| list(node, "spec.drivers"));
    drivers
        .iter()
        .filter_map(|driver| Some((text(driver, "name").to_owned(), at(driver, "allocatable.count").as_i64()?)))
        .collect()
}

/// The attachments to the node by VolumeAttachment objects.
fn attachments(cluster: &Cluster, node: &Value) -> Volumes {
    let here = cluster.all("VolumeAttachment").filter(|attachment| text(attachment, "spec.nodeName") == name(node));
    here.filter_map(|attachment| {
        let driver = text(attachment, "spec.attacher");
        let volume = cluster.get("PersistentVolume", text(attachment, "spec.source.persistentVolumeName"))?;
        let is_csi = !driver.is_empty() && !at(volume, "spec.csi").is_null();
        let handle = text(volume, "spec.csi.volumeHandle");
        is_csi.then(|| (format!("{driver}/{handle}"), driver.to_owned()))
    })
    .collect()
}
