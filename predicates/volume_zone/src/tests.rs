//! Unit tests of the whole predicate on the fixture.

use nodesift_sdk::columns::cluster_storage::{Claim, Class, Volume as StoredVolume};
use nodesift_sdk::columns::pod_volumes::ClaimRef;
use nodesift_sdk::native::{Cluster, Node, Pod, Storage, claim, class, stored_volume};

use super::*;

const ZONE: &str = "topology.kubernetes.io/zone";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

fn storage(claims: Vec<Claim>, labels: &[(&str, &str)]) -> Storage {
    let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Storage { claims, volumes: vec![StoredVolume { labels, ..stored_volume("v") }], ..Storage::default() }
}

/// A pod that uses a claim.
fn user(name: &str, ephemeral: bool) -> Pod {
    Pod::new("default").volume(Volume::Claim(ClaimRef { name: name.into(), ephemeral }))
}

fn bound() -> Vec<Claim> {
    vec![Claim { volume_name: "v".into(), ..claim("c") }]
}

/// Names of the nodes that a volume with these labels rejects.
fn rejected(labels: &[(&str, &str)], nodes: &[(&str, &[(&str, &str)])]) -> Vec<String> {
    let mut cluster = Cluster::new(user("c", false)).storage(storage(bound(), labels));
    for (name, labels) in nodes {
        cluster = cluster.node(labels.iter().fold(Node::new(name), |node, (key, value)| node.label(key, value)));
    }
    let rejected = cluster.rejected(&VolumeZone);
    rejected.into_iter().map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
}

/// Why every node is rejected.
fn reason(storage: Storage) -> String {
    reason_of(user("c", false), storage)
}

fn reason_of(pod: Pod, storage: Storage) -> String {
    let cluster = Cluster::new(pod).node(Node::new("a")).node(Node::new("b")).storage(storage);
    match cluster.verdict(&VolumeZone) {
        Verdict::FitsNone(failure) => {
            assert_eq!(failure, Failure::unresolvable(failure.reasons.join("")));
            failure.reasons.join("")
        }
        _ => String::new(),
    }
}

#[test]
fn a_node_in_another_zone_is_rejected_and_one_without_labels_is_not() {
    let nodes: &[(&str, &[(&str, &str)])] = &[
        ("same", &[(ZONE, "z1")]),
        ("other", &[(ZONE, "z2")]),
        ("unlabelled", &[]),
        ("region-only", &[(REGION, "z1")]),
        ("empty", &[(ZONE, "")]),
    ];
    assert_eq!(rejected(&[(ZONE, "z1")], nodes), ["other", "region-only", "empty"]);
    assert_eq!(rejected(&[(ZONE, " z1 __z2")], nodes), ["region-only", "empty"]);
    assert!(rejected(&[], nodes).is_empty());
    assert!(rejected(&[(ZONE, "z1__")], nodes).is_empty(), "a label with an empty zone is ignored");
}

#[test]
fn a_beta_label_of_a_volume_falls_back_to_the_stable_label_of_a_node_and_not_the_other_way() {
    let nodes: &[(&str, &[(&str, &str)])] = &[
        ("stable", &[(ZONE, "z1")]),
        ("beta", &[(BETA_ZONE, "z1")]),
        ("beta-mismatch", &[(BETA_ZONE, "z2"), (ZONE, "z1")]),
    ];
    assert_eq!(rejected(&[(BETA_ZONE, "z1")], nodes), ["beta-mismatch"]);
    assert_eq!(rejected(&[(ZONE, "z1")], nodes), ["beta"]);
}

#[test]
fn all_labels_of_a_volume_must_hold() {
    let nodes: &[(&str, &[(&str, &str)])] =
        &[("both", &[(ZONE, "z1"), (REGION, "r")]), ("one", &[(ZONE, "z1"), (REGION, "s")])];
    assert_eq!(rejected(&[(ZONE, "z1"), (REGION, "r")], nodes), ["one"]);
}

#[test]
fn what_cannot_be_resolved_rejects_every_node() {
    let classed = |class: &str| vec![Claim { class_name: Some(class.into()), ..claim("c") }];
    let with_class =
        |binding_mode| Storage { classes: vec![Class { binding_mode, ..class("s") }], ..storage(classed("s"), &[]) };
    assert_eq!(reason(storage(Vec::new(), &[])), "persistentvolumeclaim \"c\" not found");
    assert_eq!(reason(storage(vec![claim("c")], &[])), "PersistentVolumeClaim had no pv name and storageClass name");
    assert_eq!(reason(storage(classed("s"), &[])), "storageclass.storage.k8s.io \"s\" not found");
    assert_eq!(reason(with_class(None)), "VolumeBindingMode not set for StorageClass \"s\"");
    assert_eq!(reason(with_class(Some(BindingMode::Immediate))), "PersistentVolume had no name");
    assert_eq!(reason(with_class(Some(BindingMode::WaitForFirstConsumer))), "");
    let missing = Storage { volumes: Vec::new(), ..storage(bound(), &[]) };
    assert_eq!(reason(missing), "persistentvolume \"v\" not found");
    assert_eq!(reason_of(user("", false), Storage::default()), "PersistentVolumeClaim had no name");
    assert_eq!(reason_of(user("c", true), Storage::default()), "");
}
