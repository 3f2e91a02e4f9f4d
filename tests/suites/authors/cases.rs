//! `nodesift-dev module test`: cases of a module, with the text of every kind of failure.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;

use nodesift_tests::guest::Guest;
use nodesift_tests::timeout;
use nodesift_tests::workshop::Workshop;
use serde_json::{Value, json};

use crate::new_workshop;

const FAILED: i32 = 1;
const USAGE: i32 = 64;
const DATA: i32 = 65;
const NO_INPUT: i32 = 66;

/// The cases of every new project.
const TEMPLATE: &str = include_str!("../../../sdk/predicate/module/templates/js/cases.yaml");

/// Writes what it calls a line, and lets every node fit.
fn logging() -> Guest {
    Guest::healthy()
        .imports(r#"(import "nodesift:predicate/log@0.2.0" "write" (func $write (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 4096) "looked at the nodes")"#)
        .filter("(call $write (i32.const 1) (i32.const 4096) (i32.const 19)) (call $fits_all)")
}

fn with_example(workshop: &Workshop) {
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "TeamIsolation").unwrap();
    workshop.write("predicate.wasm", example.bytes);
}

/// The cases as committed, with the limits and the facts of the policy beside them. Examples in other languages need tools of their own: `make
/// examples` runs them.
#[test]
fn the_cases_of_every_example_in_rust_pass_for_its_built_module() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../predicates/examples");
    for example in nodesift_bundle_examples::EXAMPLES {
        let folder = examples.join(folder(example.name));
        let workshop = new_workshop();
        workshop.write("predicate.wasm", example.bytes);
        for file in ["cases.yaml", "policy.yaml"] {
            workshop.write(file, std::fs::read(folder.join(file)).unwrap());
        }
        let output = workshop.run(&["module", "test"]);
        assert_eq!(output.code, Some(0), "{}: {}{}", example.name, output.stdout, output.stderr);
    }
}

/// The folder of an example by the name of its predicate: `gpu_reserved` of `GpuReserved`.
fn folder(name: &str) -> String {
    let mut folder = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !folder.is_empty() {
            folder.push('_');
        }
        folder.push(character.to_ascii_lowercase());
    }
    folder
}

#[test]
fn the_cases_of_new_projects_pass_for_the_predicate_in_rust() {
    let workshop = new_workshop();
    with_example(&workshop);
    workshop.write("cases.yaml", TEMPLATE);
    let text = workshop.answer(&["module", "test"]);
    assert_eq!(
        text,
        "ok      a pod fits the nodes of its team only
ok      a pod without a team fits everywhere
ok      the label key is an argument
ok      a mistyped argument is refused
4 cases passed
"
    );
    let lines = workshop.answer(&["module", "test", "predicate.wasm", "-o", "jsonl"]);
    assert_eq!(lines.lines().count(), 4, "{lines}");
    let document: Value =
        serde_json::from_str(&workshop.answer(&["module", "test", "cases.yaml", "-o", "json"])).unwrap();
    assert_eq!((&document["failed"], &document["cases"][0]["passed"]), (&json!(0), &json!(true)));
    assert!(document["cases"][0]["digest"].as_str().unwrap().starts_with("sha256:"));
}

/// A failing case is reported with the node, both sides and the lines of the module.
#[test]
fn every_failure_is_told() {
    let workshop = new_workshop();
    with_example(&workshop);
    workshop.write("log.wasm", logging().component());
    workshop.write("trap.wasm", Guest::healthy().filter("(unreachable)").component());
    workshop.write(
        "cases.yaml",
        "nodes:
- {name: red, labels: {example.com/team: red}}
- {name: blue, labels: {example.com/team: blue}}
cases:
- {name: passes, pod: {}, fits: all}
- {name: another node, pod: {labels: {example.com/team: red}}, fits: [blue]}
- {name: another reason, pod: {labels: {example.com/team: red}}, rejects: {blue: other}}
- {name: another code, pod: {labels: {example.com/team: red}}, rejects: {blue: {code: Unschedulable}}}
- {name: no refusal, args: {label: a}, refuses: 'label: no'}
- {name: a refusal, args: {label: ''}, pod: {}, fits: all}
- {name: no fault, pod: {}, fault: Trap}
- {name: another line, module: log.wasm, pod: {}, log: [found]}
- {name: no lines, module: log.wasm, pod: {}, log: []}
- {name: the line, module: log.wasm, pod: {}, fits: all, log: ['info: looked']}
- {name: a fault, module: trap.wasm, pod: {}, fits: all}
- {name: the fault, module: trap.wasm, pod: {}, fault: Trap}
- {name: another detail, module: trap.wasm, pod: {}, fault: {kind: Trap, detail: overflow}}
",
    );
    let output = workshop.run(&["module", "test"]);
    assert_eq!(output.code, Some(FAILED), "{}", output.stderr);
    assert!(output.stderr.contains("10 of 13 cases failed"), "{}", output.stderr);
    // What a trap says of itself is told by the sandbox, and has tests of its own.
    let told: String = output
        .stdout
        .lines()
        .map(|line| match line.split_once("the fault Trap: ") {
            Some((before, _)) => format!("{before}the fault Trap: …\n"),
            None => format!("{line}\n"),
        })
        .collect();
    assert_eq!(
        told,
        "ok      passes
FAILED  another node  cases.yaml:6
  node red
  - rejected
  + fits
  node blue
  - fits
  + rejected as UnschedulableAndUnresolvable: node(s) didn't belong to the pod's team
FAILED  another reason  cases.yaml:7
  node blue
  - rejected: other
  + rejected: node(s) didn't belong to the pod's team
FAILED  another code  cases.yaml:8
  node blue
  - rejected as Unschedulable
  + rejected as UnschedulableAndUnresolvable: node(s) didn't belong to the pod's team
FAILED  no refusal  cases.yaml:9
  - refused arguments: label: no
  + a verdict: every node fits
FAILED  a refusal  cases.yaml:10
  - a verdict
  + refused arguments: label: must not be empty
FAILED  no fault  cases.yaml:11
  - the fault Trap
  + a verdict: every node fits
FAILED  another line  cases.yaml:12
  - lines: found
  + lines: info: looked at the nodes
  log info: looked at the nodes
FAILED  no lines  cases.yaml:13
  - no lines
  + lines: info: looked at the nodes
  log info: looked at the nodes
ok      the line
FAILED  a fault  cases.yaml:15
  - a verdict
  + the fault Trap: …
ok      the fault
FAILED  another detail  cases.yaml:17
  - the fault Trap: …
  + the fault Trap: …
10 of 13 cases failed
"
    );
    let output = workshop.run(&["module", "test", "-o", "json"]);
    assert_eq!(output.code, Some(FAILED));
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["failed"], json!(10));
    assert_eq!(
        document["cases"][1]["differences"][0],
        json!({"node": "red", "expected": "rejected", "actual": "fits"})
    );
    assert_eq!(document["cases"][10]["fault"]["kind"], "Trap");
    assert_eq!(document["cases"][7]["log"], json!(["info: looked at the nodes"]));
}

#[test]
fn watched_cases_run_again_when_they_change() {
    let workshop = new_workshop();
    with_example(&workshop);
    let cases = |fits: &str| format!("nodes: [{{name: n}}]\ncases: [{{name: a, pod: {{}}, fits: {fits}}}]\n");
    workshop.write("cases.yaml", cases("all"));
    let mut command = workshop.command(&["module", "test", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (send, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || stdout.lines().map_while(Result::ok).for_each(|line| _ = send.send(line)));
    let wait_for = |text: &str| {
        loop {
            let line = lines.recv_timeout(timeout::limit()).unwrap();
            if line == text {
                return;
            }
        }
    };
    wait_for("1 case passed");
    workshop.write("cases.yaml", cases("none"));
    wait_for("1 of 1 case failed");
    // What is broken for a while ends nothing.
    workshop.write("cases.yaml", "cases: [");
    workshop.write("cases.yaml", cases("all"));
    wait_for("1 case passed");
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}

/// The limits and `allow` of the project's policy apply, unless the cases have their own.
#[test]
fn cases_run_under_the_policy_beside_them() {
    let workshop = new_workshop();
    // 32 MiB, which is more than a module has without limits.
    let guest = Guest::healthy().memory(r#"(memory (export "memory") 512)"#).filter("(call $fits_all)");
    workshop.write("predicate.wasm", guest.component());
    let cases = "nodes: [{name: n}]\ncases: [{name: a, pod: {}, fits: all}]\n";
    workshop.write("cases.yaml", cases);
    workshop.fails_naming(DATA, &["module", "test"], &["predicate.wasm", "memory"]);
    let policy = |more: &str| {
        format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n  \
             predicates: [{{name: Own, module: {{path: predicate.wasm}}, {more}}}]\n"
        )
    };
    workshop.write("policy.yaml", policy("limits: {memory: 64Mi}"));
    workshop.answer(&["module", "test"]);
    workshop.write("policy.yaml", policy("allow: []"));
    workshop.write("cases.yaml", format!("limits: {{memory: 64Mi}}\n{cases}"));
    workshop.answer(&["module", "test"]);
    // `allow` is of the policy, and the module reads what it does not list.
    with_example(&workshop);
    workshop.fails_naming(DATA, &["module", "test"], &["predicate.wasm", "node-labels", "`allow` does not list"]);
    workshop.write("policy.yaml", "kind: nothing");
    workshop.fails_naming(USAGE, &["module", "test"], &["policy.yaml"]);
}

/// A rule that reads an annotation, and a file of cases that names it: under a policy that does not, the rule never rejects anything.
#[test]
fn a_policy_that_does_not_name_what_cases_read_is_told_the_lines_that_it_needs_and_fails_where_it_is_given() {
    let workshop = new_workshop();
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "NodeRules").unwrap();
    workshop.write("predicate.wasm", example.bytes);
    let cases = |named: &str| {
        format!(
            "{named}args: {{noAnnotations: [{{key: example.com/drain}}]}}\n\
             nodes: [{{name: n, annotations: {{example.com/drain: soon}}}}]\n\
             cases: [{{name: a node that is drained is rejected, pod: {{}}, fits: none}}]\n"
        )
    };
    let policy = |facts: &str| {
        format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [default-scheduler]\n{facts}  \
             predicates: [{{name: Own, module: {{path: predicate.wasm}}}}]\n"
        )
    };
    let lines = "spec:\n  facts:\n    annotations: [\"example.com/drain\"]\n";
    workshop.write("cases.yaml", cases("annotations: [example.com/drain]\n"));
    let text = workshop.answer(&["module", "test"]);
    let told = "a policy has to name what the module reads, which is absent else. It needs:";
    assert!(text.ends_with(&format!("1 case passed\n\n{told}\n{lines}")), "{text}");
    workshop.write("policy.yaml", policy("  facts: {annotations: [example.com/other]}\n"));
    let text = workshop.answer(&["module", "test"]);
    let told = "policy.yaml does not name what the module reads, which is absent under it. It needs:";
    assert!(text.ends_with(&format!("1 case passed\n\n{told}\n{lines}")), "{text}");
    let document: Value = serde_json::from_str(&workshop.answer(&["module", "test", "-o", "json"])).unwrap();
    assert_eq!(document["missed"], json!({"policy": "policy.yaml", "annotations": ["example.com/drain"]}));
    // Under the policy itself the cases fail, as a sidecar would.
    let given = ["module", "test", "--policy", "policy.yaml"];
    let output = workshop.run(&given);
    assert_eq!(output.code, Some(FAILED), "{}", output.stderr);
    assert!(output.stdout.contains("1 of 1 case failed") && output.stdout.ends_with(lines), "{}", output.stdout);
    // A key that nobody names is found by the read.
    workshop.write("cases.yaml", cases(""));
    let output = workshop.run(&["module", "test"]);
    assert_eq!(output.code, Some(FAILED), "{}", output.stderr);
    assert!(output.stdout.ends_with(lines), "{}", output.stdout);
    workshop.write("policy.yaml", policy("  facts: {annotations: [example.com/drain]}\n"));
    for arguments in [&["module", "test"][..], &given] {
        assert!(workshop.answer(arguments).ends_with("1 case passed\n"), "{arguments:?}");
    }
    workshop.write("other.yaml", policy("").replace("predicate.wasm", "none.wasm"));
    let given = ["module", "test", "--policy", "other.yaml"];
    workshop.fails_naming(
        DATA,
        &given,
        &["cases.yaml:", "other.yaml has no predicate and no scorer with the module predicate.wasm"],
    );
}

#[test]
fn what_is_missing_is_told_with_what_to_do() {
    let workshop = new_workshop();
    workshop.fails_naming(NO_INPUT, &["module", "test"], &["cases.yaml", "nodesift-dev module new"]);
    workshop.write("cases.yaml", "nodes: [{name: n}]\ncases: [{name: a, pod: {}, fits: all}]\n");
    workshop.fails_naming(NO_INPUT, &["module", "test"], &["predicate.wasm", "nodesift-dev module build"]);
    with_example(&workshop);
    // A source that was written after the module.
    workshop.write("predicate.py", "");
    let module = std::fs::File::options().append(true).open(workshop.path("predicate.wasm")).unwrap();
    module.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(60)).unwrap();
    let output = workshop.run(&["module", "test"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output.stderr.contains("predicate.wasm is older than predicate.py: run `nodesift-dev module build`"),
        "{}",
        output.stderr
    );
    workshop.write("cases.yaml", "cases: [{name: a, pod: {lables: {}}, fits: all}]\n");
    workshop.fails_naming(DATA, &["module", "test"], &["cases.yaml:1:", "cases[0].pod.lables", "unknown field"]);
}

/// Cases that the SDKs' own tests run as well, and the text about the one that fails on purpose.
const SHARED: &str = include_str!("../../../sdk/predicate/cases/cases.yaml");
const SHARED_FAILED: &str = include_str!("../../../sdk/predicate/cases/failed.txt");

/// Finding of a unit test that answers as the module does.
fn found_by_team(name: &str, rejected: &[&str]) -> Value {
    let reason = "node(s) didn't belong to the pod's team";
    let failure = json!({"code": "UnschedulableAndUnresolvable", "reasons": [reason]});
    let rejected: serde_json::Map<String, Value> =
        rejected.iter().map(|node| ((*node).to_owned(), failure.clone())).collect();
    json!({"name": name, "rejected": rejected})
}

#[test]
fn a_case_that_fails_has_one_text_whoever_evaluates_it() {
    let workshop = new_workshop();
    with_example(&workshop);
    workshop.write("cases.yaml", SHARED);
    let output = workshop.run(&["module", "test"]);
    assert_eq!(output.code, Some(FAILED), "{}", output.stderr);
    assert!(
        output.stdout.contains(SHARED_FAILED) && output.stdout.contains("1 of 6 cases failed"),
        "{}",
        output.stdout
    );
    let found = json!([
        found_by_team("a pod fits the nodes of its team only", &["blue", "unlabelled"]),
        found_by_team("a pod without a team fits everywhere", &[]),
        found_by_team("fails with another reason and on another node", &["blue", "unlabelled"]),
        {"name": "a mistyped argument is refused", "refused": "lable: unknown field `lable`, expected `label`"},
    ]);
    workshop.write("found.json", found.to_string());
    let answer = workshop.answer(&["module", "cases", "cases.yaml", "--answers", "found.json"]);
    let document: Value = serde_json::from_str(&answer).unwrap();
    let failures: Vec<&Value> = document["cases"].as_array().unwrap().iter().map(|case| &case["failure"]).collect();
    assert_eq!(failures, [&Value::Null, &Value::Null, &json!(SHARED_FAILED), &Value::Null]);
    for (found, named) in [
        (json!([{"name": "another"}]), "no case has the name \"another\""),
        (
            json!([{"name": "a pod without a team fits everywhere", "rejected": {"none": {"code": "Error", "reasons": []}}}]),
            "\"none\" is no node",
        ),
        (
            json!([{"name": "a pod without a team fits everywhere", "rejected": {"red": {"code": "No", "reasons": []}}}]),
            "\"No\" is no status code",
        ),
        (json!([{"name": "a pod without a team fits everywhere", "other": 1}]), "unknown field `other`"),
    ] {
        workshop.write("found.json", found.to_string());
        workshop.fails_naming(DATA, &["module", "cases", "cases.yaml", "--answers", "found.json"], &[named]);
    }
}

#[test]
fn unit_tests_get_cases_in_the_units_of_the_contract_and_why_some_are_not_theirs() {
    let workshop = new_workshop();
    workshop.write(
        "cases.yaml",
        "annotations: [example.com/a]
now: 7
nodes:
- name: one
  labels: {a: b}
  annotations: {example.com/a: x, example.com/not-named: x}
  taints: [{key: k, effect: NoExecute}]
  allocatable: {cpu: 4, memory: 1Ki}
  requested: {cpu: 500m}
  conditions: {Ready: 'True'}
  info: {kernelVersion: '6.1'}
  sums: {units: 3}
pods:
- {nodeName: one, name: on, requests: {cpu: 1}, schedulerName: other}
namespaces: [{name: default, labels: {tier: gold}}]
cases:
- name: all of it
  pod: {requests: {cpu: 1500m}, images: [b, a, b], tolerations: [{key: k, operator: Exists, effect: NoExecute}], controller: {kind: Job, name: j, uid: u}}
  fits: all
- name: a fault
  pod: {}
  fault: Trap
- name: volumes
  pod: {metadata: {name: p, namespace: default}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}
  fits: all
- name: a claim
  pod: {}
  objects: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}}]
  fits: all
- name: a preferred node affinity
  pod: {metadata: {name: p}, spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}}}}
  fits: all
- name: a volume of an image
  pod: {metadata: {name: p}, spec: {volumes: [{name: v, image: {reference: a}}]}}
  fits: all
- name: the size of an image
  pod: {}
  nodes: [{metadata: {name: n}, status: {allocatable: {pods: 1}, images: [{names: [a], sizeBytes: 7}, {names: [b]}]}}]
  pods: []
  fits: all
",
    );
    let document: Value = serde_json::from_str(&workshop.answer(&["module", "cases"])).unwrap();
    assert_eq!(document["file"], json!("cases.yaml"));
    let cases = document["cases"].as_array().unwrap();
    let cluster = &cases[0]["cluster"];
    let node = &cluster["nodes"][0];
    assert_eq!((&cases[0]["line"], &cases[0]["args"]), (&json!(17), &json!({})));
    assert_eq!(node["annotations"], json!({"example.com/a": "x"}), "what no policy names cannot be read");
    assert_eq!(node["allocatable"], json!({"cpu": 4000, "memory": 1024}));
    assert_eq!(node["taints"], json!([{"key": "k", "value": "", "effect": "NoExecute"}]));
    assert_eq!(
        [&node["conditions"], &node["info"], &node["sums"], &node["podLimit"]],
        [&json!({"Ready": "True"}), &json!({"kernel-version": "6.1"}), &json!({"units": 3}), &json!(110)]
    );
    assert_eq!(cluster["pod"]["requests"], json!({"cpu": 1500}));
    // Of the three containers the first names `cpu`, and none names `memory`.
    assert_eq!(cluster["pod"]["nonZeroRequests"], json!({"cpu": 1700, "memory": 3 * (200 << 20)}));
    assert_eq!(cluster["pod"]["images"], json!(["a", "b"]));
    assert_eq!(cluster["pod"]["containerImages"], json!(["b:latest", "a:latest", "b:latest"]));
    assert_eq!(cluster["pods"][1]["nonZeroRequests"], json!({"cpu": 1000, "memory": 200 << 20}));
    assert_eq!(cases[6]["cluster"]["nodes"][0]["imageSizes"], json!({"a": 7}));
    assert_eq!(
        cluster["pod"]["tolerations"],
        json!([{"key": "k", "operator": "Exists", "value": "", "effect": "NoExecute"}])
    );
    assert_eq!(cluster["pod"]["controller"]["uid"], json!("u"));
    let on: Vec<(&Value, &Value)> = cluster["pods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| (&pod["requests"]["cpu"], &pod["schedulerName"]))
        .collect();
    assert_eq!(on, [(&json!(500), &json!("default-scheduler")), (&json!(1000), &json!("other"))]);
    assert_eq!((&cluster["now"], &cluster["namespaces"]), (&json!(7), &json!({"default": {"tier": "gold"}})));
    for (case, why) in [
        (1, "it expects a fault"),
        (2, "it has volumes"),
        (3, "a PersistentVolumeClaim"),
        (4, "a node affinity"),
        (5, "volumes of images"),
    ] {
        let skip = cases[case]["skip"].as_str().unwrap();
        assert!(skip.contains(why) && cases[case].get("cluster").is_none(), "{skip}");
    }
}
