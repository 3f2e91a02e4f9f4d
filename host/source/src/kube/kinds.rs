//! Which kinds are watched for a set of predicates, where the API serves them, and which RBAC rules that needs.
//!
//! What predicates import decides which kinds are watched: a policy without volume predicates needs no permission to read
//! volumes. This is the only place that knows both interfaces and kinds. Start at [`needed`] and [`Resource`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::limits::LIST_PAGE_OBJECTS;
use nodesift_object::Kind;
use nodesift_sandbox::Interface;

/// Kinds that are watched for every policy. A pod that requests what only a DeviceClass serves must not simply fit, whichever
/// predicates run, so the engine itself reads device classes.
const ALWAYS: [Kind; 3] = [Kind::Node, Kind::Pod, Kind::DeviceClass];

/// The kinds behind these imports, those of every policy included.
pub fn needed(imports: impl IntoIterator<Item = Interface>) -> BTreeSet<Kind> {
    ALWAYS.into_iter().chain(imports.into_iter().flat_map(read_by).copied()).collect()
}

/// The kinds besides [`ALWAYS`] from which an interface's facts are computed: its note `@kinds` in the contract.
fn read_by(interface: Interface) -> &'static [Kind] {
    match interface {
        // contract: kinds, made by `make contract`
        Interface::PodSpread => &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet],
        Interface::NamespaceLabels | Interface::ClusterPods | Interface::ClusterAffinity => &[Kind::Namespace],
        Interface::PodClaims | Interface::NodeParties => &[Kind::ResourceClaim],
        Interface::NodeDevices => &[Kind::ResourceSlice, Kind::ResourceClaim],
        Interface::ClusterAttachments => &[
            Kind::PersistentVolumeClaim,
            Kind::PersistentVolume,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::VolumeAttachment,
        ],
        Interface::ClusterStorage => &[
            Kind::PersistentVolumeClaim,
            Kind::PersistentVolume,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::CsiDriver,
            Kind::CsiStorageCapacity,
        ],
        Interface::ConfigMaps => &[Kind::ConfigMap],
        Interface::PodLabels
        | Interface::PodAnnotations
        | Interface::PodPlacement
        | Interface::PodTolerations
        | Interface::PodResources
        | Interface::PodAffinity
        | Interface::PodFeatures
        | Interface::PodVolumes
        | Interface::PodSpec
        | Interface::PodOwner
        | Interface::NodeIdentity
        | Interface::NodeLabels
        | Interface::NodeAnnotations
        | Interface::NodeTaints
        | Interface::NodeResources
        | Interface::NodeSums
        | Interface::NodePorts
        | Interface::NodeFeatures
        | Interface::NodeConditions
        | Interface::NodeInfo
        | Interface::NodeImages
        | Interface::NodeAge
        | Interface::ClusterControllers
        | Interface::ClusterVolumeUse
        | Interface::Time
        | Interface::RowSets
        | Interface::Log => &[],
        // contract: end
    }
}

/// Where the API serves a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// The name of the kind as Kubernetes writes it.
    pub kind: &'static str,
    /// Empty for the core group.
    pub group: &'static str,
    /// Versions that decode, the best first. Every cluster serves some of them.
    pub versions: &'static [&'static str],
    /// The name in paths, RBAC rules, logs and metrics.
    pub plural: &'static str,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// Whether a server may lack it.
    pub optional: bool,
}

impl From<Kind> for Resource {
    fn from(kind: Kind) -> Self {
        Self::of(kind)
    }
}

impl Resource {
    /// The resource of a kind.
    pub fn of(kind: Kind) -> Self {
        let (group, plural, namespaced) = match kind {
            Kind::Node => ("", "nodes", false),
            Kind::Pod => ("", "pods", true),
            Kind::Namespace => ("", "namespaces", false),
            Kind::DeviceClass => ("resource.k8s.io", "deviceclasses", false),
            Kind::ResourceSlice => ("resource.k8s.io", "resourceslices", false),
            Kind::ResourceClaim => ("resource.k8s.io", "resourceclaims", true),
            Kind::ConfigMap => ("", "configmaps", true),
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
        let versions: &[&str] = match kind {
            Kind::DeviceClass | Kind::ResourceSlice | Kind::ResourceClaim => &["v1", "v1beta2", "v1beta1"],
            _ => &["v1"],
        };
        // Kinds that have been stable for longer than any supported release are served by every API server. Where one of those
        // is missing, something else has answered, and it would be wrong to conclude that there are no objects.
        // `resource.k8s.io` became stable in 1.34.
        let optional = group == "resource.k8s.io";
        Self { kind: kind.name(), group, versions, plural, namespaced, optional }
    }

    /// Whether a server may lack the kind.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// Path and query of a list page over all namespaces. `version` is an index into [`Resource::versions`]; `next` is the
    /// token of the page, `None` for the first.
    pub fn list_uri(&self, version: usize, next: Option<&str>) -> String {
        let mut uri = format!("{}?limit={LIST_PAGE_OBJECTS}", self.path(version));
        if let Some(next) = next {
            uri.push_str("&continue=");
            push_encoded(&mut uri, next);
        }
        uri
    }

    /// Path and query of a list of at most one object, as the server knows it now: what counts is its resourceVersion.
    pub fn probe_uri(&self, version: usize) -> String {
        format!("{}?limit=1", self.path(version))
    }

    /// Path and query of a watch from the resourceVersion `after`, which the server ends after so many `seconds`. `version` is
    /// an index into [`Resource::versions`].
    pub fn watch_uri(&self, version: usize, after: &str, seconds: u64) -> String {
        let mut uri = format!("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}", self.path(version));
        uri.push_str("&resourceVersion=");
        push_encoded(&mut uri, after);
        uri
    }

    /// Path and query that apply the status of the object with this name, as the field manager `manager`. `version` is an index
    /// into [`Resource::versions`].
    pub fn status_uri(&self, version: usize, name: &str, manager: &str) -> String {
        let mut uri = format!("{}/", self.path(version));
        push_encoded(&mut uri, name);
        uri.push_str("/status?force=true&fieldManager=");
        push_encoded(&mut uri, manager);
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

/// Makes of the path and query of a list or watch those of the object with this name: `namespace/name` of a namespaced one.
pub(super) fn narrow(uri: &mut String, resource: &Resource, name: &str) {
    let name = match name.split_once('/') {
        Some((namespace, name)) => {
            let (all, of_one) =
                (format!("/{}?", resource.plural), format!("/namespaces/{namespace}/{}?", resource.plural));
            *uri = uri.replacen(&all, &of_one, 1);
            name
        }
        None => name,
    };
    uri.push_str("&fieldSelector=");
    push_encoded(uri, &format!("metadata.name={name}"));
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

/// The ClusterRole that watching some kinds needs, as YAML. ConfigMaps are not in it: only those that the policy lists are read, each
/// by a Role of its namespace with `resourceNames`.
pub fn cluster_role(kinds: &BTreeSet<Kind>) -> String {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for resource in kinds.iter().filter(|kind| **kind != Kind::ConfigMap).map(|kind| Resource::of(*kind)) {
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

/// The permission that watching one kind needs, in words.
pub fn permission(resource: impl Into<Resource>) -> String {
    let resource = resource.into();
    match resource.group {
        _ if resource == Resource::of(Kind::ConfigMap) => {
            "list and watch, in its namespace, of each ConfigMap that spec.facts.configMaps names (a Role with resourceNames)"
                .to_owned()
        }
        "" => format!("list and watch of {} in all namespaces", resource.plural),
        group => format!("list and watch of {}.{group} in all namespaces", resource.plural),
    }
}

#[cfg(test)]
mod tests;
