//! Policies whose modules are in a registry, in a running sidecar.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::get;
use nodesift_tests::sidecar::run;
use nodesift_tests::timeout;
use serde_json::json;

use crate::server::{Keys, Registry, USER, command, developer};
use crate::sidecar::{Folders, PLAIN, policy};

/// Writes a component into a file of the folder.
fn component(folders: &Folders, guest: &Guest) -> (PathBuf, Vec<u8>) {
    let bytes = guest.component();
    folders.put("own.wasm", &bytes);
    (folders.file("own.wasm"), bytes)
}

#[test]
fn a_module_is_pulled_by_a_reload_and_needs_no_registry_any_more() {
    let Some(registry) = Registry::start(false) else { return };
    let (folders, keys) = (Folders::new(), Keys::new());
    let (file, bytes) = component(&folders, &Guest::healthy());
    let manifest = registry.push(&file, "team/own:1.0", Some(&keys.private));
    let reference = registry.reference("team/own:1.0");
    folders.put("policy.yaml", PLAIN);
    let serving = folders.serve();
    // By the manifest, with a key beside the policy.
    folders.put("own.pub", keys.public_text());
    let signed = policy(&reference, &manifest, &[json!({"path": "own.pub"})]);
    folders.put("policy.yaml", &signed);
    let status = serving.becomes(&signed);
    assert_eq!(status["predicates"][1]["digest"], digest(&bytes));
    // By the component, with the key in the policy.
    let by_component = policy(&reference, &digest(&bytes), &[json!({"pem": keys.public_text()})]);
    folders.put("policy.yaml", &by_component);
    serving.becomes(&by_component);
    // Two records, one component, and nobody else reads them.
    let pulled = folders.pulled();
    assert_eq!(pulled.len(), 3, "{pulled:?}");
    assert_eq!(pulled.iter().filter(|path| fs::read(path).unwrap() == bytes).count(), 1);
    let _stopped = registry.stop();
    folders.put("policy.yaml", &signed);
    serving.becomes(&signed);
    serving.0.kill();
    let serving = folders.serve();
    let status = serving.status();
    assert_eq!((&status["document"], &status["remembered"]), (&json!(signed), &json!(false)));
    // Another key is trusted now: what was signed with the first is not enough, and what is active stays.
    let stranger = Keys::new();
    folders.put("policy.yaml", policy(&reference, &manifest, &[json!({"pem": stranger.public_text()})]));
    assert_eq!(serving.refuses("cannot be reached", &signed), "pull");
    // What is kept is changed by somebody: it counts as not there.
    for path in folders.pulled() {
        fs::write(path, "garbage").unwrap();
    }
    folders.put("policy.yaml", &by_component);
    assert_eq!(serving.refuses("cannot be reached", &signed), "pull");
}

#[test]
fn a_registry_that_comes_back_is_asked_again() {
    let Some(registry) = Registry::start(false) else { return };
    let folders = Folders::new();
    let (file, _) = component(&folders, &Guest::healthy());
    let manifest = registry.push(&file, "team/own:1.0", None);
    let document = policy(&registry.reference("team/own:1.0"), &manifest, &[]);
    let stopped = registry.stop();
    folders.put("policy.yaml", PLAIN);
    let serving = folders.serve();
    folders.put("policy.yaml", &document);
    assert_eq!(serving.refuses("cannot be reached", PLAIN), "pull");
    let registry = stopped.start();
    serving.becomes(&document);
    serving.0.kill();
    // The same at a start without anything that is kept: live, not ready, and ready once the registry is back.
    let stopped = registry.stop();
    let fresh = Folders::new();
    fresh.put("policy.yaml", &document);
    let waiting = fresh.launch(command());
    let ready = get(&waiting.0.unix(), "/readyz").unwrap();
    assert!(ready.status != 200 && ready.body.contains("cannot be reached"), "{}", ready.body);
    assert_eq!(get(&waiting.0.unix(), "/livez").unwrap().status, 200);
    let _registry = stopped.start();
    waiting.0.wait_until_ready();
    assert_eq!(waiting.status()["document"], document);
}

#[test]
fn a_registry_that_asks_is_given_credentials_by_sidecar_and_check() {
    let Some(registry) = Registry::start(true) else { return };
    let folders = Folders::new();
    let (file, bytes) = component(&folders, &Guest::healthy());
    let config = tempfile::tempdir().unwrap();
    let [user, password] = USER;
    let entry = json!({"auths": {registry.address.to_string(): {"username": user, "password": password}}});
    fs::write(config.path().join("config.json"), entry.to_string()).unwrap();
    let knowing = |mut command: Command| {
        command.env("DOCKER_CONFIG", config.path());
        command
    };
    let reference = registry.reference("team/own:1.0");
    let pushed = run(knowing(developer()).args(["module", "push"]).arg(&file).arg(format!("oci://{reference}")));
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    let document = policy(&reference, &digest(&bytes), &[]);
    folders.put("policy.yaml", &document);
    let cache = tempfile::tempdir().unwrap();
    let mut check = command();
    check.args(["policy", "check"]).arg(folders.file("policy.yaml")).env("XDG_CACHE_HOME", cache.path());
    let refused = run(&mut check);
    assert!(refused.code == Some(64) && refused.stderr.contains("docker login"), "{refused:?}");
    let checked = run(check.env("DOCKER_CONFIG", config.path()));
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let serving = folders.serve_with(knowing(command()));
    assert_eq!(serving.status()["document"], document);
    let text = |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    assert!(folders.pulled().iter().all(|path| !text(path).contains(password)));
    assert!(timeout::until(|| serving.0.output().contains("module pulled").then_some(())).is_some());
    assert!(!serving.0.output().contains(password), "{}", serving.0.output());
}
