//! The kinds that the scripted server serves, and their paths.

/// A kind as an API server serves it.
#[derive(Debug, PartialEq, Eq)]
pub struct Resource {
    /// The `kind` of its objects.
    pub kind: &'static str,
    /// The `apiVersion` of its objects.
    pub api_version: &'static str,
    /// The last part of its path.
    pub plural: &'static str,
}

/// Every served kind; [`place`] is an index into it.
pub const RESOURCES: [Resource; 20] = [
    resource("Node", "v1", "nodes"),
    resource("Pod", "v1", "pods"),
    resource("Namespace", "v1", "namespaces"),
    resource("PersistentVolume", "v1", "persistentvolumes"),
    resource("PersistentVolumeClaim", "v1", "persistentvolumeclaims"),
    resource("Service", "v1", "services"),
    resource("ReplicationController", "v1", "replicationcontrollers"),
    resource("ReplicaSet", "apps/v1", "replicasets"),
    resource("StatefulSet", "apps/v1", "statefulsets"),
    resource("StorageClass", "storage.k8s.io/v1", "storageclasses"),
    resource("CSINode", "storage.k8s.io/v1", "csinodes"),
    resource("CSIDriver", "storage.k8s.io/v1", "csidrivers"),
    resource("CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities"),
    resource("VolumeAttachment", "storage.k8s.io/v1", "volumeattachments"),
    resource("ConfigMap", "v1", "configmaps"),
    resource("DeviceClass", "resource.k8s.io/v1", "deviceclasses"),
    resource("DeviceTaintRule", "resource.k8s.io/v1", "devicetaintrules"),
    resource("ResourceSlice", "resource.k8s.io/v1", "resourceslices"),
    resource("ResourceClaim", "resource.k8s.io/v1", "resourceclaims"),
    resource("PredicatePolicy", "nodesift.dev/v1alpha1", "predicatepolicies"),
];

const fn resource(kind: &'static str, api_version: &'static str, plural: &'static str) -> Resource {
    Resource { kind, api_version, plural }
}

/// The index of a kind in [`RESOURCES`].
pub fn place(kind: &str) -> usize {
    let found = RESOURCES.iter().position(|resource| resource.kind == kind);
    found.unwrap_or_else(|| panic!("the scripted server does not serve {kind}"))
}

/// Whether a kind has a status of its own: applied objects leave it as it is, and their generation rises with the rest of them.
pub(super) fn has_status(kind: &str) -> bool {
    kind == "PredicatePolicy"
}

/// The resource and the name of an object whose status is at a path.
pub(super) fn at_status(path: &str) -> Option<(&'static Resource, &str)> {
    let (collection, name) = path.strip_suffix("/status")?.rsplit_once('/')?;
    at_path(collection).filter(|resource| has_status(resource.kind)).map(|resource| (resource, name))
}

/// The resource of a path: `/api/v1/…` for the core group, `/apis/<group>/<version>/…` for any other. Of one namespace, the
/// objects of all are served: whoever asks has to look at what comes.
pub fn at_path(path: &str) -> Option<&'static Resource> {
    let of_namespace = path.split_once("/namespaces/").and_then(|(root, rest)| Some((root, rest.split_once('/')?.1)));
    let whole = of_namespace.map(|(root, plural)| format!("{root}/{plural}"));
    let path = whole.as_deref().unwrap_or(path);
    let (api_version, plural) = match path.strip_prefix("/apis/") {
        Some(rest) => rest.rsplit_once('/')?,
        None => path.strip_prefix("/api/")?.rsplit_once('/')?,
    };
    RESOURCES.iter().find(|resource| resource.api_version == api_version && resource.plural == plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_resources_by_group_and_version() {
        let kind = |path| at_path(path).map(|resource| resource.kind);
        assert_eq!(kind("/api/v1/pods"), Some("Pod"));
        assert_eq!(kind("/apis/storage.k8s.io/v1/csinodes"), Some("CSINode"));
        assert_eq!(kind("/apis/resource.k8s.io/v1beta1/deviceclasses"), None);
        assert_eq!(kind("/version"), None);
        assert_eq!(kind("/api/v1/namespaces"), Some("Namespace"));
        assert_eq!(kind("/api/v1/namespaces/ops/configmaps"), Some("ConfigMap"));
        let (policies, name) = at_status("/apis/nodesift.dev/v1alpha1/predicatepolicies/a/status").unwrap();
        assert_eq!((policies.kind, name), ("PredicatePolicy", "a"));
        assert_eq!(at_status("/api/v1/pods/a/status"), None);
    }
}
