//! Overlays: a request is answered for the cluster with hypothetical changes, which later requests do not see.

use nodesift_proto::v1::{Bitmaps, Detail, FilterRequest, Node};
use nodesift_proto::v1::{ExplainRequest, Overlay, PlacedPod, Pod, node as node_of, pod as pod_of};
use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::post;
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::decisions::{node, pod, serving};
use crate::running::{ask, command, in_time};

fn labelled(mut object: Value, labels: Value) -> Value {
    object["metadata"]["labels"] = labels;
    object
}

/// A node with a zone and its name as labels.
fn in_zone(name: &str, cpu: &str, zone: &str) -> Value {
    labelled(node(name, cpu), json!({"zone": zone, "kubernetes.io/hostname": name}))
}

fn app_pod(name: &str, cpu: &str, spec: &Value) -> Value {
    labelled(pod(name, cpu, spec), json!({"app": "web"}))
}

/// Pods that depend on free resources, ports, labels, and the pods around them.
fn probes() -> Vec<Value> {
    let selector = json!({"matchLabels": {"app": "web"}});
    let apart = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}]}}});
    let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]});
    let mut port = pod("port", "10m", &json!({}));
    port["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 80}]);
    vec![
        pod("small", "10m", &json!({})),
        pod("half", "500m", &json!({})),
        pod("large", "3", &json!({})),
        app_pod("apart", "10m", &apart),
        app_pod("spread", "10m", &spread),
        pod("zoned", "10m", &json!({"nodeSelector": {"zone": "b"}})),
        port,
    ]
}

/// The objects of the cluster.
fn cluster() -> Vec<Value> {
    let mut holder = pod("holder", "10m", &json!({"nodeName": "n3"}));
    holder["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 80}]);
    vec![
        in_zone("n1", "1", "a"),
        in_zone("n2", "1", "a"),
        in_zone("n3", "1", "b"),
        app_pod("one", "600m", &json!({"nodeName": "n1"})),
        app_pod("two", "300m", &json!({"nodeName": "n2"})),
        app_pod("waits", "100m", &json!({"nodeName": "n4"})),
        holder,
        app_pod("pending", "400m", &json!({})),
    ]
}

/// The overlay: one node more, one node changed, one pod fewer, and others on other nodes.
fn supposed() -> Value {
    json!({
        "removedPods": [{"uid": "uid-one"}, {"name": {"namespace": "ns", "name": "holder"}}],
        "addedPods": [
            {"pod": {"uid": "uid-pending"}, "node": "n3"},
            {"pod": {"object": app_pod("new", "200m", &json!({}))}, "node": "n4"},
            {"pod": {"uid": "uid-two"}, "node": "n1"},
        ],
        "nodes": [{"object": in_zone("n4", "4", "c")}, {"json": in_zone("n2", "2", "b").to_string()}],
    })
}

/// Applies the same changes to the API server.
fn do_it(server: &ApiServer) -> Value {
    server.change(|store| {
        store.apply(in_zone("n4", "4", "c"));
        store.delete("Pod", "ns/one");
        store.delete("Pod", "ns/holder");
        store.apply(app_pod("pending", "400m", &json!({"nodeName": "n3"})));
        store.apply(app_pod("new", "200m", &json!({"nodeName": "n4"})));
        // A moved pod is a new object with the same facts.
        let mut two = app_pod("two", "300m", &json!({"nodeName": "n1"}));
        two["metadata"]["uid"] = json!("uid-two-again");
        store.delete("Pod", "ns/two");
        // The versions are those of the last event of each kind.
        let nodes = store.apply(in_zone("n2", "2", "b"));
        let pods = store.apply(two);
        json!({"minNodesResourceVersion": store.written(nodes), "minPodsResourceVersion": store.written(pods),
               "deadlineMs": 30_000})
    })
}

/// The answers about all probes.
fn said(sidecar: &Sidecar, overlay: &Value, consistency: &Value) -> [Value; 2] {
    let pods: Vec<Value> = probes().iter().map(|pod| json!({"object": pod})).collect();
    let mut request = json!({"pods": pods, "overlay": overlay, "consistency": consistency});
    let explained = ask(&sidecar.unix(), "/v1/explain", &request)["pods"].clone();
    request["detail"] = json!("DETAIL_NODES");
    [ask(&sidecar.unix(), "/v1/filter", &request)["pods"].clone(), explained]
}

#[test]
fn an_overlay_is_answered_as_if_it_were_true_and_leaves_nothing() {
    let server = ApiServer::start();
    server.change(|store| {
        for object in cluster() {
            store.apply(object);
        }
    });
    let sidecar = Sidecar::launch(command(), &["--kubeconfig", server.kubeconfig().to_str().unwrap()]);
    sidecar.wait_until_ready();
    let as_it_is = said(&sidecar, &Value::Null, &Value::Null);
    let as_supposed = said(&sidecar, &supposed(), &Value::Null);
    assert_ne!(as_it_is, as_supposed);
    assert_eq!(said(&sidecar, &Value::Null, &Value::Null), as_it_is, "the overlay is gone with its answer");
    assert_eq!(said(&sidecar, &json!({}), &Value::Null), as_it_is, "an empty overlay changes nothing");
    assert_eq!(said(&sidecar, &supposed(), &Value::Null), as_supposed);
    // Each probe fits different nodes, and each part of the overlay affects some probe.
    for (number, pod) in as_supposed[0].as_array().unwrap().iter().enumerate() {
        assert_ne!((&pod["feasible"], number), (&as_it_is[0][number]["feasible"], number), "{}", pod["pod"]);
    }

    let over_grpc = in_time(|| {
        let by = |object: &Value| Pod::from(pod_of::Pod::Json(object.to_string()));
        let uid = |uid: &str| Pod::from(pod_of::Pod::Uid(uid.into()));
        let name = nodesift_proto::v1::PodName { namespace: "ns".into(), name: "holder".into() };
        let placed = |pod: Pod, node: &str| PlacedPod { pod: Some(pod), node: node.into() };
        let whole = |object: Value| Node { node: Some(node_of::Node::Json(object.to_string())) };
        let overlay = Overlay {
            removed_pods: vec![uid("uid-one"), Pod::from(pod_of::Pod::Name(name))],
            added_pods: vec![
                placed(uid("uid-pending"), "n3"),
                placed(by(&app_pod("new", "200m", &json!({}))), "n4"),
                placed(uid("uid-two"), "n1"),
            ],
            nodes: vec![whole(in_zone("n4", "4", "c")), whole(in_zone("n2", "2", "b"))],
        };
        let pods = probes().iter().map(by).collect();
        let request = ExplainRequest { pods, overlay: Some(overlay), ..ExplainRequest::default() };
        grpc(&sidecar.unix(), |mut client| async move {
            serde_json::to_value(client.explain(request).await.unwrap().into_inner().pods).unwrap()
        })
    });
    assert_eq!(over_grpc, as_supposed[1]);

    let consistency = do_it(&server);
    assert_eq!(said(&sidecar, &Value::Null, &consistency), as_supposed, "the answers equal those with the overlay");
}

#[test]
fn what_does_not_fit_names_its_field() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let mut ended = pod("ended", "1", &json!({}));
    ended["status"] = json!({"phase": "Failed"});
    let many = |pods: usize| vec![json!({"uid": "uid-one"}); pods];
    let on = |pod: Value, node: &str| json!({"addedPods": [{"pod": {"uid": "uid-one"}, "node": "n2"}, {"pod": pod, "node": node}]});
    for (overlay, status, texts) in [
        (json!({"removedPods": [{}]}), 400, ["overlay.removed_pods[0]: give one of", ""]),
        (json!({"removedPods": [{"uid": "uid-one"}, {"uid": ""}]}), 400, ["overlay.removed_pods[1].uid: ", "empty"]),
        (json!({"removedPods": [{"uid": "uid-one"}, {"uid": "nobody"}]}), 404, ["overlay.removed_pods[1]: ", "nobody"]),
        (json!({"removedPods": [{"name": {"name": "nobody"}}]}), 404, ["overlay.removed_pods[0]: ", "default/nobody"]),
        (on(json!({"uid": "nobody"}), "n1"), 404, ["overlay.added_pods[1].pod: ", "nobody"]),
        (on(json!({"uid": "uid-two"}), "n9"), 404, ["overlay.added_pods[1].node: ", "n9"]),
        (on(json!({"uid": "uid-two"}), ""), 400, ["overlay.added_pods[1].node: ", "empty"]),
        (on(json!({"json": "{"}), "n1"), 400, ["overlay.added_pods[1].pod.json", "line 1"]),
        (on(json!({"object": ended}), "n1"), 400, ["overlay.added_pods[1].pod: ", "ended"]),
        (json!({"nodes": [{}]}), 400, ["overlay.nodes[0]: give one of", ""]),
        (
            json!({"nodes": [{"object": {"metadata": {"name": ""}}}]}),
            400,
            ["overlay.nodes[0].object.metadata.name: ", ""],
        ),
        (json!({"nodes": [{"object": {"metadata": {}}}]}), 400, ["overlay.nodes[0].object.metadata: ", "name"]),
        (json!({"removedPods": many(10_001)}), 413, ["10001 removed pods", "10000"]),
        (json!({"addedPods": vec![json!({}); 10_001]}), 413, ["10001 added pods", "10000"]),
        (json!({"nodes": vec![json!({}); 1_001]}), 413, ["1001 overlay nodes", "1000"]),
        (json!({"gone": []}), 400, ["overlay", "unknown field `gone`"]),
    ] {
        for path in ["/v1/filter", "/v1/explain"] {
            let request = json!({"pods": [{"uid": "uid-pending"}], "overlay": overlay}).to_string();
            let response = post(&sidecar.unix(), path, &request).unwrap();
            assert_eq!(response.status, status, "{}", response.body);
            let text = response.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(texts.iter().all(|named| text.contains(named)), "{texts:?}: {text}");
            assert!(status == 413 || text.starts_with("overlay"), "the field comes first: {text}");
        }
    }
    let status = grpc(&sidecar.unix(), |mut client| async move {
        let new = Node { node: Some(node_of::Node::Json(in_zone("n4", "4", "c").to_string())) };
        let request = FilterRequest {
            pods: vec![Pod::from(pod_of::Pod::Uid("uid-pending".into()))],
            overlay: Some(Overlay { nodes: vec![new], ..Overlay::default() }),
            bitmaps: Some(Bitmaps::default()),
            ..FilterRequest::default()
        };
        client.filter(request).await.unwrap_err()
    });
    assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status}");
    assert!(status.message().starts_with("bitmaps: "), "{status}");
}

#[test]
fn an_overlay_that_adds_no_node_is_answered_as_bitmaps_too() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let overlay = json!({"removedPods": [{"uid": "uid-one"}], "nodes": [{"object": in_zone("n2", "5m", "a")}]});
    let ask_for = |more: Value| {
        let mut request = json!({"pods": [{"object": pod("half", "500m", &json!({}))}], "overlay": overlay});
        request["detail"] = json!(Detail::Nodes.as_str_name());
        for (key, value) in more.as_object().unwrap() {
            request[key] = value.clone();
        }
        ask(&sidecar.unix(), "/v1/filter", &request)
    };
    let named = ask_for(json!({}));
    assert_eq!(named["pods"][0]["feasible"], json!(["n1", "n3"]));
    let mapped = ask_for(json!({"bitmaps": {}}));
    let row = |name: &str| {
        let changes = mapped["rows"]["changes"].as_array().unwrap();
        changes.iter().find(|change| change["node"] == name).unwrap()["row"].as_u64().unwrap()
    };
    // One byte holds three rows; in base64 it is two letters and padding.
    let byte = 1_u8 << row("n1") | 1 << row("n3");
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').collect();
    let base64 = format!("{}{}==", letters[usize::from(byte >> 2)], letters[usize::from(byte & 3) << 4]);
    assert_eq!(mapped["pods"][0]["feasibleRows"], base64);
}
