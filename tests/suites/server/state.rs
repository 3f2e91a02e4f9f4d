//! The dump of the state, and the event stream that continues it.

use nodesift_api::limits::STREAMS;
use nodesift_tests::http::{self, Endpoint, get};
use serde_json::{Value, json};

use crate::decisions::{node, pod, serving};
use crate::running::{ask, objects, sample};

fn state(endpoint: &Endpoint, query: &str) -> Value {
    let response = get(endpoint, &format!("/v1/state{query}")).unwrap();
    assert_eq!(response.status, 200, "{}", response.body);
    response.json()
}

fn cluster() -> Vec<Value> {
    let mut foreign_static = pod("mirror", "50m", &json!({"nodeName": "n1"}));
    foreign_static["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "x"}]);
    let mut nominated = pod("nominated", "300m", &json!({"priority": 7}));
    nominated["status"] = json!({"nominatedNodeName": "n2"});
    vec![
        node("n1", "1"),
        node("n2", "1"),
        pod("own", "200m", &json!({"nodeName": "n1", "priority": 3})),
        pod("foreign", "100m", &json!({"nodeName": "n1", "schedulerName": "other"})),
        foreign_static,
        pod("pending", "400m", &json!({})),
        nominated,
        pod("orphan", "10m", &json!({"nodeName": "n9"})),
    ]
}

#[test]
fn the_state_tells_own_pods_from_foreign_ones_and_adds_up() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": "n1"}));
    let found = state(&sidecar.tcp(), "");
    let allocation = |name: &str, cpu: i64, priority: &str, assumed: bool| {
        json!({"allocationKey": format!("uid-{name}"), "namespace": "ns", "name": name, "nodeId": "n1",
               "resource": {"cpu": cpu}, "priority": priority, "assumed": assumed, "terminating": false})
    };
    let foreign = |name: &str, cpu: i64, tag: &str, preemptable: bool| {
        let mut foreign = allocation(name, cpu, "0", false);
        foreign["allocationTags"] = json!({"foreign": tag});
        foreign["preemptable"] = json!(preemptable);
        foreign
    };
    let expected = json!({
        "nodeID": "n1", "attributes": {"zone": "a"}, "schedulable": true,
        "capacity": {"cpu": 2000, "pods": 20}, "allocatable": {"cpu": 1000, "pods": 10},
        "requested": {"cpu": 750}, "foreign": {"cpu": 150}, "allocated": {"cpu": 600}, "occupied": {"cpu": 150},
        "available": {"cpu": 250}, "podCount": 4, "foreignPodCount": 2,
        "allocations": [allocation("own", 200, "3", false), allocation("pending", 400, "0", true)],
        "foreignAllocations": [foreign("foreign", 100, "default", true), foreign("mirror", 50, "static", false)],
        "devices": [],
    });
    assert_eq!(found["nodes"][0], expected);
    assert_eq!(found["nodes"][1]["available"], json!({"cpu": 1000}));
    let nominated = json!([{"allocationKey": "uid-nominated", "namespace": "ns", "name": "nominated",
                            "resource": {"cpu": 300}, "priority": "7", "nominatedNodeID": "n2"}]);
    assert_eq!((&found["pending"], &found["nominated"]), (&nominated, &nominated));
    assert_eq!(found["orphans"][0]["allocationKey"], "uid-orphan");
    assert_eq!(found["orphans"][0]["nodeId"], "n9");
    assert!(found["version"]["generation"].as_str().is_some_and(|generation| generation != "0"), "{found}");

    let partition = json!({
        "name": "default", "totalNodes": 2, "totalContainers": 2, "foreignPodCount": 2, "foreign": {"cpu": 150},
        "capacity": {"capacity": {"cpu": 2000, "pods": 20}, "usedCapacity": {"cpu": 600}, "utilization": {"cpu": 30}},
    });
    assert_eq!(found["partitions"], json!([partition]));

    let one = state(&sidecar.tcp(), "?node=n1");
    assert_eq!(one["partitions"], Value::Null, "totals are those of all nodes");
    assert_eq!(one["nodes"], json!([expected]));
    let other = state(&sidecar.tcp(), "?node=n2");
    assert_eq!((&other["nodes"][0]["nodeID"], &other["nominated"]), (&json!("n2"), &nominated));
    assert_eq!(get(&sidecar.tcp(), "/v1/state?node=n3").unwrap().status, 404);
    assert_eq!(get(&sidecar.tcp(), "/v1/state?nodes=n1").unwrap().status, 400);
}

/// A node with a pool of devices of its own, one without, a pool for all nodes, and a claim on a device of each pool.
fn devices() -> Vec<Value> {
    let slice = |name: &str, reach: &str, value: Value, devices: usize| {
        let devices: Vec<Value> = (0..devices).map(|number| json!({"name": number.to_string()})).collect();
        let pool = json!({"name": name, "generation": 1, "resourceSliceCount": 1});
        let mut spec = json!({"driver": "gpu.example.com", "pool": pool, "devices": devices});
        spec[reach] = value;
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec})
    };
    let claim = |pool: &str| {
        let result = json!({"request": "r", "driver": "gpu.example.com", "pool": pool, "device": "0"});
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
               "metadata": {"name": pool, "namespace": "ns", "uid": pool}, "spec": {"devices": {}},
               "status": {"allocation": {"devices": {"results": [result]}}}})
    };
    let slices = [slice("own", "nodeName", json!("n1"), 4), slice("net", "allNodes", json!(true), 2)];
    [vec![node("n1", "1"), node("n2", "1")], slices.to_vec(), vec![claim("own"), claim("net")]].concat()
}

#[test]
fn devices_are_in_the_state_where_the_policy_reads_them() {
    let (sidecar, _folder) = serving(&devices(), &[]);
    let pool = |name: &str, devices: usize| {
        json!({"driver": "gpu.example.com", "pool": name, "state": "Ok", "devices": devices, "allocated": 1,
               "inFlight": 0, "free": devices - 1})
    };
    let found = state(&sidecar.tcp(), "");
    assert_eq!((&found["nodes"][0]["devices"], &found["nodes"][1]["devices"]), (&json!([pool("own", 4)]), &json!([])));
    assert_eq!(found["clusterDevices"], json!([pool("net", 2)]), "not once per node");
    let one = state(&sidecar.tcp(), "?node=n2");
    assert_eq!((&one["nodes"][0]["devices"], &one["clusterDevices"]), (&json!([]), &json!([pool("net", 2)])));
    let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
    for line in ["nodesift_cache_devices 6", "nodesift_cache_devices_in_use 2"] {
        assert!(metrics.lines().any(|known| known == line), "{line}: {metrics}");
    }

    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    let text = json!({"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "metadata": {"name": "p"},
                      "spec": {"schedulerNames": ["default-scheduler"], "predicates": [{"name": "NodeName"}]}});
    std::fs::write(&policy, text.to_string()).unwrap();
    let (without, _folder) = serving(&devices(), &["--policy", policy.to_str().unwrap()]);
    let found = state(&without.tcp(), "");
    assert_eq!((&found["nodes"][0]["devices"], &found["clusterDevices"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_pods_take_of_a_resource_that_no_node_lists_is_in_the_state_and_rejects_as_ever() {
    let mut odd = pod("odd", "200m", &json!({"nodeName": "n1", "schedulerName": "other"}));
    for number in 0..3_000 {
        odd["spec"]["containers"][0]["resources"]["requests"][format!("example.com/{number}")] = json!("2");
    }
    let mut asking = pod("asking", "100m", &json!({}));
    asking["spec"]["containers"][0]["resources"]["requests"]["example.com/7"] = json!("1");
    let (sidecar, _folder) = serving(&[node("n1", "1"), node("n2", "1"), odd], &[]);
    let found = state(&sidecar.tcp(), "?node=n1");
    let node = &found["nodes"][0];
    for (amounts, amount) in [("requested", 2), ("foreign", 2), ("occupied", 2), ("available", -2)] {
        assert_eq!(node[amounts].as_object().map(serde_json::Map::len), Some(3_001), "{amounts}");
        assert_eq!(node[amounts]["example.com/2999"], json!(amount), "{amounts}");
    }
    assert_eq!(node["allocatable"], json!({"cpu": 1000, "pods": 10}));
    let answer = ask(&sidecar.tcp(), "/v1/explain", &json!({"pods": [{"object": asking}]}));
    let text = answer.to_string();
    assert!(text.contains("Insufficient example.com/7") && text.contains("UnschedulableAndUnresolvable"), "{text}");
}

#[test]
fn every_pod_of_the_sample_is_in_the_state_once() {
    let sidecar = sample(&[]);
    let found = state(&sidecar.unix(), "");
    let list = |value: &Value| value.as_array().cloned().unwrap();
    let nodes = list(&found["nodes"]);
    let mut listed: Vec<Value> = nodes
        .iter()
        .flat_map(|node| [list(&node["allocations"]), list(&node["foreignAllocations"])].concat())
        .chain(list(&found["pending"]))
        .chain(list(&found["orphans"]))
        .map(|pod| pod["allocationKey"].clone())
        .collect();
    let ended = |pod: &&Value| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let pods = objects("Pod");
    let mut expected: Vec<Value> =
        pods.iter().filter(|pod| !ended(pod)).map(|pod| pod["metadata"]["uid"].clone()).collect();
    listed.sort_unstable_by_key(Value::to_string);
    expected.sort_unstable_by_key(Value::to_string);
    assert_eq!(listed, expected);
    let partition = &found["partitions"][0];
    let total = |field: &str| nodes.iter().map(|node| node[field]["memory"].as_i64().unwrap_or(0)).sum::<i64>();
    assert_eq!(partition["capacity"]["capacity"]["memory"].as_i64(), Some(total("allocatable")));
    assert_eq!(partition["capacity"]["usedCapacity"]["memory"].as_i64().unwrap_or(0), total("allocated"));
    assert_eq!(partition["foreign"]["memory"].as_i64().unwrap_or(0), total("foreign"));
    let allocations: usize = nodes.iter().map(|node| list(&node["allocations"]).len()).sum();
    assert_eq!((&partition["totalNodes"], &partition["totalContainers"]), (&json!(nodes.len()), &json!(allocations)));
    for node in &nodes {
        let mut sum = 0;
        for pod in [list(&node["allocations"]), list(&node["foreignAllocations"])].concat() {
            sum += pod["resource"]["memory"].as_i64().unwrap_or(0);
        }
        assert_eq!(node["requested"]["memory"].as_i64().unwrap_or(0), sum, "{}", node["nodeID"]);
    }
    let names: Vec<&str> = nodes.iter().map(|node| node["nodeID"].as_str().unwrap()).collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), objects("Node").len());
}

#[test]
fn events_tell_what_came_and_went_since_they_began() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        let mut events = http::follow(&endpoint, "/v1/events").unwrap();
        let mut next = || serde_json::from_str::<Value>(&events.next().expect("the stream is open")).unwrap();
        let start = next();
        assert_eq!(start["type"], "START", "{start}");
        let at = |event: &Value| event["generation"].as_str().unwrap().parse::<u64>().unwrap();
        assert_eq!(state(&endpoint, "")["version"]["generation"], start["generation"]);

        let assumed = ask(&endpoint, "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": "n2"}));
        let added = next();
        assert_eq!((&added["type"], &added["nodeId"], &added["assumed"]), (&json!("ADD"), &json!("n2"), &json!(true)));
        assert_eq!((&added["allocationKey"], &added["resource"]), (&json!("uid-pending"), &json!({"cpu": 400})));
        assert!(at(&added) > at(&start));
        assert_eq!(added["generation"], assumed["version"]["generation"]);

        ask(&endpoint, "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": "n1"}));
        assert_eq!(next()["type"], "REMOVE");
        let moved = next();
        assert_eq!((&moved["type"], &moved["nodeId"]), (&json!("ADD"), &json!("n1")));
        ask(&endpoint, "/v1/forget", &json!({"pod": {"uid": "uid-pending"}}));
        let removed = next();
        assert_eq!((&removed["type"], &removed["nodeId"]), (&json!("REMOVE"), &json!("n1")));
    }
}

#[test]
fn allocations_that_come_and_go_are_logged_at_debug_and_not_at_info() {
    for (level, is_logged) in [("debug", true), ("info", false)] {
        let (sidecar, _folder) = serving(&cluster(), &["--log", level]);
        let assume =
            |node: &str| ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": node}));
        assume("n2");
        assume("n1");
        let words = ["allocation added", "uid-pending", "n1"];
        let last = || sidecar.output().lines().any(|line| words.iter().all(|word| line.contains(word))).then_some(());
        assert!(!is_logged || nodesift_tests::timeout::until(last).is_some(), "{}", sidecar.output());
        let log = sidecar.output();
        let line = |change: &str, node: &str| {
            log.lines().any(|line| {
                line.contains(change)
                    && line.contains("ns/pending")
                    && line.contains("uid-pending")
                    && line.contains(node)
            })
        };
        for (change, node) in [("allocation added", "n2"), ("allocation removed", "n2"), ("allocation added", "n1")] {
            assert_eq!(line(change, node), is_logged, "{change} {node} at {level}:\n{log}");
        }
    }
}

#[test]
fn a_stream_does_not_hold_up_the_end() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let mut events = http::follow(&sidecar.tcp(), "/v1/events").unwrap();
    assert!(events.next().is_some_and(|line| line.contains("START")));
    sidecar.signal("TERM");
    assert_eq!(events.next(), None, "the stream ends without an error");
    let (status, output) = sidecar.wait();
    assert_eq!(status.code(), Some(0), "{output}");
    assert!(!output.contains("cut off"), "{output}");
}

#[test]
fn streams_are_bounded_in_number() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let follow = || http::follow(&sidecar.unix(), "/v1/events").unwrap();
    let streams: Vec<_> = (0..STREAMS).map(|_| follow()).collect();
    // One more takes the place of one of those that are idle, and of no other.
    let another = follow();
    let (ended, of_ended) = std::sync::mpsc::channel();
    for stream in streams {
        let ended = ended.clone();
        std::thread::spawn(move || ended.send(stream.count()).ok());
    }
    let limit = nodesift_tests::timeout::limit();
    assert_eq!(of_ended.recv_timeout(limit), Ok(1), "it ends after the line that names the generation");
    assert!(of_ended.try_recv().is_err(), "the others go on");
    drop(another);
    sidecar.signal("TERM");
    for _ in 1..STREAMS {
        of_ended.recv_timeout(limit).expect("the others end with the process");
    }
}
