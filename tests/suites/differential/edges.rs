//! Edges that random clusters seldom have: sizes that 64 bits do not hold in bytes, selectors that do not parse, more
//! resources and longer texts than usual. The engine compared with the reference on clusters made for each.

use nodesift_engine::{Code, Cycle, Depth, Engine, Nodes, Options, Phase, PodRef, Query, Reuse, RowsByName};
use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::key;
use nodesift_fixtures::random::Event;
use nodesift_reference::{Explanation, Filter, explain, filters};
use serde_json::{Value, json};

use crate::mirror::{self, Mirror};
use crate::{ask_and_compare, default_policy, engine};

/// Sizes of claims and volumes: equal ones in other notations, some that differ by less than a byte, and some beyond 64 bits.
const SIZES: [&str; 16] = [
    "0",
    "1",
    "1500m",
    "1600m",
    "1.5",
    "2",
    "1Gi",
    "1073741823.5",
    "100G",
    "9E",
    "9223372036854775807",
    "8Ei",
    "10E",
    "1e19",
    "20E",
    "100E",
];

/// Label selectors, most of which Kubernetes does not parse.
fn selectors() -> Vec<Value> {
    let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    let long = "x".repeat(64);
    vec![
        json!({"matchLabels": {"app": "web"}}),
        json!({}),
        expression("app", "In", json!(["web"])),
        expression("app", "In", json!([])),
        expression("app", "NotIn", json!([])),
        expression("app", "Exists", json!(["web"])),
        expression("app", "DoesNotExist", json!(["web"])),
        expression("app", "Gt", json!(["1"])),
        expression("app", "Near", json!(["web"])),
        expression("app", "", json!(["web"])),
        expression("", "Exists", json!([])),
        expression("a b", "Exists", json!([])),
        expression("a/b/c", "Exists", json!([])),
        expression("/app", "Exists", json!([])),
        expression("app/", "Exists", json!([])),
        expression("App.com/app", "Exists", json!([])),
        expression("example..com/app", "Exists", json!([])),
        expression("-example.com/app", "Exists", json!([])),
        expression("example.com/app", "DoesNotExist", json!([])),
        expression("app-", "Exists", json!([])),
        expression("1.a_B", "DoesNotExist", json!([])),
        expression(&long, "Exists", json!([])),
        expression(&long[1..], "DoesNotExist", json!([])),
        expression("app", "In", json!(["web", "not a value!"])),
        expression("app", "In", json!(["web", ""])),
        expression("app", "NotIn", json!([long])),
        json!({"matchLabels": {"app": "-web"}}),
        json!({"matchLabels": {"a b": "web"}}),
        json!({"matchLabels": {"app": "web", "b": "é"}}),
    ]
}

fn node(name: &str) -> Value {
    let labels = json!({"zone": "z", "kubernetes.io/hostname": name});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}})
}

fn pod(name: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web"}});
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}});
    for (key, value) in spec.as_object().expect("a map") {
        pod["spec"][key] = value.clone();
    }
    pod
}

/// An engine, the cache that it reads, and the same objects for the reference.
struct World {
    cluster: Cluster,
    mirror: Mirror,
    engine: Engine,
    filters: Vec<Filter>,
}

impl World {
    fn new(objects: &[Value]) -> Self {
        let mut cluster = Cluster::default();
        objects.iter().for_each(|object| cluster.apply(object.clone()));
        let policy = default_policy();
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(cluster.objects());
        let engine = engine(&policy, &mirror).with_reuse(Reuse::Verified);
        let names: Vec<&str> = policy.predicates.iter().map(|predicate| predicate.name.as_str()).collect();
        Self { cluster, mirror, engine, filters: filters::named(&names) }
    }

    /// Removes an object, if it is there, and adds it as it is now.
    fn replace(&mut self, object: &Value) {
        let mut events = Vec::new();
        let kind = object["kind"].as_str().unwrap_or_default();
        if let Some(known) = self.cluster.remove(kind, &key(object)) {
            events.push(Event::Remove(Box::new(known)));
        }
        self.cluster.apply(object.clone());
        events.push(Event::Apply(Box::new(object.clone())));
        self.mirror.follow(&events);
    }

    fn explain(&self, pod: &Value) -> Explanation {
        explain(&self.cluster, pod, &self.filters)
    }

    /// Compares all predicates of the default policy. Returns the nodes that fit.
    fn agree(&self, pod: &Value, about: &str) -> Vec<String> {
        let explanation = self.explain(pod);
        let differences = ask_and_compare(&self.engine, &self.cluster, pod, Phase::Allocate, &explanation);
        assert!(differences.is_empty(), "{about}:\n  {}", differences.join("\n  "));
        explanation.together.feasible
    }
}

fn claim(name: &str, size: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "s", "resources": {"requests": {"storage": size}}},
        "status": {"phase": "Pending"}})
}

fn volume(name: &str, size: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "s", "capacity": {"storage": size}},
        "status": {"phase": "Available"}})
}

fn class(provisioner: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer"})
}

fn using(claims: &[&str]) -> Value {
    let volumes = claims.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    pod("p", &json!({"volumes": volumes.collect::<Vec<_>>()}))
}

#[test]
fn volumes_are_as_large_as_they_are_written() {
    let mut world = World::new(&[node("n1"), class("kubernetes.io/no-provisioner")]);
    let mut fits = |requested: &str, capacity: &str| {
        world.replace(&claim("c", requested));
        world.replace(&volume("v", capacity));
        !world.agree(&using(&["c"]), &format!("{requested} of {capacity}")).is_empty()
    };
    let (mut fitting, mut failing) = (0, 0);
    for requested in SIZES {
        for capacity in SIZES {
            if fits(requested, capacity) { fitting += 1 } else { failing += 1 }
        }
    }
    assert!(fitting > 50 && failing > 50, "{fitting} fit, {failing} do not");
    assert!(fits("100G", "10E") && !fits("10E", "9E") && !fits("1600m", "1500m") && fits("1500m", "1600m"));
}

#[test]
fn the_smallest_of_several_volumes_is_chosen_exactly() {
    // Each claim takes the smallest volume that is large enough, the smallest claim first; one way to match is then left.
    let mut world = World::new(&[node("n1"), class("kubernetes.io/no-provisioner")]);
    let sizes = ["1200m", "1300m", "1500m", "1600m", "9E", "10E", "11E", "12E"];
    for (number, smaller) in sizes.iter().enumerate() {
        for larger in sizes.iter().skip(number + 1) {
            for (a, b) in [("1250m", "1550m"), ("8.5E", "10.5E"), ("1550m", "10.5E")] {
                let objects = [claim("larger", b), claim("smaller", a), volume("v1", larger), volume("v2", smaller)];
                objects.iter().for_each(|object| world.replace(object));
                world.agree(&using(&["larger", "smaller"]), &format!("{a} and {b} of {smaller} and {larger}"));
            }
        }
    }
}

#[test]
fn room_for_new_volumes_is_compared_in_whole_bytes_as_kube_scheduler_does() {
    let driver = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"},
        "spec": {"storageCapacity": true}});
    let mut world = World::new(&[node("n1"), class("d"), driver]);
    for requested in SIZES {
        world.replace(&claim("c", requested));
        for size in SIZES {
            for field in ["capacity", "maximumVolumeSize"] {
                let capacity = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
                    "metadata": {"name": "k", "namespace": "ns"}, "storageClassName": "s", "nodeTopology": {}, field: size});
                world.replace(&capacity);
                world.agree(&using(&["c"]), &format!("{requested} of {field} {size}"));
            }
        }
    }
}

#[test]
fn a_selector_that_does_not_parse_voids_the_terms_of_a_pod_on_a_node() {
    let term = |selector: &Value| json!({"labelSelector": selector, "topologyKey": "zone"});
    let by_namespace = |selector: &Value| json!({"labelSelector": {"matchLabels": {"app": "web"}}, "namespaceSelector": selector, "topologyKey": "zone"});
    let valid = term(&json!({"matchLabels": {"app": "web"}}));
    let mut world = World::new(&[node("n1"), node("n2")]);
    let (mut kept, mut voided) = (0, 0);
    for selector in selectors() {
        for terms in [
            json!([valid, term(&selector)]),
            json!([term(&selector), valid]),
            json!([valid, by_namespace(&selector)]),
            json!([{"namespaceSelector": selector, "topologyKey": "zone"}, valid]),
        ] {
            let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
            world.replace(&pod("existing", &json!({"nodeName": "n1", "affinity": affinity})));
            let fits = world.agree(&pod("p", &json!({})), &terms.to_string());
            if fits.is_empty() { kept += 1 } else { voided += 1 }
        }
    }
    assert!(kept > 10 && voided > 10, "{kept} lists are kept, {voided} are void");
}

#[test]
fn a_selector_that_does_not_parse_rejects_the_pod_even_in_a_preferred_term() {
    let world = World::new(&[node("n1"), node("n2")]);
    let (mut fitting, mut rejected) = (0, 0);
    let all = selectors();
    for (number, selector) in all.iter().enumerate() {
        let other = &all[(number + 7) % all.len()];
        let preferred = |selectors: &[&Value]| {
            let term = |selector: &&Value| json!({"weight": 1, "podAffinityTerm": {"labelSelector": selector, "topologyKey": "zone"}});
            json!({"preferredDuringSchedulingIgnoredDuringExecution": selectors.iter().map(term).collect::<Vec<_>>()})
        };
        for affinity in [
            json!({"podAffinity": preferred(&[selector])}),
            json!({"podAntiAffinity": preferred(&[selector])}),
            json!({"podAffinity": preferred(&[other, selector]), "podAntiAffinity": preferred(&[selector])}),
            json!({"podAffinity": preferred(&[]), "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": other, "topologyKey": "zone"}],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 0, "podAffinityTerm": {"namespaceSelector": selector, "topologyKey": "zone"}}]}}),
        ] {
            let fits = world.agree(&pod("p", &json!({"affinity": affinity})), &affinity.to_string());
            if fits.is_empty() { rejected += 1 } else { fitting += 1 }
        }
    }
    assert!(fitting > 10 && rejected > 10, "{fitting} fit, {rejected} are rejected");
}

#[test]
fn a_pod_that_lacks_very_many_resources_is_told_each_of_them() {
    for count in [31, 32, 33, 40, 400] {
        let requests: serde_json::Map<String, Value> =
            (0..count).map(|number| (format!("example.com/resource-{number}"), json!("1"))).collect();
        let containers = json!([{"name": "c", "resources": {"requests": requests}}]);
        // Each node lacks others of them.
        let nodes: Vec<Value> = (0..20)
            .map(|number| {
                let mut node = node(&format!("n{number}"));
                for resource in (0..count).filter(|resource| resource % 20 == number) {
                    node["status"]["allocatable"][format!("example.com/resource-{resource}")] = json!("1");
                }
                node
            })
            .collect();
        let pod = pod("p", &json!({"containers": containers}));
        assert!(World::new(&nodes).agree(&pod, &format!("{count} resources")).is_empty());
    }
}

#[test]
fn a_very_long_name_in_a_reason_costs_no_other_node_its_verdict() {
    let csi_node = |name: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
            "spec": {"drivers": [{"name": "d", "nodeID": "x", "allocatable": {"count": 5}}]}})
    };
    let bound = |number: usize, bytes: usize| {
        let id = format!("aws://{number}/{}", "x".repeat(bytes));
        let volumes = json!([{"name": "v", "awsElasticBlockStore": {"volumeID": id}}]);
        pod(&format!("bound-{number}"), &json!({"nodeName": format!("n{number}"), "volumes": volumes}))
    };
    // One long reason, then more long ones than a verdict has room for.
    for others in [1, 1_500] {
        let nodes = others + 2;
        let mut objects = vec![class("d"), claim("c", "1Gi")];
        for number in 0..nodes {
            objects.extend([node(&format!("n{number}")), csi_node(&format!("n{number}"))]);
            objects.extend((number < others).then(|| bound(number, 2_000)));
        }
        let world = World::new(&objects);
        let pod = mirror::pod(&using(&["c"]));
        let query = Query::new([PodRef::Whole(Box::new(pod))]).with_depth(Depth::Each);
        let answer = world.engine.answer(&query, Options::default()).expect("an answer");
        let pod = &answer.pods[0];
        assert!(pod.faults.is_empty(), "{:?}", pod.faults);
        let name = |row| answer.snapshot.node_name(row).to_owned();
        let feasible: Vec<String> = RowsByName::new(&pod.feasible, &answer.snapshot.node_names()).map(name).collect();
        let expected: Vec<String> = {
            let mut names: Vec<String> = (others..nodes).map(|number| format!("n{number}")).collect();
            names.sort();
            names
        };
        assert_eq!(feasible, expected, "the nodes without such a pod fit");
        let rejected: usize = pod.failures.iter().map(|failure| failure.rows.len()).sum();
        assert_eq!(rejected, others);
        for failure in pod.failures.iter() {
            assert_eq!((&*failure.predicate, failure.code), ("NodeVolumeLimits", Code::Error));
            assert!(failure.reasons.iter().all(|reason| reason.len() <= 1024), "{:?}", failure.reasons);
        }
        assert_eq!(world.explain(&using(&["c"])).together.feasible, expected, "the reference agrees");
        // The error of a node that was not asked about ends no cycle.
        let cycle = |names: &[&String]| {
            let nodes = Nodes::Named(names.iter().copied().cloned().collect());
            let pod = PodRef::Whole(Box::new(mirror::pod(&using(&["c"]))));
            let query = Query::new([pod]).with_nodes(nodes).with_depth(Depth::Each);
            world.engine.answer(&query, Options::default()).expect("an answer").pods[0].cycle
        };
        let (failing, fitting) = ("n0".to_owned(), &expected[0]);
        assert_eq!(cycle(&[fitting]), Cycle::EachNode);
        assert_eq!(cycle(&[&failing, fitting]), Cycle::Aborted);
    }
}
