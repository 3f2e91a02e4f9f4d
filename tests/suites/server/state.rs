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
    let pod = |name: &str, ownership: &str, cpu: i64, priority: i32, assumed: bool| {
        json!({"uid": format!("uid-{name}"), "namespace": "ns", "name": name, "node": "n1", "ownership": ownership,
               "usage": {"cpu": cpu}, "priority": priority, "assumed": assumed, "terminating": false})
    };
    let expected = json!({
        "name": "n1", "labels": {"zone": "a"}, "schedulable": true,
        "capacity": {"cpu": 2000, "pods": 20}, "allocatable": {"cpu": 1000, "pods": 10},
        "requested": {"cpu": 750, "pods": 4}, "own": {"cpu": 600, "pods": 2}, "foreign": {"cpu": 150, "pods": 2},
        "free": {"cpu": 250, "pods": 6},
        "ownPods": [pod("own", "own", 200, 3, false), pod("pending", "own", 400, 0, true)],
        "foreignPods": [pod("foreign", "foreign", 100, 0, false), pod("mirror", "static", 50, 0, false)],
        "devices": [],
    });
    assert_eq!(found["nodes"][0], expected);
    assert_eq!(found["nodes"][1]["free"], json!({"cpu": 1000, "pods": 10}));
    let nominated = json!([{"uid": "uid-nominated", "namespace": "ns", "name": "nominated",
                            "requests": {"cpu": 300}, "priority": 7, "nominatedNode": "n2"}]);
    assert_eq!((&found["pending"], &found["nominated"]), (&nominated, &nominated));
    assert_eq!(found["orphans"][0]["uid"], "uid-orphan");
    assert_eq!(found["orphans"][0]["node"], "n9");
    assert!(found["version"]["generation"].as_str().is_some_and(|generation| generation != "0"), "{found}");

    let totals = json!({
        "nodes": 2, "allocatable": {"cpu": 2000, "pods": 20}, "requested": {"cpu": 750, "pods": 4},
        "own": {"cpu": 600, "pods": 2}, "foreign": {"cpu": 150, "pods": 2}, "free": {"cpu": 1250, "pods": 16},
    });
    assert_eq!(found["totals"], totals);

    let one = state(&sidecar.tcp(), "?node=n1");
    assert_eq!(one["totals"], Value::Null, "totals are those of all nodes");
    assert_eq!(one["nodes"], json!([expected]));
    let other = state(&sidecar.tcp(), "?node=n2");
    assert_eq!((&other["nodes"][0]["name"], &other["nominated"]), (&json!("n2"), &nominated));
    assert_eq!(get(&sidecar.tcp(), "/v1/state?node=n3").unwrap().status, 404);
    for query in ["nodes=n1", "format=other", "node=n1&node=n1"] {
        assert_eq!(get(&sidecar.tcp(), &format!("/v1/state?{query}")).unwrap().status, 400, "{query}");
    }
}

#[test]
fn the_state_in_the_words_of_yunikorn_has_its_fields_and_its_numbers() {
    let mut cluster = cluster();
    let own = cluster.iter_mut().find(|object| object["metadata"]["name"] == "own").unwrap();
    own["metadata"]["labels"] = json!({"app": "sleep", "applicationId": "sleep-0001"});
    let (sidecar, _folder) = serving(&cluster, &[]);
    ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": "n1"}));
    let found = state(&sidecar.tcp(), "?format=yunikorn");
    let tags = |name: &str, more: Value| {
        let mut tags = json!({"kubernetes.io/meta/namespace": "ns", "kubernetes.io/meta/podName": name});
        for (key, value) in more.as_object().unwrap() {
            tags[key] = value.clone();
        }
        tags
    };
    let allocation = |name: &str, cpu: i64, priority: &str, application: &str, labels: Value| {
        json!({"allocationKey": format!("uid-{name}"), "allocationTags": tags(name, labels), "nodeId": "n1",
               "resource": {"vcore": cpu, "pods": 1}, "priority": priority, "applicationId": application})
    };
    let foreign = |name: &str, cpu: i64, mark: &str| {
        json!({"allocationKey": format!("uid-{name}"), "allocationTags": tags(name, json!({"foreign": mark})),
               "nodeId": "n1", "resource": {"vcore": cpu, "pods": 1}, "priority": "0"})
    };
    let mut preemptable = foreign("foreign", 100, "default");
    preemptable["preemptable"] = json!(true);
    let labels = json!({"kubernetes.io/label/app": "sleep", "kubernetes.io/label/applicationId": "sleep-0001"});
    let attributes = |node: &str| {
        let mut attributes = json!({"si.io/rackname": "/rack-default", "si/node-partition": "[mycluster]default"});
        attributes["si.io/hostname"] = json!(node);
        attributes
    };
    let n1 = json!({
        "nodeID": "n1", "attributes": attributes("n1"), "schedulable": true, "isReserved": false,
        "capacity": {"vcore": 1000, "pods": 10}, "allocated": {"vcore": 600, "pods": 2},
        "occupied": {"vcore": 150, "pods": 2}, "available": {"vcore": 250, "pods": 6},
        "utilized": {"vcore": 60, "pods": 20},
        "allocations": [allocation("own", 200, "3", "sleep-0001", labels),
                        allocation("pending", 400, "0", "yunikorn-ns-autogen", json!({}))],
        "foreignAllocations": [preemptable, foreign("mirror", 50, "static")],
    });
    let n2 = json!({
        "nodeID": "n2", "attributes": attributes("n2"), "schedulable": true, "isReserved": false,
        "capacity": {"vcore": 1000, "pods": 10}, "available": {"vcore": 1000, "pods": 10},
    });
    assert_eq!(found, json!({"partitionName": "default", "nodesInfo": [n1, n2]}));
    let one = state(&sidecar.tcp(), "?format=yunikorn&node=n2");
    assert_eq!(one, json!({"partitionName": "default", "nodesInfo": [n2]}));
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
    for (amounts, amount) in [("requested", 2), ("foreign", 2), ("free", -2)] {
        assert_eq!(node[amounts].as_object().map(serde_json::Map::len), Some(3_002), "{amounts}");
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
        .flat_map(|node| [list(&node["ownPods"]), list(&node["foreignPods"])].concat())
        .chain(list(&found["pending"]))
        .chain(list(&found["orphans"]))
        .map(|pod| pod["uid"].clone())
        .collect();
    let ended = |pod: &&Value| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let pods = objects("Pod");
    let mut expected: Vec<Value> =
        pods.iter().filter(|pod| !ended(pod)).map(|pod| pod["metadata"]["uid"].clone()).collect();
    listed.sort_unstable_by_key(Value::to_string);
    expected.sort_unstable_by_key(Value::to_string);
    assert_eq!(listed, expected);
    let of = |amounts: &Value, resource: &str| amounts[resource].as_i64().unwrap_or(0);
    for field in ["allocatable", "requested", "own", "foreign", "free"] {
        for resource in ["cpu", "memory", "pods"] {
            let total: i64 = nodes.iter().map(|node| of(&node[field], resource)).sum();
            assert_eq!(of(&found["totals"][field], resource), total, "{field} {resource}");
        }
    }
    assert_eq!(found["totals"]["nodes"], json!(nodes.len()));
    let yunikorn = state(&sidecar.unix(), "?format=yunikorn");
    for (node, its) in nodes.iter().zip(list(&yunikorn["nodesInfo"])) {
        let pods = [list(&node["ownPods"]), list(&node["foreignPods"])].concat();
        let sum: i64 = pods.iter().map(|pod| of(&pod["usage"], "memory")).sum();
        assert_eq!(of(&node["requested"], "memory"), sum, "{}", node["name"]);
        assert_eq!(of(&node["requested"], "pods"), i64::try_from(pods.len()).unwrap(), "{}", node["name"]);
        assert_eq!(its["nodeID"], node["name"]);
        for (field, words) in
            [("capacity", "allocatable"), ("allocated", "own"), ("occupied", "foreign"), ("available", "free")]
        {
            for (resource, word) in [("vcore", "cpu"), ("memory", "memory"), ("pods", "pods")] {
                assert_eq!(of(&its[field], resource), of(&node[words], word), "{field} {resource} of {}", node["name"]);
            }
        }
    }
    let names: Vec<&str> = nodes.iter().map(|node| node["name"].as_str().unwrap()).collect();
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
        assert_eq!((&added["type"], &added["node"], &added["assumed"]), (&json!("ADD"), &json!("n2"), &json!(true)));
        assert_eq!((&added["uid"], &added["usage"]), (&json!("uid-pending"), &json!({"cpu": 400})));
        let free = (&added["freeBefore"], &added["freeAfter"]);
        assert_eq!(free, (&json!({"cpu": 1000, "pods": 10}), &json!({"cpu": 600, "pods": 9})));
        assert!(at(&added) > at(&start));
        assert_eq!(added["generation"], assumed["version"]["generation"]);

        ask(&endpoint, "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": "n1"}));
        assert_eq!(next()["type"], "REMOVE");
        let moved = next();
        assert_eq!((&moved["type"], &moved["node"]), (&json!("ADD"), &json!("n1")));
        ask(&endpoint, "/v1/forget", &json!({"pod": {"uid": "uid-pending"}}));
        let removed = next();
        assert_eq!((&removed["type"], &removed["node"]), (&json!("REMOVE"), &json!("n1")));
    }
}

#[test]
fn a_node_tells_what_has_changed_there_and_by_whose_pods() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let node = |name: &str| get(&sidecar.tcp(), &format!("/v1/nodes/{name}")).unwrap();
    let place = |node: &str| ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": node}));
    place("n1");
    place("n2");
    let found = node("n1").json();
    assert_eq!(found["nodes"][0]["free"], json!({"cpu": 650, "pods": 7}), "{found}");
    let history: Vec<Value> = found["history"].as_array().unwrap().clone();
    let of = |event: &Value| {
        let text = |field: &str| event[field].as_str().unwrap().to_owned();
        let free = |field: &str| event[field]["cpu"].as_i64().unwrap();
        (text("type"), text("name"), text("ownership"), event["assumed"] == true, free("freeBefore"), free("freeAfter"))
    };
    let event = |change: &str, before: i64, after: i64| {
        (change.to_owned(), "pending".to_owned(), "own".to_owned(), true, before, after)
    };
    let told: Vec<_> = history.iter().map(of).collect();
    assert_eq!(told, [event("ADD", 650, 250), event("REMOVE", 250, 650)], "pods that were there have not changed");
    assert!(history.iter().all(|event| event["at"].as_str().unwrap().ends_with('Z')), "{history:?}");
    assert_eq!(node("n2").json()["history"].as_array().map(Vec::len), Some(1));
    assert_eq!(node("n9").status, 404);
}

#[test]
fn a_stream_begins_with_events_that_are_kept() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let endpoint = sidecar.tcp();
    let follow = |query: &str| http::follow(&endpoint, &format!("/v1/events{query}")).unwrap();
    let line = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let start = line(follow("").next().unwrap());
    let since = start["generation"].as_str().unwrap();
    ask(&endpoint, "/v1/assume", &json!({"pod": {"uid": "uid-pending"}, "node": "n2"}));
    ask(&endpoint, "/v1/forget", &json!({"pod": {"uid": "uid-pending"}}));
    let mut late = follow(&format!("?since={since}")).map(line);
    assert_eq!(late.next(), Some(start.clone()));
    let told: Vec<Value> = late.by_ref().take(2).map(|event| event["type"].clone()).collect();
    assert_eq!(told, [json!("ADD"), json!("REMOVE")]);
    // Of what is there at the start there are no events, and a reader from before is told so by where it begins.
    let mut from_before = follow("?since=0").map(line);
    let first = from_before.next().unwrap();
    assert!(first["type"] == "START" && first["generation"] != "0", "{first}");
    let all: Vec<Value> = from_before.take(2).map(|event| event["name"].clone()).collect();
    assert_eq!(all, [json!("pending"), json!("pending")]);
    let ahead = line(follow("?since=18446744073709551615").next().unwrap());
    assert_ne!(ahead["generation"], "18446744073709551615", "of another cache, which has come further");
    assert_eq!(ahead["epoch"], start["epoch"]);
    for query in ["since=x", "since=-1", "since=", "until=1"] {
        assert_eq!(get(&endpoint, &format!("/v1/events?{query}")).unwrap().status, 400, "{query}");
    }
}

#[test]
fn events_in_the_words_of_yunikorn_are_allocations_of_nodes_with_the_mark_of_foreign_pods() {
    let mut cluster = cluster();
    cluster.push(pod("other", "100m", &json!({"schedulerName": "other"})));
    let mut of_kubelet = pod("kubelet", "50m", &json!({}));
    of_kubelet["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "x"}]);
    cluster.push(of_kubelet);
    let (sidecar, _folder) = serving(&cluster, &[]);
    let line = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    // Its lines have no generation: where it starts later than asked for, the header says so.
    let generation = |since: &str| {
        let stream = http::follow(&sidecar.tcp(), &format!("/v1/events?since={since}&format=yunikorn")).unwrap();
        let header = stream.head.iter().find_map(|line| line.strip_prefix("nodesift-generation: ").map(str::to_owned));
        header.unwrap_or_else(|| panic!("{:?}", stream.head))
    };
    assert_ne!(generation("0"), "0", "nothing is told of what is there at the start");
    let start = generation("18446744073709551615");
    assert_ne!(start, "18446744073709551615");
    assert_eq!(generation(&start), start);
    let mut events = http::follow(&sidecar.tcp(), "/v1/events?since=0&format=yunikorn").unwrap().map(line);
    let instance = events.next().unwrap();
    assert!(
        instance["InstanceUUID"].is_string() && instance.as_object().map(serde_json::Map::len) == Some(1),
        "{instance}"
    );
    for (pod, node) in [("other", "n1"), ("kubelet", "n1"), ("pending", "n2")] {
        ask(&sidecar.tcp(), "/v1/assume", &json!({"pod": {"uid": format!("uid-{pod}")}, "node": node}));
    }
    ask(&sidecar.tcp(), "/v1/forget", &json!({"pod": {"uid": "uid-pending"}}));
    let mut told: Vec<Value> = events.take(4).collect();
    for event in &mut told {
        let event = event.as_object_mut().unwrap();
        assert!(event.remove("timestampNano").and_then(|time| time.as_i64()) > Some(0), "{event:?}");
    }
    let record = |pod: &str, node: &str, change: u8, cpu: i64| {
        json!({"type": 3, "objectID": node, "eventChangeType": change, "eventChangeDetail": 303,
               "referenceID": format!("uid-{pod}"),
               "resource": {"resources": {"pods": {"value": 1}, "vcore": {"value": cpu}}}})
    };
    let foreign = |pod: &str, cpu: i64, message: &str| {
        let mut record = record(pod, "n1", 2, cpu);
        record["message"] = json!(message);
        record
    };
    let expected = [
        foreign("other", 100, "foreign: default"),
        foreign("kubelet", 50, "foreign: static"),
        record("pending", "n2", 2, 400),
        record("pending", "n2", 3, 400),
    ];
    assert_eq!(told, expected);
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
                    && line.contains("cpu=400")
                    && (line.contains("cpu=1000->600") || change.contains("removed") || node == "n1")
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
