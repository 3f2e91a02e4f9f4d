//! In-tree volume types that were migrated to CSI drivers.
//!
//! Source: csi-translation-lib `translate.go`, `plugins/*.go`; P/nodevolumelimits/utils.go, P/volumebinding/binder.go.

use std::collections::BTreeSet;

use nodesift_fixtures::json::{annotation, at, is_set, label, list, text};
use serde_json::{Value, json};

/// An in-tree volume type that a CSI driver replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plugin {
    /// The field of a volume, or of a PersistentVolume's spec, that holds it.
    pub field: &'static str,
    /// The name of its in-tree plugin.
    pub in_tree: &'static str,
    /// The CSI driver that replaces it.
    pub driver: &'static str,
    /// The node label that the driver uses for zones, if a volume's zones are translated to it.
    topology_key: Option<&'static str>,
    /// Whether the scheduler treats the type as migrated; others are not translated.
    pub is_migrated: bool,
}

const PLUGINS: [Plugin; 7] = [
    Plugin {
        field: "awsElasticBlockStore",
        in_tree: "kubernetes.io/aws-ebs",
        driver: "ebs.csi.aws.com",
        topology_key: Some("topology.ebs.csi.aws.com/zone"),
        is_migrated: true,
    },
    Plugin {
        field: "gcePersistentDisk",
        in_tree: "kubernetes.io/gce-pd",
        driver: "pd.csi.storage.gke.io",
        topology_key: Some("topology.gke.io/zone"),
        is_migrated: true,
    },
    Plugin {
        field: "cinder",
        in_tree: "kubernetes.io/cinder",
        driver: "cinder.csi.openstack.org",
        topology_key: Some("topology.cinder.csi.openstack.org/zone"),
        is_migrated: true,
    },
    Plugin {
        field: "azureDisk",
        in_tree: "kubernetes.io/azure-disk",
        driver: "disk.csi.azure.com",
        topology_key: None,
        is_migrated: true,
    },
    Plugin {
        field: "portworxVolume",
        in_tree: "kubernetes.io/portworx-volume",
        driver: "pxd.portworx.com",
        topology_key: None,
        is_migrated: true,
    },
    Plugin {
        field: "azureFile",
        in_tree: "kubernetes.io/azure-file",
        driver: "file.csi.azure.com",
        topology_key: None,
        is_migrated: false,
    },
    Plugin {
        field: "vsphereVolume",
        in_tree: "kubernetes.io/vsphere-volume",
        driver: "csi.vsphere.vmware.com",
        topology_key: None,
        is_migrated: false,
    },
];

/// The volume type of a pod's volume, or of a PersistentVolume's spec.
pub fn plugin_of(volume: &Value) -> Option<Plugin> {
    PLUGINS.into_iter().find(|plugin| is_set(volume, plugin.field))
}

/// The volume type of an in-tree plugin's name.
pub fn plugin_named(in_tree: &str) -> Option<Plugin> {
    PLUGINS.into_iter().find(|plugin| plugin.in_tree == in_tree)
}

/// The CSI volume handle of a pod's inline volume.
pub fn inline_handle(plugin: Plugin, volume: &Value) -> Result<String, String> {
    let source = at(volume, plugin.field);
    match plugin.field {
        "gcePersistentDisk" => Ok(format!("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{}", text(source, "pdName"))),
        _ => handle(plugin, source),
    }
}

/// The CSI volume handle of a PersistentVolume.
pub fn volume_handle(plugin: Plugin, volume: &Value) -> Result<String, String> {
    let source = at(volume, "spec").get(plugin.field).unwrap_or(&Value::Null);
    if plugin.field != "gcePersistentDisk" {
        return handle(plugin, source);
    }
    let beta = label(volume, "failure-domain.beta.kubernetes.io/zone").unwrap_or("");
    let zones = if beta.is_empty() { label(volume, "topology.kubernetes.io/zone").unwrap_or("") } else { beta };
    let disk = text(source, "pdName");
    match zones.split("__").collect::<Vec<_>>()[..] {
        [""] => Ok(format!("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{disk}")),
        [zone] => Ok(format!("projects/UNSPECIFIED/zones/{zone}/disks/{disk}")),
        ref zones => {
            let region = gce_region(zones).map_err(|error| format!("failed to get region from zones: {error}"))?;
            Ok(format!("projects/UNSPECIFIED/regions/{region}/disks/{disk}"))
        }
    }
}

fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let [locale, region, _] = zone.split('-').collect::<Vec<_>>()[..] else {
            return Err(format!("zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"));
        };
        regions.insert(format!("{locale}-{region}"));
    }
    match regions.len() {
        1 => Ok(regions.into_iter().collect()),
        _ => Err(format!("multiple or no regions gotten from zones, got: {regions:?}")),
    }
}

fn handle(plugin: Plugin, source: &Value) -> Result<String, String> {
    match plugin.field {
        "awsElasticBlockStore" => ebs_handle(text(source, "volumeID"))
            .map_err(|error| format!("failed to translate Kubernetes ID to EBS Volume ID {error}")),
        "azureDisk" => match text(source, "kind") {
            kind if kind.is_empty() || kind.eq_ignore_ascii_case("managed") => Ok(text(source, "diskURI").to_owned()),
            kind => Err(format!("kind({kind}) is not supported in csi migration")),
        },
        _ => Ok(text(source, "volumeID").to_owned()),
    }
}

/// `aws://zone/vol-x` becomes `vol-x`; a text of another form is the handle itself.
fn ebs_handle(volume_id: &str) -> Result<String, String> {
    let Some(rest) = volume_id.strip_prefix("aws://") else { return Ok(volume_id.to_owned()) };
    let path = rest.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
    match path.strip_prefix("vol-").is_some_and(|id| !id.contains('/')) {
        true => Ok(path.to_owned()),
        false => Err(format!("Invalid format for AWS volume ({volume_id})")),
    }
}

/// A PersistentVolume as seen by a node whose CSINode lists its type as migrated: its zones are required of the driver's own
/// node label.
pub fn translated(volume: &Value, csi_node: Option<&Value>) -> Result<Value, String> {
    let Some(plugin) = plugin_of(at(volume, "spec")).filter(|plugin| plugin.is_migrated) else {
        return Ok(volume.clone());
    };
    let moved = csi_node.and_then(|node| annotation(node, "storage.alpha.kubernetes.io/migrated-plugins"));
    if !moved.is_some_and(|moved| moved.split(',').any(|name| name == plugin.in_tree)) {
        return Ok(volume.clone());
    }
    volume_handle(plugin, volume).map_err(|error| format!("could not translate pv: {error}"))?;
    Ok(plugin.topology_key.map_or_else(|| volume.clone(), |topology_key| with_topology(volume, topology_key)))
}

const GA_ZONE: &str = "topology.kubernetes.io/zone";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const GA_REGION: &str = "topology.kubernetes.io/region";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

fn with_topology(volume: &Value, topology_key: &str) -> Value {
    let mut volume = volume.clone();
    let required = keys(&volume);
    let is_required = |key: &str| required.iter().any(|known| known == key);
    let labelled_beta_only = label(&volume, GA_ZONE).is_none() && label(&volume, BETA_ZONE).is_some();
    let is_beta = !is_required(GA_ZONE) && (is_required(BETA_ZONE) || labelled_beta_only);
    let (zone, region) = if is_beta { (BETA_ZONE, BETA_REGION) } else { (GA_ZONE, GA_REGION) };
    if has_values(&volume, zone) {
        rename(&mut volume, zone, topology_key);
    } else if let Some(zones) = label(&volume, zone) {
        let zones: BTreeSet<&str> = zones.split("__").map(str::trim).filter(|zone| !zone.is_empty()).collect();
        let requirement = json!({"key": topology_key, "operator": "In", "values": zones});
        if !zones.is_empty() {
            require(&mut volume, &requirement);
        }
    }
    if region == BETA_REGION && has_values(&volume, region) {
        rename(&mut volume, region, GA_REGION);
    }
    volume
}

const TERMS: &str = "spec.nodeAffinity.required.nodeSelectorTerms";

fn keys(volume: &Value) -> Vec<String> {
    let expressions = list(volume, TERMS).iter().flat_map(|term| list(term, "matchExpressions"));
    expressions.map(|expression| text(expression, "key").to_owned()).collect()
}

fn has_values(volume: &Value, key: &str) -> bool {
    let mut expressions = list(volume, TERMS).iter().flat_map(|term| list(term, "matchExpressions"));
    expressions.any(|expression| text(expression, "key") == key && !list(expression, "values").is_empty())
}

/// The terms of the volume's node affinity.
fn terms_mut(volume: &mut Value) -> Option<&mut Vec<Value>> {
    volume.pointer_mut("/spec/nodeAffinity/required/nodeSelectorTerms")?.as_array_mut()
}

fn rename(volume: &mut Value, from: &str, to: &str) {
    let terms = terms_mut(volume).into_iter().flatten();
    for expression in terms.flat_map(|term| term.get_mut("matchExpressions")?.as_array_mut()).flatten() {
        if text(expression, "key") == from {
            expression["key"] = json!(to);
        }
    }
}

/// Adds a requirement to every term; makes a first term if there is none.
fn require(volume: &mut Value, requirement: &Value) {
    if list(volume, TERMS).is_empty() {
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{}]}});
    }
    for term in terms_mut(volume).into_iter().flatten() {
        let mut expressions = list(term, "matchExpressions").to_vec();
        expressions.push(requirement.clone());
        term["matchExpressions"] = Value::from(expressions);
    }
}
