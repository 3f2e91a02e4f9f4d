//! A predicate reads an annotation that the policy does not name, so that its rule never rejects anything: everybody who could mend it is
//! told.

use nodesift_tests::http::ask;
use nodesift_tests::machine::beside_others;
use nodesift_tests::{data, sidecar, timeout};
use serde_json::{Value, json};

use crate::quarantine::about;
use crate::running::{Folder, Reloading, command, policy};

const MISSED: &str =
    "NodeRules reads the annotation example.com/drain, which spec.facts.annotations does not name: it reads as absent";

/// A policy whose rule reads one annotation, and which names these.
fn draining(named: &str) -> String {
    let rule = "{name: NodeRules, module: {path: rules.wasm}, args: {noAnnotations: [{key: example.com/drain}]}}";
    format!("{}  facts: {{annotations: [{named}]}}\n", policy(&["name: NodeName", rule]))
}

fn folder_with_rules() -> Folder {
    let folder = Folder::new();
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "NodeRules").unwrap();
    folder.put("rules.wasm", example.bytes);
    folder
}

#[test]
fn a_policy_that_is_tried_on_a_cluster_is_warned_of_what_it_does_not_name() {
    let _beside = beside_others();
    let folder = folder_with_rules();
    let cluster = data::sample_cluster();
    let check = || {
        let mut command = command();
        command.args(["policy", "check"]).arg(folder.path("policy.yaml")).arg("--cluster").arg(&cluster);
        let output = sidecar::run(&mut command);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout
    };
    folder.put("policy.yaml", draining("example.com/other"));
    let warned = check();
    assert!(warned.ends_with(&format!("warning: {MISSED}\n")), "{warned}");
    folder.put("policy.yaml", draining("example.com/drain"));
    let sound = check();
    assert!(!sound.contains("warning"), "{sound}");
}

#[test]
fn a_read_that_the_policy_does_not_name_is_counted_logged_once_and_told_until_it_is_named() {
    let _beside = beside_others();
    let reloading = Reloading::with(folder_with_rules(), &draining("example.com/other"));
    let reads = |status: &Value| status["predicates"][1]["unnamedReads"].clone();
    // Different namespaces and labels, which this predicate does not read: cached verdicts are no reads.
    for number in 0..3 {
        ask(&reloading.sidecar.unix(), "/v1/filter", &about(number, false));
    }
    let status = reloading.when("the read is counted", |status| reads(status)[0]["calls"].as_u64() >= Some(1));
    let read = reads(&status)[0].clone();
    assert_eq!(
        (&read["field"], &read["name"]),
        (&json!("spec.facts.annotations"), &json!("example.com/drain")),
        "{status}"
    );
    assert_eq!((&status["warnings"], reads(&status).as_array().map(Vec::len)), (&json!([MISSED]), Some(1)));
    let logged = timeout::until(|| Some(reloading.sidecar.output()).filter(|output| output.contains(MISSED)));
    let logged = logged.unwrap_or_else(|| panic!("{}", reloading.sidecar.output()));
    assert_eq!(logged.matches(MISSED).count(), 1, "{logged}");
    let server = format!("unix:{}", reloading.sidecar.socket.display());
    let printed = sidecar::run(command().args(["policy", "status", "--server", &server]));
    assert!(printed.stdout.contains(&format!("warning: {MISSED}\n")), "{}{}", printed.stdout, printed.stderr);
    let explained = sidecar::run(command().args(["explain", "--server", &server, "-o", "jsonl"]));
    assert_eq!(explained.code, Some(0), "{}", explained.stderr);
    assert!(explained.stderr.contains(&format!("warning: {MISSED}\n")), "{}", explained.stderr);
    assert!(!explained.stdout.contains(MISSED), "stdout has answers alone: {}", explained.stdout);
}
