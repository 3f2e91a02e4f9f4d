//! Broken policies leave the active one in its place, and the status says what is wrong.

use std::fs;
use std::time::{Duration, Instant};

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{ask, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, generation, policy};

const GOOD: &[&str] = &["name: NodeName", "name: TaintToleration"];

/// Expected refusal of a policy: its step, the predicate, and words of the reason.
struct Refused<'a> {
    step: &'a str,
    predicate: Option<&'a str>,
    words: &'a [&'a str],
}

fn check(reloading: &Reloading, what: &str, failure: &Value, refused: &Refused<'_>) {
    assert_eq!(failure["step"], refused.step, "{what}: {failure}");
    assert_eq!(failure["predicate"], json!(refused.predicate), "{what}: {failure}");
    let reason = failure["reason"].as_str().unwrap();
    for word in refused.words {
        assert!(reason.contains(word), "{what}: {word:?} is not in {reason}");
    }
    let answer = ask(&reloading.sidecar.unix(), "/v1/filter", &json!({"pending": true}));
    assert_eq!(answer["version"]["policyGeneration"], reloading.status()["generation"], "{what}: {answer}");
}

/// R-01 of the reliability plan: broken policies.
#[test]
fn each_kind_of_broken_policy_leaves_the_active_one_and_is_told_within_a_second() {
    let _beside = beside_others();
    let guest = Guest::asking(8, 1).component();
    let own = format!("{{name: Own, module: {{path: own.wasm, digest: {}}}}}", digest(&guest));
    let folder = Folder::new();
    folder.put("own.wasm", &guest);
    folder.put("garbage.wasm", "garbage");
    let good = policy(&[GOOD, &[own.as_str()]].concat());
    let reloading = Reloading::with(folder, &good);
    let wrong_digest = format!("{{name: Own, module: {{path: own.wasm, digest: {}}}}}", digest(b"other"));
    let many: Vec<String> =
        (0..1_000).map(|number| format!("{{name: P{number}, module: {{path: own.wasm}}}}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let with = |predicate: &str| policy(&[GOOD, &[predicate]].concat());
    let refused = |step, predicate, words| Refused { step, predicate, words };
    let cases = [
        (
            "a broken module",
            with("{name: Own, module: {path: garbage.wasm}}"),
            refused("compile", Some("Own"), &["not a WebAssembly component"]),
        ),
        ("a wrong digest", with(&wrong_digest), refused("verify", Some("Own"), &["own.wasm", "digest"])),
        (
            "a missing module",
            with("{name: Own, module: {path: none.wasm}}"),
            refused("read", Some("Own"), &["none.wasm"]),
        ),
        (
            "a forbidden import",
            with("{name: Own, module: {path: own.wasm}, allow: [node-labels]}"),
            refused("link", Some("Own"), &["pod-labels"]),
        ),
        (
            "an unknown key",
            with("{name: NodePorts, pases: [allocate]}"),
            refused("document", Some("NodePorts"), &["pases", "9:"]),
        ),
        ("an unknown built-in", with("name: NodePort"), refused("document", Some("NodePort"), &["NodePorts"])),
        (
            "bad parameters",
            with("{name: NodeResourcesFit, args: {ignoredResource: [a]}}"),
            refused("configure", Some("NodeResourcesFit"), &["ignoredResource"]),
        ),
        ("an empty list", policy(&[]).replace("predicates:", "predicates: []"), refused("document", None, &["empty"])),
        ("an empty file", String::new(), refused("document", None, &["empty"])),
        ("a thousand predicates", policy(&many), refused("document", None, &["1000", "128"])),
    ];
    let (mut generation_before, mut refusals) = (1, 0);
    for (what, document, expected) in cases {
        let since = Instant::now();
        reloading.put(&document);
        let (failure, time) = reloading.refuses(what, since);
        timing::at_most(what, time, Duration::from_secs(1));
        check(&reloading, what, &failure, &expected);
        let status = reloading.status();
        assert_eq!(generation(&status), generation_before, "{what}");
        assert_eq!(status["document"], good, "{what}");
        refusals += 1;
        // Counted after it is noted.
        let counted = || {
            (reloading.metric("nodesift_policy_reloads_total{result=\"refused\"}") >= f64::from(refusals)).then_some(())
        };
        timeout::until(counted).unwrap_or_else(|| panic!("{what} is not counted"));
        let ready = get(&reloading.sidecar.unix(), "/readyz").unwrap();
        assert!(ready.status == 200 && ready.body.contains(expected.step), "{what}: {}", ready.body);
        // A good one ends the failure.
        reloading.put(&good);
        let status = reloading.when("the good policy", |status| generation(status) > generation_before);
        assert_eq!(status["lastFailure"], Value::Null, "{what}");
        generation_before = generation(&status);
    }
    assert_eq!(reloading.metric("nodesift_policy_generation"), generation_before as f64);
    assert!(reloading.metric("nodesift_policy_last_reload_timestamp_seconds") > 1e9);
    let log = reloading.sidecar.output();
    assert!(log.contains("policy reloaded") && log.contains("policy refused"), "{log}");
    // The file is gone altogether.
    let since = Instant::now();
    fs::remove_file(reloading.folder.path("policy.yaml")).unwrap();
    let (failure, time) = reloading.refuses("no file", since);
    timing::at_most("told of a file that is gone", time, Duration::from_secs(1));
    check(&reloading, "no file", &failure, &refused("read", None, &["policy.yaml"]));
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let _beside = beside_others();
    let reloading = Reloading::start(&policy(GOOD));
    reloading.put(&policy(&[
        "{name: NodePorts, pases: [allocate]}",
        "{name: Own, module: {path: none.wasm}}",
        "{name: NodeResourcesFit, args: {ignoredResource: [a]}}",
    ]));
    let (failure, _) = reloading.refuses("three errors", Instant::now());
    let steps: Vec<(&str, &str)> = failure["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| (failure["step"].as_str().unwrap(), failure["predicate"].as_str().unwrap()))
        .collect();
    assert_eq!(steps, [("document", "NodePorts"), ("read", "Own"), ("configure", "NodeResourcesFit")], "{failure}");
}

/// R-06 of the reliability plan: a module that faults on the cluster.
#[test]
fn a_module_that_faults_on_the_cluster_is_refused_after_it_has_passed_all_checks() {
    let _beside = beside_others();
    let reloading = Reloading::start(&policy(GOOD));
    let faulty = [
        ("traps", Guest::healthy().filter("unreachable"), "Trap"),
        ("never ends", Guest::healthy().filter("(loop $again (br $again)) (i32.const 0)"), "Deadline"),
        (
            "answers about no row",
            Guest::healthy().filter("(call $by_row (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"),
            "MalformedVerdict",
        ),
    ];
    for (what, guest, fault) in faulty {
        reloading.folder.put("own.wasm", guest.component());
        let since = Instant::now();
        // A comment makes it another document than that of the guest before.
        reloading.put(&format!(
            "# {what}\n{}",
            policy(&[GOOD, &["{name: Own, module: {path: own.wasm}, onError: Ignore}"]].concat())
        ));
        let failure = reloading
            .when(what, |status| status["lastFailure"]["reason"].as_str().is_some_and(|reason| reason.contains(fault)));
        check(
            &reloading,
            what,
            &failure["lastFailure"],
            &Refused { step: "trial", predicate: Some("Own"), words: &["pod ", fault] },
        );
        assert_eq!(reloading.generation(), 1, "{what} {:?}", since.elapsed());
    }
    // One that does not is taken.
    reloading.folder.put("own.wasm", Guest::healthy().component());
    reloading.when("the good module", |status| generation(status) == 2);
}
