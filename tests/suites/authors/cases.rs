//! `nodesift-dev module test`: cases of a module, with the text of every kind of failure.

use std::io::{BufRead as _, BufReader};
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
    workshop.fails_naming(DATA, &given, &["cases.yaml:", "other.yaml has no predicate with the module predicate.wasm"]);
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
