//! Nominated pods: pods of equal or lower priority leave room for them, in every call.

use serde_json::{Value, json};

use crate::decisions::{node, pod, serving};
use crate::running::ask;

/// Two nodes with room for one pod each; `vip` is nominated for one of them.
fn cluster() -> Vec<Value> {
    let mut vip = pod("vip", "800m", &json!({}));
    vip["spec"]["priority"] = json!(100);
    vip["status"] = json!({"phase": "Pending", "nominatedNodeName": "n1"});
    let mut equal = pod("equal", "600m", &json!({}));
    equal["spec"]["priority"] = json!(100);
    let mut higher = pod("higher", "600m", &json!({}));
    higher["spec"]["priority"] = json!(101);
    // A nominated pod of another scheduler counts too.
    let mut foreign = pod("foreign", "900m", &json!({}));
    foreign["spec"]["schedulerName"] = json!("somebody-else");
    foreign["status"] = json!({"phase": "Pending", "nominatedNodeName": "n3"});
    let lower = pod("lower", "600m", &json!({}));
    vec![node("n1", "1"), node("n2", "1"), node("n3", "1"), vip, equal, higher, foreign, lower]
}

#[test]
fn every_call_leaves_nominated_pods_their_room() {
    let (sidecar, _folder) = serving(&cluster(), &[]);
    let full = json!({"predicate": "NodeResourcesFit", "reasons": ["Insufficient cpu"]});
    for (asked, feasible, rejected) in [
        ("lower", json!(["n2"]), json!(["n1", "n3"])),
        ("equal", json!(["n2", "n3"]), json!(["n1"])),
        ("higher", json!(["n1", "n2", "n3"]), json!([])),
        // A pod's own nomination does not count against it.
        ("vip", json!(["n1", "n2", "n3"]), json!([])),
    ] {
        let request = json!({"pods": [{"uid": format!("uid-{asked}")}], "detail": "DETAIL_NODES"});
        // The second time with cached verdicts.
        for _ in 0..2 {
            let filtered = ask(&sidecar.unix(), "/v1/filter", &request)["pods"][0].clone();
            assert_eq!(filtered["feasible"], feasible, "{asked}: {filtered}");
            let failures = filtered["failures"].as_array().unwrap();
            let nodes: Vec<Value> =
                failures.iter().flat_map(|failure| failure["nodes"].as_array().unwrap()).cloned().collect();
            assert_eq!(json!(nodes), rejected, "{asked}: {filtered}");
            for failure in failures {
                let said = json!({"predicate": failure["predicate"], "reasons": failure["reasons"]});
                assert_eq!(said, full, "{asked}: {filtered}");
            }
        }
        let explained = ask(&sidecar.unix(), "/v1/explain", &json!({"pods": request["pods"]}))["pods"][0].clone();
        assert_eq!(explained["conjunction"]["feasible"], feasible, "{asked}: {explained}");
        let lines = explained["predicates"].as_array().unwrap();
        let fit = lines.iter().find(|line| line["predicate"] == "NodeResourcesFit").unwrap();
        let alone = fit["failures"].as_array().unwrap().iter().flat_map(|failure| failure["nodes"].as_array().unwrap());
        assert_eq!(json!(alone.cloned().collect::<Vec<_>>()), rejected, "{asked}: {fit}");

        let key = format!("uid-{asked}");
        let answer = ask(&sidecar.unix(), "/v1/prefilterpredicates", &json!({"allocationKey": key, "allocate": true}));
        assert_eq!(answer["feasibleNodes"], feasible, "{asked}");
        let on_n1 = json!({"allocationKey": key, "nodeID": "n1", "allocate": true});
        let answer = ask(&sidecar.unix(), "/v1/predicates", &on_n1);
        let is_free = feasible.as_array().unwrap().contains(&json!("n1"));
        assert_eq!(answer["fits"], json!(is_free), "{asked}");

        let whole = cluster().into_iter().find(|object| object["metadata"]["name"] == asked).unwrap();
        let request = json!({"Pod": whole, "Nodes": null, "NodeNames": ["n1", "n2", "n3"]});
        let reply = ask(&sidecar.tcp(), "/extender/filter", &request);
        assert_eq!(reply["NodeNames"], feasible, "{asked}: {reply}");
    }
}

#[test]
fn who_makes_room_leaves_it_to_those_who_are_nominated() {
    let resident = |name: &str, node: &str| {
        let mut pod = pod(name, "400m", &json!({}));
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] = json!({"phase": "Running"});
        pod
    };
    let mut objects = cluster();
    objects.extend([resident("r1", "n1"), resident("r2", "n2")]);
    let (sidecar, _folder) = serving(&objects, &[]);
    let victims = json!({"n1": {"Pods": [{"UID": "uid-r1"}]}, "n2": {"Pods": [{"UID": "uid-r2"}]}});
    let kept = |asked: &str| {
        let whole = objects.iter().find(|object| object["metadata"]["name"] == asked).unwrap();
        let request = json!({"Pod": whole, "NodeNameToVictims": null, "NodeNameToMetaVictims": victims});
        let reply = ask(&sidecar.tcp(), "/extender/preempt", &request);
        let nodes = reply["NodeNameToMetaVictims"].as_object().unwrap();
        nodes.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(kept("lower"), ["n2"], "on n1 only the nominated pod fits");
    assert_eq!(kept("higher"), ["n1", "n2"]);
    assert_eq!(kept("vip"), ["n1", "n2"]);
}
