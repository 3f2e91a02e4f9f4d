//! A cluster with one object of each kind, and the pod in question. Start at [`World::new`].

use nodesift_cache::metadata::Selection;
use nodesift_cache::{self as cache, Reader, Record, Writer};
use nodesift_negotiation::{Concern, OnSilence, Party, Scope};
use nodesift_object::selector::Operator;
use nodesift_object::{Kind, decode};
use nodesift_sandbox::wire;
use serde_json::{Value, json};

use super::*;
use crate::party::{OnUnknown, PolicyParty};
use crate::policy::PolicySettings;

/// A cluster and the pod that is evaluated, all as objects.
pub(super) struct World {
    pub(super) writer: Writer,
    pub(super) reader: Reader,
    pub(super) pod: Value,
    pub(super) now: i64,
}

impl World {
    pub(super) fn new() -> Self {
        let (writer, reader) = cache::new();
        let pod = json!({
            "metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": {"color": "blue"}, "annotations": {"tier": "gold"},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "own", "uid": "own", "controller": true}]},
            "spec": {"containers": [
                {"name": "c", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1", "y.io/fpga": "1"}}}],
                "volumes": [claim("c")], "resourceClaims": [{"name": "d", "resourceClaimName": "devices"}]}
        });
        let mut world = Self { writer, reader, pod, now: 50 };
        world.writer.declare_sums(&[Arc::from("s")]);
        ["n0", "n1"].into_iter().for_each(|name| world.apply(node(name)));
        world.bind("other", &json!({}), &json!({}));
        for object in [
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "d",
                "volumeBindingMode": "WaitForFirstConsumer"}),
            pvc("c", ""),
            pvc("bound", "w"),
            // Of an ephemeral volume of the pod x, but not made for it.
            pvc("x-v", ""),
            pv("v", "2Gi"),
            pv("w", "2Gi"),
            csi_node("n0", &json!([{"name": "d", "allocatable": {"count": 3}}])),
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "k"}}),
            devices_claim("devices", &json!(null)),
            devices_claim("others", &json!(null)),
            slice("g0"),
        ] {
            world.apply(object);
        }
        world
    }

    pub(super) fn apply(&mut self, object: Value) {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let kind = Kind::from_type_meta(&text("apiVersion"), &text("kind")).unwrap();
        let object = decode::decode(kind, &object.to_string()).unwrap();
        self.writer.apply(Record::compile(
            &object,
            &metadata::Pool::default(),
            &["default-scheduler".to_owned()],
            &selection(),
        ));
    }

    /// Binds a new pod to node n1.
    pub(super) fn bind(&mut self, name: &str, labels: &Value, spec: &Value) {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns", "uid": name,
            "labels": labels}, "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "1"}}}]}});
        for (key, value) in spec.as_object().unwrap() {
            pod["spec"][key] = value.clone();
        }
        self.apply(pod);
    }

    /// Binds a new pod to node n1 that adds to the sum `s`.
    pub(super) fn bind_adding(&mut self, name: &str, amount: i64) {
        let sums = vec![(Arc::from("s"), amount)];
        let account = metadata::Account::new(Vec::new(), Vec::new(), sums, Vec::new());
        let object = json!({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {"nodeName": "n1"}});
        let pod: Pod = serde_json::from_value(object).unwrap();
        let record = metadata::pod_record_selecting(&pod, &["default-scheduler".to_owned()], &selection());
        self.writer.apply(metadata::PodRecord { account: Some(Arc::new(account)), ..record });
    }

    pub(super) fn context(&mut self) -> Arc<Context> {
        self.writer.publish();
        let pod: Pod = serde_json::from_value(self.pod.clone()).unwrap();
        let node_name = Some(pod.spec.node_name.as_str()).filter(|name| !name.is_empty()).map(Arc::from);
        let facts = Arc::new(metadata::pod_selecting(&pod, &selection()));
        let context = Context::new(self.reader.snapshot(), facts, node_name, Batch::All);
        let settings = PolicySettings {
            annotation_keys: selection().annotation_keys,
            config_maps: ["ns/m".to_owned()].into(),
            parties: [party()].into(),
            ..PolicySettings::default()
        };
        let context = context.with_settings(Arc::new(settings));
        Arc::new(context.with_owner(pod.metadata.name.into(), pod.metadata.uid.into()).with_now(self.now))
    }
}

/// Selection with every optional fact of pods and nodes that predicates read.
pub(super) fn selection() -> Selection {
    Selection {
        annotation_keys: ["tier".to_owned()].into(),
        pod_spec: true,
        pod_owner: true,
        pod_claims: true,
        pod_preferences: true,
        node_info: true,
        node_images: true,
        pod_images: true,
        non_zero_requests: true,
        ..Selection::default()
    }
}

pub(super) fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"zone": "a"}, "annotations": {"tier": "a"}},
        "spec": {}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}})
}

pub(super) fn claim(name: &str) -> Value {
    json!({"name": name, "persistentVolumeClaim": {"claimName": name}})
}

pub(super) fn pvc(name: &str, volume: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "ns", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"storageClassName": "s", "volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}}})
}

pub(super) fn pv(name: &str, size: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {"storageClassName": "s",
        "capacity": {"storage": size}, "csi": {"driver": "d", "volumeHandle": format!("handle-{name}")}}})
}

pub(super) fn csi_node(name: &str, drivers: &Value) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}})
}

/// A claim on one device of the class k.
pub(super) fn devices_claim(name: &str, allocation: &Value) -> Value {
    let request = json!({"name": "r", "exactly": {"deviceClassName": "k", "allocationMode": "ExactCount", "count": 1}});
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"devices": {"requests": [request]}}, "status": {"allocation": allocation}})
}

/// The devices of node n1: one, of this name.
pub(super) fn slice(device: &str) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {"driver": "d.io",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n1", "devices": [{"name": device}]}})
}

pub(super) fn labelled(key: &str, value: &str) -> wire::PodSelector {
    let (key, values) = (key.to_owned(), vec![value.to_owned()]);
    let requirement =
        wire::LabelRequirement { key, operator: wire::LabelOperator::In, values, operator_text: "In".to_owned() };
    wire::PodSelector {
        namespaces: vec!["ns".to_owned()],
        namespace_requirements: None,
        requirements: vec![requirement],
    }
}

pub(super) fn blue() -> Value {
    json!([{"labelSelector": {"matchLabels": {"color": "blue"}}, "topologyKey": "zone"}])
}

/// Affinity with one preferred term for blue pods, in a field of `spec.affinity`.
pub(super) fn preferred(field: &str) -> Value {
    let term = json!({"weight": 7, "podAffinityTerm": blue()[0]});
    json!({field: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})
}

/// A party that decides about blue pods, and about nodes of the zone a.
pub(super) fn party() -> PolicyParty {
    let blue = metadata::LabelRequirement::new("color", Operator::In, ["blue".into()]).unwrap();
    let every_namespace = Some(Vec::new());
    PolicyParty {
        party: Party { name: "lab".into(), concern: Concern::Pods, scope: Scope::Pod, on_silence: OnSilence::Ignore },
        pods: metadata::PodSelector {
            namespaces: Vec::new(),
            namespace_requirements: every_namespace,
            requirements: vec![blue],
        },
        nodes: [("zone".into(), "a".into())].into(),
        on_unknown: OnUnknown::default(),
        deadline: None,
    }
}
