//! The recorded streams of a real API server, replayed from the start: the verdicts at the end are those of its own list.

use std::path::{Path, PathBuf};

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::machine::beside_others;
use nodesift_tests::{data, sidecar, timeout};
use serde_json::Value;

use crate::world::{World, command};

/// The recorded events of one kind, one per line.
fn recorded(kind: &str) -> Vec<Value> {
    let path = file(&format!("watch-{kind}.jsonl.gz"));
    data::read_gzip(&path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/watch").join(name)
}

fn version(event: &Value) -> u64 {
    event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// The lines of `explain` about all pending pods.
fn explained(arguments: &[&str]) -> Vec<Value> {
    let output = timeout::until(|| {
        let output = sidecar::run(command().args(["explain", "-o", "jsonl"]).args(arguments));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        (!output.stdout.contains("Deadline")).then_some(output.stdout)
    });
    output.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_recorded_history_ends_in_the_verdicts_of_the_list_that_was_taken_after_it() {
    let _beside = beside_others();
    let cluster = data::sample_cluster();
    let listed: Value = serde_json::from_str(&data::read_gzip(&cluster)).unwrap();
    let server = ApiServer::start();
    // Namespaces were not recorded, so they exist from the start. Versions start before the first recorded one.
    let namespaces = listed["items"].as_array().unwrap().iter().filter(|object| object["kind"] == "Namespace");
    server.change(|store| {
        namespaces.for_each(|namespace| {
            store.apply(namespace.clone());
        })
    });
    let world = World::new(server);
    world.is_followed("Node");
    world.is_followed("Pod");

    let mut events = [recorded("nodes"), recorded("pods")].concat();
    events.sort_by_key(version);
    assert_eq!(events.len(), 617 + 3_897);
    let last = events.iter().map(version).max().unwrap();
    let first = world.server.look(|store| store.version());
    assert!(first < version(&events[0]), "{first}");
    events.into_iter().for_each(|event| {
        world.server.change(|store| store.replay(event));
    });
    // The recorded stream must end at the version of the list; otherwise two different states would be compared.
    let counts = |kind: &str| world.server.look(|store| store.objects_at(kind, last).len());
    assert_eq!((counts("Node"), counts("Pod")), (298, 1_737));

    let server = format!("unix:{}", world.sidecar.socket.display());
    let expected = explained(&["--cluster", cluster.to_str().unwrap()]);
    assert!(expected.len() > 94, "{} lines", expected.len());
    let found = timeout::until(|| {
        let found = explained(&["--server", &server]);
        (found == expected).then_some(found)
    });
    if found.is_none() {
        let found = explained(&["--server", &server]);
        let different = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
        panic!("{} lines, {} expected, {different} lines differ", found.len(), expected.len());
    }
    assert_eq!((world.lists("Node"), world.lists("Pod")), (1, 1));
}
