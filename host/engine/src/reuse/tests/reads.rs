//! Every function of the contract: a verdict that has read its answer ceases to be valid once that answer changes, and it is
//! known which answers pods on nodes change. One case per function, in which little else changes, in the cluster of [`World`]. Start
//! at [`changed_by_pods`].

#![allow(clippy::needless_pass_by_value, clippy::type_complexity, reason = "tables of objects and functions")]

use std::collections::BTreeSet;
use std::time::Instant;

use nodesift_cache::Identity;
use nodesift_object::Kind;
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::{Facts, Interface, Kept, Meter, NoValue, wire};
use serde_json::{Value, json};

use super::*;
use world::{World, blue, claim, csi_node, devices_claim, labelled, node, preferred, pv, pvc, slice};

mod world;

const CONTRACT: &str = include_str!("../../../../../sdk/predicate/wit/predicate.wit");

type Ask = fn(&dyn Facts) -> String;
type Change = fn(&mut World);

/// The question, and the change.
macro_rules! case {
    ($name:literal, |$facts:ident| $ask:expr, |$world:ident| $change:expr) => {
        (
            $name,
            (|$facts| format!("{:?}", $ask)) as Ask,
            (|$world| {
                $change;
            }) as Change,
        )
    };
}

// After the macro that it uses.
mod parties;

/// Cases whose change is a pod that comes to be on a node.
fn changed_by_pods() -> Vec<(&'static str, Ask, Change)> {
    vec![
        case!("node-resources.requested", |facts| facts.requested("cpu"), |world| world.bind(
            "x",
            &json!({}),
            &json!({})
        )),
        case!("node-resources.free", |facts| facts.free("cpu"), |world| world.bind("x", &json!({}), &json!({}))),
        case!("node-resources.rows-with-free", |facts| facts.rows_with_free("cpu", 3_000), |world| {
            world.bind("x", &json!({}), &json!({}));
        }),
        case!("node-resources.foreign", |facts| facts.foreign("cpu"), |world| {
            world.bind("x", &json!({}), &json!({"schedulerName": "theirs"}));
        }),
        case!("node-resources.pods", |facts| facts.pods(), |world| world.bind("x", &json!({}), &json!({}))),
        case!("node-resources.foreign-pods", |facts| facts.foreign_pods(), |world| {
            world.bind("x", &json!({}), &json!({"schedulerName": "theirs"}));
        }),
        case!("node-resources.pod-room", |facts| facts.pod_room(), |world| world.bind("x", &json!({}), &json!({}))),
        case!("node-sums.column", |facts| facts.named_sum("s"), |world| world.bind_adding("x", 1)),
        case!("node-non-zero-requests.requested", |facts| facts.non_zero_requested("memory"), |world| {
            world.bind("x", &json!({}), &json!({}));
        }),
        case!("node-ports.conflicts", |facts| facts.port_conflicts(), |world| {
            world.bind("x", &json!({}), &json!({"containers": [{"ports": [{"hostPort": 80}]}]}));
        }),
        case!(
            "cluster-pods.matching",
            |facts| facts.matching_pods(&[labelled("app", "web")], false, &Meter::unlimited()),
            |world| {
                world.bind("x", &json!({"app": "web"}), &json!({}));
            }
        ),
        case!(
            "cluster-pods.requested",
            |facts| facts.requested_by_pods(&[labelled("app", "web")], "cpu", false, &Meter::unlimited()),
            |world| {
                world.bind("x", &json!({"app": "web"}), &json!({}));
            }
        ),
        case!("cluster-controllers.same-controller", |facts| facts.same_controller(false), |world| {
            let owner = world.pod["metadata"]["ownerReferences"].clone();
            world.apply(
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "ns", "uid": "x",
                "ownerReferences": owner}, "spec": {"nodeName": "n1"}}),
            );
        }),
        case!("cluster-affinity.topology-keys", |facts| facts.anti_affinity_keys(), |world| {
            let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": blue()});
            world.bind("x", &json!({}), &json!({"affinity": {"podAntiAffinity": required}}));
        }),
        case!("cluster-affinity.anti-affinity-terms", |facts| facts.anti_affinity_terms("zone"), |world| {
            let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": blue()});
            world.bind("x", &json!({}), &json!({"affinity": {"podAntiAffinity": required}}));
        }),
        case!("cluster-preferences.topology-keys", |facts| facts.preference_keys(), |world| {
            world.bind("x", &json!({}), &json!({"affinity": preferred("podAffinity")}));
        }),
        case!("cluster-preferences.preferred-terms", |facts| facts.preference_terms("zone"), |world| {
            world.bind("x", &json!({}), &json!({"affinity": preferred("podAntiAffinity")}));
        }),
        case!("cluster-preferences.weights", |facts| facts.preference_weights("zone"), |world| {
            world.bind("x", &json!({}), &json!({"affinity": preferred("podAntiAffinity")}));
        }),
        case!("cluster-preferences.required-terms", |facts| facts.required_affinity_terms("zone"), |world| {
            let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": blue()});
            world.bind("x", &json!({}), &json!({"affinity": {"podAffinity": required}}));
        }),
        case!(
            "cluster-volume-use.disk-users",
            |facts| facts.disk_users(wire::DiskKind::GcePersistentDisk, "disk"),
            |world| {
                let disk = json!([{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]);
                world.bind("x", &json!({}), &json!({"volumes": disk}));
            }
        ),
        case!("cluster-volume-use.claim-users", |facts| facts.claim_users("c"), |world| {
            world.bind("x", &json!({}), &json!({"volumes": [claim("c")]}));
        }),
        case!("cluster-attachments.used", |facts| facts.attachments_used("d"), |world| {
            world.bind("x", &json!({}), &json!({"volumes": [claim("bound")]}));
        }),
        case!(
            "cluster-attachments.rows-with",
            |facts| {
                facts.rows_with_attachment(&wire::Attachment { driver: "d".to_owned(), handle: "handle-w".to_owned() })
            },
            |world| world.bind("x", &json!({}), &json!({"volumes": [claim("bound")]}))
        ),
        case!("cluster-attachments.uncounted", |facts| facts.uncounted_pods(), |world| {
            world.bind("x", &json!({}), &json!({"volumes": [{"name": "v", "ephemeral": {}}]}));
        }),
    ]
}

/// Cases whose change is one of the pod that is evaluated.
fn changed_by_the_pod() -> Vec<(&'static str, Ask, Change)> {
    vec![
        case!("pod-labels.namespace", |facts| facts.namespace(), |world| {
            world.pod["metadata"]["namespace"] = json!("elsewhere");
        }),
        case!("pod-labels.label", |facts| facts.label("color"), |world| {
            world.pod["metadata"]["labels"]["color"] = json!("red");
        }),
        case!("pod-annotations.annotation", |facts| facts.annotation("tier"), |world| {
            world.pod["metadata"]["annotations"]["tier"] = json!("silver");
        }),
        case!("pod-placement.node-name", |facts| facts.node_name(), |world| world.pod["spec"]["nodeName"] =
            json!("n1")),
        case!("pod-placement.node-selector", |facts| facts.node_selector(), |world| {
            world.pod["spec"]["nodeSelector"] = json!({"zone": "a"});
        }),
        case!("pod-placement.required-terms", |facts| facts.required_terms(), |world| {
            let required = json!({"nodeSelectorTerms": []});
            world.pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = required;
        }),
        case!("pod-placement.preferred-terms", |facts| facts.preferred_terms(), |world| {
            let preferred = json!([{"weight": 1, "preference": {}}]);
            world.pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
                preferred;
        }),
        case!("pod-tolerations.tolerations", |facts| facts.tolerations(), |world| {
            world.pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        }),
        case!("pod-resources.requests", |facts| facts.requests(), |world| {
            world.pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
        }),
        case!("pod-non-zero-requests.requests", |facts| facts.non_zero_requests(), |world| {
            world.pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
        }),
        case!("pod-images.containers", |facts| facts.container_images(), |world| {
            world.pod["spec"]["containers"][0]["image"] = json!("i");
        }),
        case!("pod-images.volumes", |facts| facts.volume_images(), |world| {
            world.pod["spec"]["volumes"][0] = json!({"name": "v", "image": {"reference": "i"}});
        }),
        case!("pod-spread.constraints", |facts| facts.spread_constraints(), |world| {
            world.pod["spec"]["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": "zone"}]);
        }),
        case!("pod-affinity.affinity", |facts| facts.affinity(), |world| {
            world.pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = blue();
        }),
        case!("pod-affinity.anti-affinity", |facts| facts.anti_affinity(), |world| {
            world.pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = blue();
        }),
        case!("pod-affinity.invalid-preferred", |facts| facts.invalid_preferred(), |world| {
            let term =
                json!([{"weight": 1, "podAffinityTerm": {"labelSelector": {"matchLabels": {"not a key": "x"}}}}]);
            world.pod["spec"]["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = term;
        }),
        case!("pod-preferred-affinity.affinity", |facts| facts.preferred_affinity(), |world| {
            world.pod["spec"]["affinity"]["podAffinity"] = preferred("podAffinity")["podAffinity"].clone();
        }),
        case!("pod-preferred-affinity.anti-affinity", |facts| facts.preferred_anti_affinity(), |world| {
            world.pod["spec"]["affinity"]["podAntiAffinity"] = preferred("podAntiAffinity")["podAntiAffinity"].clone();
        }),
        case!("pod-features.required", |facts| facts.required_features(), |world| {
            world.pod["spec"]["hostNetwork"] = json!(true);
            world.pod["spec"]["hostUsers"] = json!(false);
        }),
        case!("pod-volumes.volumes", |facts| facts.volumes(), |world| world.pod["spec"]["volumes"] =
            json!([claim("e")])),
        case!("pod-volumes.owner", |facts| facts.owner(), |world| world.pod["metadata"]["uid"] = json!("q")),
        case!("pod-spec.priority", |facts| facts.priority(), |world| world.pod["spec"]["priority"] = json!(7)),
        case!("pod-spec.priority-class", |facts| facts.priority_class(), |world| {
            world.pod["spec"]["priorityClassName"] = json!("high");
        }),
        case!("pod-spec.service-account", |facts| facts.service_account(), |world| {
            world.pod["spec"]["serviceAccountName"] = json!("builder");
        }),
        case!("pod-spec.runtime-class", |facts| facts.runtime_class(), |world| {
            world.pod["spec"]["runtimeClassName"] = json!("kata");
        }),
        case!("pod-spec.host-network", |facts| facts.host_network(), |world| {
            world.pod["spec"]["hostNetwork"] = json!(true);
        }),
        case!("pod-spec.images", |facts| facts.images(), |world| {
            world.pod["spec"]["containers"][0]["image"] = json!("i");
        }),
        case!("pod-spec.scheduler-name", |facts| facts.scheduler_name(), |world| {
            world.pod["spec"]["schedulerName"] = json!("theirs");
        }),
        case!("pod-owner.controller", |facts| facts.controller(), |world| {
            world.pod["metadata"]["ownerReferences"] = json!([{"kind": "Job", "name": "j", "controller": true}]);
        }),
        case!("pod-owner.controller-uid", |facts| facts.controller_uid(), |world| {
            world.pod["metadata"]["ownerReferences"] =
                json!([{"kind": "Job", "name": "j", "uid": "u", "controller": true}]);
        }),
        case!("pod-claims.claim-name", |facts| facts.claim_name(0), |world| {
            world.pod["spec"]["resourceClaims"][0]["resourceClaimName"] = json!("others");
        }),
        case!("cluster-pods.matches-this-pod", |facts| facts.matches_this_pod(&[labelled("color", "blue")]), |world| {
            world.pod["metadata"]["labels"]["color"] = json!("red");
        }),
    ]
}

/// Applies node n1 with one field changed.
fn change_node(world: &mut World, change: impl FnOnce(&mut Value)) {
    let mut node = node("n1");
    change(&mut node);
    world.apply(node);
}

/// Cases whose change is one of nodes and other objects.
fn changed_by_objects() -> Vec<(&'static str, Ask, Change)> {
    vec![
        case!("pod-spread.default-selector", |facts| facts.default_selector(), |world| {
            world.apply(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "ns"},
                "spec": {"selector": {"color": "blue"}}}));
        }),
        case!("namespace-labels.label", |facts| facts.namespace_label("team"), |world| {
            world.apply(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": {"team": "a"}}}),
            );
        }),
        case!("cluster-candidates.feasible", |facts| facts.feasible(), |world| world.apply(node("n9"))),
        case!("config-maps.entry", |facts| facts.config_entry("ns/m", "k"), |world| {
            world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "ns"},
                "data": {"k": "v"}}));
        }),
        case!("pod-claims.claims", |facts| facts.claims(), |world| {
            world.apply(devices_claim("devices", &json!({"devices": {"results": []}})));
        }),
        case!("pod-claims.chosen", |facts| facts.chosen(0), |world| {
            let results = json!([{"request": "r/b", "driver": "d", "pool": "p", "device": "x"}]);
            let mut claim = devices_claim("devices", &json!({"devices": {"results": results}}));
            claim["spec"]["devices"]["requests"] =
                json!([{"name": "r", "firstAvailable": [{"name": "a"}, {"name": "b"}]}]);
            world.apply(claim);
        }),
        case!("pod-claims.deriving", |facts| facts.deriving(0), |world| {
            let mut claim = devices_claim("devices", &json!(null));
            claim["spec"]["devices"]["requests"][0]["exactly"]["derivedAttributes"] = json!([{"name": "a"}]);
            world.apply(claim);
        }),
        case!("pod-claims.extended", |facts| facts.extended(), |world| {
            world.apply(json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "f"},
                "spec": {"extendedResourceName": "y.io/fpga"}}));
        }),
        case!(
            "node-devices.devices",
            |facts| facts.devices(&wire::devices::Query { names: true, ..Default::default() }),
            |world| world.apply(slice("g1"))
        ),
        case!("time.passed", |facts| facts.passed(100), |world| world.now = 100),
        case!("node-identity.names", |facts| facts.names(), |world| {
            world.writer.remove(&Identity::node("n1"));
            world.apply(node("n2"));
        }),
        case!("node-identity.row", |facts| facts.row("n9"), |world| world.apply(node("n9"))),
        case!("node-labels.column", |facts| facts.label_column("zone"), |world| {
            change_node(world, |node| node["metadata"]["labels"] = json!({}));
        }),
        case!("node-labels.code", |facts| facts.label_code("zone", "7"), |world| {
            change_node(world, |node| node["metadata"]["labels"]["zone"] = json!("7"));
        }),
        case!("node-labels.dictionary", |facts| facts.label_dictionary("zone"), |world| {
            change_node(world, |node| node["metadata"]["labels"]["zone"] = json!("7"));
        }),
        case!("node-labels.integers", |facts| facts.label_integers("zone"), |world| {
            change_node(world, |node| node["metadata"]["labels"]["zone"] = json!("7"));
        }),
        case!("node-labels.rows-in", |facts| facts.rows_with_label_in("zone", &["7".into()]), |world| {
            change_node(world, |node| node["metadata"]["labels"]["zone"] = json!("7"));
        }),
        case!("node-labels.rows-with", |facts| facts.rows_with_label("zone"), |world| {
            change_node(world, |node| node["metadata"]["labels"] = json!({}));
        }),
        case!("node-annotations.rows-in", |facts| facts.rows_with_annotation_in("tier", &["7".into()]), |world| {
            change_node(world, |node| node["metadata"]["annotations"]["tier"] = json!("7"));
        }),
        case!("node-annotations.rows-with", |facts| facts.rows_with_annotation("tier"), |world| {
            change_node(world, |node| node["metadata"]["annotations"] = json!({}));
        }),
        case!("node-annotations.column", |facts| facts.annotation_column("tier"), |world| {
            change_node(world, |node| node["metadata"]["annotations"] = json!({}));
        }),
        case!("node-annotations.code", |facts| facts.annotation_code("tier", "7"), |world| {
            change_node(world, |node| node["metadata"]["annotations"]["tier"] = json!("7"));
        }),
        case!("node-annotations.dictionary", |facts| facts.annotation_dictionary("tier"), |world| {
            change_node(world, |node| node["metadata"]["annotations"]["tier"] = json!("7"));
        }),
        case!("node-annotations.integers", |facts| facts.annotation_integers("tier"), |world| {
            change_node(world, |node| node["metadata"]["annotations"]["tier"] = json!("7"));
        }),
        case!("node-taints.unschedulable", |facts| facts.unschedulable(), |world| {
            change_node(world, |node| node["spec"]["unschedulable"] = json!(true));
        }),
        case!("node-taints.rows-unschedulable", |facts| facts.rows_unschedulable(), |world| {
            change_node(world, |node| node["spec"]["unschedulable"] = json!(true));
        }),
        case!("node-taints.rows-untolerated", |facts| facts.rows_untolerated(), |world| {
            change_node(world, |node| node["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]));
        }),
        case!("node-taints.sets", |facts| facts.taint_sets(), |world| {
            change_node(world, |node| node["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]));
        }),
        case!("node-taints.column", |facts| facts.taint_column(), |world| {
            change_node(world, |node| node["spec"]["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]));
        }),
        case!("node-resources.allocatable", |facts| facts.allocatable("cpu"), |world| {
            change_node(world, |node| node["status"]["allocatable"]["cpu"] = json!("8"));
        }),
        case!("node-resources.pod-limit", |facts| facts.pod_limit(), |world| {
            change_node(world, |node| node["status"]["allocatable"]["pods"] = json!("20"));
        }),
        case!("node-resources.device-class-serves", |facts| facts.device_class_serves("x.io/gpu"), |world| {
            world.apply(json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "g"},
                "spec": {"extendedResourceName": "x.io/gpu"}}));
        }),
        case!("node-features.sets", |facts| facts.feature_sets(), |world| {
            change_node(world, |node| node["status"]["declaredFeatures"] = json!(["F"]));
        }),
        case!("node-features.column", |facts| facts.feature_column(), |world| {
            change_node(world, |node| node["status"]["declaredFeatures"] = json!(["F"]));
        }),
        case!("node-conditions.column", |facts| facts.condition_column("Ready"), |world| {
            change_node(world, |node| node["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]));
        }),
        case!("node-info.column", |facts| facts.info_column(wire::InfoField::ProviderId), |world| {
            change_node(world, |node| node["spec"]["providerID"] = json!("p://n1"));
        }),
        case!("node-info.code", |facts| facts.info_code(wire::InfoField::Architecture, "arm64"), |world| {
            change_node(world, |node| node["status"]["nodeInfo"]["architecture"] = json!("arm64"));
        }),
        case!("node-info.dictionary", |facts| facts.info_dictionary(wire::InfoField::OsImage), |world| {
            change_node(world, |node| node["status"]["nodeInfo"]["osImage"] = json!("Debian"));
        }),
        case!("node-images.present", |facts| facts.image_column("app:v1"), |world| {
            change_node(world, |node| node["status"]["images"] = json!([{"names": ["app@sha256:1", "app:v1"]}]));
        }),
        case!("cluster-images.size", |facts| facts.image_size("app:v1"), |world| {
            change_node(world, |node| node["status"]["images"] = json!([{"names": ["app:v1"], "sizeBytes": 9}]));
        }),
        case!("node-age.created", |facts| facts.created(), |world| {
            change_node(world, |node| node["metadata"]["creationTimestamp"] = json!("2026-11-24T09:30:00Z"));
        }),
        case!("cluster-attachments.wanted", |facts| facts.wanted_attachments(true), |world| world.apply(pvc("c", "v"))),
        case!("cluster-attachments.registered", |facts| facts.attachment_registered(), |world| {
            world.apply(csi_node("n1", &json!([])));
        }),
        case!("cluster-attachments.limited", |facts| facts.attachment_limited(), |world| {
            world.apply(csi_node("n0", &json!([])));
        }),
        case!("cluster-attachments.limit", |facts| facts.attachment_limit("d"), |world| {
            world.apply(csi_node("n0", &json!([{"name": "d", "allocatable": {"count": 4}}])));
        }),
        case!("cluster-storage.claim-named", |facts| facts.claim("c"), |world| world.apply(pvc("c", "v"))),
        case!("cluster-storage.volume-named", |facts| facts.volume("v"), |world| world.apply(pv("v", "3Gi"))),
        case!("cluster-storage.volumes-for", |facts| facts.volumes_for("c", &Meter::unlimited()), |world| world
            .apply(pv("u", "2Gi"))),
        // Less than a byte, so that nothing but the exact size changes.
        case!("cluster-storage.exact-sizes-for", |facts| facts.exact_sizes("c", &Meter::unlimited()), |world| {
            world.apply(pv("v", "2147483647500m"));
        }),
        case!("cluster-storage.class-named", |facts| facts.storage_class("s"), |world| {
            world.writer.remove(&Identity::new(Kind::StorageClass, "s"));
        }),
        case!("cluster-storage.default-class", |facts| facts.default_class(), |world| {
            let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
            world.apply(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": "t", "annotations": annotations}, "provisioner": "d"}));
        }),
        case!("cluster-storage.driver-reports-capacity", |facts| facts.driver_reports_capacity("d"), |world| {
            world.apply(json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"},
                "spec": {"storageCapacity": true}}));
        }),
        case!("cluster-attachments.driver-missing", |facts| facts.driver_missing("other"), |world| {
            world.apply(json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "other"},
                "spec": {"preventPodSchedulingIfMissing": true}}));
        }),
        case!("cluster-storage.capacities", |facts| facts.capacities("s", &Meter::unlimited()), |world| {
            world.apply(json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
                "metadata": {"name": "k", "namespace": "ns"}, "storageClassName": "s", "capacity": "1Gi"}));
        }),
        case!("cluster-storage.migrated", |facts| facts.migrated("kubernetes.io/aws-ebs"), |world| {
            let mut node = csi_node("n0", &json!([{"name": "d", "allocatable": {"count": 3}}]));
            node["metadata"]["annotations"] =
                json!({"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"});
            world.apply(node);
        }),
    ]
}

/// The functions of the contract that a predicate can call: `interface.function`.
fn functions() -> BTreeSet<String> {
    let mut interface = "";
    let mut functions = BTreeSet::new();
    for line in CONTRACT.lines() {
        if let Some(name) = line.strip_prefix("interface ") {
            interface = name.trim_end_matches(" {");
        }
        if let Some((name, _)) = line
            .trim()
            .split_once(": func(")
            .filter(|_| !["predicate", "allocator", "scorer", "row-sets", "log"].contains(&interface))
        {
            functions.insert(format!("{interface}.{name}"));
        }
    }
    functions
}

/// The verdict that has read one answer, and the tree that finds it by what was read about the pod.
fn cached(context: &Arc<Context>, pointwise: bool, ask: Ask) -> (Arc<CachedVerdict>, Tree, String) {
    let recorder = Recorder::new(Arc::clone(context), pointwise);
    let answer = ask(&recorder);
    let (rows, at) = (context.rows() as usize, context.snapshot().generation());
    let cached = Arc::new(CachedVerdict::new(Lineage(1), Verdict::FitsAll, rows, recorder.take(), at));
    let mut tree = Tree::default();
    tree.place(cached.reads_about_pod(), context).insert(&cached);
    (cached, tree, answer)
}

fn is_valid(tree: &Tree, context: &Context, pointwise: bool) -> bool {
    let found = tree.find(context).and_then(|slot| slot.verdicts()[0].clone());
    found.is_some_and(|cached| matches!(cached.validity(context, !pointwise), Validity::Valid))
}

#[test]
fn a_verdict_is_not_valid_once_an_answer_that_it_has_read_has_changed() {
    let by_pods = changed_by_pods();
    let mut left = functions();
    assert!(left.len() > 50, "the contract is read: {left:?}");
    let from_pods_on: Vec<Interface> =
        Interface::ALL.into_iter().filter(|interface| interface.depends_on_pods_on_nodes()).collect();
    let others = changed_by_the_pod().into_iter().chain(changed_by_objects()).chain([parties::case()]);
    let others = others.map(|case| (case, false));
    for ((name, ask, change), is_by_pods) in by_pods.into_iter().map(|case| (case, true)).chain(others) {
        assert!(left.remove(name), "{name} is no function of the contract, or is there twice");
        let kinds: &[bool] = if name.starts_with("cluster-") { &[false] } else { &[false, true] };
        for pointwise in kinds.iter().copied() {
            let mut world = World::new();
            let (cached, tree, answer) = cached(&world.context(), pointwise, ask);
            assert!(is_valid(&tree, &world.context(), pointwise), "{name}: nothing has changed");
            assert!(!is_by_pods || cached.has_read(&from_pods_on), "{name}: pods on nodes change what it answers");
            change(&mut world);
            let after = world.context();
            assert_ne!(ask(&*after), answer, "{name}: the answer changes");
            assert!(!is_valid(&tree, &after, pointwise), "{name}: the verdict is still valid, pointwise {pointwise}");
        }
    }
    assert!(left.is_empty(), "no case for {left:?}");
}

#[test]
fn a_pod_that_comes_to_be_on_a_node_changes_no_answer_that_is_not_known_for_it() {
    let from_pods_on: Vec<Interface> =
        Interface::ALL.into_iter().filter(|interface| interface.depends_on_pods_on_nodes()).collect();
    // A pod with everything by which it can change an answer.
    let bind = |world: &mut World| {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": blue()});
        let volumes = json!([claim("bound"), claim("c"), {"name": "d", "gcePersistentDisk": {"pdName": "disk"}},
            {"name": "v", "ephemeral": {}}]);
        let spec = json!({"affinity": {"podAntiAffinity": required}, "volumes": volumes, "schedulerName": "theirs",
            "containers": [{"ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}]});
        world.bind("x", &json!({"app": "web"}), &spec);
    };
    let cases = changed_by_pods().into_iter().chain(changed_by_the_pod()).chain(changed_by_objects());
    let cases = cases.chain([parties::case()]);
    for (name, ask, _) in cases {
        let mut world = World::new();
        let (cached, _, answer) = cached(&world.context(), false, ask);
        bind(&mut world);
        let changes = ask(&*world.context()) != answer;
        assert!(!changes || cached.has_read(&from_pods_on), "{name} is changed by pods on nodes");
    }
}

#[test]
fn what_takes_long_to_read_is_read_once_and_handed_out_as_it_is_recorded() {
    let mut world = World::new();
    let recorder = Recorder::new(world.context(), false);
    let meter = Meter::unlimited();
    let [first, again] = [(); 2].map(|()| recorder.volumes_for("c", &meter).unwrap());
    assert_eq!(first.iter().map(|volume| &*volume.name).collect::<Vec<_>>(), ["v", "w"]);
    assert!(Arc::ptr_eq(&first, &again));
    let [first, again] = [(); 2].map(|()| recorder.capacities("s", &meter).unwrap());
    assert!(Arc::ptr_eq(&first, &again));
    // Another claim is another fact, and the namespace of the pod is one.
    recorder.volumes_for("bound", &meter).unwrap();
    assert_eq!(recorder.take().reads.len(), 4);
}

/// So many required anti-affinity terms, and preferred ones, that match every pod; no two from different numbers are equal.
fn affinity_of(numbers: std::ops::Range<usize>) -> Value {
    let term = |number: usize| {
        let not_in = json!([{"key": "color", "operator": "NotIn", "values": [format!("x{number}")]}]);
        json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": not_in}})
    };
    let required: Vec<Value> = numbers.clone().map(term).collect();
    let preferred: Vec<Value> = numbers.map(|number| json!({"weight": 1, "podAffinityTerm": term(number)})).collect();
    json!({
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
    })
}

#[test]
fn a_lookup_that_takes_too_long_tells_the_log_whose_terms_it_looked_through() {
    let mut world = World::new();
    world.bind("little", &json!({}), &json!({"affinity": affinity_of(0..200)}));
    world.bind("much", &json!({}), &json!({"affinity": affinity_of(200..4_000)}));
    for kept in [Kept::MatchedTerms, Kept::ScoringTerms] {
        let context = world.context();
        assert_eq!(context.look_up_terms(kept, &|| false), Err(NoValue::Deadline));
        // Answers can be shown to whoever has made the pod.
        assert_eq!(context.explain(Fault::new(FaultKind::Deadline, "late")).detail, "late");
        assert_eq!(context.take_given_up(), Some(kept));
        assert_eq!(context.take_given_up(), None, "what ends a later call is not theirs");
        let whose = context.whose_terms(kept, &|| true).unwrap();
        assert!(whose.contains("the namespace ns ") && whose.contains("100 %") && whose.contains("ns/much"), "{whose}");
        assert_eq!(context.look_up_terms(kept, &|| true), Ok(()));
        assert_eq!(context.take_given_up(), None);
    }
}

#[test]
fn terms_of_pods_on_nodes_are_looked_up_no_longer_than_the_request_takes() {
    // More terms that match every pod than are looked at between two questions whether there is time left.
    let affinity = affinity_of(0..3_000);
    let mut world = World::new();
    world.bind("x", &json!({}), &json!({"affinity": affinity}));
    let reads = [FactKey::AntiAffinity, FactKey::ScoringTerms].map(|key| FactRead::new(key, &world.context()));
    // Another pod, which the same terms match.
    world.pod["metadata"]["labels"]["color"] = json!("red");
    for read in &reads {
        let late = Arc::into_inner(world.context()).unwrap().with_deadline(Some(Instant::now()));
        assert!(!read.holds(&late), "it is not known whether it does");
        assert!(late.matched_terms_while(&|| false).is_none() && late.scoring_terms_while(&|| false).is_none());
        assert!(read.holds(&world.context()));
    }
    // What has been looked up is there without time.
    let known = world.context();
    assert_eq!(known.matched_terms_while(&|| true).map(|terms| terms.terms().len()), Some(3_000));
    assert_eq!(known.matched_terms_while(&|| false).map(|terms| terms.terms().len()), Some(3_000));
}
