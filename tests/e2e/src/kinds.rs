//! The kinds that the sidecar reads, and their API paths.

use nodesift_fixtures::json::{name, namespace};
use serde_json::Value;

/// Collections over all namespaces, in the order of the dump.
pub(crate) const COLLECTIONS: [&str; 17] = [
    NODES,
    PODS,
    "/api/v1/namespaces",
    "/api/v1/persistentvolumes",
    "/api/v1/persistentvolumeclaims",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/storage.k8s.io/v1/volumeattachments",
    "/apis/resource.k8s.io/v1/deviceclasses",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/api/v1/services",
    "/api/v1/replicationcontrollers",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
];

/// Path of the collection of all nodes.
pub(crate) const NODES: &str = "/api/v1/nodes";

/// Path of the collection of all pods.
pub(crate) const PODS: &str = "/api/v1/pods";

/// The path of the collection that an object belongs to.
pub(crate) fn collection(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if version.contains('/') { "/apis" } else { "/api" };
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    // Plurals that are not formed by adding an s.
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with("ss") => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    match namespace(object) {
        "" => format!("{root}/{version}/{plural}"),
        namespace => format!("{root}/{version}/namespaces/{namespace}/{plural}"),
    }
}

/// The path of an object.
pub(crate) fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), name(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_those_of_the_api_server() {
        let of = |version: &str, kind: &str, namespace: &str| {
            path(&json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}}))
        };
        assert_eq!(of("v1", "Pod", "a"), "/api/v1/namespaces/a/pods/x");
        assert_eq!(of("storage.k8s.io/v1", "StorageClass", ""), "/apis/storage.k8s.io/v1/storageclasses/x");
        assert_eq!(
            of("storage.k8s.io/v1", "CSIStorageCapacity", "a"),
            "/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities/x"
        );
        assert_eq!(of("apps/v1", "ReplicaSet", "a"), "/apis/apps/v1/namespaces/a/replicasets/x");
        assert_eq!(
            of("rbac.authorization.k8s.io/v1", "ClusterRole", ""),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/x"
        );
    }
}
