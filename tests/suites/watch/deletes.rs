//! Deletes: missed delete events, recreated objects of the same name, pods that change their node or terminate.

use nodesift_tests::apiserver::{Fault, Verb};
use nodesift_tests::http::post;
use nodesift_tests::machine::beside_others;
use serde_json::{Value, json};

use crate::oracle::{self, AnswerPoller};
use crate::world::{World, node, pod};

/// W-06 of the reliability list: lost deletes.
#[test]
fn a_delete_that_nobody_told_is_found_by_the_next_list() {
    let _beside = beside_others();
    let world = World::with(5, 4);
    world.is_followed("Pod");
    world.is_followed("Node");
    world.server.change(|store| {
        store.delete_unheard("Pod", "default/p1");
        store.delete_unheard("Node", "n4");
    });
    for kind in ["Pod", "Node"] {
        world.next_watch_meets(kind, Fault::expired());
        world.sees(kind, Verb::List(1), 2);
    }
    world.converges_on(&[oracle::probes(), oracle::exact_probes(&world.server)].concat());
}

/// W-06 of the reliability list: recreated objects.
#[test]
fn a_pod_and_a_node_recreated_while_nobody_listened_are_new_ones() {
    let _beside = beside_others();
    let world = World::with(5, 4);
    world.is_followed("Pod");
    let uid = |name: &str| {
        let pods = world.server.look(|store| store.objects_at("Pod", store.version()));
        let pod = pods.into_iter().find(|pod| pod["metadata"]["name"] == name).unwrap();
        pod["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let old = uid("p1");
    let poller = AnswerPoller::start(&world.sidecar);
    for compacted in [false, true] {
        world.server.go_down();
        world.server.change(|store| {
            store.delete("Pod", "default/p1");
            store.apply(pod("p1", "n2", 3_000));
            store.delete("Node", "n3");
            let mut again = node(3);
            again["metadata"]["labels"]["generation"] = json!("2");
            store.apply(again);
            if compacted {
                store.compact();
            }
        });
        world.server.come_up();
        // Verdicts would not show it: after the second round every fact is the same, under other UIDs.
        oracle::state_converges(&world.server, &world.sidecar);
        world.converges_on(&[oracle::probes(), oracle::exact_probes(&world.server)].concat());
    }
    poller.check(&world.server);
    let ask = |uid: &str| {
        let question = json!({"pods": [{"uid": uid}]}).to_string();
        post(&world.sidecar.unix(), "/v1/filter", question).unwrap().status
    };
    assert_eq!((ask(&old), ask(&uid("p1"))), (404, 200), "the old UID is never seen again");
}

/// W-06: a late event of the old object does not change the new one.
#[test]
fn the_end_of_an_old_object_told_late_leaves_the_new_one_of_its_name() {
    let _beside = beside_others();
    let world = World::with(5, 4);
    world.is_followed("Pod");
    world.is_followed("Node");
    let find = |kind: &str, name: &str| {
        let objects = world.server.look(|store| store.objects_at(kind, store.version()));
        objects.into_iter().find(|object| object["metadata"]["name"] == name).unwrap()
    };
    let ended = |object: &Value| json!({"type": "DELETED", "object": object}).to_string();
    let (old_pod, old_node) = (find("Pod", "p1"), find("Node", "n1"));
    world.server.change(|store| {
        store.delete_unheard("Pod", "default/p1");
        store.apply(pod("p1", "n2", 3_000));
        store.say("Pod", &ended(&old_pod));
        store.delete_unheard("Node", "n1");
        store.apply(node(1));
        store.say("Node", &ended(&old_node));
        store.apply(pod("after", "n3", 3_000));
        store.apply(node(7));
    });
    world.converges_on(&[oracle::probes(), oracle::exact_probes(&world.server)].concat());
}

/// W-18: after every event, the requested resources of the node equal the sum that the reference computes.
#[test]
fn a_pod_counts_where_it_is_through_all_its_states() {
    let _beside = beside_others();
    let world = World::with(4, 2);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    let running = |node: &str, millicores: i64, status: Value| {
        let mut pod = pod("mover", node, millicores);
        pod["status"] = status;
        pod
    };
    let resized = |spec: i64, actual: &str, allocated: &str, conditions: Value| {
        running(
            "n1",
            spec,
            json!({"phase": "Running", "conditions": conditions, "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": actual}}, "allocatedResources": {"cpu": allocated}}]}),
        )
    };
    let mut terminating = running("n1", 900, json!({"phase": "Running"}));
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    terminating["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    let pending_resize = json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
    let states = [
        ("pending", running("", 500, json!({"phase": "Pending"}))),
        ("bound", running("n1", 500, json!({"phase": "Pending"}))),
        ("running", running("n1", 500, json!({"phase": "Running"}))),
        ("asks for more", resized(2_000, "500m", "500m", json!([]))),
        ("got more", resized(2_000, "2", "2", json!([]))),
        ("asks for less", resized(900, "2", "2", json!([]))),
        ("asks for too much", resized(90_000, "900m", "900m", pending_resize)),
        ("terminating", terminating),
        ("finished", running("n1", 900, json!({"phase": "Succeeded"}))),
        ("failed", running("n1", 900, json!({"phase": "Failed"}))),
    ];
    let follow = |state: &str, poller: &AnswerPoller| {
        let probes = [oracle::probes(), oracle::exact_probes(&world.server)].concat();
        world.converges_on(&probes);
        assert!(!poller.is_over(), "{state}");
    };
    for (state, object) in states {
        world.server.apply(object);
        follow(state, &poller);
    }
    world.server.delete("Pod", "default/mover");
    follow("gone", &poller);
    // On another node under the same name: the API server requires a delete in between.
    world.server.apply(running("n2", 4_000, json!({"phase": "Running"})));
    follow("bound elsewhere", &poller);
    // The node is deleted, its pod remains, the node is created again.
    world.server.delete("Node", "n2");
    follow("orphaned", &poller);
    world.server.apply(node(2));
    follow("adopted", &poller);
    poller.check(&world.server);
}
