//! The version of Kubernetes that a policy follows: that of the API server, at the start, after an outage, outside of what is known, and
//! where the server does not tell it. Start at [`followed`].

use nodesift_reference::kubernetes::newest;
use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::get;
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::world::{World, fill, launch};

/// Nodes and pods of a cluster.
const SMALL: (usize, usize) = (3, 2);

fn server(release: Option<&str>) -> ApiServer {
    let server = ApiServer::start();
    server.set_release(release);
    fill(&server, SMALL.0, SMALL.1);
    server
}

/// Returns the answer of `/v1/policy`.
fn policy(sidecar: &Sidecar) -> Value {
    get(&sidecar.unix(), "/v1/policy").unwrap().json()
}

/// The version that the sidecar follows, where that came from, and the release of the server.
fn followed(sidecar: &Sidecar) -> (String, String, String) {
    let kubernetes = policy(sidecar)["kubernetes"].clone();
    let text = |name: &str| kubernetes[name].as_str().unwrap_or_default().to_owned();
    (text("version"), text("origin"), text("server"))
}

fn told(version: &str, origin: &str, server: &str) -> (String, String, String) {
    (version.to_owned(), origin.to_owned(), server.to_owned())
}

#[track_caller]
fn becomes(sidecar: &Sidecar, expected: &(String, String, String)) {
    let seen = timeout::until(|| (followed(sidecar) == *expected).then_some(()));
    assert!(seen.is_some(), "{:?}\n{}", followed(sidecar), sidecar.output());
}

fn predicates(sidecar: &Sidecar) -> Vec<String> {
    let policy = policy(sidecar);
    let names = policy["predicates"].as_array().unwrap().iter();
    names.map(|predicate| predicate["name"].as_str().unwrap().to_owned()).collect()
}

fn ready(sidecar: &Sidecar) -> String {
    get(&sidecar.unix(), "/readyz").unwrap().body
}

/// The server is away for long enough that it may come back as another release.
fn upgrade(world: &World, release: &str) {
    world.server.go_down();
    let is_long = |text: &String| {
        text.contains("unreachable for")
            && !text.contains("unreachable for 0 s")
            && !text.contains("unreachable for 1 s")
    };
    assert!(timeout::until(|| Some(ready(&world.sidecar)).filter(is_long)).is_some(), "{}", ready(&world.sidecar));
    world.server.set_release(Some(release));
    world.server.come_up();
}

#[test]
fn the_version_of_the_server_is_followed_from_the_start_and_after_an_outage() {
    let _beside = beside_others();
    let world = World::new(server(Some("v1.35.6")));
    assert_eq!(followed(&world.sidecar), told("1.35", "server", "v1.35.6"));
    let old = predicates(&world.sidecar);
    assert_eq!(old.first().map(String::as_str), Some("NodeUnschedulable"));
    assert!(!old.contains(&"NodeDeclaredFeatures".to_owned()));
    assert_eq!(policy(&world.sidecar)["generation"], "1");

    upgrade(&world, "v1.37.2");
    becomes(&world.sidecar, &told("1.37", "server", "v1.37.2"));
    let new = predicates(&world.sidecar);
    assert_eq!(new.first().map(String::as_str), Some("NodeName"));
    assert_eq!(new.last().map(String::as_str), Some("NodeDeclaredFeatures"));
    assert_eq!(policy(&world.sidecar)["generation"], "2");
    world.converges();
    let metrics = get(&world.sidecar.unix(), "/metrics").unwrap().body;
    let info = "nodesift_kubernetes_version_info{version=\"1.37\",origin=\"server\",server=\"v1.37.2\"} 1";
    assert!(metrics.contains(info), "{metrics}");
    let version = get(&world.sidecar.unix(), "/version").unwrap().json();
    assert_eq!(version["kubernetes"]["version"], "1.37");
    assert_eq!(policy(&world.sidecar)["warnings"], json!([]));
}

#[test]
fn a_server_of_an_unknown_version_gets_the_nearest_and_everybody_is_told() {
    let _beside = beside_others();
    for (release, version) in [("v1.99.0", newest()), ("v1.20.0", "1.34")] {
        let world = World::new(server(Some(release)));
        assert_eq!(followed(&world.sidecar), told(version, "nearest-to-server", release));
        let warning = format!("the API server is {release}, which is not known");
        assert!(ready(&world.sidecar).contains(&warning), "{}", ready(&world.sidecar));
        assert!(policy(&world.sidecar)["warnings"][0].as_str().unwrap().contains(&warning));
        assert!(world.sidecar.output().contains(&warning), "{}", world.sidecar.output());
    }
}

#[test]
fn a_server_that_does_not_tell_its_version_gets_the_newest_until_it_does() {
    let _beside = beside_others();
    let world = World::new(server(None));
    assert_eq!(followed(&world.sidecar), told(newest(), "server-unknown", ""));
    assert!(ready(&world.sidecar).contains("the API server has not told its version"));
    world.server.set_release(Some("v1.36.5"));
    becomes(&world.sidecar, &told("1.36", "server", "v1.36.5"));
    let told = timeout::until(|| (!ready(&world.sidecar).contains("has not told its version")).then_some(()));
    assert!(told.is_some(), "{}", ready(&world.sidecar));
}

#[test]
fn a_start_without_a_server_is_ready_once_its_version_is_followed() {
    let _beside = beside_others();
    let server = server(Some("v1.34.10"));
    server.go_down();
    let sidecar = launch(&server, &[]);
    let waits = timeout::until(|| ready(&sidecar).contains("the version of the API server").then_some(()));
    assert!(waits.is_some(), "{}", ready(&sidecar));
    server.come_up();
    sidecar.wait_until_ready();
    assert_eq!(followed(&sidecar), told("1.34", "server", "v1.34.10"));
}

#[test]
fn a_version_under_which_the_policy_is_refused_leaves_the_one_before() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    let text = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  \
                featureGates: {VolumeLimitScaling: true}\n";
    std::fs::write(&path, text).unwrap();
    let world = World::started(server(Some("v1.36.5")), &["--policy", path.to_str().unwrap()]);
    assert_eq!(followed(&world.sidecar), told("1.36", "server", "v1.36.5"));
    assert_eq!(policy(&world.sidecar)["kubernetes"]["changed"], json!({"VolumeLimitScaling": true}));
    upgrade(&world, "v1.34.10");
    let refused = timeout::until(|| Some(policy(&world.sidecar)["lastFailure"].clone()).filter(Value::is_object));
    let refused = refused.unwrap_or_else(|| panic!("{}", world.sidecar.output()));
    assert!(refused["reason"].as_str().unwrap().contains("Kubernetes 1.34 has no feature gate VolumeLimitScaling"));
    assert_eq!(followed(&world.sidecar), told("1.36", "server", "v1.36.5"));
}

#[test]
fn a_policy_whose_file_is_broken_meanwhile_follows_the_version_all_the_same() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    let text =
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n";
    std::fs::write(&path, text).unwrap();
    let world = World::started(server(Some("v1.36.5")), &["--policy", path.to_str().unwrap()]);
    assert_eq!(followed(&world.sidecar), told("1.36", "server", "v1.36.5"));
    std::fs::write(&path, "kind: Nothing\n").unwrap();
    let refused = || Some(policy(&world.sidecar)["lastFailure"].clone()).filter(Value::is_object);
    assert!(timeout::until(refused).is_some(), "{}", world.sidecar.output());
    upgrade(&world, "v1.35.6");
    becomes(&world.sidecar, &told("1.35", "server", "v1.35.6"));
    assert!(timeout::until(refused).is_some(), "the file is broken still: {}", world.sidecar.output());
}

#[test]
fn a_version_that_is_named_is_not_followed() {
    let _beside = beside_others();
    let world = World::started(server(Some("v1.35.6")), &["--kubernetes", "1.37"]);
    assert_eq!(followed(&world.sidecar), told("1.37", "argument", ""));
}

#[test]
fn a_policy_that_names_its_version_is_not_replaced_by_another_one_of_the_server() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.yaml");
    let text = "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  \
                kubernetes: \"1.36\"\n";
    std::fs::write(&path, text).unwrap();
    let world = World::started(server(Some("v1.36.5")), &["--policy", path.to_str().unwrap()]);
    assert_eq!(followed(&world.sidecar), told("1.36", "policy", ""));
    upgrade(&world, "v1.37.2");
    let seen = timeout::until(|| {
        let output = world.sidecar.output();
        (output.contains("has told its version") && output.contains("v1.37.2")).then_some(())
    });
    assert!(seen.is_some(), "{}", world.sidecar.output());
    // A change after it is taken, and is the first one.
    std::fs::write(&path, text.replace("1.36", "1.35")).unwrap();
    becomes(&world.sidecar, &told("1.35", "policy", ""));
    assert_eq!(policy(&world.sidecar)["generation"], "2");
}
