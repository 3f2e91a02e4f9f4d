//! Which kinds are watched for a set of predicates, where the API serves them, and which RBAC rules that needs.
//!
//! What predicates import decides which kinds are watched: a policy without volume predicates needs no permission to read
//! volumes. This is the only place that knows both interfaces and kinds. Start at [`needed`] and [`Resource`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::limits::LIST_PAGE_OBJECTS;
use nodesift_object::{Kind, KindInfo, Watched};
use nodesift_sandbox::Interface;

/// The kinds behind these imports, those of every policy included.
pub fn needed(imports: impl IntoIterator<Item = Interface>) -> BTreeSet<Kind> {
    always().chain(imports.into_iter().flat_map(read_by).copied()).collect()
}

/// Kinds that are watched for every policy.
fn always() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.info().watched == Watched::Always)
}

/// Whether only those objects of a kind are watched that the policy lists by name.
pub fn is_by_name(kind: Kind) -> bool {
    kind.info().watched == Watched::ByName
}

/// The kinds besides those of every policy from which an interface's facts are computed: its note `@kinds` in the contract.
fn read_by(interface: Interface) -> &'static [Kind] {
    match interface {
        // contract: kinds, made by `make contract`
        Interface::PodSpread => &[Kind::Service, Kind::ReplicationController, Kind::ReplicaSet, Kind::StatefulSet],
        Interface::NamespaceLabels
        | Interface::ClusterPods
        | Interface::ClusterAffinity
        | Interface::ClusterPreferences => &[Kind::Namespace],
        Interface::PodClaims | Interface::NodeParties => &[Kind::ResourceClaim],
        Interface::NodeDevices => &[Kind::ResourceSlice, Kind::ResourceClaim, Kind::DeviceTaintRule],
        Interface::ClusterAttachments => &[
            Kind::PersistentVolumeClaim,
            Kind::PersistentVolume,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::CsiDriver,
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
        | Interface::PodNonZeroRequests
        | Interface::PodImages
        | Interface::PodAffinity
        | Interface::PodPreferredAffinity
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
        | Interface::NodeNonZeroRequests
        | Interface::NodePorts
        | Interface::NodeFeatures
        | Interface::NodeConditions
        | Interface::NodeInfo
        | Interface::NodeImages
        | Interface::NodeAge
        | Interface::ClusterControllers
        | Interface::ClusterCandidates
        | Interface::ClusterVolumeUse
        | Interface::ClusterImages
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

impl Resource {
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

    /// Path and query of a list of the one object with this name: `namespace/name` of a namespaced one. `version` is an index into
    /// [`Resource::versions`].
    pub fn named_uri(&self, version: usize, name: &str) -> String {
        let mut uri = self.list_uri(version, None);
        narrow(&mut uri, self, name);
        uri
    }

    /// Path of the objects of a namespaced kind in one namespace, or of the one that has this name there. `version` is an index into
    /// [`Resource::versions`].
    pub fn namespaced_uri(&self, version: usize, namespace: &str, name: Option<&str>) -> String {
        let mut uri = format!("{}/namespaces/", self.root(version));
        push_encoded(&mut uri, namespace);
        uri.push('/');
        uri.push_str(self.plural);
        if let Some(name) = name {
            uri.push('/');
            push_encoded(&mut uri, name);
        }
        uri
    }

    fn path(&self, version: usize) -> String {
        format!("{}/{}", self.root(version), self.plural)
    }

    /// Path of the group and version.
    fn root(&self, version: usize) -> String {
        let version = self.versions.get(version).copied().unwrap_or("v1");
        match self.group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        }
    }
}

impl From<Kind> for Resource {
    fn from(kind: Kind) -> Self {
        let KindInfo { name, group, versions, plural, namespaced, optional, .. } = *kind.info();
        Self { kind: name, group, versions, plural, namespaced, optional }
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

/// The rules of the ClusterRole that watching some kinds needs, as YAML. Kinds of which only named objects are watched are not in it:
/// those are read each by a Role of its namespace with `resourceNames`.
pub fn rules(kinds: &BTreeSet<Kind>) -> String {
    rules_of(kinds, "list, watch")
}

/// The rules of the ClusterRole that one list of each of some kinds needs, as YAML. Kinds that [`rules`] leaves out are not in it.
pub fn list_rules(kinds: &BTreeSet<Kind>) -> String {
    rules_of(kinds, "list")
}

fn rules_of(kinds: &BTreeSet<Kind>, verbs: &str) -> String {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for resource in kinds.iter().filter(|kind| !is_by_name(**kind)).map(|kind| Resource::from(*kind)) {
        groups.entry(resource.group).or_default().insert(resource.plural);
    }
    let mut rules = "rules:\n".to_owned();
    for (group, resources) in groups {
        let resources = resources.into_iter().collect::<Vec<_>>().join(", ");
        let _infallible = writeln!(rules, "- apiGroups: [{group:?}]\n  resources: [{resources}]\n  verbs: [{verbs}]");
    }
    rules
}

/// The permission that watching one kind needs, in words.
pub fn permission(resource: impl Into<Resource>) -> String {
    let resource = resource.into();
    match resource.group {
        _ if resource == Resource::from(Kind::ConfigMap) => {
            "list and watch, in its namespace, of each ConfigMap that spec.facts.configMaps names (a Role with resourceNames)"
                .to_owned()
        }
        "" => format!("list and watch of {} in all namespaces", resource.plural),
        group => format!("list and watch of {}.{group} in all namespaces", resource.plural),
    }
}

#[cfg(test)]
mod tests;
