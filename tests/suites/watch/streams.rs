//! The stream of a watch: cut at any byte, in chunks of any size, with duplicates, out of order, with unusual objects.

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::oracle::{self, AnswerPoller};
use crate::world::{World, node, pod};

/// Cuts of one stream. Each costs a connection; cuts at every byte are tested with the decoder of frames.
const CUTS: usize = 40;

/// Bytes between two cuts: no divisor of a frame's length, so that the cuts fall on all parts of frames.
const CUT_STEP: usize = 131;

/// W-02 of the reliability list: cuts.
#[test]
fn a_stream_cut_again_and_again_loses_and_doubles_nothing() {
    let _beside = beside_others();
    let world = World::with(5, 3);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    let made = |number: usize| {
        let mut made = pod(&format!("é-{number}"), &format!("n{}", number % 5), 100 + i64::try_from(number).unwrap());
        made["metadata"]["annotations"] = json!({"text": "äöü€😀".repeat(20)});
        made
    };
    world.server.apply(made(0));
    let frame = world.server.look(|store| store.now("Pod").values().map(|pod| pod.text.len()).max()).unwrap() + 40;
    let first = world.watches("Pod");
    for cut in 0..CUTS {
        // After one whole frame, so that the watch can resume, and at some byte of the next.
        let fault = Fault::Cut(frame + 80 + cut * CUT_STEP % frame);
        world.server.script(|script| script.at("Pod", Verb::Watch, first + cut..first + cut + 1, fault));
    }
    world.server.end_watches("Pod");
    for cut in 0..CUTS {
        world.sees("Pod", Verb::Watch, first + cut + 1);
        for number in 1..=3 {
            world.server.apply(made(cut * 3 + number));
        }
        if cut % 3 == 2 {
            world.server.delete("Pod", &format!("default/é-{}", cut * 2));
        }
    }
    world.sees("Pod", Verb::Watch, first + CUTS + 1);
    world.converges_on(&[oracle::probes(), oracle::exact_probes(&world.server)].concat());
    assert_eq!(world.lists("Pod"), 1, "a cut stream is resumed without a relist");
    poller.check(&world.server);
}

/// W-02: cut before the first whole frame; the sidecar waits before it retries.
#[test]
fn a_stream_cut_within_its_first_frame_is_asked_for_again() {
    let _beside = beside_others();
    let world = World::with(5, 3);
    world.is_followed("Pod");
    let first = world.watches("Pod");
    world.server.script(|script| {
        script.at("Pod", Verb::Watch, first..first + 1, Fault::Cut(0));
        script.at("Pod", Verb::Watch, first + 1..first + 2, Fault::Cut(117));
    });
    world.server.end_watches("Pod");
    world.sees("Pod", Verb::Watch, first + 1);
    world.server.apply(pod("é", "n1", 3_000));
    world.sees("Pod", Verb::Watch, first + 3);
    world.converges();
    assert_eq!(world.lists("Pod"), 1);
}

/// W-02 of the reliability list: chunks.
#[test]
fn chunks_of_any_size_hold_the_same_events() {
    let _beside = beside_others();
    for fault in [Fault::Chunks(1), Fault::Chunks(7), Fault::Together] {
        let server = ApiServer::start();
        crate::world::fill(&server, 3, 2);
        server.script(|script| {
            script.always(Some("Pod"), Some(Verb::Watch), fault.clone());
            script.always(Some("Node"), None, fault.clone());
        });
        let world = World::new(server);
        world.server.change(|store| {
            for number in 0..10 {
                let mut made = pod(&format!("ü-{number}"), &format!("n{}", number % 3), 300);
                made["metadata"]["annotations"] = json!({"text": "😀"});
                store.apply(made);
            }
            store.apply(node(3));
        });
        world.converges();
    }
}

/// W-02: an object of the largest size that etcd accepts.
#[test]
fn an_object_of_1_5_mb_is_one_event() {
    let _beside = beside_others();
    let world = World::with(3, 2);
    world.is_followed("Pod");
    let mut large = pod("large", "n1", 5_000);
    large["metadata"]["annotations"] = json!({"text": "x".repeat(1_500_000)});
    world.server.apply(large);
    world.server.apply(pod("next", "n2", 5_000));
    world.converges();
    let broken =
        world.metric("nodesift_kube_watches_total", "cut") + world.metric("nodesift_kube_watches_total", "failed");
    assert_eq!((world.lists("Pod"), broken), (1, 0.0), "the stream was not interrupted");
}

/// W-04 of the reliability list: duplicates.
#[test]
fn an_event_told_twice_changes_nothing() {
    let _beside = beside_others();
    let server = ApiServer::start();
    crate::world::fill(&server, 5, 3);
    server.script(|script| script.always(None, Some(Verb::Watch), Fault::Twice));
    let world = World::new(server);
    let poller = AnswerPoller::start(&world.sidecar);
    for number in 0..20 {
        world.server.apply(pod(&format!("twice{number}"), &format!("n{}", number % 5), 250));
    }
    world.server.delete("Pod", "default/p3");
    world.server.apply(pod("p4", "n4", 1_000));
    world.server.delete("Node", "n2");
    world.server.apply(node(2));
    world.converges_on(&[oracle::probes(), oracle::exact_probes(&world.server)].concat());
    assert_eq!(world.lists("Pod"), 1);
    let dropped =
        || world.metric("nodesift_feed_stale_events_total", "") + world.metric("nodesift_feed_merged_events_total", "");
    // 21 pods and one node. A repeated delete may find nothing to drop.
    let is_counted = timeout::until(|| (dropped() >= 22.0).then_some(()));
    assert!(is_counted.is_some(), "repeated events are counted: {}", dropped());
    poller.check(&world.server);
}

/// W-05 of the reliability list: older versions.
#[test]
fn an_older_version_after_a_newer_one_is_ignored() {
    let _beside = beside_others();
    let world = World::with(5, 3);
    world.is_followed("Pod");
    world.is_followed("Node");
    let event = |kind: &str, object: &Value| json!({"type": kind, "object": object}).to_string();
    let find = |kind: &str, name: &str| {
        let objects = world.server.look(|store| store.objects_at(kind, store.version()));
        objects.into_iter().find(|object| object["metadata"]["name"] == name).unwrap()
    };
    let (old_pod, old_node) = (find("Pod", "p1"), find("Node", "n1"));
    world.server.apply(pod("p1", "n1", 9_000));
    let mut relabelled = node(1);
    relabelled["metadata"]["labels"]["generation"] = json!("2");
    world.server.apply(relabelled);
    world.converges();

    // Directly after the newer events, where both may wait to be applied.
    let old_pods = world.server.look(|store| store.objects_at("Pod", store.version()));
    world.server.change(|store| {
        for old in &old_pods {
            let name = old["metadata"]["name"].as_str().unwrap();
            store.apply(pod(name, old["spec"]["nodeName"].as_str().unwrap(), 1_500));
            store.say("Pod", &event("MODIFIED", old));
        }
    });
    world.converges_on(&[oracle::probes(), oracle::exact_probes(&world.server)].concat());

    world.server.change(|store| {
        store.say("Pod", &event("MODIFIED", &old_pod));
        store.say("Pod", &event("ADDED", &old_pod));
        store.say("Node", &event("MODIFIED", &old_node));
        // Later events on the same streams show that these have been read.
        store.apply(pod("after", "n2", 9_000));
        store.apply(node(6));
    });
    world.converges();
    assert_eq!((world.lists("Pod"), world.lists("Node")), (1, 1));
    let back = |kind: &str| world.metric("nodesift_kube_unordered_versions_total", &format!("kind=\"{kind}\""));
    assert!(back("pods") >= 2.0 && back("nodes") >= 1.0, "older versions are counted");
}

/// W-05: a version that is not a number is treated as opaque.
#[test]
fn versions_that_are_no_numbers_are_taken_as_they_come() {
    let _beside = beside_others();
    let server = ApiServer::start();
    server.change(|store| store.make_versions_opaque());
    crate::world::fill(&server, 4, 3);
    let world = World::new(server);
    world.is_followed("Pod");
    world.server.apply(pod("p1", "n1", 8_000));
    world.server.delete("Pod", "default/p2");
    world.converges();
    world.next_watch_meets("Pod", Fault::expired());
    world.server.apply(pod("p3", "n3", 8_000));
    world.sees("Pod", Verb::List(1), 2);
    world.converges();
}

/// W-15 of the reliability list: odd objects.
#[test]
fn odd_objects_are_read_as_kubernetes_reads_them() {
    let _beside = beside_others();
    let server = ApiServer::start();
    crate::world::fill(&server, 3, 2);
    server.change(|store| {
        odd_objects().into_iter().for_each(|object| {
            store.apply(object);
        })
    });
    let world = World::new(server);
    world.converges();
    // The same by events.
    for mut object in odd_objects() {
        let name = format!("again-{}", object["metadata"]["name"].as_str().unwrap());
        object["metadata"]["name"] = json!(name.get(..name.len().min(63)).unwrap());
        world.server.apply(object);
    }
    world.converges();
}

fn odd_objects() -> Vec<Value> {
    let long = "x".repeat(63);
    let metadata = |name: &str| json!({"name": name, "namespace": "default", "labels": null, "annotations": null});
    vec![
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "no-status"}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "nulls", "labels": null},
               "spec": {"taints": null, "unschedulable": null}, "status": {"allocatable": null, "conditions": null}}),
        json!({"apiVersion": "v1", "kind": "Node", "spec": null, "status": {"allocatable": {
                   "cpu": "9223372036854775807", "memory": "16Ei", "pods": "1e3", "example.com/x": "-5"}},
               "metadata": {"name": "overflow", "labels": {"kubernetes.io/hostname": "overflow", "generation": "1"}}}),
        json!({"apiVersion": "v1", "kind": "Node", "status": {"allocatable": {"cpu": "16", "memory": "1Gi", "pods": 110}},
               "metadata": {"name": "edge", "labels": {(long.clone()): long, "generation": ""}}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("no-status"), "spec": {"nodeName": "n0"}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("nulls"), "status": null,
               "spec": {"nodeName": "n0", "containers": null, "tolerations": null, "volumes": null, "affinity": null}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("overflow"), "status": {"phase": "Running"},
               "spec": {"nodeName": "n1", "containers": [
                   {"name": "a", "resources": {"requests": {"cpu": "9223372036854775807", "memory": "7.9Ei"}}},
                   {"name": "b", "resources": {"requests": {"cpu": "0.0001", "memory": null}, "limits": null}}]}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(&long), "status": {"phase": "Weird"},
               "spec": {"nodeName": "edge", "containers": [{"resources": {"requests": {"cpu": 1}}}]}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata("nowhere"), "spec": {"nodeName": "not-there",
               "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}),
    ]
}

/// W-15: in a list, and in a stream.
#[test]
fn one_object_among_1000_that_cannot_be_read_is_kept_out_and_named() {
    let _beside = beside_others();
    let server = ApiServer::start();
    crate::world::fill(&server, 10, 100);
    let unreadable = |name: &str| {
        let mut object = pod(name, "n1", 16_000);
        object["spec"] = json!(7);
        object
    };
    server.apply(unreadable("broken-in-a-list"));
    let world = World::new(server);
    let (server, sidecar) = (&world.server, &world.sidecar);
    let kept = |server: &ApiServer| {
        let mut cluster = oracle::current_cluster(server);
        for name in ["broken-in-a-list", "broken-in-a-stream"] {
            cluster.remove("Pod", &format!("default/{name}"));
        }
        oracle::expected(&cluster, &oracle::probes())
    };
    let agrees = |expected: &oracle::Verdicts| {
        let mut last = None;
        let agrees = timeout::until(|| {
            let found = oracle::asked(sidecar, &oracle::probes()).unwrap();
            last = oracle::difference(&found, expected);
            last.is_none().then_some(())
        });
        assert!(agrees.is_some(), "all but the broken ones are counted: {}", last.unwrap_or_default());
    };
    agrees(&kept(server));
    server.apply(unreadable("broken-in-a-stream"));
    server.change(|store| store.say("Pod", r#"{"type":"ADDED","object":"#));
    server.apply(pod("after", "n2", 7_000));
    agrees(&kept(server));
    // Of several within seconds, one is logged and all are counted.
    assert!(world.metric("nodesift_kube_unreadable_objects_total", "kind=\"pods\"") >= 2.0);
    let output = sidecar.output();
    let line = output.lines().find(|line| line.contains("broken-in-a-list")).unwrap_or_else(|| panic!("{output}"));
    assert!(line.contains("spec"), "the reason is given: {line}");
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
}
