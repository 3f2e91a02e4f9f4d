//! Which kinds have to be followed for a set of predicates, where the API serves them, and the permissions this takes.
//!
//! Start at [`needed`]: what predicates import decides what is followed, so a policy without volume predicates needs no
//! permission to read volumes. [`cluster_role`] says what has to be granted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::limits::LIST_PAGE_OBJECTS;
use nodesift_object::Kind;
use nodesift_sandbox::Interface;

/// Kinds that are followed whatever the predicates import: they are the table and what is counted in it.
const ALWAYS: [Kind; 2] = [Kind::Node, Kind::Pod];

/// The kinds that predicates with these imports read, nodes and pods included.
pub fn needed(imports: impl IntoIterator<Item = Interface>) -> BTreeSet<Kind> {
    ALWAYS.into_iter().chain(imports.into_iter().flat_map(read_by).copied()).collect()
}

/// The kinds besides nodes and pods whose objects an interface's answers are made of.
fn read_by(interface: Interface) -> &'static [Kind] {
    match interface {
        // A DeviceClass can serve an extended resource in place of the nodes.
        Interface::NodeResources => &[Kind::DeviceClass],
        // The default selector of a pod comes from what owns it.
        Interface::PodSpread => &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet],
        // Selectors of namespaces are matched here. `pod-affinity` only hands them over as the pod has them.
        Interface::ClusterPods | Interface::ClusterAffinity => &[Kind::Namespace],
        Interface::ClusterAttachments => &[
            Kind::PersistentVolumeClaim,
            Kind::PersistentVolume,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::VolumeAttachment,
        ],
        // CSINodes say where in-tree volumes are migrated.
        Interface::ClusterStorage => &[
            Kind::PersistentVolumeClaim,
            Kind::PersistentVolume,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::CsiDriver,
            Kind::CsiStorageCapacity,
        ],
        // From pods and nodes alone; disks and claims in use are counted by the names that pods give them.
        Interface::PodLabels
        | Interface::PodAnnotations
        | Interface::PodPlacement
        | Interface::PodTolerations
        | Interface::PodResources
        | Interface::PodAffinity
        | Interface::PodFeatures
        | Interface::PodVolumes
        | Interface::NodeIdentity
        | Interface::NodeLabels
        | Interface::NodeAnnotations
        | Interface::NodeTaints
        | Interface::NodePorts
        | Interface::NodeFeatures
        | Interface::ClusterVolumeUse => &[],
    }
}

/// Where the API serves a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// Empty for the core group.
    pub group: &'static str,
    /// Versions that can be read here, the best first: clusters serve one or another.
    pub versions: &'static [&'static str],
    /// The name in paths and permissions; also how people are told of the kind.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// Where a kind is served.
    pub fn of(kind: Kind) -> Self {
        let (group, plural, namespaced) = match kind {
            Kind::Node => ("", "nodes", false),
            Kind::Pod => ("", "pods", true),
            Kind::Namespace => ("", "namespaces", false),
            Kind::DeviceClass => ("resource.k8s.io", "deviceclasses", false),
            Kind::PersistentVolume => ("", "persistentvolumes", false),
            Kind::PersistentVolumeClaim => ("", "persistentvolumeclaims", true),
            Kind::StorageClass => ("storage.k8s.io", "storageclasses", false),
            Kind::CsiNode => ("storage.k8s.io", "csinodes", false),
            Kind::CsiDriver => ("storage.k8s.io", "csidrivers", false),
            Kind::CsiStorageCapacity => ("storage.k8s.io", "csistoragecapacities", true),
            Kind::VolumeAttachment => ("storage.k8s.io", "volumeattachments", false),
            Kind::Service => ("", "services", true),
            Kind::ReplicationController => ("", "replicationcontrollers", true),
            Kind::ReplicaSet => ("apps", "replicasets", true),
            Kind::StatefulSet => ("apps", "statefulsets", true),
        };
        let versions: &[&str] = if kind == Kind::DeviceClass { &["v1", "v1beta2", "v1beta1"] } else { &["v1"] };
        Self { group, versions, plural, namespaced }
    }

    /// Whether a server may do without the kind. What has been stable for longer than any supported release is served by
    /// whatever is an API server at all: where it is missing, something else has answered, and "there are no pods" would
    /// be the wrong conclusion. Devices became stable in 1.34.
    pub fn is_optional(&self) -> bool {
        self.group == "resource.k8s.io"
    }

    /// Path and query of a page of the list over all namespaces; the first page without a token.
    pub fn list_uri(&self, version: usize, next: Option<&str>) -> String {
        let mut uri = format!("{}?limit={LIST_PAGE_OBJECTS}", self.path(version));
        if let Some(next) = next {
            uri.push_str("&continue=");
            push_encoded(&mut uri, next);
        }
        uri
    }

    /// Path and query of a watch of what comes after a resource version.
    pub fn watch_uri(&self, version: usize, after: &str, seconds: u64) -> String {
        let mut uri = format!("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}", self.path(version));
        uri.push_str("&resourceVersion=");
        push_encoded(&mut uri, after);
        uri
    }

    fn path(&self, version: usize) -> String {
        let version = self.versions.get(version).copied().unwrap_or("v1");
        match self.group {
            "" => format!("/api/{version}/{}", self.plural),
            group => format!("/apis/{group}/{version}/{}", self.plural),
        }
    }
}

/// Adds a value to a query, everything but unreserved characters percent-encoded.
fn push_encoded(uri: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _infallible = write!(uri, "%{byte:02X}");
        }
    }
}

/// What has to be granted to follow some kinds, as the YAML of a ClusterRole.
pub fn cluster_role(kinds: &BTreeSet<Kind>) -> String {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for resource in kinds.iter().map(|kind| Resource::of(*kind)) {
        groups.entry(resource.group).or_default().insert(resource.plural);
    }
    let mut role =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: nodesift\nrules:\n".to_owned();
    for (group, resources) in groups {
        let resources = resources.into_iter().collect::<Vec<_>>().join(", ");
        let _infallible =
            writeln!(role, "- apiGroups: [{group:?}]\n  resources: [{resources}]\n  verbs: [list, watch]");
    }
    role
}

/// The permission that one kind takes, in words.
pub fn permission(kind: Kind) -> String {
    let resource = Resource::of(kind);
    match resource.group {
        "" => format!("list and watch of {} in all namespaces", resource.plural),
        group => format!("list and watch of {}.{group} in all namespaces", resource.plural),
    }
}

#[cfg(test)]
mod tests;
