//! Every interface and its kinds; paths; RBAC rules.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

/// The kinds behind one interface besides those of every policy, by name.
fn needs(interface: &str) -> String {
    let interface = Interface::from_name(interface).unwrap();
    let kinds = needed([interface]).into_iter().filter(|kind| always().all(|other| other != *kind));
    kinds.map(Kind::name).collect::<Vec<_>>().join(" ")
}

#[test]
fn nodes_pods_and_device_classes_are_watched_whatever_is_imported() {
    let always: BTreeSet<Kind> = always().collect();
    assert!(always.is_superset(&BTreeSet::from([Kind::Node, Kind::Pod, Kind::DeviceClass])), "{always:?}");
    for imports in [&[][..], &[Interface::NodeTaints, Interface::NodeLabels], &[Interface::NodeResources]] {
        assert_eq!(needed(imports.iter().copied()), always, "{imports:?}");
    }
}

#[test]
fn every_interface_needs_the_kinds_from_which_its_facts_are_computed() {
    let storage = "PersistentVolume PersistentVolumeClaim StorageClass CSINode";
    let expected = [
        ("pod-labels", String::new()),
        ("pod-annotations", String::new()),
        ("pod-placement", String::new()),
        ("pod-tolerations", String::new()),
        ("pod-resources", String::new()),
        ("pod-affinity", String::new()),
        ("pod-preferred-affinity", String::new()),
        ("pod-features", String::new()),
        ("pod-volumes", String::new()),
        ("pod-spread", "Service ReplicationController ReplicaSet StatefulSet".to_owned()),
        ("pod-spec", String::new()),
        ("pod-owner", String::new()),
        ("pod-claims", "ResourceClaim".to_owned()),
        ("time", String::new()),
        ("config-maps", "ConfigMap".to_owned()),
        ("namespace-labels", "Namespace".to_owned()),
        ("node-identity", String::new()),
        ("node-labels", String::new()),
        ("node-annotations", String::new()),
        ("node-taints", String::new()),
        ("node-ports", String::new()),
        ("node-features", String::new()),
        ("node-resources", String::new()),
        ("node-sums", String::new()),
        ("cluster-pods", "Namespace".to_owned()),
        ("cluster-affinity", "Namespace".to_owned()),
        ("cluster-preferences", "Namespace".to_owned()),
        ("cluster-volume-use", String::new()),
        ("node-conditions", String::new()),
        ("node-info", String::new()),
        ("node-images", String::new()),
        ("node-age", String::new()),
        ("node-devices", "ResourceSlice ResourceClaim DeviceTaintRule".to_owned()),
        ("node-parties", "ResourceClaim".to_owned()),
        ("cluster-controllers", String::new()),
        ("pod-non-zero-requests", String::new()),
        ("pod-images", String::new()),
        ("node-non-zero-requests", String::new()),
        ("cluster-candidates", String::new()),
        ("cluster-images", String::new()),
        ("row-sets", String::new()),
        ("log", String::new()),
        ("cluster-attachments", format!("{storage} CSIDriver VolumeAttachment")),
        ("cluster-storage", format!("{storage} CSIDriver CSIStorageCapacity")),
    ];
    for (interface, kinds) in &expected {
        assert_eq!(needs(interface), *kinds, "{interface}");
    }
    assert_eq!(expected.len(), Interface::ALL.len(), "an interface is missing here");
}

#[test]
fn all_interfaces_together_need_every_kind_there_is() {
    assert_eq!(needed(Interface::ALL), BTreeSet::from(Kind::ALL));
}

#[test]
fn paths_are_those_of_the_api() {
    let list = |kind, version| Resource::from(kind).list_uri(version, None);
    assert_eq!(list(Kind::Pod, 0), "/api/v1/pods?limit=500");
    assert_eq!(list(Kind::ReplicaSet, 0), "/apis/apps/v1/replicasets?limit=500");
    assert_eq!(list(Kind::CsiStorageCapacity, 0), "/apis/storage.k8s.io/v1/csistoragecapacities?limit=500");
    assert_eq!(list(Kind::DeviceClass, 1), "/apis/resource.k8s.io/v1beta2/deviceclasses?limit=500");
    assert_eq!(list(Kind::ResourceClaim, 0), "/apis/resource.k8s.io/v1/resourceclaims?limit=500");
    assert_eq!(list(Kind::ResourceSlice, 2), "/apis/resource.k8s.io/v1beta1/resourceslices?limit=500");
    let next = Resource::from(Kind::Node).list_uri(0, Some("eyJ2 +/=ü"));
    assert_eq!(next, "/api/v1/nodes?limit=500&continue=eyJ2%20%2B%2F%3D%C3%BC");
    let watch = Resource::from(Kind::Node).watch_uri(0, "42", 30);
    assert_eq!(watch, "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=42");
    let pods = Resource::from(Kind::Pod);
    assert_eq!(pods.namespaced_uri(0, "a", None), "/api/v1/namespaces/a/pods");
    assert_eq!(pods.namespaced_uri(0, "a", Some("b/c")), "/api/v1/namespaces/a/pods/b%2Fc");
    let status = Resource::from(Kind::CsiNode).status_uri(0, "n", "a/b");
    assert_eq!(status, "/apis/storage.k8s.io/v1/csinodes/n/status?force=true&fieldManager=a%2Fb");
    let mut named = "?limit=1".to_owned();
    narrow(&mut named, &Resource::from(Kind::Node), "a.b");
    assert_eq!(named, "?limit=1&fieldSelector=metadata.name%3Da.b");
    let map = Resource::from(Kind::ConfigMap);
    let mut uri = map.list_uri(0, None);
    narrow(&mut uri, &map, "ops/a.b");
    assert_eq!(uri, "/api/v1/namespaces/ops/configmaps?limit=500&fieldSelector=metadata.name%3Da.b");
}

#[test]
fn only_kinds_that_every_api_server_serves_are_required() {
    for kind in Kind::ALL {
        let resource = Resource::from(kind);
        assert_eq!(resource.is_optional(), resource.group == "resource.k8s.io", "{kind}");
    }
}

#[test]
fn plurals_are_formed_as_kubernetes_forms_them() {
    for KindInfo { name, plural, .. } in Kind::ALL.map(Kind::info) {
        let singular = name.to_lowercase();
        let formed = match singular.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if singular.ends_with("ss") => format!("{singular}es"),
            None => format!("{singular}s"),
        };
        assert_eq!(*plural, formed);
    }
}

#[test]
fn rules_grant_what_is_watched_and_nothing_else() {
    let expected = "rules:
- apiGroups: [\"\"]
  resources: [nodes, pods]
  verbs: [list, watch]
- apiGroups: [\"resource.k8s.io\"]
  resources: [deviceclasses]
  verbs: [list, watch]
";
    let named = Kind::ConfigMap;
    assert_eq!(rules(&BTreeSet::from([Kind::Node, Kind::Pod, Kind::DeviceClass, named])), expected);
}

/// Manifests with the ClusterRole of the sidecar.
const MANIFESTS: [&str; 3] =
    ["deploy/rbac.yaml", "deploy/kustomize/base/rbac.yaml", "deploy/helm/nodesift/templates/rbac.yaml"];

/// Environment variable that makes the next test write the manifests.
const BLESS: &str = "NODESIFT_BLESS";

#[test]
fn the_roles_in_deploy_grant_what_all_built_in_predicates_watch() {
    let rules = rules(&needed(Interface::ALL));
    for name in MANIFESTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        // The first role is that of the cluster's objects, the others are about policies.
        let (before, role) = text.split_once("rules:\n").unwrap();
        let (_, after) = role.split_once("---\n").unwrap();
        let blessed = [before, &rules, "---\n", after].concat();
        if std::env::var_os(BLESS).is_some() {
            std::fs::write(&path, &blessed).unwrap();
        }
        assert!(text == blessed, "set {BLESS}=1 to write {name}, which does not hold\n{rules}");
    }
}

#[test]
fn a_missing_permission_is_reported_by_the_name_to_grant() {
    assert_eq!(permission(Kind::Pod), "list and watch of pods in all namespaces");
    assert_eq!(permission(Kind::CsiNode), "list and watch of csinodes.storage.k8s.io in all namespaces");
}
