//! `nodesift-dev module` with accounting modules: the commands that authors are told to run, cases and their failures, checks.

use nodesift_tests::guest::Guest;
use nodesift_tests::workshop::Workshop;
use serde_json::{Value, json};

use crate::new_workshop;

/// The page for authors.
const PAGE: &str = include_str!("../../../docs/src/predicates/accounting.md");

const FAILED: i32 = 1;
const USAGE: i32 = 64;
const DATA: i32 = 65;

fn with_module(workshop: &Workshop, name: &str) {
    let module = nodesift_bundle_examples::ACCOUNTING.iter().find(|module| module.name == name).unwrap();
    workshop.write("accounting.wasm", module.bytes);
}

/// Runs the first `sh` block of the page in a shell, with this build of the program.
#[test]
fn the_commands_of_the_page_for_authors_work() {
    let _beside = nodesift_tests::machine::beside_others();
    let block = PAGE.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(block.lines().count() >= 8, "{block}");
    let workshop = new_workshop();
    let binary = std::path::Path::new(crate::PROGRAM).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let output = std::process::Command::new("bash")
        .args(["-euo", "pipefail", "-c", block])
        .current_dir(workshop.path(""))
        .envs([("PATH", path.as_str()), ("CARGO_NET_OFFLINE", "true")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    for expected in [
        "my-accounting: an accounting module in rust",
        "annotations [example.com/licences]",
        "allow       [object-annotations, object-requests]",
        "5 cases passed",
        "hostile objects",
        "a pod ",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
}

#[test]
fn the_cases_of_the_examples_pass() {
    for (name, cases, passed) in [
        ("Neon", include_str!("../../../predicates/examples/neon/cases.yaml"), "12 cases passed"),
        ("GpuMemory", include_str!("../../../predicates/examples/gpu_memory/cases.yaml"), "6 cases passed"),
    ] {
        let workshop = new_workshop();
        with_module(&workshop, name);
        workshop.write("cases.yaml", cases);
        let text = workshop.answer(&["module", "test"]);
        assert!(text.ends_with(&format!("{passed}\n")), "{text}");
        let checked = workshop.answer(&["module", "check", "accounting.wasm"]);
        assert!(!checked.contains("FAILED") && checked.contains("nodesift:accounting 0.1.0"), "{checked}");
        let document: Value =
            serde_json::from_str(&workshop.answer(&["module", "inspect", "accounting.wasm", "-o", "json"])).unwrap();
        assert_eq!(document["kind"], "accounting");
    }
}

#[test]
fn what_is_said_otherwise_is_told() {
    let workshop = new_workshop();
    with_module(&workshop, "GpuMemory");
    let slice = "pod: {annotations: {example.com/gpu-memory-mib: '5'}, requests: {cpu: 1}}";
    workshop.write(
        "cases.yaml",
        format!(
            "kind: accounting\ncases:\n\
             - {{name: sums, {slice}, account: {{requests: {{cpu: 1}}, usage: {{cpu: 2}}, sums: {{gpu-memory.left-mib: 5}}, flags: [f]}}}}\n\
             - {{name: ruling, {slice}, standard: true}}\n\
             - {{name: broken, pod: {{}}, broken: much}}\n\
             - {{name: node, node: {{name: n, annotations: {{example.com/gpu-memory-mib: '5'}}}}, sums: {{}}}}\n\
             - {{name: args, refuses: unknown}}\n"
        ),
    );
    let output = workshop.run(&["module", "test"]);
    assert_eq!(output.code, Some(FAILED), "{}", output.stderr);
    let text = output.stdout;
    for expected in [
        "  - usage {cpu: 2000}\n  + usage {cpu: 1000}\n",
        "  - sums {gpu-memory.left-mib: 5}\n  + sums {gpu-memory.left-mib: -5}\n",
        "  - flags [f]\n  + flags []\n",
        "  - standard\n  + an account with usage {cpu: 1000}\n",
        "  - broken: much\n  + standard\n",
        "  - sums {}\n  + sums {gpu-memory.left-mib: 5}\n",
        "  - refused arguments: unknown\n  + the arguments are taken\n",
        "5 of 5 cases failed\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    workshop.write("cases.yaml", "kind: accounting\ncases:\n- {name: a, pods: {}, standard: true}\n");
    workshop.fails_naming(DATA, &["module", "test"], &["cases.yaml:3", "pods"]);
}

#[test]
fn a_check_finds_what_a_module_says_of_hostile_objects() {
    let workshop = new_workshop();
    with_module(&workshop, "GpuMemory");
    let text = workshop.answer(&["module", "check", "accounting.wasm", "-o", "json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["annotations"], json!(["example.com/gpu-memory-mib"]));
    assert_eq!(document["sums"], json!(["gpu-memory.left-mib"]));
    let names: Vec<&str> =
        document["checks"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["size", "starts", "hostile objects", "keeps nothing"]);
    // Without cases nothing can be measured.
    workshop.fails_naming(DATA, &["module", "bench", "accounting.wasm"], &["cases.yaml"]);
    // Accounting in a component that is none is not asked for.
    workshop.write("predicate.wasm", Guest::healthy().component());
    let text = workshop.answer(&["module", "inspect", "predicate.wasm"]);
    assert!(text.contains("nodesift:predicate "), "{text}");
    let new = ["module", "new", "--kind", "accounting", "--lang", "go", "mine"];
    workshop.fails_naming(USAGE, &new, &["no project of kind accounting in go", "those in rust"]);
}

#[test]
fn what_follows_from_accounts_is_not_recorded_as_a_case() {
    let workshop = new_workshop().with_cluster();
    with_module(&workshop, "GpuMemory");
    let predicate = nodesift_bundle_examples::EXAMPLES.iter().find(|module| module.name == "GpuMemoryFit").unwrap();
    workshop.write("predicate.wasm", predicate.bytes);
    let policy = include_str!("../../../predicates/examples/gpu_memory/policy.yaml");
    workshop.write("policy.yaml", policy.replace("../gpu_memory_fit/", ""));
    let explain = ["explain", "--cluster", "cluster.json", "--policy", "policy.yaml"];
    workshop.fails_naming(
        USAGE,
        &[&explain[..], &["--record", "new.yaml"]].concat(),
        &["spec.accounting", "node-sums"],
    );
    assert!(!workshop.path("new.yaml").exists());
}
